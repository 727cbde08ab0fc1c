//! Reading of structs.

use super::context::Context;
use super::fields::{Fields, Named};
use super::structure::fields_of;
use super::text::Text;
use super::types::{bulk, fixed_size, head, is_key, is_pointer, suffix};
use crate::generate::min_size;
use crate::model::{Id, Requiredness, Shape, Type, TypeKind};

/// Writes the method that reads a struct. Errors show the struct by its name in the IDL.
pub(crate) fn write(
    text: &mut Text,
    context: &Context<'_>,
    name: &str,
    shown: &str,
    fields: &Fields<'_>,
) {
    let required = fields.required();
    context.thrift("Reader");
    text.line("// ReadFields reads fields until the end of the struct, which has its defaults.");
    text.block(&format!("func (p *{name}) ReadFields(r *thrift.Reader) {{"), |text| {
        text.line("r.Begin()");
        for chunk in 0..required.len().div_ceil(64) {
            text.line(&format!("var {} uint64", seen(chunk)));
        }
        text.block("for {", |text| {
            text.line("switch head := r.Head(); head {");
            text.line("case 0:");
            text.indented(|text| end(text, shown, &required, &["return"]));
            for group in fields.groups(context.schema.order) {
                for (index, named) in group.iter().enumerate() {
                    text.line(&format!("case {}:", head(named.field)));
                    text.indented(|text| {
                        if index == 0 && group.len() > 1 {
                            read_group(text, context, &group, &required);
                        }
                        if fields.shape == Shape::Union {
                            text.line(&format!("*p = {name}{{}}"));
                        }
                        field(text, context, named);
                        mark(text, &[named], &required);
                    });
                }
            }
            text.line("default:");
            text.indented(|text| text.line("r.Skip(head)"));
            text.line("}");
        });
    });
}

/// Returns the variable with the bits of 64 required fields.
pub(crate) fn seen(chunk: usize) -> String {
    if chunk == 0 { "seen".to_owned() } else { format!("seen{chunk}") }
}

/// Writes the end of a struct: the last lines follow the search for missing fields.
pub(crate) fn end(text: &mut Text, shown: &str, required: &[&Named<'_>], last: &[&str]) {
    text.line("r.EndStruct()");
    for (chunk, fields) in required.chunks(64).enumerate() {
        let seen = seen(chunk);
        let all = u64::MAX >> (64 - fields.len());
        text.block(&format!("if {seen} != {all:#x} {{"), |text| {
            let names = fields.iter().map(|named| format!("\"{shown}.{}\"", named.field.name));
            let names = names.collect::<Vec<_>>().join(", ");
            text.line(&format!("r.Missing({seen}, {names})"));
        });
    }
    last.iter().for_each(|line| text.line(line));
}

/// Marks required fields as read.
pub(crate) fn mark(text: &mut Text, read: &[&Named<'_>], required: &[&Named<'_>]) {
    for (chunk, fields) in required.chunks(64).enumerate() {
        let is_read = |named: &Named<'_>| read.iter().any(|other| other.go == named.go);
        let bits = fields.iter().enumerate().filter(|(_, named)| is_read(named));
        let bits = bits.fold(0_u64, |bits, (index, _)| bits | 1 << index);
        if bits != 0 {
            text.line(&format!("{} |= {bits:#x}", seen(chunk)));
        }
    }
}

/// Reads neighbours of fixed size at once, if they follow each other.
fn read_group(
    text: &mut Text,
    context: &Context<'_>,
    group: &[&Named<'_>],
    required: &[&Named<'_>],
) {
    let (mut at, mut heads, mut values) = (0, Vec::new(), Vec::new());
    for (index, named) in group.iter().enumerate() {
        if index > 0 {
            let get = context.thrift("GetHead");
            heads.push(format!("{get}(b[{at}:]) == {}", head(named.field)));
            at += 3;
        }
        let ty = &named.field.ty;
        let get = context.thrift(&format!("Get{}", suffix(ty).unwrap_or_default()));
        let value = converted(context, ty, &format!("{get}(b[{at}:])"));
        values.push(format!("p.{} = {value}", named.go));
        at += fixed_size(ty).unwrap_or_default();
    }
    let head = format!("if b := r.Peek({at}); b != nil && {} {{", heads.join(" && "));
    text.block(&head, |text| {
        values.iter().for_each(|value| text.line(value));
        text.line(&format!("r.Advance({at})"));
        mark(text, group, required);
        text.line("continue");
    });
}

fn field(text: &mut Text, context: &Context<'_>, named: &Named<'_>) {
    let (ty, go) = (&named.field.ty, format!("p.{}", named.go));
    if is_pointer(named.field, named.is_optional()) {
        let value = one(context, ty).unwrap_or_default();
        text.line(&format!("v := {value}"));
        return text.line(&format!("{go} = &v"));
    }
    value(text, context, ty, &format!("{go} ="), 1);
}

fn converted(context: &Context<'_>, ty: &Type, value: &str) -> String {
    match ty.kind {
        TypeKind::Enum(_) => format!("{}({value})", context.ty(ty)),
        _ => value.to_owned(),
    }
}

/// Returns the expression that reads a value, if one does.
fn one(context: &Context<'_>, ty: &Type) -> Option<String> {
    match &ty.kind {
        TypeKind::String => Some("r.Text()".to_owned()),
        TypeKind::Binary => Some("r.Bytes()".to_owned()),
        TypeKind::List(of) | TypeKind::Set(of) => {
            let read = context.thrift(&format!("Read{}s", bulk(of)?));
            let of = match bulk(of) {
                Some("I32") => format!("[{}]", context.ty(of)),
                _ => String::new(),
            };
            Some(format!("{read}{of}(r)"))
        }
        _ => Some(converted(context, ty, &format!("r.{}()", suffix(ty)?))),
    }
}

/// Reads a value into a place, which `to` assigns or declares, inside so many containers.
fn value(text: &mut Text, context: &Context<'_>, ty: &Type, to: &str, depth: usize) {
    let place = place(to);
    if let Some(read) = one(context, ty) {
        return text.line(&format!("{to} {read}"));
    }
    match &ty.kind {
        TypeKind::Struct(id) => {
            let name = context.struct_name(ty);
            text.line(&format!("{to} new({name})"));
            if has_presets(context, *id) {
                text.line(&format!("{place}.InitDefault()"));
            }
            text.line(&format!("{place}.ReadFields(r)"));
        }
        TypeKind::List(of) | TypeKind::Set(of) => list(text, context, ty, of, to, depth),
        TypeKind::Map(key, item) => map(text, context, ty, key, item, to, depth),
        _ => {}
    }
}

/// Reads a list.
fn list(text: &mut Text, context: &Context<'_>, ty: &Type, of: &Type, to: &str, depth: usize) {
    let [n, list, v] = ["n", "l", "v"].map(|letter| letter.repeat(depth));
    let (wire, least) = (of.kind.wire_type(), least(context, of));
    text.line(&format!("{n} := r.List({wire}, {least})"));
    let TypeKind::Struct(id) = of.kind else {
        let (ty, of_ty, room) = (context.ty(ty), context.ty(of), context.thrift("Room"));
        text.line(&format!("{list} := make({ty}, 0, {room}[{of_ty}](r, {n}))"));
        elements(text, &n, |text| {
            value(text, context, of, &format!("{v} :="), depth + 1);
            text.line(&format!("{list} = append({list}, {v})"));
        });
        return text.line(&format!("{to} {list}"));
    };
    let (name, i) = (context.struct_name(of), "i".repeat(depth));
    let structs = context.thrift("Structs");
    text.line(&format!("{list} := {structs}[{name}](r, nil, {n})"));
    text.block(&format!("for {i} := 0; {i} < {n} && r.OK(); {i}++ {{"), |text| {
        text.block(&format!("if {i} == len({list}) {{"), |text| {
            text.line(&format!("{list} = {structs}(r, {list}, {n})"));
        });
        if has_presets(context, id) {
            text.line(&format!("{list}[{i}].InitDefault()"));
        }
        text.line(&format!("{list}[{i}].ReadFields(r)"));
    });
    text.line("r.EndList()");
    text.line(&format!("{to} {list}"));
}

/// Reads the elements of a container, of which `n` are left.
fn elements(text: &mut Text, n: &str, one: impl FnOnce(&mut Text)) {
    text.block(&format!("for ; {n} > 0 && r.OK(); {n}-- {{"), one);
    text.line("r.EndList()");
}

fn map(
    text: &mut Text,
    context: &Context<'_>,
    ty: &Type,
    key: &Type,
    item: &Type,
    to: &str,
    depth: usize,
) {
    let [n, list, k, v] = ["n", "l", "k", "v"].map(|letter| letter.repeat(depth));
    let [left, right] = [key, item].map(|ty| ty.kind.wire_type());
    let least = least(context, key) + least(context, item);
    text.line(&format!("{n} := r.Map({left}, {right}, {least})"));
    let (go, pair, room) = (context.ty(ty), context.pair(key, item), context.thrift("Room"));
    if is_key(key) {
        text.line(&format!("{list} := make({go}, {room}[{pair}](r, {n}))"));
    } else {
        text.line(&format!("{list} := make({go}, 0, {room}[{pair}](r, {n}))"));
    }
    elements(text, &n, |text| {
        match key.kind {
            TypeKind::Binary => text.line(&format!("{k} := r.Text()")),
            TypeKind::List(_) | TypeKind::Set(_) | TypeKind::Map(..) => {
                text.line(&format!("var {k} {}", context.ty(key)));
                text.block("{", |text| value(text, context, key, &format!("{k} ="), depth + 1));
            }
            _ => value(text, context, key, &format!("{k} :="), depth + 1),
        }
        value(text, context, item, &format!("{v} :="), depth + 1);
        text.line(&match is_key(key) {
            true => format!("{list}[{k}] = {v}"),
            false => format!("{list} = append({list}, {pair}{{Key: {k}, Value: {v}}})"),
        });
    });
    text.line(&format!("{to} {list}"));
}

/// Returns the place that an assignment or a declaration begins with.
fn place(to: &str) -> &str {
    to.trim_end_matches([' ', '=', ':'])
}

fn has_presets(context: &Context<'_>, id: Id) -> bool {
    context.schema.structure(id).is_some_and(|found| fields_of(context, id, found).has_presets())
}

/// Returns the least size of a value.
pub(crate) fn least(context: &Context<'_>, ty: &Type) -> usize {
    let TypeKind::Struct(id) = ty.kind else { return min_size(ty) };
    let fields = context.schema.structure(id).map_or(&[][..], |found| &found.fields);
    let required = fields.iter().filter(|field| field.requiredness == Requiredness::Required);
    1 + required.map(|field| 3 + min_size(&field.ty)).sum::<usize>()
}
