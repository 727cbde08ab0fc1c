//! IDLs with types that have the names of Rust's prelude.

use std::path::{Path, PathBuf};

use breezeway_idl::Error;

use crate::write;

/// The items of `std::prelude` in all editions, macros aside, which no IDL can define.
const PRELUDE: [&str; 46] = [
    "AlignOf",
    "AlignOfVal",
    "AsMut",
    "AsRef",
    "AsyncFn",
    "AsyncFnMut",
    "AsyncFnOnce",
    "Box",
    "Clone",
    "Copy",
    "Default",
    "DoubleEndedIterator",
    "Drop",
    "Eq",
    "Err",
    "ExactSizeIterator",
    "Extend",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromIterator",
    "Future",
    "Into",
    "IntoFuture",
    "IntoIterator",
    "Iterator",
    "None",
    "Ok",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Result",
    "Send",
    "SizeOf",
    "SizeOfVal",
    "Sized",
    "Some",
    "String",
    "Sync",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "Unpin",
];

/// Those that neither generated nor derived code uses: alone, they cannot clash with anything.
const UNUSED: [&str; 21] = [
    "AlignOf",
    "AlignOfVal",
    "AsMut",
    "AsRef",
    "AsyncFn",
    "AsyncFnMut",
    "AsyncFnOnce",
    "DoubleEndedIterator",
    "Drop",
    "Extend",
    "Fn",
    "FromIterator",
    "IntoFuture",
    "SizeOf",
    "SizeOfVal",
    "Sized",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "Unpin",
];

/// Names of the standard library that derived and generated code uses.
const OTHERS: [&str; 8] =
    ["BTreeMap", "Debug", "Display", "Error", "Formatter", "Hash", "Self", "Vec"];

/// Writes a file for each name, one for all of them, and one for what becomes such a name.
pub(crate) fn files(out: &Path) -> Result<Vec<PathBuf>, Error> {
    let names: Vec<_> = PRELUDE.into_iter().chain(OTHERS).collect();
    let mut files = Vec::new();
    let mut file = |module: String, text: String| {
        let path = out.join(format!("{}.thrift", module.replace('.', "_")));
        files.push(path.clone());
        write(path, &format!("namespace rs {module}\n{text}{OTHER_TYPES}"))
    };
    for name in names.iter().filter(|name| !UNUSED.contains(name)) {
        // An enum's name is one of a type and of a value.
        file(format!("alone.{name}"), shaped("enum", name))?;
    }
    let each = |first: usize| {
        let shapes = SHAPES.iter().cycle().skip(first);
        names.iter().zip(shapes).map(|(name, shape)| shaped(shape, name)).collect()
    };
    for (index, shape) in SHAPES.iter().enumerate() {
        file(format!("together.{shape}_first"), each(index))?;
    }
    let snake = |name: &&str| shaped("enum", &snake(name));
    file("converted.types".to_owned(), names.iter().map(snake).collect())?;
    file("converted.values".to_owned(), names.iter().map(|name| values(name)).collect())?;
    Ok(files)
}

/// The shapes of definitions, in turn.
const SHAPES: [&str; 3] = ["enum", "exception", "typedef"];

/// A definition of this shape and name.
fn shaped(shape: &str, name: &str) -> String {
    let body = match shape {
        "enum" => "{ A = 1, None = 2, Some = 3 }",
        "exception" => "{ 1: string message }",
        _ => return format!("typedef list<string> {name}\n"),
    };
    format!("{shape} {name} {body}\n")
}

/// A constant, a function, and a struct with a field of this name.
fn values(name: &str) -> String {
    let snake = snake(name);
    format!(
        "const i32 {name} = 1
        const list<Inner> {snake} = [{{}}]
        struct Of{name} {{ 1: optional i32 {snake}, 2: i32 {name}_2 = 2 }}\n"
    )
}

/// `IntoIterator` → `into_iterator`.
fn snake(name: &str) -> String {
    let mut words = String::new();
    for char in name.chars() {
        if char.is_ascii_uppercase() && !words.is_empty() {
            words.push('_');
        }
        words.push(char.to_ascii_lowercase());
    }
    words
}

/// Types and methods; for them the generator uses every name that it does not define.
const OTHER_TYPES: &str = "
struct Inner {
    1: i32 a = 1, 2: optional Inner b, 3: list<i32> c, 4: map<string, list<Inner>> d,
    5: list<Inner> e
}
exception Fault { 1: optional string message }
service Work { void work(1: Inner inner) throws (1: Fault fault) }
";
