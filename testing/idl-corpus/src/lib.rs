//! Every IDL of the generator's corpus, compiled: its text is held to the lints of this workspace,
//! and the tests here, those of `breezeway-thrift`, the fuzz targets and `bench/` use it.
// `cargo test --lib` compiles every library as a test program too; this one has no tests.
#![cfg(not(test))]
#![forbid(unsafe_code)]

pub use breezeway_idl_random::{dice, messages};

pub mod arbitrary;

include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
