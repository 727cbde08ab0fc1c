//! Clients that speak another protocol on the same address.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use breezeway_os::{Peer, scm};
use rustix::io::ioctl_fionbio;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, recv, send, sendmsg, shutdown,
};

use crate::carrier::Carrier;
use crate::carrier::wire::{Wire, only};

/// Handler of clients of another protocol.
#[derive(Clone)]
pub(crate) struct ForeignProtocol(Arc<dyn Fn(ForeignConnection) + Send + Sync>);

impl ForeignProtocol {
    pub(crate) fn new(handler: impl Fn(ForeignConnection) + Send + Sync + 'static) -> Self {
        Self(Arc::new(handler))
    }

    /// Hands a connection over. A handler that panics has dropped it, which closes it.
    pub(crate) fn take_over(&self, connection: ForeignConnection) {
        // The handler is a shared function without state of ours, so a panic leaves nothing half
        // done.
        if catch_unwind(AssertUnwindSafe(|| (self.0)(connection))).is_err() {
            tracing::warn!("a handler for foreign connections panicked");
        }
    }
}

/// A connection whose client does not speak Breezeway, as its first eight bytes show.
///
/// [`Read`] first returns the bytes that were read before the connection was handed over. Reads and
/// writes block, unless [`Self::set_nonblocking`] changes that. The time of the client is not
/// limited from here on. File descriptors that it sends are closed. The connection counts as a
/// session of its server ([`ServerOptions::max_sessions`](crate::ServerOptions::max_sessions))
/// until it is dropped, which shuts it down, also for processes that hold a copy of its descriptor.
///
/// Over TLS an end without its farewell is an error, as an attacker may have cut the connection.
/// Written bytes are lost if this is dropped before [`flush`](Write::flush) or
/// [`Self::shutdown_write`] has succeeded: some of them may still wait for room. In a forked child
/// of the process that has the connection, it is of no use, and dropping it ends nothing.
pub struct ForeignConnection {
    /// `Some` until this is dropped.
    wire: Option<Wire>,
    unread: Unread,
    carrier: Carrier,
    peer: Peer,
    /// Counted by the server.
    _place: Arc<()>,
}

/// First bytes that were not read from the connection yet.
struct Unread {
    bytes: Vec<u8>,
    start: usize,
}

impl ForeignConnection {
    pub(crate) fn new(
        wire: impl Into<Wire>,
        first: Vec<u8>,
        (carrier, peer): (Carrier, Peer),
        place: Arc<()>,
    ) -> Self {
        let mut wire = wire.into();
        wire.read_in_bulk();
        let unread = Unread { bytes: first, start: 0 };
        Self { wire: Some(wire), unread, carrier, peer, _place: place }
    }

    /// Returns the first bytes that were not read from this yet: at first eight bytes or more, up
    /// to 64, by which the protocol is recognised. Later bytes are still in the socket.
    pub fn first_bytes(&self) -> &[u8] {
        &self.unread.bytes[self.unread.start..]
    }

    /// Returns true if a read may return bytes that no event of the socket reports. The caller must
    /// read them before it waits for the socket.
    pub(crate) fn has_buffered(&self) -> bool {
        let within = match &self.wire {
            Some(Wire::Tls(tls)) => tls.has_buffered(),
            _ => false,
        };
        within || !self.first_bytes().is_empty()
    }

    /// Returns the client's peer data, as the server's policy saw it.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Returns the carrier of sessions at the address that it connected to. These bytes travel by
    /// its socket: a unix socket, also for [`Carrier::Shm`], or a TCP connection, and for
    /// [`Carrier::Tls`] within TLS.
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Sets if reads and writes that would have to wait fail instead, with
    /// [`io::ErrorKind::WouldBlock`], for an event loop. At first they wait. The loop reads until
    /// that error before each wait: bytes may be here already that no event of the socket reports.
    pub fn set_nonblocking(&self, is_nonblocking: bool) -> io::Result<()> {
        Ok(ioctl_fionbio(self, is_nonblocking)?)
    }

    /// Ends the writing direction of this side; the client reads the end behind the written bytes.
    /// Over TLS it waits, or would have to, for room for the farewell.
    pub fn shutdown_write(&mut self) -> io::Result<()> {
        match self.wire() {
            Wire::Plain(socket) => Ok(shutdown(socket, Shutdown::Write)?),
            Wire::Tls(tls) => tls.end_writing(),
        }
    }

    fn wire(&mut self) -> &mut Wire {
        self.wire.as_mut().expect("taken only when this is dropped")
    }
}

impl Read for ForeignConnection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let first = self.first_bytes();
        if !first.is_empty() {
            let count = first.len().min(buffer.len());
            buffer[..count].copy_from_slice(&first[..count]);
            self.unread.start += count;
            return Ok(count);
        }
        let carrier = self.carrier;
        match (self.wire(), carrier) {
            (Wire::Tls(tls), _) => tls.read_stream(buffer),
            // Descriptors are received too, so that they are closed here, where closing may take
            // long.
            (Wire::Plain(socket), Carrier::Shm | Carrier::Unix) => {
                let mut descriptors = Vec::new();
                let got = scm::receive(socket, buffer, &mut descriptors, RecvFlags::empty())?;
                // A client that could continue after them could fill this process's table of open
                // files.
                if got.descriptors > 0 || got.is_cut {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "the peer sent descriptors, which this protocol does not know",
                    ));
                }
                Ok(got.bytes)
            }
            (Wire::Plain(socket), _) => Ok(recv(socket, buffer, RecvFlags::empty())?.1),
        }
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match buffers.iter_mut().find(|buffer| !buffer.is_empty()) {
            Some(buffer) => self.read(buffer),
            None => Ok(0),
        }
    }
}

impl Write for ForeignConnection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.wire() {
            Wire::Plain(socket) => Ok(send(socket, bytes, SendFlags::NOSIGNAL)?),
            Wire::Tls(tls) => tls.write_stream(&only(bytes)),
        }
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.wire() {
            Wire::Plain(socket) => {
                let mut control = SendAncillaryBuffer::default();
                Ok(sendmsg(socket, pieces, &mut control, SendFlags::NOSIGNAL)?)
            }
            Wire::Tls(tls) => tls.write_stream(pieces),
        }
    }

    /// Written bytes have been sent, but over TLS, if reads and writes do not wait, some may still
    /// wait for room.
    fn flush(&mut self) -> io::Result<()> {
        match self.wire() {
            Wire::Plain(_) => Ok(()),
            Wire::Tls(tls) => tls.flush_stream(),
        }
    }
}

impl AsFd for ForeignConnection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wire.as_ref().expect("taken only when this is dropped").as_fd()
    }
}

impl Drop for ForeignConnection {
    fn drop(&mut self) {
        if let Some(wire) = self.wire.take() {
            wire.close();
        }
    }
}

impl fmt::Debug for ForeignConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignConnection")
            .field("first_bytes", &self.first_bytes().escape_ascii().to_string())
            .field("carrier", &self.carrier)
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}
