//! Comments as rustdoc: the same text, without constructs that rustdoc or clippy would reject.

use crate::layout::Code;

/// Writes lines as outer documentation.
pub(crate) fn outer(code: &mut Code, docs: &[String]) {
    write(code, "///", docs);
}

/// Writes a line of the generator, with its links.
pub(crate) fn link(code: &mut Code, line: &str) {
    code.line(&format!("/// {line}"));
}

/// Writes lines as the documentation of the module they stand in.
pub(crate) fn inner(code: &mut Code, docs: &[String]) {
    write(code, "//!", docs);
}

fn write(code: &mut Code, marker: &str, docs: &[String]) {
    for line in rustdoc(docs) {
        code.line(format!("{marker} {line}").trim_end());
    }
}

/// Returns `An` before a vowel.
fn article(name: &str) -> &'static str {
    if name.starts_with(['A', 'E', 'I', 'O', 'U']) { "An" } else { "A" }
}

/// Names of types that are derive macros too: a link to one could mean either.
const DERIVES: [&str; 9] =
    ["Clone", "Copy", "Debug", "Default", "Eq", "Hash", "Ord", "PartialEq", "PartialOrd"];

/// Returns a link to a type of this module, with its article.
pub(crate) fn a_link(name: &str) -> String {
    let linked = if DERIVES.contains(&name) { format!("`{name}`") } else { format!("[`{name}`]") };
    format!("{} {linked}", article(name))
}

/// Appends annotations on one line, below the description.
pub(crate) fn with_annotations(docs: &[String], annotations: &[(String, String)]) -> Vec<String> {
    let mut docs = docs.to_vec();
    if annotations.is_empty() {
        return docs;
    }
    if !docs.is_empty() {
        docs.push(String::new());
    }
    let pair = |(key, value): &(String, String)| format!("{key} = {value:?}");
    let pairs: Vec<_> = annotations.iter().map(pair).collect();
    docs.push(format!("IDL: `({})`", literal(&pairs.join(", "))));
    docs
}

/// Returns text for a code span: a backquote would end it.
fn literal(text: &str) -> String {
    text.replace('`', "'")
}

fn rustdoc(docs: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut item = None;
    for line in docs {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.is_empty() {
            item = None;
            lines.push(String::new());
        } else if let Some(width) = marker_width(&line) {
            item = Some(width);
            lines.push(escape(&line));
        } else {
            let indent = item.unwrap_or(0);
            lines.push(format!("{}{}", " ".repeat(indent), escape(&line)));
        }
    }
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    lines.truncate(end);
    lines
}

/// Returns the distance of a list item's text from its marker: continuation lines must be indented
/// as far.
fn marker_width(line: &str) -> Option<usize> {
    let (marker, _) = line.split_once(' ')?;
    let number = marker.strip_suffix(['.', ')']);
    let numbered = number.is_some_and(|digits| {
        !digits.is_empty() && digits.len() < 9 && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    let bullet = matches!(marker, "-" | "*" | "+");
    (bullet || numbered).then_some(marker.len() + 1)
}

/// Escapes text that Markdown would interpret as a tag, a link, a fence or a heading, outside code
/// spans.
fn escape(line: &str) -> String {
    let line = line.replace("```", "'''").replace("~~~", "---");
    let closed = line.matches('`').count().is_multiple_of(2);
    let mut text = String::new();
    let mut in_code = false;
    for (index, word) in line.split(' ').enumerate() {
        if index > 0 {
            text.push(' ');
        }
        if !in_code && is_url(word) {
            text.push_str(&autolink(word));
            continue;
        }
        for char in word.chars() {
            in_code ^= char == '`' && closed;
            if !in_code && matches!(char, '<' | '>' | '[' | ']') || char == '`' && !closed {
                text.push('\\');
            }
            text.push(char);
        }
    }
    let special =
        text.starts_with(['#', '|', '=']) || text.starts_with("---") || text.starts_with("***");
    if special { format!("\\{text}") } else { text }
}

fn is_url(word: &str) -> bool {
    word.contains("http://") || word.contains("https://")
}

/// Returns `<https://…>`, without the punctuation around it.
fn autolink(word: &str) -> String {
    let start = word.find("http").unwrap_or(0);
    let (before, url) = word.split_at(start);
    let end = url.find(['<', '>', '"', '`', ')', ']']).unwrap_or(url.len());
    let (url, after) = url.split_at(end);
    let trimmed = url.trim_end_matches(['.', ',', ';', ':', '!', '?']);
    let punctuation = &url[trimmed.len()..];
    let plain = |text: &str| text.replace(['<', '>', '[', ']', '`'], "");
    format!("{}<{trimmed}>{punctuation}{}", plain(before), plain(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        rustdoc(&text.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn markup_is_made_harmless() {
        assert_eq!(lines("a <tag> and [x]"), ["a \\<tag\\> and \\[x\\]"]);
        assert_eq!(lines("a `<b>` c"), ["a `<b>` c"]);
        assert_eq!(lines("one ` only"), ["one \\` only"]);
        assert_eq!(lines("see (https://x.y/z)."), ["see (<https://x.y/z>)."]);
        assert_eq!(lines("# not a heading"), ["\\# not a heading"]);
    }

    #[test]
    fn lists_go_on_under_their_text() {
        assert_eq!(lines("- a\n  b\n\nc\n1. d\ne"), ["- a", "  b", "", "c", "1. d", "   e"]);
    }

    #[test]
    fn indented_code_is_no_doctest() {
        assert_eq!(lines("    let x;\n```\nx\n```"), ["let x;", "'''", "x", "'''"]);
    }
}
