//! One end of a shared session, without IO: entries in, decisions out (`docs/abi.md`, sections 4.1
//! and 4.3).
//!
//! This module does not read a clock, a ring or a socket, wake a waiter or copy a message. The
//! driver passes in the time until which senders wait; `M` is the received message, and `W` is a
//! handle by which the driver wakes a waiter. Threads, workers and tasks drive the same code.
//! (Exclusive sessions, with one caller and calls in order, keep the same rules by
//! [`in_flight`](crate::in_flight).)

mod arrivals;
mod backlog;
mod calls;
mod ending;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod served;
mod stream;
mod streams;
#[cfg(test)]
mod tests;
mod transmit;
mod window;

pub use arrivals::{Arrival, Arrivals};
pub use backlog::{Attempt, Backlog, BacklogBody, Lack};
pub use calls::{Answer, Calls};
pub use served::{Served, ServedCall};
pub use stream::{Carried, Refusal, size_in_table};
pub use streams::{RecvState, StreamEvent, StreamKey, StreamTerms, Streams, TooManyStreams};
pub use transmit::Transmit;

pub use crate::metadata::{METADATA_PREFIX, MetadataError, split};
pub use crate::window::Window;

use crate::ending::Ending;
use crate::entry::{Flags, Kind, Parts, RawHead};
use crate::error_code::ErrorCode;
use crate::time::Time;
use crate::validate::{Request, Side, Subject, WINDOW_LEN, reply, request, validate};
use crate::violation::{CallViolation, StreamViolation, Violation};
use streams::Opening;

/// Number of one-way messages that may wait to be served before no more are received: the messages
/// of their window (`docs/abi.md`, section 4.3). (Calls are bounded by those in flight, and streams
/// by `max_streams`.)
pub const MAX_ONE_WAY: usize = 1024;

/// Body of a received message that is not yet assigned to a call or stream.
pub trait IncomingBody<M> {
    /// Returns the length of the body in bytes, including the metadata block before the message.
    fn body_len(&self) -> usize;

    /// Copies the body's first bytes, as many as it has.
    fn copy_to(&self, bytes: &mut [u8; 8]);

    /// Takes the message of an entry without metadata.
    fn into_message(self) -> M;

    /// Splits the body into metadata and message.
    fn into_parts(self, parts: Parts) -> Result<M, MetadataError>;
}

/// Message that was taken from its entry.
pub trait Payload {
    /// Returns the length of the message in bytes.
    fn message_len(&self) -> usize;

    /// Returns true if there is a message.
    fn is_message(&self) -> bool;

    /// Returns true if a metadata block came with the message.
    fn has_metadata(&self) -> bool;

    /// Returns the text of a failed call's reply.
    fn reason(&self) -> String;
}

/// Result of a received entry.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<W> {
    /// A request can be [taken](Connection::take_arrival).
    Arrived,
    /// The entry concerned a stream, or the window of one-way messages.
    Stream(StreamEvent),
    /// A call was answered, and another may be made. Holds the waiter for the reply.
    Answered(Option<W>),
    /// The peer has cancelled a call. Holds the waiter for the cancellation.
    Cancelled(Option<W>),
    /// The peer goes away: this side must begin nothing new.
    GoingAway,
    /// The peer has ended the session in order. No further entry of the peer is read and nothing
    /// new is begun; streams have ended. Calls that came before are served and replied to.
    Shutdown,
}

/// Calls and streams of one end; `B` is the body of an entry that waits for room, and `E` the
/// reason of the session's end.
pub struct Connection<M, W, B, E> {
    is_client: bool,
    /// Calls of this side.
    pub calls: Calls<M, W>,
    /// Calls of the peer.
    pub served: Served<W>,
    /// Streams that either side opened.
    pub streams: Streams<M>,
    /// Requests of the peer that this side has not taken.
    pub arrivals: Arrivals<M>,
    /// Replies and other entries that wait for room.
    pub backlog: Backlog<B>,
    /// Stage of the session's end.
    pub ending: Ending<E>,
    /// Bytes of one-way messages that may wait without a window, and bytes of replies that may wait
    /// for room before no further call is begun.
    cap: usize,
}

impl<M: Payload, W, B, E> Connection<M, W, B, E> {
    /// Creates an end that has not sent or received anything. It sends no go-away unless its owner
    /// sets an [`ending`](Self::ending) that permits one.
    pub fn new(is_client: bool, streams: Streams<M>, max_in_flight: usize, cap: usize) -> Self {
        Self {
            is_client,
            // A server makes no calls.
            calls: if is_client { Calls::new(1, max_in_flight) } else { Calls::new(2, 0) },
            served: Served::new(max_in_flight),
            streams,
            arrivals: Arrivals::new(),
            backlog: Backlog::new(),
            ending: Ending::new(false, 0),
            cap,
        }
    }

    /// Returns true on the client's end.
    pub fn is_client(&self) -> bool {
        self.is_client
    }

    // ---- numbers ----

    /// Returns a number of this side that no call or stream in flight uses.
    pub fn next_number(&self) -> u32 {
        self.calls.numbers.next()
    }

    /// Records that a request was sent on [`Self::next_number`].
    pub fn call_sent(&mut self) {
        self.calls.sent();
        self.number_used();
    }

    /// Records that a one-way message of `len` bytes was sent on [`Self::next_number`].
    pub fn one_way_sent(&mut self, len: usize) {
        self.streams.one_way_sent(len);
        self.number_used();
    }

    /// Records that the opening entry of a stream was sent on [`Self::next_number`].
    pub fn stream_opened(&mut self, carried: Carried) -> StreamKey {
        let key = self.streams.opened(self.next_number(), carried);
        self.number_used();
        key
    }

    fn number_used(&mut self) {
        self.calls.number_used(|| self.streams.numbers());
    }

    #[cfg(test)]
    fn renumber(&mut self, next: u32) {
        self.calls.renumber(next, || self.streams.numbers());
    }

    // ---- receiving ----

    /// Validates an entry and applies it. `deadline` is the time until which its sender waits, by
    /// the entry's head.
    #[inline]
    pub fn receive(
        &mut self,
        head: RawHead,
        body: impl IncomingBody<M>,
        deadline: Time,
    ) -> Result<Event<W>, Violation> {
        let side = match self.is_client {
            true => Side::Client { going_away: self.ending.is_going_away() },
            false => Side::Server,
        };
        let event = match validate(head, body.body_len(), side)? {
            Subject::Message => return self.message(head, body, deadline),
            Subject::Window => {
                let consumed = window(head, &body);
                Event::Stream(self.streams.receive_window(head.stream, consumed)?)
            }
            Subject::Reset => {
                let code = ErrorCode::from_number(head.tag);
                Event::Stream(self.streams.receive_reset(head.stream, code)?)
            }
            Subject::Cancel => Event::Cancelled(self.served.cancel(head.stream)),
            Subject::GoAway => {
                self.ending.peer_goes_away();
                Event::GoingAway
            }
            Subject::Shutdown => {
                self.ending.peer_closed();
                self.streams.end();
                Event::Shutdown
            }
        };
        Ok(event)
    }

    fn message(
        &mut self,
        head: RawHead,
        body: impl IncomingBody<M>,
        deadline: Time,
    ) -> Result<Event<W>, Violation> {
        if let Some(key) = self.stream_of_message(head) {
            let is_wanted = self.receive_message(key, head, body)?;
            let received = StreamEvent::Received(key);
            return Ok(Event::Stream(if is_wanted { received } else { StreamEvent::Nothing }));
        }
        let flags = Flags::from_bits(head.flags);
        let is_opening = flags.has(Flags::OPEN);
        const NOTHING_LENT: Flags = Flags::EMPTY.with(Flags::LENT);
        if flags.has(NOTHING_LENT) && !flags.has(Flags::METADATA) {
            return Err(CallViolation::Flags(head.flags).into());
        }
        if is_opening && (self.streams.uses(head.stream) || self.served.has(head.stream)) {
            return Err(StreamViolation::Number(head.stream).into());
        }
        let deadline = if is_opening { deadline } else { Time::NEVER };
        let content = body.into_parts(flags.parts()).map_err(StreamViolation::from)?;
        if is_opening && !flags.has(Flags::STREAM) && !self.is_client {
            return self.request(head, content, deadline);
        }
        if !is_opening && self.is_client && self.calls.is_pending(head.stream) {
            let answer = match reply(head, Flags::METADATA)? {
                None => Ok(content),
                Some(code) => Err((code, content.reason())),
            };
            return Ok(Event::Answered(self.calls.answer(head.stream, answer)));
        }
        const CALLS_ONLY: Flags = Flags::ERROR.with(Flags::NO_REPLY);
        if flags.without(CALLS_ONLY) != flags || flags.has(Flags::STREAM) != is_opening {
            return Err(CallViolation::Flags(head.flags).into());
        }
        let carried = Carried {
            message: content.is_message().then(|| content.message_len()),
            metadata: content.has_metadata(),
            last: flags.has(Flags::FIN),
        };
        let opening = is_opening.then_some(Opening { number: head.stream, method: head.tag });
        let event = self.streams.receive(head.stream, opening, head.flags, carried, || content)?;
        let StreamEvent::Opened { key, method } = event else { return Ok(Event::Stream(event)) };
        self.arrivals.push_stream(key, method, deadline);
        self.drop_a_stream_that_is_over();
        Ok(Event::Arrived)
    }

    /// Returns the stream that an entry is a plain message on, if it is one.
    #[inline]
    pub fn stream_of_message(&self, head: RawHead) -> Option<StreamKey> {
        const IN_THE_MIDDLE: Flags = Flags::LENT.with(Flags::FIN);
        let flags = Flags::from_bits(head.flags);
        if head.kind != Kind::Message as u8 || flags.without(IN_THE_MIDDLE) != Flags::NONE {
            return None;
        }
        self.streams.find(head.stream)
    }

    /// Validates a message on its [stream](Self::stream_of_message). Returns true if a reader may
    /// wait for it.
    #[inline]
    pub fn receive_message(
        &mut self,
        key: StreamKey,
        head: RawHead,
        body: impl IncomingBody<M>,
    ) -> Result<bool, StreamViolation> {
        let (message, last) = (Some(body.body_len()), Flags::from_bits(head.flags).has(Flags::FIN));
        let carried = Carried { message, metadata: false, last };
        self.streams.receive_message(key, head.flags, carried, || body.into_message())
    }

    fn request(
        &mut self,
        head: RawHead,
        content: M,
        deadline: Time,
    ) -> Result<Event<W>, Violation> {
        let request = request(head)?;
        if request.one_way {
            self.streams.receive_one_way(content.message_len())?;
            self.arrivals.count_one_way(content.message_len());
        } else {
            self.served.check_room(self.backlog.len())?;
            self.served.begin(request.stream);
        }
        self.arrivals.push_call(request, content, deadline);
        Ok(Event::Arrived)
    }

    /// Counts a call or a one-way message of `len` bytes as served. The owner validated it itself
    /// before it made this connection.
    pub fn adopt(&mut self, request: Request, len: usize) {
        if request.one_way {
            self.arrivals.count_one_way(len);
        } else {
            self.served.begin(request.stream);
        }
    }

    // ---- requests that were not taken ----

    /// Returns true if too many one-way messages wait or are served, for a peer without a window
    /// for them: a peer without streams, which only delays itself. A session that has drained keeps
    /// none, and takes the entries behind them.
    pub fn is_flooded(&self) -> bool {
        !self.streams.limits_one_way()
            && !self.ending.has_drained()
            && (self.arrivals.one_way >= MAX_ONE_WAY || self.arrivals.one_way_bytes >= self.cap)
    }

    /// Returns true if nothing more is begun before entries in the backlog were sent.
    pub fn is_backlog_full(&self) -> bool {
        self.backlog.bytes() >= self.cap || self.backlog.holds_calls()
    }

    /// Takes the oldest request. A one-way message counts until it [ends](Self::one_way_ended).
    pub fn take_arrival(&mut self) -> Option<Arrival<M>> {
        self.arrivals.pop()
    }

    /// Records that a one-way message of `len` bytes was served or dropped. The peer may send as
    /// much more.
    pub fn one_way_ended(&mut self, len: usize) {
        self.arrivals.one_way_ended(len);
        self.streams.one_way_ended(len);
    }

    /// Drops one stream that is over and waits to be accepted if more streams wait than may be open
    /// at once. An application that accepts none would otherwise keep all of them.
    fn drop_a_stream_that_is_over(&mut self) {
        if self.arrivals.streams <= self.streams.max_peer_streams() {
            return;
        }
        let streams = &self.streams;
        if let Some(key) = self.arrivals.remove_stream(|key| streams.is_over(key)) {
            self.streams.abandon(key);
        }
    }
}

/// Returns the messages and bytes that a window entry returns. Its length was validated.
fn window<M>(head: RawHead, body: &impl IncomingBody<M>) -> Window {
    let mut bytes = [0; WINDOW_LEN];
    body.copy_to(&mut bytes);
    Window { messages: head.tag, bytes: u64::from_le_bytes(bytes) }
}
