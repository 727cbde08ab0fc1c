//! Generating from a build script.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::model::{Kind, Order, Schema, Services, Type, TypeKind};
use crate::nesting::recursion_limit;
use crate::resolve::Strings;
use crate::{generate, read_with};

/// Generates Rust from .thrift files, in a build script or elsewhere.
///
/// All files of one [`compile`](Self::compile), and all they include, become one file of Rust with
/// a module per namespace. Paths are relative to the current directory, which in a build script is
/// the package's.
///
/// ```no_run
/// # fn main() -> Result<(), breezeway_idl::Error> {
/// breezeway_idl::Builder::new().include_dir("idl").compile(&["idl/user.thrift"])
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    include_dirs: Vec<PathBuf>,
    out_dir: Option<PathBuf>,
    file_name: Option<OsString>,
    order: Order,
    strings: Strings,
    ordered: bool,
    serde: bool,
    runtime: Option<String>,
    external: Vec<(PathBuf, String)>,
    small_strings: bool,
    shared_bytes: bool,
    services: Services,
}

impl Builder {
    /// Writes `thrift.rs` into cargo's `OUT_DIR`, and looks for includes beside the including file.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks for included files there too, after the including file's directory and the directories
    /// that were named before.
    pub fn include_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.include_dirs.push(dir.into());
        self
    }

    /// Writes into this directory instead of cargo's `OUT_DIR`.
    pub fn out_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(dir.into());
        self
    }

    /// Calls the generated file this instead of `thrift.rs`.
    pub fn file_name(mut self, name: impl Into<OsString>) -> Self {
        self.file_name = Some(name.into());
        self
    }

    /// Writes the fields of structs in this order instead of that of their numbers.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Makes bytes of every `string`, as of `binary`: other implementations, Go's among them, write
    /// strings that are no UTF-8, for which a message with text is refused. For single fields, the
    /// IDL can say `(strings = "bytes")`.
    pub fn strings_as_bytes(mut self) -> Self {
        self.strings = Strings::Bytes;
        self
    }

    /// Derives `Eq`, `PartialOrd`, `Ord` and `Hash` for every owned type with no `double` in it.
    pub fn ordered(mut self) -> Self {
        self.ordered = true;
        self
    }

    /// Derives serde's `Serialize` and `Deserialize` for every owned type: for configuration, logs
    /// and tools, with the IDL's names. The program needs serde with its feature `derive`, and
    /// feature `serde` of breezeway-thrift, or of breezeway-rpc for services.
    ///
    /// A field that is not there when read is as in `Default`, also a required one. An enum is its
    /// number, a union `{"field": value}`, or `"Unset"`, and a map whose keys have no order a list
    /// of pairs.
    pub fn serde(mut self) -> Self {
        self.serde = true;
        self
    }

    /// Uses `breezeway_thrift` by this path, such as `::my_rpc::thrift`, so that a crate that
    /// exports it again is enough to depend on.
    pub fn runtime_path(mut self, path: impl Into<String>) -> Self {
        self.runtime = Some(path.into());
        self
    }

    /// Generates nothing for this file, which others include, and uses the types that are in the
    /// module `path`, such as `::common_idl::common`: generated in another crate, with the same
    /// options, as the only file of its namespace.
    ///
    /// Of `file` the last parts of its path are enough.
    pub fn extern_path(mut self, file: impl Into<PathBuf>, path: impl Into<String>) -> Self {
        self.external.push((file.into(), path.into()));
        self
    }

    /// Makes a `breezeway_thrift::SmallString` of every owned `string`, which has up to 30 bytes in
    /// place: decoding short text then takes no memory. The program needs feature `small-strings`
    /// of breezeway-thrift, or of breezeway-rpc for services.
    pub fn small_strings(mut self) -> Self {
        self.small_strings = true;
        self
    }

    /// Makes a `breezeway_thrift::Bytes` of every owned `binary`, which is that of crate bytes:
    /// `decode_shared` makes it a part of the message, without a copy. The program needs feature
    /// `shared-bytes` of breezeway-thrift, or of breezeway-rpc for services, which receive copies.
    pub fn shared_bytes(mut self) -> Self {
        self.shared_bytes = true;
        self
    }

    /// Generates, for each service, a trait to implement, a server that dispatches to it, and a
    /// client: those of `breezeway-rpc`, which is then the only crate to depend on.
    pub fn services(mut self, services: Services) -> Self {
        self.services = services;
        self
    }

    /// Generates from these files and all they include.
    ///
    /// In a build script this also tells cargo which files to watch: those and no others.
    pub fn compile(&self, files: &[impl AsRef<Path>]) -> Result<(), Error> {
        let schema = self.read(files)?;
        if std::env::var_os("OUT_DIR").is_some() {
            watch(&schema);
            warn_of_depth(&schema);
            warn_of_includes(&schema);
        }
        self.write(&generate(&schema)?)
    }

    /// Reads these files and all they include, as [`Self::compile`] does.
    pub fn read(&self, files: &[impl AsRef<Path>]) -> Result<Schema, Error> {
        let files: Vec<_> = files.iter().map(|file| file.as_ref().to_owned()).collect();
        let mut schema = read_with(&files, &self.include_dirs, self.strings)?;
        schema.order = self.order;
        schema.ordered = self.ordered;
        schema.serde = self.serde;
        schema.runtime = self.runtime.clone();
        for (file, path) in &self.external {
            let mut named = schema.files.iter_mut().filter(|found| found.path.ends_with(file));
            match (named.next(), named.next()) {
                (Some(found), None) => found.external = Some(path.clone()),
                _ => return Err(Error::ExternFile(file.clone())),
            }
        }
        schema.small_strings = self.small_strings;
        schema.shared_bytes = self.shared_bytes;
        schema.services = self.services;
        if self.services != Services::Trait {
            check_streams(&schema)?;
        }
        Ok(schema)
    }

    fn write(&self, text: &str) -> Result<(), Error> {
        let dir = self.out_dir.clone().or_else(|| std::env::var_os("OUT_DIR").map(PathBuf::from));
        let name = self.file_name.clone().unwrap_or_else(|| "thrift.rs".into());
        let path = dir.ok_or(Error::NoOutDir)?.join(name);
        fs::write(&path, text).map_err(|source| Error::Write { path, source })
    }
}

/// Replies are structs, so that a failure can be told apart from them by its first byte.
fn check_streams(schema: &Schema) -> Result<(), Error> {
    let is_struct = |ty: &Type| matches!(ty.kind, TypeKind::Struct(_));
    for id in schema.ids() {
        let definition = schema.definition(id);
        let Kind::Service(service) = &definition.kind else { continue };
        for method in service.methods.iter().filter(|method| method.streaming.is_stream()) {
            let takes_one = method.arguments.fields.len() == 1;
            if !takes_one || method.oneway || !method.result.as_ref().is_some_and(is_struct) {
                let name = format!("{}.{}", definition.name, method.name);
                return Err(Error::StreamsNoStruct(name));
            }
        }
    }
    Ok(())
}

/// rustc says so too, but not in these words, and only where the types are used.
fn warn_of_depth(schema: &Schema) {
    if let Some(limit) = recursion_limit(schema) {
        println!(
            "cargo::warning=structs are nested deeper than rustc allows: put \
             #![recursion_limit = \"{limit}\"] first in the crate's lib.rs or main.rs"
        );
    }
}

fn warn_of_includes(schema: &Schema) {
    for warning in schema.missing_includes() {
        println!("cargo::warning={warning}");
    }
}

fn watch(schema: &Schema) {
    for file in &schema.files {
        println!("cargo::rerun-if-changed={}", file.path.display());
    }
}
