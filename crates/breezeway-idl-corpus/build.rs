//! Generates Rust for the whole corpus, as any package would, and a list of its structs for the
//! tests.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use breezeway_idl::{Builder, Error, read, struct_paths};

fn main() -> Result<(), Error> {
    find_rustfmt();
    let corpus = PathBuf::from("../breezeway-idl/tests/corpus");
    println!("cargo::rerun-if-changed={}", corpus.display());
    let files = files(&corpus);
    Builder::new().compile(&files)?;
    let cases = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("cases.rs");
    fs::write(&cases, list(&files)?).map_err(|source| Error::Write { path: cases, source })
}

/// Without rustfmt, the tests that ask for its opinion are reported as ignored.
fn find_rustfmt() {
    println!("cargo::rustc-check-cfg=cfg(no_rustfmt)");
    println!("cargo::rerun-if-env-changed=PATH");
    let found = Command::new("rustfmt").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("cargo::rustc-cfg=no_rustfmt");
    }
}

fn files(corpus: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(corpus).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// A `case!` per struct: its file, its name, its owned type and its view.
fn list(files: &[PathBuf]) -> Result<String, Error> {
    let schema = read(files, &[])?;
    let mut cases = String::from("const CASES: &[Case] = &[\n");
    for paths in struct_paths(&schema)? {
        let (stem, name) = (&schema.files[paths.id.file].stem, &schema.definition(paths.id).name);
        let (owned, view) = (paths.owned, paths.view);
        let types = format!("breezeway_idl_corpus::{owned}, breezeway_idl_corpus::{view}");
        writeln!(cases, "    case!({stem:?}, {name:?}, {types}),").unwrap_or_default();
    }
    Ok(cases + "];\n")
}
