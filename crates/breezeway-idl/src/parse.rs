//! From text to a tree with positions.

use pilota_thrift_parser::{Error as ParserError, FileParser, FileSource};

use crate::comment;
use crate::cursor::Cursor;
use crate::error::{Position, Problem};
use crate::locate;
use crate::syntax::Tree;
use crate::token::{Kind, Token, tokens};

/// How deeply brackets may nest: far more than anybody writes, and safe for the parser's stack.
const MAX_NESTING: usize = 64;

/// How long chains of typedefs, constants or includes may be, for the sake of our own stack.
pub(crate) const MAX_CHAIN: usize = 256;

/// A problem and where it is.
pub(crate) type Fault = (Position, Problem);

/// Reads one file.
pub(crate) fn parse(text: &str) -> Result<Tree, Fault> {
    let tokens = tokens(text);
    check_closed(&tokens)?;
    check_nesting(&tokens)?;
    let file = FileParser::new(FileSource::new(text))
        .parse()
        .map_err(|error| syntax_fault(&error, &tokens))?;
    let docs = comment::of_file(&tokens);
    Ok(Tree { docs, ..locate::tree(&file, &mut Cursor::new(tokens)) })
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

/// The parser says where in its message only.
fn syntax_fault(error: &ParserError, tokens: &[Token<'_>]) -> Fault {
    let message = format!("{error:?}");
    let (position, reason) = first_reason(&message).unwrap_or_default();
    (position, Problem::Syntax(in_our_words(reason, position, tokens)))
}

/// Takes `at line L:C - reason`, or the first of several `Line L:C - reason`, apart.
fn first_reason(message: &str) -> Option<(Position, &str)> {
    let (_, located) = message.split_once(" at line ").or_else(|| message.split_once(" Line "))?;
    let (position, reason) = located.split_once(" - ")?;
    let (line, column) = position.split_once(':')?;
    let reason = reason.split("\n  2. Line ").next().unwrap_or(reason);
    Some((Position { line: line.parse().ok()?, column: column.parse().ok()? }, reason))
}

/// The parser expects characters, people write words.
fn in_our_words(reason: &str, position: Position, tokens: &[Token<'_>]) -> String {
    let Some((_, expected)) =
        reason.strip_prefix("found ").and_then(|found| found.split_once(" expected "))
    else {
        return reason.to_owned();
    };
    let found = match tokens.iter().find(|token| token.start >= position) {
        Some(token) if token.start == position => format!("unexpected '{}'", token.text),
        Some(_) => "unexpected text".to_owned(),
        None => "unexpected end of file".to_owned(),
    };
    let marks = ["':'", "'('", "')'", "'{'", "'}'", "'<'", "'>'", "'='", "'\"'"];
    let name = expected.contains("identifier").then_some("a name");
    let wanted: Vec<_> =
        name.into_iter().chain(marks.into_iter().filter(|mark| expected.contains(mark))).collect();
    match wanted.as_slice() {
        [] => found,
        [one] => format!("{found}, expected {one}"),
        [all @ .., last] => format!("{found}, expected {} or {last}", all.join(", ")),
    }
}
