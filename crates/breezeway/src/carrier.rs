//! The carriers of sessions.

mod body;
mod error;
mod notice;
pub(crate) mod plain;
pub(crate) mod shm;
mod status;
pub(crate) mod stream;
pub(crate) mod tls;
pub(crate) mod wire;

use std::fmt;

pub(crate) use body::Body;
pub(crate) use error::{LinkError, Unreceived};
pub(crate) use notice::Notice;
pub(crate) use shm::MemoryLink;
pub(crate) use status::Status;
pub(crate) use stream::SocketLink;

/// The carrier of a session's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Carrier {
    /// Shared memory; a unix socket only negotiates it and rings.
    Shm,
    /// A unix stream socket.
    Unix,
    /// A TCP connection.
    Tcp,
    /// TLS over a TCP connection.
    Tls,
    /// A stream of a shmipc session (crate `breezeway-shmipc`). This crate's sessions never use it,
    /// and no address names it; calls of `breezeway-rpc` in the framings of Thrift can use it.
    Shmipc,
}

impl Carrier {
    /// Returns its number in the statistics of a process (`docs/abi.md`, section 9); 0 for a
    /// carrier without sessions.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Shm => 1,
            Self::Unix => 2,
            Self::Tcp => 3,
            Self::Tls => 4,
            Self::Shmipc => 0,
        }
    }
}

impl fmt::Display for Carrier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Shm => "shm",
            Self::Unix => "unix",
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Shmipc => "shmipc",
        })
    }
}
