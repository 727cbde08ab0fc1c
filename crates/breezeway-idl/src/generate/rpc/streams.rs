//! Streaming methods: parameters of handlers, dispatch in a server, opening in a client.

use super::{Flavour, RPC, Served, argument, client, outcome, parent_trait};
use crate::docs;
use crate::generate::context::Context;
use crate::generate::field::Fields;
use crate::generate::naming::MethodNames;
use crate::layout::{Code, Expr, Parameter};
use crate::model::{Id, Method, Streaming};
use crate::names::Taken;

/// Returns a handler's parameters beside itself and the context.
pub(super) fn parameters(
    context: &Context<'_>,
    flavour: Flavour,
    method: &Method,
    arguments: &Fields<'_>,
    taken: &mut Taken,
) -> Vec<Parameter> {
    let prefix = flavour.prefix();
    let mut half = |name: &str, kind: &str, message: String| {
        let name = taken.give(name);
        Parameter::new(format!("{name}: {RPC}::{prefix}{kind}<'_, {message}>"))
    };
    let mut parameters = Vec::new();
    match method.streaming.of_requests() {
        true => parameters.push(half("requests", "Requests", request(context, method))),
        false => parameters.extend(arguments.all.iter().map(|named| argument(context, named))),
    }
    if method.streaming.of_replies() {
        parameters.push(half("replies", "Replies", reply(context, method)));
    }
    parameters
}

/// Returns the type of the messages that a client sends.
fn request(context: &Context<'_>, method: &Method) -> String {
    context.owned(&method.arguments.fields[0].ty)
}

/// Returns the type of the messages that a server sends.
fn reply(context: &Context<'_>, method: &Method) -> String {
    method.result.as_ref().map(|ty| context.owned(ty)).expect("checked when the IDL was read")
}

/// Writes the code that passes the halves of the stream to the function, and ends it with the
/// outcome.
pub(super) fn arm(code: &mut Code, context: &Context<'_>, flavour: Flavour, served: &Served<'_>) {
    let Served { owner, method, names, function } = served;
    let (suffix, wait) = (flavour.suffix(), flavour.wait());
    let given = match method.streaming {
        Streaming::Client => {
            code.line(&format!("let requests = call.requests{suffix}()?;"));
            ["requests"].as_slice()
        }
        Streaming::Server => {
            code.line(&format!("let request = call.request{suffix}(){wait}?;"));
            code.line(&format!("let replies = call.replies{suffix}()?;"));
            &["request", "replies"]
        }
        _ => {
            code.line(&format!("let (requests, replies) = call.halves{suffix}()?;"));
            &["requests", "replies"]
        }
    };
    let given = ["&self.0", "cx"].iter().chain(given).map(|name| Expr::plain(*name));
    let service = parent_trait(context, flavour, *owner);
    let called = Expr::call(format!("{service}::{function}"), given);
    code.assign("let result =", &called, &format!("{wait};"));
    let end = if method.streaming == Streaming::Client { "end_with" } else { "end" };
    let asked = context.path(*owner, &names.arguments.owned);
    code.line(&format!("call.{end}::<{asked}>(result)"));
}

/// Writes the functions by which a client opens streams, if the service has streaming methods.
pub(super) fn write(
    code: &mut Code,
    context: &Context<'_>,
    flavour: Flavour,
    id: Id,
    served: &[Served<'_>],
) {
    if !served.iter().any(|served| served.method.streaming.is_stream()) {
        return;
    }
    code.blank();
    let client = &flavour.types(&context.naming.services[&id]).client;
    let (parameter, prefix) = (context.parameter("C"), flavour.prefix());
    let head = format!("impl<{parameter}: {RPC}::{prefix}StreamChannel>");
    code.inherent(&head, &format!("{client}<{parameter}>"), |code| {
        let mut is_first = true;
        for (index, (served, name)) in served.iter().zip(client::functions(served)).enumerate() {
            if served.method.streaming.is_stream() {
                if !std::mem::take(&mut is_first) {
                    code.blank();
                }
                open(code, context, flavour, id, index, served, &name);
            }
        }
    });
    for served in served.iter().filter(|served| served.owner == id) {
        alias(code, context, flavour, served);
    }
}

/// Returns the name of the client's end of a stream.
fn alias_name(flavour: Flavour, names: &MethodNames) -> Option<&str> {
    names.streams.as_ref().map(|names| match flavour {
        Flavour::Blocking | Flavour::InPlace => names.blocking.as_str(),
        Flavour::Async => names.awaiting.as_str(),
    })
}

fn alias(code: &mut Code, context: &Context<'_>, flavour: Flavour, served: &Served<'_>) {
    let Served { method, names, .. } = served;
    let Some(name) = alias_name(flavour, names) else { return };
    let (request, reply) = (request(context, method), reply(context, method));
    let outcome = outcome::reply(context, method, names);
    let (kind, types) = match method.streaming {
        Streaming::Client => ("RequestStream", format!("{request}, {outcome}")),
        Streaming::Server => ("ReplyStream", format!("{reply}, {outcome}")),
        _ => ("DuplexStream", format!("{request}, {reply}, {outcome}")),
    };
    code.blank();
    docs::outer(code, &[format!("A client's end of a stream of `{}`.", method.name)]);
    let prefix = flavour.prefix();
    let ty = Expr::ty(&format!("{RPC}::{prefix}{kind}<{types}>"));
    code.assign(&format!("pub type {name} ="), &ty, ";");
}

fn open(
    code: &mut Code,
    context: &Context<'_>,
    flavour: Flavour,
    id: Id,
    index: usize,
    served: &Served<'_>,
    name: &str,
) {
    let Served { owner, method, names, .. } = served;
    docs::outer(code, &docs::with_annotations(&method.docs, &method.annotations));
    let stream = alias_name(flavour, names).expect("it streams");
    let verb = match method.streaming {
        Streaming::Client => "request_stream",
        Streaming::Server => "reply_stream",
        _ => "duplex_stream",
    };
    let arguments = Fields::new(&method.arguments);
    let sent = (method.streaming == Streaming::Server).then(|| &arguments.all[0]);
    let mut parameters = vec![Parameter::new("&self")];
    parameters.extend(sent.map(|named| argument(context, named)));
    let (result, stream) = (context.word("Result"), context.path(*owner, stream));
    let result = format!("{result}<{stream}, {RPC}::Error>");
    let head = format!("pub {}fn {name}", flavour.keyword());
    code.signature(&head, &parameters, &format!(" -> {result} {{"));
    code.indented(|code| {
        let methods = &context.naming.services[&id].methods;
        let sent = sent.map_or_else(String::new, |named| format!(", &{}", named.name));
        let (suffix, wait) = (flavour.suffix(), flavour.wait());
        code.line(&format!("self.0.{verb}{suffix}(&{methods}[{index}]{sent}){wait}"));
    });
    code.line("}");
}
