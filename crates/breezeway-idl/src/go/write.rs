//! Writing of structs.

use super::context::Context;
use super::fields::{Fields, Named};
use super::text::Text;
use super::types::{bulk, fixed_size, head, is_key, is_left_out, is_pointer, suffix};
use crate::model::{Type, TypeKind};

/// Writes the method that writes a struct.
pub(crate) fn write(text: &mut Text, context: &Context<'_>, name: &str, fields: &Fields<'_>) {
    text.line("// FastWrite writes the struct to buf, and returns the number of bytes written.");
    text.block(&format!("func (p *{name}) FastWrite(buf []byte) int {{"), |text| {
        text.block("if p == nil {", |text| {
            text.line("buf[0] = 0");
            text.line("return 1");
        });
        if fields.all.is_empty() {
            text.line("buf[0] = 0");
            return text.line("return 1");
        }
        text.line("off := 0");
        for group in fields.groups(context.schema.order) {
            match &group[..] {
                [one] => field(text, context, one),
                many => write_group(text, context, many),
            }
        }
        text.line("buf[off] = 0");
        text.line("return off + 1");
    });
}

/// Writes neighbours of fixed size, which one check covers.
fn write_group(text: &mut Text, context: &Context<'_>, group: &[&Named<'_>]) {
    let size: usize =
        group.iter().map(|named| 3 + fixed_size(&named.field.ty).unwrap_or_default()).sum();
    text.block("{", |text| {
        text.line(&format!("b := (*[{size}]byte)(buf[off:])"));
        let mut at = 0;
        for named in group {
            let put = context.thrift("PutHead");
            text.line(&format!("{put}(b[{at}:], {})", head(named.field)));
            at += 3;
            let go = format!("p.{}", named.go);
            let value = put_fixed(context, &named.field.ty, &format!("b[{at}:]"), &go);
            text.line(&value);
            at += fixed_size(&named.field.ty).unwrap_or_default();
        }
        text.line(&format!("off += {size}"));
    });
}

fn field(text: &mut Text, context: &Context<'_>, named: &Named<'_>) {
    let go = format!("p.{}", named.go);
    let write = |text: &mut Text, expr: &str| {
        let put = context.thrift("PutHead");
        text.line(&format!("off += {put}(buf[off:], {})", head(named.field)));
        value(text, context, &named.field.ty, expr, 1);
    };
    if !is_left_out(named.field, named.is_optional()) {
        return write(text, &go);
    }
    text.block(&format!("if {go} != nil {{"), |text| {
        let is_pointer = is_pointer(named.field, named.is_optional());
        write(text, &if is_pointer { format!("*{go}") } else { go.clone() });
    });
}

fn put_fixed(context: &Context<'_>, ty: &Type, to: &str, expr: &str) -> String {
    let put = context.thrift(&format!("Put{}", suffix(ty).unwrap_or_default()));
    match ty.kind {
        TypeKind::Enum(_) => format!("{put}({to}, int32({expr}))"),
        _ => format!("{put}({to}, {expr})"),
    }
}

/// Writes a value, inside so many containers.
fn value(text: &mut Text, context: &Context<'_>, ty: &Type, expr: &str, depth: usize) {
    if suffix(ty).is_some() {
        return text.line(&format!("off += {}", put_fixed(context, ty, "buf[off:]", expr)));
    }
    match &ty.kind {
        TypeKind::Struct(_) => text.line(&format!("off += {expr}.FastWrite(buf[off:])")),
        TypeKind::List(of) | TypeKind::Set(of) => {
            if let Some(suffix) = bulk(of) {
                let put = context.thrift(&format!("Put{suffix}s"));
                return text.line(&format!("off += {put}(buf[off:], {expr})"));
            }
            let (put, wire) = (context.thrift("PutList"), of.kind.wire_type());
            text.line(&format!("off += {put}(buf[off:], {wire}, len({expr}))"));
            let item = "v".repeat(depth);
            text.block(&format!("for _, {item} := range {expr} {{"), |text| {
                value(text, context, of, &item, depth + 1);
            });
        }
        TypeKind::Map(key, item) => {
            let put = context.thrift("PutMap");
            let [left, right] = [key, item].map(|ty| ty.kind.wire_type());
            text.line(&format!("off += {put}(buf[off:], {left}, {right}, len({expr}))"));
            let (k, v) = ("k".repeat(depth), "v".repeat(depth));
            let is_map = is_key(key);
            let head = if is_map { format!("{k}, {v}") } else { format!("_, {v}") };
            text.block(&format!("for {head} := range {expr} {{"), |text| {
                let (left, right) = match is_map {
                    true => (k, v),
                    false => (format!("{v}.Key"), format!("{v}.Value")),
                };
                match key.kind {
                    TypeKind::Binary if is_map => {
                        let put = context.thrift("PutString");
                        text.line(&format!("off += {put}(buf[off:], {left})"));
                    }
                    _ => value(text, context, key, &left, depth + 1),
                }
                value(text, context, item, &right, depth + 1);
            });
        }
        _ => {
            let put = context.thrift("PutBytes");
            text.line(&format!("off += {put}(buf[off:], {expr})"));
        }
    }
}
