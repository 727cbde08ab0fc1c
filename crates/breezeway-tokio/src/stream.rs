//! Asynchronous streams.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use breezeway::{Carrier, ErrorCode, Message, Peer, SessionId, StreamError, TrySendError};

/// Both directions of a stream: messages are sent and received in order.
///
/// The rules of [`breezeway::Stream`] about ends, resets and windows apply.
pub struct Stream {
    pub(crate) send: SendHalf,
    receive: ReceiveHalf,
    session: SessionId,
    peer: Peer,
    carrier: Carrier,
    deadline: Option<Instant>,
}

/// Sending direction of a stream.
pub struct SendHalf {
    pub(crate) half: breezeway::SendHalf,
}

/// Receiving direction of a stream: also a `futures_core::Stream` of its messages.
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

    /// Returns the time that the opener still uses the stream; `None` if the opener gave no
    /// time.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Returns the stream's session; a server's [hooks](crate::ServerOptions::on_session_start)
    /// receive the same identifier.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Returns the credentials of the peer.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Returns the carrier: shared memory, unix socket, TCP or TLS.
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Splits the stream into both directions, each for a task of its own. The stream ends when
    /// both are dropped.
    pub fn split(self) -> (SendHalf, ReceiveHalf) {
        (self.send, self.receive)
    }

    /// Returns the sending direction.
    pub fn sender(&mut self) -> &mut SendHalf {
        &mut self.send
    }

    /// Returns the receiving direction.
    pub fn receiver(&mut self) -> &mut ReceiveHalf {
        &mut self.receive
    }

    /// Sends a copy of `message`, as [`SendHalf::send`] does.
    pub async fn send(&mut self, message: &[u8]) -> Result<(), StreamError> {
        poll_fn(|cx| self.send.half.poll_send(cx, message)).await
    }

    /// Ends this side's direction, as [`SendHalf::finish`] does.
    pub async fn finish(&mut self) -> Result<(), StreamError> {
        self.send.finish().await
    }

    /// Waits for the next message, as [`ReceiveHalf::receive`] does.
    pub async fn receive(&mut self) -> Result<Option<Message>, StreamError> {
        poll_fn(|cx| self.receive.half.poll_receive(cx)).await
    }

    /// Ends both directions at once. The peer receives the code.
    pub fn reset(mut self, code: ErrorCode) {
        self.send.reset(code);
    }
}

impl SendHalf {
    /// Sends a copy of `message`. Waits until the peer has read enough and there is room.
    pub async fn send(&mut self, message: &[u8]) -> Result<(), StreamError> {
        poll_fn(|cx| self.half.poll_send(cx, message)).await
    }

    /// Sends a copy of `message` like [`Self::send`] if there is room for it now.
    pub fn try_send<T: AsRef<[u8]>>(
        &mut self,
        message: T,
    ) -> Result<(), TrySendError<T, StreamError>> {
        self.half.try_send(message)
    }

    /// Sends metadata, which the first entry of a direction carries, and a message if given.
    pub async fn send_metadata(
        &mut self,
        metadata: &[u8],
        message: Option<&[u8]>,
    ) -> Result<(), StreamError> {
        poll_fn(|cx| self.half.poll_entry(cx, message, Some(metadata), false)).await
    }

    /// Ends this direction: the peer receives the messages that were sent, and then the end.
    pub async fn finish(&mut self) -> Result<(), StreamError> {
        self.finish_with(None, None).await
    }

    /// Ends this direction like [`Self::finish`], with a last message, metadata, or both.
    pub async fn finish_with(
        &mut self,
        message: Option<&[u8]>,
        metadata: Option<&[u8]>,
    ) -> Result<(), StreamError> {
        poll_fn(|cx| self.half.poll_entry(cx, message, metadata, true)).await
    }

    /// Sends a copy of `message` like [`Self::send`] if that is possible without waiting; else
    /// wakes `cx` when it may be.
    #[inline]
    pub fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        message: &[u8],
    ) -> Poll<Result<(), StreamError>> {
        self.half.poll_send(cx, message)
    }

    /// Ends this direction like [`Self::finish`] if that is possible without waiting; else wakes
    /// `cx` when it may be.
    pub fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamError>> {
        self.half.poll_entry(cx, None, None, true)
    }

    /// Sends an entry with a message, metadata, both or neither, which may be this side's last, if
    /// that is possible without waiting; else wakes `cx` when it may be.
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

    /// Waits until the peer has reset the stream, or the session is over: for a task that has
    /// nothing to send now and must stop its work on a reset. A pending send keeps its place.
    pub fn poll_reset(&mut self, cx: &mut Context<'_>) -> Poll<StreamError> {
        self.half.poll_reset(cx)
    }

    /// Ends both directions at once. The peer receives the code.
    pub fn reset(&mut self, code: ErrorCode) {
        self.half.reset(code);
    }
}

impl ReceiveHalf {
    /// Waits for the next message, or for metadata that came without one; `None` after the peer's
    /// last.
    pub async fn receive(&mut self) -> Result<Option<Message>, StreamError> {
        poll_fn(|cx| self.half.poll_receive(cx)).await
    }

    /// Receives like [`Self::receive`] if the session's task has taken something; else returns
    /// pending without registering a waker.
    pub fn try_receive(&mut self) -> Poll<Result<Option<Message>, StreamError>> {
        self.half.try_receive()
    }

    /// Receives like [`Self::receive`] if something has come; else wakes `cx` when that may be so.
    #[inline]
    pub fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Message>, StreamError>> {
        self.half.poll_receive(cx)
    }

    /// Ends both directions at once. The peer receives the code.
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
