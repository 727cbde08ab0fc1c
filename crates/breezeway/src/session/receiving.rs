//! Received entries of a shared session, and the waiters that they wake.

use std::task::{Context, Poll};

use breezeway_os::Deadline;
use breezeway_proto::connection::{
    self, Event, IncomingBody, MetadataError, Payload, StreamEvent, StreamKey,
};
use breezeway_proto::{ErrorCode, LONGEST_REASON, Parts, Time};
use breezeway_shm::layout::INLINE_MAX;

use super::state::State;
use super::waiters::NOBODY;
use crate::carrier::Unreceived;
use crate::error::CallError;
use crate::link::Link;
use crate::message::{Message, Room};
use crate::time::{deadline_of, to_time};
use crate::violation::Violation;

/// A call or stream from the peer that was not accepted yet.
pub(crate) type Arrival = connection::Arrival<QueuedMessage>;

/// A message until it is taken. A small one has no memory of its own before that: if many come in
/// one turn, the memory of each would be cold again when its reader runs.
pub(crate) enum QueuedMessage {
    /// A small message without metadata.
    Small { len: usize, bytes: Room },
    /// Any other, until it is taken.
    Whole(Option<Message>),
}

/// Two cache lines for a stream's state, and two for a small message.
const _: () = assert!(connection::size_in_table::<QueuedMessage>() == 4 * 64);

impl QueuedMessage {
    /// Returns the message for its reader.
    #[inline]
    pub(super) fn into_message(mut self) -> Message {
        self.take()
    }

    /// Takes the message like [`Self::into_message`], but in place.
    #[inline]
    pub(super) fn take(&mut self) -> Message {
        match self {
            Self::Small { len, bytes } => Message::small(bytes, *len),
            Self::Whole(message) => message.take().expect("it is taken once"),
        }
    }

    fn message(&self) -> Option<&Message> {
        match self {
            Self::Small { .. } => None,
            Self::Whole(message) => message.as_ref(),
        }
    }
}

/// The message that the link has taken.
struct Current<'l> {
    link: &'l mut Link,
    max_metadata: usize,
}

impl IncomingBody<QueuedMessage> for Current<'_> {
    #[inline]
    fn body_len(&self) -> usize {
        self.link.body().len()
    }

    fn copy_to(&self, bytes: &mut [u8; 8]) {
        self.link.body().copy_to(bytes);
    }

    #[inline]
    fn into_message(self) -> QueuedMessage {
        let (is_lent, len) = (self.link.is_lent(), self.link.body().len());
        if is_lent || len > INLINE_MAX {
            return QueuedMessage::Whole(Some(Message::plain(self.link.detach())));
        }
        let mut bytes = Room::default();
        self.link.copy_small(&mut bytes.0);
        QueuedMessage::Small { len, bytes }
    }

    #[inline]
    fn into_parts(self, parts: Parts) -> Result<QueuedMessage, MetadataError> {
        if parts == Parts::MESSAGE {
            return Ok(self.into_message());
        }
        let message = Message::new(self.link.detach(), parts, self.max_metadata)?;
        Ok(QueuedMessage::Whole(Some(message)))
    }
}

impl Payload for QueuedMessage {
    fn message_len(&self) -> usize {
        match self {
            Self::Small { len, .. } => *len,
            Self::Whole(message) => message.as_ref().map_or(0, Message::len),
        }
    }

    fn is_message(&self) -> bool {
        self.message().is_none_or(Message::is_message)
    }

    fn has_metadata(&self) -> bool {
        self.message().is_some_and(|message| message.metadata().is_some())
    }

    fn reason(&self) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match self {
            Self::Small { len, bytes } => text(&bytes.0[..*len]),
            Self::Whole(message) => message.as_ref().map_or_else(String::new, |message| {
                let bytes = message.bytes();
                text(&bytes.slice(..bytes.len().min(LONGEST_REASON)).to_vec())
            }),
        }
    }
}

impl State {
    /// Handles the entry that the link has taken.
    pub(super) fn dispatch(&mut self) -> Result<(), CallError> {
        let head = self.link.head();
        let body = Current { link: &mut self.link, max_metadata: self.max_metadata[0] };
        if let Some(key) = self.connection.stream_of_message(head) {
            // The usual entry on sessions with streams is handled apart, because an event would be
            // stored and loaded at once.
            let is_wanted =
                self.connection.receive_message(key, head, body).map_err(Violation::from)?;
            if is_wanted {
                self.wake_reader(key);
            }
            return Ok(self.link.finish()?);
        }
        // Only an opening needs it: reading the clock takes time.
        let deadline =
            if head.is_opening() { to_time(deadline_of(head.time)) } else { Time::NEVER };
        let received = self.connection.receive(head, body, deadline);
        match received.map_err(Violation::from)? {
            Event::Arrived => self.due.append(&mut self.awaiting.arrival),
            Event::Stream(event) => self.note(event),
            Event::Answered(waiter) => {
                self.due.extend(waiter);
                self.due.append(&mut self.awaiting.call);
            }
            Event::Cancelled(waiter) => self.due.extend(waiter),
            Event::GoingAway => {
                self.wake_openers();
                self.wake_acceptors();
            }
            Event::Shutdown => self.peer_closed()?,
        }
        // An unwanted message was not taken.
        Ok(self.link.finish()?)
    }

    /// Fails the call whose request or reply found no memory. Any other message is missed, and ends
    /// the session.
    #[cold]
    pub(super) fn not_received(&mut self, unreceived: Unreceived) -> Result<(), CallError> {
        if let Some(head) = unreceived.request()
            && !self.connection.is_client()
        {
            let reason = unreceived.to_string();
            let reasons = (&*reason, &*reason);
            self.send_failure(head.stream, ErrorCode::NoMemory, reasons, Deadline::NEVER);
            return Ok(());
        }
        if let Some(head) = unreceived.reply()
            && self.connection.calls.is_pending(head.stream)
        {
            let failure = (ErrorCode::NoMemory, unreceived.to_string());
            self.due.extend(self.connection.calls.answer(head.stream, Err(failure)));
            self.due.append(&mut self.awaiting.call);
            return Ok(());
        }
        Err(CallError::Io(unreceived.into()))
    }

    /// Wakes the waiters that an event concerns.
    fn note(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Nothing | StreamEvent::Opened { .. } => {}
            StreamEvent::Received(key) => self.wake_reader(key),
            StreamEvent::Room(key) => self.due.extend(self.waiters.writer(key)),
            StreamEvent::OneWayRoom => self.due.append(&mut self.awaiting.one_way),
            StreamEvent::Reset(key) => {
                self.wake_reader(key);
                self.due.extend(self.waiters.of_reset(key));
                // The writer may wait for memory.
                self.due.append(&mut self.awaiting.room);
            }
        }
    }

    /// Wakes a stream's reader, for which something came.
    #[inline]
    pub(super) fn wake_reader(&mut self, key: StreamKey) {
        let Some((registration, waker)) = self.waiters.take_reader(key) else { return };
        // A leader polls without a wake-up.
        if !waker.will_wake(NOBODY) {
            self.due_readers.push((registration, waker));
        }
    }

    /// Takes the next arrival, unless as much as the cap waits to be sent.
    pub(super) fn arrival(&mut self) -> Option<Arrival> {
        self.step_drain();
        if self.is_backlog_full() { None } else { self.connection.take_arrival() }
    }

    /// Returns true if [`Self::arrival`] has something.
    pub(super) fn has_arrival(&self) -> bool {
        !self.connection.arrivals.is_empty() && !self.is_backlog_full()
    }

    /// Returns true if nothing more is begun until replies were sent that found no room. A session
    /// that is over sends none, and serves the committed requests.
    pub(super) fn is_backlog_full(&self) -> bool {
        self.connection.is_backlog_full() && !self.is_ended()
    }

    /// Records that a one-way message of `len` bytes was served, or will never be.
    pub(super) fn one_way_ended(&mut self, len: usize) {
        let was_flooded = self.connection.is_flooded();
        self.connection.one_way_ended(len);
        if was_flooded && !self.driver.is_awake {
            self.wake_driver();
        }
    }

    /// Takes the next arrival like [`Self::poll_arrival`], but fails once nothing may begin.
    pub(super) fn poll_arrival_while_open(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Arrival, CallError>> {
        let arrival = self.poll_arrival(cx);
        if arrival.is_pending() {
            self.may_begin()?;
        }
        arrival
    }

    /// Takes the next arrival like [`Self::arrival`], or remembers the waiter.
    pub(super) fn poll_arrival(&mut self, cx: &Context<'_>) -> Poll<Result<Arrival, CallError>> {
        if let Some(arrival) = self.arrival() {
            return Poll::Ready(Ok(arrival));
        }
        if !self.connection.awaits_last_arrivals() {
            self.check()?;
        }
        self.awaiting.arrival.remember(cx, &mut self.due);
        Poll::Pending
    }
}
