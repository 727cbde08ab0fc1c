//! Generates Rust for the whole corpus, as any package would, and a list of its structs for the
//! tests.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use breezeway_idl::{Builder, Error, generate, read, struct_paths};

fn main() -> Result<(), Error> {
    find_rustfmt();
    let corpus = PathBuf::from("../breezeway-idl/tests/corpus");
    println!("cargo::rerun-if-changed={}", corpus.display());
    let files = files(&corpus);
    Builder::new().compile(&files)?;
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    write(out.join("cases.rs"), &list(&files)?)?;
    let deep = out.join("deep.thrift");
    write(deep.clone(), &deep_structs())?;
    let options = Path::new("idl/options.thrift");
    println!("cargo::rerun-if-changed={}", options.display());
    Builder::new()
        .file_name("options.rs")
        .include_dir(&corpus)
        .ordered()
        .runtime_path("crate::runtime")
        .extern_path("common.thrift", "::breezeway_idl_corpus::acme::common")
        .compile(&[options])?;
    // Without the warning that `Builder::compile` would print: the test has the attribute.
    write(out.join("deep.rs"), &generate(&read(&[deep], &[])?)?)
}

fn write(path: PathBuf, text: &str) -> Result<(), Error> {
    fs::write(&path, text).map_err(|source| Error::Write { path, source })
}

/// More structs inside each other than rustc allows without being told.
fn deep_structs() -> String {
    let link = |at: usize| {
        let (next, inner) = (at + 1, if at < 20 { "list<D" } else { "D" });
        let close = if at < 20 { ">" } else { "" };
        format!("struct D{at} {{ 1: optional {inner}{next}{close} next }}\n")
    };
    let end = "struct D80 { 1: i32 end }\nservice Deep { D0 call(1: D0 argument) }\n";
    (0..80).map(link).chain([end.to_owned()]).collect()
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
