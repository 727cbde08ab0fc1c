//! Values and types as text that a terminal can show.

use std::fmt::Write;

use breezeway_idl::model::{Schema, Type, TypeKind};
use breezeway_thrift::WireType;

/// Formats a UUID by RFC 9562.
pub(crate) fn uuid(bytes: [u8; 16]) -> String {
    let mut text = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        write!(text, "{byte:02x}").unwrap_or_default();
    }
    text
}

/// The IDL's name of a type byte.
pub(crate) fn short_name(wire_type: WireType) -> &'static str {
    match wire_type {
        WireType::Bool => "bool",
        WireType::I8 => "i8",
        WireType::Double => "double",
        WireType::I16 => "i16",
        WireType::I32 => "i32",
        WireType::I64 => "i64",
        WireType::String => "string",
        WireType::Struct => "struct",
        WireType::Map => "map",
        WireType::Set => "set",
        WireType::List => "list",
        WireType::Uuid => "uuid",
    }
}

/// The name of a struct.
pub(crate) fn long_name<'s>(schema: &'s Schema, ty: &Type) -> Option<&'s str> {
    match ty.kind {
        TypeKind::Struct(id) => Some(&schema.definition(id).name),
        _ => None,
    }
}
