//! Views of structs, which read messages in place.

use super::context::Context;
use super::fields::{Fields, Named};
use super::naming::view_fields;
use super::read::{end, least, mark, seen};
use super::text::Text;
use super::types::{fixed_size, head, is_left_out, suffix};
use super::value;
use crate::generate::bytes;
use crate::model::{Id, Shape, Type, TypeKind};

/// Indentation of the lines of getters that read values.
const INDENT: usize = 2;

/// Writes the view of a struct of the IDL.
pub(crate) fn write(
    text: &mut Text,
    context: &Context<'_>,
    id: Id,
    shown: &str,
    fields: &Fields<'_>,
) {
    let names = &context.naming.views[&id];
    declare(text, context, id, fields.all.len());
    let getters = view_fields(fields.all.iter().map(|named| named.go.as_str()));
    for (index, (named, [go, has])) in fields.all.iter().zip(&getters).enumerate() {
        getter(text, context, id, (named, index), go);
        if is_left_out(named.field, named.is_optional()) {
            text.blank();
            text.line(&format!("// {has} returns true if the message has {go}."));
            let head = format!("func (p {}) {has}() bool {{", names_of(context, id));
            text.block(&head, |text| text.line(&format!("return p.at[{index}] > 0")));
        }
    }
    text.blank();
    read(text, context, id);
    text.blank();
    text.line("// IndexFields validates a struct and notes its fields in p, which is zero.");
    let head = format!("func (p *{}) IndexFields(r *{}) {{", names.ty, context.thrift("Reader"));
    text.block(&head, |text| index(text, context, shown, fields));
}

fn names_of<'a>(context: &Context<'a>, id: Id) -> &'a str {
    &context.naming.views[&id].ty
}

/// Writes the type and the functions that make it.
fn declare(text: &mut Text, context: &Context<'_>, id: Id, fields: usize) {
    let (name, names) = (&context.naming.names[&id], &context.naming.views[&id]);
    let ty = &names.ty;
    text.line(&format!("// {ty} reads a {name} in place."));
    text.block(&format!("type {ty} struct {{"), |text| {
        text.line("buf []byte");
        if fields > 0 {
            text.line(&format!("at  [{fields}]uint32 // offsets of the fields' values, or 0"));
        }
    });
    text.blank();
    let view = &names.maker;
    text.line(&format!("// {view} validates all of message, which is a {name} and stays as it is"));
    text.line("// while the view and its parts are used.");
    text.block(&format!("func {view}(message []byte) (v {ty}, err error) {{"), |text| {
        text.line(&format!("r := {}(message)", context.thrift("NewReader")));
        text.line("v.IndexFields(&r)");
        text.block("if err := r.EndAll(); err != nil {", |text| {
            text.line(&format!("return {ty}{{}}, err"));
        });
        text.line("return v, nil");
    });
    text.blank();
    let next = &names.next;
    text.line(&format!(
        "// {next} returns the view of the valid {name} at the beginning of b, and"
    ));
    text.line("// its length, for generated code.");
    text.block(&format!("func {next}(b []byte) (v {ty}, n int) {{"), |text| {
        text.line("r := thrift.NewReader(b)");
        text.line("v.IndexFields(&r)");
        text.line("return v, len(v.buf)");
    });
}

/// Writes the method that makes a struct.
fn read(text: &mut Text, context: &Context<'_>, id: Id) {
    let (name, new) = (&context.naming.names[&id], &context.naming.makers[&id]);
    let ty = names_of(context, id);
    text.line(&format!("// Read returns a {name} that keeps nothing of the message."));
    text.block(&format!("func (p {ty}) Read() (*{name}, error) {{"), |text| {
        text.line(&format!("v := {new}()"));
        text.block("if p.buf == nil {", |text| text.line("return v, nil"));
        text.line("_, err := v.FastRead(p.buf)");
        text.line("return v, err");
    });
}

/// Writes the getter of a field, which has this place in the index.
fn getter(
    text: &mut Text,
    context: &Context<'_>,
    id: Id,
    (named, index): (&Named<'_>, usize),
    go: &str,
) {
    let (ty, view) = (&named.field.ty, names_of(context, id));
    let preset = named.preset().map(|preset| match is_scalar(ty) {
        true => (None, value::of_type(context, ty, preset)),
        false => {
            let name = format!("default{view}_{go}");
            let encoded = value::quoted_bytes(&bytes::of(context.schema, ty, preset));
            (Some(format!("var {name} = []byte({encoded})")), name)
        }
    });
    text.blank();
    if let Some((Some(variable), _)) = &preset {
        text.line(variable);
        text.blank();
    }
    text.line(&format!("// {go} returns {}, or its default if it is absent.", named.field.name));
    let head = format!("func (p {view}) {go}() (v {}) {{", view_type(context, ty));
    text.block(&head, |text| {
        text.line(&format!("if off := p.at[{index}]; off > 0 {{"));
        text.indented(|text| text.line(&get(context, ty, "p.buf[off:]")));
        if let Some((variable, shown)) = &preset {
            text.line("} else {");
            text.indented(|text| match variable {
                Some(_) => text.line(&get(context, ty, shown)),
                None => text.line(&format!("v = {shown}")),
            });
        }
        text.line("}");
        text.line("return v");
    });
}

fn is_scalar(ty: &Type) -> bool {
    fixed_size(ty).is_some() || matches!(ty.kind, TypeKind::String)
}

/// Returns the assignment of the value at the beginning of some bytes to `v`.
fn get(context: &Context<'_>, ty: &Type, from: &str) -> String {
    match &ty.kind {
        TypeKind::Struct(_) => format!("v, _ = {}({from})", next(context, ty, INDENT)),
        TypeKind::List(of) | TypeKind::Set(of) => {
            let new = context.thrift("NewListView");
            format!("v = {new}({from}, {})", next(context, of, INDENT))
        }
        TypeKind::Map(key, item) => {
            let new = context.thrift("NewMapView");
            let [key, item] = [key, item].map(|ty| next(context, ty, INDENT));
            format!("v = {new}({from}, {key}, {item})")
        }
        TypeKind::Enum(_) => {
            format!("v = {}({}({from}))", context.ty(ty), context.thrift("GetI32"))
        }
        _ => {
            let get = context.thrift(&format!("Get{}", suffix(ty).unwrap_or("Binary")));
            format!("v = {get}({from})")
        }
    }
}

/// Returns the function that reads the value at the beginning of some bytes, and its length, for a
/// line that is indented so far.
fn next(context: &Context<'_>, ty: &Type, indent: usize) -> String {
    match &ty.kind {
        TypeKind::Struct(id) => context.path(*id, &context.naming.views[id].next),
        TypeKind::I32 | TypeKind::Enum(_) => {
            format!("{}[{}]", context.thrift("NextI32"), context.ty(ty))
        }
        TypeKind::List(of) | TypeKind::Set(of) => {
            let of = next(context, of, indent + 1);
            closure(context, ty, &format!("{}(b, {of})", context.thrift("NextList")), indent)
        }
        TypeKind::Map(key, item) => {
            let [key, item] = [key, item].map(|ty| next(context, ty, indent + 1));
            let call = format!("{}(b, {key}, {item})", context.thrift("NextMap"));
            closure(context, ty, &call, indent)
        }
        _ => context.thrift(&format!("Next{}", suffix(ty).unwrap_or("Binary"))),
    }
}

fn closure(context: &Context<'_>, ty: &Type, call: &str, indent: usize) -> String {
    let (ty, tabs) = (view_type(context, ty), "\t".repeat(indent));
    format!("func(b []byte) ({ty}, int) {{\n{tabs}\treturn {call}\n{tabs}}}")
}

/// Returns the type of a value that is read in place.
fn view_type(context: &Context<'_>, ty: &Type) -> String {
    match &ty.kind {
        TypeKind::Struct(id) => context.path(*id, names_of(context, *id)),
        TypeKind::List(of) | TypeKind::Set(of) => {
            format!("{}[{}]", context.thrift("ListView"), view_type(context, of))
        }
        TypeKind::Map(key, item) => {
            let (key, item) = (view_type(context, key), view_type(context, item));
            format!("{}[{key}, {item}]", context.thrift("MapView"))
        }
        _ => context.ty(ty),
    }
}

/// Writes the body that notes the offsets of fields: as the body that reads them, it fails for the
/// same bytes.
fn index(text: &mut Text, context: &Context<'_>, shown: &str, fields: &Fields<'_>) {
    let required = fields.required();
    text.line("off := r.Offset()");
    text.line("r.Begin()");
    for chunk in 0..required.len().div_ceil(64) {
        text.line(&format!("var {} uint64", seen(chunk)));
    }
    text.block("for {", |text| {
        text.line("switch head := r.Head(); head {");
        text.line("case 0:");
        text.indented(|text| end(text, shown, &required, &["p.buf = r.From(off)", "return"]));
        for (index, named) in fields.all.iter().enumerate() {
            text.line(&format!("case {}:", head(named.field)));
            text.indented(|text| {
                if fields.shape == Shape::Union {
                    text.line(&format!("p.at = [{}]uint32{{}}", fields.all.len()));
                }
                text.line(&format!("p.at[{index}] = uint32(r.Offset() - off)"));
                pass(text, context, &named.field.ty, 1);
                mark(text, &[named], &required);
            });
        }
        text.line("default:");
        text.indented(|text| text.line("r.Skip(head)"));
        text.line("}");
    });
}

/// Validates a value inside so many containers.
fn pass(text: &mut Text, context: &Context<'_>, ty: &Type, depth: usize) {
    if let Some(size) = fixed_size(ty) {
        return text.line(&format!("r.Pass({size})"));
    }
    let n = "n".repeat(depth);
    let each = |text: &mut Text, list: &str, types: &[&Type]| {
        text.block(&format!("for {n} := {list}; {n} > 0 && r.OK(); {n}-- {{"), |text| {
            types.iter().for_each(|ty| pass(text, context, ty, depth + 1));
        });
        text.line("r.EndList()");
    };
    match &ty.kind {
        TypeKind::Struct(_) => {
            text.line(&format!("new({}).IndexFields(r)", view_type(context, ty)));
        }
        TypeKind::List(of) | TypeKind::Set(of) => {
            let wire = of.kind.wire_type();
            match fixed_size(of) {
                Some(size) => text.line(&format!("r.PassFixed({wire}, {size})")),
                None => each(text, &format!("r.List({wire}, {})", least(context, of)), &[of]),
            }
        }
        TypeKind::Map(key, item) => {
            let [left, right] = [key, item].map(|ty| ty.kind.wire_type());
            let least = least(context, key) + least(context, item);
            each(text, &format!("r.Map({left}, {right}, {least})"), &[key, item]);
        }
        _ => text.line("r.PassBinary()"),
    }
}
