//! Implementation of Rust's error traits for exceptions.

use super::context::Context;
use super::field::{Fields, Named};
use super::naming::StructNames;
use crate::layout::{Code, Parameter};
use crate::model::{Struct, TypeKind};

/// Writes the `Display` and `Error` implementations of an exception.
pub(crate) fn write(
    code: &mut Code,
    context: &Context<'_>,
    names: &StructNames,
    found: &Struct,
    annotations: &[(String, String)],
) {
    let fields = Fields::new(found);
    let fmt = "::std::fmt";
    code.blank();
    code.implement(&format!("impl {fmt}::Display"), &names.owned, |code| {
        let parameters = ["&self", &format!("formatter: &mut {fmt}::Formatter<'_>")];
        let result = format!(" -> {fmt}::Result {{");
        code.function("fn fmt", &parameters.map(Parameter::new), &result, |code| {
            code.line(&match message(&fields, annotations) {
                Some(named) => shown(named),
                None => "write!(formatter, \"{self:?}\")".to_owned(),
            });
        });
    });
    code.blank();
    code.implement_empty(&format!("impl {}", context.word("Error")), &names.owned);
}

/// Returns the field with the message: the one named by the annotation `message`, else the one of
/// that name.
fn message<'f, 'a>(
    fields: &'f Fields<'a>,
    annotations: &[(String, String)],
) -> Option<&'f Named<'a>> {
    let named = annotations.iter().find(|(key, _)| key == "message");
    let name = named.map_or("message", |(_, value)| value);
    let is_text = |named: &&Named<'_>| matches!(named.field.ty.kind, TypeKind::String);
    fields.all.iter().filter(is_text).find(|named| named.field.name == name)
}

fn shown(named: &Named<'_>) -> String {
    let name = &named.name;
    if named.is_optional() {
        format!("formatter.write_str(self.{name}.as_deref().unwrap_or_default())")
    } else {
        format!("formatter.write_str(&self.{name})")
    }
}
