//! Made by volo-build 0.12.3 of `idl/echo.thrift`, not by hand. It is kept because volo-build
//! compiles libgit2; see `bench/README.md`.

pub mod volo_gen {
    #![allow(warnings, clippy::all)]

    pub mod echo {

        #[derive(PartialOrd, Debug, Default, Clone, PartialEq)]
        pub struct Five {
            pub id: i64,

            pub count: i32,

            pub price: f64,

            pub open: bool,

            pub changed: i64,
        }
        impl ::pilota::thrift::Message for Five {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier { name: "Five" };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_i64_field(1, *&self.id)?;
                __protocol.write_i32_field(2, *&self.count)?;
                __protocol.write_double_field(3, *&self.price)?;
                __protocol.write_bool_field(4, *&self.open)?;
                __protocol.write_i64_field(5, *&self.changed)?;
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
                let mut var_3 = ::std::option::Option::None;
                let mut var_4 = ::std::option::Option::None;
                let mut var_5 = ::std::option::Option::None;

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
                                if field_ident.field_type == ::pilota::thrift::TType::I64 =>
                            {
                                var_1 = ::std::option::Option::Some(__protocol.read_i64()?);
                            }
                            ::std::option::Option::Some(2)
                                if field_ident.field_type == ::pilota::thrift::TType::I32 =>
                            {
                                var_2 = ::std::option::Option::Some(__protocol.read_i32()?);
                            }
                            ::std::option::Option::Some(3)
                                if field_ident.field_type == ::pilota::thrift::TType::Double =>
                            {
                                var_3 = ::std::option::Option::Some(__protocol.read_double()?);
                            }
                            ::std::option::Option::Some(4)
                                if field_ident.field_type == ::pilota::thrift::TType::Bool =>
                            {
                                var_4 = ::std::option::Option::Some(__protocol.read_bool()?);
                            }
                            ::std::option::Option::Some(5)
                                if field_ident.field_type == ::pilota::thrift::TType::I64 =>
                            {
                                var_5 = ::std::option::Option::Some(__protocol.read_i64()?);
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
                            "decode struct `Five` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field id is required".to_string(),
                    ));
                };
                let ::std::option::Option::Some(var_2) = var_2 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field count is required".to_string(),
                    ));
                };
                let ::std::option::Option::Some(var_3) = var_3 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field price is required".to_string(),
                    ));
                };
                let ::std::option::Option::Some(var_4) = var_4 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field open is required".to_string(),
                    ));
                };
                let ::std::option::Option::Some(var_5) = var_5 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field changed is required".to_string(),
                    ));
                };

                let data = Self {
                    id: var_1,
                    count: var_2,
                    price: var_3,
                    open: var_4,
                    changed: var_5,
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
                    let mut var_3 = ::std::option::Option::None;
                    let mut var_4 = ::std::option::Option::None;
                    let mut var_5 = ::std::option::Option::None;

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
                                    if field_ident.field_type == ::pilota::thrift::TType::I64 =>
                                {
                                    var_1 =
                                        ::std::option::Option::Some(__protocol.read_i64().await?);
                                }
                                ::std::option::Option::Some(2)
                                    if field_ident.field_type == ::pilota::thrift::TType::I32 =>
                                {
                                    var_2 =
                                        ::std::option::Option::Some(__protocol.read_i32().await?);
                                }
                                ::std::option::Option::Some(3)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Double =>
                                {
                                    var_3 = ::std::option::Option::Some(
                                        __protocol.read_double().await?,
                                    );
                                }
                                ::std::option::Option::Some(4)
                                    if field_ident.field_type == ::pilota::thrift::TType::Bool =>
                                {
                                    var_4 =
                                        ::std::option::Option::Some(__protocol.read_bool().await?);
                                }
                                ::std::option::Option::Some(5)
                                    if field_ident.field_type == ::pilota::thrift::TType::I64 =>
                                {
                                    var_5 =
                                        ::std::option::Option::Some(__protocol.read_i64().await?);
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
                                "decode struct `Five` field(#{}) failed, caused by: ",
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
                                "field id is required".to_string(),
                            ),
                        );
                    };
                    let ::std::option::Option::Some(var_2) = var_2 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field count is required".to_string(),
                            ),
                        );
                    };
                    let ::std::option::Option::Some(var_3) = var_3 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field price is required".to_string(),
                            ),
                        );
                    };
                    let ::std::option::Option::Some(var_4) = var_4 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field open is required".to_string(),
                            ),
                        );
                    };
                    let ::std::option::Option::Some(var_5) = var_5 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field changed is required".to_string(),
                            ),
                        );
                    };

                    let data = Self {
                        id: var_1,
                        count: var_2,
                        price: var_3,
                        open: var_4,
                        changed: var_5,
                    };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier { name: "Five" })
                    + __protocol.i64_field_len(::std::option::Option::Some(1), *&self.id)
                    + __protocol.i32_field_len(::std::option::Option::Some(2), *&self.count)
                    + __protocol.double_field_len(::std::option::Option::Some(3), *&self.price)
                    + __protocol.bool_field_len(::std::option::Option::Some(4), *&self.open)
                    + __protocol.i64_field_len(::std::option::Option::Some(5), *&self.changed)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Debug, Default, Clone, PartialEq)]
        pub struct EchoRowsArgsRecv {
            pub rows: ::std::vec::Vec<Row>,
        }
        impl ::pilota::thrift::Message for EchoRowsArgsRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "EchoRowsArgsRecv",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_list_field(
                    1,
                    ::pilota::thrift::TType::Struct,
                    &&self.rows,
                    |__protocol, val| {
                        __protocol.write_struct(val)?;
                        ::std::result::Result::Ok(())
                    },
                )?;
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
                                if field_ident.field_type == ::pilota::thrift::TType::List =>
                            {
                                var_1 = ::std::option::Option::Some(unsafe {
                                    let list_ident = __protocol.read_list_begin()?;
                                    let mut val: ::std::vec::Vec<Row> =
                                        ::std::vec::Vec::with_capacity(list_ident.size);
                                    for i in 0..list_ident.size {
                                        val.as_mut_ptr()
                                            .offset(i as isize)
                                            .write(::pilota::thrift::Message::decode(__protocol)?);
                                    }
                                    val.set_len(list_ident.size);
                                    __protocol.read_list_end()?;
                                    val
                                });
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
                            "decode struct `EchoRowsArgsRecv` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field rows is required".to_string(),
                    ));
                };

                let data = Self { rows: var_1 };
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
                                    if field_ident.field_type == ::pilota::thrift::TType::List =>
                                {
                                    var_1 = ::std::option::Option::Some({
                                        let list_ident = __protocol.read_list_begin().await?;
                                        let mut val =
                                            ::std::vec::Vec::with_capacity(list_ident.size);
                                        for _ in 0..list_ident.size {
                                            val.push(
                                                <Row as ::pilota::thrift::Message>::decode_async(
                                                    __protocol,
                                                )
                                                .await?,
                                            );
                                        }
                                        __protocol.read_list_end().await?;
                                        val
                                    });
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
                                "decode struct `EchoRowsArgsRecv` field(#{}) failed, caused by: ",
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
                                "field rows is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { rows: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "EchoRowsArgsRecv",
                }) + __protocol.list_field_len(
                    ::std::option::Option::Some(1),
                    ::pilota::thrift::TType::Struct,
                    &self.rows,
                    |__protocol, el| __protocol.struct_len(el),
                ) + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for EchoRowsResultSend {
            fn default() -> Self {
                EchoRowsResultSend::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Debug, Clone, PartialEq)]
        pub enum EchoRowsResultSend {
            Ok(::std::vec::Vec<Row>),
        }

        impl ::pilota::thrift::Message for EchoRowsResultSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "EchoRowsResultSend",
                })?;
                match self {
                    EchoRowsResultSend::Ok(value) => {
                        __protocol.write_list_field(
                            0,
                            ::pilota::thrift::TType::Struct,
                            &value,
                            |__protocol, val| {
                                __protocol.write_struct(val)?;
                                ::std::result::Result::Ok(())
                            },
                        )?;
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
                                let field_ident = unsafe {
                                    let list_ident = __protocol.read_list_begin()?;
                                    let mut val: ::std::vec::Vec<Row> =
                                        ::std::vec::Vec::with_capacity(list_ident.size);
                                    for i in 0..list_ident.size {
                                        val.as_mut_ptr()
                                            .offset(i as isize)
                                            .write(::pilota::thrift::Message::decode(__protocol)?);
                                    }
                                    val.set_len(list_ident.size);
                                    __protocol.read_list_end()?;
                                    val
                                };
                                __protocol.list_len(
                                    ::pilota::thrift::TType::Struct,
                                    &field_ident,
                                    |__protocol, el| __protocol.struct_len(el),
                                );
                                ret = ::std::option::Option::Some(EchoRowsResultSend::Ok(
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
                                    let field_ident = {
                                        let list_ident = __protocol.read_list_begin().await?;
                                        let mut val =
                                            ::std::vec::Vec::with_capacity(list_ident.size);
                                        for _ in 0..list_ident.size {
                                            val.push(
                                                <Row as ::pilota::thrift::Message>::decode_async(
                                                    __protocol,
                                                )
                                                .await?,
                                            );
                                        }
                                        __protocol.read_list_end().await?;
                                        val
                                    };

                                    ret = ::std::option::Option::Some(EchoRowsResultSend::Ok(
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
                    name: "EchoRowsResultSend",
                }) + match self {
                    EchoRowsResultSend::Ok(value) => __protocol.list_field_len(
                        ::std::option::Option::Some(0),
                        ::pilota::thrift::TType::Struct,
                        value,
                        |__protocol, el| __protocol.struct_len(el),
                    ),
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Debug, Default, Clone, PartialEq)]
        pub struct EchoFiveArgsRecv {
            pub five: Five,
        }
        impl ::pilota::thrift::Message for EchoFiveArgsRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "EchoFiveArgsRecv",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_struct_field(1, &self.five, ::pilota::thrift::TType::Struct)?;
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
                            "decode struct `EchoFiveArgsRecv` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field five is required".to_string(),
                    ));
                };

                let data = Self { five: var_1 };
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
                                        <Five as ::pilota::thrift::Message>::decode_async(
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
                                "decode struct `EchoFiveArgsRecv` field(#{}) failed, caused by: ",
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
                                "field five is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { five: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "EchoFiveArgsRecv",
                }) + __protocol.struct_field_len(::std::option::Option::Some(1), &self.five)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for EchoFiveResultSend {
            fn default() -> Self {
                EchoFiveResultSend::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Debug, Clone, PartialEq)]
        pub enum EchoFiveResultSend {
            Ok(Five),
        }

        impl ::pilota::thrift::Message for EchoFiveResultSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "EchoFiveResultSend",
                })?;
                match self {
                    EchoFiveResultSend::Ok(value) => {
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
                                ret = ::std::option::Option::Some(EchoFiveResultSend::Ok(
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
                                        <Five as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(EchoFiveResultSend::Ok(
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
                    name: "EchoFiveResultSend",
                }) + match self {
                    EchoFiveResultSend::Ok(value) => {
                        __protocol.struct_field_len(::std::option::Option::Some(0), value)
                    }
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Debug, Default, Clone, PartialEq)]
        pub struct Row {
            pub id: i64,

            pub name: ::pilota::FastStr,

            pub street: ::pilota::FastStr,

            pub count: i32,

            pub price: f64,

            pub open: bool,
        }
        impl ::pilota::thrift::Message for Row {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier { name: "Row" };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_i64_field(1, *&self.id)?;
                __protocol.write_faststr_field(2, (&self.name).clone())?;
                __protocol.write_faststr_field(3, (&self.street).clone())?;
                __protocol.write_i32_field(4, *&self.count)?;
                __protocol.write_double_field(5, *&self.price)?;
                __protocol.write_bool_field(6, *&self.open)?;
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
                let mut var_3 = ::std::option::Option::None;
                let mut var_4 = ::std::option::Option::None;
                let mut var_5 = ::std::option::Option::None;
                let mut var_6 = ::std::option::Option::None;

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
                                if field_ident.field_type == ::pilota::thrift::TType::I64 =>
                            {
                                var_1 = ::std::option::Option::Some(__protocol.read_i64()?);
                            }
                            ::std::option::Option::Some(2)
                                if field_ident.field_type == ::pilota::thrift::TType::Binary =>
                            {
                                var_2 = ::std::option::Option::Some(__protocol.read_faststr()?);
                            }
                            ::std::option::Option::Some(3)
                                if field_ident.field_type == ::pilota::thrift::TType::Binary =>
                            {
                                var_3 = ::std::option::Option::Some(__protocol.read_faststr()?);
                            }
                            ::std::option::Option::Some(4)
                                if field_ident.field_type == ::pilota::thrift::TType::I32 =>
                            {
                                var_4 = ::std::option::Option::Some(__protocol.read_i32()?);
                            }
                            ::std::option::Option::Some(5)
                                if field_ident.field_type == ::pilota::thrift::TType::Double =>
                            {
                                var_5 = ::std::option::Option::Some(__protocol.read_double()?);
                            }
                            ::std::option::Option::Some(6)
                                if field_ident.field_type == ::pilota::thrift::TType::Bool =>
                            {
                                var_6 = ::std::option::Option::Some(__protocol.read_bool()?);
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
                            "decode struct `Row` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field id is required".to_string(),
                    ));
                };
                let ::std::option::Option::Some(var_2) = var_2 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field name is required".to_string(),
                    ));
                };
                let ::std::option::Option::Some(var_3) = var_3 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field street is required".to_string(),
                    ));
                };
                let ::std::option::Option::Some(var_4) = var_4 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field count is required".to_string(),
                    ));
                };
                let ::std::option::Option::Some(var_5) = var_5 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field price is required".to_string(),
                    ));
                };
                let ::std::option::Option::Some(var_6) = var_6 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field open is required".to_string(),
                    ));
                };

                let data = Self {
                    id: var_1,
                    name: var_2,
                    street: var_3,
                    count: var_4,
                    price: var_5,
                    open: var_6,
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
                    let mut var_3 = ::std::option::Option::None;
                    let mut var_4 = ::std::option::Option::None;
                    let mut var_5 = ::std::option::Option::None;
                    let mut var_6 = ::std::option::Option::None;

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
                                    if field_ident.field_type == ::pilota::thrift::TType::I64 =>
                                {
                                    var_1 =
                                        ::std::option::Option::Some(__protocol.read_i64().await?);
                                }
                                ::std::option::Option::Some(2)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Binary =>
                                {
                                    var_2 = ::std::option::Option::Some(
                                        __protocol.read_faststr().await?,
                                    );
                                }
                                ::std::option::Option::Some(3)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Binary =>
                                {
                                    var_3 = ::std::option::Option::Some(
                                        __protocol.read_faststr().await?,
                                    );
                                }
                                ::std::option::Option::Some(4)
                                    if field_ident.field_type == ::pilota::thrift::TType::I32 =>
                                {
                                    var_4 =
                                        ::std::option::Option::Some(__protocol.read_i32().await?);
                                }
                                ::std::option::Option::Some(5)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Double =>
                                {
                                    var_5 = ::std::option::Option::Some(
                                        __protocol.read_double().await?,
                                    );
                                }
                                ::std::option::Option::Some(6)
                                    if field_ident.field_type == ::pilota::thrift::TType::Bool =>
                                {
                                    var_6 =
                                        ::std::option::Option::Some(__protocol.read_bool().await?);
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
                                "decode struct `Row` field(#{}) failed, caused by: ",
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
                                "field id is required".to_string(),
                            ),
                        );
                    };
                    let ::std::option::Option::Some(var_2) = var_2 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field name is required".to_string(),
                            ),
                        );
                    };
                    let ::std::option::Option::Some(var_3) = var_3 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field street is required".to_string(),
                            ),
                        );
                    };
                    let ::std::option::Option::Some(var_4) = var_4 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field count is required".to_string(),
                            ),
                        );
                    };
                    let ::std::option::Option::Some(var_5) = var_5 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field price is required".to_string(),
                            ),
                        );
                    };
                    let ::std::option::Option::Some(var_6) = var_6 else {
                        return ::std::result::Result::Err(
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                "field open is required".to_string(),
                            ),
                        );
                    };

                    let data = Self {
                        id: var_1,
                        name: var_2,
                        street: var_3,
                        count: var_4,
                        price: var_5,
                        open: var_6,
                    };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier { name: "Row" })
                    + __protocol.i64_field_len(::std::option::Option::Some(1), *&self.id)
                    + __protocol.faststr_field_len(::std::option::Option::Some(2), &self.name)
                    + __protocol.faststr_field_len(::std::option::Option::Some(3), &self.street)
                    + __protocol.i32_field_len(::std::option::Option::Some(4), *&self.count)
                    + __protocol.double_field_len(::std::option::Option::Some(5), *&self.price)
                    + __protocol.bool_field_len(::std::option::Option::Some(6), *&self.open)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        pub trait Echo {
            fn five(
                &self,
                five: Five,
            ) -> impl ::std::future::Future<
                Output = ::core::result::Result<Five, ::volo_thrift::ServerError>,
            > + Send;
            fn rows(
                &self,
                rows: ::std::vec::Vec<Row>,
            ) -> impl ::std::future::Future<
                Output = ::core::result::Result<::std::vec::Vec<Row>, ::volo_thrift::ServerError>,
            > + Send;
        }
        #[derive(Clone)]
        pub struct EchoServer<S> {
            inner: S, // handler
        }

        impl<S> EchoServer<S> {
            /// Creates a new server instance from the handler.
            ///
            /// Use this method when you need to add the service to a [`Router`] for multi-service support.
            ///
            /// [`Router`]: volo_thrift::server::Router
            pub fn from_handler(handler: S) -> Self {
                Self { inner: handler }
            }
        }

        impl<S> EchoServer<S>
        where
            S: Echo + ::core::marker::Send + ::core::marker::Sync + 'static,
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
                EchoRequestRecv,
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

        impl<T> ::volo::service::Service<::volo_thrift::context::ServerContext, EchoRequestRecv>
            for EchoServer<T>
        where
            T: Echo + Send + Sync + 'static,
        {
            type Response = EchoResponseSend;
            type Error = ::volo_thrift::ServerError;

            async fn call<'s, 'cx>(
                &'s self,
                _cx: &'cx mut ::volo_thrift::context::ServerContext,
                req: EchoRequestRecv,
            ) -> ::std::result::Result<Self::Response, Self::Error> {
                match req {
                    EchoRequestRecv::Five(args) => ::std::result::Result::Ok(
                        EchoResponseSend::Five(match self.inner.five(args.five).await {
                            ::std::result::Result::Ok(resp) => EchoFiveResultSend::Ok(resp),
                            ::std::result::Result::Err(err) => {
                                return ::std::result::Result::Err(err);
                            }
                        }),
                    ),
                    EchoRequestRecv::Rows(args) => ::std::result::Result::Ok(
                        EchoResponseSend::Rows(match self.inner.rows(args.rows).await {
                            ::std::result::Result::Ok(resp) => EchoRowsResultSend::Ok(resp),
                            ::std::result::Result::Err(err) => {
                                return ::std::result::Result::Err(err);
                            }
                        }),
                    ),
                }
            }
        }

        impl<S> ::volo_thrift::server::NamedService for EchoServer<S> {
            const NAME: &'static str = "Echo";
        }

        impl<T>
            ::volo::service::Service<::volo_thrift::context::ServerContext, ::volo_thrift::Bytes>
            for EchoServer<T>
        where
            T: Echo + Send + Sync + 'static,
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
                    <EchoRequestRecv as ::volo_thrift::EntryMessage>::decode(
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
                    let req = <EchoRequestRecv as ::volo_thrift::EntryMessage>::decode(
                        &mut protocol,
                        &msg_ident,
                    )?;
                    let index = protocol.index();
                    protocol.buf().advance(index);
                    req
                };

                // Call the typed service
                let resp =
                    <Self as ::volo::service::Service<_, EchoRequestRecv>>::call(self, cx, req)
                        .await?;

                // Encode the response using the same protocol with LinkedBytes for better performance
                let mut linked_bytes = ::volo_thrift::LinkedBytes::new();
                if use_compact {
                    let mut size_protocol =
                        ::pilota::thrift::compact::TCompactOutputProtocol::new((), true);
                    let real_size = <EchoResponseSend as ::volo_thrift::EntryMessage>::size(
                        &resp,
                        &mut size_protocol,
                    );
                    let malloc_size = real_size - size_protocol.zero_copy_len();
                    linked_bytes.reserve(malloc_size);
                    let mut protocol = ::pilota::thrift::compact::TCompactOutputProtocol::new(
                        &mut linked_bytes,
                        true,
                    );
                    <EchoResponseSend as ::volo_thrift::EntryMessage>::encode(
                        &resp,
                        &mut protocol,
                    )?;
                } else {
                    // Calculate size first
                    let mut size_protocol =
                        ::pilota::thrift::binary::TBinaryProtocol::new((), true);
                    let real_size = <EchoResponseSend as ::volo_thrift::EntryMessage>::size(
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
                    <EchoResponseSend as ::volo_thrift::EntryMessage>::encode(
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
        pub struct MkEchoGenericClient;

        pub type EchoClient = EchoGenericClient<
            ::volo::service::BoxCloneService<
                ::volo_thrift::context::ClientContext,
                EchoRequestSend,
                ::std::option::Option<EchoResponseRecv>,
                ::volo_thrift::ClientError,
            >,
        >;

        impl<S> ::volo::client::MkClient<::volo_thrift::Client<S>> for MkEchoGenericClient {
            type Target = EchoGenericClient<S>;
            fn mk_client(&self, service: ::volo_thrift::Client<S>) -> Self::Target {
                EchoGenericClient(service)
            }
        }

        #[derive(Clone)]
        pub struct EchoGenericClient<S>(pub ::volo_thrift::Client<S>);

        pub struct EchoOneShotClient<S>(pub ::volo_thrift::Client<S>);

        impl<
            S: ::volo::service::Service<
                    ::volo_thrift::context::ClientContext,
                    EchoRequestSend,
                    Response = ::std::option::Option<EchoResponseRecv>,
                    Error = ::volo_thrift::ClientError,
                > + Send
                + Sync
                + 'static,
        > EchoGenericClient<S>
        {
            pub fn with_callopt<
                Opt: ::volo::client::Apply<::volo_thrift::context::ClientContext>,
            >(
                self,
                opt: Opt,
            ) -> EchoOneShotClient<::volo::client::WithOptService<S, Opt>> {
                EchoOneShotClient(self.0.with_opt(opt))
            }

            pub async fn five(
                &self,
                five: Five,
            ) -> ::std::result::Result<Five, ::volo_thrift::ClientError> {
                let req = EchoRequestSend::Five(EchoFiveArgsSend { five });
                let mut cx = self.0.make_cx("five", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Echo"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::service::Service::call(&self.0, &mut cx, req).await? {
                    Some(EchoResponseRecv::Five(EchoFiveResultRecv::Ok(resp))) => {
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
            pub async fn rows(
                &self,
                rows: ::std::vec::Vec<Row>,
            ) -> ::std::result::Result<::std::vec::Vec<Row>, ::volo_thrift::ClientError>
            {
                let req = EchoRequestSend::Rows(EchoRowsArgsSend { rows });
                let mut cx = self.0.make_cx("rows", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Echo"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::service::Service::call(&self.0, &mut cx, req).await? {
                    Some(EchoResponseRecv::Rows(EchoRowsResultRecv::Ok(resp))) => {
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
                    EchoRequestSend,
                    Response = ::std::option::Option<EchoResponseRecv>,
                    Error = ::volo_thrift::ClientError,
                > + Send
                + Sync
                + 'static,
        > EchoOneShotClient<S>
        {
            pub async fn five(
                self,
                five: Five,
            ) -> ::std::result::Result<Five, ::volo_thrift::ClientError> {
                let req = EchoRequestSend::Five(EchoFiveArgsSend { five });
                let mut cx = self.0.make_cx("five", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Echo"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::client::OneShotService::call(self.0, &mut cx, req).await? {
                    Some(EchoResponseRecv::Five(EchoFiveResultRecv::Ok(resp))) => {
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
            pub async fn rows(
                self,
                rows: ::std::vec::Vec<Row>,
            ) -> ::std::result::Result<::std::vec::Vec<Row>, ::volo_thrift::ClientError>
            {
                let req = EchoRequestSend::Rows(EchoRowsArgsSend { rows });
                let mut cx = self.0.make_cx("rows", false);
                // Set IDL service name for multi-service routing
                ::volo_thrift::context::ThriftContext::set_idl_service_name(
                    &mut cx,
                    ::volo::FastStr::from_static_str("Echo"),
                );
                #[allow(unreachable_patterns)]
                let resp = match ::volo::client::OneShotService::call(self.0, &mut cx, req).await? {
                    Some(EchoResponseRecv::Rows(EchoRowsResultRecv::Ok(resp))) => {
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

        pub struct EchoClientBuilder {}

        impl EchoClientBuilder {
            pub fn new(
                service_name: impl AsRef<str>,
            ) -> ::volo_thrift::client::ClientBuilder<
                ::volo::layer::Identity,
                ::volo::layer::Identity,
                MkEchoGenericClient,
                EchoRequestSend,
                EchoResponseRecv,
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
                ::volo_thrift::client::ClientBuilder::new(service_name, MkEchoGenericClient)
            }
        }
        #[derive(Debug, Clone)]
        pub enum EchoRequestRecv {
            Five(EchoFiveArgsRecv),
            Rows(EchoRowsArgsRecv),
        }

        #[derive(Debug, Clone)]
        pub enum EchoRequestSend {
            Five(EchoFiveArgsSend),
            Rows(EchoRowsArgsSend),
        }

        #[derive(Debug, Clone)]
        pub enum EchoResponseRecv {
            Five(EchoFiveResultRecv),
            Rows(EchoRowsResultRecv),
        }

        #[derive(Debug, Clone)]
        pub enum EchoResponseSend {
            Five(EchoFiveResultSend),
            Rows(EchoRowsResultSend),
        }

        impl ::volo_thrift::EntryMessage for EchoRequestRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::core::result::Result<(), ::pilota::thrift::ThriftException> {
                match self {
                    Self::Five(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Rows(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                }
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "five" => Self::Five(::pilota::thrift::Message::decode(__protocol)?),
                    "rows" => Self::Rows(::pilota::thrift::Message::decode(__protocol)?),
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
                    "five" => Self::Five(
                        <EchoFiveArgsRecv as ::pilota::thrift::Message>::decode_async(__protocol)
                            .await?,
                    ),
                    "rows" => Self::Rows(
                        <EchoRowsArgsRecv as ::pilota::thrift::Message>::decode_async(__protocol)
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
                    Self::Five(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Rows(value) => ::volo_thrift::Message::size(value, __protocol),
                }
            }
        }
        impl ::volo_thrift::EntryMessage for EchoRequestSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::core::result::Result<(), ::pilota::thrift::ThriftException> {
                match self {
                    Self::Five(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Rows(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                }
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "five" => Self::Five(::pilota::thrift::Message::decode(__protocol)?),
                    "rows" => Self::Rows(::pilota::thrift::Message::decode(__protocol)?),
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
                    "five" => Self::Five(
                        <EchoFiveArgsSend as ::pilota::thrift::Message>::decode_async(__protocol)
                            .await?,
                    ),
                    "rows" => Self::Rows(
                        <EchoRowsArgsSend as ::pilota::thrift::Message>::decode_async(__protocol)
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
                    Self::Five(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Rows(value) => ::volo_thrift::Message::size(value, __protocol),
                }
            }
        }
        impl ::volo_thrift::EntryMessage for EchoResponseRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::core::result::Result<(), ::pilota::thrift::ThriftException> {
                match self {
                    Self::Five(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Rows(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                }
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "five" => Self::Five(::pilota::thrift::Message::decode(__protocol)?),
                    "rows" => Self::Rows(::pilota::thrift::Message::decode(__protocol)?),
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
                    "five" => Self::Five(
                        <EchoFiveResultRecv as ::pilota::thrift::Message>::decode_async(__protocol)
                            .await?,
                    ),
                    "rows" => Self::Rows(
                        <EchoRowsResultRecv as ::pilota::thrift::Message>::decode_async(__protocol)
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
                    Self::Five(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Rows(value) => ::volo_thrift::Message::size(value, __protocol),
                }
            }
        }
        impl ::volo_thrift::EntryMessage for EchoResponseSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::core::result::Result<(), ::pilota::thrift::ThriftException> {
                match self {
                    Self::Five(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                    Self::Rows(value) => ::pilota::thrift::Message::encode(value, __protocol)
                        .map_err(|err| err.into()),
                }
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
                msg_ident: &::pilota::thrift::TMessageIdentifier,
            ) -> ::core::result::Result<Self, ::pilota::thrift::ThriftException> {
                ::std::result::Result::Ok(match &*msg_ident.name {
                    "five" => Self::Five(::pilota::thrift::Message::decode(__protocol)?),
                    "rows" => Self::Rows(::pilota::thrift::Message::decode(__protocol)?),
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
                    "five" => Self::Five(
                        <EchoFiveResultSend as ::pilota::thrift::Message>::decode_async(__protocol)
                            .await?,
                    ),
                    "rows" => Self::Rows(
                        <EchoRowsResultSend as ::pilota::thrift::Message>::decode_async(__protocol)
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
                    Self::Five(value) => ::volo_thrift::Message::size(value, __protocol),
                    Self::Rows(value) => ::volo_thrift::Message::size(value, __protocol),
                }
            }
        }

        impl ::std::default::Default for EchoRowsResultRecv {
            fn default() -> Self {
                EchoRowsResultRecv::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Debug, Clone, PartialEq)]
        pub enum EchoRowsResultRecv {
            Ok(::std::vec::Vec<Row>),
        }

        impl ::pilota::thrift::Message for EchoRowsResultRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "EchoRowsResultRecv",
                })?;
                match self {
                    EchoRowsResultRecv::Ok(value) => {
                        __protocol.write_list_field(
                            0,
                            ::pilota::thrift::TType::Struct,
                            &value,
                            |__protocol, val| {
                                __protocol.write_struct(val)?;
                                ::std::result::Result::Ok(())
                            },
                        )?;
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
                                let field_ident = unsafe {
                                    let list_ident = __protocol.read_list_begin()?;
                                    let mut val: ::std::vec::Vec<Row> =
                                        ::std::vec::Vec::with_capacity(list_ident.size);
                                    for i in 0..list_ident.size {
                                        val.as_mut_ptr()
                                            .offset(i as isize)
                                            .write(::pilota::thrift::Message::decode(__protocol)?);
                                    }
                                    val.set_len(list_ident.size);
                                    __protocol.read_list_end()?;
                                    val
                                };
                                __protocol.list_len(
                                    ::pilota::thrift::TType::Struct,
                                    &field_ident,
                                    |__protocol, el| __protocol.struct_len(el),
                                );
                                ret = ::std::option::Option::Some(EchoRowsResultRecv::Ok(
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
                                    let field_ident = {
                                        let list_ident = __protocol.read_list_begin().await?;
                                        let mut val =
                                            ::std::vec::Vec::with_capacity(list_ident.size);
                                        for _ in 0..list_ident.size {
                                            val.push(
                                                <Row as ::pilota::thrift::Message>::decode_async(
                                                    __protocol,
                                                )
                                                .await?,
                                            );
                                        }
                                        __protocol.read_list_end().await?;
                                        val
                                    };

                                    ret = ::std::option::Option::Some(EchoRowsResultRecv::Ok(
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
                    name: "EchoRowsResultRecv",
                }) + match self {
                    EchoRowsResultRecv::Ok(value) => __protocol.list_field_len(
                        ::std::option::Option::Some(0),
                        ::pilota::thrift::TType::Struct,
                        value,
                        |__protocol, el| __protocol.struct_len(el),
                    ),
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for EchoFiveResultRecv {
            fn default() -> Self {
                EchoFiveResultRecv::Ok(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Debug, Clone, PartialEq)]
        pub enum EchoFiveResultRecv {
            Ok(Five),
        }

        impl ::pilota::thrift::Message for EchoFiveResultRecv {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_struct_begin(&::pilota::thrift::TStructIdentifier {
                    name: "EchoFiveResultRecv",
                })?;
                match self {
                    EchoFiveResultRecv::Ok(value) => {
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
                                ret = ::std::option::Option::Some(EchoFiveResultRecv::Ok(
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
                                        <Five as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(EchoFiveResultRecv::Ok(
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
                    name: "EchoFiveResultRecv",
                }) + match self {
                    EchoFiveResultRecv::Ok(value) => {
                        __protocol.struct_field_len(::std::option::Option::Some(0), value)
                    }
                } + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Debug, Default, Clone, PartialEq)]
        pub struct EchoRowsArgsSend {
            pub rows: ::std::vec::Vec<Row>,
        }
        impl ::pilota::thrift::Message for EchoRowsArgsSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "EchoRowsArgsSend",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_list_field(
                    1,
                    ::pilota::thrift::TType::Struct,
                    &&self.rows,
                    |__protocol, val| {
                        __protocol.write_struct(val)?;
                        ::std::result::Result::Ok(())
                    },
                )?;
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
                                if field_ident.field_type == ::pilota::thrift::TType::List =>
                            {
                                var_1 = ::std::option::Option::Some(unsafe {
                                    let list_ident = __protocol.read_list_begin()?;
                                    let mut val: ::std::vec::Vec<Row> =
                                        ::std::vec::Vec::with_capacity(list_ident.size);
                                    for i in 0..list_ident.size {
                                        val.as_mut_ptr()
                                            .offset(i as isize)
                                            .write(::pilota::thrift::Message::decode(__protocol)?);
                                    }
                                    val.set_len(list_ident.size);
                                    __protocol.read_list_end()?;
                                    val
                                });
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
                            "decode struct `EchoRowsArgsSend` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field rows is required".to_string(),
                    ));
                };

                let data = Self { rows: var_1 };
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
                                    if field_ident.field_type == ::pilota::thrift::TType::List =>
                                {
                                    var_1 = ::std::option::Option::Some({
                                        let list_ident = __protocol.read_list_begin().await?;
                                        let mut val =
                                            ::std::vec::Vec::with_capacity(list_ident.size);
                                        for _ in 0..list_ident.size {
                                            val.push(
                                                <Row as ::pilota::thrift::Message>::decode_async(
                                                    __protocol,
                                                )
                                                .await?,
                                            );
                                        }
                                        __protocol.read_list_end().await?;
                                        val
                                    });
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
                                "decode struct `EchoRowsArgsSend` field(#{}) failed, caused by: ",
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
                                "field rows is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { rows: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "EchoRowsArgsSend",
                }) + __protocol.list_field_len(
                    ::std::option::Option::Some(1),
                    ::pilota::thrift::TType::Struct,
                    &self.rows,
                    |__protocol, el| __protocol.struct_len(el),
                ) + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Debug, Default, Clone, PartialEq)]
        pub struct EchoFiveArgsSend {
            pub five: Five,
        }
        impl ::pilota::thrift::Message for EchoFiveArgsSend {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier {
                    name: "EchoFiveArgsSend",
                };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_struct_field(1, &self.five, ::pilota::thrift::TType::Struct)?;
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
                            "decode struct `EchoFiveArgsSend` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field five is required".to_string(),
                    ));
                };

                let data = Self { five: var_1 };
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
                                        <Five as ::pilota::thrift::Message>::decode_async(
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
                                "decode struct `EchoFiveArgsSend` field(#{}) failed, caused by: ",
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
                                "field five is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { five: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier {
                    name: "EchoFiveArgsSend",
                }) + __protocol.struct_field_len(::std::option::Option::Some(1), &self.five)
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
    }
}
