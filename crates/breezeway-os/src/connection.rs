//! A connection with an untrusted peer, read completely and closed without blocking.

use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::sockopt::set_socket_oobinline;

use crate::fork::Origin;
use crate::scm::close_connection;

/// A connected stream socket with an untrusted other end.
///
/// Urgent data (`MSG_OOB`) is read like any other byte (`SO_OOBINLINE`, socket(7)), so that readers
/// need not handle it. On a unix socket a read would otherwise drop it, and with it the descriptors
/// that came along, in the reading thread and for as long as closing them takes; and a peek would
/// pass over it, so that the socket stays readable with nothing to read.
///
/// Dropping it ends the connection for all holders ([`close_connection`]); a forked child's copy
/// ends nothing.
#[derive(Debug)]
pub struct Connection {
    /// Present until dropped.
    socket: Option<OwnedFd>,
    origin: Origin,
}

impl From<OwnedFd> for Connection {
    fn from(socket: OwnedFd) -> Self {
        // The kernel checks the option at each read, so it also covers data that has already
        // arrived. Fails only if the descriptor is not a socket.
        let _ = set_socket_oobinline(&socket, true);
        Self { socket: Some(socket), origin: Origin::here() }
    }
}

impl Connection {
    /// Returns the socket, for a caller that makes it a `Connection` again.
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
