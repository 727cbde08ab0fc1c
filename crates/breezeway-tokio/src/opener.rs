//! The way back to a client: streams that its server opens.

use breezeway::{OwnedCall, SessionId, StreamError};

use crate::request::Request;
use crate::stream::{SendHalf, Stream};

/// Handle that opens streams to the client of a session. A server's handler uses it to send
/// messages that the client has not requested, later and from any task. The client
/// [accepts](crate::Session::accept) the streams.
///
/// A handler gets it from the client's request ([`Self::of`], [`Stream::stream_opener`]) and may
/// keep it for any time, see [`breezeway::StreamOpener`].
#[derive(Clone, Debug)]
pub struct StreamOpener {
    pub(crate) stream_opener: breezeway::StreamOpener,
}

impl StreamOpener {
    /// Returns the back session of the call's session, or `None` if its client takes no streams.
    /// (The call's own method returns one whose `open` blocks the thread.)
    pub fn of(call: &OwnedCall) -> Option<Self> {
        call.stream_opener().map(Self::from)
    }

    /// Returns the session's identifier, that of [`OwnedCall::session`].
    pub fn session(&self) -> SessionId {
        self.stream_opener.session()
    }

    /// Opens a stream. Waits until there is room.
    ///
    /// Fails with [`CallError::NotSent`](crate::CallError::NotSent) if the session is over, and
    /// with [`StreamError::TooMany`] if the client allows no more open streams.
    pub async fn open(&self, method: u32) -> Result<Stream, StreamError> {
        self.request(method).open().await
    }

    /// Begins a stream with a deadline or metadata.
    pub fn request(&self, method: u32) -> Request<'_, Self> {
        Request::new(self, method)
    }
}

impl From<breezeway::StreamOpener> for StreamOpener {
    fn from(stream_opener: breezeway::StreamOpener) -> Self {
        Self { stream_opener }
    }
}

impl Stream {
    /// Returns the handle that opens further streams to the client, now or later. A client has
    /// none: it [opens](crate::Session::open) its own.
    pub fn stream_opener(&self) -> Option<StreamOpener> {
        self.send.stream_opener()
    }
}

impl SendHalf {
    /// Returns the handle that opens further streams, like [`Stream::stream_opener`].
    pub fn stream_opener(&self) -> Option<StreamOpener> {
        self.half.stream_opener().map(StreamOpener::from)
    }
}
