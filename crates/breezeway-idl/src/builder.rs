//! Generating Rust from a build script.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::iter;
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
    in_place: bool,
    views: bool,
}

impl Builder {
    /// Creates a builder that writes `thrift.rs` into cargo's `OUT_DIR`, and searches includes
    /// beside the including file.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a directory for included files, searched after the including file's directory and the
    /// directories added before.
    pub fn include_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.include_dirs.push(dir.into());
        self
    }

    /// Sets the output directory instead of cargo's `OUT_DIR`.
    pub fn out_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(dir.into());
        self
    }

    /// Sets the name of the generated file instead of `thrift.rs`.
    pub fn file_name(mut self, name: impl Into<OsString>) -> Self {
        self.file_name = Some(name.into());
        self
    }

    /// Sets the order of the fields of structs instead of that of their numbers.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Treats every `string` as bytes, like `binary`: other implementations, Go's among them, write
    /// strings that are not UTF-8, and a message with such text is refused. For single fields, the
    /// IDL can use `(strings = "bytes")`.
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
    /// A field that is absent when read gets its value from `Default`, also a required one. An enum
    /// is its number, a union `{"field": value}`, or `"Unset"`, and a map whose keys have no order
    /// a list of pairs.
    pub fn serde(mut self) -> Self {
        self.serde = true;
        self
    }

    /// Sets the path of `breezeway_thrift`, such as `::my_rpc::thrift`, so that a crate that
    /// re-exports it is a sufficient dependency.
    pub fn runtime_path(mut self, path: impl Into<String>) -> Self {
        self.runtime = Some(path.into());
        self
    }

    /// Generates nothing for this file, which others include, and uses the types in the module
    /// `path`, such as `::common_idl::common`: generated in another crate, with the same options,
    /// as the only file of its namespace.
    ///
    /// The last parts of the path of `file` are sufficient.
    pub fn extern_path(mut self, file: impl Into<PathBuf>, path: impl Into<String>) -> Self {
        self.external.push((file.into(), path.into()));
        self
    }

    /// Generates a `breezeway_thrift::SmallString` for every owned `string`, which stores up to 30
    /// bytes inline: decoding short text then allocates no memory. The program needs feature
    /// `small-strings` of breezeway-thrift, or of breezeway-rpc for services.
    pub fn small_strings(mut self) -> Self {
        self.small_strings = true;
        self
    }

    /// Generates a `breezeway_thrift::Bytes` for every owned `binary`, re-exported from crate
    /// bytes: `decode_shared` makes it a part of the message, without a copy. The program needs
    /// feature `shared-bytes` of breezeway-thrift, or of breezeway-rpc for services, which receive
    /// copies.
    pub fn shared_bytes(mut self) -> Self {
        self.shared_bytes = true;
        self
    }

    /// Generates, for each service, a trait to implement, a server that dispatches to it, and a
    /// client, for `breezeway-rpc`, which is then the only dependency.
    pub fn services(mut self, services: Services) -> Self {
        self.services = services;
        self
    }

    /// Generates, for each service, also a trait with blocking handlers that get their arguments as
    /// views of the message and write replies in place, with a server that dispatches to it:
    /// `InPlaceUsers` and `InPlaceUsersServer` for a service `Users`. Requires [`Self::services`]
    /// for `breezeway-rpc`.
    pub fn in_place(mut self) -> Self {
        self.in_place = true;
        self
    }

    /// Generates, for each struct in Go, also a view that reads it in place. Rust always has views.
    pub fn views(mut self) -> Self {
        self.views = true;
        self
    }

    /// Generates code from these files and all they include.
    ///
    /// In a build script this also makes cargo watch these files and no others, plus the folders in
    /// which a missing include would be found, unless the generated file is somewhere within one of
    /// them. Files in `OUT_DIR` are not watched: the build script has written them itself.
    pub fn compile(&self, files: &[impl AsRef<Path>]) -> Result<(), Error> {
        let schema = self.read(files)?;
        if let Some(out) = std::env::var_os("OUT_DIR") {
            let out = PathBuf::from(out);
            let written: Vec<_> = iter::once(out.clone()).chain(self.out_dir.clone()).collect();
            let watched = watched(&schema, &self.include_dirs, &written);
            for path in watched.iter().filter(|path| !is_within(path, &out)) {
                println!("cargo::rerun-if-changed={}", path.display());
            }
            warn_of_depth(&schema);
            warn_of_includes(&schema);
        }
        self.write(&generate(&schema)?)
    }

    /// Reads these files and all they include, like [`compile`](Self::compile).
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
        schema.in_place = self.in_place;
        schema.views = self.views;
        if self.in_place && self.services == Services::Trait {
            return Err(Error::InPlaceWithoutServices);
        }
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

/// Checks that replies are structs, so that a failure can be distinguished from them by its first
/// byte.
pub(crate) fn check_streams(schema: &Schema) -> Result<(), Error> {
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

/// Warns of deep nesting: rustc reports it too, but less clearly, and only where the types are
/// used.
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

/// Returns the paths whose change can change the output: the files, and the places where a missing
/// one would be found, up to the folder that it includes from. A missing path would make cargo run
/// the build script each time, and so would a folder in which the build script, or cargo itself,
/// writes.
fn watched(schema: &Schema, include_dirs: &[PathBuf], written: &[PathBuf]) -> BTreeSet<PathBuf> {
    let written: Vec<_> = written.iter().map(|dir| resolved(dir)).collect();
    let mut watched: BTreeSet<_> = schema.files.iter().map(|file| file.path.clone()).collect();
    for file in &schema.files {
        let beside = file.path.parent().unwrap_or(Path::new(""));
        for dir in iter::once(beside).chain(include_dirs.iter().map(PathBuf::as_path)) {
            let places = file.missing_includes.iter().filter_map(|missing| {
                // Ancestors are searched only within the folder.
                let place = dir.join(missing);
                let above = dir.parent();
                let mut folders = place.ancestors().skip(1).take_while(|&up| Some(up) != above);
                folders.find_map(|folder| {
                    let folder = named(folder);
                    folder.is_dir().then(|| folder.to_owned())
                })
            });
            watched.extend(places.filter(|place| {
                let place = resolved(place);
                !written.iter().any(|dir| dir.starts_with(&place))
            }));
        }
    }
    watched
}

/// Returns true for a path in this directory. A file that a build script writes into `OUT_DIR` is
/// newer than the start of the script's run, so that cargo would run the script each time.
fn is_within(path: &Path, dir: &Path) -> bool {
    resolved(path).starts_with(resolved(dir))
}

/// Names the current directory, which has no name as the folder of `a.thrift`.
fn named(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

pub(crate) fn resolved(dir: &Path) -> PathBuf {
    dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    /// Reads a schema from a file in the current directory, the package's, which includes a missing
    /// file.
    fn schema_here(missing: &str) -> Schema {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.thrift");
        fs::write(&file, format!("include '{missing}'\nstruct A {{ 1: i32 a }}")).unwrap();
        let mut schema = Builder::new().read(&[&file]).unwrap();
        schema.files[0].path = "a.thrift".into();
        schema
    }

    #[test]
    fn current_directory_is_watched_for_bare_file_name() {
        for missing in ["no.thrift", "no/no/no.thrift"] {
            let expected = BTreeSet::from(["a.thrift", "."].map(PathBuf::from));
            assert_eq!(watched(&schema_here(missing), &[], &[]), expected, "{missing}");
        }
        let expected = BTreeSet::from(["a.thrift", "src"].map(PathBuf::from));
        assert_eq!(watched(&schema_here("src/no.thrift"), &[], &[]), expected);
    }

    #[test]
    fn nothing_above_a_folder_of_includes_is_watched() {
        let dir = tempfile::tempdir().unwrap();
        let away = dir.path().join("away");
        let schema = schema_here("no/no.thrift");
        let expected = BTreeSet::from(["a.thrift", "."].map(PathBuf::from));
        assert_eq!(watched(&schema, slice::from_ref(&away), &[]), expected);
        fs::create_dir(&away).unwrap();
        assert!(watched(&schema, slice::from_ref(&away), &[]).contains(&away));
    }

    #[test]
    fn file_that_a_build_script_wrote_is_within_its_out_dir() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        fs::create_dir(&out).unwrap();
        for file in [out.join("a.thrift"), dir.path().join("b.thrift")] {
            fs::write(&file, "").unwrap();
        }
        assert!(is_within(&out.join("a.thrift"), &out));
        assert!(is_within(&out.join("../out/a.thrift"), &out));
        assert!(!is_within(&dir.path().join("b.thrift"), &out));
        assert!(!is_within(&out.join("../b.thrift"), &out));
    }

    #[test]
    fn a_folder_in_which_the_output_lies_is_not_watched() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("target/out");
        fs::create_dir_all(&out).unwrap();
        let includes = [dir.path().to_owned(), dir.path().join("target/../target"), out.clone()];
        let beside = dir.path().join("idl");
        fs::create_dir(&beside).unwrap();
        let schema = schema_here("no.thrift");
        let all = watched(&schema, &[beside.clone(), out.clone()], &[]);
        assert!(all.contains(&beside) && all.contains(&out), "{all:?}");
        let found = watched(&schema, &includes, slice::from_ref(&out));
        assert_eq!(found, BTreeSet::from(["a.thrift", "."].map(PathBuf::from)));
        let found = watched(&schema, slice::from_ref(&beside), &[Path::new(".").join("src")]);
        assert_eq!(found, BTreeSet::from(["a.thrift".into(), beside]));
    }

    #[test]
    fn folders_of_missing_include_are_watched() {
        let dir = tempfile::tempdir().unwrap();
        let [beside, shared, empty] = ["beside", "shared", "empty"].map(|name| {
            let folder = dir.path().join(name);
            fs::create_dir(&folder).unwrap();
            folder
        });
        fs::create_dir(shared.join("x")).unwrap();
        let file = beside.join("a.thrift");
        fs::write(&file, "include 'x/no.thrift'\nstruct A { 1: i32 a }").unwrap();
        let dirs = [shared.clone(), empty.clone()];
        let builder = dirs.iter().fold(Builder::new(), |builder, dir| builder.include_dir(dir));
        let schema = builder.read(&[&file]).unwrap();
        let expected = [beside, file.clone(), empty, shared.join("x")];
        assert_eq!(watched(&schema, &dirs, &[]), BTreeSet::from(expected.clone()));
        // Once it exists, it is watched itself.
        let found = shared.join("x/no.thrift");
        fs::write(&found, "struct B {}").unwrap();
        let schema = builder.read(&[&file]).unwrap();
        assert_eq!(watched(&schema, &dirs, &[]), BTreeSet::from([file, found]));
    }
}
