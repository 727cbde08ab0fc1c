//! The hand-over of the listening sockets of a running server to a successor, through a door of its
//! own: the admin socket, a unix socket beside the server's.
//!
//! The successor asks, and receives each listening socket, and that of the door itself, as a
//! descriptor with its place. The predecessor continues to accept, so a successor that dies now has
//! changed nothing. Once the successor serves, it announces that, with the sockets that it has
//! taken; then the predecessor accepts no more and sends its clients away. Clients that wait in a
//! socket's backlog are accepted by either server, and none is lost, as the sockets are the same.
//!
//! A server of another user receives none of this: each side asks the kernel for the peer's
//! credentials.

mod door;
mod successor;
mod wire;

use std::io;

use breezeway_os::Peer;
use thiserror::Error;

pub(crate) use door::{ClosedDoor, Door, Offered};
pub(crate) use successor::{Offering, ask};

/// Error returned when a server could not take over from another one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TakeOverError {
    /// The server is another user's.
    #[error("it belongs to {}, and servers hand over to their own user only", user(.0))]
    OtherUser(Peer),
    /// The server has not answered.
    #[error("it does not answer; it hangs, or another successor takes over from it")]
    Silent,
    /// The server has ended.
    #[error("it has ended; start again")]
    Ended,
    /// The server's answer is malformed.
    #[error("it does not speak as servers of this version do: {0}")]
    Garbled(&'static str),
    /// This process is short of descriptors for its sockets.
    #[error(
        "no file descriptor is left for its sockets; raise the limit of open files (ulimit -n)"
    )]
    OpenFiles,
    /// The socket failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<rustix::io::Errno> for TakeOverError {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Io(errno.into())
    }
}

fn user(peer: &Peer) -> String {
    peer.uid.map_or_else(|| "an unknown user".to_owned(), |uid| format!("user {uid}"))
}
