//! A struct's fields under their Go names.

use super::naming::FieldNames;
use super::types::fixed_size;
use crate::model::{Field, Order, Requiredness, Shape, Struct, Value};

/// One field and its names.
pub(crate) struct Named<'a> {
    pub(crate) field: &'a Field,
    pub(crate) go: String,
    pub(crate) getter: String,
    is_union: bool,
}

/// All fields of a struct.
pub(crate) struct Fields<'a> {
    pub(crate) shape: Shape,
    pub(crate) all: Vec<Named<'a>>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(found: &'a Struct, names: Vec<FieldNames>) -> Self {
        let is_union = found.shape == Shape::Union;
        let named = found.fields.iter().zip(names).map(|(field, names)| Named {
            field,
            go: names.go,
            getter: names.getter,
            is_union,
        });
        Self { shape: found.shape, all: named.collect() }
    }

    /// Returns the fields in the order of bytes, neighbours of fixed size together.
    pub(crate) fn groups(&self, order: Order) -> Vec<Vec<&Named<'a>>> {
        let mut sorted: Vec<_> = self.all.iter().collect();
        match order {
            Order::Ids => sorted.sort_by_key(|named| named.field.id),
            Order::FixedFirst => {
                sorted.sort_by_key(|named| fixed_size(&named.field.ty).is_none());
            }
        }
        sorted
            .chunk_by(|one, other| one.joins_group() && other.joins_group())
            .map(<[_]>::to_vec)
            .collect()
    }

    /// Returns the fields that must be present.
    pub(crate) fn required(&self) -> Vec<&Named<'a>> {
        self.all.iter().filter(|named| named.is_required()).collect()
    }

    /// Returns true if any field has a default that is not zero.
    pub(crate) fn has_presets(&self) -> bool {
        self.all.iter().any(|named| named.preset().is_some())
    }
}

impl Named<'_> {
    /// Returns true if nil stands for an absent field.
    pub(crate) fn is_optional(&self) -> bool {
        self.is_union || self.field.requiredness == Requiredness::Optional
    }

    pub(crate) fn is_required(&self) -> bool {
        self.field.requiredness == Requiredness::Required
    }

    /// Returns the IDL's default. Those of a union's fields mean nothing.
    pub(crate) fn preset(&self) -> Option<&Value> {
        self.field.default.as_ref().filter(|_| !self.is_union)
    }

    fn joins_group(&self) -> bool {
        fixed_size(&self.field.ty).is_some() && !self.is_optional()
    }
}
