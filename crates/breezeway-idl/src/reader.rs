//! Reader of words, with the comments around them.

use crate::comment;
use crate::error::{Position, Problem};
use crate::parse::Fault;
use crate::syntax::Name;
use crate::token::{Kind, Token};

/// Reads the words of a file; comments are skipped anywhere.
pub(crate) struct Reader<'a> {
    tokens: Vec<Token<'a>>,
    next: usize,
    /// Place of the file's end.
    end: Position,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(tokens: Vec<Token<'a>>, end: Position) -> Self {
        let mut reader = Self { tokens, next: 0, end };
        reader.pass_comments();
        reader
    }

    fn pass_comments(&mut self) {
        while self.tokens.get(self.next).is_some_and(|token| token.kind == Kind::Comment) {
            self.next += 1;
        }
    }

    pub(crate) fn peek(&self) -> Option<&Token<'a>> {
        self.tokens.get(self.next)
    }

    /// Returns the place of the next word.
    pub(crate) fn at(&self) -> Position {
        self.peek().map_or(self.end, |token| token.start)
    }

    /// Takes the next word.
    pub(crate) fn advance(&mut self) {
        self.next += 1;
        self.pass_comments();
    }

    /// Returns the text of the next word, if it is of this kind.
    pub(crate) fn text_of(&self, kind: Kind) -> Option<&'a str> {
        self.peek().filter(|token| token.kind == kind).map(|token| token.text)
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.text_of(Kind::Word) == Some(word)
    }

    pub(crate) fn is_mark(&self, mark: &str) -> bool {
        self.text_of(Kind::Punctuation) == Some(mark)
    }

    /// Takes the word if it comes next.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// Takes the mark if it comes next.
    pub(crate) fn take_mark(&mut self, mark: &str) -> bool {
        let found = self.is_mark(mark);
        if found {
            self.advance();
        }
        found
    }

    pub(crate) fn mark(&mut self, mark: &'static str) -> Result<(), Fault> {
        if self.take_mark(mark) { Ok(()) } else { Err(self.unexpected(&format!("'{mark}'"))) }
    }

    /// Takes a comma or semicolon, which may be omitted.
    pub(crate) fn separator(&mut self) {
        if !self.take_mark(",") {
            self.take_mark(";");
        }
    }

    /// Returns the error at the next word.
    pub(crate) fn unexpected(&self, expected: &str) -> Fault {
        let found = self.peek().map_or("unexpected end of file".to_owned(), |token| {
            format!("unexpected '{}'", token.text)
        });
        (self.at(), Problem::Syntax(format!("{found}, expected {expected}")))
    }

    pub(crate) fn name(&mut self) -> Result<Name, Fault> {
        let Some(text) = self.text_of(Kind::Word) else { return Err(self.unexpected("a name")) };
        let name = Name { text: text.to_owned(), at: self.at() };
        self.advance();
        Ok(name)
    }

    /// Reads `a.b.c`.
    pub(crate) fn path(&mut self) -> Result<Name, Fault> {
        let mut path = self.name()?;
        while self.take_mark(".") {
            path.text.push('.');
            path.text += &self.name()?.text;
        }
        Ok(path)
    }

    /// Reads a quoted string, with escapes resolved.
    pub(crate) fn literal(&mut self) -> Result<Name, Fault> {
        let Some(text) = self.text_of(Kind::Literal) else {
            return Err(self.unexpected("a quoted text"));
        };
        let literal = Name { text: unescaped(text), at: self.at() };
        self.advance();
        Ok(literal)
    }

    /// Returns the comments that describe the definition beginning with the next word.
    pub(crate) fn docs_before(&self) -> Vec<String> {
        if self.peek().is_none() {
            return Vec::new();
        }
        comment::leading(&self.tokens, self.next)
    }

    /// Returns the comments above, and the one behind on the line of the last word.
    pub(crate) fn docs(&self, mut docs: Vec<String>) -> Vec<String> {
        let is_comment = |index: &usize| self.tokens[*index].kind == Kind::Comment;
        let first = (0..self.next).rev().take_while(is_comment).last().unwrap_or(self.next);
        let behind = comment::trailing(&self.tokens, first);
        if !docs.is_empty() && !behind.is_empty() {
            docs.push(String::new());
        }
        docs.extend(behind);
        docs
    }
}

/// Returns the text in quotes, escapes resolved.
fn unescaped(quoted: &str) -> String {
    let mut text = String::new();
    let mut chars = quoted[1..quoted.len() - 1].chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            text.push(char);
            continue;
        }
        match chars.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('0') => text.push('\0'),
            Some('a') => text.push('\x07'),
            Some('b') => text.push('\x08'),
            Some('f') => text.push('\x0c'),
            Some('v') => text.push('\x0b'),
            Some(same @ ('\\' | '\'' | '"')) => text.push(same),
            // As in Apache's compiler, an unknown escape is kept literally.
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}
