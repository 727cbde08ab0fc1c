//! A stranger's connection, which is read as a whole and closed without blocking.

use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::sockopt::set_socket_oobinline;

use crate::fork::Origin;
use crate::scm::close_connection;

/// A connected stream socket whose other end is a stranger's.
///
/// What that sends as urgent (`MSG_OOB`) is read like any other byte, of which nobody has to know
/// (`SO_OOBINLINE`, socket(7)): on a unix socket a read drops it otherwise, and with it the
/// descriptors that came along, in the thread that reads and for as long as closing them takes; and
/// one that peeks passes over it, so that the socket stays readable and nothing is there.
///
/// Dropped, it ends the connection for everybody who holds it ([`close_connection`]); a forked
/// child's copy ends nothing.
#[derive(Debug)]
pub struct Connection {
    /// Present until dropped.
    socket: Option<OwnedFd>,
    origin: Origin,
}

impl From<OwnedFd> for Connection {
    fn from(socket: OwnedFd) -> Self {
        // The kernel asks for it at each read, so that it is not too late for what has come. Fails
        // for no socket.
        let _ = set_socket_oobinline(&socket, true);
        Self { socket: Some(socket), origin: Origin::here() }
    }
}

impl Connection {
    /// The socket, for whoever makes it a `Connection` again.
    pub fn into_owned(mut self) -> OwnedFd {
        self.socket.take().expect("present until dropped")
    }
}

impl Deref for Connection {
    type Target = OwnedFd;

    fn deref(&self) -> &OwnedFd {
        self.socket.as_ref().expect("present until dropped")
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.origin.is_here()
            && let Some(socket) = self.socket.take()
        {
            close_connection(socket);
        }
    }
}
