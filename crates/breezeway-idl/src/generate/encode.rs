//! The one body that writes a value, and tells its size.

use super::context::Context;
use super::field::{Fields, Named, Step};
use super::types::is_fixed;
use crate::layout::{Code, Expr};

/// Writes a struct field by field, in the IDL's order.
pub(crate) fn of_struct(code: &mut Code, context: &Context<'_>, owned: &str, fields: &Fields<'_>) {
    body(code, context, owned, |code| {
        for step in fields.steps() {
            code.expr(&statement(&step), ";");
        }
    });
}

/// Writes the one field of a union.
pub(crate) fn of_union(code: &mut Code, context: &Context<'_>, owned: &str, fields: &Fields<'_>) {
    body(code, context, owned, |code| {
        if fields.all.is_empty() {
            return;
        }
        code.block("match self {", |code| {
            code.line("Self::Unset => {}");
            for named in &fields.all {
                let pattern = format!("Self::{}(value)", named.variant);
                code.arm(&pattern, &format!("to.field({}, value)", named.id()));
            }
        });
    });
}

fn body(code: &mut Code, context: &Context<'_>, owned: &str, fields: impl FnOnce(&mut Code)) {
    let sink = context.word("Sink");
    code.implement(&format!("impl {}", context.word("Encode")), owned, |code| {
        code.block(&format!("fn encode<'a, S: {sink}<'a>>(&'a self, to: &mut S) {{"), |code| {
            fields(code);
            code.line("to.stop();");
        });
    });
}

fn statement(step: &Step<'_, '_>) -> Expr {
    match step {
        Step::Group(group) => {
            let pair = |named: &Named<'_>| {
                let parts = [named.id().to_string(), format!("self.{}", named.name)];
                Expr::call("", parts.map(Expr::Plain))
            };
            Expr::call("to.group", [Expr::call("", group.iter().map(pair))])
        }
        Step::One(named) => one(named),
    }
}

fn one(named: &Named<'_>) -> Expr {
    let (method, borrow) = match named {
        named if named.is_optional() => ("optional", "&"),
        named if is_fixed(&named.field.ty) => ("put", ""),
        _ => ("field", "&"),
    };
    let value = format!("{borrow}self.{}", named.name);
    Expr::call(format!("to.{method}"), [Expr::plain(named.id().to_string()), Expr::plain(value)])
}
