//! Error types, one per boundary.

mod call;
mod client;
mod connect;
mod handshake;
mod memory;
mod option;
mod reply;
mod report;
mod serve;
mod session;
mod stream;
mod texts;

use breezeway_proto::{CallViolation, ErrorCode};

use crate::carrier::LinkError;
pub use crate::error_kind::ErrorKind;

pub use call::CallError;
pub use client::ClientError;
pub use connect::ConnectError;
pub use handshake::HandshakeError;
pub(crate) use handshake::SMALLEST_SEND_BUFFER;
pub use memory::{SegmentError, Shortage};
pub use option::OptionError;
pub use reply::ReplyError;
pub use report::{Report, describe};
pub use serve::ServeError;
pub use session::SessionError;
pub use stream::StreamError;

/// Returns true if a handler may have run a request that failed with `code`.
fn may_have_run(code: ErrorCode) -> bool {
    !matches!(code, ErrorCode::NoSuchMethod | ErrorCode::Refused | ErrorCode::Overloaded)
}

/// Converts an error that ends a session, of its link or of its peer, into an error of calls and of
/// serving.
macro_rules! from_link {
    ($($error:ident),+) => {$(
        impl From<LinkError> for $error {
            fn from(error: LinkError) -> Self {
                match error {
                    LinkError::Violation(violation) => Self::Violation(violation),
                    LinkError::Shortage(error) => Self::Shortage(SegmentError(error)),
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

        impl From<CallViolation> for $error {
            fn from(violation: CallViolation) -> Self {
                Self::Violation(violation.into())
            }
        }
    )+};
}

from_link!(CallError, SessionError);
