//! Methods whose handlers see their arguments in place, and write their reply there.

use super::{Flavour, RPC, Served, outcome, parent_trait};
use crate::docs;
use crate::generate::context::Context;
use crate::generate::field::Fields;
use crate::generate::naming::MethodNames;
use crate::generate::types::field_borrows;
use crate::layout::{Code, Expr, Parameter};
use crate::model::{Id, Method};

/// What a handler gets beside itself and the context.
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

/// A view's type, of any lifetime.
fn view(context: &Context<'_>, name: &str, fields: &Fields<'_>) -> String {
    let borrows = fields.all.iter().any(|named| field_borrows(context.schema, named.field));
    format!("{name}{}", if borrows { "<'_>" } else { "" })
}

/// What a handler returns, after an arrow; nothing if nobody waits for it.
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

/// What a handler returns that has written its reply.
fn written(context: &Context<'_>, owner: Id, names: &MethodNames) -> String {
    outcome::result_of(context, owner, names, &format!("{RPC}::Written"))
}

/// Views the arguments, calls the function and sends what it has written.
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
    let reply = match method.result.is_none() && method.throws.is_empty() {
        true => "()".to_owned(),
        false => context.path(*owner, &names.reply.owned),
    };
    let finish = if names.space.is_some() { "finish" } else { "finish_void" };
    code.line(&format!("place.{finish}::<{reply}>(request, result)"));
}

/// Writes where handlers of a method write its reply, if there is a result.
pub(crate) fn space(
    code: &mut Code,
    context: &Context<'_>,
    service: &str,
    method: &Method,
    names: &MethodNames,
) {
    let Some(space) = &names.space else { return };
    let found = method.reply();
    let fields = Fields::new(&found);
    code.blank();
    let whose =
        format!("Where a handler of `{service}.{}` writes its reply in place.", method.name);
    docs::outer(code, &[whose]);
    code.tuple_struct(&format!("{space}<'r>"), &format!("{RPC}::ReplySpace<'r>"));
    code.blank();
    code.inherent("impl<'r>", &format!("{space}<'r>"), |code| {
        code.block(&format!("pub fn new(space: {RPC}::ReplySpace<'r>) -> Self {{"), |code| {
            code.line("Self(space)");
        });
        code.blank();
        write_fields(code, context, method, names);
        code.blank();
        write_view(code, context, names, &fields);
    });
}

/// The function by which a handler sets a field, or writes its parts.
fn write_fields(code: &mut Code, context: &Context<'_>, method: &Method, names: &MethodNames) {
    let (f, function) = (context.parameter("F"), context.word("Fn"));
    let (writer, output) = (&names.reply.writer, context.word("Output"));
    let open = format!("{writer}<'w, {output}<'b>>");
    let bound = format!("{f}: for<'w, 'b> {function}");
    let bound = Parameter::function(&bound, std::slice::from_ref(&open), &open);
    let result = outcome::local(context, names, &format!("{RPC}::Written"));
    let fields = if method.throws.is_empty() { "the result" } else { "the result or an exception" };
    docs::link(code, &format!("Writes {fields}: twice if that takes more than 104 bytes."));
    let parameters = ["self", &format!("write: {f}")].map(Parameter::new);
    code.signature(&format!("pub fn write<{f}>"), &parameters, &format!(" -> {result}"));
    code.bounds(&[bound]);
    code.line("{");
    code.indented(|code| {
        let write = Expr::plain(format!("write({writer}::new(to)).end()"));
        code.closure("let write =", &format!("|to: &mut {output}<'_>|"), &write, ";");
        code.line(&converted(context, names, "self.0.write(write)"));
    });
    code.line("}");
}

/// The function by which a handler gives what it has as a view.
fn write_view(code: &mut Code, context: &Context<'_>, names: &MethodNames, fields: &Fields<'_>) {
    let view = view(context, &names.reply.view, fields);
    let result = outcome::local(context, names, &format!("{RPC}::Written"));
    docs::link(code, "Writes a view, of which lists and maps are the bytes that they are.");
    let parameters = ["self", &format!("reply: {view}")].map(Parameter::new);
    code.signature("pub fn view", &parameters, &format!(" -> {result} {{"));
    code.indented(|code| {
        code.line(&converted(context, names, "self.0.write(|to| reply.encode(to))"));
    });
    code.line("}");
}

/// A result of `breezeway-rpc` as the method's.
fn converted(context: &Context<'_>, names: &MethodNames, result: &str) -> String {
    match names.error {
        Some(_) => format!("{}({result}?)", context.word("Ok")),
        None => result.to_owned(),
    }
}
