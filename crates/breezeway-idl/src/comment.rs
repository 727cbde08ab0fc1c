//! Comments as documentation: assignment to definitions, and their text.

use crate::token::{Kind, Token};

/// Returns the comments right above the word at `index`: no empty line and no other word in
/// between.
///
/// A comment that begins on a line where another definition ends describes that one.
pub(crate) fn leading(tokens: &[Token<'_>], index: usize) -> Vec<String> {
    let mut first = index;
    while first > 0 && adjoins(tokens, first - 1) {
        first -= 1;
    }
    tokens[first..index].iter().flat_map(|token| lines(token.text)).collect()
}

fn adjoins(tokens: &[Token<'_>], index: usize) -> bool {
    let token = &tokens[index];
    let starts_a_line = index == 0 || tokens[index - 1].end_line < token.start.line;
    token.kind == Kind::Comment
        && starts_a_line
        && token.end_line + 1 >= tokens[index + 1].start.line
}

/// Returns the comment that follows on the line of the word before `index`, behind separators.
pub(crate) fn trailing(tokens: &[Token<'_>], index: usize) -> Vec<String> {
    let Some(last) = index.checked_sub(1).and_then(|last| tokens.get(last)) else {
        return Vec::new();
    };
    let closes = |token: &&Token<'_>| matches!(token.text, "," | ";" | ")" | "]" | "}");
    let behind = tokens[index..].iter().find(|token| !closes(token));
    match behind {
        Some(token) if token.kind == Kind::Comment && token.start.line == last.end_line => {
            lines(token.text)
        }
        _ => Vec::new(),
    }
}

/// Returns the text of a file's first comment, if an empty line or a header follows it.
pub(crate) fn of_file(tokens: &[Token<'_>]) -> Vec<String> {
    let comments = tokens.iter().take_while(|token| token.kind == Kind::Comment).count();
    let describes_file = tokens.get(comments).is_none_or(|next| {
        let header = ["namespace", "include", "cpp_include"].contains(&next.text);
        header || comments > 0 && tokens[comments - 1].end_line + 1 < next.start.line
    });
    let first = if describes_file { comments } else { 0 };
    tokens[..first].iter().flat_map(|token| lines(token.text)).collect()
}

/// Returns a comment's lines without the comment marks.
fn lines(comment: &str) -> Vec<String> {
    let Some(inner) = comment.strip_prefix("/*") else {
        return vec![comment.trim_start_matches(['/', '#', '!']).trim().to_owned()];
    };
    let inner = inner.strip_suffix("*/").unwrap_or(inner);
    let words: Vec<_> =
        inner.lines().map(|line| line.trim().trim_start_matches('*').trim()).collect();
    let from = words.iter().position(|line| !line.is_empty()).unwrap_or(words.len());
    let to = words.iter().rposition(|line| !line.is_empty()).map_or(from, |last| last + 1);
    words[from..to].iter().map(|line| (*line).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::tokens;

    fn docs_of(word: &str, text: &str) -> Vec<String> {
        let tokens = tokens(text);
        let index = tokens.iter().position(|token| token.text == word).unwrap();
        let mut docs = leading(&tokens, index);
        docs.extend(trailing(&tokens, index + 1));
        docs
    }

    #[test]
    fn comments_above_and_behind_describe_a_word() {
        assert_eq!(docs_of("x", "// a\n# b\nx, // c\ny"), ["a", "b", "c"]);
        assert_eq!(docs_of("x", "/** a\n *  b\n */\nx"), ["a", "b"]);
    }

    #[test]
    fn comments_apart_do_not() {
        assert!(docs_of("x", "// licence\n\nx").is_empty());
        assert!(docs_of("x", "w // of w\nx").is_empty());
        assert!(docs_of("x", "x\n// later").is_empty());
    }
}
