//! Two generators' Rust for the same IDL.

/// From breezeway-idl.
pub mod ours {
    include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
}

/// From pilota-build.
#[allow(
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    warnings,
    reason = "another generator's text"
)]
pub mod theirs {
    include!(concat!(env!("OUT_DIR"), "/pilota.rs"));
    pub use self::pilota::*;
}
