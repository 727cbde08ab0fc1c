//! Why there is no server, or no channel.

use breezeway::{AddressError, ConnectError, ServeError};

/// An error of a layer or a body, as tower has them.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why there is no server, or no channel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address makes no sense.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Nobody serves at the address.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The server cannot listen, or listens no longer.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// HTTP/2 has failed.
    #[error("HTTP/2: {0}")]
    Http2(#[from] tonic::transport::Error),
}
