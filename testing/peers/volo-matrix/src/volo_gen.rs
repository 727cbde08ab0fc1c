//! Made by volo-build 0.12.3 of `testing/matrix/matrix.thrift`, not by hand. It is kept because volo-build
//! compiles libgit2; see `testing/peers/README.md`.

pub mod volo_gen {
    #![allow(warnings, clippy::all)]

    pub mod matrix {

        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct Line {
            pub text: ::std::option::Option<::pilota::FastStr>,

            pub number: ::std::option::Option<i32>,
        }
        impl ::pilota::thrift::Message for Line {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier { name: "Line" };

                __protocol.write_struct_begin(&struct_ident)?;
                if let ::std::option::Option::Some(value) = self.text.as_ref() {
                    __protocol.write_faststr_field(1, (value).clone())?;
                }
                if let ::std::option::Option::Some(value) = self.number.as_ref() {
                    __protocol.write_i32_field(2, *value)?;
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;
                let mut var_2 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Binary =>
                            {
                                var_1 = ::std::option::Option::Some(__protocol.read_faststr()?);
                            }
                            ::std::option::Option::Some(2)
                                if field_ident.field_type == ::pilota::thrift::TType::I32 =>
                            {
                                var_2 = ::std::option::Option::Some(__protocol.read_i32()?);
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `Line` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let data = Self {
                    text: var_1,
                    number: var_2,
                };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;
                    let mut var_2 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Binary =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        __protocol.read_faststr().await?,
                                    );
                                }
                                ::std::option::Option::Some(2)
                                    if field_ident.field_type == ::pilota::thrift::TType::I32 =>
                                {
                                    var_2 =
                                        ::std::option::Option::Some(__protocol.read_i32().await?);
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!(
                                "decode struct `Line` field(#{}) failed, caused by: ",
                                field_id
                            ));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let data = Self {
                        text: var_1,
                        number: var_2,
                    };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier { name: "Line" })
                    + self.text.as_ref().map_or(0, |value| {
                        __protocol.faststr_field_len(::std::option::Option::Some(1), value)
                    })
                    + self.number.as_ref().map_or(0, |value| {
                        __protocol.i32_field_len(::std::option::Option::Some(2), *value)
                    })
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for AbsentNothingResultSend {
            fn default() -> Self {
                AbsentNothingResultSend::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum AbsentNothingResultSend {
            Ok(()),
        }

        impl ::pilota::thrift::Message for AbsentNothingResultSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "AbsentNothingResultSend",
                })?;
                match self {
                    AbsentNothingResultSend::Ok(value) => {}
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Ok(AbsentNothingResultSend::Ok(()))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Ok(AbsentNothingResultSend::Ok(()))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "AbsentNothingResultSend",
                }) + match self {
                    AbsentNothingResultSend::Ok(value) => 0,
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        pub trait Matrix {
            fn echo(
                &self,
                text: ::pilota::FastStr,
            ) -> impl ::std::future::Future<
                Output = ::core::result::Result<
                    ::volo_thrift::MaybeException<::pilota::FastStr, MatrixEchoException>,
                    ::volo_thrift::ServerError,
                >,
            > + Send;
            fn mark(
                &self,
                text: ::pilota::FastStr,
            ) -> impl ::std::future::Future<
                Output = ::core::result::Result<(), ::volo_thrift::ServerError>,
            > + Send;
            fn post(
                &self,
                text: ::pilota::FastStr,
            ) -> impl ::std::future::Future<
                Output = ::core::result::Result<(), ::volo_thrift::ServerError>,
            > + Send;
            fn marks(
                &self,
                text: ::pilota::FastStr,
            ) -> impl ::std::future::Future<
                Output = ::core::result::Result<i64, ::volo_thrift::ServerError>,
            > + Send;
            fn unary(
                &self,
                line: Line,
            ) -> impl ::std::future::Future<
                Output = ::core::result::Result<Line, ::volo_thrift::ServerError>,
            > + Send;
            fn listen(
                &self,
                wanted: Line,
            ) -> impl ::std::future::Future<
                Output = ::core::result::Result<
                    ::volo_thrift::MaybeException<Line, MatrixListenException>,
                    ::volo_thrift::ServerError,
                >,
            > + Send;
            fn tell(
                &self,
                line: Line,
            ) -> impl ::std::future::Future<
                Output = ::core::result::Result<Line, ::volo_thrift::ServerError>,
            > + Send;
            fn talk(
                &self,
                line: Line,
            ) -> impl ::std::future::Future<
                Output = ::core::result::Result<Line, ::volo_thrift::ServerError>,
            > + Send;
        }
        #[derive(Clone)]
        pub struct MatrixServer<S> {
            inner: S, // handler
        }

        impl<S> MatrixServer<S> {
            /// Creates a new server instance from the handler.
            ///
            /// Use this method when you need to add the service to a [`Router`] for multi-service support.
            ///
            /// [`Router`]: volo_thrift::server::Router
            pub fn from_handler(handler: S) -> Self {
                Self { inner: handler }
            }
        }

        impl<S> MatrixServer<S>
        where
            S: Matrix + ::core::marker::Send + ::core::marker::Sync + 'static,
        {
            /// Creates a new [`Server`] with this service.
            ///
            /// Use this method for single-service servers. For multi-service support,
            /// use [`from_handler`] and add to a [`Router`] instead.
            ///
            /// [`Server`]: volo_thrift::server::Server
            /// [`from_handler`]: Self::from_handler
            /// [`Router`]: volo_thrift::server::Router
            pub fn new(
                inner: S,
            ) -> ::volo_thrift::server::Server<
                Self,
                ::volo::layer::Identity,
                MatrixRequestRecv,
                ::volo_thrift::codec::default::DefaultMakeCodec<
                    ::volo_thrift::codec::default::ttheader::MakeTTHeaderCodec<
                        ::volo_thrift::codec::default::framed::MakeFramedCodec<
                            ::volo_thrift::codec::default::thrift::MakeThriftCodec,
                        >,
                    >,
                >,
                ::volo_thrift::tracing::DefaultProvider,
            > {
                ::volo_thrift::server::Server::new(Self { inner })
            }
        }

        impl<T> ::volo::service::Service<::volo_thrift::context::ServerContext, MatrixRequestRecv>
            for MatrixServer<T>
        where
            T: Matrix + Send + Sync + 'static,
        {
            type Response = MatrixResponseSend;
            type Error = ::volo_thrift::ServerError;

            async fn call<'s, 'cx>(
                &'s self,
                _cx: &'cx mut ::volo_thrift::context::ServerContext,
                req: MatrixRequestRecv,
            ) -> ::std::result::Result<Self::Response, Self::Error> {
                match req {
                    MatrixRequestRecv::Echo(args) => ::std::result::Result::Ok(
                        MatrixResponseSend::Echo(match self.inner.echo(args.text).await {
                            ::std::result::Result::Ok(::volo_thrift::MaybeException::Ok(resp)) => {
                                MatrixEchoResultSend::Ok(resp)
                            }
                            ::std::result::Result::Ok(
                                ::volo_thrift::MaybeException::Exception(
                                    MatrixEchoException::Missing(ex),
                                ),
                            ) => MatrixEchoResultSend::Missing(ex),
                            ::std::result::Result::Err(err) => {
                                return ::std::result::Result::Err(err);
                            }
                        }),
                    ),
                    MatrixRequestRecv::Mark(args) => ::std::result::Result::Ok(
                        MatrixResponseSend::Mark(match self.inner.mark(args.text).await {
                            ::std::result::Result::Ok(resp) => MatrixMarkResultSend::Ok(resp),
                            ::std::result::Result::Err(err) => {
                                return ::std::result::Result::Err(err);
                            }
                        }),
                    ),
                    MatrixRequestRecv::Post(args) => ::std::result::Result::Ok(
                        MatrixResponseSend::Post(match self.inner.post(args.text).await {
                            ::std::result::Result::Ok(resp) => MatrixPostResultSend::Ok(resp),
                            ::std::result::Result::Err(err) => {
                                return ::std::result::Result::Err(err);
                            }
                        }),
                    ),
                    MatrixRequestRecv::Marks(args) => ::std::result::Result::Ok(
                        MatrixResponseSend::Marks(match self.inner.marks(args.text).await {
                            ::std::result::Result::Ok(resp) => MatrixMarksResultSend::Ok(resp),
                            ::std::result::Result::Err(err) => {
                                return ::std::result::Result::Err(err);
                            }
                        }),
                    ),
                    MatrixRequestRecv::Unary(args) => ::std::result::Result::Ok(
                        MatrixResponseSend::Unary(match self.inner.unary(args.line).await {
                            ::std::result::Result::Ok(resp) => MatrixUnaryResultSend::Ok(resp),
                            ::std::result::Result::Err(err) => {
                                return ::std::result::Result::Err(err);
                            }
                        }),
                    ),
                    MatrixRequestRecv::Listen(args) => ::std::result::Result::Ok(
                        MatrixResponseSend::Listen(match self.inner.listen(args.wanted).await {
                            ::std::result::Result::Ok(::volo_thrift::MaybeException::Ok(resp)) => {
                                MatrixListenResultSend::Ok(resp)
                            }
                            ::std::result::Result::Ok(
                                ::volo_thrift::MaybeException::Exception(
                                    MatrixListenException::Missing(ex),
                                ),
                            ) => MatrixListenResultSend::Missing(ex),
                            ::std::result::Result::Err(err) => {
                                return ::std::result::Result::Err(err);
                            }
                        }),
                    ),
                    MatrixRequestRecv::Tell(args) => ::std::result::Result::Ok(
                        MatrixResponseSend::Tell(match self.inner.tell(args.line).await {
                            ::std::result::Result::Ok(resp) => MatrixTellResultSend::Ok(resp),
                            ::std::result::Result::Err(err) => {
                                return ::std::result::Result::Err(err);
                            }
                        }),
                    ),
                    MatrixRequestRecv::Talk(args) => ::std::result::Result::Ok(
                        MatrixResponseSend::Talk(match self.inner.talk(args.line).await {
                            ::std::result::Result::Ok(resp) => MatrixTalkResultSend::Ok(resp),
                            ::std::result::Result::Err(err) => {
                                return ::std::result::Result::Err(err);
                            }
                        }),
                    ),
                }
            }
        }

        impl<S> ::volo_thrift::server::NamedService for MatrixServer<S> {
            const NAME: &'static str = "Matrix";
        }

        impl<T>
            ::volo::service::Service<::volo_thrift::context::ServerContext, ::volo_thrift::Bytes>
            for MatrixServer<T>
        where
            T: Matrix + Send + Sync + 'static,
        {
            type Response = ::volo_thrift::Bytes;
            type Error = ::volo_thrift::ServerError;

            async fn call<'s, 'cx>(
                &'s self,
                cx: &'cx mut ::volo_thrift::context::ServerContext,
                payload: ::volo_thrift::Bytes,
            ) -> ::std::result::Result<Self::Response, Self::Error> {
                use ::pilota::thrift::{TInputProtocol, TLengthProtocol, TOutputProtocol};
                use ::pilota::{Buf, BufMut};
                use ::volo::context::Context;

                // Reconstruct TMessageIdentifier from context (zero-copy, message header already parsed)
                let msg_ident = ::pilota::thrift::TMessageIdentifier::new(
                    cx.rpc_info.method().clone(),
                    cx.req_msg_type
                        .unwrap_or(::pilota::thrift::TMessageType::Call),
                    cx.seq_id.unwrap_or(0),
                );

                // Check protocol from context extensions (set by ThriftCodec during decode)
                let use_compact = cx
                    .extensions()
                    .contains::<::volo_thrift::ProtocolApacheCompact>();

                // Decode the payload using the detected protocol
                let mut payload = payload;
                let req = if use_compact {
                    let mut protocol =
                        ::pilota::thrift::compact::TCompactInputProtocol::new(&mut payload);
                    <MatrixRequestRecv as ::volo_thrift::EntryMessage>::decode(
                        &mut protocol,
                        &msg_ident,
                    )?
                } else {
                    // Use unsafe binary protocol for better performance
                    let mut protocol = unsafe {
                        ::pilota::thrift::binary_unsafe::TBinaryUnsafeInputProtocol::new(
                            &mut payload,
                        )
                    };
                    let req = <MatrixRequestRecv as ::volo_thrift::EntryMessage>::decode(
                        &mut protocol,
                        &msg_ident,
                    )?;
                    let index = protocol.index();
                    protocol.buf().advance(index);
                    req
                };

                // Call the typed service
                let resp =
                    <Self as ::volo::service::Service<_, MatrixRequestRecv>>::call(self, cx, req)
                        .await?;

                // Encode the response using the same protocol with LinkedBytes for better performance
                let mut linked_bytes = ::volo_thrift::LinkedBytes::new();
                if use_compact {
                    let mut size_protocol =
                        ::pilota::thrift::compact::TCompactOutputProtocol::new((), true);
                    let real_size = <MatrixResponseSend as ::volo_thrift::EntryMessage>::size(
                        &resp,
                        &mut size_protocol,
                    );
                    let malloc_size = real_size - size_protocol.zero_copy_len();
                    linked_bytes.reserve(malloc_size);
                    let mut protocol = ::pilota::thrift::compact::TCompactOutputProtocol::new(
                        &mut linked_bytes,
                        true,
                    );
                    <MatrixResponseSend as ::volo_thrift::EntryMessage>::encode(
                        &resp,
                        &mut protocol,
                    )?;
                } else {
                    // Calculate size first
                    let mut size_protocol =
                        ::pilota::thrift::binary::TBinaryProtocol::new((), true);
                    let real_size = <MatrixResponseSend as ::volo_thrift::EntryMessage>::size(
                        &resp,
                        &mut size_protocol,
                    );
                    let malloc_size = real_size - size_protocol.zero_copy_len();
                    linked_bytes.reserve(malloc_size);

                    // Use unsafe binary protocol for encoding
                    let buf = unsafe {
                        let l = linked_bytes.bytes_mut().len();
                        ::std::slice::from_raw_parts_mut(
                            linked_bytes.bytes_mut().as_mut_ptr().add(l),
                            linked_bytes.bytes_mut().capacity() - l,
                        )
                    };
                    let mut protocol = unsafe {
                        ::pilota::thrift::binary_unsafe::TBinaryUnsafeOutputProtocol::new(
                            &mut linked_bytes,
                            buf,
                            true,
                        )
                    };
                    <MatrixResponseSend as ::volo_thrift::EntryMessage>::encode(
                        &resp,
                        &mut protocol,
                    )?;
                    let index = protocol.index();
                    unsafe {
                        protocol.buf_mut().bytes_mut().advance_mut(index);
                    }
                };

                Ok(linked_bytes.into_bytes_mut().freeze())
            }
        }
        pub struct MkMatrixGenericClient;

        pub type MatrixClient = MatrixGenericClient<
            ::volo::service::BoxCloneService<
                ::volo_thrift::context::ClientContext,
                MatrixRequestSend,
                ::std::option::Option<MatrixResponseRecv>,
                ::volo_thrift::ClientError,
            >,
        >;

        impl<S> ::volo::client::MkClient<::volo_thrift::Client<S>> for MkMatrixGenericClient {
            type Target = MatrixGenericClient<S>;
            fn mk_client(&self, service: ::volo_thrift::Client<S>) -> Self::Target {
                MatrixGenericClient(service)
            }
        }

        #[derive(Clone)]
        pub struct MatrixGenericClient<S>(pub ::volo_thrift::Client<S>);

        pub struct MatrixOneShotClient<S>(pub ::volo_thrift::Client<S>);

        impl<
            S: ::volo::service::Service<
                    ::volo_thrift::context::ClientContext,
                    MatrixRequestSend,
                    Response = ::std::option::Option<MatrixResponseRecv>,
                    Error = ::volo_thrift::ClientError,
                > + Send
                + Sync
                + 'static,
        > MatrixGenericClient<S>
        {
            pub fn with_callopt<
                Opt: ::volo::client::Apply<::volo_thrift::context::ClientContext>,
            >(
                self,
                opt: Opt,
            ) -> MatrixOneShotClient<::volo::client::WithOptService<S, Opt>> {
                MatrixOneShotClient(self.0.with_opt(opt))
            }

            pub async fn echo(
                &self,
                text: ::pilota::FastStr,
            ) -> ::std::result::Result<
                ::volo_thrift::MaybeException<::pilota::FastStr, MatrixEchoException>,
                ::volo_thrift::ClientError,
            > {
                let req = MatrixRequestSend::Echo(MatrixEchoArgsSend { text });
                let mut cx = self.0.make_cx("echo", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Matrix"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::service::Service::call(&self.0, &mut cx, req).await? {
                    Some(MatrixResponseRecv::Echo(MatrixEchoResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(::volo_thrift::MaybeException::Ok(resp))
                    }
                    Some(MatrixResponseRecv::Echo(MatrixEchoResultRecv::Missing(ex))) => {
                        ::std::result::Result::Ok(::volo_thrift::MaybeException::Exception(
                            MatrixEchoException::Missing(ex),
                        ))
                    }
                    None => unreachable!(),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
            pub async fn mark(
                &self,
                text: ::pilota::FastStr,
            ) -> ::std::result::Result<(), ::volo_thrift::ClientError> {
                let req = MatrixRequestSend::Mark(MatrixMarkArgsSend { text });
                let mut cx = self.0.make_cx("mark", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Matrix"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::service::Service::call(&self.0, &mut cx, req).await? {
                    Some(MatrixResponseRecv::Mark(MatrixMarkResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(resp)
                    }
                    None => unreachable!(),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
            pub async fn post(
                &self,
                text: ::pilota::FastStr,
            ) -> ::std::result::Result<(), ::volo_thrift::ClientError> {
                let req = MatrixRequestSend::Post(MatrixPostArgsSend { text });
                let mut cx = self.0.make_cx("post", true);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Matrix"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::service::Service::call(&self.0, &mut cx, req).await? {
                    Some(MatrixResponseRecv::Post(MatrixPostResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(resp)
                    }
                    None => ::std::result::Result::Ok(()),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
            pub async fn marks(
                &self,
                text: ::pilota::FastStr,
            ) -> ::std::result::Result<i64, ::volo_thrift::ClientError> {
                let req = MatrixRequestSend::Marks(MatrixMarksArgsSend { text });
                let mut cx = self.0.make_cx("marks", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Matrix"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::service::Service::call(&self.0, &mut cx, req).await? {
                    Some(MatrixResponseRecv::Marks(MatrixMarksResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(resp)
                    }
                    None => unreachable!(),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
            pub async fn unary(
                &self,
                line: Line,
            ) -> ::std::result::Result<Line, ::volo_thrift::ClientError> {
                let req = MatrixRequestSend::Unary(MatrixUnaryArgsSend { line });
                let mut cx = self.0.make_cx("unary", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Matrix"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::service::Service::call(&self.0, &mut cx, req).await? {
                    Some(MatrixResponseRecv::Unary(MatrixUnaryResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(resp)
                    }
                    None => unreachable!(),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
            pub async fn listen(
                &self,
                wanted: Line,
            ) -> ::std::result::Result<
                ::volo_thrift::MaybeException<Line, MatrixListenException>,
                ::volo_thrift::ClientError,
            > {
                let req = MatrixRequestSend::Listen(MatrixListenArgsSend { wanted });
                let mut cx = self.0.make_cx("listen", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Matrix"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::service::Service::call(&self.0, &mut cx, req).await? {
                    Some(MatrixResponseRecv::Listen(MatrixListenResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(::volo_thrift::MaybeException::Ok(resp))
                    }
                    Some(MatrixResponseRecv::Listen(MatrixListenResultRecv::Missing(ex))) => {
                        ::std::result::Result::Ok(::volo_thrift::MaybeException::Exception(
                            MatrixListenException::Missing(ex),
                        ))
                    }
                    None => unreachable!(),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
            pub async fn tell(
                &self,
                line: Line,
            ) -> ::std::result::Result<Line, ::volo_thrift::ClientError> {
                let req = MatrixRequestSend::Tell(MatrixTellArgsSend { line });
                let mut cx = self.0.make_cx("tell", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Matrix"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::service::Service::call(&self.0, &mut cx, req).await? {
                    Some(MatrixResponseRecv::Tell(MatrixTellResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(resp)
                    }
                    None => unreachable!(),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
            pub async fn talk(
                &self,
                line: Line,
            ) -> ::std::result::Result<Line, ::volo_thrift::ClientError> {
                let req = MatrixRequestSend::Talk(MatrixTalkArgsSend { line });
                let mut cx = self.0.make_cx("talk", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Matrix"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::service::Service::call(&self.0, &mut cx, req).await? {
                    Some(MatrixResponseRecv::Talk(MatrixTalkResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(resp)
                    }
                    None => unreachable!(),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
        }

        impl<
            S: ::volo::client::OneShotService<
                    ::volo_thrift::context::ClientContext,
                    MatrixRequestSend,
                    Response = ::std::option::Option<MatrixResponseRecv>,
                    Error = ::volo_thrift::ClientError,
                > + Send
                + Sync
                + 'static,
        > MatrixOneShotClient<S>
        {
            pub async fn echo(
                self,
                text: ::pilota::FastStr,
            ) -> ::std::result::Result<
                ::volo_thrift::MaybeException<::pilota::FastStr, MatrixEchoException>,
                ::volo_thrift::ClientError,
            > {
                let req = MatrixRequestSend::Echo(MatrixEchoArgsSend { text });
                let mut cx = self.0.make_cx("echo", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Matrix"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::client::OneShotService::call(self.0, &mut cx, req).await? {
                    Some(MatrixResponseRecv::Echo(MatrixEchoResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(::volo_thrift::MaybeException::Ok(resp))
                    }
                    Some(MatrixResponseRecv::Echo(MatrixEchoResultRecv::Missing(ex))) => {
                        ::std::result::Result::Ok(::volo_thrift::MaybeException::Exception(
                            MatrixEchoException::Missing(ex),
                        ))
                    }
                    None => unreachable!(),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
            pub async fn mark(
                self,
                text: ::pilota::FastStr,
            ) -> ::std::result::Result<(), ::volo_thrift::ClientError> {
                let req = MatrixRequestSend::Mark(MatrixMarkArgsSend { text });
                let mut cx = self.0.make_cx("mark", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Matrix"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::client::OneShotService::call(self.0, &mut cx, req).await? {
                    Some(MatrixResponseRecv::Mark(MatrixMarkResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(resp)
                    }
                    None => unreachable!(),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
            pub async fn post(
                self,
                text: ::pilota::FastStr,
            ) -> ::std::result::Result<(), ::volo_thrift::ClientError> {
                let req = MatrixRequestSend::Post(MatrixPostArgsSend { text });
                let mut cx = self.0.make_cx("post", true);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Matrix"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::client::OneShotService::call(self.0, &mut cx, req).await? {
                    Some(MatrixResponseRecv::Post(MatrixPostResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(resp)
                    }
                    None => ::std::result::Result::Ok(()),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
            pub async fn marks(
                self,
                text: ::pilota::FastStr,
            ) -> ::std::result::Result<i64, ::volo_thrift::ClientError> {
                let req = MatrixRequestSend::Marks(MatrixMarksArgsSend { text });
                let mut cx = self.0.make_cx("marks", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Matrix"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::client::OneShotService::call(self.0, &mut cx, req).await? {
                    Some(MatrixResponseRecv::Marks(MatrixMarksResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(resp)
                    }
                    None => unreachable!(),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
            pub async fn unary(
                self,
                line: Line,
            ) -> ::std::result::Result<Line, ::volo_thrift::ClientError> {
                let req = MatrixRequestSend::Unary(MatrixUnaryArgsSend { line });
                let mut cx = self.0.make_cx("unary", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Matrix"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::client::OneShotService::call(self.0, &mut cx, req).await? {
                    Some(MatrixResponseRecv::Unary(MatrixUnaryResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(resp)
                    }
                    None => unreachable!(),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
            pub async fn listen(
                self,
                wanted: Line,
            ) -> ::std::result::Result<
                ::volo_thrift::MaybeException<Line, MatrixListenException>,
                ::volo_thrift::ClientError,
            > {
                let req = MatrixRequestSend::Listen(MatrixListenArgsSend { wanted });
                let mut cx = self.0.make_cx("listen", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Matrix"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::client::OneShotService::call(self.0, &mut cx, req).await? {
                    Some(MatrixResponseRecv::Listen(MatrixListenResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(::volo_thrift::MaybeException::Ok(resp))
                    }
                    Some(MatrixResponseRecv::Listen(MatrixListenResultRecv::Missing(ex))) => {
                        ::std::result::Result::Ok(::volo_thrift::MaybeException::Exception(
                            MatrixListenException::Missing(ex),
                        ))
                    }
                    None => unreachable!(),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
            pub async fn tell(
                self,
                line: Line,
            ) -> ::std::result::Result<Line, ::volo_thrift::ClientError> {
                let req = MatrixRequestSend::Tell(MatrixTellArgsSend { line });
                let mut cx = self.0.make_cx("tell", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Matrix"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::client::OneShotService::call(self.0, &mut cx, req).await? {
                    Some(MatrixResponseRecv::Tell(MatrixTellResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(resp)
                    }
                    None => unreachable!(),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
            pub async fn talk(
                self,
                line: Line,
            ) -> ::std::result::Result<Line, ::volo_thrift::ClientError> {
                let req = MatrixRequestSend::Talk(MatrixTalkArgsSend { line });
                let mut cx = self.0.make_cx("talk", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Matrix"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::client::OneShotService::call(self.0, &mut cx, req).await? {
                    Some(MatrixResponseRecv::Talk(MatrixTalkResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(resp)
                    }
                    None => unreachable!(),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
        }

        pub struct MatrixClientBuilder {}

        impl MatrixClientBuilder {
            pub fn new(
                service_name: impl AsRef<str>,
            ) -> ::volo_thrift::client::ClientBuilder<
                ::volo::layer::Identity,
                ::volo::layer::Identity,
                MkMatrixGenericClient,
                MatrixRequestSend,
                MatrixResponseRecv,
                ::volo::net::dial::DefaultMakeTransport,
                ::volo_thrift::codec::default::DefaultMakeCodec<
                    ::volo_thrift::codec::default::ttheader::MakeTTHeaderCodec<
                        ::volo_thrift::codec::default::framed::MakeFramedCodec<
                            ::volo_thrift::codec::default::thrift::MakeThriftCodec,
                        >,
                    >,
                >,
                ::volo::loadbalance::LbConfig<
                    ::volo::loadbalance::random::WeightedRandomBalance<()>,
                    ::volo::discovery::DummyDiscover,
                >,
            > {
                ::volo_thrift::client::ClientBuilder::new(service_name, MkMatrixGenericClient)
            }
        }
        #[derive(Debug, Clone)]
        pub enum MatrixRequestRecv {
            Echo(MatrixEchoArgsRecv),
            Mark(MatrixMarkArgsRecv),
            Post(MatrixPostArgsRecv),
            Marks(MatrixMarksArgsRecv),
            Unary(MatrixUnaryArgsRecv),
            Listen(MatrixListenArgsRecv),
            Tell(MatrixTellArgsRecv),
            Talk(MatrixTalkArgsRecv),
        }

        #[derive(Debug, Clone)]
        pub enum MatrixRequestSend {
            Echo(MatrixEchoArgsSend),
            Mark(MatrixMarkArgsSend),
            Post(MatrixPostArgsSend),
            Marks(MatrixMarksArgsSend),
            Unary(MatrixUnaryArgsSend),
            Listen(MatrixListenArgsSend),
            Tell(MatrixTellArgsSend),
            Talk(MatrixTalkArgsSend),
        }

        #[derive(Debug, Clone)]
        pub enum MatrixResponseRecv {
            Echo(MatrixEchoResultRecv),
            Mark(MatrixMarkResultRecv),
            Post(MatrixPostResultRecv),
            Marks(MatrixMarksResultRecv),
            Unary(MatrixUnaryResultRecv),
            Listen(MatrixListenResultRecv),
            Tell(MatrixTellResultRecv),
            Talk(MatrixTalkResultRecv),
        }

        #[derive(Debug, Clone)]
        pub enum MatrixResponseSend {
            Echo(MatrixEchoResultSend),
            Mark(MatrixMarkResultSend),
            Post(MatrixPostResultSend),
            Marks(MatrixMarksResultSend),
            Unary(MatrixUnaryResultSend),
            Listen(MatrixListenResultSend),
            Tell(MatrixTellResultSend),
            Talk(MatrixTalkResultSend),
        }

        impl ::volo_thrift::EntryMessage for MatrixRequestRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::core::result::Result<(), ::pilota::thrift::ThriftException> {
                match self {
                    Self::Echo(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Mark(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Post(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Marks(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Unary(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Listen(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Tell(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Talk(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                }
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "echo" => Self::Echo(::pilota::thrift::Message::decode(__protocol)?),
                    "mark" => Self::Mark(::pilota::thrift::Message::decode(__protocol)?),
                    "post" => Self::Post(::pilota::thrift::Message::decode(__protocol)?),
                    "marks" => Self::Marks(::pilota::thrift::Message::decode(__protocol)?),
                    "unary" => Self::Unary(::pilota::thrift::Message::decode(__protocol)?),
                    "listen" => Self::Listen(::pilota::thrift::Message::decode(__protocol)?),
                    "tell" => Self::Tell(::pilota::thrift::Message::decode(__protocol)?),
                    "talk" => Self::Talk(::pilota::thrift::Message::decode(__protocol)?),
                    _ => {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_application_exception(
                                ::pilota::thrift::ApplicationExceptionKind::UNKNOWN_METHOD,
                                format!("unknown method {}", msg_ident.name),
                            ),
                        );
                    }
                })
            }

            async fn decode_async<T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "echo" => Self::Echo(
                        <MatrixEchoArgsRecv as ::pilota::thrift::Message>::decode_async(__protocol)
                            .await?,
                    ),
                    "mark" => Self::Mark(
                        <MatrixMarkArgsRecv as ::pilota::thrift::Message>::decode_async(__protocol)
                            .await?,
                    ),
                    "post" => Self::Post(
                        <MatrixPostArgsRecv as ::pilota::thrift::Message>::decode_async(__protocol)
                            .await?,
                    ),
                    "marks" => Self::Marks(
                        <MatrixMarksArgsRecv as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "unary" => Self::Unary(
                        <MatrixUnaryArgsRecv as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "listen" => Self::Listen(
                        <MatrixListenArgsRecv as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "tell" => Self::Tell(
                        <MatrixTellArgsRecv as ::pilota::thrift::Message>::decode_async(__protocol)
                            .await?,
                    ),
                    "talk" => Self::Talk(
                        <MatrixTalkArgsRecv as ::pilota::thrift::Message>::decode_async(__protocol)
                            .await?,
                    ),
                    _ => {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_application_exception(
                                ::pilota::thrift::ApplicationExceptionKind::UNKNOWN_METHOD,
                                format!("unknown method {}", msg_ident.name),
                            ),
                        );
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                match self {
                    Self::Echo(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Mark(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Post(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Marks(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Unary(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Listen(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Tell(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Talk(value) => ::volo_thrift::Message::size(value, __protocol),
                }
            }
        }
        impl ::volo_thrift::EntryMessage for MatrixRequestSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::core::result::Result<(), ::pilota::thrift::ThriftException> {
                match self {
                    Self::Echo(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Mark(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Post(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Marks(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Unary(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Listen(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Tell(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Talk(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                }
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "echo" => Self::Echo(::pilota::thrift::Message::decode(__protocol)?),
                    "mark" => Self::Mark(::pilota::thrift::Message::decode(__protocol)?),
                    "post" => Self::Post(::pilota::thrift::Message::decode(__protocol)?),
                    "marks" => Self::Marks(::pilota::thrift::Message::decode(__protocol)?),
                    "unary" => Self::Unary(::pilota::thrift::Message::decode(__protocol)?),
                    "listen" => Self::Listen(::pilota::thrift::Message::decode(__protocol)?),
                    "tell" => Self::Tell(::pilota::thrift::Message::decode(__protocol)?),
                    "talk" => Self::Talk(::pilota::thrift::Message::decode(__protocol)?),
                    _ => {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_application_exception(
                                ::pilota::thrift::ApplicationExceptionKind::UNKNOWN_METHOD,
                                format!("unknown method {}", msg_ident.name),
                            ),
                        );
                    }
                })
            }

            async fn decode_async<T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "echo" => Self::Echo(
                        <MatrixEchoArgsSend as ::pilota::thrift::Message>::decode_async(__protocol)
                            .await?,
                    ),
                    "mark" => Self::Mark(
                        <MatrixMarkArgsSend as ::pilota::thrift::Message>::decode_async(__protocol)
                            .await?,
                    ),
                    "post" => Self::Post(
                        <MatrixPostArgsSend as ::pilota::thrift::Message>::decode_async(__protocol)
                            .await?,
                    ),
                    "marks" => Self::Marks(
                        <MatrixMarksArgsSend as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "unary" => Self::Unary(
                        <MatrixUnaryArgsSend as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "listen" => Self::Listen(
                        <MatrixListenArgsSend as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "tell" => Self::Tell(
                        <MatrixTellArgsSend as ::pilota::thrift::Message>::decode_async(__protocol)
                            .await?,
                    ),
                    "talk" => Self::Talk(
                        <MatrixTalkArgsSend as ::pilota::thrift::Message>::decode_async(__protocol)
                            .await?,
                    ),
                    _ => {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_application_exception(
                                ::pilota::thrift::ApplicationExceptionKind::UNKNOWN_METHOD,
                                format!("unknown method {}", msg_ident.name),
                            ),
                        );
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                match self {
                    Self::Echo(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Mark(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Post(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Marks(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Unary(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Listen(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Tell(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Talk(value) => ::volo_thrift::Message::size(value, __protocol),
                }
            }
        }
        impl ::volo_thrift::EntryMessage for MatrixResponseRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::core::result::Result<(), ::pilota::thrift::ThriftException> {
                match self {
                    Self::Echo(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Mark(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Post(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Marks(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Unary(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Listen(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Tell(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Talk(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                }
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "echo" => Self::Echo(::pilota::thrift::Message::decode(__protocol)?),
                    "mark" => Self::Mark(::pilota::thrift::Message::decode(__protocol)?),
                    "post" => Self::Post(::pilota::thrift::Message::decode(__protocol)?),
                    "marks" => Self::Marks(::pilota::thrift::Message::decode(__protocol)?),
                    "unary" => Self::Unary(::pilota::thrift::Message::decode(__protocol)?),
                    "listen" => Self::Listen(::pilota::thrift::Message::decode(__protocol)?),
                    "tell" => Self::Tell(::pilota::thrift::Message::decode(__protocol)?),
                    "talk" => Self::Talk(::pilota::thrift::Message::decode(__protocol)?),
                    _ => {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_application_exception(
                                ::pilota::thrift::ApplicationExceptionKind::UNKNOWN_METHOD,
                                format!("unknown method {}", msg_ident.name),
                            ),
                        );
                    }
                })
            }

            async fn decode_async<T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "echo" => Self::Echo(
                        <MatrixEchoResultRecv as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "mark" => Self::Mark(
                        <MatrixMarkResultRecv as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "post" => Self::Post(
                        <MatrixPostResultRecv as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "marks" => Self::Marks(
                        <MatrixMarksResultRecv as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "unary" => Self::Unary(
                        <MatrixUnaryResultRecv as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "listen" => Self::Listen(
                        <MatrixListenResultRecv as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "tell" => Self::Tell(
                        <MatrixTellResultRecv as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "talk" => Self::Talk(
                        <MatrixTalkResultRecv as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    _ => {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_application_exception(
                                ::pilota::thrift::ApplicationExceptionKind::UNKNOWN_METHOD,
                                format!("unknown method {}", msg_ident.name),
                            ),
                        );
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                match self {
                    Self::Echo(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Mark(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Post(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Marks(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Unary(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Listen(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Tell(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Talk(value) => ::volo_thrift::Message::size(value, __protocol),
                }
            }
        }
        impl ::volo_thrift::EntryMessage for MatrixResponseSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::core::result::Result<(), ::pilota::thrift::ThriftException> {
                match self {
                    Self::Echo(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Mark(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Post(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Marks(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Unary(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Listen(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Tell(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Talk(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                }
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "echo" => Self::Echo(::pilota::thrift::Message::decode(__protocol)?),
                    "mark" => Self::Mark(::pilota::thrift::Message::decode(__protocol)?),
                    "post" => Self::Post(::pilota::thrift::Message::decode(__protocol)?),
                    "marks" => Self::Marks(::pilota::thrift::Message::decode(__protocol)?),
                    "unary" => Self::Unary(::pilota::thrift::Message::decode(__protocol)?),
                    "listen" => Self::Listen(::pilota::thrift::Message::decode(__protocol)?),
                    "tell" => Self::Tell(::pilota::thrift::Message::decode(__protocol)?),
                    "talk" => Self::Talk(::pilota::thrift::Message::decode(__protocol)?),
                    _ => {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_application_exception(
                                ::pilota::thrift::ApplicationExceptionKind::UNKNOWN_METHOD,
                                format!("unknown method {}", msg_ident.name),
                            ),
                        );
                    }
                })
            }

            async fn decode_async<T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "echo" => Self::Echo(
                        <MatrixEchoResultSend as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "mark" => Self::Mark(
                        <MatrixMarkResultSend as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "post" => Self::Post(
                        <MatrixPostResultSend as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "marks" => Self::Marks(
                        <MatrixMarksResultSend as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "unary" => Self::Unary(
                        <MatrixUnaryResultSend as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "listen" => Self::Listen(
                        <MatrixListenResultSend as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "tell" => Self::Tell(
                        <MatrixTellResultSend as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    "talk" => Self::Talk(
                        <MatrixTalkResultSend as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    _ => {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_application_exception(
                                ::pilota::thrift::ApplicationExceptionKind::UNKNOWN_METHOD,
                                format!("unknown method {}", msg_ident.name),
                            ),
                        );
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                match self {
                    Self::Echo(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Mark(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Post(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Marks(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Unary(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Listen(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Tell(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Talk(value) => ::volo_thrift::Message::size(value, __protocol),
                }
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct AbsentNothingArgsRecv {}
        impl ::pilota::thrift::Message for AbsentNothingArgsRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "AbsentNothingArgsRecv",
                };

                __protocol.write_struct_begin(&struct_ident)?;

                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `AbsentNothingArgsRecv` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let data = Self {};
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!("decode struct `AbsentNothingArgsRecv` field(#{}) failed, caused by: ", field_id));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let data = Self {};
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "AbsentNothingArgsRecv",
                }) + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixTalkResultRecv {
            fn default() -> Self {
                MatrixTalkResultRecv::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixTalkResultRecv {
            Ok(Line),
        }

        impl ::pilota::thrift::Message for MatrixTalkResultRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixTalkResultRecv",
                })?;
                match self {
                    MatrixTalkResultRecv::Ok(value) => {
                        __protocol.write_struct_field(0, value, ::pilota::thrift::TType::Struct)?;
                    }
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        ::std::option::Option::Some(0) => {
                            if ret.is_none() {
                                let field_ident = ::pilota::thrift::Message::decode(__protocol)?;
                                __protocol.struct_len(&field_ident);
                                ret = ::std::option::Option::Some(MatrixTalkResultRecv::Ok(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "received empty union from remote Message",
                    ))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            ::std::option::Option::Some(0) => {
                                if ret.is_none() {
                                    let field_ident =
                                        <Line as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(MatrixTalkResultRecv::Ok(
                                        field_ident,
                                    ));
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                            "received empty union from remote Message",
                        ))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixTalkResultRecv",
                }) + match self {
                    MatrixTalkResultRecv::Ok(value) => {
                        __protocol.struct_field_len(::std::option::Option::Some(0), value)
                    }
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixTellResultRecv {
            fn default() -> Self {
                MatrixTellResultRecv::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixTellResultRecv {
            Ok(Line),
        }

        impl ::pilota::thrift::Message for MatrixTellResultRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixTellResultRecv",
                })?;
                match self {
                    MatrixTellResultRecv::Ok(value) => {
                        __protocol.write_struct_field(0, value, ::pilota::thrift::TType::Struct)?;
                    }
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        ::std::option::Option::Some(0) => {
                            if ret.is_none() {
                                let field_ident = ::pilota::thrift::Message::decode(__protocol)?;
                                __protocol.struct_len(&field_ident);
                                ret = ::std::option::Option::Some(MatrixTellResultRecv::Ok(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "received empty union from remote Message",
                    ))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            ::std::option::Option::Some(0) => {
                                if ret.is_none() {
                                    let field_ident =
                                        <Line as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(MatrixTellResultRecv::Ok(
                                        field_ident,
                                    ));
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                            "received empty union from remote Message",
                        ))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixTellResultRecv",
                }) + match self {
                    MatrixTellResultRecv::Ok(value) => {
                        __protocol.struct_field_len(::std::option::Option::Some(0), value)
                    }
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MatrixUnaryArgsSend {
            pub line: Line,
        }
        impl ::pilota::thrift::Message for MatrixUnaryArgsSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "MatrixUnaryArgsSend",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_struct_field(1, &self.line, ::pilota::thrift::TType::Struct)?;
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Struct =>
                            {
                                var_1 = ::std::option::Option::Some(
                                    ::pilota::thrift::Message::decode(__protocol)?,
                                );
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `MatrixUnaryArgsSend` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field line is required".to_string(),
                    ));
                };

                let data = Self { line: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Struct =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        <Line as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!("decode struct `MatrixUnaryArgsSend` field(#{}) failed, caused by: ", field_id));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let ::std::option::Option::Some(var_1) = var_1 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field line is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { line: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixUnaryArgsSend",
                }) + __protocol.struct_field_len(::std::option::Option::Some(1), &self.line)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MatrixMarksArgsSend {
            pub text: ::pilota::FastStr,
        }
        impl ::pilota::thrift::Message for MatrixMarksArgsSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "MatrixMarksArgsSend",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_faststr_field(1, (&self.text).clone())?;
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Binary =>
                            {
                                var_1 = ::std::option::Option::Some(__protocol.read_faststr()?);
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `MatrixMarksArgsSend` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field text is required".to_string(),
                    ));
                };

                let data = Self { text: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Binary =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        __protocol.read_faststr().await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!("decode struct `MatrixMarksArgsSend` field(#{}) failed, caused by: ", field_id));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let ::std::option::Option::Some(var_1) = var_1 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field text is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { text: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixMarksArgsSend",
                }) + __protocol.faststr_field_len(::std::option::Option::Some(1), &self.text)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MatrixPostArgsSend {
            pub text: ::pilota::FastStr,
        }
        impl ::pilota::thrift::Message for MatrixPostArgsSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "MatrixPostArgsSend",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_faststr_field(1, (&self.text).clone())?;
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Binary =>
                            {
                                var_1 = ::std::option::Option::Some(__protocol.read_faststr()?);
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `MatrixPostArgsSend` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field text is required".to_string(),
                    ));
                };

                let data = Self { text: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Binary =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        __protocol.read_faststr().await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!(
                                "decode struct `MatrixPostArgsSend` field(#{}) failed, caused by: ",
                                field_id
                            ));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let ::std::option::Option::Some(var_1) = var_1 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field text is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { text: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixPostArgsSend",
                }) + __protocol.faststr_field_len(::std::option::Option::Some(1), &self.text)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MatrixMarkArgsSend {
            pub text: ::pilota::FastStr,
        }
        impl ::pilota::thrift::Message for MatrixMarkArgsSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "MatrixMarkArgsSend",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_faststr_field(1, (&self.text).clone())?;
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Binary =>
                            {
                                var_1 = ::std::option::Option::Some(__protocol.read_faststr()?);
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `MatrixMarkArgsSend` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field text is required".to_string(),
                    ));
                };

                let data = Self { text: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Binary =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        __protocol.read_faststr().await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!(
                                "decode struct `MatrixMarkArgsSend` field(#{}) failed, caused by: ",
                                field_id
                            ));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let ::std::option::Option::Some(var_1) = var_1 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field text is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { text: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixMarkArgsSend",
                }) + __protocol.faststr_field_len(::std::option::Option::Some(1), &self.text)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MatrixEchoArgsSend {
            pub text: ::pilota::FastStr,
        }
        impl ::pilota::thrift::Message for MatrixEchoArgsSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "MatrixEchoArgsSend",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_faststr_field(1, (&self.text).clone())?;
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Binary =>
                            {
                                var_1 = ::std::option::Option::Some(__protocol.read_faststr()?);
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `MatrixEchoArgsSend` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field text is required".to_string(),
                    ));
                };

                let data = Self { text: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Binary =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        __protocol.read_faststr().await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!(
                                "decode struct `MatrixEchoArgsSend` field(#{}) failed, caused by: ",
                                field_id
                            ));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let ::std::option::Option::Some(var_1) = var_1 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field text is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { text: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixEchoArgsSend",
                }) + __protocol.faststr_field_len(::std::option::Option::Some(1), &self.text)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct Missing {
            pub name: ::std::option::Option<::pilota::FastStr>,
        }
        impl ::pilota::thrift::Message for Missing {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier { name: "Missing" };

                __protocol.write_struct_begin(&struct_ident)?;
                if let ::std::option::Option::Some(value) = self.name.as_ref() {
                    __protocol.write_faststr_field(1, (value).clone())?;
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Binary =>
                            {
                                var_1 = ::std::option::Option::Some(__protocol.read_faststr()?);
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `Missing` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let data = Self { name: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Binary =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        __protocol.read_faststr().await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!(
                                "decode struct `Missing` field(#{}) failed, caused by: ",
                                field_id
                            ));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let data = Self { name: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol
                    .struct_begin_len(&::pilota::thrift::TStructIdentifier { name: "Missing" })
                    + self.name.as_ref().map_or(0, |value| {
                        __protocol.faststr_field_len(::std::option::Option::Some(1), value)
                    })
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        pub trait Absent {
            fn nothing(
                &self,
            ) -> impl ::std::future::Future<
                Output = ::core::result::Result<(), ::volo_thrift::ServerError>,
            > + Send;
        }
        #[derive(Clone)]
        pub struct AbsentServer<S> {
            inner: S, // handler
        }

        impl<S> AbsentServer<S> {
            /// Creates a new server instance from the handler.
            ///
            /// Use this method when you need to add the service to a [`Router`] for multi-service support.
            ///
            /// [`Router`]: volo_thrift::server::Router
            pub fn from_handler(handler: S) -> Self {
                Self { inner: handler }
            }
        }

        impl<S> AbsentServer<S>
        where
            S: Absent + ::core::marker::Send + ::core::marker::Sync + 'static,
        {
            /// Creates a new [`Server`] with this service.
            ///
            /// Use this method for single-service servers. For multi-service support,
            /// use [`from_handler`] and add to a [`Router`] instead.
            ///
            /// [`Server`]: volo_thrift::server::Server
            /// [`from_handler`]: Self::from_handler
            /// [`Router`]: volo_thrift::server::Router
            pub fn new(
                inner: S,
            ) -> ::volo_thrift::server::Server<
                Self,
                ::volo::layer::Identity,
                AbsentRequestRecv,
                ::volo_thrift::codec::default::DefaultMakeCodec<
                    ::volo_thrift::codec::default::ttheader::MakeTTHeaderCodec<
                        ::volo_thrift::codec::default::framed::MakeFramedCodec<
                            ::volo_thrift::codec::default::thrift::MakeThriftCodec,
                        >,
                    >,
                >,
                ::volo_thrift::tracing::DefaultProvider,
            > {
                ::volo_thrift::server::Server::new(Self { inner })
            }
        }

        impl<T> ::volo::service::Service<::volo_thrift::context::ServerContext, AbsentRequestRecv>
            for AbsentServer<T>
        where
            T: Absent + Send + Sync + 'static,
        {
            type Response = AbsentResponseSend;
            type Error = ::volo_thrift::ServerError;

            async fn call<'s, 'cx>(
                &'s self,
                _cx: &'cx mut ::volo_thrift::context::ServerContext,
                req: AbsentRequestRecv,
            ) -> ::std::result::Result<Self::Response, Self::Error> {
                match req {
                    AbsentRequestRecv::Nothing(args) => ::std::result::Result::Ok(
                        AbsentResponseSend::Nothing(match self.inner.nothing().await {
                            ::std::result::Result::Ok(resp) => AbsentNothingResultSend::Ok(resp),
                            ::std::result::Result::Err(err) => {
                                return ::std::result::Result::Err(err);
                            }
                        }),
                    ),
                }
            }
        }

        impl<S> ::volo_thrift::server::NamedService for AbsentServer<S> {
            const NAME: &'static str = "Absent";
        }

        impl<T>
            ::volo::service::Service<::volo_thrift::context::ServerContext, ::volo_thrift::Bytes>
            for AbsentServer<T>
        where
            T: Absent + Send + Sync + 'static,
        {
            type Response = ::volo_thrift::Bytes;
            type Error = ::volo_thrift::ServerError;

            async fn call<'s, 'cx>(
                &'s self,
                cx: &'cx mut ::volo_thrift::context::ServerContext,
                payload: ::volo_thrift::Bytes,
            ) -> ::std::result::Result<Self::Response, Self::Error> {
                use ::pilota::thrift::{TInputProtocol, TLengthProtocol, TOutputProtocol};
                use ::pilota::{Buf, BufMut};
                use ::volo::context::Context;

                // Reconstruct TMessageIdentifier from context (zero-copy, message header already parsed)
                let msg_ident = ::pilota::thrift::TMessageIdentifier::new(
                    cx.rpc_info.method().clone(),
                    cx.req_msg_type
                        .unwrap_or(::pilota::thrift::TMessageType::Call),
                    cx.seq_id.unwrap_or(0),
                );

                // Check protocol from context extensions (set by ThriftCodec during decode)
                let use_compact = cx
                    .extensions()
                    .contains::<::volo_thrift::ProtocolApacheCompact>();

                // Decode the payload using the detected protocol
                let mut payload = payload;
                let req = if use_compact {
                    let mut protocol =
                        ::pilota::thrift::compact::TCompactInputProtocol::new(&mut payload);
                    <AbsentRequestRecv as ::volo_thrift::EntryMessage>::decode(
                        &mut protocol,
                        &msg_ident,
                    )?
                } else {
                    // Use unsafe binary protocol for better performance
                    let mut protocol = unsafe {
                        ::pilota::thrift::binary_unsafe::TBinaryUnsafeInputProtocol::new(
                            &mut payload,
                        )
                    };
                    let req = <AbsentRequestRecv as ::volo_thrift::EntryMessage>::decode(
                        &mut protocol,
                        &msg_ident,
                    )?;
                    let index = protocol.index();
                    protocol.buf().advance(index);
                    req
                };

                // Call the typed service
                let resp =
                    <Self as ::volo::service::Service<_, AbsentRequestRecv>>::call(self, cx, req)
                        .await?;

                // Encode the response using the same protocol with LinkedBytes for better performance
                let mut linked_bytes = ::volo_thrift::LinkedBytes::new();
                if use_compact {
                    let mut size_protocol =
                        ::pilota::thrift::compact::TCompactOutputProtocol::new((), true);
                    let real_size = <AbsentResponseSend as ::volo_thrift::EntryMessage>::size(
                        &resp,
                        &mut size_protocol,
                    );
                    let malloc_size = real_size - size_protocol.zero_copy_len();
                    linked_bytes.reserve(malloc_size);
                    let mut protocol = ::pilota::thrift::compact::TCompactOutputProtocol::new(
                        &mut linked_bytes,
                        true,
                    );
                    <AbsentResponseSend as ::volo_thrift::EntryMessage>::encode(
                        &resp,
                        &mut protocol,
                    )?;
                } else {
                    // Calculate size first
                    let mut size_protocol =
                        ::pilota::thrift::binary::TBinaryProtocol::new((), true);
                    let real_size = <AbsentResponseSend as ::volo_thrift::EntryMessage>::size(
                        &resp,
                        &mut size_protocol,
                    );
                    let malloc_size = real_size - size_protocol.zero_copy_len();
                    linked_bytes.reserve(malloc_size);

                    // Use unsafe binary protocol for encoding
                    let buf = unsafe {
                        let l = linked_bytes.bytes_mut().len();
                        ::std::slice::from_raw_parts_mut(
                            linked_bytes.bytes_mut().as_mut_ptr().add(l),
                            linked_bytes.bytes_mut().capacity() - l,
                        )
                    };
                    let mut protocol = unsafe {
                        ::pilota::thrift::binary_unsafe::TBinaryUnsafeOutputProtocol::new(
                            &mut linked_bytes,
                            buf,
                            true,
                        )
                    };
                    <AbsentResponseSend as ::volo_thrift::EntryMessage>::encode(
                        &resp,
                        &mut protocol,
                    )?;
                    let index = protocol.index();
                    unsafe {
                        protocol.buf_mut().bytes_mut().advance_mut(index);
                    }
                };

                Ok(linked_bytes.into_bytes_mut().freeze())
            }
        }
        pub struct MkAbsentGenericClient;

        pub type AbsentClient = AbsentGenericClient<
            ::volo::service::BoxCloneService<
                ::volo_thrift::context::ClientContext,
                AbsentRequestSend,
                ::std::option::Option<AbsentResponseRecv>,
                ::volo_thrift::ClientError,
            >,
        >;

        impl<S> ::volo::client::MkClient<::volo_thrift::Client<S>> for MkAbsentGenericClient {
            type Target = AbsentGenericClient<S>;
            fn mk_client(&self, service: ::volo_thrift::Client<S>) -> Self::Target {
                AbsentGenericClient(service)
            }
        }

        #[derive(Clone)]
        pub struct AbsentGenericClient<S>(pub ::volo_thrift::Client<S>);

        pub struct AbsentOneShotClient<S>(pub ::volo_thrift::Client<S>);

        impl<
            S: ::volo::service::Service<
                    ::volo_thrift::context::ClientContext,
                    AbsentRequestSend,
                    Response = ::std::option::Option<AbsentResponseRecv>,
                    Error = ::volo_thrift::ClientError,
                > + Send
                + Sync
                + 'static,
        > AbsentGenericClient<S>
        {
            pub fn with_callopt<
                Opt: ::volo::client::Apply<::volo_thrift::context::ClientContext>,
            >(
                self,
                opt: Opt,
            ) -> AbsentOneShotClient<::volo::client::WithOptService<S, Opt>> {
                AbsentOneShotClient(self.0.with_opt(opt))
            }

            pub async fn nothing(&self) -> ::std::result::Result<(), ::volo_thrift::ClientError> {
                let req = AbsentRequestSend::Nothing(AbsentNothingArgsSend {});
                let mut cx = self.0.make_cx("nothing", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Absent"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::service::Service::call(&self.0, &mut cx, req).await? {
                    Some(AbsentResponseRecv::Nothing(AbsentNothingResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(resp)
                    }
                    None => unreachable!(),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
        }

        impl<
            S: ::volo::client::OneShotService<
                    ::volo_thrift::context::ClientContext,
                    AbsentRequestSend,
                    Response = ::std::option::Option<AbsentResponseRecv>,
                    Error = ::volo_thrift::ClientError,
                > + Send
                + Sync
                + 'static,
        > AbsentOneShotClient<S>
        {
            pub async fn nothing(self) -> ::std::result::Result<(), ::volo_thrift::ClientError> {
                let req = AbsentRequestSend::Nothing(AbsentNothingArgsSend {});
                let mut cx = self.0.make_cx("nothing", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Absent"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::client::OneShotService::call(self.0, &mut cx, req).await? {
                    Some(AbsentResponseRecv::Nothing(AbsentNothingResultRecv::Ok(resp))) => {
                        ::std::result::Result::Ok(resp)
                    }
                    None => unreachable!(),
                    _ => unreachable!(),
                };
                ::volo_thrift::context::CLIENT_CONTEXT_CACHE.with(|cache| {
                    let mut cache = cache.borrow_mut();
                    if cache.len() < cache.capacity() {
                        cache.push(cx);
                    }
                });
                resp
            }
        }

        pub struct AbsentClientBuilder {}

        impl AbsentClientBuilder {
            pub fn new(
                service_name: impl AsRef<str>,
            ) -> ::volo_thrift::client::ClientBuilder<
                ::volo::layer::Identity,
                ::volo::layer::Identity,
                MkAbsentGenericClient,
                AbsentRequestSend,
                AbsentResponseRecv,
                ::volo::net::dial::DefaultMakeTransport,
                ::volo_thrift::codec::default::DefaultMakeCodec<
                    ::volo_thrift::codec::default::ttheader::MakeTTHeaderCodec<
                        ::volo_thrift::codec::default::framed::MakeFramedCodec<
                            ::volo_thrift::codec::default::thrift::MakeThriftCodec,
                        >,
                    >,
                >,
                ::volo::loadbalance::LbConfig<
                    ::volo::loadbalance::random::WeightedRandomBalance<()>,
                    ::volo::discovery::DummyDiscover,
                >,
            > {
                ::volo_thrift::client::ClientBuilder::new(service_name, MkAbsentGenericClient)
            }
        }
        #[derive(Debug, Clone)]
        pub enum AbsentRequestRecv {
            Nothing(AbsentNothingArgsRecv),
        }

        #[derive(Debug, Clone)]
        pub enum AbsentRequestSend {
            Nothing(AbsentNothingArgsSend),
        }

        #[derive(Debug, Clone)]
        pub enum AbsentResponseRecv {
            Nothing(AbsentNothingResultRecv),
        }

        #[derive(Debug, Clone)]
        pub enum AbsentResponseSend {
            Nothing(AbsentNothingResultSend),
        }

        impl ::volo_thrift::EntryMessage for AbsentRequestRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::core::result::Result<(), ::pilota::thrift::ThriftException> {
                match self {
                    Self::Nothing(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                }
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "nothing" => Self::Nothing(::pilota::thrift::Message::decode(__protocol)?),
                    _ => {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_application_exception(
                                ::pilota::thrift::ApplicationExceptionKind::UNKNOWN_METHOD,
                                format!("unknown method {}", msg_ident.name),
                            ),
                        );
                    }
                })
            }

            async fn decode_async<T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "nothing" => Self::Nothing(
                        <AbsentNothingArgsRecv as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    _ => {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_application_exception(
                                ::pilota::thrift::ApplicationExceptionKind::UNKNOWN_METHOD,
                                format!("unknown method {}", msg_ident.name),
                            ),
                        );
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                match self {
                    Self::Nothing(value) => ::volo_thrift::Message::size(value, __protocol),
                }
            }
        }
        impl ::volo_thrift::EntryMessage for AbsentRequestSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::core::result::Result<(), ::pilota::thrift::ThriftException> {
                match self {
                    Self::Nothing(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                }
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "nothing" => Self::Nothing(::pilota::thrift::Message::decode(__protocol)?),
                    _ => {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_application_exception(
                                ::pilota::thrift::ApplicationExceptionKind::UNKNOWN_METHOD,
                                format!("unknown method {}", msg_ident.name),
                            ),
                        );
                    }
                })
            }

            async fn decode_async<T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "nothing" => Self::Nothing(
                        <AbsentNothingArgsSend as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    _ => {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_application_exception(
                                ::pilota::thrift::ApplicationExceptionKind::UNKNOWN_METHOD,
                                format!("unknown method {}", msg_ident.name),
                            ),
                        );
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                match self {
                    Self::Nothing(value) => ::volo_thrift::Message::size(value, __protocol),
                }
            }
        }
        impl ::volo_thrift::EntryMessage for AbsentResponseRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::core::result::Result<(), ::pilota::thrift::ThriftException> {
                match self {
                    Self::Nothing(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                }
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "nothing" => Self::Nothing(::pilota::thrift::Message::decode(__protocol)?),
                    _ => {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_application_exception(
                                ::pilota::thrift::ApplicationExceptionKind::UNKNOWN_METHOD,
                                format!("unknown method {}", msg_ident.name),
                            ),
                        );
                    }
                })
            }

            async fn decode_async<T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "nothing" => Self::Nothing(
                        <AbsentNothingResultRecv as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    _ => {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_application_exception(
                                ::pilota::thrift::ApplicationExceptionKind::UNKNOWN_METHOD,
                                format!("unknown method {}", msg_ident.name),
                            ),
                        );
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                match self {
                    Self::Nothing(value) => ::volo_thrift::Message::size(value, __protocol),
                }
            }
        }
        impl ::volo_thrift::EntryMessage for AbsentResponseSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::core::result::Result<(), ::pilota::thrift::ThriftException> {
                match self {
                    Self::Nothing(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                }
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "nothing" => Self::Nothing(::pilota::thrift::Message::decode(__protocol)?),
                    _ => {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_application_exception(
                                ::pilota::thrift::ApplicationExceptionKind::UNKNOWN_METHOD,
                                format!("unknown method {}", msg_ident.name),
                            ),
                        );
                    }
                })
            }

            async fn decode_async<T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "nothing" => Self::Nothing(
                        <AbsentNothingResultSend as ::pilota::thrift::Message>::decode_async(
                            __protocol,
                        )
                        .await?,
                    ),
                    _ => {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_application_exception(
                                ::pilota::thrift::ApplicationExceptionKind::UNKNOWN_METHOD,
                                format!("unknown method {}", msg_ident.name),
                            ),
                        );
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                match self {
                    Self::Nothing(value) => ::volo_thrift::Message::size(value, __protocol),
                }
            }
        }

        impl ::std::default::Default for AbsentNothingResultRecv {
            fn default() -> Self {
                AbsentNothingResultRecv::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum AbsentNothingResultRecv {
            Ok(()),
        }

        impl ::pilota::thrift::Message for AbsentNothingResultRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "AbsentNothingResultRecv",
                })?;
                match self {
                    AbsentNothingResultRecv::Ok(value) => {}
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Ok(AbsentNothingResultRecv::Ok(()))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Ok(AbsentNothingResultRecv::Ok(()))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "AbsentNothingResultRecv",
                }) + match self {
                    AbsentNothingResultRecv::Ok(value) => 0,
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MatrixTalkArgsSend {
            pub line: Line,
        }
        impl ::pilota::thrift::Message for MatrixTalkArgsSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "MatrixTalkArgsSend",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_struct_field(1, &self.line, ::pilota::thrift::TType::Struct)?;
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Struct =>
                            {
                                var_1 = ::std::option::Option::Some(
                                    ::pilota::thrift::Message::decode(__protocol)?,
                                );
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `MatrixTalkArgsSend` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field line is required".to_string(),
                    ));
                };

                let data = Self { line: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Struct =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        <Line as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!(
                                "decode struct `MatrixTalkArgsSend` field(#{}) failed, caused by: ",
                                field_id
                            ));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let ::std::option::Option::Some(var_1) = var_1 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field line is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { line: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixTalkArgsSend",
                }) + __protocol.struct_field_len(::std::option::Option::Some(1), &self.line)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MatrixTellArgsSend {
            pub line: Line,
        }
        impl ::pilota::thrift::Message for MatrixTellArgsSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "MatrixTellArgsSend",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_struct_field(1, &self.line, ::pilota::thrift::TType::Struct)?;
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Struct =>
                            {
                                var_1 = ::std::option::Option::Some(
                                    ::pilota::thrift::Message::decode(__protocol)?,
                                );
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `MatrixTellArgsSend` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field line is required".to_string(),
                    ));
                };

                let data = Self { line: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Struct =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        <Line as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!(
                                "decode struct `MatrixTellArgsSend` field(#{}) failed, caused by: ",
                                field_id
                            ));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let ::std::option::Option::Some(var_1) = var_1 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field line is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { line: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixTellArgsSend",
                }) + __protocol.struct_field_len(::std::option::Option::Some(1), &self.line)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MatrixListenArgsSend {
            pub wanted: Line,
        }
        impl ::pilota::thrift::Message for MatrixListenArgsSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "MatrixListenArgsSend",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_struct_field(1, &self.wanted, ::pilota::thrift::TType::Struct)?;
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Struct =>
                            {
                                var_1 = ::std::option::Option::Some(
                                    ::pilota::thrift::Message::decode(__protocol)?,
                                );
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `MatrixListenArgsSend` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field wanted is required".to_string(),
                    ));
                };

                let data = Self { wanted: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Struct =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        <Line as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!("decode struct `MatrixListenArgsSend` field(#{}) failed, caused by: ", field_id));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let ::std::option::Option::Some(var_1) = var_1 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field wanted is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { wanted: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixListenArgsSend",
                }) + __protocol.struct_field_len(::std::option::Option::Some(1), &self.wanted)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MatrixUnaryArgsRecv {
            pub line: Line,
        }
        impl ::pilota::thrift::Message for MatrixUnaryArgsRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "MatrixUnaryArgsRecv",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_struct_field(1, &self.line, ::pilota::thrift::TType::Struct)?;
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Struct =>
                            {
                                var_1 = ::std::option::Option::Some(
                                    ::pilota::thrift::Message::decode(__protocol)?,
                                );
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `MatrixUnaryArgsRecv` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field line is required".to_string(),
                    ));
                };

                let data = Self { line: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Struct =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        <Line as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!("decode struct `MatrixUnaryArgsRecv` field(#{}) failed, caused by: ", field_id));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let ::std::option::Option::Some(var_1) = var_1 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field line is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { line: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixUnaryArgsRecv",
                }) + __protocol.struct_field_len(::std::option::Option::Some(1), &self.line)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixUnaryResultSend {
            fn default() -> Self {
                MatrixUnaryResultSend::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixUnaryResultSend {
            Ok(Line),
        }

        impl ::pilota::thrift::Message for MatrixUnaryResultSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixUnaryResultSend",
                })?;
                match self {
                    MatrixUnaryResultSend::Ok(value) => {
                        __protocol.write_struct_field(0, value, ::pilota::thrift::TType::Struct)?;
                    }
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        ::std::option::Option::Some(0) => {
                            if ret.is_none() {
                                let field_ident = ::pilota::thrift::Message::decode(__protocol)?;
                                __protocol.struct_len(&field_ident);
                                ret = ::std::option::Option::Some(MatrixUnaryResultSend::Ok(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "received empty union from remote Message",
                    ))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            ::std::option::Option::Some(0) => {
                                if ret.is_none() {
                                    let field_ident =
                                        <Line as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(MatrixUnaryResultSend::Ok(
                                        field_ident,
                                    ));
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                            "received empty union from remote Message",
                        ))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixUnaryResultSend",
                }) + match self {
                    MatrixUnaryResultSend::Ok(value) => {
                        __protocol.struct_field_len(::std::option::Option::Some(0), value)
                    }
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MatrixMarksArgsRecv {
            pub text: ::pilota::FastStr,
        }
        impl ::pilota::thrift::Message for MatrixMarksArgsRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "MatrixMarksArgsRecv",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_faststr_field(1, (&self.text).clone())?;
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Binary =>
                            {
                                var_1 = ::std::option::Option::Some(__protocol.read_faststr()?);
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `MatrixMarksArgsRecv` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field text is required".to_string(),
                    ));
                };

                let data = Self { text: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Binary =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        __protocol.read_faststr().await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!("decode struct `MatrixMarksArgsRecv` field(#{}) failed, caused by: ", field_id));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let ::std::option::Option::Some(var_1) = var_1 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field text is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { text: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixMarksArgsRecv",
                }) + __protocol.faststr_field_len(::std::option::Option::Some(1), &self.text)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixMarksResultSend {
            fn default() -> Self {
                MatrixMarksResultSend::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixMarksResultSend {
            Ok(i64),
        }

        impl ::pilota::thrift::Message for MatrixMarksResultSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixMarksResultSend",
                })?;
                match self {
                    MatrixMarksResultSend::Ok(value) => {
                        __protocol.write_i64_field(0, *value)?;
                    }
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        ::std::option::Option::Some(0) => {
                            if ret.is_none() {
                                let field_ident = __protocol.read_i64()?;
                                __protocol.i64_len(*&field_ident);
                                ret = ::std::option::Option::Some(MatrixMarksResultSend::Ok(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "received empty union from remote Message",
                    ))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            ::std::option::Option::Some(0) => {
                                if ret.is_none() {
                                    let field_ident = __protocol.read_i64().await?;

                                    ret = ::std::option::Option::Some(MatrixMarksResultSend::Ok(
                                        field_ident,
                                    ));
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                            "received empty union from remote Message",
                        ))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixMarksResultSend",
                }) + match self {
                    MatrixMarksResultSend::Ok(value) => {
                        __protocol.i64_field_len(::std::option::Option::Some(0), *value)
                    }
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MatrixPostArgsRecv {
            pub text: ::pilota::FastStr,
        }
        impl ::pilota::thrift::Message for MatrixPostArgsRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "MatrixPostArgsRecv",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_faststr_field(1, (&self.text).clone())?;
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Binary =>
                            {
                                var_1 = ::std::option::Option::Some(__protocol.read_faststr()?);
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `MatrixPostArgsRecv` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field text is required".to_string(),
                    ));
                };

                let data = Self { text: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Binary =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        __protocol.read_faststr().await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!(
                                "decode struct `MatrixPostArgsRecv` field(#{}) failed, caused by: ",
                                field_id
                            ));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let ::std::option::Option::Some(var_1) = var_1 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field text is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { text: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixPostArgsRecv",
                }) + __protocol.faststr_field_len(::std::option::Option::Some(1), &self.text)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixPostResultSend {
            fn default() -> Self {
                MatrixPostResultSend::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixPostResultSend {
            Ok(()),
        }

        impl ::pilota::thrift::Message for MatrixPostResultSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixPostResultSend",
                })?;
                match self {
                    MatrixPostResultSend::Ok(value) => {}
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Ok(MatrixPostResultSend::Ok(()))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Ok(MatrixPostResultSend::Ok(()))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixPostResultSend",
                }) + match self {
                    MatrixPostResultSend::Ok(value) => 0,
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MatrixMarkArgsRecv {
            pub text: ::pilota::FastStr,
        }
        impl ::pilota::thrift::Message for MatrixMarkArgsRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "MatrixMarkArgsRecv",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_faststr_field(1, (&self.text).clone())?;
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Binary =>
                            {
                                var_1 = ::std::option::Option::Some(__protocol.read_faststr()?);
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `MatrixMarkArgsRecv` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field text is required".to_string(),
                    ));
                };

                let data = Self { text: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Binary =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        __protocol.read_faststr().await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!(
                                "decode struct `MatrixMarkArgsRecv` field(#{}) failed, caused by: ",
                                field_id
                            ));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let ::std::option::Option::Some(var_1) = var_1 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field text is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { text: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixMarkArgsRecv",
                }) + __protocol.faststr_field_len(::std::option::Option::Some(1), &self.text)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixMarkResultSend {
            fn default() -> Self {
                MatrixMarkResultSend::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixMarkResultSend {
            Ok(()),
        }

        impl ::pilota::thrift::Message for MatrixMarkResultSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixMarkResultSend",
                })?;
                match self {
                    MatrixMarkResultSend::Ok(value) => {}
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Ok(MatrixMarkResultSend::Ok(()))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Ok(MatrixMarkResultSend::Ok(()))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixMarkResultSend",
                }) + match self {
                    MatrixMarkResultSend::Ok(value) => 0,
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MatrixEchoArgsRecv {
            pub text: ::pilota::FastStr,
        }
        impl ::pilota::thrift::Message for MatrixEchoArgsRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "MatrixEchoArgsRecv",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_faststr_field(1, (&self.text).clone())?;
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Binary =>
                            {
                                var_1 = ::std::option::Option::Some(__protocol.read_faststr()?);
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `MatrixEchoArgsRecv` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field text is required".to_string(),
                    ));
                };

                let data = Self { text: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Binary =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        __protocol.read_faststr().await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!(
                                "decode struct `MatrixEchoArgsRecv` field(#{}) failed, caused by: ",
                                field_id
                            ));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let ::std::option::Option::Some(var_1) = var_1 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field text is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { text: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixEchoArgsRecv",
                }) + __protocol.faststr_field_len(::std::option::Option::Some(1), &self.text)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixEchoException {
            fn default() -> Self {
                MatrixEchoException::Missing(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixEchoException {
            Missing(Missing),
        }

        impl ::pilota::thrift::Message for MatrixEchoException {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixEchoException",
                })?;
                match self {
                    MatrixEchoException::Missing(value) => {
                        __protocol.write_struct_field(1, value, ::pilota::thrift::TType::Struct)?;
                    }
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        ::std::option::Option::Some(1) => {
                            if ret.is_none() {
                                let field_ident = ::pilota::thrift::Message::decode(__protocol)?;
                                __protocol.struct_len(&field_ident);
                                ret = ::std::option::Option::Some(MatrixEchoException::Missing(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "received empty union from remote Message",
                    ))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            ::std::option::Option::Some(1) => {
                                if ret.is_none() {
                                    let field_ident =
                                        <Missing as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(
                                        MatrixEchoException::Missing(field_ident),
                                    );
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                            "received empty union from remote Message",
                        ))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixEchoException",
                }) + match self {
                    MatrixEchoException::Missing(value) => {
                        __protocol.struct_field_len(::std::option::Option::Some(1), value)
                    }
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixEchoResultSend {
            fn default() -> Self {
                MatrixEchoResultSend::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixEchoResultSend {
            Ok(::pilota::FastStr),

            Missing(Missing),
        }

        impl ::pilota::thrift::Message for MatrixEchoResultSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixEchoResultSend",
                })?;
                match self {
                    MatrixEchoResultSend::Ok(value) => {
                        __protocol.write_faststr_field(0, (value).clone())?;
                    }
                    MatrixEchoResultSend::Missing(value) => {
                        __protocol.write_struct_field(1, value, ::pilota::thrift::TType::Struct)?;
                    }
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        ::std::option::Option::Some(0) => {
                            if ret.is_none() {
                                let field_ident = __protocol.read_faststr()?;
                                __protocol.faststr_len(&field_ident);
                                ret = ::std::option::Option::Some(MatrixEchoResultSend::Ok(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        ::std::option::Option::Some(1) => {
                            if ret.is_none() {
                                let field_ident = ::pilota::thrift::Message::decode(__protocol)?;
                                __protocol.struct_len(&field_ident);
                                ret = ::std::option::Option::Some(MatrixEchoResultSend::Missing(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "received empty union from remote Message",
                    ))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            ::std::option::Option::Some(0) => {
                                if ret.is_none() {
                                    let field_ident = __protocol.read_faststr().await?;

                                    ret = ::std::option::Option::Some(MatrixEchoResultSend::Ok(
                                        field_ident,
                                    ));
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            ::std::option::Option::Some(1) => {
                                if ret.is_none() {
                                    let field_ident =
                                        <Missing as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(
                                        MatrixEchoResultSend::Missing(field_ident),
                                    );
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                            "received empty union from remote Message",
                        ))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixEchoResultSend",
                }) + match self {
                    MatrixEchoResultSend::Ok(value) => {
                        __protocol.faststr_field_len(::std::option::Option::Some(0), value)
                    }
                    MatrixEchoResultSend::Missing(value) => {
                        __protocol.struct_field_len(::std::option::Option::Some(1), value)
                    }
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixEchoResultRecv {
            fn default() -> Self {
                MatrixEchoResultRecv::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixEchoResultRecv {
            Ok(::pilota::FastStr),

            Missing(Missing),
        }

        impl ::pilota::thrift::Message for MatrixEchoResultRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixEchoResultRecv",
                })?;
                match self {
                    MatrixEchoResultRecv::Ok(value) => {
                        __protocol.write_faststr_field(0, (value).clone())?;
                    }
                    MatrixEchoResultRecv::Missing(value) => {
                        __protocol.write_struct_field(1, value, ::pilota::thrift::TType::Struct)?;
                    }
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        ::std::option::Option::Some(0) => {
                            if ret.is_none() {
                                let field_ident = __protocol.read_faststr()?;
                                __protocol.faststr_len(&field_ident);
                                ret = ::std::option::Option::Some(MatrixEchoResultRecv::Ok(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        ::std::option::Option::Some(1) => {
                            if ret.is_none() {
                                let field_ident = ::pilota::thrift::Message::decode(__protocol)?;
                                __protocol.struct_len(&field_ident);
                                ret = ::std::option::Option::Some(MatrixEchoResultRecv::Missing(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "received empty union from remote Message",
                    ))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            ::std::option::Option::Some(0) => {
                                if ret.is_none() {
                                    let field_ident = __protocol.read_faststr().await?;

                                    ret = ::std::option::Option::Some(MatrixEchoResultRecv::Ok(
                                        field_ident,
                                    ));
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            ::std::option::Option::Some(1) => {
                                if ret.is_none() {
                                    let field_ident =
                                        <Missing as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(
                                        MatrixEchoResultRecv::Missing(field_ident),
                                    );
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                            "received empty union from remote Message",
                        ))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixEchoResultRecv",
                }) + match self {
                    MatrixEchoResultRecv::Ok(value) => {
                        __protocol.faststr_field_len(::std::option::Option::Some(0), value)
                    }
                    MatrixEchoResultRecv::Missing(value) => {
                        __protocol.struct_field_len(::std::option::Option::Some(1), value)
                    }
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct AbsentNothingArgsSend {}
        impl ::pilota::thrift::Message for AbsentNothingArgsSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "AbsentNothingArgsSend",
                };

                __protocol.write_struct_begin(&struct_ident)?;

                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `AbsentNothingArgsSend` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let data = Self {};
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!("decode struct `AbsentNothingArgsSend` field(#{}) failed, caused by: ", field_id));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let data = Self {};
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "AbsentNothingArgsSend",
                }) + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MatrixTalkArgsRecv {
            pub line: Line,
        }
        impl ::pilota::thrift::Message for MatrixTalkArgsRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "MatrixTalkArgsRecv",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_struct_field(1, &self.line, ::pilota::thrift::TType::Struct)?;
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Struct =>
                            {
                                var_1 = ::std::option::Option::Some(
                                    ::pilota::thrift::Message::decode(__protocol)?,
                                );
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `MatrixTalkArgsRecv` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field line is required".to_string(),
                    ));
                };

                let data = Self { line: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Struct =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        <Line as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!(
                                "decode struct `MatrixTalkArgsRecv` field(#{}) failed, caused by: ",
                                field_id
                            ));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let ::std::option::Option::Some(var_1) = var_1 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field line is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { line: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixTalkArgsRecv",
                }) + __protocol.struct_field_len(::std::option::Option::Some(1), &self.line)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixTalkResultSend {
            fn default() -> Self {
                MatrixTalkResultSend::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixTalkResultSend {
            Ok(Line),
        }

        impl ::pilota::thrift::Message for MatrixTalkResultSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixTalkResultSend",
                })?;
                match self {
                    MatrixTalkResultSend::Ok(value) => {
                        __protocol.write_struct_field(0, value, ::pilota::thrift::TType::Struct)?;
                    }
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        ::std::option::Option::Some(0) => {
                            if ret.is_none() {
                                let field_ident = ::pilota::thrift::Message::decode(__protocol)?;
                                __protocol.struct_len(&field_ident);
                                ret = ::std::option::Option::Some(MatrixTalkResultSend::Ok(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "received empty union from remote Message",
                    ))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            ::std::option::Option::Some(0) => {
                                if ret.is_none() {
                                    let field_ident =
                                        <Line as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(MatrixTalkResultSend::Ok(
                                        field_ident,
                                    ));
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                            "received empty union from remote Message",
                        ))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixTalkResultSend",
                }) + match self {
                    MatrixTalkResultSend::Ok(value) => {
                        __protocol.struct_field_len(::std::option::Option::Some(0), value)
                    }
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MatrixTellArgsRecv {
            pub line: Line,
        }
        impl ::pilota::thrift::Message for MatrixTellArgsRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "MatrixTellArgsRecv",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_struct_field(1, &self.line, ::pilota::thrift::TType::Struct)?;
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Struct =>
                            {
                                var_1 = ::std::option::Option::Some(
                                    ::pilota::thrift::Message::decode(__protocol)?,
                                );
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `MatrixTellArgsRecv` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field line is required".to_string(),
                    ));
                };

                let data = Self { line: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Struct =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        <Line as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!(
                                "decode struct `MatrixTellArgsRecv` field(#{}) failed, caused by: ",
                                field_id
                            ));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let ::std::option::Option::Some(var_1) = var_1 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field line is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { line: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixTellArgsRecv",
                }) + __protocol.struct_field_len(::std::option::Option::Some(1), &self.line)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixTellResultSend {
            fn default() -> Self {
                MatrixTellResultSend::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixTellResultSend {
            Ok(Line),
        }

        impl ::pilota::thrift::Message for MatrixTellResultSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixTellResultSend",
                })?;
                match self {
                    MatrixTellResultSend::Ok(value) => {
                        __protocol.write_struct_field(0, value, ::pilota::thrift::TType::Struct)?;
                    }
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        ::std::option::Option::Some(0) => {
                            if ret.is_none() {
                                let field_ident = ::pilota::thrift::Message::decode(__protocol)?;
                                __protocol.struct_len(&field_ident);
                                ret = ::std::option::Option::Some(MatrixTellResultSend::Ok(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "received empty union from remote Message",
                    ))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            ::std::option::Option::Some(0) => {
                                if ret.is_none() {
                                    let field_ident =
                                        <Line as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(MatrixTellResultSend::Ok(
                                        field_ident,
                                    ));
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                            "received empty union from remote Message",
                        ))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixTellResultSend",
                }) + match self {
                    MatrixTellResultSend::Ok(value) => {
                        __protocol.struct_field_len(::std::option::Option::Some(0), value)
                    }
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MatrixListenArgsRecv {
            pub wanted: Line,
        }
        impl ::pilota::thrift::Message for MatrixListenArgsRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "MatrixListenArgsRecv",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_struct_field(1, &self.wanted, ::pilota::thrift::TType::Struct)?;
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};

                let mut var_1 = ::std::option::Option::None;

                let mut __pilota_decoding_field_id = ::std::option::Option::None;

                __protocol.read_struct_begin()?;
                if let ::std::result::Result::Err(mut err) = (|| {
                    loop {
                        let field_ident = __protocol.read_field_begin()?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            __protocol.field_stop_len();
                            break;
                        } else {
                            __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                        }
                        __pilota_decoding_field_id = field_ident.id;
                        match field_ident.id {
                            ::std::option::Option::Some(1)
                                if field_ident.field_type == ::pilota::thrift::TType::Struct =>
                            {
                                var_1 = ::std::option::Option::Some(
                                    ::pilota::thrift::Message::decode(__protocol)?,
                                );
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type)?;
                            }
                        }

                        __protocol.read_field_end()?;
                        __protocol.field_end_len();
                    }
                    ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                })() {
                    if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                        err.prepend_msg(&format!(
                            "decode struct `MatrixListenArgsRecv` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field wanted is required".to_string(),
                    ));
                };

                let data = Self { wanted: var_1 };
                ::std::result::Result::Ok(data)
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut var_1 = ::std::option::Option::None;

                    let mut __pilota_decoding_field_id = ::std::option::Option::None;

                    __protocol.read_struct_begin().await?;
                    if let ::std::result::Result::Err(mut err) = async {
                        loop {
                            let field_ident = __protocol.read_field_begin().await?;
                            if field_ident.field_type == ::pilota::thrift::TType::Stop {
                                break;
                            } else {
                            }
                            __pilota_decoding_field_id = field_ident.id;
                            match field_ident.id {
                                ::std::option::Option::Some(1)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Struct =>
                                {
                                    var_1 = ::std::option::Option::Some(
                                        <Line as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?,
                                    );
                                }
                                _ => {
                                    __protocol.skip(field_ident.field_type).await?;
                                }
                            }

                            __protocol.read_field_end().await?;
                        }
                        ::std::result::Result::Ok::<_, ::pilota::thrift::ThriftException>(())
                    }
                    .await
                    {
                        if let ::std::option::Option::Some(field_id) = __pilota_decoding_field_id {
                            err.prepend_msg(&format!("decode struct `MatrixListenArgsRecv` field(#{}) failed, caused by: ", field_id));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let ::std::option::Option::Some(var_1) = var_1 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field wanted is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { wanted: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixListenArgsRecv",
                }) + __protocol.struct_field_len(::std::option::Option::Some(1), &self.wanted)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixListenException {
            fn default() -> Self {
                MatrixListenException::Missing(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixListenException {
            Missing(Missing),
        }

        impl ::pilota::thrift::Message for MatrixListenException {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixListenException",
                })?;
                match self {
                    MatrixListenException::Missing(value) => {
                        __protocol.write_struct_field(1, value, ::pilota::thrift::TType::Struct)?;
                    }
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        ::std::option::Option::Some(1) => {
                            if ret.is_none() {
                                let field_ident = ::pilota::thrift::Message::decode(__protocol)?;
                                __protocol.struct_len(&field_ident);
                                ret = ::std::option::Option::Some(MatrixListenException::Missing(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "received empty union from remote Message",
                    ))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            ::std::option::Option::Some(1) => {
                                if ret.is_none() {
                                    let field_ident =
                                        <Missing as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(
                                        MatrixListenException::Missing(field_ident),
                                    );
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                            "received empty union from remote Message",
                        ))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixListenException",
                }) + match self {
                    MatrixListenException::Missing(value) => {
                        __protocol.struct_field_len(::std::option::Option::Some(1), value)
                    }
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixListenResultSend {
            fn default() -> Self {
                MatrixListenResultSend::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixListenResultSend {
            Ok(Line),

            Missing(Missing),
        }

        impl ::pilota::thrift::Message for MatrixListenResultSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixListenResultSend",
                })?;
                match self {
                    MatrixListenResultSend::Ok(value) => {
                        __protocol.write_struct_field(0, value, ::pilota::thrift::TType::Struct)?;
                    }
                    MatrixListenResultSend::Missing(value) => {
                        __protocol.write_struct_field(1, value, ::pilota::thrift::TType::Struct)?;
                    }
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        ::std::option::Option::Some(0) => {
                            if ret.is_none() {
                                let field_ident = ::pilota::thrift::Message::decode(__protocol)?;
                                __protocol.struct_len(&field_ident);
                                ret = ::std::option::Option::Some(MatrixListenResultSend::Ok(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        ::std::option::Option::Some(1) => {
                            if ret.is_none() {
                                let field_ident = ::pilota::thrift::Message::decode(__protocol)?;
                                __protocol.struct_len(&field_ident);
                                ret = ::std::option::Option::Some(MatrixListenResultSend::Missing(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "received empty union from remote Message",
                    ))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            ::std::option::Option::Some(0) => {
                                if ret.is_none() {
                                    let field_ident =
                                        <Line as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(MatrixListenResultSend::Ok(
                                        field_ident,
                                    ));
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            ::std::option::Option::Some(1) => {
                                if ret.is_none() {
                                    let field_ident =
                                        <Missing as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(
                                        MatrixListenResultSend::Missing(field_ident),
                                    );
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                            "received empty union from remote Message",
                        ))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixListenResultSend",
                }) + match self {
                    MatrixListenResultSend::Ok(value) => {
                        __protocol.struct_field_len(::std::option::Option::Some(0), value)
                    }
                    MatrixListenResultSend::Missing(value) => {
                        __protocol.struct_field_len(::std::option::Option::Some(1), value)
                    }
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixListenResultRecv {
            fn default() -> Self {
                MatrixListenResultRecv::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixListenResultRecv {
            Ok(Line),

            Missing(Missing),
        }

        impl ::pilota::thrift::Message for MatrixListenResultRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixListenResultRecv",
                })?;
                match self {
                    MatrixListenResultRecv::Ok(value) => {
                        __protocol.write_struct_field(0, value, ::pilota::thrift::TType::Struct)?;
                    }
                    MatrixListenResultRecv::Missing(value) => {
                        __protocol.write_struct_field(1, value, ::pilota::thrift::TType::Struct)?;
                    }
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        ::std::option::Option::Some(0) => {
                            if ret.is_none() {
                                let field_ident = ::pilota::thrift::Message::decode(__protocol)?;
                                __protocol.struct_len(&field_ident);
                                ret = ::std::option::Option::Some(MatrixListenResultRecv::Ok(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        ::std::option::Option::Some(1) => {
                            if ret.is_none() {
                                let field_ident = ::pilota::thrift::Message::decode(__protocol)?;
                                __protocol.struct_len(&field_ident);
                                ret = ::std::option::Option::Some(MatrixListenResultRecv::Missing(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "received empty union from remote Message",
                    ))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            ::std::option::Option::Some(0) => {
                                if ret.is_none() {
                                    let field_ident =
                                        <Line as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(MatrixListenResultRecv::Ok(
                                        field_ident,
                                    ));
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            ::std::option::Option::Some(1) => {
                                if ret.is_none() {
                                    let field_ident =
                                        <Missing as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(
                                        MatrixListenResultRecv::Missing(field_ident),
                                    );
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                            "received empty union from remote Message",
                        ))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixListenResultRecv",
                }) + match self {
                    MatrixListenResultRecv::Ok(value) => {
                        __protocol.struct_field_len(::std::option::Option::Some(0), value)
                    }
                    MatrixListenResultRecv::Missing(value) => {
                        __protocol.struct_field_len(::std::option::Option::Some(1), value)
                    }
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixUnaryResultRecv {
            fn default() -> Self {
                MatrixUnaryResultRecv::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixUnaryResultRecv {
            Ok(Line),
        }

        impl ::pilota::thrift::Message for MatrixUnaryResultRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixUnaryResultRecv",
                })?;
                match self {
                    MatrixUnaryResultRecv::Ok(value) => {
                        __protocol.write_struct_field(0, value, ::pilota::thrift::TType::Struct)?;
                    }
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        ::std::option::Option::Some(0) => {
                            if ret.is_none() {
                                let field_ident = ::pilota::thrift::Message::decode(__protocol)?;
                                __protocol.struct_len(&field_ident);
                                ret = ::std::option::Option::Some(MatrixUnaryResultRecv::Ok(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "received empty union from remote Message",
                    ))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            ::std::option::Option::Some(0) => {
                                if ret.is_none() {
                                    let field_ident =
                                        <Line as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(MatrixUnaryResultRecv::Ok(
                                        field_ident,
                                    ));
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                            "received empty union from remote Message",
                        ))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixUnaryResultRecv",
                }) + match self {
                    MatrixUnaryResultRecv::Ok(value) => {
                        __protocol.struct_field_len(::std::option::Option::Some(0), value)
                    }
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixMarksResultRecv {
            fn default() -> Self {
                MatrixMarksResultRecv::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixMarksResultRecv {
            Ok(i64),
        }

        impl ::pilota::thrift::Message for MatrixMarksResultRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixMarksResultRecv",
                })?;
                match self {
                    MatrixMarksResultRecv::Ok(value) => {
                        __protocol.write_i64_field(0, *value)?;
                    }
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        ::std::option::Option::Some(0) => {
                            if ret.is_none() {
                                let field_ident = __protocol.read_i64()?;
                                __protocol.i64_len(*&field_ident);
                                ret = ::std::option::Option::Some(MatrixMarksResultRecv::Ok(
                                    field_ident,
                                ));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "received empty union from remote Message",
                    ))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            ::std::option::Option::Some(0) => {
                                if ret.is_none() {
                                    let field_ident = __protocol.read_i64().await?;

                                    ret = ::std::option::Option::Some(MatrixMarksResultRecv::Ok(
                                        field_ident,
                                    ));
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                            "received empty union from remote Message",
                        ))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixMarksResultRecv",
                }) + match self {
                    MatrixMarksResultRecv::Ok(value) => {
                        __protocol.i64_field_len(::std::option::Option::Some(0), *value)
                    }
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixPostResultRecv {
            fn default() -> Self {
                MatrixPostResultRecv::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixPostResultRecv {
            Ok(()),
        }

        impl ::pilota::thrift::Message for MatrixPostResultRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixPostResultRecv",
                })?;
                match self {
                    MatrixPostResultRecv::Ok(value) => {}
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Ok(MatrixPostResultRecv::Ok(()))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Ok(MatrixPostResultRecv::Ok(()))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixPostResultRecv",
                }) + match self {
                    MatrixPostResultRecv::Ok(value) => 0,
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for MatrixMarkResultRecv {
            fn default() -> Self {
                MatrixMarkResultRecv::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum MatrixMarkResultRecv {
            Ok(()),
        }

        impl ::pilota::thrift::Message for MatrixMarkResultRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixMarkResultRecv",
                })?;
                match self {
                    MatrixMarkResultRecv::Ok(value) => {}
                }
                __protocol.write_field_stop()?;
                __protocol.write_struct_end()?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let mut ret = ::std::option::Option::None;
                __protocol.read_struct_begin()?;
                loop {
                    let field_ident = __protocol.read_field_begin()?;
                    if field_ident.field_type == ::pilota::thrift::TType::Stop {
                        __protocol.field_stop_len();
                        break;
                    } else {
                        __protocol.field_begin_len(field_ident.field_type, field_ident.id);
                    }
                    match field_ident.id {
                        _ => {
                            __protocol.skip(field_ident.field_type)?;
                        }
                    }
                }
                __protocol.read_field_end()?;
                __protocol.read_struct_end()?;
                if let ::std::option::Option::Some(ret) = ret {
                    ::std::result::Result::Ok(ret)
                } else {
                    ::std::result::Result::Ok(MatrixMarkResultRecv::Ok(()))
                }
            }

            fn decode_async<'a, T: ::pilota::thrift::TAsyncInputProtocol>(
                __protocol: &'a mut T,
            ) -> ::std::pin::Pin<
                ::std::boxed::Box<
                    dyn ::std::future::Future<
                            Output = ::std::result::Result<Self, ::pilota::thrift::ThriftException>,
                        > + Send
                        + 'a,
                >,
            > {
                ::std::boxed::Box::pin(async move {
                    let mut ret = ::std::option::Option::None;
                    __protocol.read_struct_begin().await?;
                    loop {
                        let field_ident = __protocol.read_field_begin().await?;
                        if field_ident.field_type == ::pilota::thrift::TType::Stop {
                            break;
                        } else {
                        }
                        match field_ident.id {
                            _ => {
                                __protocol.skip(field_ident.field_type).await?;
                            }
                        }
                    }
                    __protocol.read_field_end().await?;
                    __protocol.read_struct_end().await?;
                    if let ::std::option::Option::Some(ret) = ret {
                        ::std::result::Result::Ok(ret)
                    } else {
                        ::std::result::Result::Ok(MatrixMarkResultRecv::Ok(()))
                    }
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "MatrixMarkResultRecv",
                }) + match self {
                    MatrixMarkResultRecv::Ok(value) => 0,
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
    }
}
