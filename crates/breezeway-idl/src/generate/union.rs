//! Unions: an enum of its fields, owned and as a view.

use super::context::Context;
use super::encode;
use super::field::{Fields, Named};
use super::naming::StructNames;
use super::read::{self, Reading};
use super::types::field_borrows;
use crate::docs;
use crate::layout::Code;

/// Where a union comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The IDL: a value without a field is none.
    Idl,
    /// A method: no field is what a void method returns.
    Reply,
}

/// Writes both types and how they are read and written.
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
    view(code, context, names, fields);
}

fn owned(
    code: &mut Code,
    context: &Context<'_>,
    names: &StructNames,
    fields: &Fields<'_>,
    origin: Origin,
) {
    let more = fields.derives(context.schema);
    code.line(&format!("#[derive(Clone, Debug, Default, PartialEq{more})]"));
    declare(code, &names.owned, fields, |code, named| {
        docs::outer(code, &docs::with_annotations(&named.field.docs, &named.field.annotations));
        code.variant(&named.variant, &named.payload(context));
    });
    wire(code, context, &names.owned);
    encode::of_union(code, context, &names.owned, fields, origin);
    code.blank();
    read::of_union(code, &Reading::owned(context, names), fields);
}

fn view(code: &mut Code, context: &Context<'_>, names: &StructNames, fields: &Fields<'_>) {
    let borrows = |named: &Named<'_>| field_borrows(context.schema, named.field);
    let borrows = fields.all.iter().any(borrows);
    let lifetime =
        |name: &str| if borrows { format!("{}<{name}>", names.view) } else { names.view.clone() };
    code.line("#[derive(Clone, Copy, Debug, Default, PartialEq)]");
    declare(code, &lifetime("'a"), fields, |code, named| {
        code.variant(&named.variant, &named.view_payload(context));
    });
    wire(code, context, &lifetime("'_"));
    read::of_union(code, &Reading::view(context, names, &lifetime("'a")), fields);
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
