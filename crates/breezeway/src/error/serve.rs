//! Error of a server.

use std::io;
use std::path::PathBuf;

use breezeway_os::shortage::advice;
use breezeway_os::socket_file::LONGEST_PATH;
use thiserror::Error;

use super::{ErrorKind, OptionError, SegmentError};
use crate::address::{AddressError, Place};
use crate::carrier::tls::TlsError;
use crate::hand_over::TakeOverError;

/// Error returned when a server does not run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is malformed.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A setting is outside its range.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// This machine does not support the address's carrier.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The certificates for TLS lack something.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A server already listens there.
    #[error("{0} is in use by a running server; choose another address or end that one")]
    InUse(Place),
    /// The file at the path is not a socket.
    #[error("{0} exists and is not a socket; remove it or choose another path")]
    NotASocket(PathBuf),
    /// The folder of the socket file does not exist.
    #[error("the folder of {0} does not exist; create it, or choose another path")]
    NoFolder(PathBuf),
    /// Another user's socket is at the path, and this user cannot find out if it is served.
    #[error(
        "{path} belongs to user {owner}, and this user may not connect to it to see whether a \
         server listens; choose another path"
    )]
    MayNotConnect {
        /// The socket file.
        path: PathBuf,
        /// User id of the owner.
        owner: u32,
    },
    /// A left-over socket is at the path, and this user may not remove it.
    #[error(
        "{path} is a left-over of user {owner}, which this user may not remove; let that user \
         remove it or choose another path"
    )]
    MayNotRemove {
        /// The socket file.
        path: PathBuf,
        /// User id of the owner.
        owner: u32,
    },
    /// A server listens there, and this one could not take over from it.
    #[error("cannot take over from the server with the admin socket {path}")]
    TakeOver {
        /// The admin socket.
        path: PathBuf,
        /// Error of taking over.
        source: TakeOverError,
    },
    /// A server that can be taken over from needs an admin socket, and has no path for one.
    #[error(
        "no place for the admin socket of a server without a socket file; set admin_socket \
         (--admin) to a path of its own"
    )]
    NoAdminSocket,
    /// The path of the admin socket does not fit into a socket address.
    #[error(
        "the path of the admin socket, {path}, is {} bytes long and {LONGEST_PATH} fit into a \
         socket address; set admin_socket (--admin) to a shorter one",
        path.as_os_str().len()
    )]
    AdminPathTooLong {
        /// Path of the admin socket.
        path: PathBuf,
    },
    /// The listening socket could not be created.
    #[error("cannot listen on {place}{}", advice(source))]
    Listen {
        /// Place where the server was to listen.
        place: Place,
        /// Error of the kernel.
        source: io::Error,
    },
    /// An operation inside the server failed.
    #[error("cannot serve{advice}", advice = advice(.0))]
    Io(#[from] io::Error),
}

impl ServeError {
    /// Returns the kind of the error, to branch on.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Address(_)
            | Self::Option(_)
            | Self::NotASocket(_)
            | Self::NoFolder(_)
            | Self::NoAdminSocket
            | Self::AdminPathTooLong { .. } => ErrorKind::InvalidUse,
            Self::Segment(error) => error.kind(),
            Self::Tls(error) => error.kind(),
            Self::InUse(_) => ErrorKind::InUse,
            Self::MayNotConnect { .. } | Self::MayNotRemove { .. } => ErrorKind::Refused,
            Self::TakeOver { source, .. } => source.kind(),
            Self::Listen { source, .. } | Self::Io(source) => ErrorKind::of_io(source),
        }
    }
}
