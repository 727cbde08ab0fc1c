//! What a method returns: a value, an exception that the IDL declares, or an error of the call.

use super::RPC;
use crate::docs;
use crate::generate::context::Context;
use crate::generate::field::{Fields, Named};
use crate::generate::naming::MethodNames;
use crate::layout::{Code, Parameter};
use crate::model::{Id, Method, Shape, TypeKind};
use crate::names::Taken;

/// Writes the error type of a method that throws, and what its reply is to `breezeway-rpc`.
pub(crate) fn write(
    code: &mut Code,
    context: &Context<'_>,
    service: &str,
    method: &Method,
    names: &MethodNames,
) {
    let found = method.reply();
    let fields = Fields::new(&found);
    let exceptions: Vec<_> = fields.all.iter().filter(|named| named.id() != 0).collect();
    if let Some(error) = &names.error {
        code.blank();
        docs::outer(code, &[format!("Why `{service}.{}` failed.", method.name)]);
        error_type(code, context, error, &exceptions);
    }
    code.blank();
    reply(code, context, method, names, &exceptions);
}

/// `Result<value, error>` of a method, as seen from here.
pub(super) fn result(
    context: &Context<'_>,
    owner: Id,
    method: &Method,
    names: &MethodNames,
) -> String {
    result_of(context, owner, names, &value(context, method))
}

/// `Result<value, error>` of a method with this value.
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
        Some(ty) if !method.streaming.of_replies() => context.owned(ty),
        _ => "()".to_owned(),
    }
}

/// As [`result_of`], in the module of the method.
pub(super) fn local(context: &Context<'_>, names: &MethodNames, value: &str) -> String {
    format!("{}<{value}, {}>", context.word("Result"), error(names))
}

fn error(names: &MethodNames) -> String {
    names.error.clone().unwrap_or_else(|| format!("{RPC}::Error"))
}

/// The variant of an error that is no declared exception.
fn rpc_variant(exceptions: &[&Named<'_>]) -> String {
    let mut taken = Taken::new(exceptions.iter().map(|named| named.variant.as_str()));
    taken.give("Rpc")
}

fn error_type(code: &mut Code, context: &Context<'_>, name: &str, exceptions: &[&Named<'_>]) {
    let rpc = rpc_variant(exceptions);
    code.line("#[derive(Debug)]");
    code.block(&format!("pub enum {name} {{"), |code| {
        for named in exceptions {
            docs::outer(code, &docs::with_annotations(&named.field.docs, &named.field.annotations));
            code.variant(&named.variant, &named.payload(context));
        }
        code.line("/// The call failed otherwise.");
        code.line(&format!("{rpc}({RPC}::Error),"));
    });
    code.blank();
    display(code, context, name, exceptions, &rpc);
    code.blank();
    let error = context.word("Error");
    code.implement_empty(&format!("impl {error}"), name);
    for named in exceptions.iter().filter(|named| is_only(named, exceptions)) {
        from(code, context, name, &named.variant, &named.payload(context));
    }
    from(code, context, name, &rpc, &format!("{RPC}::Error"));
}

/// Whether no other exception of the method is of this type.
fn is_only(named: &Named<'_>, exceptions: &[&Named<'_>]) -> bool {
    let thrown = |named: &Named<'_>| match named.field.ty.kind {
        TypeKind::Struct(id) => Some(id),
        _ => None,
    };
    exceptions.iter().filter(|other| thrown(other) == thrown(named)).count() == 1
}

fn display(
    code: &mut Code,
    context: &Context<'_>,
    name: &str,
    exceptions: &[&Named<'_>],
    rpc: &str,
) {
    let fmt = context.fmt();
    code.implement(&format!("impl {fmt}::Display"), name, |code| {
        let head =
            format!("fn fmt(&self, formatter: &mut {fmt}::Formatter<'_>) -> {fmt}::Result {{");
        code.block(&head, |code| {
            code.block("match self {", |code| {
                for named in exceptions {
                    let how =
                        if is_error(context, named) { "{exception}" } else { "{exception:?}" };
                    let write = format!("write!(formatter, \"{how}\")");
                    code.arm(&format!("Self::{}(exception)", named.variant), &write);
                }
                code.arm(
                    &format!("Self::{rpc}(error)"),
                    &format!("{fmt}::Display::fmt(error, formatter)"),
                );
            });
        });
    });
}

/// Whether a thrown type is an exception, which shows itself; Thrift lets any struct be thrown.
fn is_error(context: &Context<'_>, named: &Named<'_>) -> bool {
    let TypeKind::Struct(id) = named.field.ty.kind else { return false };
    context.schema.structure(id).is_some_and(|found| found.shape == Shape::Exception)
}

fn from(code: &mut Code, context: &Context<'_>, name: &str, variant: &str, payload: &str) {
    code.blank();
    let from = context.word("From");
    code.implement(&format!("impl {from}<{payload}>"), name, |code| {
        code.block(&format!("fn from(error: {payload}) -> Self {{"), |code| {
            code.line(&format!("Self::{variant}(error)"));
        });
    });
}

/// What makes the reply union a result, and a result the reply union.
fn reply(
    code: &mut Code,
    context: &Context<'_>,
    method: &Method,
    names: &MethodNames,
    exceptions: &[&Named<'_>],
) {
    let types = Types { value: value(context, method), error: error(names) };
    let success = Success::of(method);
    code.implement(&format!("impl {RPC}::Reply"), &names.reply.owned, |code| {
        code.line(&format!("type Value = {};", types.value));
        code.line(&format!("type Error = {};", types.error));
        code.blank();
        from_result(code, context, exceptions, names, &types, success);
        code.blank();
        into_result(code, context, exceptions, names, &types, success);
    });
}

/// What a reply says of a method that did not fail.
#[derive(Clone, Copy)]
enum Success {
    /// That it is done.
    Nothing,
    /// That it is done; the values were messages of their own.
    Streamed,
    /// What it returns.
    Value,
}

impl Success {
    fn of(method: &Method) -> Self {
        match &method.result {
            None => Self::Nothing,
            Some(_) if method.streaming.of_replies() => Self::Streamed,
            Some(_) => Self::Value,
        }
    }
}

/// What a method gives, by names that are not those of variants: `Self::Error` may be one.
struct Types {
    value: String,
    error: String,
}

fn from_result(
    code: &mut Code,
    context: &Context<'_>,
    exceptions: &[&Named<'_>],
    names: &MethodNames,
    types: &Types,
    success: Success,
) {
    let [result, ok, err] = ["Result", "Ok", "Err"].map(|word| context.word(word));
    let Types { value, error } = types;
    let parameter = Parameter::new(format!("result: {result}<{value}, {error}>"));
    code.signature("fn from_result", &[parameter], &format!(" -> {result}<Self, {RPC}::Error> {{"));
    code.indented(|code| {
        code.block("match result {", |code| {
            let (given, reply) = match success {
                Success::Value => ("value", "Success(value)"),
                Success::Nothing | Success::Streamed => ("()", "Unset"),
            };
            code.arm(&format!("{ok}({given})"), &format!("{ok}(Self::{reply})"));
            for Named { variant, .. } in exceptions {
                let thrown = format!("{err}({error}::{variant}(exception))");
                code.arm(&thrown, &format!("{ok}(Self::{variant}(exception))"));
            }
            let other = match names.error {
                Some(_) => format!("{err}({error}::{}(error))", rpc_variant(exceptions)),
                None => format!("{err}(error)"),
            };
            code.arm(&other, &format!("{err}(error)"));
        });
    });
    code.line("}");
}

fn into_result(
    code: &mut Code,
    context: &Context<'_>,
    exceptions: &[&Named<'_>],
    names: &MethodNames,
    types: &Types,
    success: Success,
) {
    let [result, ok, err] = ["Result", "Ok", "Err"].map(|word| context.word(word));
    let Types { value, error } = types;
    let head = format!(" -> {result}<{value}, {error}> {{");
    code.signature("fn into_result", &[Parameter::new("self")], &head);
    code.indented(|code| {
        code.block("match self {", |code| {
            let into = if names.error.is_some() { ".into()" } else { "" };
            match success {
                Success::Nothing => code.arm("Self::Unset", &format!("{ok}(())")),
                Success::Streamed => {
                    code.arm("Self::Unset | Self::Success(_)", &format!("{ok}(())"));
                }
                Success::Value => {
                    code.arm("Self::Success(value)", &format!("{ok}(value)"));
                    let missing = format!("{err}({RPC}::Error::MissingResult{into})");
                    code.arm("Self::Unset", &missing);
                }
            }
            for Named { variant, .. } in exceptions {
                let thrown = format!("{err}({error}::{variant}(exception))");
                code.arm(&format!("Self::{variant}(exception)"), &thrown);
            }
        });
    });
    code.line("}");
}
