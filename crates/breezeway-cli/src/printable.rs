//! Bytes and text of others as text that a terminal can show.

use std::fmt::Write;

/// Returns text that may come from the peer, without control characters.
pub(crate) fn one_line(text: &str) -> String {
    text.chars()
        .flat_map(|char| if char.is_control() { char.escape_debug().collect() } else { vec![char] })
        .collect()
}

/// Returns UTF-8 text in quotes, and other bytes in hexadecimal.
pub(crate) fn bytes(bytes: &[u8], is_binary: bool) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !is_binary && !text.contains(is_unprintable) => format!("{text:?}"),
        _ => hexadecimal(bytes),
    }
}

fn is_unprintable(char: char) -> bool {
    char.is_control() && !matches!(char, '\n' | '\r' | '\t')
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = format!("{} bytes", bytes.len());
    if !bytes.is_empty() {
        text += " 0x";
    }
    for byte in bytes {
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").unwrap_or_default();
    }
    text
}
