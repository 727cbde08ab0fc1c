//! The exact size of a struct.

use super::fields::Fields;
use super::text::Text;
use super::types::{fixed_size, is_key, is_left_out, is_pointer};
use crate::model::{Type, TypeKind};

/// Writes the method that returns the size.
pub(crate) fn write(text: &mut Text, name: &str, fields: &Fields<'_>) {
    text.line("// BLength returns the number of bytes that FastWrite writes.");
    text.block(&format!("func (p *{name}) BLength() int {{"), |text| {
        text.block("if p == nil {", |text| text.line("return 1"));
        let (present, optional): (Vec<_>, Vec<_>) =
            fields.all.iter().partition(|named| !is_left_out(named.field, named.is_optional()));
        let mut all = Length { fixed: 1, ..Length::default() };
        for named in present {
            all.fixed += 3;
            all.add(&named.field.ty, &format!("p.{}", named.go), 1);
        }
        if all.loops.is_empty() && optional.is_empty() {
            return text.line(&format!("return {}", all.sum()));
        }
        text.line(&format!("n := {}", all.sum()));
        all.loops.iter().for_each(|lines| write_loop(text, lines));
        for named in optional {
            let go = format!("p.{}", named.go);
            text.block(&format!("if {go} != nil {{"), |text| {
                let mut length = Length { fixed: 3, ..Length::default() };
                let is_pointer = is_pointer(named.field, named.is_optional());
                let value = if is_pointer { format!("*{go}") } else { go.clone() };
                length.add(&named.field.ty, &value, 1);
                text.line(&format!("n += {}", length.sum()));
                length.loops.iter().for_each(|lines| write_loop(text, lines));
            });
        }
        text.line("return n");
    });
}

fn write_loop(text: &mut Text, Loop { head, body }: &Loop) {
    text.block(head, |text| {
        if body.fixed > 0 || !body.terms.is_empty() {
            text.line(&format!("n += {}", body.sum()));
        }
        body.loops.iter().for_each(|inner| write_loop(text, inner));
    });
}

/// A size: a number, expressions to add, and loops that add more.
#[derive(Default)]
struct Length {
    fixed: usize,
    terms: Vec<String>,
    loops: Vec<Loop>,
}

struct Loop {
    head: String,
    body: Length,
}

impl Length {
    /// Adds the size of a value, inside so many containers.
    fn add(&mut self, ty: &Type, value: &str, depth: usize) {
        if let Some(size) = fixed_size(ty) {
            self.fixed += size;
            return;
        }
        match &ty.kind {
            TypeKind::Struct(_) => self.terms.push(format!("{value}.BLength()")),
            TypeKind::List(of) | TypeKind::Set(of) => {
                self.fixed += 5;
                let item = "v".repeat(depth);
                let mut each = Length::default();
                each.add(of, &item, depth + 1);
                self.each(each, value, &format!("for _, {item} := range {value} {{"));
            }
            TypeKind::Map(key, item) => {
                self.fixed += 6;
                let (k, v) = ("k".repeat(depth), "v".repeat(depth));
                let mut each = Length::default();
                let is_map = is_key(key);
                let fields = if is_map {
                    [k.clone(), v.clone()]
                } else {
                    ["Key", "Value"].map(|field| format!("{v}.{field}"))
                };
                each.add(key, &fields[0], depth + 1);
                let keys = !each.is_fixed();
                each.add(item, &fields[1], depth + 1);
                let values = fixed_size(item).is_none();
                let head = match (is_map, keys, values) {
                    (false, ..) => format!("for _, {v} := range {value} {{"),
                    (true, true, false) => format!("for {k} := range {value} {{"),
                    (true, false, _) => format!("for _, {v} := range {value} {{"),
                    (true, true, true) => format!("for {k}, {v} := range {value} {{"),
                };
                self.each(each, value, &head);
            }
            _ => {
                self.fixed += 4;
                self.terms.push(format!("len({value})"));
            }
        }
    }

    /// Adds the sizes of a container's elements.
    fn each(&mut self, mut each: Length, container: &str, head: &str) {
        match each.fixed {
            0 => {}
            1 => self.terms.push(format!("len({container})")),
            size => self.terms.push(format!("{size}*len({container})")),
        }
        each.fixed = 0;
        if !each.is_fixed() {
            self.loops.push(Loop { head: head.to_owned(), body: each });
        }
    }

    fn is_fixed(&self) -> bool {
        self.terms.is_empty() && self.loops.is_empty()
    }

    /// Returns the sum, as gofmt spaces it: a product alone otherwise than one of several terms.
    fn sum(&self) -> String {
        let fixed = (self.fixed > 0).then(|| self.fixed.to_string());
        let parts: Vec<_> = fixed.into_iter().chain(self.terms.iter().cloned()).collect();
        match &parts[..] {
            [one] => one.replacen("*len(", " * len(", 1),
            many => many.join(" + "),
        }
    }
}
