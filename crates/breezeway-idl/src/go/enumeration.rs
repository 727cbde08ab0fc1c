//! Enums.

use super::context::Context;
use super::text::Text;
use crate::model::{EnumValue, Id};

/// Writes an enum. Its documentation was written before.
pub(crate) fn write(text: &mut Text, context: &Context<'_>, id: Id, values: &[EnumValue]) {
    let (name, names) = (&context.naming.names[&id], &context.naming.values[&id]);
    let shown = &context.schema.definition(id).name;
    text.line(&format!("type {name} int32"));
    text.blank();
    if !values.is_empty() {
        let row = |(value, constant): (&EnumValue, &String)| {
            let docs = super::docs::lines(&value.docs, &value.annotations);
            (docs, vec![constant.clone(), name.clone(), format!("= {}", value.number)])
        };
        let rows: Vec<_> = values.iter().zip(names).map(row).collect();
        text.line("const (");
        text.indented(|text| text.rows(&rows));
        text.line(")");
        text.blank();
    }
    text.line("// String returns the name in the IDL.");
    text.block(&format!("func (p {name}) String() string {{"), |text| {
        let mut numbers = Vec::new();
        let first = |value: &&EnumValue| {
            let is_new = !numbers.contains(&value.number);
            numbers.push(value.number);
            is_new
        };
        let cases: Vec<_> = values.iter().filter(first).collect();
        if !cases.is_empty() {
            text.line("switch p {");
            for value in cases {
                text.line(&format!("case {}:", value.number));
                text.indented(|text| text.line(&format!("return {:?}", value.name)));
            }
            text.line("}");
        }
        text.line(&format!("return {}({shown:?}, int32(p))", context.thrift("EnumText")));
    });
    text.blank();
    let from_string = &context.naming.makers[&id];
    text.line(&format!("// {from_string} returns the value of a name in the IDL."));
    let head = format!("func {from_string}(name string) ({name}, error) {{");
    text.block(&head, |text| {
        if !values.is_empty() {
            text.line("switch name {");
            for (value, constant) in values.iter().zip(names) {
                text.line(&format!("case {:?}:", value.name));
                text.indented(|text| text.line(&format!("return {constant}, nil")));
            }
            text.line("}");
        }
        text.line(&format!("return 0, {}({shown:?}, name)", context.thrift("EnumError")));
    });
}
