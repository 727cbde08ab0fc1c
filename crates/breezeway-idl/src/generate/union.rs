//! Unions: an enum of its fields, owned and as a view.

use super::context::Context;
use super::encode;
use super::field::{Fields, Named};
use super::into_owned;
use super::naming::StructNames;
use super::read::{self, Reading};
use super::types::field_borrows;
use crate::docs;
use crate::layout::Code;

/// Origin of a union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The IDL: a value without a field is invalid.
    Idl,
    /// A method: a value without a field is the result of a void method.
    Reply,
}

/// Writes both types, with their reading and writing.
pub(crate) fn write(
    code: &mut Code,
    context: &Context<'_>,
    names: &StructNames,
    fields: &Fields<'_>,
    origin: Origin,
) {
    owned(code, context, names, fields, origin);
    code.blank();
    docs::link(code, &format!("{}, read in place.", docs::a_link(&names.owned)));
    view(code, context, names, fields, origin);
}

fn owned(
    code: &mut Code,
    context: &Context<'_>,
    names: &StructNames,
    fields: &Fields<'_>,
    origin: Origin,
) {
    let usual = ["Clone", "Debug", "Default", "PartialEq"];
    code.derive(&[&usual[..], &fields.derives(context.schema)].concat());
    declare(code, &names.owned, fields, |code, named| {
        docs::outer(code, &docs::with_annotations(&named.field.docs, &named.field.annotations));
        named.rename(context.schema, &named.variant).iter().for_each(|line| code.line(line));
        code.variant(&named.variant, &named.payload(context));
    });
    wire(code, context, &names.owned);
    encode::of_union(code, context, &names.owned, &names.owned, fields, origin);
    code.blank();
    read::of_union(code, &Reading::owned(context, names), fields);
}

fn view(
    code: &mut Code,
    context: &Context<'_>,
    names: &StructNames,
    fields: &Fields<'_>,
    origin: Origin,
) {
    let borrows = |named: &Named<'_>| field_borrows(context.schema, named.field);
    let borrows = fields.all.iter().any(borrows);
    let lifetime =
        |name: &str| if borrows { format!("{}<{name}>", names.view) } else { names.view.clone() };
    code.line("#[derive(Clone, Copy, Debug, Default, PartialEq)]");
    declare(code, &lifetime("'a"), fields, |code, named| {
        code.variant(&named.variant, &named.view_payload(context));
    });
    wire(code, context, &lifetime("'_"));
    encode::of_union(code, context, &names.owned, &lifetime("'_"), fields, origin);
    code.blank();
    read::of_union(code, &Reading::view(context, names, &lifetime("'a")), fields);
    code.blank();
    into_owned::of_union(code, context, names, &lifetime("'_"), fields);
}

fn declare(
    code: &mut Code,
    name: &str,
    fields: &Fields<'_>,
    mut each: impl FnMut(&mut Code, &Named<'_>),
) {
    code.block(&format!("pub enum {name} {{"), |code| {
        code.line("/// No field that this version knows.");
        code.line("#[default]");
        code.line("Unset,");
        for named in &fields.all {
            each(code, named);
        }
    });
}

fn wire(code: &mut Code, context: &Context<'_>, target: &str) {
    code.blank();
    code.implement_empty(&format!("impl {}", context.word("Wire")), target);
    code.blank();
}
