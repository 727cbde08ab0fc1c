//! The Rust types of Thrift types.

use std::collections::HashSet;

use super::context::Context;
use crate::docs;
use crate::layout::{Code, Expr};
use crate::model::{Field, Id, Schema, Shape, Type, TypeKind};

impl Context<'_> {
    /// Returns the type of an owned value.
    pub(crate) fn owned(&self, ty: &Type) -> String {
        match ty.alias {
            Some(id) => self.path(id, &self.naming.names[&id]),
            None => self.owned_kind(&ty.kind),
        }
    }

    fn owned_kind(&self, kind: &TypeKind) -> String {
        match kind {
            TypeKind::String => self.string(),
            TypeKind::Binary if self.schema.shared_bytes => self.word("Bytes"),
            TypeKind::Binary => format!("{}<u8>", self.word("Vec")),
            TypeKind::List(of) => format!("{}<{}>", self.word("Vec"), self.owned(of)),
            TypeKind::Set(of) => format!("{}<{}>", self.word("Set"), self.owned(of)),
            TypeKind::Map(key, value) => {
                format!("{}<{}, {}>", self.map(key), self.owned(key), self.owned(value))
            }
            fixed_or_struct => self.name_of(fixed_or_struct),
        }
    }

    /// Returns the owned type of text.
    pub(crate) fn string(&self) -> String {
        self.word(if self.schema.small_strings { "SmallString" } else { "String" })
    }

    /// Returns the owned type of maps with these keys: one that needs no order if they have none.
    pub(crate) fn map(&self, key: &Type) -> String {
        self.word(if is_ordered(key) { "BTreeMap" } else { "Pairs" })
    }

    fn name_of(&self, kind: &TypeKind) -> String {
        match kind {
            TypeKind::Uuid => self.word("Uuid"),
            TypeKind::Enum(id) | TypeKind::Struct(id) => self.path(*id, &self.naming.names[id]),
            base => primitive(base).to_owned(),
        }
    }

    /// Returns the type of a value that is read in place.
    pub(crate) fn view(&self, ty: &Type) -> String {
        if is_fixed(ty) {
            return self.owned(ty);
        }
        match ty.alias {
            Some(id) => {
                let name = self.path(id, &self.naming.view_aliases[&id]);
                format!("{name}{}", lifetime(self.schema, ty))
            }
            None => self.view_kind(&ty.kind),
        }
    }

    fn view_kind(&self, kind: &TypeKind) -> String {
        match kind {
            TypeKind::String => "&'a str".to_owned(),
            TypeKind::Binary => "&'a [u8]".to_owned(),
            TypeKind::List(of) => self.list_view(of),
            TypeKind::Set(of) => format!("{}<{}>", self.word("SetOf"), self.list_view(of)),
            TypeKind::Map(key, value) => {
                format!("{}<'a, {}, {}>", self.word("Entries"), self.view(key), self.view(value))
            }
            TypeKind::Struct(id) => {
                let lifetime = if borrows(self.schema, *id) { "<'a>" } else { "" };
                format!("{}{lifetime}", self.path(*id, &self.naming.structs[id].view))
            }
            fixed => self.name_of(fixed),
        }
    }

    fn list_view(&self, of: &Type) -> String {
        let list = self.word(if is_fixed(of) { "NumberList" } else { "Elements" });
        format!("{list}<'a, {}>", self.view(of))
    }

    /// Returns the name of a list's view without its parameters.
    pub(crate) fn list_view_name(&self, of: &Type) -> String {
        self.word(if is_fixed(of) { "NumberList" } else { "Elements" })
    }

    /// Returns the writer of a struct.
    pub(crate) fn writer(&self, id: Id) -> String {
        self.path(id, &self.naming.structs[&id].writer)
    }
}

fn primitive(kind: &TypeKind) -> &'static str {
    match kind {
        TypeKind::Bool => "bool",
        TypeKind::I8 => "i8",
        TypeKind::I16 => "i16",
        TypeKind::I32 => "i32",
        TypeKind::I64 => "i64",
        _ => "f64",
    }
}

/// Returns true if every value has the same encoded size.
pub(crate) fn is_fixed(ty: &Type) -> bool {
    use TypeKind::{Binary, List, Map, Set, String, Struct};
    !matches!(ty.kind, String | Binary | List(_) | Set(_) | Map(..) | Struct(_))
}

/// Returns true if values are unions.
pub(crate) fn is_union(schema: &Schema, ty: &Type) -> bool {
    match ty.kind {
        TypeKind::Struct(id) => schema.structure(id).is_some_and(|it| it.shape == Shape::Union),
        _ => false,
    }
}

/// Returns true if values can be keys of a `BTreeMap`.
fn is_ordered(ty: &Type) -> bool {
    let scalar = is_fixed(ty) && !matches!(ty.kind, TypeKind::Double);
    scalar || matches!(ty.kind, TypeKind::String | TypeKind::Binary)
}

/// Returns true if the owned values of these fields have an order and a hash: they contain no
/// double.
pub(crate) fn all_ordered(schema: &Schema, fields: &[Field]) -> bool {
    let mut seen = HashSet::new();
    let mut next: Vec<&Type> = fields.iter().map(|field| &field.ty).collect();
    while let Some(ty) = next.pop() {
        match &ty.kind {
            TypeKind::Double => return false,
            TypeKind::List(of) | TypeKind::Set(of) => next.push(of),
            TypeKind::Map(key, value) => next.extend([&**key, &**value]),
            TypeKind::Struct(id) if seen.insert(*id) => {
                let fields = schema.structure(*id).map_or(&[][..], |found| &found.fields);
                next.extend(fields.iter().map(|field| &field.ty));
            }
            _ => {}
        }
    }
    true
}

/// Returns the minimum encoded size of a value.
pub(crate) fn min_size(ty: &Type) -> usize {
    match ty.kind {
        TypeKind::Bool | TypeKind::I8 | TypeKind::Struct(_) => 1,
        TypeKind::I16 => 2,
        TypeKind::I32 | TypeKind::Enum(_) | TypeKind::String | TypeKind::Binary => 4,
        TypeKind::I64 | TypeKind::Double => 8,
        TypeKind::List(_) | TypeKind::Set(_) => 5,
        TypeKind::Map(..) => 6,
        TypeKind::Uuid => 16,
    }
}

fn lifetime(schema: &Schema, ty: &Type) -> &'static str {
    if type_borrows(schema, ty) { "<'a>" } else { "" }
}

/// Returns true if any part of a field's view borrows from the message.
pub(crate) fn field_borrows(schema: &Schema, field: &Field) -> bool {
    field.boxed || type_borrows(schema, &field.ty)
}

/// Returns true if any part of a type's view borrows from the message.
pub(crate) fn type_borrows(schema: &Schema, ty: &Type) -> bool {
    match ty.kind {
        TypeKind::Struct(id) => borrows(schema, id),
        _ => !is_fixed(ty),
    }
}

/// Returns true if a struct's view borrows: one of its fields does, or one of a struct inside it.
fn borrows(schema: &Schema, id: Id) -> bool {
    let mut next = vec![id];
    let mut seen = HashSet::from([id]);
    while let Some(id) = next.pop() {
        let fields = schema.structure(id).map_or(&[][..], |found| &found.fields);
        for field in fields {
            match field.ty.kind {
                _ if field.boxed => return true,
                TypeKind::Struct(inner) => next.extend(seen.insert(inner).then_some(inner)),
                _ if !is_fixed(&field.ty) => return true,
                _ => {}
            }
        }
    }
    false
}

/// Writes a typedef: an alias, and one for views if they have another type.
pub(crate) fn alias(code: &mut Code, context: &Context<'_>, id: Id, target: &Type) {
    let name = &context.naming.names[&id];
    code.assign(&format!("pub type {name} ="), &Expr::ty(&context.owned(target)), ";");
    if is_fixed(target) {
        return;
    }
    let view = &context.naming.view_aliases[&id];
    code.blank();
    docs::link(code, &format!("{}, read in place.", docs::a_link(name)));
    let head = format!("pub type {view}{} =", lifetime(context.schema, target));
    code.assign(&head, &Expr::ty(&context.view(target)), ";");
}
