//! The way back to a client: streams that its server opens.

use std::future::poll_fn;

use breezeway::{OwnedCall, SessionId, StreamError};

use crate::stream::Stream;

/// Opens streams to the other side of a session: how a server's handler says something, later and
/// from any task, to a client that has not asked for it. The client
/// [accepts](crate::Channel::accept) them.
///
/// A handler gets it from what the client has asked for ([`Self::of`], [`Stream::back_channel`])
/// and may keep it as long as it likes, as [`breezeway::BackChannel`] says.
#[derive(Clone, Debug)]
pub struct BackChannel {
    back_channel: breezeway::BackChannel,
}

impl BackChannel {
    /// Returns that of the session that the call came by, or `None` if its client takes no streams.
    /// (The call's own method gives one whose `open` blocks the thread.)
    pub fn of(call: &OwnedCall) -> Option<Self> {
        call.back_channel().map(Self::from)
    }

    /// The session, as [`OwnedCall::session`] names it.
    pub fn session(&self) -> SessionId {
        self.back_channel.session()
    }

    /// Opens a stream, with metadata if there is some. Waits while there is no room.
    ///
    /// Fails if the session is over, by [`CallError::NotSent`](crate::CallError::NotSent), and if
    /// the client lets no more streams be open ([`StreamError::TooMany`]).
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
