//! One function per target, which feeds a fuzzer's input to an engine and panics if a promise is
//! broken.
//!
//! The fuzz targets call them (`fuzz/`), and so does a test with every input of `seeds/`: each past
//! finding stays there. Inputs are bytes of a wire, or steps of a hostile peer and an honest side.
//! Everything happens in one thread of one process, so that an input repeats itself.
// `cargo test --lib` compiles every library as a test program too; this one has no tests.
#![cfg(not(test))]
#![forbid(unsafe_code)]

use arbitrary::{Arbitrary, Unstructured};

pub mod connection;
pub mod endpoint;
pub mod frames;
pub mod grpc_blocks;
pub mod hello;
pub mod hung_up;
pub mod kitex;
pub mod rpc;
pub mod session;
pub mod shmipc_handshake;
pub mod shmipc_session;
pub mod thrift_owned;
pub mod thrift_shared;
pub mod thrift_skip;
pub mod thrift_ttheader;
pub mod thrift_view;

mod services;
mod using;
mod writing;

/// A target: its name, which is that of its folder of seeds, and the function that runs one input.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("connection", connection::run),
    ("endpoint", endpoint::run),
    ("frames", frames::run),
    ("grpc_blocks", grpc_blocks::run),
    ("hello", hello::run),
    ("hung_up", hung_up::run),
    ("kitex", kitex::run),
    ("rpc", rpc::run),
    ("session", session::run),
    ("shmipc_handshake", shmipc_handshake::run),
    ("shmipc_session", shmipc_session::run),
    ("thrift_owned", thrift_owned::run),
    ("thrift_shared", thrift_shared::run),
    ("thrift_skip", thrift_skip::run),
    ("thrift_ttheader", thrift_ttheader::run),
    ("thrift_view", thrift_view::run),
];

/// Returns the bytes as a script; None if they are too few for one.
fn typed<'b, T: Arbitrary<'b>>(data: &'b [u8]) -> Option<T> {
    T::arbitrary_take_rest(Unstructured::new(data)).ok()
}
