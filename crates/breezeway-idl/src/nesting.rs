//! Nesting depth of the generated types, as rustc counts it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::model::{Field, Id, Kind, Requiredness, Schema, Type, TypeKind};

/// Default `recursion_limit` of rustc.
const USUAL: usize = 128;
/// Depth of the types around the deepest one: a method's arguments, a result, a future.
const AROUND: usize = 16;
/// Depth of the types inside a container of the standard library.
const CONTAINER: usize = 3;

/// Maximum number of nested layers. rustc computes their layout together.
const LAYERS: usize = 48;

/// Marks the fields that get a box because their type is nested too deeply.
pub(crate) fn mark(schema: &mut Schema) {
    let mut layers = Layers { known: HashMap::new(), boxed: Vec::new() };
    let ids: Vec<_> = schema.ids().collect();
    ids.into_iter().for_each(|id| layers.count(schema, id));
    for (id, index) in layers.boxed {
        if let Kind::Struct(found) = &mut schema.files[id.file].definitions[id.index].kind {
            found.fields[index].boxed = true;
        }
    }
}

struct Layers {
    known: HashMap<Id, usize>,
    boxed: Vec<(Id, usize)>,
}

impl Layers {
    /// Counts the layers of a struct. Fields that are not recursive form no cycles; chains may be
    /// longer than the stack.
    fn count(&mut self, schema: &Schema, id: Id) {
        let mut next = vec![(id, false)];
        while let Some((id, inner_known)) = next.pop() {
            let fields = schema.structure(id).map_or(&[][..], |found| &found.fields);
            let inside =
                fields.iter().enumerate().filter_map(|(index, field)| match field.ty.kind {
                    TypeKind::Struct(inner) if !field.boxed => Some((index, field, inner)),
                    _ => None,
                });
            if inner_known {
                let mut most = 0;
                for (index, field, inner) in inside {
                    match self.known[&inner] {
                        LAYERS.. => self.boxed.push((id, index)),
                        layers => most = most.max(layers + usize::from(is_optional(field))),
                    }
                }
                self.known.insert(id, most + 1);
            } else if !self.known.contains_key(&id) {
                next.push((id, true));
                next.extend(inside.map(|(_, _, inner)| (inner, false)));
            }
        }
    }
}

fn is_optional(field: &Field) -> bool {
    field.recursive || field.requiredness == Requiredness::Optional
}

/// Returns the `recursion_limit` that a crate with these types needs, if it exceeds the default.
pub(crate) fn recursion_limit(schema: &Schema) -> Option<usize> {
    let mut depths = Depths { schema, known: HashMap::new() };
    let deepest = schema.ids().map(|id| depths.of(id)).max().unwrap_or(0) + AROUND;
    (deepest > USUAL).then(|| (deepest + deepest / 4).next_power_of_two())
}

struct Depths<'a> {
    schema: &'a Schema,
    /// Depths; zero while one is being counted: a struct inside itself adds no depth.
    known: HashMap<Id, usize>,
}

impl Depths<'_> {
    /// Returns the depth of a struct, without recursion: chains may be longer than the stack.
    fn of(&mut self, id: Id) -> usize {
        let mut next = vec![(id, false)];
        while let Some((id, counted)) = next.pop() {
            let fields = self.schema.structure(id).map_or(&[][..], |found| &found.fields);
            if counted {
                let depth = fields.iter().map(|field| self.of_field(field)).max().unwrap_or(0);
                self.known.insert(id, 1 + depth);
            } else if let Entry::Vacant(place) = self.known.entry(id) {
                place.insert(0);
                next.push((id, true));
                let inner = fields.iter().flat_map(|field| structs(&field.ty));
                next.extend(inner.map(|inner| (inner, false)));
            }
        }
        self.known[&id]
    }

    fn of_field(&self, field: &Field) -> usize {
        let around = usize::from(is_optional(field)) + usize::from(field.boxed);
        around + self.of_type(&field.ty)
    }

    fn of_type(&self, ty: &Type) -> usize {
        match &ty.kind {
            TypeKind::Struct(id) => self.known.get(id).copied().unwrap_or(0),
            TypeKind::List(of) | TypeKind::Set(of) => CONTAINER + self.of_type(of),
            TypeKind::Map(key, value) => CONTAINER + self.of_type(key).max(self.of_type(value)),
            _ => 1,
        }
    }
}

/// Returns the structs in a type.
fn structs(ty: &Type) -> Vec<Id> {
    match &ty.kind {
        TypeKind::Struct(id) => vec![*id],
        TypeKind::List(of) | TypeKind::Set(of) => structs(of),
        TypeKind::Map(key, value) => [structs(key), structs(value)].concat(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;

    fn limit(text: &str) -> Option<usize> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.thrift");
        std::fs::write(&file, text).unwrap();
        recursion_limit(&Builder::new().read(&[file]).unwrap())
    }

    fn chain(length: usize, ty: &str) -> String {
        let link = |at: usize| {
            let next = ty.replace('S', &format!("S{}", at + 1));
            format!("struct S{at} {{ 1: optional {next} next }}\n")
        };
        (0..length).map(link).chain([format!("struct S{length} {{}}")]).collect()
    }

    #[test]
    fn deep_structs_need_a_higher_limit() {
        assert_eq!(limit(&chain(50, "S")), None);
        assert_eq!(limit(&chain(65, "S")), Some(256));
        assert_eq!(limit(&chain(20, "list<S>")), None);
        assert_eq!(limit(&chain(30, "map<i32, S>")), Some(256));
        assert_eq!(limit(&chain(5000, "S")), Some(16384));
    }

    #[test]
    fn structs_inside_themselves_end() {
        assert_eq!(
            limit("struct A { 1: list<A> many, 2: optional B b }\nstruct B { 1: A a }"),
            None
        );
    }
}
