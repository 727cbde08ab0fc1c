//! Generates Rust for the whole corpus, as any package would, and a list of its structs for the
//! tests.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[path = "build/prelude.rs"]
mod prelude;

use breezeway_idl::{Builder, Error, Services, generate, read, struct_paths};
use breezeway_idl_random::random_idl::RandomIdl;

fn main() -> Result<(), Error> {
    find_rustfmt();
    let corpus = PathBuf::from("../../crates/breezeway-idl/tests/corpus");
    println!("cargo::rerun-if-changed={}", corpus.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let corpus_files = files(&corpus);
    let files = [&corpus_files[..], &random_files(&out)?].concat();
    Builder::new().compile(&files)?;
    let services = Builder::new().services(Services::BlockingAndAsync).in_place();
    let with_services: Vec<_> = corpus_files.into_iter().filter(|file| has_service(file)).collect();
    services.file_name("services.rs").compile(&with_services)?;
    write(out.join("cases.rs"), &list(&files, "breezeway_idl_corpus::")?)?;
    let deep = out.join("deep.thrift");
    write(deep.clone(), &deep_structs())?;
    let named = prelude::files(&out)?;
    let services = Builder::new().services(Services::BlockingAndAsync).file_name("prelude.rs");
    services.compile(&named)?;
    let options = Path::new("idl/options.thrift");
    println!("cargo::rerun-if-changed={}", options.display());
    Builder::new()
        .file_name("options.rs")
        .include_dir(&corpus)
        .ordered()
        .runtime_path("crate::runtime")
        .extern_path("common.thrift", "::breezeway_idl_corpus::acme::common")
        .compile(&[options])?;
    let with_serde = ["containers", "defaults", "keywords", "sample", "unions"]
        .map(|name| corpus.join(name).with_extension("thrift"));
    Builder::new().file_name("serde.rs").serde().compile(&with_serde)?;
    let small = Builder::new().file_name("small.rs").serde().small_strings().shared_bytes();
    small.compile(&with_serde)?;
    write(out.join("small_cases.rs"), &list(&with_serde, "")?)?;
    // Without the warning that `Builder::compile` would print: the test has the attribute.
    write(out.join("deep.rs"), &generate(&read(&[deep], &[])?)?)
}

fn write(path: PathBuf, text: &str) -> Result<(), Error> {
    fs::write(&path, text).map_err(|source| Error::Write { path, source })
}

/// Returns structs that are nested deeper than rustc's default limit.
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

/// Returns some random IDLs.
fn random_files(out: &Path) -> Result<Vec<PathBuf>, Error> {
    let file = |seed: u64| {
        let path = out.join(format!("random_{seed}.thrift"));
        write(path.clone(), &RandomIdl::new(seed).to_string()).map(|()| path)
    };
    (1..=3).map(file).collect()
}

fn files(corpus: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(corpus).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}

fn has_service(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().any(|line| line.starts_with("service "))
}

/// Files whose structs go every way there is: rustc needs long for all of them.
const EVERY_WAY: [&str; 5] = ["containers", "defaults", "recursive", "sample", "unions"];

/// A `case!` per struct: its file, its name, its owned type and its view, behind this path, and
/// whether it goes every way.
fn list(files: &[PathBuf], path: &str) -> Result<String, Error> {
    let schema = read(files, &[])?;
    let mut cases = String::from("const CASES: &[Case] = &[\n");
    for paths in struct_paths(&schema)? {
        let (stem, name) = (&schema.files[paths.id.file].stem, &schema.definition(paths.id).name);
        let (owned, view) = (paths.owned, paths.view);
        let types = format!("{path}{owned}, {path}{view}");
        let every = EVERY_WAY.contains(&stem.as_str()) || stem.starts_with("random_");
        let every = if every { ", every way" } else { "" };
        writeln!(cases, "    case!({stem:?}, {name:?}, {types}{every}),").unwrap_or_default();
    }
    Ok(cases + "];\n")
}
