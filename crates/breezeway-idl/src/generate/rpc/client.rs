//! Generation of clients.

use super::{Flavour, RPC, Served, argument, outcome};
use crate::docs;
use crate::generate::context::Context;
use crate::generate::field::Fields;
use crate::layout::{Code, Parameter};
use crate::model::Id;
use crate::names::{Taken, escape, snake};

/// Writes the client of a service.
pub(super) fn write(
    code: &mut Code,
    context: &Context<'_>,
    flavour: Flavour,
    id: Id,
    served: &[Served<'_>],
) {
    let types = flavour.types(&context.naming.services[&id]);
    let (client, parameter) = (&types.client, context.parameter("C"));
    docs::link(code, &format!("Calls [`{}`].", types.service));
    code.line("#[derive(Clone, Debug)]");
    let caller = format!("{RPC}::Caller<{parameter}>");
    code.tuple_struct(&format!("{client}<{parameter}>"), &caller);
    code.blank();
    let channel = match flavour {
        Flavour::Blocking | Flavour::InPlace => "Channel",
        Flavour::Async => "AsyncChannel",
    };
    let head = format!("impl<{parameter}: {RPC}::{channel}>");
    let target = format!("{client}<{parameter}>");
    code.inherent(&head, &target, |code| {
        code.line("/// Calls over this channel.");
        code.block(&format!("pub fn new(channel: {parameter}) -> Self {{"), |code| {
            code.line(&format!("Self({RPC}::Caller::new(channel))"));
        });
        code.blank();
        code.line("/// The same channel, with these options for each call.");
        let parameters = ["&self", &format!("options: {RPC}::CallOptions")].map(Parameter::new);
        let result = format!(" -> {client}<&{parameter}> {{");
        code.function("pub fn with", &parameters, &result, |code| {
            code.line(&format!("{client}(self.0.with(options))"));
        });
        for (index, (served, name)) in served.iter().zip(functions(served)).enumerate() {
            if !served.method.streaming.is_stream() {
                code.blank();
                function(code, context, flavour, id, index, served, &name);
            }
        }
    });
}

/// Returns the client's names of the methods.
pub(super) fn functions(served: &[Served<'_>]) -> Vec<String> {
    let mut taken = Taken::new(["new", "with"]);
    served.iter().map(|served| escape(&taken.give(&snake(&served.method.name)))).collect()
}

fn function(
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
    let arguments = Fields::new(&method.arguments);
    let mut parameters = vec![Parameter::new("&self")];
    parameters.extend(arguments.all.iter().map(|named| argument(context, named)));
    let result = match method.oneway {
        true => format!("{}<(), {RPC}::Error>", context.word("Result")),
        false => outcome::result(context, *owner, method, names),
    };
    let head = format!("pub {}fn {name}", flavour.keyword());
    code.signature(&head, &parameters, &format!(" -> {result} {{"));
    code.indented(|code| {
        let target = context.path(*owner, &names.arguments.owned);
        let given: Vec<_> = arguments.all.iter().map(|named| named.name.as_str()).collect();
        let value = match given.is_empty() {
            true => format!("{target} {{}}"),
            false => format!("{target} {{ {} }}", given.join(", ")),
        };
        let (verb, wait) = (if method.oneway { "post" } else { "call" }, flavour.wait());
        let methods = &context.naming.services[&id].methods;
        let suffix = flavour.suffix();
        code.line(&format!("let arguments = {value};"));
        code.line(&format!("self.0.{verb}{suffix}(&{methods}[{index}], &arguments){wait}"));
    });
    code.line("}");
}
