//! A connection on any carrier, where each wait ends at a deadline.

use std::io;
#[cfg(feature = "shmipc")]
use std::sync::Arc;
use std::time::Instant;

#[cfg(feature = "shmipc")]
use super::shmipc::Stream;
use super::socket::Socket;
use crate::error::Error;

/// A socket, or a stream of shmipc.
#[derive(Debug)]
pub(super) enum Connected {
    Socket(Socket),
    #[cfg(feature = "shmipc")]
    Shmipc(Arc<Stream>),
}

impl From<Socket> for Connected {
    fn from(socket: Socket) -> Self {
        Self::Socket(socket)
    }
}

/// See [`Socket`] for the methods.
impl Connected {
    pub(super) fn write(&self, bytes: &[u8], deadline: Option<Instant>) -> Result<(), Error> {
        match self {
            Self::Socket(socket) => socket.write(bytes, deadline),
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream) => stream.write(bytes, deadline),
        }
    }

    /// Notes that a message has arrived.
    pub(super) fn note_message(&self) {
        match self {
            Self::Socket(_) => {}
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream) => stream.note_message(),
        }
    }

    pub(super) fn read(&self, room: &mut [u8], deadline: Option<Instant>) -> Result<usize, Error> {
        match self {
            Self::Socket(socket) => socket.read(room, deadline),
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream) => stream.read(room, deadline),
        }
    }

    pub(super) fn try_read(&self, room: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Socket(socket) => socket.try_read(room),
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream) => stream.try_read(room),
        }
    }

    /// Returns true if its client has another session by now, and this one ends with its streams.
    pub(super) fn is_replaced(&self) -> bool {
        match self {
            Self::Socket(_) => false,
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream) => stream.session().is_replaced(),
        }
    }

    /// Returns true once no more data can arrive: the client is gone, or reading has ended here.
    pub(super) fn has_ended(&self) -> bool {
        match self {
            Self::Socket(socket) => socket.has_hung_up(),
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream) => stream.has_ended(),
        }
    }

    pub(super) fn is_usable(&self) -> bool {
        match self {
            Self::Socket(socket) => socket.is_usable(),
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream) => stream.is_usable(),
        }
    }

    pub(super) fn shut_down(&self) {
        match self {
            Self::Socket(socket) => socket.shut_down(),
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream) => stream.shut_down(),
        }
    }
}
