//! Error of connecting.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use breezeway_os::shortage::advice;
use thiserror::Error;

use super::{ErrorKind, HandshakeError, OptionError, describe};
use crate::address::{AddressError, Place};
use crate::carrier::tls::TlsError;

/// Error returned when a client gets no session.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address is malformed.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A setting is outside its range.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// The socket does not exist.
    #[error("no server at {0}: the socket file does not exist; start the server first")]
    NoSocket(PathBuf),
    /// The socket file exists, but no process listens on it: its server has ended, or has been
    /// restarted behind a mount of this file alone, which keeps the old file.
    #[error(
        "no server at {0}: the socket file is a left-over of one that ended; start the server \
         again, or, if the file alone is mounted here, mount its folder"
    )]
    NotListening(PathBuf),
    /// The file at the path is not a socket.
    #[error("no server at {0}: it is not a socket; remove it or use the server's own path")]
    NotASocket(PathBuf),
    /// The permissions of the socket do not allow to open it.
    #[error(
        "no permission to connect to {0}: ask its owner for write permission on the socket file"
    )]
    Permission(PathBuf),
    /// No process listens on the port.
    #[error("no server at {0}: no process listens there; start the server first")]
    Refused(Place),
    /// The host's name has no address.
    #[error("no server at {place}: cannot find the host")]
    NoSuchHost {
        /// Place where a server was expected.
        place: Place,
        /// Error of the resolver.
        source: io::Error,
    },
    /// The server does not accept.
    #[error("the server at {place} does not accept within {timeout:?}: it hangs or is overloaded")]
    NotAccepting {
        /// Place where the server listens.
        place: Place,
        /// Time that the client waited.
        timeout: Duration,
    },
    /// The certificates for TLS lack something.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The hello failed, or TLS's handshake before it.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// None of the address's places works.
    #[error("no place of the address works:{}", list(.0))]
    NoPlace(Vec<(Place, ConnectError)>),
    /// The thread to connect on could not be started.
    #[error("cannot connect")]
    Thread(#[source] io::Error),
    /// Another error of the kernel.
    #[error("cannot connect to {place}{}", advice(source))]
    Io {
        /// Place where a server was expected.
        place: Place,
        /// Error of the kernel.
        source: io::Error,
    },
}

impl ConnectError {
    /// Returns the kind of the error, to branch on. If no place of an address works, the kind is
    /// that of the first place, which the address prefers.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Address(_) | Self::Option(_) => ErrorKind::InvalidUse,
            Self::NoSocket(_)
            | Self::NotListening(_)
            | Self::NotASocket(_)
            | Self::Refused(_)
            | Self::NoSuchHost { .. } => ErrorKind::Unreachable,
            Self::Permission(_) => ErrorKind::Refused,
            Self::NotAccepting { .. } => ErrorKind::Deadline,
            Self::Tls(error) => error.kind(),
            Self::Handshake(error) => error.kind(),
            Self::NoPlace(failures) => {
                failures.first().map_or(ErrorKind::Unreachable, |(_, error)| error.kind())
            }
            Self::Thread(_) => ErrorKind::Shortage,
            Self::Io { source, .. } => ErrorKind::of_io(source),
        }
    }

    /// Returns true if a later attempt may succeed: the server is about to start, or to restart.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::NoSocket(_)
            | Self::NotListening(_)
            | Self::Refused(_)
            | Self::NotAccepting { .. } => true,
            // The resolver may answer the next time.
            Self::Io { source, .. } => source.kind() == io::ErrorKind::TimedOut,
            Self::Handshake(error) => error.may_pass(),
            Self::NoPlace(failures) => failures.iter().any(|(_, error)| error.may_pass()),
            _ => false,
        }
    }
}

/// Lists each place with its error.
fn list(failures: &[(Place, ConnectError)]) -> String {
    failures.iter().map(|(place, error)| format!(" {place} ({});", describe(error))).collect()
}
