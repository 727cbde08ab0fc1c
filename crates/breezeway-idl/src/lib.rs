//! Thrift IDL to Rust, for `breezeway-thrift`.
//!
//! A `.thrift` file becomes Rust that reads as if written by hand: per struct an owned type, a view
//! that reads a message in place, and a writer that fills a message in the memory it is sent from.
//! `docs/idl.md` describes the Rust for each construct, `docs/idl-reference.md` the IDL that is
//! refused.
//!
//! In a build script:
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), breezeway_idl::Error> {
//!     breezeway_idl::Builder::new().compile(&["idl/user.thrift"])
//! }
//! ```
//!
//! and in the program, whose modules are then the IDL's namespaces:
//!
//! ```ignore
//! mod idl {
//!     include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
//! }
//! use idl::user::User;
//! ```
//!
//! Bad IDL is an [`Error`] with file, line and column; no IDL makes this crate panic. The text is
//! the same on every run and every machine.
#![forbid(unsafe_code)]

mod builder;
mod comment;
mod constant;
mod docs;
mod error;
mod files;
mod generate;
mod go;
mod grammar;
mod layout;
pub mod model;
mod names;
mod nesting;
mod parse;
mod reader;
mod recursion;
mod resolve;
mod scope;
mod syntax;
mod token;

use std::path::{Path, PathBuf};

pub use builder::Builder;
pub use error::{Error, Position, Problem};
pub use generate::StructPaths;
pub use go::GoFile;
use model::Schema;
pub use model::Services;
use resolve::Strings;

/// Reads .thrift files and all they include.
///
/// An included file is searched beside the file that includes it, then in `include_dirs` in their
/// order.
pub fn read(files: &[PathBuf], include_dirs: &[PathBuf]) -> Result<Schema, Error> {
    read_with(files, include_dirs, Strings::Text)
}

fn read_with(
    files: &[PathBuf],
    include_dirs: &[PathBuf],
    strings: Strings,
) -> Result<Schema, Error> {
    resolve::resolve(&files::load(files, include_dirs)?, strings)
}

/// Returns the Rust text for a schema: a module per namespace.
pub fn generate(schema: &Schema) -> Result<String, Error> {
    generate::generate(schema)
}

/// Returns the Go files for a schema: one for each of its files, in the folder of its package.
/// `folder` is the existing one that all packages lie in, `root` its import path.
pub fn generate_go(schema: &Schema, folder: &Path, root: &str) -> Result<Vec<GoFile>, Error> {
    go::generate(schema, folder, root)
}

/// Writes the Go files for a schema, or none of them if one would replace a file that was generated
/// from another .thrift file. Takes what [`generate_go`] takes.
pub fn write_go(schema: &Schema, folder: &Path, root: &str) -> Result<(), Error> {
    go::write_files(schema, folder, root)
}

/// Returns the paths of a schema's structs, unions and exceptions in its generated text.
pub fn struct_paths(schema: &Schema) -> Result<Vec<StructPaths>, Error> {
    generate::struct_paths(schema)
}
