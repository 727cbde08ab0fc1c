//! Escaping of text from outside for errors and logs: on one line, without control of the terminal.

/// Returns `text` with unprintable characters escaped, such as line breaks and the sequences that
/// control a terminal. Quotation marks and apostrophes stay as they are.
pub fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\'' | '"' => printable.push(char),
            _ => printable.extend(char.escape_debug()),
        }
    }
    printable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_controls_a_terminal_or_ends_a_line_gets_through() {
        assert_eq!(printable("\x1b[2J\r\n\0"), "\\u{1b}[2J\\r\\n\\0");
        assert_eq!(printable("a\u{202e}b"), "a\\u{202e}b");
    }

    #[test]
    fn ordinary_text_is_unchanged() {
        for text in ["it's \"busy\"", "Größe 7 µs", "再来"] {
            assert_eq!(printable(text), text);
        }
    }
}
