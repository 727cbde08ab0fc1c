//! Methods with handlers that read their arguments in place, and write their reply there.

use super::{Flavour, RPC, Served, outcome, parent_trait};
use crate::docs;
use crate::generate::context::Context;
use crate::generate::field::Fields;
use crate::generate::naming::MethodNames;
use crate::generate::types::{field_borrows, type_borrows};
use crate::generate::writer;
use crate::layout::{Code, Expr, Parameter};
use crate::model::{Id, Method, Shape};

/// Returns a handler's parameters beside itself and the context.
pub(super) fn parameters(
    context: &Context<'_>,
    names: &MethodNames,
    arguments: &Fields<'_>,
) -> Vec<Parameter> {
    let view = (!arguments.all.is_empty()).then(|| {
        let view = view(context, &names.arguments.view, arguments);
        Parameter::new(format!("arguments: {view}"))
    });
    let space = names.space.as_ref().map(|space| Parameter::new(format!("reply: {space}<'_>")));
    view.into_iter().chain(space).collect()
}

/// Returns a view's type, with any lifetime.
fn view(context: &Context<'_>, name: &str, fields: &Fields<'_>) -> String {
    let borrows = fields.all.iter().any(|named| field_borrows(context.schema, named.field));
    format!("{name}{}", if borrows { "<'_>" } else { "" })
}

/// Returns the result type of a handler after an arrow; nothing for a oneway method.
pub(super) fn result(
    context: &Context<'_>,
    owner: Id,
    method: &Method,
    names: &MethodNames,
) -> String {
    match &names.space {
        _ if method.oneway => String::new(),
        Some(_) => format!(" -> {}", written(context, owner, names)),
        None => format!(" -> {}", outcome::result(context, owner, method, names)),
    }
}

/// Returns the result type of a handler that has written its reply.
fn written(context: &Context<'_>, owner: Id, names: &MethodNames) -> String {
    outcome::result_of(context, owner, names, &format!("{RPC}::Written"))
}

/// Writes the code that views the arguments, calls the function and sends its reply.
pub(super) fn arm(code: &mut Code, context: &Context<'_>, served: &Served<'_>) {
    let Served { owner, method, names, function } = served;
    let arguments = Fields::new(&method.arguments);
    let target = context.path(*owner, &view(context, &names.arguments.view, &arguments));
    let (place, name) = match (method.oneway, arguments.all.is_empty()) {
        (true, true) => ("_", "_"),
        (true, false) => ("_", "arguments"),
        (false, true) => ("mut place", "_"),
        (false, false) => ("mut place", "arguments"),
    };
    code.line(&format!("let (request, {place}) = call.in_place()?;"));
    code.line(&format!("let {name}: {target} = request.view()?;"));
    let given = (name != "_").then(|| name.to_owned());
    let space = names.space.as_ref();
    let space = space.map(|space| format!("{}::new(place.space())", context.path(*owner, space)));
    let given = ["&self.0".to_owned(), "cx".to_owned()].into_iter().chain(given).chain(space);
    let service = parent_trait(context, Flavour::InPlace, *owner);
    let called = Expr::call(format!("{service}::{function}"), given.map(Expr::plain));
    if method.oneway {
        code.expr(&called, ";");
        return code.line(&format!("{}(())", context.word("Ok")));
    }
    code.assign("let result =", &called, ";");
    let asked = context.path(*owner, &names.arguments.owned);
    let finish = if names.space.is_some() { "finish" } else { "finish_void" };
    code.line(&format!("place.{finish}::<{asked}>(request, result)"));
}

/// Writes the type by which handlers of a method write their reply, if there is a result.
pub(crate) fn space(
    code: &mut Code,
    context: &Context<'_>,
    service: &str,
    method: &Method,
    names: &MethodNames,
) {
    let (Some(space), Some(result)) = (&names.space, &method.result) else { return };
    let found = method.reply();
    let fields = Fields::new(&found);
    let (view, writer) = (&names.reply.view, &names.reply.writer);
    let borrows = type_borrows(context.schema, result);
    let (any, named) = if borrows { ("<'_>", "<'a>") } else { ("", "") };
    code.blank();
    let called = format!("`{service}.{}`", method.name);
    docs::link(code, &format!("What {called} returns, seen in place."));
    let value = context.view(result);
    let ty = Expr::ty(&format!("{RPC}::Returned<{value}, {RPC}::Error>"));
    code.assign(&format!("pub type {view}{named} ="), &ty, ";");
    code.blank();
    docs::link(code, &format!("Writes what {called} returns or throws."));
    writer::undocumented(code, context, writer, Shape::Union, &fields);
    code.blank();
    let error = outcome::error(names);
    code.block(&format!("{RPC}::reply_space! {{"), |code| {
        docs::outer(code, &[format!("Where a handler of {called} writes its reply.")]);
        let (head, tail) = (format!("pub struct {space}({writer}, {view}{any})"), error);
        if code.fits(&format!("{head} -> {tail};")) {
            return code.line(&format!("{head} -> {tail};"));
        }
        code.line(&head);
        code.indented(|code| code.line(&format!("-> {tail};")));
    });
}
