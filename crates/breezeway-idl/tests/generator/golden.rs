//! What is generated for some files of the corpus is kept in `tests/golden`.
//!
//! `UPDATE_GOLDEN=1 cargo test -p breezeway-idl --test generator golden` writes the files anew.

use std::fs;
use std::path::{Path, PathBuf};

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

/// Those whose text is kept; the rest is compiled by `breezeway-idl-corpus`.
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
fn the_kept_files_generate_what_they_did() {
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

#[test]
fn no_text_has_unsafe_code_or_long_paths() {
    for file in corpus() {
        let text = generated(&file);
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            assert!(!line.contains("unsafe {"), "{}: {line}", file.display());
            let is_import = line.trim_start().starts_with("use ");
            let is_macro = line.contains("breezeway_thrift::open_enum!");
            let noisy =
                ["std::", "core::", "breezeway_thrift::"].iter().any(|path| line.contains(path));
            assert!(is_import || is_macro || !noisy, "{}: {line}", file.display());
        }
    }
}
