//! The engines that are attacked.

use std::path::Path;

use clap::ValueEnum;

/// An implementation of a server, with the carrier of its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// Blocking handlers and workers, in shared memory.
    Native,
    /// The native engine on unix sockets.
    Unix,
    /// The native engine on TCP.
    Tcp,
    /// Awaited handlers, in shared memory.
    Tokio,
    /// The shmipc protocol.
    Shmipc,
    /// Thrift services over sessions.
    Rpc,
    /// Thrift services in Kitex's framing, awaited.
    Kitex,
    /// Kitex with handlers that block.
    KitexBlocking,
    /// gRPC in the native gear.
    Grpc,
    /// gRPC in HTTP/2, over a session's socket.
    GrpcHttp2,
    /// The Go module's server, in shared memory.
    Go,
}

/// Source of a hostile session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// A peer in shared memory that writes anything.
    Memory,
    /// Altered recordings of honest clients, in shared memory.
    Replayed,
    /// Altered recordings of honest clients, on a unix socket.
    Unix,
    /// Altered recordings of honest clients, over TCP.
    Tcp,
    /// A peer that writes anything in shmipc's regions.
    Shmipc,
}

impl Engine {
    /// Returns the sources of its hostile sessions, which are chosen at random.
    pub(crate) fn carriers(self) -> &'static [Carrier] {
        use Carrier::{Memory, Replayed, Shmipc, Tcp, Unix};
        match self {
            Self::Native | Self::Tokio | Self::Go => &[Memory, Memory, Replayed],
            Self::Unix => &[Unix],
            Self::Tcp => &[Tcp],
            Self::Shmipc => &[Shmipc],
            Self::Rpc | Self::Grpc => &[Unix, Replayed],
            Self::Kitex | Self::KitexBlocking | Self::GrpcHttp2 => &[Unix],
        }
    }

    /// Returns the address for the honest client.
    pub(crate) fn address(self, folder: &Path, tcp: &str) -> String {
        let path = folder.display();
        match self {
            Self::Native | Self::Tokio | Self::Go | Self::Rpc | Self::Grpc => {
                format!("shm:{path}/shm")
            }
            Self::Unix | Self::Kitex | Self::KitexBlocking | Self::GrpcHttp2 | Self::Shmipc => {
                format!("unix:{path}/unix")
            }
            Self::Tcp => tcp.to_owned(),
        }
    }

    /// Returns its name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
