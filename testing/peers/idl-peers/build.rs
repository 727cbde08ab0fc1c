//! The same IDL through both generators.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use breezeway_idl::{Builder, Error, read, struct_paths};

fn main() -> Result<(), Error> {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let files = files();
    Builder::new().compile(&files)?;
    pilota(&files, &out.join("pilota.rs"));
    let cases = out.join("cases.rs");
    fs::write(&cases, list(&files)?).map_err(|source| Error::Write { path: cases, source })
}

/// Files of the corpus that pilota-build makes compiling Rust of: a union that has itself as a
/// field, as in search.thrift, is not among them.
fn files() -> Vec<PathBuf> {
    let corpus = Path::new("../../../crates/breezeway-idl/tests/corpus");
    include!("files.rs").iter().map(|name| corpus.join(name).with_extension("thrift")).collect()
}

fn pilota(files: &[PathBuf], out: &Path) {
    let services = files.iter().map(|file| pilota_build::IdlService::from_path(file.clone()));
    pilota_build::Builder::thrift()
        .ignore_unused(false)
        .compile_with_config(services.collect(), pilota_build::Output::File(out.to_owned()));
}

/// A `case!` per struct: its file, its name, our type and theirs.
fn list(files: &[PathBuf]) -> Result<String, Error> {
    let schema = read(files, &[])?;
    let mut cases = String::from("const CASES: &[Case] = &[\n");
    for paths in struct_paths(&schema)? {
        let (stem, name) = (&schema.files[paths.id.file].stem, &schema.definition(paths.id).name);
        let types = format!("idl_peers::ours::{0}, idl_peers::theirs::{0}", paths.owned);
        writeln!(cases, "    case!({stem:?}, {name:?}, {types}),").unwrap_or_default();
    }
    Ok(cases + "];\n")
}
