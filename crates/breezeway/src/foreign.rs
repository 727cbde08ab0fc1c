//! Clients that speak another protocol than this one, on the same address.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use breezeway_os::{Peer, scm};
use rustix::io::ioctl_fionbio;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, recv, send, sendmsg, shutdown,
};

use crate::carrier::Carrier;

/// What takes over clients of another protocol.
#[derive(Clone)]
pub(crate) struct ForeignProtocol(Arc<dyn Fn(ForeignConnection) + Send + Sync>);

impl ForeignProtocol {
    pub(crate) fn new(handler: impl Fn(ForeignConnection) + Send + Sync + 'static) -> Self {
        Self(Arc::new(handler))
    }

    /// Hands a connection over. A handler that panics has dropped it, which closes it.
    pub(crate) fn take_over(&self, connection: ForeignConnection) {
        // It is a shared function without state of ours, so nothing is left half done.
        if catch_unwind(AssertUnwindSafe(|| (self.0)(connection))).is_err() {
            tracing::warn!("a handler for foreign connections panicked");
        }
    }
}

/// A connection whose client does not speak Breezeway, as its first eight bytes show.
///
/// What it has sent so far was read, and is what [`Read`] gives first. Reads and writes block,
/// unless [`Self::set_nonblocking`] says otherwise. Nothing bounds the time that its client takes
/// from here on. File descriptors that it sends are closed. Counts as a session of its server
/// ([`ServerOptions::max_sessions`](crate::ServerOptions::max_sessions)) until it is dropped, which
/// shuts it down, also for those that hold a copy of its descriptor.
pub struct ForeignConnection {
    /// There until this is dropped.
    socket: Option<OwnedFd>,
    unread: Unread,
    carrier: Carrier,
    peer: Peer,
    /// Counted by the server.
    _place: Arc<()>,
}

/// First bytes that nobody has read.
struct Unread {
    bytes: Vec<u8>,
    start: usize,
}

impl ForeignConnection {
    pub(crate) fn new(
        socket: OwnedFd,
        first: Vec<u8>,
        (carrier, peer): (Carrier, Peer),
        place: Arc<()>,
    ) -> Self {
        let unread = Unread { bytes: first, start: 0 };
        Self { socket: Some(socket), unread, carrier, peer, _place: place }
    }

    /// What came first and was not read from this yet: at first eight bytes or more, up to 64, by
    /// which the protocol is recognised. Whatever follows is still in the socket.
    pub fn first_bytes(&self) -> &[u8] {
        &self.unread.bytes[self.unread.start..]
    }

    /// Who connected, as the server's policy saw it.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// What sessions of the address that it connected to travel by. These bytes travel by its
    /// socket: a unix socket, also for [`Carrier::Shm`], or a TCP connection.
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Whether reads and writes that would have to wait fail instead, with
    /// [`io::ErrorKind::WouldBlock`], as an event loop wants it. At first they wait.
    pub fn set_nonblocking(&self, is_nonblocking: bool) -> io::Result<()> {
        Ok(ioctl_fionbio(self, is_nonblocking)?)
    }

    /// Ends the direction in which this side writes; the client reads the end behind what was
    /// written.
    pub fn shutdown_write(&self) -> io::Result<()> {
        Ok(shutdown(self, Shutdown::Write)?)
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
        match self.carrier {
            Carrier::Tcp => Ok(recv(&*self, buffer, RecvFlags::empty())?.1),
            // Descriptors are received too, so that they are closed where that may take long.
            Carrier::Shm | Carrier::Unix => {
                let mut descriptors = Vec::new();
                Ok(scm::receive(&*self, buffer, &mut descriptors, RecvFlags::empty())?.bytes)
            }
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
        Ok(send(&*self, bytes, SendFlags::NOSIGNAL)?)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut control = SendAncillaryBuffer::default();
        Ok(sendmsg(&*self, pieces, &mut control, SendFlags::NOSIGNAL)?)
    }

    /// Does nothing: what was written is on its way.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for ForeignConnection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_ref().expect("taken only when this is dropped").as_fd()
    }
}

impl Drop for ForeignConnection {
    fn drop(&mut self) {
        if let Some(socket) = self.socket.take() {
            scm::close_connection(socket);
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
