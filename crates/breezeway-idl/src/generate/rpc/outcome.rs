//! Results of methods: a value, an exception that the IDL declares, or an error of the call.

use super::RPC;
use crate::docs;
use crate::generate::context::Context;
use crate::generate::field::{Fields, Named};
use crate::generate::naming::MethodNames;
use crate::layout::Code;
use crate::model::{Id, Method, Shape, TypeKind};
use crate::names::Taken;

/// Writes the error type of a method that throws.
pub(crate) fn write(
    code: &mut Code,
    context: &Context<'_>,
    service: &str,
    method: &Method,
    names: &MethodNames,
) {
    let Some(error) = &names.error else { return };
    let found = method.reply();
    let fields = Fields::new(&found);
    let exceptions: Vec<_> = fields.all.iter().filter(|named| named.id() != 0).collect();
    code.blank();
    error_type(code, context, &format!("`{service}.{}`", method.name), error, &exceptions);
}

/// Returns the reply type of a method in `breezeway-rpc`, in the method's module.
pub(crate) fn reply(context: &Context<'_>, method: &Method, names: &MethodNames) -> String {
    if method.result.is_none() && method.throws.is_empty() {
        return "()".to_owned();
    }
    match gives_value(method) {
        true => format!("{RPC}::Returned<{}, {}>", value(context, method), error(names)),
        false => format!("{RPC}::Done<{}>", error(names)),
    }
}

/// Returns true if a reply carries a value, and does not only report that the method is done.
fn gives_value(method: &Method) -> bool {
    method.result.is_some() && !method.streaming.of_replies()
}

/// Returns `Result<value, error>` of a method, as seen from here.
pub(super) fn result(
    context: &Context<'_>,
    owner: Id,
    method: &Method,
    names: &MethodNames,
) -> String {
    result_of(context, owner, names, &value(context, method))
}

/// Returns `Result<value, error>` of a method with this value.
pub(super) fn result_of(
    context: &Context<'_>,
    owner: Id,
    names: &MethodNames,
    value: &str,
) -> String {
    let error = match &names.error {
        Some(error) => context.path(owner, error),
        None => format!("{RPC}::Error"),
    };
    format!("{}<{value}, {error}>", context.word("Result"))
}

fn value(context: &Context<'_>, method: &Method) -> String {
    match &method.result {
        Some(ty) if gives_value(method) => context.owned(ty),
        _ => "()".to_owned(),
    }
}

/// Returns the error type of a method, in its module.
pub(super) fn error(names: &MethodNames) -> String {
    names.error.clone().unwrap_or_else(|| format!("{RPC}::Error"))
}

/// Returns the variant for errors other than declared exceptions.
fn rpc_variant(exceptions: &[&Named<'_>]) -> String {
    let mut taken = Taken::new(exceptions.iter().map(|named| named.variant.as_str()));
    taken.give("Rpc")
}

/// Writes the error enum with its implementation from `breezeway-rpc`.
fn error_type(
    code: &mut Code,
    context: &Context<'_>,
    method: &str,
    name: &str,
    exceptions: &[&Named<'_>],
) {
    code.block(&format!("{RPC}::method_error! {{"), |code| {
        docs::outer(code, &[format!("Why {method} failed.")]);
        code.block(&format!("pub enum {name} {{"), |code| {
            for named in exceptions {
                exception(code, context, named, is_only(named, exceptions));
            }
            code.line(&format!("_ => {},", rpc_variant(exceptions)));
        });
    });
}

/// Writes a declared exception: the trait that displays it, and whether it alone converts to this
/// variant.
fn exception(code: &mut Code, context: &Context<'_>, named: &Named<'_>, is_only: bool) {
    docs::outer(code, &docs::with_annotations(&named.field.docs, &named.field.annotations));
    let show = if is_error(context, named) { "Display" } else { "Debug" };
    let from = if is_only { " + From" } else { "" };
    let (id, variant) = (named.id(), &named.variant);
    code.line(&format!("{id} => {variant}({}: {show}{from}),", named.payload(context)));
}

/// Returns true if no other exception of the method has this type.
fn is_only(named: &Named<'_>, exceptions: &[&Named<'_>]) -> bool {
    let thrown = |named: &Named<'_>| match named.field.ty.kind {
        TypeKind::Struct(id) => Some(id),
        _ => None,
    };
    exceptions.iter().filter(|other| thrown(other) == thrown(named)).count() == 1
}

/// Returns true if a thrown type is an exception, which implements `Display`; Thrift lets any
/// struct be thrown.
fn is_error(context: &Context<'_>, named: &Named<'_>) -> bool {
    let TypeKind::Struct(id) = named.field.ty.kind else { return false };
    context.schema.structure(id).is_some_and(|found| found.shape == Shape::Exception)
}
