//! Generation of servers, which dispatch calls to an implementation of a service's trait.

use super::{Flavour, RPC, Served, in_place, parent_trait, streams};
use crate::docs;
use crate::generate::context::Context;
use crate::generate::field::Fields;
use crate::layout::{Code, Expr};
use crate::model::{Definition, Id};

/// Writes the server of a service.
pub(super) fn write(
    code: &mut Code,
    context: &Context<'_>,
    flavour: Flavour,
    id: Id,
    definition: &Definition,
    served: &[Served<'_>],
) {
    let names = &context.naming.services[&id];
    let types = flavour.types(names);
    let parameter = context.parameter("T");
    docs::link(code, &format!("Serves [`{}`].", types.service));
    code.line("#[derive(Clone, Debug)]");
    code.line(&format!("pub struct {}<{parameter}>(pub {parameter});", types.server));
    code.blank();
    let implemented = match flavour {
        Flavour::Blocking | Flavour::InPlace => "Service",
        Flavour::Async => "AsyncService",
    };
    let head = format!("impl<{parameter}: {}> {RPC}::{implemented}", types.service);
    code.implement(&head, &format!("{}<{parameter}>", types.server), |code| {
        code.block("fn name(&self) -> &'static str {", |code| {
            code.line(&format!("{:?}", definition.name));
        });
        code.blank();
        code.block(&format!("fn methods(&self) -> &'static [{RPC}::Method] {{"), |code| {
            code.line(&format!("&{}", names.methods));
        });
        code.blank();
        dispatch(code, context, flavour, served);
    });
}

fn dispatch(code: &mut Code, context: &Context<'_>, flavour: Flavour, served: &[Served<'_>]) {
    let result = context.word("Result");
    let unused = if served.is_empty() { "_" } else { "" };
    code.line(&format!("{}fn dispatch(", flavour.keyword()));
    code.indented(|code| {
        code.line("&self,");
        code.line(&format!("{unused}method: usize,"));
        code.line(&format!("{unused}cx: &{RPC}::Context,"));
        code.line(&format!("call: &mut {RPC}::Call<'_>,"));
    });
    code.block(&format!(") -> {result}<(), {RPC}::Error> {{"), |code| {
        if served.is_empty() {
            return code.line("call.unknown_method()");
        }
        code.block("match method {", |code| {
            for (index, served) in served.iter().enumerate() {
                code.block(&format!("{index} => {{"), |code| arm(code, context, flavour, served));
            }
            code.line("_ => call.unknown_method(),");
        });
    });
}

/// Writes the code that decodes the arguments, calls the function and replies.
fn arm(code: &mut Code, context: &Context<'_>, flavour: Flavour, served: &Served<'_>) {
    let Served { owner, method, names, function } = served;
    if method.streaming.is_stream() {
        return streams::arm(code, context, flavour, served);
    }
    if flavour == Flavour::InPlace {
        return in_place::arm(code, context, served);
    }
    let arguments = Fields::new(&method.arguments);
    let target = context.path(*owner, &names.arguments.owned);
    let name = if arguments.all.is_empty() { "_" } else { "arguments" };
    code.line(&format!("let {name}: {target} = call.arguments()?;"));
    let given = arguments.all.iter().map(|named| Expr::plain(format!("arguments.{}", named.name)));
    let given = ["&self.0", "cx"].into_iter().map(Expr::plain).chain(given);
    let service = parent_trait(context, flavour, *owner);
    let called = Expr::call(format!("{service}::{function}"), given);
    let end = format!("{};", flavour.wait());
    if method.oneway {
        code.expr(&called, &end);
        code.line(&format!("{}(())", context.word("Ok")));
    } else {
        code.assign("let result =", &called, &end);
        code.line(&format!("call.reply::<{target}>(result)"));
    }
}

/// Writes the list of a service's methods.
pub(super) fn methods(
    code: &mut Code,
    context: &Context<'_>,
    id: Id,
    definition: &Definition,
    served: &[Served<'_>],
) {
    let name = &context.naming.services[&id].methods;
    let head = format!("const {name}: [{RPC}::Method; {}] = [", served.len());
    if served.is_empty() {
        return code.line(&format!("{head}];"));
    }
    code.block_with(&head, "];", |code| {
        for served in served {
            let arguments = context.path(served.owner, &served.names.arguments.owned);
            code.line(&format!("{RPC}::Method::of::<{arguments}>({:?}),", definition.name));
        }
    });
    code.blank();
    let check = Expr::call(format!("{RPC}::Method::check"), [Expr::plain(format!("&{name}"))]);
    code.assign("const _: () =", &check, ";");
}
