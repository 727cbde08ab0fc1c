//! Layout of Rust text in rustfmt's default style.
//!
//! Generated code uses few constructs, and every line that can grow with a name goes through
//! [`Expr`], which breaks where rustfmt breaks.

mod expr;

use expr::{Brackets, filled};

pub(crate) use expr::Expr;

/// Value of rustfmt's `max_width`.
const MAX_WIDTH: usize = 100;
/// Value of rustfmt's `chain_width`.
const CHAIN_WIDTH: usize = 60;

/// Text being written.
#[derive(Debug, Default)]
pub(crate) struct Code {
    text: String,
    indent: usize,
}

impl Code {
    /// Creates text that begins at this indentation level.
    pub(crate) fn at(level: usize) -> Self {
        Self { text: String::new(), indent: 4 * level }
    }

    /// Returns the whole text.
    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// Appends text that was laid out for this place.
    pub(crate) fn append(&mut self, other: Self) {
        self.text.push_str(&other.text);
    }

    /// Appends a line that cannot be broken.
    pub(crate) fn line(&mut self, line: &str) {
        if !line.is_empty() {
            self.text.extend(std::iter::repeat_n(' ', self.indent));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// Appends an empty line.
    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Appends a line that opens a block, its body, and its end.
    pub(crate) fn block(&mut self, head: &str, body: impl FnOnce(&mut Self)) {
        self.block_with(head, "}", body);
    }

    /// Appends a block like [`block`](Self::block), with this end.
    pub(crate) fn block_with(&mut self, head: &str, end: &str, body: impl FnOnce(&mut Self)) {
        self.line(head);
        self.indented(body);
        self.line(end);
    }

    /// Appends lines one level deeper.
    pub(crate) fn indented(&mut self, body: impl FnOnce(&mut Self)) {
        self.indent += 4;
        body(self);
        self.indent -= 4;
    }

    /// Appends `expr;` and the like, broken where it is too long.
    pub(crate) fn expr(&mut self, expr: &Expr, tail: &str) {
        let text = expr.layout(self.indent, self.indent, tail_width(tail));
        self.line(&format!("{text}{tail}"));
    }

    /// Appends `left = right;`: if the line is too long, the right side moves to the next line, or
    /// breaks.
    pub(crate) fn assign(&mut self, left: &str, right: &Expr, tail: &str) {
        // rustfmt keeps a column free behind an assignment with an operator.
        let free = usize::from(left.ends_with("|="));
        let text = right.layout_behind(left, self.indent, self.indent, tail_width(tail) + free);
        self.line(&format!("{text}{tail}"));
    }

    /// Appends `name: Type,`: the type moves to the next line if it must.
    pub(crate) fn typed(&mut self, name: &str, ty: &str) {
        let flat = format!("{name}: {ty},");
        if self.fits(&flat) {
            return self.line(&flat);
        }
        if self.indent + width(ty) + 5 <= MAX_WIDTH {
            self.line(&format!("{name}:"));
            return self.indented(|code| code.line(&format!("{ty},")));
        }
        self.expr(&Expr::ty(ty).named(name), ",");
    }

    /// Appends `head(parameters) tail`: a parameter per line if it is too long.
    pub(crate) fn signature(&mut self, head: &str, parameters: &[Parameter], tail: &str) {
        let flat: Vec<_> = parameters.iter().map(Parameter::flat).collect();
        let flat = format!("{head}({}){tail}", flat.join(", "));
        if self.fits(&flat) {
            return self.line(&flat);
        }
        self.line(&format!("{head}("));
        self.indented(|code| {
            for parameter in parameters {
                code.bound(parameter, code.indent);
            }
        });
        self.result(tail);
    }

    /// Appends the end of a signature whose parameters are broken. A type that does not fit is
    /// broken too.
    fn result(&mut self, tail: &str) {
        let flat = format!("){tail}");
        match flat.strip_prefix(") -> ").and_then(|result| result.rsplit_once('>')) {
            Some((ty, end)) if !self.fits(&flat) => {
                let head = format!(") -> {ty}>");
                self.expr(&Expr::ty(&head), end);
            }
            _ => self.line(&flat),
        }
    }

    /// Appends a function with a [signature](Self::signature) as its first line.
    pub(crate) fn function(
        &mut self,
        head: &str,
        parameters: &[Parameter],
        tail: &str,
        body: impl FnOnce(&mut Self),
    ) {
        self.signature(head, parameters, tail);
        self.indented(body);
        self.line("}");
    }

    /// Appends a parameter or bound on its own line, whose parts are indented from `indent` if it
    /// is broken. rustfmt does not count the `impl ` of a function type. Behind broken parameters
    /// it moves a result to the next line that is longer than the room that the function's name
    /// leaves on one.
    fn bound(&mut self, Parameter { left, result }: &Parameter, indent: usize) {
        let flat = format!("{}{result},", left.flat());
        let is_impl = !result.is_empty() && left.head().contains(": impl ");
        let uncounted = if is_impl { width("impl ") } else { 0 };
        if self.indent + width(&flat) <= MAX_WIDTH + uncounted {
            return self.line(&flat);
        }
        let text = left.layout(indent, self.indent, width(result) + 1);
        let left_of_line = MAX_WIDTH - self.indent - left.head().replace("impl ", "").len();
        if result.is_empty() || indent + 1 + width(result) < left_of_line {
            return self.line(&format!("{text}{result},"));
        }
        self.line(&text);
        let result = format!("{}{},", " ".repeat(indent + 4 - self.indent), result.trim_start());
        self.line(&result);
    }

    /// Appends `struct Name(Type);`.
    pub(crate) fn tuple_struct(&mut self, name: &str, ty: &str) {
        self.expr(&Expr::function(format!("pub struct {name}"), [Expr::plain(ty)]), ";");
    }

    /// Appends `impl<Parameters> Type {`.
    pub(crate) fn inherent(&mut self, head: &str, target: &str, body: impl FnOnce(&mut Self)) {
        self.header(head, target, body);
    }

    /// Appends `impl Trait for Type {`.
    pub(crate) fn implement(&mut self, head: &str, target: &str, body: impl FnOnce(&mut Self)) {
        self.header(head, &format!("for {target}"), body);
    }

    /// Appends a header, broken before the target if it is too long. rustfmt does not count the
    /// indentation here.
    fn header(&mut self, head: &str, target: &str, body: impl FnOnce(&mut Self)) {
        let flat = format!("{head} {target} {{");
        if width(&flat) <= MAX_WIDTH {
            return self.block(&flat, body);
        }
        match head.split_once(' ') {
            Some((keyword, path)) if !self.fits(head) => {
                self.line(keyword);
                self.indented(|code| code.path_and_target(path, target));
            }
            _ => {
                self.line(head);
                self.indented(|code| code.line(target));
            }
        }
        self.block("{", body);
    }

    /// Appends a trait with parameters that does not fit behind `impl`.
    fn path_and_target(&mut self, path: &str, target: &str) {
        if self.fits(path) {
            self.line(path);
            return self.line(target);
        }
        let text = Expr::ty(path).layout(self.indent, self.indent, 0);
        self.line(&format!("{text} {target}"));
    }

    /// Appends `impl Trait for Type {}`.
    pub(crate) fn implement_empty(&mut self, head: &str, target: &str) {
        let flat = format!("{head} for {target} {{");
        if width(&flat) <= MAX_WIDTH {
            self.line(&(flat + "}"))
        } else {
            self.implement(head, target, |_| {})
        }
    }

    /// Appends `Name(Type),`: the type moves to its own line if it must.
    pub(crate) fn variant(&mut self, name: &str, ty: &str) {
        self.expr(&Expr::function(name, [Expr::ty(ty)]), ",");
    }

    /// Returns true if a line is short enough here.
    pub(crate) fn fits(&self, line: &str) -> bool {
        self.indent + width(line) <= MAX_WIDTH
    }

    /// Appends `pattern => body,`, in a block if it is too long.
    pub(crate) fn arm(&mut self, pattern: &str, body: &str) {
        self.arm_of(pattern, &Expr::plain(body));
    }

    /// Appends an arm like [`arm`](Self::arm), for a body that can be broken.
    pub(crate) fn arm_of(&mut self, pattern: &str, body: &Expr) {
        let flat = format!("{pattern} => {},", body.flat());
        if self.fits(&flat) {
            return self.line(&flat);
        }
        self.block(&format!("{pattern} => {{"), |code| code.expr(body, ""));
    }

    /// Appends `left = |parameters| body;`: on the next line, or in a block, if it is too long.
    pub(crate) fn closure(&mut self, left: &str, parameters: &str, body: &Expr, tail: &str) {
        let flat = format!("{parameters} {}{tail}", body.flat());
        if self.indent + width(left) + 1 + width(&flat) <= MAX_WIDTH {
            return self.line(&format!("{left} {flat}"));
        }
        if self.indent + 4 + width(&flat) <= MAX_WIDTH {
            self.line(left);
            return self.indented(|code| code.line(&flat));
        }
        let (head, end) = (format!("{left} {parameters} {{"), format!("}}{tail}"));
        self.block_with(&head, &end, |code| code.expr(body, ""));
    }

    /// Appends `self.0.method(arguments);`. A chain that is wider than 60 (`chain_width`) is broken
    /// before the call; but inside the call if it does not fit on a line either and that makes five
    /// lines or more, or if the call does not fit on a line of its own.
    pub(crate) fn chain<const N: usize>(&mut self, method: &str, arguments: [String; N]) {
        let call = Expr::call(format!(".{method}"), arguments.map(Expr::Plain));
        let flat = format!("self.0{}", call.flat());
        if width(&flat) <= CHAIN_WIDTH {
            return self.line(&format!("{flat};"));
        }
        let opens_wide = width("self.0.(") + width(method) > CHAIN_WIDTH;
        let inside = !call.fits(self.indent + width("self.0"), 1) && N + 2 >= 5;
        if opens_wide || !inside && call.fits(self.indent + 4, 1) {
            self.line("self.0");
            return self.indented(|code| code.expr(&call, ";"));
        }
        let place = (self.indent, self.indent, 1);
        let head = format!("self.0.{method}");
        let text = Expr::layout_broken(&head, Brackets::Round, &call.into_items(), place);
        self.line(&format!("{text};"));
    }

    /// Appends a `where` clause, a bound per line.
    pub(crate) fn bounds(&mut self, bounds: &[Parameter]) {
        self.line("where");
        self.indented(|code| {
            let deeper = code.indent + 4;
            bounds.iter().for_each(|bound| code.bound(bound, deeper));
        });
    }

    /// Appends `#[derive(traits)]`.
    pub(crate) fn derive(&mut self, traits: &[&str]) {
        let flat = format!("#[derive({})]", traits.join(", "));
        if self.fits(&flat) {
            return self.line(&flat);
        }
        self.block_with("#[derive(", ")]", |code| code.fill(traits));
    }

    /// Appends `use path::{names};`, as many names in a line as fit.
    pub(crate) fn import(&mut self, path: &str, names: &[&str]) {
        let flat = match names {
            [one] => format!("use {path}::{one};"),
            many => format!("use {path}::{{{}}};", many.join(", ")),
        };
        if self.fits(&flat) {
            return self.line(&flat);
        }
        self.line(&format!("use {path}::{{"));
        self.indented(|code| code.fill(names));
        self.line("};");
    }

    /// Appends items with commas, as many in a line as fit.
    fn fill(&mut self, items: &[&str]) {
        for line in filled(items, self.indent) {
            self.line(&line);
        }
    }
}

/// A parameter of a function, or a bound of a type.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    left: Expr,
    /// Result of a function type: ` -> Result`.
    result: String,
}

impl Parameter {
    /// Creates `self`, or `name: Type`.
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        Self { left: Expr::ty(text.as_ref()), result: String::new() }
    }

    /// Creates `name: Function(parameters) -> result`.
    pub(crate) fn function(head: &str, parameters: &[String], result: &str) -> Self {
        let parameters = parameters.iter().map(Expr::plain);
        Self { left: Expr::function(head, parameters), result: format!(" -> {result}") }
    }

    fn flat(&self) -> String {
        format!("{}{}", self.left.flat(), self.result)
    }
}

/// Returns the width of a tail: rustfmt keeps a column free behind a question mark.
fn tail_width(tail: &str) -> usize {
    width(tail) + usize::from(tail.starts_with('?'))
}

fn width(text: &str) -> usize {
    text.chars().count()
}
