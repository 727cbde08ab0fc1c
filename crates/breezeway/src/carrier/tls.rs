//! TLS below the hello (`docs/tls.md`): the bytes of a session's socket are encrypted, and each
//! side knows the identity in the other one's certificate.
//!
//! Without the feature `tls`, only the addresses and the errors exist.

mod error;

#[cfg(feature = "tls")]
mod authority;
#[cfg(feature = "tls")]
mod describe;
#[cfg(feature = "tls")]
mod identity;
#[cfg(feature = "tls")]
mod options;
#[cfg(feature = "tls")]
mod socket;

#[cfg(not(feature = "tls"))]
mod absent;

pub use error::TlsError;

#[cfg(not(feature = "tls"))]
pub(crate) use absent::{Tls, TlsSocket};
#[cfg(feature = "tls")]
pub use options::Tls;
#[cfg(feature = "tls")]
pub(crate) use socket::TlsSocket;

/// ALPN name of a Breezeway session (RFC 7301); a server of another protocol refuses it at once.
pub(crate) const SESSION: &[u8] = b"breezeway";
