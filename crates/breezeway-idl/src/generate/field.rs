//! A struct's fields under their Rust names.

use super::context::Context;
use super::types::is_fixed;
use crate::model::{Field, Order, Requiredness, Schema, Struct, Value};
use crate::names::{Taken, escape, pascal, snake};

/// Maximum number of fields that the runtime reads and writes as one group.
const LARGEST_GROUP: usize = 8;

/// One field and its Rust names.
pub(crate) struct Named<'a> {
    pub(crate) field: &'a Field,
    /// Name in structs.
    pub(crate) name: String,
    /// Name in writers, which have methods of their own.
    pub(crate) setter: String,
    /// Name of the setter that fills in place.
    pub(crate) in_place: String,
    /// Name in unions.
    pub(crate) variant: String,
}

/// All fields of a struct.
pub(crate) struct Fields<'a> {
    pub(crate) all: Vec<Named<'a>>,
    written: &'a [Field],
}

/// Fields that are read and written together.
pub(crate) enum Step<'f, 'a> {
    /// Neighbours of fixed size that are always present.
    Group(Vec<&'f Named<'a>>),
    /// Any other field.
    One(&'f Named<'a>),
}

impl<'a> Fields<'a> {
    pub(crate) fn new(found: &'a Struct) -> Self {
        let mut names = Taken::default();
        let mut variants = Taken::new(["Unset"]);
        let given: Vec<_> =
            found.fields.iter().map(|field| names.give(&snake(&field.name))).collect();
        let mut setters = Taken::new(["new", "end"]);
        let setters_given: Vec<_> = given.iter().map(|name| setters.give(name)).collect();
        let named =
            found.fields.iter().zip(given).zip(setters_given).map(|((field, name), setter)| {
                let in_place = setters.give(&format!("{setter}_in_place"));
                let variant = escape(&variants.give(&pascal(&field.name)));
                Named { field, name: escape(&name), setter: escape(&setter), in_place, variant }
            });
        Self { all: named.collect(), written: &found.fields }
    }

    /// Returns the fields in the order of bytes, neighbours of fixed size together.
    pub(crate) fn steps(&self, order: Order) -> Vec<Step<'_, 'a>> {
        let mut sorted: Vec<_> = self.all.iter().collect();
        match order {
            Order::Ids => sorted.sort_by_key(|named| named.id()),
            Order::FixedFirst => sorted.sort_by_key(|named| !is_fixed(&named.field.ty)),
        }
        let mut steps = Vec::new();
        for run in sorted.chunk_by(|one, other| one.joins_group() && other.joins_group()) {
            for group in run.chunks(LARGEST_GROUP) {
                steps.push(match group {
                    [one] => Step::One(one),
                    many => Step::Group(many.to_vec()),
                });
            }
        }
        steps
    }

    /// Returns the traits that the owned type derives beside the common ones.
    pub(crate) fn derives(&self, schema: &Schema) -> Vec<&'static str> {
        let ordered = schema.ordered && super::types::all_ordered(schema, self.written);
        let order: &[_] = if ordered { &["Eq", "PartialOrd", "Ord", "Hash"] } else { &[] };
        [order, serde(schema)].concat()
    }

    /// Returns the minimum encoded size of such a struct: its required fields and its end.
    pub(crate) fn min_size(&self) -> usize {
        let required = self.all.iter().filter(|named| named.is_required());
        1 + required.map(|named| 3 + super::types::min_size(&named.field.ty)).sum::<usize>()
    }
}

/// Returns the traits of serde, which every owned type derives if the schema requires them.
pub(crate) fn serde(schema: &Schema) -> &'static [&'static str] {
    if schema.serde { &["::serde::Deserialize", "::serde::Serialize"] } else { &[] }
}

impl Named<'_> {
    pub(crate) fn id(&self) -> i16 {
        self.field.id
    }

    pub(crate) fn is_required(&self) -> bool {
        self.field.requiredness == Requiredness::Required
    }

    /// Returns true if the owned type is an `Option`. A struct inside itself that is neither
    /// required nor optional has to be one: otherwise its default would be endless.
    pub(crate) fn is_optional(&self) -> bool {
        match self.field.requiredness {
            Requiredness::Required => false,
            Requiredness::Optional => true,
            Requiredness::Default => self.field.recursive,
        }
    }

    /// Returns true for a required field that the runtime does not count: it counts those from 0 to
    /// 255.
    pub(crate) fn needs_flag(&self) -> bool {
        self.is_required() && u8::try_from(self.field.id).is_err()
    }

    fn joins_group(&self) -> bool {
        is_fixed(&self.field.ty) && !self.is_optional() && !self.needs_flag()
    }

    /// Returns serde's name of the field, if its Rust name differs from the IDL's.
    pub(crate) fn rename(&self, schema: &Schema, rust: &str) -> Option<String> {
        let name = &self.field.name;
        let differs = rust.trim_start_matches("r#") != name;
        (schema.serde && differs).then(|| format!("#[serde(rename = {name:?})]"))
    }

    /// Returns the IDL's default, unless it equals the type's own default.
    pub(crate) fn preset(&self) -> Option<&Value> {
        let default = self.field.default.as_ref()?;
        (self.is_optional() || !is_zero(default)).then_some(default)
    }

    /// Returns the field's type in the owned struct.
    pub(crate) fn owned(&self, context: &Context<'_>) -> String {
        let ty = self.payload(context);
        if self.is_optional() { format!("{}<{ty}>", context.word("Option")) } else { ty }
    }

    /// Returns the field's type in the view.
    pub(crate) fn view(&self, context: &Context<'_>) -> String {
        let ty = self.view_payload(context);
        if self.is_optional() { format!("{}<{ty}>", context.word("Option")) } else { ty }
    }

    /// Returns the type inside a union's variant, or inside an option.
    pub(crate) fn payload(&self, context: &Context<'_>) -> String {
        let ty = context.owned(&self.field.ty);
        if self.field.boxed { format!("{}<{ty}>", context.word("Box")) } else { ty }
    }

    /// Returns the type like [`payload`](Self::payload), in the view.
    pub(crate) fn view_payload(&self, context: &Context<'_>) -> String {
        let ty = context.view(&self.field.ty);
        if self.field.boxed { format!("{}<'a, {ty}>", context.word("Nested")) } else { ty }
    }
}

/// Returns true if a value is the `Default` of its type.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Int(value) => *value == 0,
        Value::Double(value) => value.to_bits() == 0,
        Value::String(text) => text.is_empty(),
        Value::Binary(bytes) => bytes.is_empty(),
        Value::Uuid(bytes) => *bytes == [0; 16],
        Value::List(values) => values.is_empty(),
        Value::Map(pairs) => pairs.is_empty(),
        Value::Struct(_, given) => given.is_empty(),
        Value::Enum(..) => false,
    }
}
