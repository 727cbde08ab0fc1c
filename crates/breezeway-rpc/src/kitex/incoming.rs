//! A connection of a Thrift client, on any carrier.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
#[cfg(feature = "shmipc")]
use std::sync::Arc;

use breezeway::{Carrier, ForeignConnection, Peer};
use rustix::net::{Shutdown, shutdown};

use super::connected::Connected;
#[cfg(feature = "shmipc")]
use super::shmipc::Stream;
use super::socket::Socket;
use crate::error::Error;

/// A connection of a Thrift client, on any carrier.
#[derive(Debug)]
pub(crate) enum Incoming {
    Socket(ForeignConnection),
    #[cfg(feature = "shmipc")]
    Shmipc(Arc<Stream>, Peer),
}

impl From<ForeignConnection> for Incoming {
    fn from(connection: ForeignConnection) -> Self {
        Self::Socket(connection)
    }
}

#[cfg(feature = "shmipc")]
impl From<(Arc<Stream>, Peer)> for Incoming {
    fn from((stream, peer): (Arc<Stream>, Peer)) -> Self {
        Self::Shmipc(stream, peer)
    }
}

/// Handle that ends a connection served by another thread.
pub(super) enum Ending {
    Socket(OwnedFd),
    #[cfg(feature = "shmipc")]
    Shmipc(Arc<Stream>),
}

impl Incoming {
    pub(super) fn carrier(&self) -> Carrier {
        match self {
            Self::Socket(connection) => connection.carrier(),
            #[cfg(feature = "shmipc")]
            Self::Shmipc(..) => Carrier::Shmipc,
        }
    }

    pub(super) fn peer(&self) -> &Peer {
        match self {
            Self::Socket(connection) => connection.peer(),
            #[cfg(feature = "shmipc")]
            Self::Shmipc(_, peer) => peer,
        }
    }

    pub(super) fn ending(&self) -> io::Result<Ending> {
        match self {
            Self::Socket(connection) => {
                Ok(Ending::Socket(connection.as_fd().try_clone_to_owned()?))
            }
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream, _) => Ok(Ending::Shmipc(Arc::clone(stream))),
        }
    }

    /// Notes that a message has arrived. The first bytes of a socket have arrived before it gets
    /// here.
    pub(super) fn note_message(&self) {
        match self {
            Self::Socket(_) => {}
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream, _) => stream.note_message(),
        }
    }

    /// Reads the next bytes, at least one; 0 at the end.
    pub(super) fn read(&mut self, room: &mut [u8]) -> Result<usize, Error> {
        match self {
            Self::Socket(connection) => loop {
                match connection.read(room) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => return Ok(read?),
                }
            },
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream, _) => stream.read(room, None),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match self {
            Self::Socket(connection) => Ok(connection.write_all(bytes)?),
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream, _) => stream.write(bytes, None),
        }
    }

    /// Splits the connection for several threads. Also returns the reading side, if it is separate.
    pub(super) fn shared(self) -> io::Result<(Connected, Option<Self>)> {
        match self {
            Self::Socket(connection) if connection.carrier() == Carrier::Tls => {
                Ok((Socket::within_tls(connection)?.into(), None))
            }
            Self::Socket(connection) => {
                let socket = connection.as_fd().try_clone_to_owned()?;
                Ok((Socket::from(socket).into(), Some(connection.into())))
            }
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream, _) => Ok((Connected::Shmipc(stream), None)),
        }
    }
}

impl Ending {
    /// Ends the direction in which the client writes: bytes that have arrived are still read.
    pub(super) fn end_reading(&self) {
        match self {
            Self::Socket(socket) => shut_down(socket, Shutdown::Read),
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream) => stream.end_reading(),
        }
    }

    /// Ends both directions: a thread that waits for a client that does not read continues.
    pub(super) fn cut_off(&self) {
        match self {
            Self::Socket(socket) => shut_down(socket, Shutdown::Both),
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream) => stream.session().close(),
        }
    }
}

fn shut_down(socket: &OwnedFd, how: Shutdown) {
    match shutdown(socket, how).map_err(io::Error::from) {
        Ok(()) => {}
        // The client has already ended it.
        Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
        Err(error) => tracing::debug!(%error, "a Thrift client's socket"),
    }
}
