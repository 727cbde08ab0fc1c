//! Streams: conversations in both directions inside a session.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use breezeway_os::{Deadline, Peer};
use breezeway_proto::ErrorCode;
use breezeway_proto::connection::StreamKey;

use super::at_once;
use super::handle::Handle;
use super::outgoing::Outgoing;
use super::owned_space::OwnedSpace;
use super::shared::{Shared, TimedOut};
use super::stream_waiters::{Waiting, task_of};
use super::streams::Received;
use crate::carrier::Carrier;
use crate::error::{CallError, StreamError};
use crate::message::Message;
use crate::presence::SessionId;
use crate::try_send::TrySendError;

/// Both directions of a stream: messages go out and come in, in order.
///
/// Each side may end its direction and continue to receive. A stream that is dropped before both
/// directions have ended is reset: the peer receives [`ErrorCode::Cancelled`], or
/// [`ErrorCode::Panicked`] if a panic has dropped it. Messages sent before this side
/// [finished](SendHalf::finish) are still received. A stream that the peer has opened, and that was
/// [received](ReceiveHalf::receive) to its end, is finished by its drop.
///
/// The messages and bytes in flight to a peer that does not read are limited by the peer's
/// [`stream_window`](crate::SessionOptions::stream_window); then sending waits.
pub struct Stream {
    pub(super) send: SendHalf,
    receive: ReceiveHalf,
    deadline: Deadline,
}

/// State that both halves share.
pub(super) struct Inner {
    pub(super) shared: Arc<Shared>,
    pub(super) key: StreamKey,
    /// Keeps a client's session open.
    _handle: Option<Arc<Handle>>,
}

/// Keeps a stream from ending while its handler runs.
pub(crate) struct LastHandle(Arc<Inner>);

impl LastHandle {
    /// Resets the stream, unless the handler has given it to others.
    pub(crate) fn reset(self, code: ErrorCode) {
        if Arc::strong_count(&self.0) == 1 {
            let Inner { shared, key, .. } = &*self.0;
            shared.with(|state| state.reset_stream(*key, code));
        }
    }
}

/// Location of a stream, repeated in each half: each message then needs one cache line less.
#[derive(Clone)]
struct Place {
    shared: Arc<Shared>,
    key: StreamKey,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.with(|state| {
            let waiters = state.waiters.forget(self.key);
            state.due.extend(waiters);
            if std::thread::panicking() {
                state.connection.streams.reset(self.key, ErrorCode::Panicked);
            } else if state.connection.ending.has_drained() {
                // The stream's handler may have been cut.
                state.connection.streams.reset(self.key, ErrorCode::Cancelled);
            }
            state.connection.streams.abandon(self.key);
        });
    }
}

/// The direction in which this side sends.
pub struct SendHalf {
    pub(super) inner: Arc<Inner>,
    place: Place,
}

/// The direction in which this side receives.
pub struct ReceiveHalf {
    inner: Arc<Inner>,
    place: Place,
    waiting: Waiting,
}

impl Stream {
    pub(crate) fn last_handle(&self) -> LastHandle {
        LastHandle(Arc::clone(&self.send.inner))
    }

    pub(super) fn new(
        shared: &Arc<Shared>,
        key: StreamKey,
        handle: Option<Arc<Handle>>,
        deadline: Deadline,
    ) -> Self {
        let inner = Arc::new(Inner { shared: Arc::clone(shared), key, _handle: handle });
        let place = Place { shared: Arc::clone(shared), key };
        let send = SendHalf { inner: Arc::clone(&inner), place: place.clone() };
        let receive = ReceiveHalf { inner, place, waiting: Waiting::default() };
        Self { send, receive, deadline }
    }

    /// Returns the time for which the side that opened the stream still needs it, or `None` if it
    /// set no limit.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.time_left()
    }

    /// Returns the stream's session: on a server the one that
    /// [`Call::session`](crate::Call::session) returns.
    pub fn session(&self) -> SessionId {
        self.send.inner.shared.id
    }

    /// Returns the credentials of the peer.
    pub fn peer(&self) -> &Peer {
        &self.send.inner.shared.peer
    }

    /// Returns the carrier: shared memory, unix socket, TCP or TLS.
    pub fn carrier(&self) -> Carrier {
        self.send.inner.shared.carrier
    }

    /// Splits the stream into its directions, each for a thread or task of its own. The stream ends
    /// when both are dropped.
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

    /// Sends a copy of `message` like [`SendHalf::send`].
    pub fn send(&mut self, message: &[u8]) -> Result<(), StreamError> {
        self.send.send(message)
    }

    /// Reserves space for a message like [`SendHalf::reserve`].
    pub fn reserve(&mut self, len: usize) -> Result<OwnedSpace, CallError> {
        self.send.reserve(len)
    }

    /// Sends the contents of `space` like [`SendHalf::send_space`].
    pub fn send_space(&mut self, space: OwnedSpace) -> Result<(), StreamError> {
        self.send.send_space(space)
    }

    /// Ends this side's direction like [`SendHalf::finish`].
    pub fn finish(&mut self) -> Result<(), StreamError> {
        self.send.finish()
    }

    /// Waits for the next message like [`ReceiveHalf::receive`].
    pub fn receive(&mut self) -> Result<Option<Message>, StreamError> {
        self.receive.receive()
    }

    /// Ends both directions at once; the peer receives the code.
    pub fn reset(mut self, code: ErrorCode) {
        self.send.reset(code);
    }
}

impl SendHalf {
    /// Sends a copy of `message`. Waits while the peer's window has no room for it because the peer
    /// does not read, or the ring is full. Also waits for payload memory, which may come back only
    /// once the peer drops earlier messages: a stream does not use the memory that is kept for
    /// streams that hold none. The errors of [`Self::send_until`] and [`Self::try_reserve`] name
    /// the shortage.
    pub fn send(&mut self, message: &[u8]) -> Result<(), StreamError> {
        self.send_within(Outgoing::message(message), false, Deadline::NEVER)
    }

    /// Sends a copy of `message` like [`Self::send`], but fails at `deadline`: then nothing was
    /// sent, and the error names the shortage of payload memory if the call waited for memory.
    pub fn send_until(&mut self, message: &[u8], deadline: Instant) -> Result<(), StreamError> {
        self.send_within(Outgoing::message(message), false, Deadline::at(deadline))
    }

    /// Sends a copy of `message` like [`Self::send`] if there is room for it now. Never waits.
    pub fn try_send<T: AsRef<[u8]>>(
        &mut self,
        message: T,
    ) -> Result<(), TrySendError<T, StreamError>> {
        let Inner { shared, key, .. } = &*self.inner;
        let mut outgoing = Outgoing::message(message.as_ref());
        let sent = shared.glance(|state| state.try_stream_send(*key, &mut outgoing));
        TrySendError::result(message, at_once(sent))
    }

    /// Sends metadata, which goes with the first entry of a direction, and an optional message.
    pub fn send_metadata(
        &mut self,
        metadata: &[u8],
        message: Option<&[u8]>,
    ) -> Result<(), StreamError> {
        let outgoing = Outgoing::new(message, Some(metadata));
        self.send_within(outgoing, false, Deadline::NEVER)
    }

    /// Ends this direction: the peer receives the messages sent before, and then the end.
    pub fn finish(&mut self) -> Result<(), StreamError> {
        self.finish_with(None, None)
    }

    /// Ends this direction like [`Self::finish`], with a last message, metadata, or both.
    pub fn finish_with(
        &mut self,
        message: Option<&[u8]>,
        metadata: Option<&[u8]>,
    ) -> Result<(), StreamError> {
        self.send_within(Outgoing::new(message, metadata), true, Deadline::NEVER)
    }

    /// Sends an entry with a message, metadata, both or neither, which may be the last. If there is
    /// a `deadline`, fails at it: then nothing was sent.
    pub fn send_entry(
        &mut self,
        message: Option<&[u8]>,
        metadata: Option<&[u8]>,
        last: bool,
        deadline: Option<Instant>,
    ) -> Result<(), StreamError> {
        let deadline = deadline.map_or(Deadline::NEVER, Deadline::at);
        self.send_within(Outgoing::new(message, metadata), last, deadline)
    }

    pub(super) fn send_within(
        &mut self,
        mut outgoing: Outgoing<'_>,
        last: bool,
        deadline: Deadline,
    ) -> Result<(), StreamError> {
        let Inner { shared, key, .. } = &*self.inner;
        let outcome = shared
            .wait(deadline, |state, cx| state.poll_stream_send(cx, *key, &mut outgoing, last));
        match outcome {
            Ok(outcome) => outcome,
            Err(TimedOut) => {
                shared.with(|state| state.stream_send_at_last(*key, &mut outgoing, last))
            }
        }
    }

    /// Sends a copy of `message` like [`Self::send`] if that needs no waiting. Otherwise wakes `cx`
    /// when it may be possible.
    #[inline]
    pub fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        message: &[u8],
    ) -> Poll<Result<(), StreamError>> {
        self.poll_entry(cx, Some(message), None, false)
    }

    /// Sends an entry with a message, metadata, both or neither, which may be the last. If there is
    /// no room, wakes `cx` when there may be.
    #[inline]
    pub fn poll_entry(
        &mut self,
        cx: &mut Context<'_>,
        message: Option<&[u8]>,
        metadata: Option<&[u8]>,
        last: bool,
    ) -> Poll<Result<(), StreamError>> {
        self.poll_sent(cx, message, metadata, last).map_err(|error| *error)
    }

    /// Sends an entry like [`Self::poll_entry`]. The result stays in registers; the caller converts
    /// it to the larger type.
    #[inline(never)]
    fn poll_sent(
        &mut self,
        cx: &mut Context<'_>,
        message: Option<&[u8]>,
        metadata: Option<&[u8]>,
        last: bool,
    ) -> Poll<Result<(), Box<StreamError>>> {
        let Place { shared, key } = &self.place;
        let mut state = shared.lock();
        let small = match (message, metadata, last) {
            (Some(message), None, false) => state.send_small(*key, message),
            _ => None,
        };
        let sent = match small {
            Some(Ok(is_quiet)) => {
                state.has_sent(*key, is_quiet, cx);
                Poll::Ready(Ok(()))
            }
            Some(Err(error)) => {
                let sent = state.or_await_room(cx, Err(*error));
                sent.map_err(|error| Box::new(error.into()))
            }
            None => {
                let mut outgoing = Outgoing::new(message, metadata);
                let sent = state.poll_stream_send(cx, *key, &mut outgoing, last);
                if sent.is_ready() {
                    let is_quiet = state.connection.streams.is_quiet(*key);
                    state.has_sent(*key, is_quiet, cx);
                }
                sent.map_err(Box::new)
            }
        };
        shared.finish(state);
        sent
    }

    /// Returns true once the peer has reset the stream, or the session is over, as when the peer's
    /// process is gone.
    pub fn is_reset(&self) -> bool {
        let Inner { shared, key, .. } = &*self.inner;
        shared.glance(|state| {
            state.check().is_err() || state.connection.streams.reset_code(*key).is_some()
        })
    }

    /// Waits until [`Self::is_reset`] returns true, at most until `deadline`; returns that value.
    pub fn wait_reset_until(&mut self, deadline: Instant) -> bool {
        let Inner { shared, key, .. } = &*self.inner;
        shared.wait(Deadline::at(deadline), |state, cx| state.poll_stream_reset(cx, *key)).is_ok()
    }

    /// Returns ready once the peer has reset the stream, or the session is over: for a sender that
    /// has nothing to send now and would stop working on the stream. A pending
    /// [`Self::poll_send`] keeps its place.
    pub fn poll_reset(&mut self, cx: &mut Context<'_>) -> Poll<StreamError> {
        let Inner { shared, key, .. } = &*self.inner;
        shared.with(|state| state.poll_stream_reset(cx, *key))
    }

    /// Ends both directions at once; the peer receives the code.
    pub fn reset(&mut self, code: ErrorCode) {
        let Inner { shared, key, .. } = &*self.inner;
        shared.with(|state| state.reset_stream(*key, code));
    }
}

impl ReceiveHalf {
    /// Waits for the next message, or for metadata that came without one. Returns `None` after the
    /// peer's last message.
    pub fn receive(&mut self) -> Result<Option<Message>, StreamError> {
        self.receive_within(Deadline::NEVER)
    }

    /// Waits for the next message like [`Self::receive`], but fails at `deadline`.
    pub fn receive_until(&mut self, deadline: Instant) -> Result<Option<Message>, StreamError> {
        self.receive_within(Deadline::at(deadline))
    }

    /// Returns the next message like [`Self::receive`] if it is there, and pending if it is not.
    /// Never waits, and wakes no task later.
    pub fn try_receive(&mut self) -> Poll<Result<Option<Message>, StreamError>> {
        let Inner { shared, key, .. } = &*self.inner;
        shared.glance(|state| state.take_from_stream(*key)).into_poll()
    }

    fn receive_within(&mut self, deadline: Deadline) -> Result<Option<Message>, StreamError> {
        let Inner { shared, key, .. } = &*self.inner;
        self.waiting = Waiting::default();
        let outcome =
            shared.wait(deadline, |state, cx| state.poll_stream_receive(cx, *key).into_poll());
        outcome.unwrap_or(Err(StreamError::DeadlinePassed(None)))
    }

    /// Returns the next message like [`Self::receive`] if it is there. Otherwise wakes `cx` when it
    /// may be.
    #[inline]
    pub fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Message>, StreamError>> {
        self.poll_received(cx).into_poll()
    }

    /// Receives like [`Self::poll_receive`]. The result stays in registers; the caller converts it
    /// to the larger type.
    #[inline(never)]
    fn poll_received(&mut self, cx: &mut Context<'_>) -> Received {
        let Place { shared, key } = &self.place;
        if self.waiting.need_not_ask(|| task_of(cx), || shared.quiet.contains(key.index())) {
            return Received::Nothing;
        }
        let mut state = shared.lock();
        let received = state.poll_stream_receive(cx, *key);
        shared.finish(state);
        self.waiting.has_asked(|| task_of(cx), !matches!(received, Received::Nothing));
        received
    }

    /// Ends both directions at once; the peer receives the code.
    pub fn reset(&mut self, code: ErrorCode) {
        let Inner { shared, key, .. } = &*self.inner;
        shared.with(|state| state.reset_stream(*key, code));
    }
}
