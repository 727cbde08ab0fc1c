//! Streams that await.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use breezeway::{Carrier, ErrorCode, Message, Peer, SessionId, StreamError};

use crate::back_channel::BackChannel;

/// Both directions of a stream: messages go out and come in, in order.
///
/// What [`breezeway::Stream`] says of ends, resets and windows holds here.
pub struct Stream {
    send: SendHalf,
    receive: ReceiveHalf,
    session: SessionId,
    peer: Peer,
    carrier: Carrier,
    deadline: Option<Instant>,
}

/// The direction in which this side sends.
pub struct SendHalf {
    pub(crate) half: breezeway::SendHalf,
}

/// The direction in which this side receives: also a `futures_core::Stream` of its messages.
pub struct ReceiveHalf {
    half: breezeway::ReceiveHalf,
}

impl Stream {
    pub(crate) fn new(stream: breezeway::Stream) -> Self {
        let (session, carrier) = (stream.session(), stream.carrier());
        let peer = stream.peer().clone();
        let deadline = stream.time_left().and_then(|left| Instant::now().checked_add(left));
        let (send, receive) = stream.split();
        let (send, receive) = (SendHalf { half: send }, ReceiveHalf { half: receive });
        Self { send, receive, session, peer, carrier, deadline }
    }

    /// How much longer whoever opened the stream will want it; `None` if that was not said.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// The session that it belongs to: of a server, as in its
    /// [hooks](crate::ServerOptions::on_session_start).
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// What opens further streams to the client, now or later. A client has none: it
    /// [opens](crate::Channel::open) its own.
    pub fn back_channel(&self) -> Option<BackChannel> {
        self.send.back_channel()
    }

    /// Who is on the other side.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// What its messages travel by.
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Both directions, each for a task of its own. The stream ends when both are dropped.
    pub fn split(self) -> (SendHalf, ReceiveHalf) {
        (self.send, self.receive)
    }

    /// The direction in which this side sends.
    pub fn sender(&mut self) -> &mut SendHalf {
        &mut self.send
    }

    /// The direction in which this side receives.
    pub fn receiver(&mut self) -> &mut ReceiveHalf {
        &mut self.receive
    }

    /// As [`SendHalf::send`].
    pub async fn send(&mut self, message: &[u8]) -> Result<(), StreamError> {
        poll_fn(|cx| self.send.half.poll_send(cx, message)).await
    }

    /// As [`SendHalf::finish`].
    pub async fn finish(&mut self) -> Result<(), StreamError> {
        self.send.finish().await
    }

    /// As [`ReceiveHalf::receive`].
    pub async fn receive(&mut self) -> Result<Option<Message>, StreamError> {
        poll_fn(|cx| self.receive.half.poll_receive(cx)).await
    }

    /// Ends both directions at once; the other side learns the code.
    pub fn reset(mut self, code: ErrorCode) {
        self.send.reset(code);
    }
}

impl SendHalf {
    /// As [`Stream::back_channel`].
    pub fn back_channel(&self) -> Option<BackChannel> {
        self.half.back_channel().map(BackChannel::from)
    }

    /// Sends a copy of `message`. Waits while the other side does not read, or there is no room.
    pub async fn send(&mut self, message: &[u8]) -> Result<(), StreamError> {
        poll_fn(|cx| self.half.poll_send(cx, message)).await
    }

    /// As [`Self::send`], if there is room for the message now; false if not, and then nothing was
    /// sent.
    pub fn try_send(&mut self, message: &[u8]) -> Result<bool, StreamError> {
        self.half.try_send(message)
    }

    /// Sends metadata, which goes with the first entry of a direction, and a message if there is
    /// one.
    pub async fn send_metadata(
        &mut self,
        metadata: &[u8],
        message: Option<&[u8]>,
    ) -> Result<(), StreamError> {
        poll_fn(|cx| self.half.poll_entry(cx, message, Some(metadata), false)).await
    }

    /// Ends this direction: the other side receives what was sent, and then the end.
    pub async fn finish(&mut self) -> Result<(), StreamError> {
        self.finish_with(None, None).await
    }

    /// As [`Self::finish`], with a last message, metadata, or both.
    pub async fn finish_with(
        &mut self,
        message: Option<&[u8]>,
        metadata: Option<&[u8]>,
    ) -> Result<(), StreamError> {
        poll_fn(|cx| self.half.poll_entry(cx, message, metadata, true)).await
    }

    /// As [`Self::send`], if that needs no waiting. Wakes `cx` when it may not.
    #[inline]
    pub fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        message: &[u8],
    ) -> Poll<Result<(), StreamError>> {
        self.half.poll_send(cx, message)
    }

    /// As [`Self::finish`], if that needs no waiting. Wakes `cx` when it may not.
    pub fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamError>> {
        self.half.poll_entry(cx, None, None, true)
    }

    /// Sends an entry with a message, metadata, both or neither, which may be this side's last, if
    /// that needs no waiting. Wakes `cx` when it may not.
    #[inline]
    pub fn poll_entry(
        &mut self,
        cx: &mut Context<'_>,
        message: Option<&[u8]>,
        metadata: Option<&[u8]>,
        last: bool,
    ) -> Poll<Result<(), StreamError>> {
        self.half.poll_entry(cx, message, metadata, last)
    }

    /// Ready once the other side has reset the stream, or the session is over: for whoever has
    /// nothing to send now, and would stop working on it. Takes the place of a pending send.
    pub fn poll_reset(&mut self, cx: &mut Context<'_>) -> Poll<StreamError> {
        self.half.poll_reset(cx)
    }

    /// Ends both directions at once; the other side learns the code.
    pub fn reset(&mut self, code: ErrorCode) {
        self.half.reset(code);
    }
}

impl ReceiveHalf {
    /// Waits for the next message, or for metadata that came without one; `None` after the other
    /// side's last.
    pub async fn receive(&mut self) -> Result<Option<Message>, StreamError> {
        poll_fn(|cx| self.half.poll_receive(cx)).await
    }

    /// As [`Self::receive`], if the session's task has taken something; pending if not, and then
    /// nobody is woken for it.
    pub fn try_receive(&mut self) -> Poll<Result<Option<Message>, StreamError>> {
        self.half.try_receive()
    }

    /// As [`Self::receive`], if something is there. Wakes `cx` when that may be so.
    #[inline]
    pub fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Message>, StreamError>> {
        self.half.poll_receive(cx)
    }

    /// Ends both directions at once; the other side learns the code.
    pub fn reset(&mut self, code: ErrorCode) {
        self.half.reset(code);
    }
}

impl futures_core::Stream for ReceiveHalf {
    type Item = Result<Message, StreamError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_receive(cx).map(Result::transpose)
    }
}
