//! Compares the code generated for some files of the corpus with `tests/golden`.
//!
//! `UPDATE_GOLDEN=1 cargo test -p breezeway-idl --test generator golden` writes the files again.

use std::fs;
use std::path::{Path, PathBuf};

use breezeway_idl::{Builder, Services};

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// The corpus, in order.
fn corpus() -> Vec<PathBuf> {
    let entries = fs::read_dir(tests().join("corpus")).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Files with a kept text; the rest is compiled by `breezeway-idl-corpus`.
const KEPT: [&str; 5] = ["benchmark", "consts", "defaults", "docs", "large"];

fn kept() -> impl Iterator<Item = PathBuf> {
    let is_kept = |file: &PathBuf| KEPT.iter().any(|name| file.file_stem().unwrap() == *name);
    corpus().into_iter().filter(is_kept)
}

fn generated(file: &Path) -> String {
    let schema =
        breezeway_idl::read(&[file.to_owned()], &[]).unwrap_or_else(|error| panic!("{error}"));
    breezeway_idl::generate(&schema).unwrap_or_else(|error| panic!("{error}"))
}

/// An example needs one of them.
fn golden(file: &Path) -> PathBuf {
    let name = file.with_extension("rs");
    let name = name.file_name().unwrap();
    let directory = if name == "benchmark.rs" { "../examples/read_file" } else { "golden" };
    tests().join(directory).join(name)
}

#[test]
fn golden_files_are_unchanged() {
    for file in kept() {
        let (text, golden) = (generated(&file), golden(&file));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&golden, text).unwrap();
        } else {
            let kept = fs::read_to_string(&golden).unwrap_or_default();
            assert!(
                text == kept,
                "{} differs: run with UPDATE_GOLDEN=1, and look",
                golden.display()
            );
        }
    }
}

#[test]
fn the_text_is_the_same_every_time() {
    for file in corpus() {
        assert!(generated(&file) == generated(&file), "{}", file.display());
    }
}

/// Names of the standard library that are in scope everywhere.
const PRELUDE: [&str; 20] = [
    "Box",
    "Default",
    "Err",
    "ExactSizeIterator",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "Future",
    "Into",
    "IntoIterator",
    "None",
    "Ok",
    "Option",
    "Result",
    "Send",
    "Some",
    "String",
    "Sync",
    "Vec",
];

/// Asserts that a line names what the IDL does not define by absolute paths.
fn assert_absolute(line: &str, own: &[&str], file: &Path) {
    for name in PRELUDE.iter().filter(|name| !own.contains(name)) {
        for (at, _) in line.match_indices(name) {
            let is_part = |char: char| char.is_alphanumeric() || char == '_';
            let (before, behind) = (&line[..at], &line[at + name.len()..]);
            let is_name = !before.ends_with(is_part) && !behind.starts_with(is_part);
            assert!(!is_name || before.ends_with("::"), "{}: {line}", file.display());
        }
    }
    for start in ["std::", "core::", "breezeway_rpc::", "breezeway_thrift::"] {
        for (at, _) in line.match_indices(start) {
            assert!(line[..at].ends_with("::"), "{}: {line}", file.display());
        }
    }
}

/// The name of the type or trait that a line defines.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.trim_start().strip_prefix("pub ")?.split([' ', '<', '(', ':']);
    let is_definition = ["struct", "enum", "trait", "type"].contains(&words.next()?);
    if is_definition { words.next() } else { None }
}

#[test]
fn text_has_no_unsafe_code_and_names_all_by_absolute_path() {
    for file in corpus() {
        let services = Builder::new().services(Services::BlockingAndAsync).in_place();
        let schema = services.read(&[&file]).unwrap_or_else(|error| panic!("{error}"));
        for text in [generated(&file), breezeway_idl::generate(&schema).unwrap()] {
            let own: Vec<_> = text.lines().filter_map(defined).collect();
            for line in text.lines().map(str::trim_start) {
                // Derives and the parameters of a macro are names of their own.
                let is_exception = line.contains(": Display") || line.contains(": Debug");
                let is_apart = line.starts_with("//") || line.contains("#[derive(");
                assert!(!line.contains("unsafe {"), "{}: {line}", file.display());
                if !is_apart && !is_exception && !line.contains('"') {
                    assert_absolute(line, &own, &file);
                }
            }
        }
    }
}
