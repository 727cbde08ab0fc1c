//! The body that reads a value: decoding into an owned one, or a view.

use super::context::Context;
use super::field::{Fields, Named, Step};
use super::naming::StructNames;
use crate::layout::{Code, Expr};
use crate::names::{escape, snake};

/// What differs between decoding and viewing.
pub(crate) struct Reading {
    /// `impl Decode`
    head: String,
    target: String,
    signature: String,
    /// The runtime's method that takes a field.
    method: &'static str,
    /// What the runtime reads fields with.
    fields: String,
    /// The value in the making: a variable, or `self`.
    place: String,
    /// The value as a place to write to.
    whole: String,
    /// The value's beginning, if it is a variable.
    start: Option<String>,
    /// What is returned.
    end: String,
}

impl Reading {
    /// Into a place that holds the default.
    pub(crate) fn owned(context: &Context<'_>, names: &StructNames) -> Self {
        let source = context.word("Source");
        let result = format!("{}<(), {}>", context.word("Result"), context.word("DecodeError"));
        let parameters = "&mut self, from: &mut S";
        Self {
            head: format!("impl {}", context.word("Decode")),
            target: names.owned.clone(),
            signature: format!("fn decode_into<S: {source}>({parameters}) -> {result} {{"),
            method: "read",
            fields: context.word("Fields"),
            place: "self".to_owned(),
            whole: "self".to_owned(),
            start: None,
            end: format!("{}(())", context.word("Ok")),
        }
    }

    /// As a value of its own: views are small.
    pub(crate) fn view(context: &Context<'_>, names: &StructNames, target: &str) -> Self {
        let slice = context.word("Slice");
        let result = format!("{}<Self, {}>", context.word("Result"), context.word("DecodeError"));
        let place = place(&names.owned);
        Self {
            head: format!("impl<'a> {}<'a>", context.word("View")),
            target: target.to_owned(),
            signature: format!("fn view(from: &mut {slice}<'a>) -> {result} {{"),
            method: "view",
            fields: context.word("Fields"),
            whole: format!("&mut {place}"),
            start: Some(format!("let mut {place} = Self::default();")),
            end: format!("{}({place})", context.word("Ok")),
            place,
        }
    }
}

/// From this length on, a variable's name makes lines long and nothing clear.
const LONG_NAME: usize = 24;

/// The type's name, unless that is long, a keyword or another variable's.
fn place(owned: &str) -> String {
    let name = escape(&snake(owned));
    let taken = ["fields", "from"].contains(&name.as_str()) || name.starts_with("r#");
    let unfit = taken || name.ends_with('_') || name.len() >= LONG_NAME;
    if unfit { "value".to_owned() } else { name }
}

/// Reads a struct's fields, in rounds.
pub(crate) fn of_struct(code: &mut Code, reading: &Reading, fields: &Fields<'_>) {
    body(code, reading, fields, |code| {
        for step in fields.steps() {
            take(code, reading, &step);
        }
    });
}

/// Reads a union's fields, of which the last one counts.
pub(crate) fn of_union(code: &mut Code, reading: &Reading, fields: &Fields<'_>) {
    body(code, reading, fields, |code| {
        for named in &fields.all {
            let variant = format!("Self::{}", named.variant);
            let arguments = [named.id().to_string(), reading.whole.clone(), variant];
            let head = format!("fields.{}_as", reading.method);
            code.expr(&Expr::call(head, arguments.map(Expr::Plain)), "?;");
        }
    });
}

fn body(code: &mut Code, reading: &Reading, fields: &Fields<'_>, round: impl FnOnce(&mut Code)) {
    code.implement(&reading.head, &reading.target, |code| {
        code.block(&reading.signature, |code| {
            if fields.all.is_empty() {
                nothing(code, reading);
            } else {
                rounds(code, reading, fields, round);
            }
        });
    });
}

/// Skips all fields.
fn nothing(code: &mut Code, reading: &Reading) {
    code.line(&format!("let mut fields = {}::begin(from)?;", reading.fields));
    code.line("while !fields.end()? {}");
    let end = reading.end.replace(&format!("({})", reading.place), "(Self::default())");
    code.line(&end);
}

fn rounds(code: &mut Code, reading: &Reading, fields: &Fields<'_>, round: impl FnOnce(&mut Code)) {
    if let Some(start) = &reading.start {
        code.line(start);
    }
    for named in fields.all.iter().filter(|named| named.needs_flag()) {
        code.line(&format!("let mut {} = false;", flag(named)));
    }
    code.line(&format!("let mut fields = {}::begin(from)?;", reading.fields));
    code.block("loop {", |code| {
        round(code);
        code.block("if fields.end()? {", |code| {
            require(code, fields);
            code.line(&format!("return {};", reading.end));
        });
    });
}

fn take(code: &mut Code, reading: &Reading, step: &Step<'_, '_>) {
    let place = |named: &Named<'_>| format!("&mut {}.{}", reading.place, named.name);
    match step {
        Step::Group(group) => {
            let pair = |named: &Named<'_>| {
                Expr::call("", [named.id().to_string(), place(named)].map(Expr::Plain))
            };
            let tuple = Expr::call("", group.iter().map(pair));
            code.expr(&Expr::call("fields.group", [tuple]), "?;");
        }
        Step::One(named) => {
            let arguments = [named.id().to_string(), place(named)].map(Expr::Plain);
            let call = Expr::call(format!("fields.{}", reading.method), arguments);
            if named.needs_flag() {
                code.assign(&format!("{} |=", flag(named)), &call, "?;");
            } else {
                code.expr(&call, "?;");
            }
        }
    }
}

fn require(code: &mut Code, fields: &Fields<'_>) {
    for named in fields.all.iter().filter(|named| named.is_required()) {
        let id = Expr::plain(named.id().to_string());
        let name = Expr::plain(format!("{:?}", named.field.name));
        let call = if named.needs_flag() {
            Expr::call("fields.require_if", [Expr::plain(flag(named)), id, name])
        } else {
            Expr::call("fields.require", [id, name])
        };
        code.expr(&call, "?;");
    }
}

fn flag(named: &Named<'_>) -> String {
    format!("has_{}", named.name.trim_start_matches("r#"))
}
