//! What the other systems' generators make of the IDL files: see `README.md` for the versions.
#![allow(warnings, clippy::all)]

pub mod apache;
pub mod capnp;
#[path = "pilota.rs"]
pub mod pilota_file;
pub use pilota_file::bench_pilota::bench as pilota;
