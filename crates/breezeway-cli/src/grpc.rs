//! The services of `--protocol grpc`: the health service and an echo, served and called.

pub(crate) mod bench;
pub(crate) mod serve;

/// The longest message of the echo.
const LARGEST: usize = 64 << 20;
/// Largest size of the number and length of a body.
const ROOM: usize = 16;

/// Code that prost and tonic generate from `proto/echo.proto`.
#[allow(unreachable_pub, clippy::all)]
mod pb {
    tonic::include_proto!("breezeway.echo.v1");

    pub(super) const DESCRIPTION: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/echo.bin"));
}
