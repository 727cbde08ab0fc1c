//! What `--protocol grpc` stands for: the health service and an echo, served and called.

pub(crate) mod bench;
pub(crate) mod serve;

use breezeway::Address;
use clap::ValueEnum;

use crate::Failure;
use crate::target::Target;

/// What calls are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// Breezeway's own calls, by number; of a shmipc: address, its streams
    #[default]
    Breezeway,
    /// gRPC: grpc.health.v1.Health, breezeway.echo.v1.Echo (see crates/breezeway-cli/proto in the
    /// repository) and reflection. Always under tokio
    Grpc,
    /// Thrift, of crates/breezeway-cli/idl/echo.thrift in the repository. Always blocking
    Thrift,
}

/// The longest message of the echo.
const LARGEST: usize = 64 << 20;
/// As long a body's number and length may be, so many bytes.
const ROOM: usize = 16;

/// What prost and tonic make of `proto/echo.proto`.
#[allow(unreachable_pub, clippy::all)]
mod pb {
    tonic::include_proto!("breezeway.echo.v1");

    pub(super) const DESCRIPTION: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/echo.bin"));
}

impl Protocol {
    fn name(self) -> &'static str {
        match self {
            Self::Breezeway => "breezeway",
            Self::Grpc => "grpc",
            Self::Thrift => "thrift",
        }
    }

    /// Where it is served or called; an error for what has another protocol of its own.
    pub(crate) fn address(self, target: &Target) -> Result<&Address, Failure> {
        match target {
            Target::Breezeway(address) => Ok(address),
            Target::Shmipc(_) => Err(format!(
                "--protocol {} goes with shm:, unix:, tcp: and tls: addresses, not with shmipc:",
                self.name()
            )
            .into()),
        }
    }
}
