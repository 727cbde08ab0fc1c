//! Violations: rules that a peer broke. Each violation ends the session.

use thiserror::Error;

use crate::entry::Kind;
use crate::metadata::MetadataError;
use crate::window::Window;

/// Violation of a rule by the peer, which ends the session.
#[derive(Debug, Error)]
pub enum Violation {
    /// A rule of calls, on any carrier.
    #[error(transparent)]
    Call(#[from] CallViolation),
    /// A rule of streams, on any carrier.
    #[error(transparent)]
    Stream(#[from] StreamViolation),
}

/// Violation of a rule of calls by the peer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallViolation {
    /// Flags that do not belong together, or not on this carrier.
    #[error("flags {0:#04x} do not belong together here")]
    Flags(u8),
    /// A request without OPEN and FIN, or with flags of a reply.
    #[error("a message with flags {0:#04x} is not a request")]
    NotARequest(u8),
    /// A reply without FIN, or with flags of a request.
    #[error("a message with flags {0:#04x} is not a reply")]
    NotAReply(u8),
    /// A request on a stream number that a client does not use.
    #[error("a request on stream {0}; clients use odd numbers")]
    StreamNumber(u32),
    /// A reply to a call that is not in flight.
    #[error("a reply on stream {0}, where no call is in flight")]
    UnexpectedReply(u32),
    /// More calls in flight than both rings have room for.
    #[error("more calls in flight than the agreed {0}")]
    TooManyCalls(usize),
    /// An entry that this side does not expect.
    #[error("an unexpected {0:?} entry")]
    Unexpected(Kind),
    /// An entry with a body of another length than its kind allows.
    #[error("a {kind:?} entry with a body of {len} bytes")]
    BodyLength {
        /// Kind of the entry.
        kind: Kind,
        /// Length of the body in bytes.
        len: usize,
    },
    /// A kind that is not defined.
    #[error("kind {0} is not defined")]
    Kind(u8),
    /// A frame's length is more than the session's cap, or than its kind allows.
    #[error("a frame of kind {kind} with {len} bytes; a message has at most {cap}, others none")]
    FrameLength {
        /// The kind's number.
        kind: u8,
        /// The length.
        len: usize,
        /// The largest message.
        cap: usize,
    },
    /// File descriptors where none belong.
    #[error("{0} file descriptors where messages travel on the socket")]
    Descriptors(usize),
}

/// Violation of a rule of streams by the peer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamViolation {
    /// A stream was opened on a number of this side, on 0, or on one that is in use.
    #[error("a stream was opened on number {0}, which is not the peer's to open or is in use")]
    Number(u32),
    /// More streams than this side allows at once.
    #[error(
        "more than the {0} streams that this side allows at the same time (option max_streams)"
    )]
    TooMany(u16),
    /// An entry on a stream that is not open.
    #[error("an entry on stream {0}, which is not open")]
    NotOpen(u32),
    /// An entry on a stream behind the last entry of its sender.
    #[error("an entry on stream {0} behind the sender's last one")]
    AfterEnd(u32),
    /// A message without a window for it.
    #[error("a message that exceeds the receive window of its stream")]
    WindowExceeded,
    /// More of a window was returned than was taken.
    #[error("a window was given back of which less was taken: {0:?}")]
    WindowOverflow(Window),
    /// Metadata or no message where neither belongs.
    #[error("flags {0:#04x} in the middle of a stream's direction")]
    Flags(u8),
    /// Metadata that does not fit into its message.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
}
