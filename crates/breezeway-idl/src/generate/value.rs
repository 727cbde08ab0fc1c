//! Values of constants and defaults.

use super::bytes;
use super::context::Context;
use super::enumeration::value_names;
use super::field::{Fields, Named};
use super::types::is_fixed;
use crate::layout::Expr;
use crate::model::{Id, Type, TypeKind, Value};

/// Returns the default of a field in an owned struct.
pub(crate) fn owned_default(context: &Context<'_>, named: &Named<'_>) -> Expr {
    match named.preset() {
        Some(value) => wrap(context, named, owned(context, &named.field.ty, value)),
        None if named.is_optional() => Expr::plain(context.word("None")),
        None if named.field.boxed => Expr::plain(format!("{}::default()", context.word("Box"))),
        None => zero(context, &named.field.ty),
    }
}

/// Returns the default of a field in a view.
pub(crate) fn view_default(context: &Context<'_>, named: &Named<'_>) -> Expr {
    match named.preset() {
        Some(value) if named.field.boxed => {
            optional(context, named, preset(context, &named.field.ty, value))
        }
        Some(value) => optional(context, named, view(context, &named.field.ty, value)),
        None if named.is_optional() => Expr::plain(context.word("None")),
        None if named.field.boxed => Expr::plain(format!("{}::default()", context.word("Nested"))),
        None => view_zero(context, &named.field.ty),
    }
}

fn wrap(context: &Context<'_>, named: &Named<'_>, value: Expr) -> Expr {
    let boxed = named.field.boxed;
    let value =
        if boxed { Expr::call(format!("{}::new", context.word("Box")), [value]) } else { value };
    optional(context, named, value)
}

fn optional(context: &Context<'_>, named: &Named<'_>, value: Expr) -> Expr {
    if named.is_optional() { Expr::call(context.word("Some"), [value]) } else { value }
}

/// Returns a value of the owned type.
pub(crate) fn owned(context: &Context<'_>, ty: &Type, value: &Value) -> Expr {
    match (&ty.kind, value) {
        (_, Value::String(text)) if text.is_empty() => zero(context, ty),
        (_, Value::String(text)) if context.schema.small_strings => {
            Expr::plain(format!("{}::from({text:?})", context.string()))
        }
        (_, Value::String(text)) => Expr::plain(format!("{text:?}.to_owned()")),
        (_, Value::Binary(bytes)) if bytes.is_empty() => zero(context, ty),
        (_, Value::Binary(bytes)) if context.schema.shared_bytes => {
            let new = format!("{}::from_static", context.word("Bytes"));
            Expr::plain(format!("{new}({})", byte_string(bytes)))
        }
        (_, Value::Binary(bytes)) => Expr::plain(format!("{}.to_vec()", byte_string(bytes))),
        (_, Value::List(values)) if values.is_empty() => zero(context, ty),
        (TypeKind::List(of), Value::List(values)) => vector(context, of, values),
        (TypeKind::Set(of), Value::List(values)) => {
            Expr::call(context.word("Set"), [vector(context, of, values)])
        }
        (_, Value::Map(pairs)) if pairs.is_empty() => zero(context, ty),
        (TypeKind::Map(key, item), Value::Map(pairs)) => map(context, key, item, pairs),
        (_, Value::Struct(id, given)) => {
            let name = context.path(*id, &context.naming.names[id]);
            structure(context, *id, given, &name, &|context, named, value| {
                wrap(context, named, owned(context, &named.field.ty, value))
            })
        }
        _ => scalar(context, value),
    }
}

/// Returns a value of the view's type.
fn view(context: &Context<'_>, ty: &Type, value: &Value) -> Expr {
    match value {
        Value::String(text) => Expr::plain(format!("{text:?}")),
        Value::Binary(bytes) => Expr::plain(byte_string(bytes)),
        Value::List(values) if values.is_empty() => view_zero(context, ty),
        Value::Map(pairs) if pairs.is_empty() => view_zero(context, ty),
        Value::List(_) | Value::Map(_) => preset(context, ty, value),
        Value::Struct(id, given) => {
            let name = context.path(*id, &context.naming.structs[id].view);
            structure(context, *id, given, &name, &|context, named, value| {
                let value = match named.field.boxed {
                    true => preset(context, &named.field.ty, value),
                    false => view(context, &named.field.ty, value),
                };
                optional(context, named, value)
            })
        }
        _ => scalar(context, value),
    }
}

/// Returns a value that is read from its encoding in the program.
fn preset(context: &Context<'_>, ty: &Type, value: &Value) -> Expr {
    let bytes = bytes::of(context.schema, ty, value);
    let bytes = bytes.iter().map(|byte| Expr::plain(byte.to_string()));
    Expr::call(context.word("preset"), [Expr::array("&", bytes)])
}

/// Returns a value that is the same in every type.
pub(crate) fn scalar(context: &Context<'_>, value: &Value) -> Expr {
    match value {
        Value::Bool(value) => Expr::plain(value.to_string()),
        Value::Int(value) => Expr::plain(value.to_string()),
        Value::Double(value) => Expr::plain(double(*value)),
        Value::Uuid(bytes) => {
            let bytes = bytes.iter().map(|byte| Expr::plain(format!("0x{byte:02x}")));
            Expr::call(context.word("Uuid"), [Expr::array("", bytes)])
        }
        Value::Enum(id, index) => {
            let names = value_names(context.schema.enum_values(*id));
            let name = context.path(*id, &context.naming.names[id]);
            Expr::plain(format!("{name}::{}", names[*index]))
        }
        _ => Expr::plain(format!("{}::default()", context.word("Default"))),
    }
}

fn double(value: f64) -> String {
    if value.is_nan() {
        "f64::NAN".to_owned()
    } else if value.is_infinite() {
        format!("f64::{}INFINITY", if value < 0.0 { "NEG_" } else { "" })
    } else {
        format!("{value:?}")
    }
}

/// Returns a `b"…"` literal.
pub(crate) fn byte_string(bytes: &[u8]) -> String {
    format!("b\"{}\"", bytes.escape_ascii())
}

fn vector(context: &Context<'_>, of: &Type, values: &[Value]) -> Expr {
    Expr::array("vec!", values.iter().map(|value| owned(context, of, value)))
}

fn map(context: &Context<'_>, key: &Type, item: &Type, pairs: &[(Value, Value)]) -> Expr {
    let pair = |(left, right): &(Value, Value)| {
        Expr::call("", [owned(context, key, left), owned(context, item, right)])
    };
    let map = context.map(key);
    if map.ends_with("Pairs") {
        return Expr::call(map, [Expr::array("vec!", pairs.iter().map(pair))]);
    }
    Expr::call(format!("{map}::from"), [Expr::array("", pairs.iter().map(pair))])
}

type Wrap<'w> = &'w dyn Fn(&Context<'_>, &Named<'_>, &Value) -> Expr;

/// Returns a struct's literal, or a union's variant.
fn structure(
    context: &Context<'_>,
    id: Id,
    given: &[(usize, Value)],
    name: &str,
    each: Wrap<'_>,
) -> Expr {
    let Some(found) = context.schema.structure(id) else {
        return Expr::plain(format!("{}::default()", context.word("Default")));
    };
    let fields = Fields::new(found);
    let is_union = found.shape == crate::model::Shape::Union;
    if let (true, Some((index, value))) = (is_union, given.last()) {
        let named = &fields.all[*index];
        return Expr::call(format!("{name}::{}", named.variant), [each(context, named, value)]);
    }
    if given.is_empty() {
        return Expr::plain(format!("{name}::default()"));
    }
    let field = |(index, value): &(usize, Value)| {
        let named = &fields.all[*index];
        each(context, named, value).named(&named.name)
    };
    let rest =
        (given.len() < fields.all.len()).then(|| Expr::plain(format!("..{name}::default()")));
    Expr::structure(name, given.iter().map(field).chain(rest))
}

/// Returns the `Default` of an owned type.
fn zero(context: &Context<'_>, ty: &Type) -> Expr {
    Expr::plain(match &ty.kind {
        TypeKind::String if context.schema.small_strings => {
            format!("{}::default()", context.string())
        }
        TypeKind::String => format!("{}::new()", context.string()),
        TypeKind::Binary if context.schema.shared_bytes => {
            format!("{}::new()", context.word("Bytes"))
        }
        TypeKind::Binary | TypeKind::List(_) => format!("{}::new()", context.word("Vec")),
        TypeKind::Set(_) => format!("{}::default()", context.word("Set")),
        TypeKind::Map(key, _) => format!("{}::default()", context.map(key)),
        TypeKind::Struct(id) => {
            format!("{}::default()", context.path(*id, &context.naming.names[id]))
        }
        _ => return fixed_zero(context, ty),
    })
}

fn view_zero(context: &Context<'_>, ty: &Type) -> Expr {
    Expr::plain(match &ty.kind {
        TypeKind::String => "\"\"".to_owned(),
        TypeKind::Binary => "b\"\"".to_owned(),
        TypeKind::List(of) => format!("{}::default()", context.list_view_name(of)),
        TypeKind::Set(_) => format!("{}::default()", context.word("SetOf")),
        TypeKind::Map(..) => format!("{}::default()", context.word("Entries")),
        TypeKind::Struct(id) => {
            format!("{}::default()", context.path(*id, &context.naming.structs[id].view))
        }
        _ => return fixed_zero(context, ty),
    })
}

fn fixed_zero(context: &Context<'_>, ty: &Type) -> Expr {
    debug_assert!(is_fixed(ty), "every other type was handled before");
    Expr::plain(match &ty.kind {
        TypeKind::Bool => "false".to_owned(),
        TypeKind::Double => "0.0".to_owned(),
        TypeKind::Uuid => format!("{}::default()", context.word("Uuid")),
        TypeKind::Enum(id) => {
            format!("{}::default()", context.path(*id, &context.naming.names[id]))
        }
        _ => "0".to_owned(),
    })
}
