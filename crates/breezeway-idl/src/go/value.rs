//! Values of constants and defaults.

use std::fmt::Write as _;

use super::context::Context;
use super::fields::Fields;
use super::types::{is_key, is_pointer};
use crate::model::{Field, Id, Type, TypeKind, Value};

/// Returns a field's value.
pub(crate) fn of_field(
    context: &Context<'_>,
    field: &Field,
    is_optional: bool,
    value: &Value,
) -> String {
    let shown = of_type(context, &field.ty, value);
    if !is_pointer(field, is_optional) {
        return shown;
    }
    format!("{}[{}]({shown})", context.thrift("Ptr"), context.ty(&field.ty))
}

/// Returns a value of a type.
pub(crate) fn of_type(context: &Context<'_>, ty: &Type, value: &Value) -> String {
    match (&ty.kind, value) {
        (_, Value::Bool(value)) => value.to_string(),
        (_, Value::Int(value)) => value.to_string(),
        (_, Value::Double(value)) => double(context, *value),
        (_, Value::String(text)) => quoted(text),
        (_, Value::Binary(bytes)) => format!("[]byte({})", quoted_bytes(bytes)),
        (_, Value::Uuid(bytes)) => {
            let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:#04x}")).collect();
            format!("{}{{{}}}", context.thrift("UUID"), bytes.join(", "))
        }
        (TypeKind::Enum(_), Value::Enum(id, index)) => {
            context.path(*id, &context.naming.values[id][*index])
        }
        // A number by the name of an enum's value.
        (_, Value::Enum(id, index)) => context.schema.enum_values(*id)[*index].number.to_string(),
        (TypeKind::List(of) | TypeKind::Set(of), Value::List(values)) => {
            let values: Vec<_> = values.iter().map(|value| of_type(context, of, value)).collect();
            format!("{}{{{}}}", context.ty(ty), values.join(", "))
        }
        (TypeKind::Map(key, item), Value::Map(pairs)) => map(context, ty, key, item, pairs),
        (_, Value::Struct(id, given)) => structure(context, *id, given),
        _ => "nil".to_owned(), // No other value is of such a type.
    }
}

fn map(
    context: &Context<'_>,
    ty: &Type,
    key: &Type,
    item: &Type,
    pairs: &[(Value, Value)],
) -> String {
    let mut shown: Vec<(String, (String, String))> = Vec::new();
    for (left, right) in pairs {
        let number = match left {
            Value::Enum(id, index) => Some(context.schema.enum_values(*id)[*index].number),
            _ => None,
        };
        let left = match left {
            Value::Binary(bytes) => quoted_bytes(bytes),
            _ => of_type(context, key, left),
        };
        // Of two pairs with one key the last one counts, and Go refuses both. Values of an enum can
        // have the same number.
        let identity = number.map_or_else(|| left.clone(), |number| number.to_string());
        shown.retain(|(known, _)| *known != identity);
        shown.push((identity, (left, of_type(context, item, right))));
    }
    let pair = |(left, right): (String, String)| match is_key(key) {
        true => format!("{left}: {right}"),
        false => format!("{{Key: {left}, Value: {right}}}"),
    };
    let pairs: Vec<_> = shown.into_iter().map(|(_, shown)| pair(shown)).collect();
    format!("{}{{{}}}", context.ty(ty), pairs.join(", "))
}

fn structure(context: &Context<'_>, id: Id, given: &[(usize, Value)]) -> String {
    let Some(found) = context.schema.structure(id) else { return "nil".to_owned() };
    let fields = Fields::new(found, context.naming.fields[&id].clone());
    let set = fields.all.iter().enumerate().filter_map(|(index, named)| {
        let value = given.iter().find(|(other, _)| *other == index).map(|(_, value)| value);
        let value = value.or(named.preset())?;
        let value = of_field(context, named.field, named.is_optional(), value);
        Some(format!("{}: {value}", named.go))
    });
    format!("&{}{{{}}}", context.name(id), set.collect::<Vec<_>>().join(", "))
}

/// Returns true for a value that a constant of Go cannot have.
pub(crate) fn is_variable(ty: &Type, value: &Value) -> bool {
    let is_plain = !matches!(ty.kind, TypeKind::Uuid) && !super::types::is_nilable(ty);
    !is_plain || matches!(value, Value::Double(value) if !is_literal(*value))
}

/// Returns true if Go has a literal for a double: it has none for −0.
fn is_literal(value: f64) -> bool {
    value.is_finite() && (value != 0.0 || value.is_sign_positive())
}

fn double(context: &Context<'_>, value: f64) -> String {
    if is_literal(value) {
        return format!("{value:?}");
    }
    context.standard("math");
    format!("math.Float64frombits({:#x})", value.to_bits())
}

/// Returns a string's literal.
pub(crate) fn quoted(text: &str) -> String {
    let mut shown = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => shown.extend(['\\', char]),
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            char if char.is_control() || char == '\u{feff}' => {
                let _ = write!(shown, "\\u{:04x}", u32::from(char)); // A String takes all.
            }
            char => shown.push(char),
        }
    }
    shown + "\""
}

/// Returns the literal of bytes.
pub(crate) fn quoted_bytes(bytes: &[u8]) -> String {
    let mut shown = String::from("\"");
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => shown.extend(['\\', char::from(byte)]),
            b' '..=b'~' => shown.push(char::from(byte)),
            _ => {
                let _ = write!(shown, "\\x{byte:02x}"); // A String takes all.
            }
        }
    }
    shown + "\""
}
