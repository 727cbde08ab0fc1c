//! Results of entries on streams: for the owner of the session, and for the reader of a stream.

use super::key::StreamKey;
use crate::error_code::ErrorCode;

/// Opening of a stream by the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::connection) struct Opening {
    pub(in crate::connection) number: u32,
    pub(in crate::connection) method: u32,
}

/// Result of an entry on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// The application does not wait for the entry.
    Nothing,
    /// The peer has opened a stream. Content that came with the opening can be taken.
    Opened {
        /// Key of the stream.
        key: StreamKey,
        /// Method that it was opened for.
        method: u32,
    },
    /// Content can be taken, or the peer has sent its last message.
    Received(StreamKey),
    /// The peer has reset the stream.
    Reset(StreamKey),
    /// The peer takes messages again.
    Room(StreamKey),
    /// The peer takes one-way messages again.
    OneWayRoom,
}

/// State of a stream for its reader.
#[derive(Debug, PartialEq, Eq)]
pub enum RecvState<M> {
    /// Oldest content that was received.
    Content(M),
    /// Nothing has come yet.
    Nothing,
    /// The peer has sent its last message, and all of them were taken.
    End,
    /// Either side has reset the stream.
    Reset(ErrorCode),
}
