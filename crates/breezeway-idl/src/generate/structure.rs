//! Structs and exceptions: the owned type and the view.

use super::context::Context;
use super::encode;
use super::field::{Fields, Named};
use super::into_owned;
use super::naming::StructNames;
use super::read::{self, Reading};
use super::types::field_borrows;
use super::value::{owned_default, view_default};
use crate::docs;
use crate::layout::{Code, Expr};

/// Writes both types, with their reading and writing.
pub(crate) fn write(
    code: &mut Code,
    context: &Context<'_>,
    names: &StructNames,
    fields: &Fields<'_>,
) {
    owned(code, context, names, fields);
    code.blank();
    docs::link(code, &format!("{}, read in place.", docs::a_link(&names.owned)));
    view(code, context, names, fields);
}

/// Writes the arguments of a method: only in their form on the wire. Servers that request it view
/// them in place.
pub(crate) fn arguments(
    code: &mut Code,
    context: &Context<'_>,
    names: &StructNames,
    fields: &Fields<'_>,
) {
    owned(code, context, names, fields);
    if context.schema.in_place {
        code.blank();
        docs::link(code, &format!("{}, read in place.", docs::a_link(&names.owned)));
        let lifetimes = view_type(code, context, names, fields);
        read::of_struct(code, context, &Reading::view(context, names, &lifetimes("'a")), fields);
    }
}

fn owned(code: &mut Code, context: &Context<'_>, names: &StructNames, fields: &Fields<'_>) {
    let preset = fields.all.iter().any(|named| named.preset().is_some());
    derive(code, &["Clone", "Debug"], preset, &fields.derives(context.schema));
    if context.schema.serde {
        code.line("#[serde(default)]");
    }
    declare(code, &format!("pub struct {}", names.owned), fields, |code, named| {
        docs::outer(code, &docs::with_annotations(&named.field.docs, &named.field.annotations));
        named.rename(context.schema, &named.name).iter().for_each(|line| code.line(line));
        code.typed(&format!("pub {}", named.name), &named.owned(context));
    });
    if preset {
        let value = |named: &Named<'_>| owned_default(context, named);
        default(code, context, &names.owned, fields, value);
    }
    wire(code, context, &names.owned, fields);
    encode::of_struct(code, context, &names.owned, fields);
    code.blank();
    read::of_struct(code, context, &Reading::owned(context, names), fields);
}

fn view(code: &mut Code, context: &Context<'_>, names: &StructNames, fields: &Fields<'_>) {
    let lifetime = view_type(code, context, names, fields);
    encode::of_struct(code, context, &lifetime("'_"), fields);
    code.blank();
    read::of_struct(code, context, &Reading::view(context, names, &lifetime("'a")), fields);
    code.blank();
    into_owned::of_struct(code, context, names, &lifetime("'_"), fields);
}

/// Declares the view, and returns its name with a lifetime.
fn view_type<'n>(
    code: &mut Code,
    context: &Context<'_>,
    names: &'n StructNames,
    fields: &Fields<'_>,
) -> impl Fn(&str) -> String + use<'n> {
    let preset = fields.all.iter().any(|named| named.preset().is_some());
    let borrows = |named: &Named<'_>| field_borrows(context.schema, named.field);
    let borrows = fields.all.iter().any(borrows);
    let lifetime = move |name: &str| {
        if borrows { format!("{}<{name}>", names.view) } else { names.view.clone() }
    };
    derive(code, &["Clone", "Copy", "Debug"], preset, &[]);
    declare(code, &format!("pub struct {}", lifetime("'a")), fields, |code, named| {
        code.typed(&format!("pub {}", named.name), &named.view(context));
    });
    if preset {
        let value = |named: &Named<'_>| view_default(context, named);
        default(code, context, &lifetime("'_"), fields, value);
    }
    wire(code, context, &lifetime("'_"), fields);
    lifetime
}

/// Writes the derives. A default that differs from the fields' defaults is implemented instead.
fn derive(code: &mut Code, first: &[&str], preset: bool, more: &[&str]) {
    let default: &[_] = if preset { &[] } else { &["Default"] };
    code.derive(&[first, default, &["PartialEq"], more].concat());
}

fn declare(
    code: &mut Code,
    head: &str,
    fields: &Fields<'_>,
    mut each: impl FnMut(&mut Code, &Named<'_>),
) {
    if fields.all.is_empty() {
        return code.line(&format!("{head} {{}}"));
    }
    code.block(&format!("{head} {{"), |code| {
        for named in &fields.all {
            each(code, named);
        }
    });
}

fn default(
    code: &mut Code,
    context: &Context<'_>,
    target: &str,
    fields: &Fields<'_>,
    value: impl Fn(&Named<'_>) -> Expr,
) {
    code.blank();
    let default = context.word("Default");
    code.implement(&format!("impl {default}"), target, |code| {
        code.block("fn default() -> Self {", |code| {
            let given = |named: &Named<'_>| value(named).named(&named.name);
            code.expr(&Expr::structure("Self", fields.all.iter().map(given)), "");
        });
    });
}

fn wire(code: &mut Code, context: &Context<'_>, target: &str, fields: &Fields<'_>) {
    code.blank();
    let wire = format!("impl {}", context.word("Wire"));
    match fields.min_size() {
        1 => code.implement_empty(&wire, target),
        size => code.implement(&wire, target, |code| {
            code.line(&format!("const MIN_SIZE: usize = {size};"));
        }),
    }
    code.blank();
}
