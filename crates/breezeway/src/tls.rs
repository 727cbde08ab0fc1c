//! TLS below the hello (`docs/tls.md`): what a session's socket carries is encrypted, and each side
//! knows whom the other one's certificate names.
//!
//! Without the feature `tls` there are the addresses and the errors, and nothing behind them.

mod error;

#[cfg(feature = "tls")]
mod authority;
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

/// What a Breezeway session says by ALPN (RFC 7301), so that a server of another protocol refuses
/// it at once.
pub(crate) const SESSION: &[u8] = b"breezeway";
