//! Conversion of views to owned values.

use super::context::Context;
use super::field::{Fields, Named};
use super::naming::StructNames;
use super::types::is_fixed;
use crate::layout::{Code, Expr, Parameter};

/// Writes the conversion for a struct or an exception.
pub(crate) fn of_struct(
    code: &mut Code,
    context: &Context<'_>,
    names: &StructNames,
    view: &str,
    fields: &Fields<'_>,
) {
    let field = |named: &Named<'_>| {
        owned(named, vec!["self".to_owned(), format!(".{}", named.name)]).named(&named.name)
    };
    implement(code, context, names, view, |code| {
        let fields = fields.all.iter().map(field);
        code.expr(&Expr::structure(&names.owned, fields), "");
    });
}

/// Writes the conversion for a union.
pub(crate) fn of_union(
    code: &mut Code,
    context: &Context<'_>,
    names: &StructNames,
    view: &str,
    fields: &Fields<'_>,
) {
    let name = &names.owned;
    implement(code, context, names, view, |code| {
        code.block("match self {", |code| {
            code.arm("Self::Unset", &format!("{name}::Unset"));
            for named in &fields.all {
                let value = owned(named, vec!["value".to_owned()]);
                let value = Expr::call(format!("{name}::{}", named.variant), [value]);
                code.arm_of(&format!("Self::{}(value)", named.variant), &value);
            }
        });
    });
}

fn implement(
    code: &mut Code,
    context: &Context<'_>,
    names: &StructNames,
    view: &str,
    body: impl FnOnce(&mut Code),
) {
    let head = format!("impl {}<{}>", context.word("IntoOwned"), names.owned);
    code.implement(&head, view, |code| {
        code.line("#[inline]");
        let result = format!(" -> {} {{", names.owned);
        code.function("fn into_owned", &[Parameter::new("self")], &result, body);
    });
}

/// Returns a field's owned value; one of fixed size is the same in both.
fn owned(named: &Named<'_>, mut value: Vec<String>) -> Expr {
    if !is_fixed(&named.field.ty) {
        value.push(".into_owned()".to_owned());
    }
    Expr::Chain(value)
}
