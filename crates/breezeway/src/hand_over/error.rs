//! Error of taking over from another server.

use std::io;

use breezeway_os::Peer;
use rustix::io::Errno;
use thiserror::Error;

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

impl From<Errno> for TakeOverError {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

fn user(peer: &Peer) -> String {
    peer.uid.map_or_else(|| "an unknown user".to_owned(), |uid| format!("user {uid}"))
}
