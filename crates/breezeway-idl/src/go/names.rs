//! Conversion of Thrift names to Go names, as thriftgo does it.

/// Words that Go names write in capitals.
const INITIALISMS: [&str; 38] = [
    "ACL", "API", "ASCII", "CPU", "CSS", "DNS", "EOF", "GUID", "HTML", "HTTP", "HTTPS", "ID", "IP",
    "JSON", "LHS", "QPS", "RAM", "RHS", "RPC", "SLA", "SMTP", "SQL", "SSH", "TCP", "TLS", "TTL",
    "UDP", "UI", "UID", "UUID", "URI", "URL", "UTF8", "VM", "XML", "XMPP", "XSRF", "XSS",
];

/// Keywords, predeclared names, imports, and local names of generated functions.
const RESERVED: [&str; 92] = [
    "any",
    "append",
    "args",
    "bool",
    "break",
    "breezeway",
    "buf",
    "byte",
    "call",
    "cap",
    "case",
    "chan",
    "clear",
    "client",
    "close",
    "comparable",
    "complex",
    "complex128",
    "complex64",
    "const",
    "context",
    "continue",
    "copy",
    "ctx",
    "default",
    "defer",
    "delete",
    "else",
    "err",
    "error",
    "errors",
    "fallthrough",
    "false",
    "float32",
    "float64",
    "for",
    "func",
    "go",
    "goto",
    "handler",
    "head",
    "if",
    "imag",
    "import",
    "init",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "interface",
    "iota",
    "len",
    "main",
    "make",
    "map",
    "math",
    "max",
    "min",
    "new",
    "nil",
    "off",
    "package",
    "panic",
    "print",
    "println",
    "range",
    "real",
    "recover",
    "request",
    "result",
    "return",
    "rpc",
    "rune",
    "seen",
    "select",
    "server",
    "stream",
    "string",
    "struct",
    "success",
    "switch",
    "thrift",
    "true",
    "type",
    "uint",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "uintptr",
    "var",
];

/// Converts to an exported name: `user_id` → `UserID`, `MAX_SIZE` → `MAXSIZE`.
pub(crate) fn exported(name: &str) -> String {
    let joined: String = words(name).map(title).collect();
    match joined.chars().next() {
        None => "Unnamed".to_owned(),
        Some(first) if first.is_ascii_uppercase() => joined,
        Some(_) => format!("X{joined}"),
    }
}

/// Converts to the name of a parameter: `user_id` → `userID`.
pub(crate) fn parameter(name: &str) -> String {
    let mut words = words(name);
    let first = words.next().unwrap_or("unnamed");
    let is_capital = first.chars().all(|char| !char.is_ascii_lowercase());
    let first = if is_capital { first.to_ascii_lowercase() } else { lower_first(first) };
    let joined = std::iter::once(first).chain(words.map(title)).collect::<String>();
    local(&if joined.starts_with(|char: char| char.is_ascii_digit()) {
        format!("x{joined}")
    } else {
        joined
    })
}

/// Makes a name usable beside the words of generated functions.
pub(crate) fn local(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next();
    // Loops inside each other have such variables.
    let is_variable = letters.all(|letter| Some(letter) == first);
    let is_reserved = is_variable || RESERVED.contains(&name);
    if is_reserved { format!("{name}_") } else { name.to_owned() }
}

/// Returns the name of a package whose path ends so.
pub(crate) fn package(last: &str) -> String {
    let name: String = last.chars().map(|char| if is_part(char) { char } else { '_' }).collect();
    let name = name.to_ascii_lowercase();
    local(&if name.starts_with(|char: char| char.is_ascii_lowercase()) {
        name
    } else {
        format!("p{name}")
    })
}

/// Returns the name of a file without its `.go`. Go reads what stands behind an underscore as a
/// system, or as the mark of a test.
pub(crate) fn file(stem: &str) -> String {
    let name = stem.replace('_', "-");
    if name.starts_with(['-', '.']) { format!("x{name}") } else { name }
}

fn is_part(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

fn title(word: &str) -> String {
    let upper = word.to_ascii_uppercase();
    if !word.starts_with(|char: char| char.is_ascii_lowercase()) {
        return word.to_owned();
    }
    if INITIALISMS.contains(&upper.as_str()) {
        return upper;
    }
    let (first, rest) = word.split_at(1);
    format!("{}{rest}", first.to_ascii_uppercase())
}

fn lower_first(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    format!("{}{rest}", first.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_thriftgo() {
        for (name, expected) in [
            ("user_id", "UserID"),
            ("userId", "UserId"),
            ("URL", "URL"),
            ("url", "URL"),
            ("_private", "Private"),
            ("_1", "X1"),
            ("_", "Unnamed"),
            ("x_1", "X1"),
        ] {
            assert_eq!(exported(name), expected, "{name}");
        }
    }

    #[test]
    fn local_names_avoid_those_of_generated_functions() {
        for (name, expected) in [
            ("user_id", "userID"),
            ("ID", "id"),
            ("type", "type_"),
            ("ctx", "ctx_"),
            ("v", "v_"),
            ("ii", "ii_"),
            ("of", "of"),
        ] {
            assert_eq!(parameter(name), expected, "{name}");
        }
        assert_eq!(
            [package("V2"), package("my-service"), package("1")],
            ["v2", "my_service", "p1"]
        );
    }

    #[test]
    fn file_names_name_no_system() {
        assert_eq!([file("user_linux"), file("_x"), file("user")], ["user-linux", "x-x", "user"]);
    }
}
