//! About how wide text is. Fonts differ between machines, so this errs on the wide side.

/// The width of `text` in a sans-serif font of `size` pixels.
pub(super) fn of(text: &str, size: f64) -> f64 {
    text.chars().map(share).sum::<f64>() * size
}

/// A character's share of the font's size: that of the widest of the usual fonts.
fn share(char: char) -> f64 {
    match char {
        ' ' | ',' | '.' | ':' | 'i' | 'l' => 0.32,
        'M' | 'm' | 'w' | '×' => 0.9,
        char if char.is_ascii_digit() => 0.64,
        char if char.is_uppercase() => 0.69,
        _ => 0.6,
    }
}
