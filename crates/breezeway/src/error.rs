//! Error types, one per boundary.
//!
//! Errors here contain two types of `breezeway-shm`, which this crate re-exports: `Shortage` names
//! the payload memory that is lacking, `MemoryViolation` the rule of the ABI that a peer broke.
//! Both name facts of the page (`docs/abi.md`) rather than of the code below. Other errors of that
//! crate stay internal.

mod call;
mod client;
mod connect;
mod handshake;
mod option;
mod reply;
mod serve;
mod session;
mod stream;
mod texts;

use breezeway_proto::CallViolation;
use breezeway_shm::SocketError;

use crate::address::AddressError;
use crate::carrier::LinkError;

pub use call::CallError;
pub use client::ClientError;
pub use connect::ConnectError;
pub use handshake::HandshakeError;
pub(crate) use handshake::SMALLEST_SEND_BUFFER;
pub use option::OptionError;
pub use reply::ReplyError;
pub use serve::ServeError;
pub use session::SessionError;
pub use stream::StreamError;

/// Implements `Debug` as the message: `main` and `unwrap` print errors in their debug form, and the
/// message is of more use to a reader than the fields.
macro_rules! debug_is_message {
    ($($error:ty),+ $(,)?) => {$(
        impl std::fmt::Debug for $error {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, formatter)
            }
        }
    )+};
}

debug_is_message!(
    AddressError,
    CallError,
    ClientError,
    ConnectError,
    OptionError,
    ReplyError,
    ServeError,
    SessionError,
);

/// Converts an error that ends a session, of its link or of its peer, into an error of calls and of
/// serving.
macro_rules! from_link {
    ($($error:ident),+) => {$(
        impl From<LinkError> for $error {
            fn from(error: LinkError) -> Self {
                match error {
                    LinkError::Violation(violation) => Self::Violation(violation),
                    LinkError::Shortage(error) => Self::Shortage(error),
                    LinkError::Unreceived(unreceived) => Self::Io(unreceived.into()),
                    LinkError::Io(errno) => Self::Io(errno.into()),
                    LinkError::Tls(error) => Self::Tls(error),
                    LinkError::Forked => Self::Forked,
                    LinkError::DeadlinePassed => Self::DeadlinePassed,
                    // A peer whose messages fill the buffer, and which reads none, counts as dead.
                    LinkError::Closed | LinkError::ReceiveBufferFull => Self::PeerDied,
                }
            }
        }

        impl From<SocketError> for $error {
            fn from(error: SocketError) -> Self {
                LinkError::from(error).into()
            }
        }

        impl From<CallViolation> for $error {
            fn from(violation: CallViolation) -> Self {
                Self::Violation(violation.into())
            }
        }
    )+};
}

from_link!(CallError, SessionError);
