//! Conversion of Thrift names to Rust names.

use std::collections::HashSet;

/// Converts to snake case: `getUser`, `GetUser`, `GET_USER` → `get_user`.
pub(crate) fn snake(name: &str) -> String {
    join(name, "_", |word| word.to_lowercase())
}

/// Converts to Pascal case: `user_id`, `userId` → `UserId`.
pub(crate) fn pascal(name: &str) -> String {
    join(name, "", capitalized)
}

/// Converts to upper case: `maxSize`, `max_size` → `MAX_SIZE`.
pub(crate) fn screaming(name: &str) -> String {
    join(name, "_", |word| word.to_uppercase())
}

/// Makes a name valid in Rust: keywords become raw, and those that cannot get an underscore.
pub(crate) fn escape(name: &str) -> String {
    match name {
        "self" | "Self" | "super" | "crate" => format!("{name}_"),
        keyword if KEYWORDS.contains(&keyword) => format!("r#{keyword}"),
        other => other.to_owned(),
    }
}

/// Names in one scope, each used once.
#[derive(Debug, Default)]
pub(crate) struct Taken(HashSet<String>);

impl Taken {
    /// Creates a scope in which these names are already in use.
    pub(crate) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(names.into_iter().map(str::to_owned).collect())
    }

    /// Returns the name, with the lowest number behind it that makes it unique if needed.
    pub(crate) fn give(&mut self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{name}{}{number}", separator(name)));
        let mut candidates = std::iter::once(name.to_owned()).chain(numbered);
        let new = candidates.find(|candidate| !self.0.contains(candidate)).unwrap_or_default();
        self.0.insert(new.clone());
        new
    }

    /// Returns true if the name is in use.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// Returns the separator before a number: `FOO2` would read like one word, `Foo2` does not.
fn separator(name: &str) -> &'static str {
    if name.starts_with(|char: char| char.is_ascii_uppercase()) && !name.contains('_') {
        ""
    } else {
        "_"
    }
}

fn join(name: &str, between: &str, each: impl Fn(&str) -> String) -> String {
    let words = words(name);
    // Underscores alone do not make a recognisable name.
    let words = if words.is_empty() { vec!["unnamed"] } else { words };
    let words: Vec<_> = words.into_iter().map(each).collect();
    let joined = words.join(between);
    let is_number = joined.starts_with(|char: char| char.is_ascii_digit());
    if is_number { format!("_{joined}") } else { joined }
}

fn capitalized(word: &str) -> String {
    let lower = word.to_lowercase();
    let mut chars = lower.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Splits at underscores, before a capital behind a small letter, and before the last capital of
/// several: `HTTPServer` → `HTTP`, `Server`.
fn words(name: &str) -> Vec<&str> {
    // Names of files can have other characters too.
    name.split(|char: char| !char.is_ascii_alphanumeric())
        .flat_map(humps)
        .filter(|word| !word.is_empty())
        .collect()
}

fn humps(part: &str) -> Vec<&str> {
    let chars = part.as_bytes();
    let begins = |index: usize| {
        let small = |at: usize| chars.get(at).is_some_and(|char| !char.is_ascii_uppercase());
        let next_is_letter = chars.get(index + 1).is_some_and(u8::is_ascii_lowercase);
        chars[index].is_ascii_uppercase() && (small(index - 1) || next_is_letter)
    };
    let mut bounds = vec![0];
    bounds.extend((1..chars.len()).filter(|&index| begins(index)));
    bounds.push(chars.len());
    bounds.windows(2).map(|pair| &part[pair[0]..pair[1]]).collect()
}

/// Keywords of every edition of Rust, without those that cannot be raw.
const KEYWORDS: [&str; 48] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_converted() {
        for (name, snaked, pascaled, screamed) in [
            ("getUser", "get_user", "GetUser", "GET_USER"),
            ("HTTPServer", "http_server", "HttpServer", "HTTP_SERVER"),
            ("FOO_BAR", "foo_bar", "FooBar", "FOO_BAR"),
            ("__a__b", "a_b", "AB", "A_B"),
            ("x1", "x1", "X1", "X1"),
            ("V2_1", "v2_1", "V21", "V2_1"),
            ("p99Ms", "p99_ms", "P99Ms", "P99_MS"),
            ("TRowMutations", "t_row_mutations", "TRowMutations", "T_ROW_MUTATIONS"),
            ("_", "unnamed", "Unnamed", "UNNAMED"),
            ("_1", "_1", "_1", "_1"),
        ] {
            assert_eq!((snake(name).as_str(), pascal(name).as_str()), (snaked, pascaled), "{name}");
            assert_eq!(screaming(name), screamed, "{name}");
        }
    }

    #[test]
    fn keywords_are_escaped() {
        assert_eq!(escape("type"), "r#type");
        assert_eq!(escape("self"), "self_");
        assert_eq!(escape("Self"), "Self_");
        assert_eq!(escape("name"), "name");
    }

    #[test]
    fn a_name_is_given_once() {
        let mut taken = Taken::new(["x"]);
        assert_eq!([taken.give("x"), taken.give("x"), taken.give("Foo")], ["x_2", "x_3", "Foo"]);
        assert_eq!(taken.give("Foo"), "Foo2");
    }
}
