//! What is attacked.

use std::path::Path;

use clap::ValueEnum;

/// A way to serve, with what its sessions travel by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// Blocking handlers and workers, in shared memory.
    Native,
    /// The same on unix sockets.
    Unix,
    /// The same on TCP.
    Tcp,
    /// Awaited handlers, in shared memory.
    Tokio,
    /// The shmipc protocol.
    Shmipc,
    /// Thrift services over sessions.
    Rpc,
    /// Thrift services in Kitex's framing, awaited.
    Kitex,
    /// The same with handlers that block.
    KitexBlocking,
    /// gRPC in the native gear.
    Grpc,
    /// gRPC in HTTP/2, over a session's socket.
    GrpcHttp2,
    /// The Go module's server, in shared memory.
    Go,
}

/// What a hostile session is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// A peer in shared memory that writes anything.
    Memory,
    /// What honest clients say, nearly, in shared memory.
    Replayed,
    /// What honest clients say, nearly, on a unix socket.
    Unix,
    /// What honest clients say, nearly, over TCP.
    Tcp,
    /// A peer that writes anything in shmipc's regions.
    Shmipc,
}

impl Engine {
    /// What its hostile sessions are made of, in turn by chance.
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

    /// Where the honest client goes.
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

    /// Its name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
