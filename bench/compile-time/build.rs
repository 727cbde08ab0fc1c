//! Rust of one generator for the IDL that the environment variable `IDL` names, else for one struct
//! of 300 fields; and the list of its structs.

use std::path::{Path, PathBuf};
use std::{env, fs};

use breezeway_idl::{Builder, Error, read, struct_paths};

fn main() -> Result<(), Error> {
    println!("cargo::rerun-if-env-changed=IDL");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let idl = match env::var_os("IDL").filter(|idl| !idl.is_empty()) {
        Some(idl) => PathBuf::from(idl),
        None => {
            let idl = out.join("wide.thrift");
            write(&idl, &wide())?;
            idl
        }
    };
    if env::var_os("CARGO_FEATURE_OURS").is_some() {
        Builder::new().compile(&[&idl])?;
    }
    if env::var_os("CARGO_FEATURE_THEIRS").is_some() {
        pilota(&idl, &out.join("pilota.rs"));
    }
    let schema = read(&[idl], &[])?;
    // pilota-build does not report included files. The files written here are newer than every run.
    for file in schema.files.iter().filter(|file| !file.path.starts_with(&out)) {
        println!("cargo::rerun-if-changed={}", file.path.display());
    }
    let mut paths: Vec<_> = struct_paths(&schema)?.into_iter().map(|paths| paths.owned).collect();
    if env::var_os("CARGO_FEATURE_THEIRS").is_some() {
        paths = paths_of_pilota(&out.join("pilota.rs"), &paths);
    }
    let lines = paths.iter().map(|path| format!("    through::<generated::{path}>,\n"));
    write(&out.join("structs.rs"), &format!("[\n{}]", lines.collect::<String>()))
}

/// Returns the paths at which pilota-build has the structs of `ours`: it considers namespaces of
/// other languages too.
fn paths_of_pilota(text: &Path, ours: &[String]) -> Vec<String> {
    let text = fs::read_to_string(text).expect("pilota-build makes text or panics");
    let (mut modules, mut paths) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let (indent, word) = (line.len() - line.trim_start().len(), line.trim());
        if let Some(name) = word.strip_prefix("pub mod ").and_then(|it| it.strip_suffix(" {")) {
            modules.push((indent, name));
        } else if word == "}" && modules.last().is_some_and(|(start, _)| *start == indent) {
            modules.pop();
        } else if let Some(rest) = word.strip_prefix("impl ::pilota::thrift::Message for ") {
            let name = rest.trim_end_matches(" {");
            if ours.iter().any(|path| path.ends_with(&format!("::{name}"))) {
                let modules = modules.iter().skip(1).map(|(_, module)| format!("{module}::"));
                paths.push(modules.collect::<String>() + name);
            }
        }
    }
    assert_eq!(paths.len(), ours.len(), "pilota-build has other structs: {paths:?}");
    paths
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// One struct of 300 fields.
fn wide() -> String {
    let types = ["i64", "string", "bool", "double", "list<i32>", "i32", "binary", "list<string>"];
    let field = |id: usize| {
        let optional = if id.is_multiple_of(3) { "optional " } else { "" };
        format!("  {id}: {optional}{} field_{id}\n", types[id % types.len()])
    };
    format!("struct Wide {{\n{}}}\n", (1..=300).map(field).collect::<String>())
}

fn pilota(idl: &Path, out: &Path) {
    pilota_build::Builder::thrift().ignore_unused(false).compile_with_config(
        vec![pilota_build::IdlService::from_path(idl.to_owned())],
        pilota_build::Output::File(out.to_owned()),
    );
}
