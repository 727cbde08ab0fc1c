//! Structs, unions and exceptions.

use super::context::Context;
use super::fields::{Fields, Named};
use super::text::Text;
use super::types::is_pointer;
use super::{length, read, value, write};
use crate::model::{Definition, Id, Requiredness, Shape, Struct, TypeKind};

/// Writes a struct of the IDL. Its documentation was written before.
pub(crate) fn write(
    text: &mut Text,
    context: &Context<'_>,
    id: Id,
    definition: &Definition,
    fields: &Fields<'_>,
) {
    let (name, new) = (&context.naming.names[&id], &context.naming.makers[&id]);
    declare(text, context, name, fields);
    text.blank();
    text.line(&format!("// {new} returns a {name} with the defaults of its fields."));
    text.block(&format!("func {new}() *{name} {{"), |text| {
        text.line(&format!("p := new({name})"));
        text.line("p.InitDefault()");
        text.line("return p");
    });
    getters(text, context, name, fields);
    codec(text, context, name, &definition.name, fields);
    if fields.shape == Shape::Exception {
        text.blank();
        error(text, context, name, definition, fields);
    }
}

/// Writes the arguments or the result of a method. Its documentation was written before.
pub(crate) fn write_part(
    text: &mut Text,
    context: &Context<'_>,
    name: &str,
    shown: &str,
    fields: &Fields<'_>,
) {
    declare(text, context, name, fields);
    codec(text, context, name, shown, fields);
}

fn declare(text: &mut Text, context: &Context<'_>, name: &str, fields: &Fields<'_>) {
    if fields.all.is_empty() {
        return text.line(&format!("type {name} struct{{}}"));
    }
    let rows = fields.all.iter().map(|named| {
        let field = named.field;
        let docs = super::docs::lines(&field.docs, &field.annotations);
        (docs, vec![named.go.clone(), context.field(field, named.is_optional()), tag(named)])
    });
    let rows: Vec<_> = rows.collect();
    text.block(&format!("type {name} struct {{"), |text| text.rows(&rows));
}

/// Returns a field's tag, as thriftgo writes it.
fn tag(named: &Named<'_>) -> String {
    let field = named.field;
    let (requiredness, omitted) = match field.requiredness {
        _ if named.is_optional() => (",optional", ",omitempty"),
        Requiredness::Required => (",required", ""),
        _ => ("", ""),
    };
    let name = &field.name;
    format!("`thrift:\"{name},{}{requiredness}\" json:\"{name}{omitted}\"`", field.id)
}

/// Writes the methods of the interface Struct.
fn codec(text: &mut Text, context: &Context<'_>, name: &str, shown: &str, fields: &Fields<'_>) {
    text.blank();
    text.line("// InitDefault gives each field its default.");
    text.block(&format!("func (p *{name}) InitDefault() {{"), |text| {
        text.line(&format!("*p = {name}{{}}"));
        for named in &fields.all {
            if let Some(preset) = named.preset() {
                let preset = value::of_field(context, named.field, named.is_optional(), preset);
                text.line(&format!("p.{} = {preset}", named.go));
            }
        }
    });
    text.blank();
    length::write(text, name, fields);
    text.blank();
    write::write(text, context, name, fields);
    text.blank();
    text.line("// FastRead reads the struct, and keeps nothing of buf.");
    text.block(&format!("func (p *{name}) FastRead(buf []byte) (int, error) {{"), |text| {
        text.line(&format!("r := {}(buf)", context.thrift("NewReader")));
        text.line("p.InitDefault()");
        text.line("p.ReadFields(&r)");
        text.line("return r.End()");
    });
    text.blank();
    read::write(text, context, name, shown, fields);
}

/// Writes a getter of each field, as Kitex's code has.
fn getters(text: &mut Text, context: &Context<'_>, name: &str, fields: &Fields<'_>) {
    for named in &fields.all {
        let (go, getter) = (&named.go, &named.getter);
        let is_pointer = is_pointer(named.field, named.is_optional());
        let ty = context.ty(&named.field.ty);
        let preset = named.preset().filter(|_| named.is_optional());
        text.blank();
        let (default, present) = match is_pointer || preset.is_some() {
            true => (", or its default if it is absent", format!("p != nil && p.{go} != nil")),
            false => ("", "p != nil".to_owned()),
        };
        text.line(&format!("// {getter} returns {go}{default}."));
        text.block(&format!("func (p *{name}) {getter}() (v {ty}) {{"), |text| {
            text.block(&format!("if {present} {{"), |text| {
                text.line(&format!("return {}p.{go}", if is_pointer { "*" } else { "" }));
            });
            match preset {
                Some(preset) => {
                    let preset = value::of_type(context, &named.field.ty, preset);
                    text.line(&format!("return {preset}"));
                }
                None => text.line("return v"),
            }
        });
    }
}

/// Writes the error of an exception: its message, or all of it.
fn error(
    text: &mut Text,
    context: &Context<'_>,
    name: &str,
    definition: &Definition,
    fields: &Fields<'_>,
) {
    let annotated = definition.annotations.iter().find(|(key, _)| key == "message");
    let wanted = annotated.map_or("message", |(_, field)| field);
    let message = fields.all.iter().find(|named| {
        named.field.name == wanted && matches!(named.field.ty.kind, TypeKind::String)
    });
    text.line("// Error implements error.");
    text.block(&format!("func (p *{name}) Error() string {{"), |text| match message {
        Some(named) if named.is_optional() => text.line(&format!("return p.{}()", named.getter)),
        Some(named) => text.line(&format!("return p.{}", named.go)),
        None => {
            let fields = fields.all.iter().map(|named| {
                let is_pointer = is_pointer(named.field, named.is_optional());
                let value =
                    if is_pointer { format!("{}()", named.getter) } else { named.go.clone() };
                format!(", {:?}, p.{value}", named.field.name)
            });
            let (text_of, fields) = (context.thrift("ErrorText"), fields.collect::<String>());
            text.line(&format!("return {text_of}({:?}{fields})", definition.name));
        }
    });
}

/// Returns the fields of a struct of the IDL.
pub(crate) fn fields_of<'a>(context: &Context<'_>, id: Id, found: &'a Struct) -> Fields<'a> {
    Fields::new(found, context.naming.fields[&id].clone())
}
