//! Generation of the function body that writes a value and computes its size.

use super::context::Context;
use super::field::{Fields, Named, Step};
use super::types::{is_fixed, is_union};
use super::union::Origin;
use crate::layout::{Code, Expr, Parameter};

/// Writes a struct or a view of it field by field, in the schema's order.
pub(crate) fn of_struct(code: &mut Code, context: &Context<'_>, target: &str, fields: &Fields<'_>) {
    code.implement(&format!("impl {}", context.word("Encode")), target, |code| {
        encode(code, context, |code| {
            for step in fields.steps(context.schema.order) {
                code.expr(&statement(context, &step), ";");
            }
            code.line("to.stop();");
        });
    });
}

/// Writes the one field of a union. In a union of the IDL one must be set; a reply without a field
/// is the result of a void method.
pub(crate) fn of_union(
    code: &mut Code,
    context: &Context<'_>,
    name: &str,
    target: &str,
    fields: &Fields<'_>,
    origin: Origin,
) {
    code.implement(&format!("impl {}", context.word("Encode")), target, |code| {
        encode(code, context, |code| {
            code.block("match self {", |code| {
                match origin {
                    Origin::Reply => code.line("Self::Unset => {}"),
                    Origin::Idl => {
                        code.arm("Self::Unset", &format!("to.empty_union({name:?})"));
                    }
                }
                for named in &fields.all {
                    let pattern = format!("Self::{}(value)", named.variant);
                    code.arm(&pattern, &format!("to.field({}, value)", named.id()));
                }
            });
            code.line("to.stop();");
        });
        if origin == Origin::Idl {
            code.blank();
            code.block("fn is_absent(&self) -> bool {", |code| {
                code.line("matches!(self, Self::Unset)");
            });
        }
    });
}

/// Writes the function with this body.
fn encode(code: &mut Code, context: &Context<'_>, body: impl FnOnce(&mut Code)) {
    let (s, sink) = (context.parameter("S"), context.word("Sink"));
    let parameters = ["&'a self", &format!("to: &mut {s}")].map(Parameter::new);
    code.function(&format!("fn encode<'a, {s}: {sink}<'a>>"), &parameters, " {", body);
}

fn statement(context: &Context<'_>, step: &Step<'_, '_>) -> Expr {
    match step {
        Step::Group(group) => {
            let pair = |named: &&Named<'_>| {
                let parts = [named.id().to_string(), format!("self.{}", named.name)];
                Expr::call("", parts.map(Expr::Plain))
            };
            Expr::call("to.group", [Expr::call("", group.iter().map(pair))])
        }
        Step::One(named) => one(context, named),
    }
}

fn one(context: &Context<'_>, named: &Named<'_>) -> Expr {
    let may_lack = !named.is_required() && is_union(context.schema, &named.field.ty);
    let (method, borrow) = match named {
        named if named.is_optional() => ("optional", "&"),
        _ if may_lack => ("field_if_set", "&"),
        named if is_fixed(&named.field.ty) => ("put", ""),
        _ => ("field", "&"),
    };
    let value = format!("{borrow}self.{}", named.name);
    Expr::call(format!("to.{method}"), [Expr::plain(named.id().to_string()), Expr::plain(value)])
}
