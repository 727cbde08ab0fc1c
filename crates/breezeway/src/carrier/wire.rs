//! The medium of the bytes between two sides: a socket as it is, or within TLS. A wire has one
//! owner, from the first byte on, as TLS has a state that cannot be shared.

use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use breezeway_os::Connection;

use super::tls::TlsSocket;

/// A connected stream socket, plain or within TLS. A plain one is closed without blocking even if
/// it is only dropped.
#[derive(Debug)]
pub(crate) enum Wire {
    Plain(Connection),
    Tls(Box<TlsSocket>),
}

impl From<OwnedFd> for Wire {
    fn from(socket: OwnedFd) -> Self {
        Self::Plain(socket.into())
    }
}

impl From<TlsSocket> for Wire {
    fn from(socket: TlsSocket) -> Self {
        Self::Tls(Box::new(socket))
    }
}

impl Wire {
    /// Allows larger reads, as the peer's hello is known: from here on it may take memory.
    pub(crate) fn read_in_bulk(&mut self) {
        if let Self::Tls(tls) = self {
            tls.read_in_bulk();
        }
    }

    /// Ends the connection for both sides, even if other processes have the socket, without
    /// waiting.
    pub(crate) fn close(self) {
        match self {
            Self::Plain(socket) => drop(socket),
            Self::Tls(tls) => tls.close(),
        }
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Plain(socket) => socket.as_fd(),
            Self::Tls(tls) => tls.as_fd(),
        }
    }
}

/// Wraps one slice for calls that take several.
pub(crate) fn only(bytes: &[u8]) -> [IoSlice<'_>; 1] {
    [IoSlice::new(bytes)]
}
