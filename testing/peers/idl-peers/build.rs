//! The same IDL through both generators.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use breezeway_idl::model::Schema;
use breezeway_idl::{Builder, Error, read, struct_paths};

fn main() -> Result<(), Error> {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let files = files();
    Builder::new().compile(&files)?;
    pilota(&files, &out.join("pilota.rs"));
    let schema = read(&files, &[])?;
    for (name, text) in [("cases.rs", list(&schema)?), ("through_pilota.rs", arms(&schema)?)] {
        let path = out.join(name);
        fs::write(&path, text).map_err(|source| Error::Write { path, source })?;
    }
    Ok(())
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
fn list(schema: &Schema) -> Result<String, Error> {
    let mut cases = String::from("const CASES: &[Case] = &[\n");
    for paths in struct_paths(schema)? {
        let (stem, name) = (&schema.files[paths.id.file].stem, &schema.definition(paths.id).name);
        let types = format!("idl_peers::ours::{0}, idl_peers::theirs::{0}", paths.owned);
        writeln!(cases, "    case!({stem:?}, {name:?}, {types}),").unwrap_or_default();
    }
    Ok(cases + "];\n")
}

/// A function that reads the struct of a case's number by pilota.
fn arms(schema: &Schema) -> Result<String, Error> {
    let mut arms = String::from(
        "fn through_pilota<P: TInputProtocol>(case: usize, from: &mut P)\n    \
         -> Result<Vec<u8>, ThriftException> {\n    match case {\n",
    );
    for (number, paths) in struct_paths(schema)?.into_iter().enumerate() {
        let theirs = format!("idl_peers::theirs::{}", paths.owned);
        writeln!(arms, "        {number} => through::<{theirs}, P>(from),").unwrap_or_default();
    }
    Ok(arms + "        _ => unreachable!(),\n    }\n}\n")
}
