//! The streams of a shared session: sending and receiving under its lock.

use std::task::{Context, Poll};

use breezeway_proto::connection::{RecvState, Refusal, StreamKey};
use breezeway_proto::{ErrorCode, Head};
use breezeway_shm::layout::INLINE_MAX;
use breezeway_shm::{Account, SendError};

use super::outgoing::Outgoing;
use super::receiving::QueuedMessage;
use super::state::State;
use super::waiters::NOBODY;
use crate::carrier::Body;
use crate::error::{Shortage, StreamError};
use crate::message::Message;

/// Result of receiving for a stream's reader. It is flat so that it stays in two registers: nested
/// results are returned in memory, and a load of both words at once waits for both stores.
pub(super) enum Received {
    Message(Message),
    End,
    Failed(Box<StreamError>),
    /// Nothing yet.
    Nothing,
}

impl Received {
    #[inline]
    pub(super) fn into_poll(self) -> Poll<Result<Option<Message>, StreamError>> {
        match self {
            Self::Message(message) => Poll::Ready(Ok(Some(message))),
            Self::End => Poll::Ready(Ok(None)),
            Self::Failed(error) => Poll::Ready(Err(*error)),
            Self::Nothing => Poll::Pending,
        }
    }
}

impl State {
    /// Sends like [`Self::poll_stream_send`] for a caller that does not wait: it does not replace a
    /// task that waits for the window.
    pub(super) fn try_stream_send(
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

    /// Sends like [`Self::poll_stream_send`] once the deadline has passed: unless there is room
    /// now, fails with the shortage.
    #[cold]
    pub(super) fn stream_send_at_last(
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
                Err(StreamError::DeadlinePassed(Some(Shortage(shortage))))
            }
            Err(error) => Err(self.failed(error).into()),
        }
    }

    /// Returns true if the window has room for an entry that the stream may send.
    pub(super) fn may_stream_send(
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

    /// Publishes an entry that the window has room for, on the stream's account.
    pub(super) fn send_on_stream(
        &mut self,
        key: StreamKey,
        outgoing: &mut Outgoing<'_>,
        last: bool,
    ) -> Result<(), SendError> {
        let carried = outgoing.carried(last);
        let head = Head::of_message(self.connection.streams.number(key), last);
        self.link.set_account(Account::of_stream(key.index()));
        let sent = self.send_behind_replies(head, outgoing);
        self.link.set_account(Account::SESSION);
        if sent.is_ok() {
            self.connection.streams.sent(key, carried);
        }
        sent
    }

    /// Sends a small message alone, the usual case, and returns true if the stream is then quiet.
    /// Returns `None` if another path must decide. (A result with the error in it is moved by wide
    /// loads, each of which waits for the narrow stores before.)
    #[inline]
    pub(super) fn send_small(
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
            link.send(Head::of_message(stream, false), Body::Bytes(message)).map_err(Box::new)
        })?;
        self.unflushed |= sent.is_ok();
        Some(sent)
    }

    /// Prepares for a task that has sent on a stream: usually it waits for the answer next.
    #[inline]
    pub(super) fn has_sent(&mut self, key: StreamKey, is_quiet: bool, cx: &Context<'_>) {
        // A task that waits while no driver takes turns may have to take one.
        if is_quiet && self.driver.is_awake {
            self.waiters.expect_reader(key, cx);
        }
    }

    pub(super) fn poll_stream_reset(
        &mut self,
        cx: &Context<'_>,
        key: StreamKey,
    ) -> Poll<StreamError> {
        if let Some(code) = self.connection.streams.reset_code(key) {
            return Poll::Ready(StreamError::Reset(code));
        }
        if let Err(error) = self.check() {
            return Poll::Ready(error.into());
        }
        let replaced = self.waiters.set_watcher(key, cx);
        self.due.extend(replaced);
        Poll::Pending
    }

    #[inline]
    pub(super) fn poll_stream_receive(&mut self, cx: &Context<'_>, key: StreamKey) -> Received {
        match self.take_from_stream(key) {
            Received::Nothing => self.await_stream(cx, key),
            received => received,
        }
    }

    /// Waits for the stream, on which nothing has come. Takes a turn first if this task may.
    pub(super) fn await_stream(&mut self, cx: &Context<'_>, key: StreamKey) -> Received {
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

    /// Takes the next message for a stream's reader, or the reason why none will come.
    #[inline]
    pub(super) fn take_from_stream(&mut self, key: StreamKey) -> Received {
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

    pub(super) fn reset_stream(&mut self, key: StreamKey, code: ErrorCode) {
        self.connection.streams.reset(key, code);
        self.wake_reader(key);
        self.due.extend(self.waiters.of_reset(key));
        // The writer may wait for memory.
        self.due.append(&mut self.awaiting.room);
        // The reader may be the thread that leads, which sleeps in another place.
        self.wake_driver();
    }
}
