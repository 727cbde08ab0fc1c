//! Errors of a server or a channel.

use breezeway::{AddressError, ConnectError, ErrorKind, ServeError};

/// An error of a layer or a body, in tower's form.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Error of a server or a channel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is invalid.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// No server could be connected to at the address.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The server cannot listen, or listens no longer.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// HTTP/2 has failed.
    #[error("HTTP/2 failed")]
    Http2(#[from] tonic::transport::Error),
}

impl Error {
    /// Returns the kind of the error, to branch on.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Address(_) => ErrorKind::InvalidUse,
            Self::Connect(error) => error.kind(),
            Self::Serve(error) => error.kind(),
            Self::Http2(_) => ErrorKind::Io,
        }
    }
}
