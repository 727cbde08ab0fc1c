//! Services for `breezeway-rpc`: per service a trait, a server that dispatches to it and a client;
//! per throwing method an error type.

mod client;
mod in_place;
mod outcome;
mod server;
mod streams;

use super::context::Context;
use super::field::{Fields, Named};
use super::naming::{MethodNames, ServiceNames, ServiceTypes};
use crate::docs;
use crate::layout::{Code, Parameter};
use crate::model::{Definition, Id, Kind, Method, Schema, Service};
use crate::names::{Taken, escape, snake};

pub(crate) use in_place::space;
pub(crate) use outcome::{reply, write as error};

/// Path of the crate in the generated text.
pub(crate) const RPC: &str = "::breezeway_rpc";

/// Kind of handlers and callers: blocking, awaited, or blocking with views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flavour {
    Blocking,
    Async,
    InPlace,
}

impl Flavour {
    fn types(self, names: &ServiceNames) -> &ServiceTypes {
        match self {
            Self::Blocking => &names.blocking,
            Self::Async => &names.awaiting,
            Self::InPlace => names.in_place.as_ref().expect("named if it is asked for"),
        }
    }

    /// Returns the keyword in front of a function.
    fn keyword(self) -> &'static str {
        if self == Self::Async { "async " } else { "" }
    }

    /// Returns the suffix of a call of a function.
    fn wait(self) -> &'static str {
        if self == Self::Async { ".await" } else { "" }
    }

    /// Returns the suffix of functions that have a blocking and an awaited form.
    fn suffix(self) -> &'static str {
        if self == Self::Async { "_async" } else { "" }
    }

    /// Returns the prefix of types that have a blocking and an awaited form.
    fn prefix(self) -> &'static str {
        if self == Self::Async { "Async" } else { "" }
    }
}

/// A method of a service: its own, or an inherited one.
struct Served<'a> {
    /// Service whose trait declares it.
    owner: Id,
    method: &'a Method,
    names: &'a MethodNames,
    /// Name in the trait.
    function: String,
}

/// Writes all of a service but its methods' types. The service's documentation was written before,
/// for the first trait.
pub(crate) fn write(code: &mut Code, context: &Context<'_>, id: Id, definition: &Definition) {
    let served = served(context, id);
    let services = context.schema.services;
    let blocking = services.blocking().then_some(Flavour::Blocking);
    let awaiting = services.awaiting().then_some(Flavour::Async);
    let in_place = context.schema.in_place.then_some(Flavour::InPlace);
    let flavours = blocking.into_iter().chain(awaiting).chain(in_place);
    for (index, flavour) in flavours.enumerate() {
        if index > 0 {
            code.blank();
            docs::outer(code, &docs::with_annotations(&definition.docs, &definition.annotations));
        }
        declare(code, context, flavour, id, &served);
        code.blank();
        server::write(code, context, flavour, id, definition, &served);
        if flavour != Flavour::InPlace {
            code.blank();
            client::write(code, context, flavour, id, &served);
            streams::write(code, context, flavour, id, &served);
        }
    }
    code.blank();
    server::methods(code, context, id, definition, &served);
}

/// Returns a service's own methods, then those that it inherits and does not replace.
fn served<'a>(context: &Context<'a>, id: Id) -> Vec<Served<'a>> {
    let mut found: Vec<Served<'a>> = Vec::new();
    let mut next = Some(id);
    while let Some(owner) = next {
        let service = service(context.schema, owner);
        let mut functions = Taken::default();
        for (method, names) in service.methods.iter().zip(&context.naming.methods[&owner]) {
            let function = escape(&functions.give(&snake(&method.name)));
            if found.iter().all(|other| other.method.name != method.name) {
                found.push(Served { owner, method, names, function });
            }
        }
        next = service.extends;
    }
    found
}

fn service(schema: &Schema, id: Id) -> &Service {
    match &schema.definition(id).kind {
        Kind::Service(service) => service,
        other => unreachable!("a service extends services only, not {other:?}"),
    }
}

/// Writes the trait.
fn declare(
    code: &mut Code,
    context: &Context<'_>,
    flavour: Flavour,
    id: Id,
    served: &[Served<'_>],
) {
    let name = &flavour.types(&context.naming.services[&id]).service;
    let bounds = match service(context.schema, id).extends {
        Some(parent) => parent_trait(context, flavour, parent),
        None => format!("{} + {} + 'static", context.word("Send"), context.word("Sync")),
    };
    let head = format!("pub trait {name}: {bounds}");
    let own: Vec<_> = served.iter().filter(|served| served.owner == id).collect();
    if own.is_empty() {
        return code.line(&format!("{head} {{}}"));
    }
    code.block(&format!("{head} {{"), |code| {
        for (index, served) in own.into_iter().enumerate() {
            if index > 0 {
                code.blank();
            }
            function(code, context, flavour, served);
        }
    });
}

/// Returns the path of a service's trait, as seen from here.
fn parent_trait(context: &Context<'_>, flavour: Flavour, id: Id) -> String {
    context.path(id, &flavour.types(&context.naming.services[&id]).service)
}

/// Writes one method of the trait.
fn function(code: &mut Code, context: &Context<'_>, flavour: Flavour, served: &Served<'_>) {
    let Served { owner, method, names, function } = served;
    docs::outer(code, &docs::with_annotations(&method.docs, &method.annotations));
    let arguments = Fields::new(&method.arguments);
    let mut taken = Taken::new(arguments.all.iter().map(|named| named.name.as_str()));
    let mut parameters = vec![
        Parameter::new("&self"),
        Parameter::new(format!("{}: &{RPC}::Context", taken.give("cx"))),
    ];
    if method.streaming.is_stream() {
        parameters.extend(streams::parameters(context, flavour, method, &arguments, &mut taken));
    } else if flavour == Flavour::InPlace {
        let parameters = [parameters, in_place::parameters(context, names, &arguments)].concat();
        let result = in_place::result(context, *owner, method, names);
        return code.signature(&format!("fn {function}"), &parameters, &format!("{result};"));
    } else {
        parameters.extend(arguments.all.iter().map(|named| argument(context, named)));
    }
    let result = match (method.oneway, flavour) {
        (true, Flavour::Blocking | Flavour::InPlace) => String::new(),
        (true, Flavour::Async) => future(context, "()"),
        (false, Flavour::Blocking | Flavour::InPlace) => {
            format!(" -> {}", outcome::result(context, *owner, method, names))
        }
        (false, Flavour::Async) => {
            future(context, &outcome::result(context, *owner, method, names))
        }
    };
    code.signature(&format!("fn {function}"), &parameters, &format!("{result};"));
}

fn argument(context: &Context<'_>, named: &Named<'_>) -> Parameter {
    Parameter::new(format!("{}: {}", named.name, named.owned(context)))
}

fn future(context: &Context<'_>, output: &str) -> String {
    let (future, send) = (context.word("Future"), context.word("Send"));
    format!(" -> impl {future}<Output = {output}> + {send}")
}
