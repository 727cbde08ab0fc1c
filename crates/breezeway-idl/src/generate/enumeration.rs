//! Enums: numbers with names, so that values of a later version are preserved.

use std::collections::HashSet;

use super::context::Context;
use super::field::serde;
use crate::docs;
use crate::layout::Code;
use crate::model::{EnumValue, Id};
use crate::names::{Taken, escape, screaming};

const DERIVED: [&str; 9] =
    ["Clone", "Copy", "Debug", "Default", "PartialEq", "Eq", "PartialOrd", "Ord", "Hash"];

/// Writes the type and a constant per value.
pub(crate) fn write(code: &mut Code, context: &Context<'_>, id: Id, values: &[EnumValue]) {
    let name = &context.naming.names[&id];
    code.derive(&[&DERIVED[..], serde(context.schema)].concat());
    code.line(&format!("pub struct {name}(pub i32);"));
    code.blank();
    if !values.is_empty() {
        code.block(&format!("impl {name} {{"), |code| {
            for (value, name) in values.iter().zip(value_names(values)) {
                docs::outer(code, &docs::with_annotations(&value.docs, &value.annotations));
                code.line(&format!("pub const {name}: Self = Self({});", value.number));
            }
            code.blank();
            name_of(code, context, values);
        });
        code.blank();
    }
    code.line(&format!("{}::open_enum!({name});", context.schema.runtime()));
}

/// Writes the function that returns a value's name in the IDL.
fn name_of(code: &mut Code, context: &Context<'_>, values: &[EnumValue]) {
    let [option, some, none] = ["Option", "Some", "None"].map(|name| context.word(name));
    code.line("/// The value's name in the IDL, if this version knows it.");
    code.line("#[inline]");
    code.block(&format!("pub fn name(self) -> {option}<&'static str> {{"), |code| {
        code.block("match self.0 {", |code| {
            let mut seen = HashSet::new();
            for value in values.iter().filter(|value| seen.insert(value.number)) {
                code.arm(&value.number.to_string(), &format!("{some}({:?})", value.name));
            }
            code.line(&format!("_ => {none},"));
        });
    });
}

/// Returns the Rust names of an enum's values, in order.
pub(crate) fn value_names(values: &[EnumValue]) -> Vec<String> {
    let mut taken = Taken::default();
    values.iter().map(|value| escape(&taken.give(&screaming(&value.name)))).collect()
}
