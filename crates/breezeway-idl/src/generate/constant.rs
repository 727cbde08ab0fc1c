//! Constants.

use super::context::Context;
use super::value::{byte_string, owned, scalar};
use crate::layout::{Code, Expr};
use crate::model::{Id, Type, TypeKind, Value};

/// Returns true if values of a type have to be built at run time: structs own memory and cannot be
/// Rust constants.
pub(crate) fn is_function(ty: &Type) -> bool {
    match &ty.kind {
        TypeKind::Struct(_) => true,
        TypeKind::List(of) | TypeKind::Set(of) => is_function(of),
        TypeKind::Map(key, value) => is_function(key) || is_function(value),
        _ => false,
    }
}

/// Writes a constant, or a function that builds its value.
pub(crate) fn write(code: &mut Code, context: &Context<'_>, id: Id, ty: &Type, value: &Value) {
    let name = &context.naming.names[&id];
    if is_function(ty) {
        let head = format!("pub fn {name}() -> {} {{", context.owned(ty));
        return code.block(&head, |code| code.expr(&owned(context, ty, value), ""));
    }
    let head = format!("pub const {name}: {} =", borrowed_type(context, ty));
    code.assign(&head, &borrowed(context, ty, value), ";");
}

/// Returns the type of a constant: slices where owned values have vectors and maps.
fn borrowed_type(context: &Context<'_>, ty: &Type) -> String {
    match &ty.kind {
        TypeKind::String => "&str".to_owned(),
        TypeKind::Binary => "&[u8]".to_owned(),
        TypeKind::List(of) | TypeKind::Set(of) => format!("&[{}]", borrowed_type(context, of)),
        TypeKind::Map(key, value) => {
            format!("&[({}, {})]", borrowed_type(context, key), borrowed_type(context, value))
        }
        _ => context.owned(ty),
    }
}

fn borrowed(context: &Context<'_>, ty: &Type, value: &Value) -> Expr {
    match (&ty.kind, value) {
        (_, Value::String(text)) => Expr::plain(format!("{text:?}")),
        (_, Value::Binary(bytes)) => Expr::plain(byte_string(bytes)),
        (TypeKind::List(of) | TypeKind::Set(of), Value::List(values)) => {
            Expr::array("&", values.iter().map(|value| borrowed(context, of, value)))
        }
        (TypeKind::Map(key, item), Value::Map(pairs)) => {
            let pair = |(left, right): &(Value, Value)| {
                Expr::call("", [borrowed(context, key, left), borrowed(context, item, right)])
            };
            Expr::array("&", pairs.iter().map(pair))
        }
        _ => scalar(context, value),
    }
}
