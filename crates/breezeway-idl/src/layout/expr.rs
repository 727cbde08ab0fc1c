//! Expressions of Rust, broken over lines where rustfmt breaks them.

use super::{CHAIN_WIDTH, MAX_WIDTH, width};

/// Width up to which elements share lines (`short_array_element_width_threshold`).
const SHORT_ELEMENT: usize = 10;

/// An expression that can be broken over lines.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    /// Words that stay on one line.
    Plain(String),
    /// A named value: `name: value`.
    Named(String, Box<Expr>),
    /// The parts of `self.field.method()`.
    Chain(Vec<String>),
    /// Items in brackets.
    Group { head: String, brackets: Brackets, items: Vec<Expr> },
}

/// Brackets around items, which decide how wide they may be on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brackets {
    /// A call's arguments or a tuple: `fn_call_width`.
    Round,
    /// An array: `array_width`.
    Square,
    /// A struct's fields: `struct_lit_width`.
    Curly,
    /// A type's parameters.
    Angle,
    /// A function type's parameters.
    Parameters,
}

impl Brackets {
    fn marks(self) -> (&'static str, &'static str) {
        match self {
            Self::Round | Self::Parameters => ("(", ")"),
            Self::Square => ("[", "]"),
            Self::Curly => (" {", "}"),
            Self::Angle => ("<", ">"),
        }
    }

    fn widest(self) -> usize {
        match self {
            Self::Round | Self::Square => 60,
            Self::Curly => 18,
            Self::Angle | Self::Parameters => MAX_WIDTH,
        }
    }
}

impl Expr {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::Plain(text.into())
    }

    /// Creates `head(arguments)`.
    pub(crate) fn call(head: impl Into<String>, items: impl IntoIterator<Item = Self>) -> Self {
        Self::group(head, Brackets::Round, items)
    }

    /// Creates `head(parameters)` of a function type.
    pub(super) fn function(head: impl Into<String>, items: impl IntoIterator<Item = Self>) -> Self {
        Self::group(head, Brackets::Parameters, items)
    }

    /// Creates `head[elements]`.
    pub(crate) fn array(head: impl Into<String>, items: impl IntoIterator<Item = Self>) -> Self {
        Self::group(head, Brackets::Square, items)
    }

    /// Creates `head { fields }`.
    pub(crate) fn structure(
        head: impl Into<String>,
        items: impl IntoIterator<Item = Self>,
    ) -> Self {
        Self::group(head, Brackets::Curly, items)
    }

    /// Creates `Name<Parameters>`.
    pub(crate) fn ty(text: &str) -> Self {
        match text.split_once('<') {
            Some((head, parameters)) if text.ends_with('>') => {
                let parameters = &parameters[..parameters.len() - 1];
                Self::group(head, Brackets::Angle, split(parameters).into_iter().map(Self::ty))
            }
            _ => Self::plain(text),
        }
    }

    fn group(
        head: impl Into<String>,
        brackets: Brackets,
        items: impl IntoIterator<Item = Self>,
    ) -> Self {
        Self::Group { head: head.into(), brackets, items: items.into_iter().collect() }
    }

    /// Creates `name: value`.
    pub(crate) fn named(self, name: &str) -> Self {
        Self::Named(name.to_owned(), Box::new(self))
    }

    /// Returns the part before the brackets.
    pub(super) fn head(&self) -> &str {
        match self {
            Self::Group { head, .. } => head,
            Self::Plain(_) | Self::Named(..) | Self::Chain(_) => "",
        }
    }

    pub(super) fn into_items(self) -> Vec<Self> {
        match self {
            Self::Plain(_) | Self::Named(..) | Self::Chain(_) => Vec::new(),
            Self::Group { items, .. } => items,
        }
    }

    /// Returns the text on one line.
    pub(crate) fn flat(&self) -> String {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Named(name, value) => format!("{name}: {}", value.flat()),
            Self::Chain(parts) => parts.concat(),
            Self::Group { head, brackets, items } => {
                let inner: Vec<_> = items.iter().map(Self::flat).collect();
                let inner = inner.join(", ");
                match brackets.marks() {
                    (open, close) if *brackets == Brackets::Curly && !inner.is_empty() => {
                        format!("{head}{open} {inner} {close}")
                    }
                    (open, close) => format!("{head}{open}{inner}{close}"),
                }
            }
        }
    }

    fn breaks(&self) -> bool {
        matches!(self, Self::Group { items, .. } if !items.is_empty())
    }

    pub(super) fn fits(&self, column: usize, tail: usize) -> bool {
        self.may_be_flat() && column + width(&self.flat()) + tail <= MAX_WIDTH
    }

    /// Returns true if no brackets hold more than they may on one line.
    fn may_be_flat(&self) -> bool {
        let (brackets, items) = match self {
            Self::Plain(_) => return true,
            Self::Named(_, value) => return value.may_be_flat(),
            Self::Chain(parts) => return width(&parts.concat()) <= CHAIN_WIDTH,
            Self::Group { brackets, items, .. } => (brackets, items),
        };
        let inner: usize = items.iter().map(|item| width(&item.flat()) + 2).sum();
        inner.saturating_sub(2) <= brackets.widest() && items.iter().all(Self::may_be_flat)
    }

    /// Returns the text behind `left`: on the same line, on the next one if only that has room, or
    /// broken.
    pub(super) fn layout_behind(
        &self,
        left: &str,
        indent: usize,
        column: usize,
        tail: usize,
    ) -> String {
        let column = column + width(left) + 1;
        let next_line = self.fits(indent + 4, tail) && !matches!(self, Self::Chain(_));
        if self.fits(column, tail) || !next_line {
            return format!("{left} {}", self.layout(indent, column, tail));
        }
        let deeper = indent + 4;
        format!("{left}\n{}{}", " ".repeat(deeper), self.layout(deeper, deeper, tail))
    }

    /// Returns `name: value`. rustfmt prefers breaking a call to moving it to the next line.
    fn layout_field(&self, name: &str, indent: usize, column: usize, tail: usize) -> String {
        let value = column + width(name) + 2;
        let opens = |head: &str| value + width(head) < MAX_WIDTH;
        match self {
            _ if self.fits(value, tail) => {}
            Self::Plain(text) if text.strip_suffix("()").is_some_and(opens) => {
                let head = text.trim_end_matches(')');
                return format!("{name}: {head}\n{})", " ".repeat(indent));
            }
            Self::Group { head, brackets: Brackets::Round, .. } if opens(head) => {
                return format!("{name}: {}", self.layout(indent, value, tail));
            }
            _ => {}
        }
        self.layout_behind(&format!("{name}:"), indent, column, tail)
    }

    /// Returns the text from `column` on, broken lines indented from `indent`, with room for a
    /// tail.
    pub(super) fn layout(&self, indent: usize, column: usize, tail: usize) -> String {
        let (head, brackets, items) = match self {
            Self::Plain(text) => return text.clone(),
            Self::Named(name, value) => return value.layout_field(name, indent, column, tail),
            Self::Chain(_) if self.fits(column, tail) => return self.flat(),
            Self::Chain(parts) => return parts.join(&format!("\n{}", " ".repeat(indent + 4))),
            Self::Group { head, brackets, items } => (head, brackets, items),
        };
        if items.is_empty() || self.fits(column, tail) {
            return self.flat();
        }
        Self::layout_broken(head, *brackets, items, (indent, column, tail))
    }

    /// Returns the broken text, even if one line has room.
    pub(super) fn layout_broken(
        head: &str,
        brackets: Brackets,
        items: &[Self],
        (indent, column, tail): (usize, usize, usize),
    ) -> String {
        let (open, close) = brackets.marks();
        if let [only] = items
            && only.breaks()
            && matches!(brackets, Brackets::Round | Brackets::Square)
        {
            let column = column + width(head) + 1;
            return format!("{head}{open}{}{close}", only.layout(indent, column, tail + 1));
        }
        let deeper = indent + 4;
        let mut text = format!("{head}{open}\n");
        for line in broken(brackets, items, deeper) {
            text.extend(std::iter::repeat_n(' ', deeper));
            text.push_str(&line);
            text.push('\n');
        }
        text.extend(std::iter::repeat_n(' ', indent));
        text + close
    }
}

/// Splits the parameters of a type, at the commas outside other types.
fn split(parameters: &str) -> Vec<&str> {
    let mut depth = 0;
    let outermost = |char: char| {
        depth += i32::from(char == '<') - i32::from(char == '>');
        char == ',' && depth == 0
    };
    parameters.split(outermost).map(str::trim).collect()
}

/// Returns items with commas: short elements of an array share lines, all others have their own.
fn broken(brackets: Brackets, items: &[Expr], indent: usize) -> Vec<String> {
    let flat: Vec<_> = items.iter().map(Expr::flat).collect();
    if brackets == Brackets::Square && flat.iter().all(|item| width(item) <= SHORT_ELEMENT) {
        let items: Vec<_> = flat.iter().map(String::as_str).collect();
        return filled(&items, indent);
    }
    let comma = |item: &Expr| {
        let text = item.layout(indent, indent, 1);
        // The rest of a struct must be last.
        if text.starts_with("..") { text } else { format!("{text},") }
    };
    items.iter().map(comma).collect()
}

pub(super) fn filled(items: &[&str], indent: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (index, item) in items.iter().enumerate() {
        let line = lines.last().map_or(0, |line| width(line));
        let space = usize::from(line > 0);
        // rustfmt counts the space behind a comma that more items follow.
        let followed = usize::from(index + 1 < items.len());
        if indent + line + space + width(item) + 1 + followed > MAX_WIDTH {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(item);
            line.push(',');
        }
    }
    lines
}
