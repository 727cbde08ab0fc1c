//! Walking a file's words beside the parser's tree.

use crate::comment;
use crate::error::Position;
use crate::token::{Kind, Token};

/// The next word that no part of the tree has claimed yet.
pub(crate) struct Cursor<'a> {
    tokens: Vec<Token<'a>>,
    next: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(tokens: Vec<Token<'a>>) -> Self {
        Self { tokens, next: 0 }
    }

    /// Claims the next occurrence of a word.
    pub(crate) fn word(&mut self, text: &str) -> Position {
        self.claim(|token| token.kind == Kind::Word && token.text == text)
    }

    /// Claims the parts of a dotted name; the position is the first one's.
    pub(crate) fn path<'b>(&mut self, segments: impl IntoIterator<Item = &'b str>) -> Position {
        let mut places = segments.into_iter().map(|segment| self.word(segment));
        let first = places.next();
        places.for_each(drop);
        first.unwrap_or_default()
    }

    /// Claims the next number.
    pub(crate) fn number(&mut self) -> Position {
        self.claim(|token| token.kind == Kind::Number)
    }

    /// Claims the next quoted string.
    pub(crate) fn literal(&mut self) -> Position {
        self.claim(|token| token.kind == Kind::Literal)
    }

    /// Claims the next such mark.
    pub(crate) fn mark(&mut self, mark: &str) -> Position {
        self.claim(|token| token.kind == Kind::Punctuation && token.text == mark)
    }

    /// The comments that describe the definition whose first word comes next.
    pub(crate) fn docs_before(&self) -> Vec<String> {
        let begins = |token: &Token<'_>| matches!(token.kind, Kind::Word | Kind::Number);
        let first = self.tokens[self.next..].iter().position(begins);
        first.map_or_else(Vec::new, |first| comment::leading(&self.tokens, self.next + first))
    }

    /// The comment behind the definition whose last word was claimed, on the same line.
    pub(crate) fn docs_behind(&self) -> Vec<String> {
        comment::trailing(&self.tokens, self.next)
    }

    /// A tree that was read from these words finds every one of them; the last position is a
    /// harmless answer to any other.
    fn claim(&mut self, wanted: impl Fn(&Token<'_>) -> bool) -> Position {
        let found = self.tokens[self.next..].iter().position(wanted);
        if let Some(found) = found {
            self.next += found + 1;
        }
        self.tokens
            .get(self.next.saturating_sub(1))
            .map_or_else(Position::default, |token| token.start)
    }
}
