//! gRPC's interoperability test: its service, and its cases for any channel. The cases are those of
//! `grpc/doc/interop-test-descriptions.md`; which of them need authentication are left out.
// `cargo test --lib` compiles every library as a test program too; this one has no tests.
#![cfg(not(test))]
#![forbid(unsafe_code)]

pub mod cases;
mod changed;
mod echo_metadata;
mod service;

/// Code that prost and tonic generate from the .proto file.
#[allow(missing_docs, unreachable_pub, clippy::all)]
pub mod pb {
    tonic::include_proto!("grpc.testing");
}

pub use changed::{Change, Changed};
pub use echo_metadata::{ECHO_INITIAL, ECHO_TRAILING};
pub use service::{TestService, server};

/// A channel of any kind.
pub type AnyChannel = tower::util::BoxCloneSyncService<
    http::Request<tonic::body::Body>,
    http::Response<tonic::body::Body>,
    tonic::Status,
>;
