//! What a session's messages travel by.

use std::fmt;

/// What a session's messages travel by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Carrier {
    /// Shared memory; a unix socket only negotiates it and rings.
    Shm,
    /// A unix stream socket.
    Unix,
    /// A TCP connection.
    Tcp,
}

impl fmt::Display for Carrier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Shm => "shm",
            Self::Unix => "unix",
            Self::Tcp => "tcp",
        })
    }
}
