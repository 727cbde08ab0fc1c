//! What the other systems' generators make of `idl/sample.thrift`: see `README.md` for the versions.
#![allow(warnings, clippy::all)]

pub mod apache;
#[path = "pilota.rs"]
pub mod pilota_file;
pub use pilota_file::sample_pilota::sample as pilota;
