//! Parsing of text into a tree with positions.

use crate::comment;
use crate::error::{Position, Problem};
use crate::grammar;
use crate::reader::Reader;
use crate::syntax::Tree;
use crate::token::{Kind, Token, tokens};

/// Maximum nesting of brackets: far more than in real files, and safe for the parser's stack.
const MAX_NESTING: usize = 64;

/// Maximum length of chains of typedefs, constants or includes, to protect the resolver's stack.
pub(crate) const MAX_CHAIN: usize = 256;

/// A problem and its place.
pub(crate) type Fault = (Position, Problem);

/// Parses one file.
pub(crate) fn parse(text: &str) -> Result<Tree, Fault> {
    let tokens = tokens(text);
    check_closed(&tokens)?;
    check_nesting(&tokens)?;
    let docs = comment::of_file(&tokens);
    Ok(Tree { docs, ..grammar::tree(&mut Reader::new(tokens, end_of(text)))? })
}

fn end_of(text: &str) -> Position {
    let line = text.matches('\n').count() + 1;
    let column = text.rsplit('\n').next().unwrap_or(text).chars().count() + 1;
    let fitting = |number| u32::try_from(number).unwrap_or(u32::MAX);
    Position { line: fitting(line), column: fitting(column) }
}

fn check_closed(tokens: &[Token<'_>]) -> Result<(), Fault> {
    let Some(token) = tokens.iter().find(|token| token.kind == Kind::Unclosed) else {
        return Ok(());
    };
    let what = if token.text.starts_with('/') { "comment" } else { "string" };
    Err((token.start, Problem::Unclosed(what)))
}

fn check_nesting(tokens: &[Token<'_>]) -> Result<(), Fault> {
    let mut depth = 0_usize;
    for token in tokens.iter().filter(|token| token.kind == Kind::Punctuation) {
        match token.text {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING {
            return Err((token.start, Problem::TooDeep { what: "brackets", limit: MAX_NESTING }));
        }
    }
    Ok(())
}
