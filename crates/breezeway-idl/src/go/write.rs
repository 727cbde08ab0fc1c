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
        let mut block = Block::default();
        for named in fields.groups(context.schema.order).into_iter().flatten() {
            let go = format!("p.{}", named.go);
            if !is_left_out(named.field, named.is_optional()) {
                block.field(text, context, named, &go);
                continue;
            }
            block.flush(text);
            text.block(&format!("if {go} != nil {{"), |text| {
                let is_pointer = is_pointer(named.field, named.is_optional());
                let value = if is_pointer { format!("*{go}") } else { go.clone() };
                let mut block = Block::default();
                block.field(text, context, named, &value);
                block.flush(text);
            });
        }
        block.flush(text);
        text.line("buf[off] = 0");
        text.line("return off + 1");
    });
}

/// Neighbours of fixed size, which one check covers: heads, values, and the lengths in front of
/// others.
#[derive(Default)]
struct Block {
    size: usize,
    lines: Vec<String>,
}

impl Block {
    /// Adds bytes that a function of the runtime writes.
    fn add(&mut self, size: usize, write: impl FnOnce(&str) -> String) {
        self.lines.push(write(&format!("b[{}:]", self.size)));
        self.size += size;
    }

    /// Writes what was added.
    fn flush(&mut self, text: &mut Text) {
        let Self { size, lines } = std::mem::take(self);
        if size == 0 {
            return;
        }
        text.block("{", |text| {
            text.line(&format!("b := (*[{size}]byte)(buf[off:])"));
            lines.iter().for_each(|line| text.line(line));
            text.line(&format!("off += {size}"));
        });
    }

    /// Adds a field. Only a value of fixed size stays in the block.
    fn field(&mut self, text: &mut Text, context: &Context<'_>, named: &Named<'_>, expr: &str) {
        let put = context.thrift("PutHead");
        self.add(3, |to| format!("{put}({to}, {})", head(named.field)));
        let ty = &named.field.ty;
        if let Some(size) = fixed_size(ty) {
            return self.add(size, |to| put_fixed(context, ty, to, expr));
        }
        if let TypeKind::String | TypeKind::Binary = ty.kind {
            let put = context.thrift("PutI32");
            self.add(4, |to| format!("{put}({to}, int32(len({expr})))"));
            self.flush(text);
            return text.line(&format!("off += copy(buf[off:], {expr})"));
        }
        self.flush(text);
        value(text, context, ty, expr, 1);
    }
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
