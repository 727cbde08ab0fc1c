//! The streams of a session without IO: entries in, decisions out (`docs/abi.md`, section 4.3).
//!
//! Nothing here reads a clock, a ring or a socket, and no message is copied: `M` is whatever the
//! driver received. Blocking sessions, workers and tasks drive this same code.

mod metadata;
mod one_way;
mod stream;
mod streams;
#[cfg(test)]
mod tests;
mod window;

pub use metadata::MetadataError;
pub use window::Window;

pub(crate) use metadata::{METADATA_PREFIX, split};
pub(crate) use stream::Carried;
pub(crate) use streams::{
    Control, Event, Opening, Refusal, StreamKey, StreamTerms, Streams, Taken,
};

use thiserror::Error;

/// The peer broke a rule of streams.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamViolation {
    /// A stream was opened on a number of the other side's, on 0, or on one that is in use.
    #[error("a stream was opened on number {0}, which is not the peer's to open or is in use")]
    Number(u32),
    /// More streams than this side allows at one time.
    #[error("more than the {0} streams that this side allows at one time (option max_streams)")]
    TooMany(u16),
    /// An entry on a stream that is not open.
    #[error("an entry on stream {0}, which is not open")]
    NotOpen(u32),
    /// An entry on a stream whose sender has finished its side.
    #[error("an entry on stream {0} behind the sender's last one")]
    AfterEnd(u32),
    /// A message without a window for it.
    #[error("a message that exceeds the receive window of its stream")]
    WindowExceeded,
    /// More of a window given back than was taken.
    #[error("a window was given back of which less was taken: {0:?}")]
    WindowOverflow(Window),
    /// A window entry whose body is not eight bytes.
    #[error("a window entry with a body of {0} bytes, not 8")]
    WindowLength(usize),
    /// Metadata or no message where neither belongs.
    #[error("flags {0:#04x} in the middle of a stream's direction")]
    Flags(u8),
    /// Metadata that does not fit into its message.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
}
