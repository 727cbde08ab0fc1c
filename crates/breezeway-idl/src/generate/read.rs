//! Generation of the function body that reads a value: decoding into an owned one, or a view.

use super::context::Context;
use super::field::{Fields, Named, Step};
use super::naming::StructNames;
use super::types::is_fixed;
use crate::layout::{Code, Expr, Parameter};
use crate::names::{escape, snake};

/// First line of a function.
struct Signature {
    head: String,
    parameters: Vec<Parameter>,
    result: String,
}

impl Signature {
    fn function(&self, code: &mut Code, body: impl FnOnce(&mut Code)) {
        code.function(&self.head, &self.parameters, &self.result, body);
    }
}

/// Differences between decoding and viewing.
pub(crate) struct Reading {
    /// Start of the implementation, such as `impl Decode`.
    head: String,
    target: String,
    signature: Signature,
    /// Method of the runtime that takes a field.
    method: &'static str,
    /// Method that takes a field through a function that all structs share.
    shared: &'static str,
    /// Type of the runtime that reads fields.
    fields: String,
    /// Path of `Some`.
    some: String,
    /// The value being built: a variable, or `self`.
    place: String,
    /// The value as a place to write to.
    whole: String,
    /// Initial value, if it is a variable.
    start: Option<String>,
    /// Returned expression.
    end: String,
}

impl Reading {
    /// Reads into a place that holds the default.
    pub(crate) fn owned(context: &Context<'_>, names: &StructNames) -> Self {
        let source = context.word("Source");
        let result = format!("{}<(), {}>", context.word("Result"), context.word("DecodeError"));
        let s = context.parameter("S");
        let parameters = ["&mut self".to_owned(), format!("from: &mut {s}")];
        Self {
            head: format!("impl {}", context.word("Decode")),
            target: names.owned.clone(),
            signature: Signature {
                head: format!("fn decode_into<{s}: {source}>"),
                parameters: parameters.map(Parameter::new).to_vec(),
                result: format!(" -> {result} {{"),
            },
            method: "read",
            shared: "read_shared",
            fields: context.word("Fields"),
            some: context.word("Some"),
            place: "self".to_owned(),
            whole: "self".to_owned(),
            start: None,
            end: format!("{}(())", context.word("Ok")),
        }
    }

    /// Returns the value instead of filling a place: views are small.
    pub(crate) fn view(context: &Context<'_>, names: &StructNames, target: &str) -> Self {
        let slice = context.word("Slice");
        let result = format!("{}<Self, {}>", context.word("Result"), context.word("DecodeError"));
        let place = place(&names.owned);
        Self {
            head: format!("impl<'a> {}<'a>", context.word("View")),
            target: target.to_owned(),
            signature: Signature {
                head: "fn view".to_owned(),
                parameters: vec![Parameter::new(format!("from: &mut {slice}<'a>"))],
                result: format!(" -> {result} {{"),
            },
            method: "view",
            shared: "view",
            fields: context.word("Fields"),
            some: context.word("Some"),
            whole: format!("&mut {place}"),
            start: Some(format!("let mut {place} = Self::default();")),
            end: format!("{}({place})", context.word("Ok")),
            place,
        }
    }
}

/// Length from which a variable's name makes lines long without making them clearer.
const LONG_NAME: usize = 24;

/// Returns the type's name, unless that is long, a keyword or another variable's.
fn place(owned: &str) -> String {
    let name = escape(&snake(owned));
    let taken = ["fields", "from", "id"].contains(&name.as_str()) || name.starts_with("r#");
    let unfit = taken || name.ends_with('_') || name.len() >= LONG_NAME;
    if unfit { "value".to_owned() } else { name }
}

/// Number of steps that are offered before the order is checked.
const PORTION: usize = 8;

/// Number of fields from which those of variable size are read by functions that all structs share:
/// code that is inlined for each field takes rustc long.
const MANY: usize = 12;

/// Writes the reading of a struct's fields: in the expected order as long as they come in it, then
/// by number.
pub(crate) fn of_struct(
    code: &mut Code,
    context: &Context<'_>,
    reading: &Reading,
    fields: &Fields<'_>,
) {
    let next = |named: &Named<'_>| Next {
        call: format!("fields.{}_next(", reading.method),
        argument: format!("&mut {}.{}", reading.place, named.name),
        short: "place",
        fits: usize::MAX,
    };
    let steps = fields.steps(context.schema.order);
    let method = if fields.all.len() > MANY { reading.shared } else { reading.method };
    body(code, reading, fields, next, |code| match steps.len() {
        ..=PORTION => steps.iter().for_each(|step| take(code, method, reading, step)),
        _ => code.block("'ordered: {", |code| {
            for (index, portion) in steps.chunks(PORTION).enumerate() {
                if index > 0 {
                    code.block("if !fields.in_order() {", |code| code.line("break 'ordered;"));
                }
                portion.iter().for_each(|step| take(code, method, reading, step));
            }
        }),
    });
}

/// Writes the reading of a union's fields, of which the last one counts.
pub(crate) fn of_union(code: &mut Code, reading: &Reading, fields: &Fields<'_>) {
    let next = |named: &Named<'_>| Next {
        call: format!("fields.{}_next_as({}, ", reading.method, reading.whole),
        argument: format!("Self::{}", named.variant),
        short: "variant",
        fits: CHAIN_WIDTH,
    };
    body(code, reading, fields, next, |_| {});
}

fn body(
    code: &mut Code,
    reading: &Reading,
    fields: &Fields<'_>,
    next: impl Fn(&Named<'_>) -> Next,
    in_order: impl FnOnce(&mut Code),
) {
    code.implement(&reading.head, &reading.target, |code| {
        if reading.start.is_some() {
            // An unused function is not compiled; a generic one needs no attribute.
            code.line("#[inline]");
        }
        reading.signature.function(code, |code| {
            if fields.all.is_empty() {
                return nothing(code, reading);
            }
            if let Some(start) = &reading.start {
                code.line(start);
            }
            for named in fields.all.iter().filter(|named| named.needs_flag()) {
                code.line(&format!("let mut {} = false;", flag(named)));
            }
            code.line(&format!("let mut fields = {}::begin(from)?;", reading.fields));
            in_order(code);
            by_number(code, reading, fields, next);
            require(code, fields);
            code.line(&reading.end);
        });
    });
}

/// Writes the skipping of all fields.
fn nothing(code: &mut Code, reading: &Reading) {
    code.line(&format!("let mut fields = {}::begin(from)?;", reading.fields));
    code.block("while fields.next_id()?.is_some() {", |code| code.line("fields.skip_next()?;"));
    let end = reading.end.replace(&format!("({})", reading.place), "(Self::default())");
    code.line(&end);
}

/// Call that takes the value of the field after its number was read.
struct Next {
    call: String,
    /// Last argument, and its name if the line gets too long with it.
    argument: String,
    short: &'static str,
    /// Width of the longest call that stays on the line of its number.
    fits: usize,
}

/// Width from which rustfmt breaks chains.
const CHAIN_WIDTH: usize = 60;

fn arm(code: &mut Code, named: &Named<'_>, next: &Next) {
    let Next { call, argument, short, fits } = next;
    let id = named.id();
    let whole = format!("{call}{argument})?");
    // rustfmt breaks slightly before its limit; a block with a name in it is left alone.
    if !named.needs_flag() && whole.len() <= *fits && code.fits(&format!("{id} => {whole},   ")) {
        return code.line(&format!("{id} => {whole},"));
    }
    code.block(&format!("{id} => {{"), |code| {
        code.assign(&format!("let {short} ="), &Expr::plain(argument), ";");
        if named.needs_flag() {
            let taken = Expr::plain(format!("{call}{short})"));
            code.assign(&format!("{} |=", flag(named)), &taken, "?;");
            code.line(&flag(named));
        } else {
            code.line(&format!("{call}{short})?"));
        }
    });
}

fn by_number(
    code: &mut Code,
    reading: &Reading,
    fields: &Fields<'_>,
    next: impl Fn(&Named<'_>) -> Next,
) {
    code.block(&format!("while let {}(id) = fields.next_id()? {{", reading.some), |code| {
        code.block_with("match id {", "};", |code| {
            for named in &fields.all {
                arm(code, named, &next(named));
            }
            code.line("_ => fields.skip_next()?,");
        });
    });
}

fn take(code: &mut Code, method: &str, reading: &Reading, step: &Step<'_, '_>) {
    let place = |named: &Named<'_>| format!("&mut {}.{}", reading.place, named.name);
    match step {
        Step::Group(group) => {
            let pair = |named: &&Named<'_>| {
                Expr::call("", [named.id().to_string(), place(named)].map(Expr::Plain))
            };
            let tuple = Expr::call("", group.iter().map(pair));
            code.expr(&Expr::call("fields.group", [tuple]), "?;");
        }
        Step::One(named) => {
            let arguments = [named.id().to_string(), place(named)].map(Expr::Plain);
            let method = if is_fixed(&named.field.ty) { reading.method } else { method };
            let call = Expr::call(format!("fields.{method}"), arguments);
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
