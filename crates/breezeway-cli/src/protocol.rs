//! The values of `--protocol`.

use breezeway::Address;
use clap::ValueEnum;

use crate::failure::Failure;
use crate::target::Target;

/// Protocol of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// Breezeway's own calls, by number; of a shmipc: address, its streams
    #[default]
    Breezeway,
    /// gRPC: grpc.health.v1.Health, breezeway.echo.v1.Echo (see crates/breezeway-cli/proto in the
    /// repository) and reflection. Always under tokio
    #[cfg(feature = "grpc")]
    Grpc,
    /// Thrift, of crates/breezeway-cli/idl/echo.thrift in the repository. Always blocking
    #[cfg(feature = "thrift")]
    Thrift,
}

impl Protocol {
    fn name(self) -> &'static str {
        match self {
            Self::Breezeway => "breezeway",
            #[cfg(feature = "grpc")]
            Self::Grpc => "grpc",
            #[cfg(feature = "thrift")]
            Self::Thrift => "thrift",
        }
    }

    /// Returns the address to serve or call at; an error for a target with a protocol of its own.
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
