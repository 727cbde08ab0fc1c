//! Services: a trait, and per method the types on the wire.

use super::context::Context;
use super::field::Fields;
use super::naming::{MethodNames, StructNames};
use super::{structure, structure_text, union};
use crate::docs;
use crate::layout::{Code, Expr, Parameter};
use crate::model::{Definition, Id, Method, Service, Services, Shape, Streaming};
use crate::names::{Taken, escape, snake};

/// Writes the trait and its methods' types. The service's documentation was written before.
pub(crate) fn write(
    code: &mut Code,
    context: &Context<'_>,
    id: Id,
    definition: &Definition,
    service: &Service,
) {
    match context.schema.services {
        Services::Trait => plain_trait(code, context, id, service),
        _ => super::rpc::write(code, context, id, definition),
    }
    let names = &context.naming.methods[&id];
    for (method, names) in service.methods.iter().zip(names) {
        code.blank();
        types(code, context, &definition.name, method, names);
    }
}

/// Writes a trait that does not depend on a transport.
fn plain_trait(code: &mut Code, context: &Context<'_>, id: Id, service: &Service) {
    let names = &context.naming.methods[&id];
    let name = &context.naming.names[&id];
    let parent = service.extends.map(|parent| context.path(parent, &context.naming.names[&parent]));
    let head = match parent {
        Some(parent) => format!("pub trait {name}: {parent}"),
        None => format!("pub trait {name}"),
    };
    let methods: Vec<_> = calls(service, names).collect();
    if methods.is_empty() {
        code.line(&format!("{head} {{}}"));
    } else {
        code.block(&format!("{head} {{"), |code| declare(code, &methods));
    }
}

/// Returns the methods with one message in each direction. The form of streams depends on the
/// transport.
fn calls<'a>(
    service: &'a Service,
    names: &'a [MethodNames],
) -> impl Iterator<Item = (&'a Method, &'a MethodNames)> {
    let unary = |method: &Method| matches!(method.streaming, Streaming::None | Streaming::Unary);
    service.methods.iter().zip(names).filter(move |(method, _)| unary(method))
}

fn declare(code: &mut Code, methods: &[(&Method, &MethodNames)]) {
    let mut taken = Taken::default();
    for (index, (method, names)) in methods.iter().enumerate() {
        if index > 0 {
            code.blank();
        }
        docs::outer(code, &docs::with_annotations(&method.docs, &method.annotations));
        let name = escape(&taken.give(&snake(&method.name)));
        let reply =
            reply_name(method, names).map_or_else(String::new, |reply| format!(" -> {reply}"));
        let arguments = format!("arguments: {}", names.arguments.owned);
        code.signature(
            &format!("fn {name}"),
            &["&self", &arguments].map(Parameter::new),
            &format!("{reply};"),
        );
    }
}

/// Returns the name of the reply type, if the reply has any content.
fn reply_name<'a>(method: &Method, names: &'a MethodNames) -> Option<&'a str> {
    let replies = method.result.is_some() || !method.throws.is_empty();
    replies.then_some(&names.reply.owned)
}

fn types(
    code: &mut Code,
    context: &Context<'_>,
    service: &str,
    method: &Method,
    names: &MethodNames,
) {
    let called = format!("`{service}.{}`", method.name);
    let is_rpc = context.schema.services != Services::Trait;
    docs::outer(code, &[format!("The arguments of {called}.")]);
    if is_rpc {
        structure::arguments(code, context, &names.arguments, &Fields::new(&method.arguments));
    } else {
        structure_text(code, context, &names.arguments, &method.arguments);
    }
    code.blank();
    call(code, context, method, names);
    if is_rpc {
        super::rpc::error(code, context, service, method, names);
        super::rpc::space(code, context, service, method, names);
    } else if reply_name(method, names).is_some() {
        code.blank();
        docs::outer(code, &[format!("What {called} returns or throws.")]);
        reply(code, context, method, &names.reply);
    }
}

fn call(code: &mut Code, context: &Context<'_>, method: &Method, names: &MethodNames) {
    let target = &names.arguments.owned;
    code.implement(&format!("impl {}", context.word("Call")), target, |code| {
        let reply = match context.schema.services {
            Services::Trait => reply_name(method, names).unwrap_or("()").to_owned(),
            _ => super::rpc::reply(context, method, names),
        };
        code.assign("type Reply =", &Expr::ty(&reply), ";");
        code.line(&format!("const METHOD: &'static str = {:?};", method.name));
        if method.oneway {
            code.line("const ONEWAY: bool = true;");
        }
        if method.streaming != Streaming::None {
            let streaming = context.word("Streaming");
            let mode = Expr::plain(format!("{streaming}::{:?}", method.streaming));
            code.assign(&format!("const STREAMING: {streaming} ="), &mode, ";");
        }
    });
}

/// Writes the reply type, a union of the result, field 0, and the exceptions. A reply without a
/// field is the result of a void method.
fn reply(code: &mut Code, context: &Context<'_>, method: &Method, names: &StructNames) {
    let found = method.reply();
    let fields = Fields::new(&found);
    union::write(code, context, names, &fields, union::Origin::Reply);
    code.blank();
    super::writer::write(code, context, names, Shape::Union, &fields);
}
