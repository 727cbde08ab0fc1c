//! What this project's generator and the other systems' make of the files in `idl/`; README.md says how.
#![allow(warnings, clippy::all)]

pub mod apache;
#[path = "breezeway.rs"]
pub mod breezeway_file;
pub mod capnp;
#[path = "pilota.rs"]
pub mod pilota_file;
pub use pilota_file::bench_pilota::bench as pilota;
pub use breezeway_file::bench as breezeway;
