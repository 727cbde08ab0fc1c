//! Random messages of any struct of a schema.

use breezeway_idl::model::{Field, Id, Requiredness, Schema, Shape, Type, TypeKind};

use crate::dice::Dice;

/// Texts: empty, short and long, also longer than a small string.
const TEXTS: [&str; 7] = [
    "",
    "a",
    "é",
    "message",
    "楼台",
    "a somewhat longer text",
    "a text that exceeds a small string 🦀",
];

/// A message as the owned type would write it: fields by their numbers, map keys in Rust's.
pub struct Messages<'a> {
    /// Schema that defines the structs.
    pub schema: &'a Schema,
    /// Source of the random choices.
    pub dice: Dice,
    /// For other implementations: their sets have an order of their own, so at most one element.
    pub tame: bool,
}

impl Messages<'_> {
    /// A message of a struct; below `depth` levels, whatever can be empty is.
    pub fn message(&mut self, id: Id, depth: usize) -> Vec<u8> {
        let schema = self.schema;
        let structure = schema.structure(id).unwrap();
        let mut bytes = Vec::new();
        if structure.shape == Shape::Union {
            if let Some(field) = self.variant(&structure.fields, depth) {
                self.field(field, depth, &mut bytes);
            }
        } else {
            let mut fields: Vec<_> = structure.fields.iter().collect();
            fields.sort_by_key(|field| field.id);
            for field in fields {
                if self.is_present(field, depth) {
                    self.field(field, depth, &mut bytes);
                }
            }
        }
        bytes.push(0);
        bytes
    }

    /// The field that a union has. At the end one that does not lead on, if there is one.
    fn variant<'f>(&mut self, fields: &'f [Field], depth: usize) -> Option<&'f Field> {
        let ends = |field: &&Field| !matches!(field.ty.kind, TypeKind::Struct(_));
        match fields.iter().find(ends).or(fields.first()) {
            Some(field) if depth == 0 => Some(field),
            Some(_) => Some(&fields[self.dice.below(fields.len())]),
            None => None,
        }
    }

    /// Returns true if a struct can be written at all: a union without fields cannot.
    pub fn exists(&self, id: Id) -> bool {
        let found = self.schema.structure(id);
        found.is_none_or(|it| it.shape != Shape::Union || !it.fields.is_empty())
    }

    /// Returns true for a field that must be written, and for half of the rest. An absent field
    /// with a default would come back.
    fn is_present(&mut self, field: &Field, depth: usize) -> bool {
        let may_lack = match field.requiredness {
            Requiredness::Required => false,
            Requiredness::Optional => field.default.is_none(),
            Requiredness::Default => field.recursive,
        };
        if let TypeKind::Struct(id) = field.ty.kind
            && !self.exists(id)
        {
            return false;
        }
        !may_lack || depth > 0 && self.dice.below(2) > 0
    }

    fn field(&mut self, field: &Field, depth: usize, to: &mut Vec<u8>) {
        to.push(field.ty.kind.wire_type());
        to.extend(field.id.to_be_bytes());
        self.value(&field.ty, depth.saturating_sub(1), to);
    }

    fn value(&mut self, ty: &Type, depth: usize, to: &mut Vec<u8>) {
        let number = self.dice.roll().to_be_bytes();
        match &ty.kind {
            TypeKind::Bool => to.push(number[0] & 1),
            TypeKind::I8 => to.push(number[0]),
            TypeKind::I16 => to.extend(&number[..2]),
            TypeKind::I32 | TypeKind::Enum(_) => to.extend(&number[..4]),
            TypeKind::I64 | TypeKind::Double => to.extend(number),
            TypeKind::Uuid => to.extend([number, number].concat()),
            TypeKind::String => {
                let text = TEXTS[self.dice.below(TEXTS.len())];
                counted(text.as_bytes(), to);
            }
            TypeKind::Binary => counted(&number[..self.dice.below(9)], to),
            TypeKind::List(of) | TypeKind::Set(of) => {
                let is_tame_set = self.tame && matches!(ty.kind, TypeKind::Set(_));
                let count = self.count(depth).min(if is_tame_set { 1 } else { u32::MAX });
                to.push(of.kind.wire_type());
                to.extend(count.to_be_bytes());
                (0..count).for_each(|_| self.value(of, depth.saturating_sub(1), to));
            }
            TypeKind::Map(key, item) => self.map(key, item, depth, to),
            TypeKind::Struct(id) => to.extend(self.message(*id, depth)),
        }
    }

    fn map(&mut self, key: &Type, item: &Type, depth: usize, to: &mut Vec<u8>) {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for _ in 0..self.count(depth) {
            let mut bytes = Vec::new();
            self.value(key, depth.saturating_sub(1), &mut bytes);
            keys.push(bytes);
        }
        keys.sort_by_key(|bytes| order(key, bytes));
        keys.dedup();
        to.extend([key.kind.wire_type(), item.kind.wire_type()]);
        to.extend(u32::try_from(keys.len()).unwrap().to_be_bytes());
        for key in keys {
            to.extend(key);
            self.value(item, depth.saturating_sub(1), to);
        }
    }

    fn count(&mut self, depth: usize) -> u32 {
        if depth == 0 { 0 } else { u32::try_from(self.dice.below(4)).unwrap() }
    }
}

/// Bytes that are ordered as the Rust values of keys are.
fn order(key: &Type, bytes: &[u8]) -> Vec<u8> {
    let mut order = bytes.to_vec();
    match key.kind {
        TypeKind::String | TypeKind::Binary => drop(order.drain(..4)),
        TypeKind::Uuid | TypeKind::Bool => {}
        _ => order[0] ^= 0x80,
    }
    order
}

fn counted(bytes: &[u8], to: &mut Vec<u8>) {
    to.extend(u32::try_from(bytes.len()).unwrap().to_be_bytes());
    to.extend(bytes);
}
