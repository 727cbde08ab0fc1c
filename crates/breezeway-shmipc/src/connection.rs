//! A session's socket, which is closed without blocking.

use std::ops::Deref;
use std::os::fd::OwnedFd;

use breezeway_os::{Origin, scm};

/// The socket of a handshake or a session. At its end what the peer has sent and nobody has read is
/// taken out, as the kernel would close descriptors among it here, for as long as that takes.
pub(crate) struct Connection {
    /// Present until dropped.
    socket: Option<OwnedFd>,
    /// A forked child has it too, and ends nothing.
    origin: Origin,
}

impl From<OwnedFd> for Connection {
    fn from(socket: OwnedFd) -> Self {
        Self { socket: Some(socket), origin: Origin::here() }
    }
}

impl Deref for Connection {
    type Target = OwnedFd;

    fn deref(&self) -> &OwnedFd {
        self.socket.as_ref().expect("present until dropped")
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.origin.is_here()
            && let Some(socket) = self.socket.take()
        {
            scm::close_connection(socket);
        }
    }
}
