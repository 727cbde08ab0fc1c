//! Thrift IDL to Rust.
#![forbid(unsafe_code)]

mod comment;
mod constant;
mod cursor;
mod error;
mod files;
mod locate;
pub mod model;
mod parse;
mod recursion;
mod resolve;
mod scope;
mod syntax;
mod token;

use std::path::PathBuf;

pub use error::{Error, Position, Problem};
use model::Schema;

/// Reads .thrift files and all they include.
pub fn read(files: &[PathBuf], include_dirs: &[PathBuf]) -> Result<Schema, Error> {
    resolve::resolve(&files::load(files, include_dirs)?)
}
