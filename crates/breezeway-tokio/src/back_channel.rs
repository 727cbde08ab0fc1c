//! The way back to a client: streams that its server opens.

use std::future::poll_fn;

use breezeway::{OwnedCall, SessionId, StreamError};

use crate::stream::{SendHalf, Stream};

/// Handle that opens streams to the client of a session. A server's handler uses it to send
/// messages that the client has not requested, later and from any task. The client
/// [accepts](crate::Channel::accept) the streams.
///
/// A handler gets it from the client's request ([`Self::of`], [`Stream::back_channel`]) and may
/// keep it for any time, see [`breezeway::BackChannel`].
#[derive(Clone, Debug)]
pub struct BackChannel {
    back_channel: breezeway::BackChannel,
}

impl BackChannel {
    /// Returns the back channel of the call's session, or `None` if its client takes no streams.
    /// (The call's own method returns one whose `open` blocks the thread.)
    pub fn of(call: &OwnedCall) -> Option<Self> {
        call.back_channel().map(Self::from)
    }

    /// Returns the session's identifier, that of [`OwnedCall::session`].
    pub fn session(&self) -> SessionId {
        self.back_channel.session()
    }

    /// Opens a stream, with metadata if given. Waits until there is room.
    ///
    /// Fails with [`CallError::NotSent`](crate::CallError::NotSent) if the session is over, and
    /// with [`StreamError::TooMany`] if the client allows no more open streams.
    pub async fn open(&self, method: u32, metadata: Option<&[u8]>) -> Result<Stream, StreamError> {
        let stream = poll_fn(|cx| self.back_channel.poll_open(cx, method, metadata)).await?;
        Ok(Stream::new(stream))
    }
}

impl From<breezeway::BackChannel> for BackChannel {
    fn from(back_channel: breezeway::BackChannel) -> Self {
        Self { back_channel }
    }
}

impl Stream {
    /// Returns the handle that opens further streams to the client, now or later. A client has
    /// none: it [opens](crate::Channel::open) its own.
    pub fn back_channel(&self) -> Option<BackChannel> {
        self.send.back_channel()
    }
}

impl SendHalf {
    /// Returns the handle that opens further streams, like [`Stream::back_channel`].
    pub fn back_channel(&self) -> Option<BackChannel> {
        self.half.back_channel().map(BackChannel::from)
    }
}
