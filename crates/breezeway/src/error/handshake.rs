//! Error of the handshake.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use breezeway_os::segment;
use breezeway_os::shortage::advice;
use breezeway_proto::hello::{HelloError, Refusal};
use thiserror::Error;

use super::{ErrorKind, SegmentError};
use crate::carrier::tls::TlsError;
use crate::carrier::{Carrier, LinkError};

/// Smallest capacity of a session socket, as the kernel counts: room for the 64 doorbell bytes that
/// a peer may leave unread. A full socket makes no event.
pub(crate) const SMALLEST_SEND_BUFFER: usize = 64 * 1024;

/// Error returned when a session could not be agreed on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The peer's hello is malformed.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// A segment could not be created, or the peer's is unfit.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The hello came with another number of file descriptors than one, where 2 stands for all
    /// larger numbers; without shared memory, with any.
    #[error(
        "a hello comes with one file descriptor (none without shared memory); this one came with \
         {many}",
        many = ["none", "one", "more"][(*.0).min(2)]
    )]
    Descriptors(usize),
    /// One side offers shared memory and the other does not.
    #[error("this side speaks {0}: here and the peer does not; use the same scheme on both sides")]
    Carrier(Carrier),
    /// The server refuses this session.
    #[error("the server refuses: {reason} (status {status})")]
    Refused {
        /// Status of the refusal, see [`Refusal`].
        status: u32,
        /// Reason of the refusal.
        reason: String,
    },
    /// The service of the server is not the one of this client
    /// ([`SessionOptions::service`](crate::SessionOptions::service)).
    #[error(
        "the server serves {}, and this client speaks {}: use the address of one that does",
        service_name(*theirs), service_name(*ours)
    )]
    Service {
        /// The server's number.
        theirs: u16,
        /// This client's.
        ours: u16,
    },
    /// A client sent a refusal.
    #[error("a client's hello with a refusal's status")]
    ClientRefuses,
    /// The peer closed the connection during the handshake.
    #[error(
        "the peer closed the connection during the handshake; it may just have ended, or may not \
         speak Breezeway"
    )]
    Closed,
    /// The peer did not complete its hello in time.
    #[error("no answer to the hello within {0:?}; the peer hangs or does not speak Breezeway")]
    Timeout(Duration),
    /// Many other silent clients have connected since.
    #[error(
        "the hello did not come before as many other clients of the same user as may wait for \
         theirs"
    )]
    PushedOut,
    /// This process has reached its limit on open files; a session needs a few.
    #[error(
        "no file descriptor is left for the session; close some or raise the limit of open files \
         (ulimit -n)"
    )]
    OpenFiles,
    /// The socket holds too few bytes for a peer that does not read, which could miss a wake-up.
    #[error(
        "the session socket holds {0} bytes where {SMALLEST_SEND_BUFFER} are needed; raise \
         net.core.wmem_max"
    )]
    SendBuffer(usize),
    /// The TLS handshake, which precedes the hello, failed.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The socket failed.
    #[error("the session socket failed{advice}", advice = advice(.0))]
    Socket(#[source] io::Error),
}

impl HandshakeError {
    /// Returns the kind of the error, to branch on.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Hello(_) | Self::Descriptors(_) | Self::ClientRefuses => ErrorKind::Violation,
            Self::Segment(error) => error.kind(),
            Self::Carrier(_) | Self::Service { .. } => ErrorKind::InvalidUse,
            Self::Refused { status, .. } => {
                let is_short = [Refusal::Busy as u32, Refusal::NoMemory as u32].contains(status);
                if is_short { ErrorKind::Shortage } else { ErrorKind::Refused }
            }
            Self::Closed => ErrorKind::Died,
            Self::Timeout(_) => ErrorKind::Deadline,
            Self::PushedOut | Self::OpenFiles | Self::SendBuffer(_) => ErrorKind::Shortage,
            Self::Tls(error) => error.kind(),
            Self::Socket(error) => ErrorKind::of_io(error),
        }
    }

    /// Returns true if this side lacks a resource, which is not the peer's fault.
    pub(crate) fn is_shortage(&self) -> bool {
        match self {
            Self::OpenFiles | Self::SendBuffer(_) => true,
            Self::Segment(error) => error.is_shortage(),
            _ => false,
        }
    }

    /// Returns true if clients hold as much memory as the limits allow.
    pub(crate) fn is_memory_limit(&self) -> bool {
        matches!(self, Self::Segment(SegmentError(segment::SegmentError::Limit { .. })))
    }

    /// Returns true if a later attempt may succeed: the server ended during the handshake, hangs,
    /// or is full.
    pub(crate) fn may_pass(&self) -> bool {
        let busy = Refusal::Busy as u32;
        matches!(self, Self::Refused { status, .. } if *status == busy)
            || matches!(self, Self::Closed | Self::Timeout(_))
            || matches!(self, Self::Tls(error) if error.may_pass())
    }

    /// Returns the refusal for a client whose hello failed, if it speaks the protocol at all.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::Hello(HelloError::Version(_)) => Some(Refusal::Version),
            Self::Carrier(_) => Some(Refusal::Carrier),
            Self::OpenFiles | Self::SendBuffer(_) => Some(Refusal::NoMemory),
            Self::Hello(HelloError::Magic(_))
            | Self::Closed
            | Self::PushedOut
            | Self::Timeout(_)
            | Self::Tls(_)
            | Self::Socket(_) => None,
            Self::Segment(error) if error.is_shortage() => Some(Refusal::NoMemory),
            Self::Segment(SegmentError(segment::SegmentError::Call { .. })) => {
                Some(Refusal::NoMemory)
            }
            _ => Some(Refusal::Violation),
        }
    }
}

impl From<LinkError> for HandshakeError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Tls(error) => Self::Tls(error),
            LinkError::Io(errno) => Self::Socket(errno.into()),
            _ => Self::Closed,
        }
    }
}

/// Returns the name of a service number.
fn service_name(number: u16) -> Cow<'static, str> {
    match number {
        1 => "Breezeway RPC".into(),
        2 => "gRPC".into(),
        other => format!("service {other}").into(),
    }
}
