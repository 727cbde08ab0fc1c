pub mod sample_pilota {
    #![allow(warnings, clippy::all)]

    pub mod sample {

        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq, Copy)]
        #[repr(transparent)]
        pub struct Color(i32);

        impl Color {
            pub const RED: Self = Self(1);
            pub const GREEN: Self = Self(2);

            pub fn inner(&self) -> i32 {
                self.0
            }

            pub fn to_string(&self) -> ::std::string::String {
                match self {
                    Self(1) => ::std::string::String::from("RED"),
                    Self(2) => ::std::string::String::from("GREEN"),
                    Self(val) => val.to_string(),
                }
            }

            pub fn try_from_i32(value: i32) -> ::std::option::Option<Self> {
                match value {
                    1 => ::std::option::Option::Some(Self::RED),
                    2 => ::std::option::Option::Some(Self::GREEN),
                    _ => ::std::option::Option::None,
                }
            }
        }

        impl ::std::convert::From<i32> for Color {
            fn from(value: i32) -> Self {
                Self(value)
            }
        }

        impl ::std::convert::From<Color> for i32 {
            fn from(value: Color) -> i32 {
                value.0
            }
        }

        impl ::pilota::thrift::Message for Color {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol.write_i32(self.inner())?;
                ::std::result::Result::Ok(())
            }

            fn decode<T: ::pilota::thrift::TInputProtocol>(
                __protocol: &mut T,
            ) -> ::std::result::Result<Self, ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::{Buf, thrift::TLengthProtocolExt};
                let value = __protocol.read_i32()?;
                ::std::result::Result::Ok(::std::convert::TryFrom::try_from(value).map_err(
                    |err| {
                        ::pilota::thrift::new_protocol_exception(
                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                            format!("invalid enum value for Color, value: {}", value),
                        )
                    },
                )?)
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
                    let value = __protocol.read_i32().await?;
                    ::std::result::Result::Ok(::std::convert::TryFrom::try_from(value).map_err(
                        |err| {
                            ::pilota::thrift::new_protocol_exception(
                                ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                format!("invalid enum value for Color, value: {}", value),
                            )
                        },
                    )?)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.i32_len(self.inner())
            }
        }
        impl ::std::default::Default for NotFound {
            fn default() -> Self {
                NotFound {
                    message: ::std::default::Default::default(),
                    color: ::std::option::Option::Some(Color::RED),
                }
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub struct NotFound {
            pub message: ::pilota::FastStr,

            pub color: ::std::option::Option<Color>,
        }
        impl ::pilota::thrift::Message for NotFound {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier { name: "NotFound" };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_faststr_field(1, (&self.message).clone())?;
                if let ::std::option::Option::Some(value) = self.color.as_ref() {
                    __protocol.write_i32_field(2, (value).inner())?;
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
                let mut var_2 = ::std::option::Option::Some(Color::RED);

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
                                var_2 = ::std::option::Option::Some(
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
                            "decode struct `NotFound` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field message is required".to_string(),
                    ));
                };

                let data = Self { message: var_1, color: var_2 };
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
                    let mut var_2 = ::std::option::Option::Some(Color::RED);

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
                                    var_2 = ::std::option::Option::Some(
                                        <Color as ::pilota::thrift::Message>::decode_async(
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
                                "decode struct `NotFound` field(#{}) failed, caused by: ",
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
                                "field message is required".to_string(),
                            ),
                        );
                    };

                    let data = Self { message: var_1, color: var_2 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol
                    .struct_begin_len(&::pilota::thrift::TStructIdentifier { name: "NotFound" })
                    + __protocol.faststr_field_len(::std::option::Option::Some(1), &self.message)
                    + self.color.as_ref().map_or(0, |value| {
                        __protocol.i32_field_len(::std::option::Option::Some(2), (value).inner())
                    })
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Debug, Default, Clone, PartialEq)]
        pub struct Mixed {
            pub flag: ::std::option::Option<bool>,

            pub count: ::std::option::Option<i32>,

            pub stamp: ::std::option::Option<i64>,

            pub ratio: ::std::option::Option<f64>,

            pub name: ::std::option::Option<::pilota::FastStr>,

            pub numbers: ::std::option::Option<::std::vec::Vec<i64>>,
        }
        impl ::pilota::thrift::Message for Mixed {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier { name: "Mixed" };

                __protocol.write_struct_begin(&struct_ident)?;
                if let ::std::option::Option::Some(value) = self.flag.as_ref() {
                    __protocol.write_bool_field(1, *value)?;
                }
                if let ::std::option::Option::Some(value) = self.count.as_ref() {
                    __protocol.write_i32_field(2, *value)?;
                }
                if let ::std::option::Option::Some(value) = self.stamp.as_ref() {
                    __protocol.write_i64_field(3, *value)?;
                }
                if let ::std::option::Option::Some(value) = self.ratio.as_ref() {
                    __protocol.write_double_field(4, *value)?;
                }
                if let ::std::option::Option::Some(value) = self.name.as_ref() {
                    __protocol.write_faststr_field(5, (value).clone())?;
                }
                if let ::std::option::Option::Some(value) = self.numbers.as_ref() {
                    __protocol.write_list_field(
                        6,
                        ::pilota::thrift::TType::I64,
                        &value,
                        |__protocol, val| {
                            __protocol.write_i64(*val)?;
                            ::std::result::Result::Ok(())
                        },
                    )?;
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
                                if field_ident.field_type == ::pilota::thrift::TType::Bool =>
                            {
                                var_1 = ::std::option::Option::Some(__protocol.read_bool()?);
                            }
                            ::std::option::Option::Some(2)
                                if field_ident.field_type == ::pilota::thrift::TType::I32 =>
                            {
                                var_2 = ::std::option::Option::Some(__protocol.read_i32()?);
                            }
                            ::std::option::Option::Some(3)
                                if field_ident.field_type == ::pilota::thrift::TType::I64 =>
                            {
                                var_3 = ::std::option::Option::Some(__protocol.read_i64()?);
                            }
                            ::std::option::Option::Some(4)
                                if field_ident.field_type == ::pilota::thrift::TType::Double =>
                            {
                                var_4 = ::std::option::Option::Some(__protocol.read_double()?);
                            }
                            ::std::option::Option::Some(5)
                                if field_ident.field_type == ::pilota::thrift::TType::Binary =>
                            {
                                var_5 = ::std::option::Option::Some(__protocol.read_faststr()?);
                            }
                            ::std::option::Option::Some(6)
                                if field_ident.field_type == ::pilota::thrift::TType::List =>
                            {
                                var_6 = ::std::option::Option::Some(unsafe {
                                    let list_ident = __protocol.read_list_begin()?;
                                    let mut val: ::std::vec::Vec<i64> =
                                        ::std::vec::Vec::with_capacity(list_ident.size);
                                    for i in 0..list_ident.size {
                                        val.as_mut_ptr()
                                            .offset(i as isize)
                                            .write(__protocol.read_i64()?);
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
                            "decode struct `Mixed` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let data = Self {
                    flag: var_1,
                    count: var_2,
                    stamp: var_3,
                    ratio: var_4,
                    name: var_5,
                    numbers: var_6,
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
                                    if field_ident.field_type == ::pilota::thrift::TType::Bool =>
                                {
                                    var_1 =
                                        ::std::option::Option::Some(__protocol.read_bool().await?);
                                }
                                ::std::option::Option::Some(2)
                                    if field_ident.field_type == ::pilota::thrift::TType::I32 =>
                                {
                                    var_2 =
                                        ::std::option::Option::Some(__protocol.read_i32().await?);
                                }
                                ::std::option::Option::Some(3)
                                    if field_ident.field_type == ::pilota::thrift::TType::I64 =>
                                {
                                    var_3 =
                                        ::std::option::Option::Some(__protocol.read_i64().await?);
                                }
                                ::std::option::Option::Some(4)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Double =>
                                {
                                    var_4 = ::std::option::Option::Some(
                                        __protocol.read_double().await?,
                                    );
                                }
                                ::std::option::Option::Some(5)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Binary =>
                                {
                                    var_5 = ::std::option::Option::Some(
                                        __protocol.read_faststr().await?,
                                    );
                                }
                                ::std::option::Option::Some(6)
                                    if field_ident.field_type == ::pilota::thrift::TType::List =>
                                {
                                    var_6 = ::std::option::Option::Some({
                                        let list_ident = __protocol.read_list_begin().await?;
                                        let mut val =
                                            ::std::vec::Vec::with_capacity(list_ident.size);
                                        for _ in 0..list_ident.size {
                                            val.push(__protocol.read_i64().await?);
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
                                "decode struct `Mixed` field(#{}) failed, caused by: ",
                                field_id
                            ));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let data = Self {
                        flag: var_1,
                        count: var_2,
                        stamp: var_3,
                        ratio: var_4,
                        name: var_5,
                        numbers: var_6,
                    };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier { name: "Mixed" })
                    + self.flag.as_ref().map_or(0, |value| {
                        __protocol.bool_field_len(::std::option::Option::Some(1), *value)
                    })
                    + self.count.as_ref().map_or(0, |value| {
                        __protocol.i32_field_len(::std::option::Option::Some(2), *value)
                    })
                    + self.stamp.as_ref().map_or(0, |value| {
                        __protocol.i64_field_len(::std::option::Option::Some(3), *value)
                    })
                    + self.ratio.as_ref().map_or(0, |value| {
                        __protocol.double_field_len(::std::option::Option::Some(4), *value)
                    })
                    + self.name.as_ref().map_or(0, |value| {
                        __protocol.faststr_field_len(::std::option::Option::Some(5), value)
                    })
                    + self.numbers.as_ref().map_or(0, |value| {
                        __protocol.list_field_len(
                            ::std::option::Option::Some(6),
                            ::pilota::thrift::TType::I64,
                            value,
                            |__protocol, el| __protocol.i64_len(*el),
                        )
                    })
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(Debug, Default, Clone, PartialEq)]
        pub struct Node {
            pub value: i64,

            pub next_node: ::std::option::Option<::std::boxed::Box<Node>>,

            pub children: ::std::option::Option<::std::vec::Vec<Node>>,

            pub table:
                ::std::option::Option<::pilota::AHashMap<::pilota::FastStr, ::std::vec::Vec<i32>>>,

            pub set_of_numbers: ::std::option::Option<::pilota::AHashSet<i64>>,

            pub blob: ::std::option::Option<::pilota::Bytes>,

            pub mixed: ::std::option::Option<::std::vec::Vec<Mixed>>,

            pub shape: ::std::option::Option<Shape>,

            pub colors: ::std::option::Option<::std::vec::Vec<Color>>,

            pub limit: ::std::option::Option<i32>,

            pub tags: ::std::option::Option<::pilota::AHashSet<::pilota::FastStr>>,

            pub by_number:
                ::std::option::Option<::pilota::AHashMap<::pilota::OrderedFloat<f64>, Ano>>,
        }
        impl ::pilota::thrift::Message for Node {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier { name: "Node" };

                __protocol.write_struct_begin(&struct_ident)?;
                __protocol.write_i64_field(1, *&self.value)?;
                if let ::std::option::Option::Some(value) = self.next_node.as_ref() {
                    __protocol.write_struct_field(2, value, ::pilota::thrift::TType::Struct)?;
                }
                if let ::std::option::Option::Some(value) = self.children.as_ref() {
                    __protocol.write_list_field(
                        3,
                        ::pilota::thrift::TType::Struct,
                        &value,
                        |__protocol, val| {
                            __protocol.write_struct(val)?;
                            ::std::result::Result::Ok(())
                        },
                    )?;
                }
                if let ::std::option::Option::Some(value) = self.table.as_ref() {
                    __protocol.write_map_field(
                        4,
                        ::pilota::thrift::TType::Binary,
                        ::pilota::thrift::TType::List,
                        &value,
                        |__protocol, key| {
                            __protocol.write_faststr((key).clone())?;
                            ::std::result::Result::Ok(())
                        },
                        |__protocol, val| {
                            __protocol.write_list(
                                ::pilota::thrift::TType::I32,
                                &val,
                                |__protocol, val| {
                                    __protocol.write_i32(*val)?;
                                    ::std::result::Result::Ok(())
                                },
                            )?;
                            ::std::result::Result::Ok(())
                        },
                    )?;
                }
                if let ::std::option::Option::Some(value) = self.set_of_numbers.as_ref() {
                    __protocol.write_set_field(
                        5,
                        ::pilota::thrift::TType::I64,
                        &value,
                        |__protocol, val| {
                            __protocol.write_i64(*val)?;
                            ::std::result::Result::Ok(())
                        },
                    )?;
                }
                if let ::std::option::Option::Some(value) = self.blob.as_ref() {
                    __protocol.write_bytes_field(6, (value).clone())?;
                }
                if let ::std::option::Option::Some(value) = self.mixed.as_ref() {
                    __protocol.write_list_field(
                        7,
                        ::pilota::thrift::TType::Struct,
                        &value,
                        |__protocol, val| {
                            __protocol.write_struct(val)?;
                            ::std::result::Result::Ok(())
                        },
                    )?;
                }
                if let ::std::option::Option::Some(value) = self.shape.as_ref() {
                    __protocol.write_struct_field(8, value, ::pilota::thrift::TType::Struct)?;
                }
                if let ::std::option::Option::Some(value) = self.colors.as_ref() {
                    __protocol.write_list_field(
                        10,
                        ::pilota::thrift::TType::I32,
                        &value,
                        |__protocol, val| {
                            __protocol.write_struct(val)?;
                            ::std::result::Result::Ok(())
                        },
                    )?;
                }
                if let ::std::option::Option::Some(value) = self.limit.as_ref() {
                    __protocol.write_i32_field(11, *value)?;
                }
                if let ::std::option::Option::Some(value) = self.tags.as_ref() {
                    __protocol.write_set_field(
                        12,
                        ::pilota::thrift::TType::Binary,
                        &value,
                        |__protocol, val| {
                            __protocol.write_faststr((val).clone())?;
                            ::std::result::Result::Ok(())
                        },
                    )?;
                }
                if let ::std::option::Option::Some(value) = self.by_number.as_ref() {
                    __protocol.write_map_field(
                        13,
                        ::pilota::thrift::TType::Double,
                        ::pilota::thrift::TType::Struct,
                        &value,
                        |__protocol, key| {
                            __protocol.write_double(key.0)?;
                            ::std::result::Result::Ok(())
                        },
                        |__protocol, val| {
                            __protocol.write_struct(val)?;
                            ::std::result::Result::Ok(())
                        },
                    )?;
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
                let mut var_3 = ::std::option::Option::None;
                let mut var_4 = ::std::option::Option::None;
                let mut var_5 = ::std::option::Option::None;
                let mut var_6 = ::std::option::Option::None;
                let mut var_7 = ::std::option::Option::None;
                let mut var_8 = ::std::option::Option::None;
                let mut var_10 = ::std::option::Option::None;
                let mut var_11 = ::std::option::Option::None;
                let mut var_12 = ::std::option::Option::None;
                let mut var_13 = ::std::option::Option::None;

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
                                if field_ident.field_type == ::pilota::thrift::TType::Struct =>
                            {
                                var_2 = ::std::option::Option::Some(::std::boxed::Box::new(
                                    ::pilota::thrift::Message::decode(__protocol)?,
                                ));
                            }
                            ::std::option::Option::Some(3)
                                if field_ident.field_type == ::pilota::thrift::TType::List =>
                            {
                                var_3 = ::std::option::Option::Some(unsafe {
                                    let list_ident = __protocol.read_list_begin()?;
                                    let mut val: ::std::vec::Vec<Node> =
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
                            ::std::option::Option::Some(4)
                                if field_ident.field_type == ::pilota::thrift::TType::Map =>
                            {
                                var_4 = ::std::option::Option::Some({
                                    let map_ident = __protocol.read_map_begin()?;
                                    let mut val = ::pilota::AHashMap::with_capacity(map_ident.size);
                                    for _ in 0..map_ident.size {
                                        val.insert(__protocol.read_faststr()?, unsafe {
                                            let list_ident = __protocol.read_list_begin()?;
                                            let mut val: ::std::vec::Vec<i32> =
                                                ::std::vec::Vec::with_capacity(list_ident.size);
                                            for i in 0..list_ident.size {
                                                val.as_mut_ptr()
                                                    .offset(i as isize)
                                                    .write(__protocol.read_i32()?);
                                            }
                                            val.set_len(list_ident.size);
                                            __protocol.read_list_end()?;
                                            val
                                        });
                                    }
                                    __protocol.read_map_end()?;
                                    val
                                });
                            }
                            ::std::option::Option::Some(5)
                                if field_ident.field_type == ::pilota::thrift::TType::Set =>
                            {
                                var_5 = ::std::option::Option::Some({
                                    let list_ident = __protocol.read_set_begin()?;
                                    let mut val =
                                        ::pilota::AHashSet::with_capacity(list_ident.size);
                                    for _ in 0..list_ident.size {
                                        val.insert(__protocol.read_i64()?);
                                    }
                                    __protocol.read_set_end()?;
                                    val
                                });
                            }
                            ::std::option::Option::Some(6)
                                if field_ident.field_type == ::pilota::thrift::TType::Binary =>
                            {
                                var_6 = ::std::option::Option::Some(__protocol.read_bytes()?);
                            }
                            ::std::option::Option::Some(7)
                                if field_ident.field_type == ::pilota::thrift::TType::List =>
                            {
                                var_7 = ::std::option::Option::Some(unsafe {
                                    let list_ident = __protocol.read_list_begin()?;
                                    let mut val: ::std::vec::Vec<Mixed> =
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
                            ::std::option::Option::Some(8)
                                if field_ident.field_type == ::pilota::thrift::TType::Struct =>
                            {
                                var_8 = ::std::option::Option::Some(
                                    ::pilota::thrift::Message::decode(__protocol)?,
                                );
                            }
                            ::std::option::Option::Some(10)
                                if field_ident.field_type == ::pilota::thrift::TType::List =>
                            {
                                var_10 = ::std::option::Option::Some(unsafe {
                                    let list_ident = __protocol.read_list_begin()?;
                                    let mut val: ::std::vec::Vec<Color> =
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
                            ::std::option::Option::Some(11)
                                if field_ident.field_type == ::pilota::thrift::TType::I32 =>
                            {
                                var_11 = ::std::option::Option::Some(__protocol.read_i32()?);
                            }
                            ::std::option::Option::Some(12)
                                if field_ident.field_type == ::pilota::thrift::TType::Set =>
                            {
                                var_12 = ::std::option::Option::Some({
                                    let list_ident = __protocol.read_set_begin()?;
                                    let mut val =
                                        ::pilota::AHashSet::with_capacity(list_ident.size);
                                    for _ in 0..list_ident.size {
                                        val.insert(__protocol.read_faststr()?);
                                    }
                                    __protocol.read_set_end()?;
                                    val
                                });
                            }
                            ::std::option::Option::Some(13)
                                if field_ident.field_type == ::pilota::thrift::TType::Map =>
                            {
                                var_13 = ::std::option::Option::Some({
                                    let map_ident = __protocol.read_map_begin()?;
                                    let mut val = ::pilota::AHashMap::with_capacity(map_ident.size);
                                    for _ in 0..map_ident.size {
                                        val.insert(
                                            ::pilota::OrderedFloat(__protocol.read_double()?),
                                            ::pilota::thrift::Message::decode(__protocol)?,
                                        );
                                    }
                                    __protocol.read_map_end()?;
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
                            "decode struct `Node` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let ::std::option::Option::Some(var_1) = var_1 else {
                    return ::std::result::Result::Err(::pilota::thrift::new_protocol_exception(
                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                        "field value is required".to_string(),
                    ));
                };

                let data = Self {
                    value: var_1,
                    next_node: var_2,
                    children: var_3,
                    table: var_4,
                    set_of_numbers: var_5,
                    blob: var_6,
                    mixed: var_7,
                    shape: var_8,
                    colors: var_10,
                    limit: var_11,
                    tags: var_12,
                    by_number: var_13,
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
                    let mut var_7 = ::std::option::Option::None;
                    let mut var_8 = ::std::option::Option::None;
                    let mut var_10 = ::std::option::Option::None;
                    let mut var_11 = ::std::option::Option::None;
                    let mut var_12 = ::std::option::Option::None;
                    let mut var_13 = ::std::option::Option::None;

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
                                        == ::pilota::thrift::TType::Struct =>
                                {
                                    var_2 = ::std::option::Option::Some(::std::boxed::Box::new(
                                        <Node as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?,
                                    ));
                                }
                                ::std::option::Option::Some(3)
                                    if field_ident.field_type == ::pilota::thrift::TType::List =>
                                {
                                    var_3 = ::std::option::Option::Some({
                                        let list_ident = __protocol.read_list_begin().await?;
                                        let mut val =
                                            ::std::vec::Vec::with_capacity(list_ident.size);
                                        for _ in 0..list_ident.size {
                                            val.push(
                                                <Node as ::pilota::thrift::Message>::decode_async(
                                                    __protocol,
                                                )
                                                .await?,
                                            );
                                        }
                                        __protocol.read_list_end().await?;
                                        val
                                    });
                                }
                                ::std::option::Option::Some(4)
                                    if field_ident.field_type == ::pilota::thrift::TType::Map =>
                                {
                                    var_4 = ::std::option::Option::Some({
                                        let map_ident = __protocol.read_map_begin().await?;
                                        let mut val =
                                            ::pilota::AHashMap::with_capacity(map_ident.size);
                                        for _ in 0..map_ident.size {
                                            val.insert(__protocol.read_faststr().await?, {
                                                let list_ident =
                                                    __protocol.read_list_begin().await?;
                                                let mut val =
                                                    ::std::vec::Vec::with_capacity(list_ident.size);
                                                for _ in 0..list_ident.size {
                                                    val.push(__protocol.read_i32().await?);
                                                }
                                                __protocol.read_list_end().await?;
                                                val
                                            });
                                        }
                                        __protocol.read_map_end().await?;
                                        val
                                    });
                                }
                                ::std::option::Option::Some(5)
                                    if field_ident.field_type == ::pilota::thrift::TType::Set =>
                                {
                                    var_5 = ::std::option::Option::Some({
                                        let list_ident = __protocol.read_set_begin().await?;
                                        let mut val =
                                            ::pilota::AHashSet::with_capacity(list_ident.size);
                                        for _ in 0..list_ident.size {
                                            val.insert(__protocol.read_i64().await?);
                                        }
                                        __protocol.read_set_end().await?;
                                        val
                                    });
                                }
                                ::std::option::Option::Some(6)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Binary =>
                                {
                                    var_6 =
                                        ::std::option::Option::Some(__protocol.read_bytes().await?);
                                }
                                ::std::option::Option::Some(7)
                                    if field_ident.field_type == ::pilota::thrift::TType::List =>
                                {
                                    var_7 = ::std::option::Option::Some({
                                        let list_ident = __protocol.read_list_begin().await?;
                                        let mut val =
                                            ::std::vec::Vec::with_capacity(list_ident.size);
                                        for _ in 0..list_ident.size {
                                            val.push(
                                                <Mixed as ::pilota::thrift::Message>::decode_async(
                                                    __protocol,
                                                )
                                                .await?,
                                            );
                                        }
                                        __protocol.read_list_end().await?;
                                        val
                                    });
                                }
                                ::std::option::Option::Some(8)
                                    if field_ident.field_type
                                        == ::pilota::thrift::TType::Struct =>
                                {
                                    var_8 = ::std::option::Option::Some(
                                        <Shape as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?,
                                    );
                                }
                                ::std::option::Option::Some(10)
                                    if field_ident.field_type == ::pilota::thrift::TType::List =>
                                {
                                    var_10 = ::std::option::Option::Some({
                                        let list_ident = __protocol.read_list_begin().await?;
                                        let mut val =
                                            ::std::vec::Vec::with_capacity(list_ident.size);
                                        for _ in 0..list_ident.size {
                                            val.push(
                                                <Color as ::pilota::thrift::Message>::decode_async(
                                                    __protocol,
                                                )
                                                .await?,
                                            );
                                        }
                                        __protocol.read_list_end().await?;
                                        val
                                    });
                                }
                                ::std::option::Option::Some(11)
                                    if field_ident.field_type == ::pilota::thrift::TType::I32 =>
                                {
                                    var_11 =
                                        ::std::option::Option::Some(__protocol.read_i32().await?);
                                }
                                ::std::option::Option::Some(12)
                                    if field_ident.field_type == ::pilota::thrift::TType::Set =>
                                {
                                    var_12 = ::std::option::Option::Some({
                                        let list_ident = __protocol.read_set_begin().await?;
                                        let mut val =
                                            ::pilota::AHashSet::with_capacity(list_ident.size);
                                        for _ in 0..list_ident.size {
                                            val.insert(__protocol.read_faststr().await?);
                                        }
                                        __protocol.read_set_end().await?;
                                        val
                                    });
                                }
                                ::std::option::Option::Some(13)
                                    if field_ident.field_type == ::pilota::thrift::TType::Map =>
                                {
                                    var_13 = ::std::option::Option::Some({
                                        let map_ident = __protocol.read_map_begin().await?;
                                        let mut val =
                                            ::pilota::AHashMap::with_capacity(map_ident.size);
                                        for _ in 0..map_ident.size {
                                            val.insert(
                                                ::pilota::OrderedFloat(
                                                    __protocol.read_double().await?,
                                                ),
                                                <Ano as ::pilota::thrift::Message>::decode_async(
                                                    __protocol,
                                                )
                                                .await?,
                                            );
                                        }
                                        __protocol.read_map_end().await?;
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
                                "decode struct `Node` field(#{}) failed, caused by: ",
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
                                "field value is required".to_string(),
                            ),
                        );
                    };

                    let data = Self {
                        value: var_1,
                        next_node: var_2,
                        children: var_3,
                        table: var_4,
                        set_of_numbers: var_5,
                        blob: var_6,
                        mixed: var_7,
                        shape: var_8,
                        colors: var_10,
                        limit: var_11,
                        tags: var_12,
                        by_number: var_13,
                    };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier { name: "Node" })
                    + __protocol.i64_field_len(::std::option::Option::Some(1), *&self.value)
                    + self.next_node.as_ref().map_or(0, |value| {
                        __protocol.struct_field_len(::std::option::Option::Some(2), value)
                    })
                    + self.children.as_ref().map_or(0, |value| {
                        __protocol.list_field_len(
                            ::std::option::Option::Some(3),
                            ::pilota::thrift::TType::Struct,
                            value,
                            |__protocol, el| __protocol.struct_len(el),
                        )
                    })
                    + self.table.as_ref().map_or(0, |value| {
                        __protocol.map_field_len(
                            ::std::option::Option::Some(4),
                            ::pilota::thrift::TType::Binary,
                            ::pilota::thrift::TType::List,
                            value,
                            |__protocol, key| __protocol.faststr_len(key),
                            |__protocol, val| {
                                __protocol.list_len(
                                    ::pilota::thrift::TType::I32,
                                    val,
                                    |__protocol, el| __protocol.i32_len(*el),
                                )
                            },
                        )
                    })
                    + self.set_of_numbers.as_ref().map_or(0, |value| {
                        __protocol.set_field_len(
                            ::std::option::Option::Some(5),
                            ::pilota::thrift::TType::I64,
                            value,
                            |__protocol, el| __protocol.i64_len(*el),
                        )
                    })
                    + self.blob.as_ref().map_or(0, |value| {
                        __protocol.bytes_field_len(::std::option::Option::Some(6), value)
                    })
                    + self.mixed.as_ref().map_or(0, |value| {
                        __protocol.list_field_len(
                            ::std::option::Option::Some(7),
                            ::pilota::thrift::TType::Struct,
                            value,
                            |__protocol, el| __protocol.struct_len(el),
                        )
                    })
                    + self.shape.as_ref().map_or(0, |value| {
                        __protocol.struct_field_len(::std::option::Option::Some(8), value)
                    })
                    + self.colors.as_ref().map_or(0, |value| {
                        __protocol.list_field_len(
                            ::std::option::Option::Some(10),
                            ::pilota::thrift::TType::I32,
                            value,
                            |__protocol, el| __protocol.struct_len(el),
                        )
                    })
                    + self.limit.as_ref().map_or(0, |value| {
                        __protocol.i32_field_len(::std::option::Option::Some(11), *value)
                    })
                    + self.tags.as_ref().map_or(0, |value| {
                        __protocol.set_field_len(
                            ::std::option::Option::Some(12),
                            ::pilota::thrift::TType::Binary,
                            value,
                            |__protocol, el| __protocol.faststr_len(el),
                        )
                    })
                    + self.by_number.as_ref().map_or(0, |value| {
                        __protocol.map_field_len(
                            ::std::option::Option::Some(13),
                            ::pilota::thrift::TType::Double,
                            ::pilota::thrift::TType::Struct,
                            value,
                            |__protocol, key| __protocol.double_len(key.0),
                            |__protocol, val| __protocol.struct_len(val),
                        )
                    })
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct MyTest {
            pub num: ::std::option::Option<i64>,

            pub ano: ::std::option::Option<Ano>,

            pub nums: ::std::option::Option<::std::vec::Vec<i64>>,
        }
        impl ::pilota::thrift::Message for MyTest {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier { name: "MyTest" };

                __protocol.write_struct_begin(&struct_ident)?;
                if let ::std::option::Option::Some(value) = self.num.as_ref() {
                    __protocol.write_i64_field(1, *value)?;
                }
                if let ::std::option::Option::Some(value) = self.ano.as_ref() {
                    __protocol.write_struct_field(2, value, ::pilota::thrift::TType::Struct)?;
                }
                if let ::std::option::Option::Some(value) = self.nums.as_ref() {
                    __protocol.write_list_field(
                        3,
                        ::pilota::thrift::TType::I64,
                        &value,
                        |__protocol, val| {
                            __protocol.write_i64(*val)?;
                            ::std::result::Result::Ok(())
                        },
                    )?;
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
                let mut var_3 = ::std::option::Option::None;

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
                                if field_ident.field_type == ::pilota::thrift::TType::Struct =>
                            {
                                var_2 = ::std::option::Option::Some(
                                    ::pilota::thrift::Message::decode(__protocol)?,
                                );
                            }
                            ::std::option::Option::Some(3)
                                if field_ident.field_type == ::pilota::thrift::TType::List =>
                            {
                                var_3 = ::std::option::Option::Some(unsafe {
                                    let list_ident = __protocol.read_list_begin()?;
                                    let mut val: ::std::vec::Vec<i64> =
                                        ::std::vec::Vec::with_capacity(list_ident.size);
                                    for i in 0..list_ident.size {
                                        val.as_mut_ptr()
                                            .offset(i as isize)
                                            .write(__protocol.read_i64()?);
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
                            "decode struct `MyTest` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let data = Self { num: var_1, ano: var_2, nums: var_3 };
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
                                        == ::pilota::thrift::TType::Struct =>
                                {
                                    var_2 = ::std::option::Option::Some(
                                        <Ano as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?,
                                    );
                                }
                                ::std::option::Option::Some(3)
                                    if field_ident.field_type == ::pilota::thrift::TType::List =>
                                {
                                    var_3 = ::std::option::Option::Some({
                                        let list_ident = __protocol.read_list_begin().await?;
                                        let mut val =
                                            ::std::vec::Vec::with_capacity(list_ident.size);
                                        for _ in 0..list_ident.size {
                                            val.push(__protocol.read_i64().await?);
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
                                "decode struct `MyTest` field(#{}) failed, caused by: ",
                                field_id
                            ));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let data = Self { num: var_1, ano: var_2, nums: var_3 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier { name: "MyTest" })
                    + self.num.as_ref().map_or(0, |value| {
                        __protocol.i64_field_len(::std::option::Option::Some(1), *value)
                    })
                    + self.ano.as_ref().map_or(0, |value| {
                        __protocol.struct_field_len(::std::option::Option::Some(2), value)
                    })
                    + self.nums.as_ref().map_or(0, |value| {
                        __protocol.list_field_len(
                            ::std::option::Option::Some(3),
                            ::pilota::thrift::TType::I64,
                            value,
                            |__protocol, el| __protocol.i64_len(*el),
                        )
                    })
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        impl ::std::default::Default for Shape {
            fn default() -> Self {
                Shape::Side(::std::default::Default::default())
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Clone, PartialEq)]
        pub enum Shape {
            Side(i64),

            Name(::pilota::FastStr),

            Ano(Ano),
        }

        impl ::pilota::thrift::Message for Shape {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                __protocol
                    .write_struct_begin(&::pilota::thrift::TStructIdentifier { name: "Shape" })?;
                match self {
                    Shape::Side(value) => {
                        __protocol.write_i64_field(1, *value)?;
                    }
                    Shape::Name(value) => {
                        __protocol.write_faststr_field(2, (value).clone())?;
                    }
                    Shape::Ano(value) => {
                        __protocol.write_struct_field(3, value, ::pilota::thrift::TType::Struct)?;
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
                                let field_ident = __protocol.read_i64()?;
                                __protocol.i64_len(*&field_ident);
                                ret = ::std::option::Option::Some(Shape::Side(field_ident));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        ::std::option::Option::Some(2) => {
                            if ret.is_none() {
                                let field_ident = __protocol.read_faststr()?;
                                __protocol.faststr_len(&field_ident);
                                ret = ::std::option::Option::Some(Shape::Name(field_ident));
                            } else {
                                return ::std::result::Result::Err(
                                    ::pilota::thrift::new_protocol_exception(
                                        ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                        "received multiple fields for union from remote Message",
                                    ),
                                );
                            }
                        }
                        ::std::option::Option::Some(3) => {
                            if ret.is_none() {
                                let field_ident = ::pilota::thrift::Message::decode(__protocol)?;
                                __protocol.struct_len(&field_ident);
                                ret = ::std::option::Option::Some(Shape::Ano(field_ident));
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
                                    let field_ident = __protocol.read_i64().await?;

                                    ret = ::std::option::Option::Some(Shape::Side(field_ident));
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            ::std::option::Option::Some(2) => {
                                if ret.is_none() {
                                    let field_ident = __protocol.read_faststr().await?;

                                    ret = ::std::option::Option::Some(Shape::Name(field_ident));
                                } else {
                                    return ::std::result::Result::Err(
                                        ::pilota::thrift::new_protocol_exception(
                                            ::pilota::thrift::ProtocolExceptionKind::InvalidData,
                                            "received multiple fields for union from remote Message",
                                        ),
                                    );
                                }
                            }
                            ::std::option::Option::Some(3) => {
                                if ret.is_none() {
                                    let field_ident =
                                        <Ano as ::pilota::thrift::Message>::decode_async(
                                            __protocol,
                                        )
                                        .await?;

                                    ret = ::std::option::Option::Some(Shape::Ano(field_ident));
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
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier { name: "Shape" })
                    + match self {
                        Shape::Side(value) => {
                            __protocol.i64_field_len(::std::option::Option::Some(1), *value)
                        }
                        Shape::Name(value) => {
                            __protocol.faststr_field_len(::std::option::Option::Some(2), value)
                        }
                        Shape::Ano(value) => {
                            __protocol.struct_field_len(::std::option::Option::Some(3), value)
                        }
                    }
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
        #[derive(PartialOrd, Hash, Eq, Ord, Debug, Default, Clone, PartialEq)]
        pub struct Ano {
            pub a: ::std::option::Option<i64>,
        }
        impl ::pilota::thrift::Message for Ano {
            fn encode<T: ::pilota::thrift::TOutputProtocol>(
                &self,
                __protocol: &mut T,
            ) -> ::std::result::Result<(), ::pilota::thrift::ThriftException> {
                #[allow(unused_imports)]
                use ::pilota::thrift::TOutputProtocolExt;
                let struct_ident = ::pilota::thrift::TStructIdentifier { name: "Ano" };

                __protocol.write_struct_begin(&struct_ident)?;
                if let ::std::option::Option::Some(value) = self.a.as_ref() {
                    __protocol.write_i64_field(1, *value)?;
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
                                if field_ident.field_type == ::pilota::thrift::TType::I64 =>
                            {
                                var_1 = ::std::option::Option::Some(__protocol.read_i64()?);
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
                            "decode struct `Ano` field(#{}) failed, caused by: ",
                            field_id
                        ));
                    }
                    return ::std::result::Result::Err(err);
                };
                __protocol.read_struct_end()?;

                let data = Self { a: var_1 };
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
                                    if field_ident.field_type == ::pilota::thrift::TType::I64 =>
                                {
                                    var_1 =
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
                                "decode struct `Ano` field(#{}) failed, caused by: ",
                                field_id
                            ));
                        }
                        return ::std::result::Result::Err(err);
                    };
                    __protocol.read_struct_end().await?;

                    let data = Self { a: var_1 };
                    ::std::result::Result::Ok(data)
                })
            }

            fn size<T: ::pilota::thrift::TLengthProtocol>(&self, __protocol: &mut T) -> usize {
                #[allow(unused_imports)]
                use ::pilota::thrift::TLengthProtocolExt;
                __protocol.struct_begin_len(&::pilota::thrift::TStructIdentifier { name: "Ano" })
                    + self.a.as_ref().map_or(0, |value| {
                        __protocol.i64_field_len(::std::option::Option::Some(1), *value)
                    })
                    + __protocol.field_stop_len()
                    + __protocol.struct_end_len()
            }
        }
    }
}
