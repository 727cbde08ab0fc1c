//! The Go types of Thrift types.

use super::context::Context;
use crate::model::{Field, Requiredness, Type, TypeKind};

impl Context<'_> {
    /// Returns the type of a value.
    pub(crate) fn ty(&self, ty: &Type) -> String {
        match (ty.alias, &ty.kind) {
            (Some(id), TypeKind::Struct(_)) => format!("*{}", self.name(id)),
            (Some(id), _) => self.name(id),
            (None, kind) => self.kind(kind),
        }
    }

    fn kind(&self, kind: &TypeKind) -> String {
        match kind {
            TypeKind::Bool => "bool".to_owned(),
            TypeKind::I8 => "int8".to_owned(),
            TypeKind::I16 => "int16".to_owned(),
            TypeKind::I32 => "int32".to_owned(),
            TypeKind::I64 => "int64".to_owned(),
            TypeKind::Double => "float64".to_owned(),
            TypeKind::String => "string".to_owned(),
            TypeKind::Binary => "[]byte".to_owned(),
            TypeKind::Uuid => self.thrift("UUID"),
            TypeKind::List(of) | TypeKind::Set(of) => format!("[]{}", self.ty(of)),
            TypeKind::Map(key, value) if is_key(key) => {
                format!("map[{}]{}", self.key(key), self.ty(value))
            }
            TypeKind::Map(key, value) => format!("[]{}", self.pair(key, value)),
            TypeKind::Enum(id) => self.name(*id),
            TypeKind::Struct(id) => format!("*{}", self.name(*id)),
        }
    }

    /// Returns the type of a map's keys. Slices of bytes cannot be any.
    pub(crate) fn key(&self, ty: &Type) -> String {
        if matches!(ty.kind, TypeKind::Binary) { "string".to_owned() } else { self.ty(ty) }
    }

    /// Returns the type of a pair of a map that Go's maps cannot be.
    pub(crate) fn pair(&self, key: &Type, value: &Type) -> String {
        format!("{}[{}, {}]", self.thrift("Pair"), self.ty(key), self.ty(value))
    }

    /// Returns the type of a field.
    pub(crate) fn field(&self, field: &Field, is_optional: bool) -> String {
        let pointer = if is_pointer(field, is_optional) { "*" } else { "" };
        format!("{pointer}{}", self.ty(&field.ty))
    }

    /// Returns the name of a struct's type, by the typedef that names it.
    pub(crate) fn struct_name(&self, ty: &Type) -> String {
        self.ty(ty).trim_start_matches('*').to_owned()
    }
}

/// Returns true if values of a type can be the keys of Go's maps, equal where they are equal on the
/// wire.
pub(crate) fn is_key(ty: &Type) -> bool {
    !matches!(
        ty.kind,
        TypeKind::List(_) | TypeKind::Set(_) | TypeKind::Map(..) | TypeKind::Struct(_)
    )
}

/// Returns true if nil is a value of a type.
pub(crate) fn is_nilable(ty: &Type) -> bool {
    matches!(
        ty.kind,
        TypeKind::Binary
            | TypeKind::List(_)
            | TypeKind::Set(_)
            | TypeKind::Map(..)
            | TypeKind::Struct(_)
    )
}

/// Returns true if a field is a pointer to a value that cannot be nil itself.
pub(crate) fn is_pointer(field: &Field, is_optional: bool) -> bool {
    is_optional && !is_nilable(&field.ty)
}

/// Returns true if a field is left out when it is nil: it is optional, or a struct that need not be
/// there.
pub(crate) fn is_left_out(field: &Field, is_optional: bool) -> bool {
    let is_struct = matches!(field.ty.kind, TypeKind::Struct(_));
    is_optional || is_struct && field.requiredness != Requiredness::Required
}

/// Returns the size of values of fixed size.
pub(crate) fn fixed_size(ty: &Type) -> Option<usize> {
    match ty.kind {
        TypeKind::Bool | TypeKind::I8 => Some(1),
        TypeKind::I16 => Some(2),
        TypeKind::I32 | TypeKind::Enum(_) => Some(4),
        TypeKind::I64 | TypeKind::Double => Some(8),
        TypeKind::Uuid => Some(16),
        _ => None,
    }
}

/// Returns the end of the names of the runtime's functions for values of fixed size and strings.
pub(crate) fn suffix(ty: &Type) -> Option<&'static str> {
    Some(match ty.kind {
        TypeKind::Bool => "Bool",
        TypeKind::I8 => "I8",
        TypeKind::I16 => "I16",
        TypeKind::I32 | TypeKind::Enum(_) => "I32",
        TypeKind::I64 => "I64",
        TypeKind::Double => "Double",
        TypeKind::Uuid => "UUID",
        TypeKind::String => "String",
        _ => return None,
    })
}

/// Returns the suffix for lists of such elements that the runtime reads and writes at once.
pub(crate) fn bulk(of: &Type) -> Option<&'static str> {
    suffix(of).filter(|_| !matches!(of.kind, TypeKind::Uuid))
}

/// Returns the head of a field, as the runtime has it.
pub(crate) fn head(field: &Field) -> String {
    let number = u16::from_be_bytes(field.id.to_be_bytes());
    format!("{:#08x}", u32::from(field.ty.kind.wire_type()) << 16 | u32::from(number))
}
