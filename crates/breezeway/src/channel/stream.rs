//! Streams: conversations in both directions inside a session.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use breezeway_os::{Deadline, Peer};
use breezeway_proto::connection::{RecvState, Refusal, StreamKey};
use breezeway_proto::{ErrorCode, Flags, Head, Kind};
use breezeway_shm::layout::INLINE_MAX;
use breezeway_shm::{Account, SendError, Shortage};
use thiserror::Error;

use super::Handle;
use super::back_channel::BackChannel;
use super::outgoing::Outgoing;
use super::receiving::QueuedMessage;
use super::shared::{Shared, TimedOut};
use super::space::OwnedSpace;
use super::state::State;
use super::stream_waiters::{Waiting, task_of};
use super::waiters::NOBODY;
use crate::carrier::Carrier;
use crate::error::CallError;
use crate::link::Body;
use crate::message::Message;
use crate::presence::SessionId;

/// Why nothing could be sent or received on a stream.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StreamError {
    /// One of both sides has reset the stream: both directions are over, and what was not received
    /// is dropped, unless its sender had finished.
    #[error("the stream was reset: {0:?}")]
    Reset(ErrorCode),
    /// This side has sent its last message.
    #[error("this side has sent its last message on the stream")]
    Finished,
    /// The deadline passed. The stream goes on. With what payload memory lacks, if it was waited
    /// for.
    #[error("the deadline passed; the stream goes on{}", lacking(*.0))]
    DeadlinePassed(Option<Shortage>),
    /// Metadata goes with the first and the last message of a direction only. The stream goes on.
    #[error("metadata goes with the first or the last message of a stream's direction")]
    MetadataInTheMiddle,
    /// As many streams are open as the other side allows.
    #[error("{0} streams are open, the most that the other side allows (its option max_streams)")]
    TooMany(u16),
    /// What concerns the message, or the whole session.
    #[error(transparent)]
    Session(#[from] CallError),
}

fn lacking(shortage: Option<Shortage>) -> String {
    shortage.map_or_else(String::new, |shortage| format!("; no payload memory: {shortage}"))
}

/// Both directions of a stream: messages go out and come in, in order.
///
/// Each side may end its direction and go on receiving. A stream that is dropped before both
/// directions have ended is reset: the other side learns that nobody reads or writes it, by
/// [`ErrorCode::Cancelled`], or by [`ErrorCode::Panicked`] if a panic has dropped it. What was sent
/// before this side [finished](SendHalf::finish) is still received. A stream that the other side
/// has opened, and that was [received](ReceiveHalf::receive) to its end, is finished by its drop.
///
/// How much may be under way to a side that does not read is bounded by that side's
/// [`stream_window`](crate::SessionOptions::stream_window); then sending waits.
pub struct Stream {
    send: SendHalf,
    receive: ReceiveHalf,
    deadline: Deadline,
}

/// What both halves share.
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

/// Where a stream is, once more in each half: one line of the cache less that each message needs.
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
                // Its handler may have been cut.
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

    /// How much longer whoever opened the stream will want it; `None` if that was not said.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.time_left()
    }

    /// The session that it belongs to: of a server, as [`Call::session`](crate::Call::session)
    /// names it.
    pub fn session(&self) -> SessionId {
        self.send.inner.shared.id
    }

    /// What opens further streams to the client, now or later. A client has none: it
    /// [opens](super::Channel::open) its own.
    pub fn back_channel(&self) -> Option<BackChannel> {
        self.send.back_channel()
    }

    /// Who is on the other side.
    pub fn peer(&self) -> &Peer {
        &self.send.inner.shared.peer
    }

    /// What its messages travel by.
    pub fn carrier(&self) -> Carrier {
        self.send.inner.shared.carrier
    }

    /// Both directions, each for a thread or task of its own. The stream ends when both are
    /// dropped.
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
    pub fn send(&mut self, message: &[u8]) -> Result<(), StreamError> {
        self.send.send(message)
    }

    /// As [`SendHalf::reserve`].
    pub fn reserve(&mut self, len: usize) -> Result<OwnedSpace, CallError> {
        self.send.reserve(len)
    }

    /// As [`SendHalf::send_space`].
    pub fn send_space(&mut self, space: OwnedSpace) -> Result<(), StreamError> {
        self.send.send_space(space)
    }

    /// As [`SendHalf::finish`].
    pub fn finish(&mut self) -> Result<(), StreamError> {
        self.send.finish()
    }

    /// As [`ReceiveHalf::receive`].
    pub fn receive(&mut self) -> Result<Option<Message>, StreamError> {
        self.receive.receive()
    }

    /// Ends both directions at once; the other side learns the code.
    pub fn reset(mut self, code: ErrorCode) {
        self.send.reset(code);
    }
}

impl SendHalf {
    /// As [`Stream::back_channel`].
    pub fn back_channel(&self) -> Option<BackChannel> {
        let shared = &self.place.shared;
        (!shared.is_client).then(|| BackChannel::new(shared))
    }

    /// Sends a copy of `message`. Waits while the other side does not read, as its window says, or
    /// the ring is full; and for payload memory, which may come back only once the other side drops
    /// what it was sent: a stream takes none of what is kept for streams that hold nothing. What is
    /// short say the errors of [`Self::send_until`] and [`Self::try_reserve`].
    pub fn send(&mut self, message: &[u8]) -> Result<(), StreamError> {
        self.send_within(Outgoing::message(message), false, Deadline::NEVER)
    }

    /// As [`Self::send`], giving up at `deadline`: then nothing was sent, and the error says what
    /// payload memory lacks, if it was waited for.
    pub fn send_until(&mut self, message: &[u8], deadline: Instant) -> Result<(), StreamError> {
        self.send_within(Outgoing::message(message), false, Deadline::at(deadline))
    }

    /// As [`Self::send`], if there is room for the message now; false if not, and then nothing was
    /// sent. Never waits.
    pub fn try_send(&mut self, message: &[u8]) -> Result<bool, StreamError> {
        let Inner { shared, key, .. } = &*self.inner;
        let mut outgoing = Outgoing::message(message);
        let sent = shared.glance(|state| state.try_stream_send(*key, &mut outgoing));
        match sent {
            Poll::Ready(sent) => sent.map(|()| true),
            Poll::Pending => Ok(false),
        }
    }

    /// Sends metadata, which goes with the first entry of a direction, and a message if there is
    /// one.
    pub fn send_metadata(
        &mut self,
        metadata: &[u8],
        message: Option<&[u8]>,
    ) -> Result<(), StreamError> {
        let outgoing = Outgoing::new(message, Some(metadata));
        self.send_within(outgoing, false, Deadline::NEVER)
    }

    /// Ends this direction: the other side receives what was sent, and then the end.
    pub fn finish(&mut self) -> Result<(), StreamError> {
        self.finish_with(None, None)
    }

    /// As [`Self::finish`], with a last message, metadata, or both.
    pub fn finish_with(
        &mut self,
        message: Option<&[u8]>,
        metadata: Option<&[u8]>,
    ) -> Result<(), StreamError> {
        self.send_within(Outgoing::new(message, metadata), true, Deadline::NEVER)
    }

    /// Sends an entry with a message, metadata, both or neither, which may be the last, giving up
    /// at `deadline` if there is one: then nothing was sent.
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

    /// As [`Self::send`], if that needs no waiting. Wakes `cx` when it may not.
    #[inline]
    pub fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        message: &[u8],
    ) -> Poll<Result<(), StreamError>> {
        self.poll_entry(cx, Some(message), None, false)
    }

    /// Sends an entry with a message, metadata, both or neither, which may be the last. Wakes `cx`
    /// when what it waits for may have come.
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

    /// What comes of it stays in registers; it is made larger where it is used.
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

    /// Returns true once the other side has reset the stream, or the session is over, as when its
    /// process is gone.
    pub fn is_reset(&self) -> bool {
        let Inner { shared, key, .. } = &*self.inner;
        shared.glance(|state| {
            state.check().is_err() || state.connection.streams.reset_code(*key).is_some()
        })
    }

    /// Waits until [`Self::is_reset`] returns true, at most until `deadline`; returns that.
    pub fn wait_reset_until(&mut self, deadline: Instant) -> bool {
        let Inner { shared, key, .. } = &*self.inner;
        shared.wait(Deadline::at(deadline), |state, cx| state.poll_stream_reset(cx, *key)).is_ok()
    }

    /// Ready once the other side has reset the stream, or the session is over: for whoever has
    /// nothing to send now, and would stop working on it. Takes the place of a pending
    /// [`Self::poll_send`].
    pub fn poll_reset(&mut self, cx: &mut Context<'_>) -> Poll<StreamError> {
        let Inner { shared, key, .. } = &*self.inner;
        shared.with(|state| state.poll_stream_reset(cx, *key))
    }

    /// Ends both directions at once; the other side learns the code.
    pub fn reset(&mut self, code: ErrorCode) {
        let Inner { shared, key, .. } = &*self.inner;
        shared.with(|state| state.reset_stream(*key, code));
    }
}

impl ReceiveHalf {
    /// Waits for the next message, or for metadata that came without one; `None` after the other
    /// side's last.
    pub fn receive(&mut self) -> Result<Option<Message>, StreamError> {
        self.receive_within(Deadline::NEVER)
    }

    /// As [`Self::receive`], giving up at `deadline`.
    pub fn receive_until(&mut self, deadline: Instant) -> Result<Option<Message>, StreamError> {
        self.receive_within(Deadline::at(deadline))
    }

    /// As [`Self::receive`], if something is there; pending if not. Never waits, and wakes nobody
    /// later.
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

    /// As [`Self::receive`], if something is there. Wakes `cx` when that may be so.
    #[inline]
    pub fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Message>, StreamError>> {
        self.poll_received(cx).into_poll()
    }

    /// What has come stays in registers; it is made larger where it is used.
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

    /// Ends both directions at once; the other side learns the code.
    pub fn reset(&mut self, code: ErrorCode) {
        let Inner { shared, key, .. } = &*self.inner;
        shared.with(|state| state.reset_stream(*key, code));
    }
}

/// What has come for a stream's reader. Flat, so that it stays in two registers: results in each
/// other go by memory, where whoever reads both words at once waits for both to be written.
enum Received {
    Message(Message),
    End,
    Failed(Box<StreamError>),
    /// Nothing yet.
    Nothing,
}

impl Received {
    #[inline]
    fn into_poll(self) -> Poll<Result<Option<Message>, StreamError>> {
        match self {
            Self::Message(message) => Poll::Ready(Ok(Some(message))),
            Self::End => Poll::Ready(Ok(None)),
            Self::Failed(error) => Poll::Ready(Err(*error)),
            Self::Nothing => Poll::Pending,
        }
    }
}

impl State {
    /// As [`Self::poll_stream_send`], of whoever does not wait: it takes the place of nobody who
    /// waits for the window or a reset.
    fn try_stream_send(
        &mut self,
        key: StreamKey,
        outgoing: &mut Outgoing<'_>,
    ) -> Poll<Result<(), StreamError>> {
        let may_send = self.connection.streams.may_send(key, outgoing.carried(false));
        if matches!(may_send, Err(Refusal::Window)) {
            self.check()?;
            return Poll::Pending;
        }
        self.poll_stream_send(&Context::from_waker(NOBODY), key, outgoing, false)
    }

    pub(super) fn poll_stream_send(
        &mut self,
        cx: &Context<'_>,
        key: StreamKey,
        outgoing: &mut Outgoing<'_>,
        last: bool,
    ) -> Poll<Result<(), StreamError>> {
        if !self.may_stream_send(key, outgoing, last)? {
            let replaced = self.waiters.set_writer(key, cx);
            self.due.extend(replaced);
            return Poll::Pending;
        }
        let sent = self.send_on_stream(key, outgoing, last);
        self.or_await_room(cx, sent).map_err(StreamError::from)
    }

    /// As [`Self::poll_stream_send`] once the deadline has passed: what is short, unless there is
    /// room now.
    #[cold]
    fn stream_send_at_last(
        &mut self,
        key: StreamKey,
        outgoing: &mut Outgoing<'_>,
        last: bool,
    ) -> Result<(), StreamError> {
        if !self.may_stream_send(key, outgoing, last)? {
            return Err(StreamError::DeadlinePassed(None));
        }
        match self.send_on_stream(key, outgoing, last) {
            Ok(()) => Ok(()),
            Err(SendError::Full { .. }) => Err(StreamError::DeadlinePassed(None)),
            Err(SendError::NoMemory { shortage, until: Some(_), .. }) => {
                Err(StreamError::DeadlinePassed(Some(shortage)))
            }
            Err(error) => Err(self.failed(error).into()),
        }
    }

    /// Whether the window has room for an entry that the stream may send.
    fn may_stream_send(
        &self,
        key: StreamKey,
        outgoing: &Outgoing<'_>,
        last: bool,
    ) -> Result<bool, StreamError> {
        match self.connection.streams.may_send(key, outgoing.carried(last)) {
            Ok(()) => {
                self.check()?;
                self.check_metadata(outgoing.metadata)?;
                Ok(true)
            }
            Err(Refusal::Window) => {
                self.check()?;
                Ok(false)
            }
            Err(Refusal::Finished) => Err(StreamError::Finished),
            Err(Refusal::Reset(code)) => Err(StreamError::Reset(code)),
            Err(Refusal::Metadata) => Err(StreamError::MetadataInTheMiddle),
        }
    }

    /// Publishes an entry for which the window has room, on the stream's account.
    fn send_on_stream(
        &mut self,
        key: StreamKey,
        outgoing: &mut Outgoing<'_>,
        last: bool,
    ) -> Result<(), SendError> {
        let carried = outgoing.carried(last);
        let flags = if last { Flags::FIN } else { Flags::NONE };
        let stream = self.connection.streams.number(key);
        let head = Head { kind: Kind::Message, flags, stream, tag: 0, time: 0 };
        self.link.set_account(Account::of_stream(key.index()));
        let sent = self.send_behind_replies(head, outgoing);
        self.link.set_account(Account::SESSION);
        if sent.is_ok() {
            self.connection.streams.sent(key, carried);
        }
        sent
    }

    /// Sends what most streams do, a small message alone, and gives whether the stream is then
    /// quiet. `None` if that is not for this way to decide. (A result with the error in it is moved
    /// by wide loads, each of which waits for the narrow stores before.)
    #[inline]
    fn send_small(
        &mut self,
        key: StreamKey,
        message: &[u8],
    ) -> Option<Result<bool, Box<SendError>>> {
        if message.len() > INLINE_MAX
            || self.connection.ending.reason().is_some()
            || self.connection.backlog.lacks_slots()
        {
            return None;
        }
        let Self { connection, link, .. } = self;
        let sent = connection.streams.send_message(key, message.len(), |stream| {
            let head = Head { kind: Kind::Message, flags: Flags::NONE, stream, tag: 0, time: 0 };
            link.send(head, Body::Bytes(message)).map_err(Box::new)
        })?;
        self.unflushed |= sent.is_ok();
        Some(sent)
    }

    /// Whoever has sent on a stream mostly waits for the answer next.
    #[inline]
    fn has_sent(&mut self, key: StreamKey, is_quiet: bool, cx: &Context<'_>) {
        // Who waits while nobody takes turns may have to take one.
        if is_quiet && self.driver_is_awake {
            self.waiters.expect_reader(key, cx);
        }
    }

    fn poll_stream_reset(&mut self, cx: &Context<'_>, key: StreamKey) -> Poll<StreamError> {
        if let Some(code) = self.connection.streams.reset_code(key) {
            return Poll::Ready(StreamError::Reset(code));
        }
        if let Err(error) = self.check() {
            return Poll::Ready(error.into());
        }
        let replaced = self.waiters.set_writer(key, cx);
        self.due.extend(replaced);
        Poll::Pending
    }

    #[inline]
    fn poll_stream_receive(&mut self, cx: &Context<'_>, key: StreamKey) -> Received {
        match self.take_from_stream(key) {
            Received::Nothing => self.await_stream(cx, key),
            received => received,
        }
    }

    /// Nothing has come: takes a turn if that is this task's to do, and waits.
    fn await_stream(&mut self, cx: &Context<'_>, key: StreamKey) -> Received {
        if self.may_stand_in() {
            self.waiters.withdraw_reader(key, cx);
            self.stand_in(cx);
            let received = self.take_from_stream(key);
            if !matches!(received, Received::Nothing) {
                return received;
            }
        }
        let replaced = self.waiters.set_reader(key, cx);
        self.due.extend(replaced);
        Received::Nothing
    }

    /// What has come for a stream's reader, or why nothing will.
    #[inline]
    fn take_from_stream(&mut self, key: StreamKey) -> Received {
        match self.connection.streams.take(key, QueuedMessage::take) {
            RecvState::Content(message) => Received::Message(message),
            RecvState::End => Received::End,
            RecvState::Reset(code) => Received::Failed(Box::new(StreamError::Reset(code))),
            RecvState::Nothing => match self.check() {
                Ok(()) => Received::Nothing,
                Err(error) => Received::Failed(Box::new(error.into())),
            },
        }
    }

    fn reset_stream(&mut self, key: StreamKey, code: ErrorCode) {
        self.connection.streams.reset(key, code);
        self.wake_reader(key);
        self.due.extend(self.waiters.writer(key));
        // It may wait for memory.
        self.due.append(&mut self.room_waiters);
        // The reader may be the thread that leads, which sleeps in another place.
        self.due.extend(self.driver.clone());
    }
}
