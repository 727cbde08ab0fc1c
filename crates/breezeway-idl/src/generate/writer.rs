//! Writers: setters that write straight into the message.

use super::context::Context;
use super::field::{Fields, Named};
use super::naming::StructNames;
use super::types::is_fixed;
use crate::docs;
use crate::layout::{Code, Expr, Parameter};
use crate::model::{Id, Shape, Type, TypeKind};

/// Writes the writer of a struct.
pub(crate) fn write(
    code: &mut Code,
    context: &Context<'_>,
    names: &StructNames,
    shape: Shape,
    fields: &Fields<'_>,
) {
    let how = match shape {
        Shape::Union => "one field of it",
        Shape::Struct | Shape::Exception => "field by field",
    };
    let link = docs::a_link(&names.owned).replacen('A', "a", 1);
    docs::link(code, &format!("Writes {link}, {how}."));
    undocumented(code, context, &names.writer, shape, fields);
}

/// Writes a writer like [`write`], with this name and without documentation.
pub(crate) fn undocumented(
    code: &mut Code,
    context: &Context<'_>,
    writer: &str,
    shape: Shape,
    fields: &Fields<'_>,
) {
    let what = match shape {
        Shape::Union => "a union",
        Shape::Struct | Shape::Exception => "a struct",
    };
    let sink = context.word("Sink");
    code.line(&format!("#[must_use = \"{what} ends with end()\"]"));
    let s = context.parameter("S");
    let target = format!("{writer}<'w, {s}>");
    code.tuple_struct(&target, &format!("&'w mut {s}"));
    code.blank();
    let head = format!("impl<'w, 'a, {s}: {sink}<'a>>");
    code.inherent(&head, &target, |code| {
        code.block(&format!("pub fn new(to: &'w mut {s}) -> Self {{"), |code| {
            code.line("Self(to)")
        });
        for named in &fields.all {
            code.blank();
            setter(code, context, named);
        }
        code.blank();
        code.block("pub fn end(self) {", |code| code.line("self.0.stop();"));
    });
}

fn setter(code: &mut Code, context: &Context<'_>, named: &Named<'_>) {
    match &named.field.ty.kind {
        TypeKind::String => text(code, context, named, "&'a str"),
        TypeKind::Binary => text(code, context, named, "&'a [u8]"),
        TypeKind::Struct(id) => structure(code, context, named, *id),
        TypeKind::List(of) if is_fixed(of) => numbers(code, context, named, of, "numbers_in_place"),
        TypeKind::Set(of) if is_fixed(of) => {
            numbers(code, context, named, of, "number_set_in_place")
        }
        TypeKind::List(of) => list(code, context, named, of),
        TypeKind::Set(of) => set(code, context, named, of),
        TypeKind::Map(..) => {
            value(code, named, &format!("&'a {}", context.owned(&named.field.ty)), "field")
        }
        _ => value(code, named, &context.owned(&named.field.ty), "put"),
    }
}

/// Returns the parameter's name: the field's, unless another parameter has it.
fn parameter(named: &Named<'_>) -> String {
    let taken = ["write", "to"].contains(&named.setter.as_str());
    if taken { format!("{}_", named.setter) } else { named.setter.clone() }
}

fn value(code: &mut Code, named: &Named<'_>, ty: &str, method: &str) {
    let name = parameter(named);
    let parameters = [Parameter::new("self"), Parameter::new(format!("{name}: {ty}"))];
    code.signature(&format!("pub fn {}", named.setter), &parameters, " -> Self {");
    body(code, |code| code.chain(method, [named.id().to_string(), name]));
}

fn text(code: &mut Code, context: &Context<'_>, named: &Named<'_>, ty: &str) {
    context.use_methods("InPlace");
    value(code, named, ty, "field");
    code.blank();
    let fill = format!("fill: impl {}(&mut [u8])", context.word("FnOnce"));
    let parameters = ["self", "length: usize", &fill].map(Parameter::new);
    code.signature(&format!("pub fn {}", named.in_place), &parameters, " -> Self {");
    body(code, |code| {
        let arguments = [named.id().to_string(), "length".to_owned(), "fill".to_owned()];
        code.chain("bytes_in_place", arguments);
    });
}

fn structure(code: &mut Code, context: &Context<'_>, named: &Named<'_>, id: Id) {
    let writer = context.writer(id);
    let owned = context.path(id, &context.naming.names[&id]);
    let open = format!("{writer}<'_, {}>", context.parameter("S"));
    let head = format!("write: impl {}", context.word("FnOnce"));
    let write = Parameter::function(&head, std::slice::from_ref(&open), &open);
    let parameters = [Parameter::new("self"), write];
    code.signature(&format!("pub fn {}", named.setter), &parameters, " -> Self {");
    body(code, |code| {
        code.chain(&format!("header::<{owned}>"), [named.id().to_string()]);
        code.line(&format!("write({writer}::new(self.0)).end();"));
    });
}

fn numbers(code: &mut Code, context: &Context<'_>, named: &Named<'_>, of: &Type, method: &str) {
    context.use_methods("InPlace");
    let name = parameter(named);
    let (iterator, exact) = (context.word("IntoIterator"), context.word("ExactSizeIterator"));
    let item = context.owned(of);
    let i = context.parameter("I");
    let bound = Parameter::new(format!("{i}: {iterator}<Item = {item}, IntoIter: {exact}>"));
    let parameters = [Parameter::new("self"), Parameter::new(format!("{name}: {i}"))];
    code.signature(&format!("pub fn {}<{i}>", named.setter), &parameters, " -> Self");
    code.bounds(&[bound]);
    code.line("{");
    body(code, |code| code.chain(method, [named.id().to_string(), name]));
}

fn list(code: &mut Code, context: &Context<'_>, named: &Named<'_>, of: &Type) {
    match of.kind {
        TypeKind::Struct(id) => items(code, context, named, id, "list_in_place"),
        _ => value(code, named, &format!("&'a [{}]", context.owned(of)), "field"),
    }
}

fn set(code: &mut Code, context: &Context<'_>, named: &Named<'_>, of: &Type) {
    match of.kind {
        TypeKind::Struct(id) => items(code, context, named, id, "set_in_place"),
        _ => value(code, named, &format!("&'a {}", context.owned(&named.field.ty)), "field"),
    }
}

fn items(code: &mut Code, context: &Context<'_>, named: &Named<'_>, id: Id, method: &str) {
    context.use_methods("InPlace");
    let writer = context.writer(id);
    let owned = context.path(id, &context.naming.names[&id]);
    let name = parameter(named);
    let (iterator, exact) = (context.word("IntoIterator"), context.word("ExactSizeIterator"));
    let [s, i, w] = ["S", "I", "W"].map(|letter| context.parameter(letter));
    let open = format!("{writer}<'_, {s}>");
    let head = format!("{w}: {}", context.word("FnMut"));
    let bounds = [
        Parameter::new(format!("{i}: {iterator}<IntoIter: {exact}>")),
        Parameter::function(&head, &[open.clone(), format!("{i}::Item")], &open),
    ];
    let parameters = ["self", &format!("{name}: {i}"), &format!("mut write: {w}")];
    let parameters = parameters.map(Parameter::new);
    code.signature(&format!("pub fn {}<{i}, {w}>", named.setter), &parameters, " -> Self");
    code.bounds(&bounds);
    code.line("{");
    body(code, |code| {
        let write = Expr::plain(format!("write({writer}::new(to), item).end()"));
        code.closure("let write =", &format!("|to: &mut {s}, item|"), &write, ";");
        let arguments = [named.id().to_string(), name, "write".to_owned()];
        code.chain(&format!("{method}::<{owned}, _>"), arguments);
    });
}

/// Writes the rest of a setter: its action, and that it returns the writer.
fn body(code: &mut Code, write: impl FnOnce(&mut Code)) {
    code.indented(|code| {
        write(code);
        code.line("self");
    });
    code.line("}");
}
