//! What `--protocol grpc` stands for: the health service and an echo, served and called.

pub(crate) mod bench;
pub(crate) mod serve;

/// The longest message of the echo.
const LARGEST: usize = 64 << 20;
/// As long a body's number and length may be, so many bytes.
const ROOM: usize = 16;

/// Code that prost and tonic generate from `proto/echo.proto`.
#[allow(unreachable_pub, clippy::all)]
mod pb {
    tonic::include_proto!("breezeway.echo.v1");

    pub(super) const DESCRIPTION: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/echo.bin"));
}
