//! The words of a .thrift file with their positions.

use crate::error::Position;

/// One word, with its start and end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    pub(crate) start: Position,
    /// Line on which it ends: comments and strings span lines.
    pub(crate) end_line: u32,
}

/// Kind of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    Number,
    Literal,
    Punctuation,
    Comment,
    /// A comment or a string cut off by the end of the file.
    Unclosed,
}

/// Splits a file into its words; blanks are dropped, comments kept.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut scanner = Scanner { rest: text, at: Position { line: 1, column: 1 } };
    std::iter::from_fn(|| scanner.next_token()).collect()
}

struct Scanner<'a> {
    rest: &'a str,
    at: Position,
}

impl<'a> Scanner<'a> {
    fn next_token(&mut self) -> Option<Token<'a>> {
        let blank = self.rest.len() - self.rest.trim_start().len();
        self.advance(blank);
        let first = self.rest.chars().next()?;
        let (kind, length) = measure(self.rest, first);
        let start = self.at;
        let text = self.advance(length);
        Some(Token { kind, text, start, end_line: self.at.line })
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let (passed, rest) = self.rest.split_at(bytes);
        for char in passed.chars() {
            if char == '\n' {
                self.at = Position { line: self.at.line + 1, column: 1 };
            } else {
                self.at.column += 1;
            }
        }
        self.rest = rest;
        passed
    }
}

/// Returns the kind and length in bytes of the word that begins here.
fn measure(rest: &str, first: char) -> (Kind, usize) {
    if first == '#' || rest.starts_with("//") {
        return (Kind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if let Some(comment) = rest.strip_prefix("/*") {
        return comment
            .find("*/")
            .map_or((Kind::Unclosed, rest.len()), |end| (Kind::Comment, end + 4));
    }
    match first {
        '"' | '\'' => literal(rest, first),
        'a'..='z' | 'A'..='Z' | '_' => (Kind::Word, run(rest, is_word)),
        '0'..='9' => (Kind::Number, number(rest)),
        '+' | '-' | '.'
            if rest[1..].starts_with(|next: char| next.is_ascii_digit() || next == '.') =>
        {
            (Kind::Number, 1 + number(&rest[1..]))
        }
        other => (Kind::Punctuation, other.len_utf8()),
    }
}

fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

fn run(rest: &str, belongs: impl Fn(char) -> bool) -> usize {
    rest.find(|char| !belongs(char)).unwrap_or(rest.len())
}

fn number(rest: &str) -> usize {
    let digits = run(rest, |char| char.is_ascii_alphanumeric() || char == '.');
    let signed_exponent = !rest.starts_with("0x")
        && rest[..digits].ends_with(['e', 'E'])
        && rest[digits..].starts_with(['+', '-']);
    if signed_exponent {
        return digits + 1 + run(&rest[digits + 1..], |char| char.is_ascii_digit());
    }
    digits
}

fn literal(rest: &str, quote: char) -> (Kind, usize) {
    let mut escaped = false;
    for (index, char) in rest.char_indices().skip(1) {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if char == quote => return (Kind::Literal, index + 1),
            _ => {}
        }
    }
    (Kind::Unclosed, rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<(Kind, &str)> {
        tokens(text).into_iter().map(|token| (token.kind, token.text)).collect()
    }

    #[test]
    fn every_kind_of_token_is_recognised() {
        use Kind::*;
        assert_eq!(
            words("1: a_b = -2.5e-3 'x\\'y' /* c */ # d\n.5 0x1F"),
            [
                (Number, "1"),
                (Punctuation, ":"),
                (Word, "a_b"),
                (Punctuation, "="),
                (Number, "-2.5e-3"),
                (Literal, "'x\\'y'"),
                (Comment, "/* c */"),
                (Comment, "# d"),
                (Number, ".5"),
                (Number, "0x1F"),
            ]
        );
    }

    #[test]
    fn positions_count_lines_and_characters() {
        let found = tokens("é /* \n */ x");
        assert_eq!(found[1].start, Position { line: 1, column: 3 });
        assert_eq!(found[1].end_line, 2);
        assert_eq!(found[2].start, Position { line: 2, column: 5 });
    }

    #[test]
    fn unclosed_token_is_named() {
        assert_eq!(words("/* x"), [(Kind::Unclosed, "/* x")]);
        assert_eq!(words("'x\\'"), [(Kind::Unclosed, "'x\\'")]);
        assert_eq!(words("-"), [(Kind::Punctuation, "-")]);
    }
}
