//! Error of taking over from another server.

use std::io;

use thiserror::Error;

use crate::error_kind::ErrorKind;

/// Error returned when a server could not take over from another one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TakeOverError {
    /// The server is the user's with this id, if it is known, and not this one's.
    #[error("it belongs to {}, and servers hand over to their own user only", user(*.0))]
    OtherUser(Option<u32>),
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

impl TakeOverError {
    /// Returns the kind of the error, to branch on.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::OtherUser(_) => ErrorKind::Refused,
            Self::Silent => ErrorKind::Deadline,
            Self::Ended => ErrorKind::Died,
            Self::Garbled(_) => ErrorKind::Violation,
            Self::OpenFiles => ErrorKind::Shortage,
            Self::Io(error) => ErrorKind::of_io(error),
        }
    }
}

fn user(uid: Option<u32>) -> String {
    uid.map_or_else(|| "an unknown user".to_owned(), |uid| format!("user {uid}"))
}
