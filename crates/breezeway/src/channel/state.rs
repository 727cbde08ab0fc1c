//! What a shared session is made of, behind one lock: the link, and the calls and streams on it.
//!
//! No step here waits. Whoever drives takes turns; everybody else polls what they wait for, and is
//! woken, after the lock was released, when a turn has found it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use breezeway_os::Deadline;
use breezeway_os::segment::SegmentError;
use breezeway_os::spin::SpinBudget;
use breezeway_shm::layout::INLINE_MAX;
use breezeway_shm::{Flags, ForeignBytes, Head, Kind, SendError, Want};

use super::calls::{Answer, Calls};
use super::closing::Closing;
use super::draining::Draining;
use super::leadership::Leadership;
use super::outbox::Outbox;
use super::outgoing::{Content, Outgoing};
use super::serving::Serving;
use super::stand_in::StandIn;
use super::stream_waiters::StreamWaiters;
use super::waiters::remember;
use crate::connection::{
    Carried, Control, Event, METADATA_PREFIX, Opening, StreamKey, StreamViolation, Streams, Window,
};
use crate::error::CallError;
use crate::handshake::Agreed;
use crate::link::{Body, Link, LinkError, Notice, OwnedBody};
use crate::message::Message;
use crate::protocol::{CallViolation, ErrorCode, PeerHead, Request, request};
use crate::server::Unserved;
use crate::time_left;

/// Entries that a turn takes at most.
const ENTRIES_PER_TURN: usize = 256;
/// One-way messages that wait to be served before no more are taken: the messages of their window
/// (`docs/abi.md`, section 4.3). (Calls are bounded by those in flight, and streams by
/// `max_streams`.)
const MAX_ONE_WAY: usize = 1024;
/// The longest failure reason that is read from a reply.
const LONGEST_REASON: usize = 1024;

/// What came from the peer and nobody has taken up.
pub(crate) enum Arrival {
    /// A call, or a one-way message.
    Call(Request, Message, Deadline),
    /// A stream that the peer has opened.
    Stream { key: StreamKey, method: u32, deadline: Deadline },
}

/// What came of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Entries were taken, or sent.
    Worked,
    /// There was nothing to do.
    Idle,
    /// This process is short of something that the peer's next entry takes.
    Short,
    /// The session is over, but for what the peer has not taken yet.
    Closing,
    /// The session is over.
    Ended,
}

/// A shared session, behind its lock.
pub(crate) struct State {
    pub(super) link: Link,
    is_client: bool,
    pub(super) calls: Calls,
    pub(super) serving: Serving,
    pub(super) streams: Streams<Message>,
    pub(super) waiters: StreamWaiters,
    pub(super) outbox: Outbox,
    arrivals: VecDeque<Arrival>,
    /// How many of them are one-way messages, of how many bytes, and how many streams.
    one_way_arrivals: usize,
    one_way_bytes: usize,
    stream_arrivals: usize,
    pub(super) arrival_waiters: Vec<Waker>,
    /// Who waits for a slot or for memory.
    room_waiters: Vec<Waker>,
    /// Who waits for the peer to take up one-way messages.
    one_way_waiters: Vec<Waker>,
    /// Who waits for a stream of this side to end, so that another may be opened.
    open_waiters: Vec<Waker>,
    next_number: u32,
    /// The longest metadata block that this side takes, and that the peer takes.
    max_metadata: [usize; 2],
    max_in_flight: usize,
    going_away: bool,
    /// Whether the client is to be told to open nothing new, if that is wanted.
    pub(super) may_say_go_away: bool,
    pub(super) draining: Draining,
    /// What a session that drains has left undone.
    pub(super) unserved: Unserved,
    /// What this process was too short of in the last turn that says so.
    pub(super) shortage: Option<SegmentError>,
    end: Option<Arc<CallError>>,
    /// Set behind the end that this side wanted, until what was sent before is out.
    pub(super) closing: Option<Closing>,
    /// Whether a [`Driver`](super::Driver) takes the turns.
    pub(super) has_driver: bool,
    /// Whether whoever drives takes another turn before it sleeps.
    pub(super) driver_is_awake: bool,
    /// Interrupts the sleep of whoever drives.
    pub(super) driver: Option<Waker>,
    /// What tasks do while whoever drives sleeps.
    pub(super) stand_in: StandIn,
    /// Whether whoever drives sleeps for room as well.
    room_is_awaited: bool,
    /// Whether something was published and the peer not yet woken for it.
    pub(super) unflushed: bool,
    /// Which of the threads that wait drives.
    pub(super) leadership: Leadership<Waker>,
    /// How long it spins.
    pub(super) spinning: SpinBudget,
    /// Who is to be woken once the lock is released.
    pub(super) due: Vec<Waker>,
}

impl State {
    pub(super) fn new(
        mut agreed: Agreed,
        is_client: bool,
        leadership: Leadership<Waker>,
        spinning: SpinBudget,
    ) -> Self {
        let [own, peers] = agreed.streams;
        let mut streams = Streams::new(is_client, own, peers);
        if own.max_streams > 0 && peers.max_streams > 0 {
            streams.limit_one_way(Window { messages: MAX_ONE_WAY as u32, bytes: agreed.cap });
        }
        agreed.link.keep_for_streams(usize::from(own.max_streams) + usize::from(peers.max_streams));
        Self {
            link: agreed.link,
            is_client,
            calls: Calls::new(agreed.max_in_flight),
            serving: Serving::default(),
            streams,
            waiters: StreamWaiters::default(),
            outbox: Outbox::default(),
            arrivals: VecDeque::new(),
            one_way_arrivals: 0,
            one_way_bytes: 0,
            stream_arrivals: 0,
            arrival_waiters: Vec::new(),
            room_waiters: Vec::new(),
            one_way_waiters: Vec::new(),
            open_waiters: Vec::new(),
            next_number: if is_client { 1 } else { 2 },
            max_metadata: agreed.max_metadata.map(|limit| limit as usize),
            max_in_flight: agreed.max_in_flight,
            going_away: false,
            may_say_go_away: !is_client && agreed.knows_go_away,
            draining: Draining::No,
            unserved: Unserved::default(),
            shortage: None,
            end: None,
            closing: None,
            has_driver: false,
            driver_is_awake: false,
            driver: None,
            stand_in: StandIn::default(),
            room_is_awaited: false,
            unflushed: false,
            leadership,
            spinning,
            due: Vec::new(),
        }
    }

    // ---- the end ----

    /// Why nothing more can be done, if that is so.
    pub(super) fn check(&self) -> Result<(), CallError> {
        match &self.end {
            Some(end) => Err(CallError::EndedBy(Arc::clone(end))),
            None => Ok(()),
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Notes why the session is over, and wakes everybody.
    pub(super) fn finish(&mut self, error: CallError) {
        if self.end.is_some() {
            return;
        }
        self.end = Some(Arc::new(error));
        self.due.extend(self.calls.wakers());
        self.calls.wake_room(&mut self.due);
        self.due.extend(self.serving.wakers());
        self.due.append(&mut self.room_waiters);
        self.due.append(&mut self.one_way_waiters);
        self.due.append(&mut self.open_waiters);
        self.due.append(&mut self.arrival_waiters);
        self.waiters.wake_all(&mut self.due);
        let waiter = self.take_waiter();
        self.due.extend(waiter);
        self.due.extend(self.driver.clone());
    }

    /// Remembers who waits until fewer streams are open.
    pub(super) fn await_open(&mut self, cx: &Context<'_>) {
        remember(&mut self.open_waiters, cx);
    }

    /// Whom to wake, now that the lock is released.
    pub(super) fn note_ended_streams(&mut self) {
        if self.streams.take_ended_here() {
            self.due.append(&mut self.open_waiters);
        }
    }

    // ---- turns ----

    /// Takes what has come, sends what is owed, and notes who is to be woken.
    pub(super) fn turn(&mut self) -> Turn {
        if self.is_ended() {
            return self.turn_closing();
        }
        match self.try_turn() {
            Ok(true) => Turn::Worked,
            Ok(false) => Turn::Idle,
            Err(CallError::Shortage(error)) => {
                tracing::debug!(%error, "the next entry waits");
                self.shortage = Some(error);
                Turn::Short
            }
            Err(error) => {
                self.finish(error);
                Turn::Ended
            }
        }
    }

    pub(super) fn try_turn(&mut self) -> Result<bool, CallError> {
        self.link.notice(Notice::Readable)?;
        let mut taken = 0;
        let mut shortage = None;
        while taken < ENTRIES_PER_TURN && !self.is_flooded() {
            match self.link.take() {
                Ok(true) => self.dispatch()?,
                Ok(false) if !self.link.ready()? => break,
                Ok(false) => {}
                // What is to be sent does not wait for it.
                Err(LinkError::Shortage(error)) => {
                    shortage = Some(error);
                    break;
                }
                Err(error) => return Err(error.into()),
            }
            taken += 1;
        }
        if taken == 0 && shortage.is_none() && self.link.is_closed() && !self.is_flooded() {
            return Err(CallError::PeerDied);
        }
        let sent = self.send_what_waits()?;
        self.drain_in_turn(taken == 0 && shortage.is_none() && !self.is_flooded());
        self.flush()?;
        // What was owed may be written by now.
        self.end_drain();
        self.note_state();
        match shortage {
            Some(error) => Err(CallError::Shortage(error)),
            None => Ok(taken > 0 || sent),
        }
    }

    /// Sends replies and control entries for which there was no room before, and wakes who waits
    /// for some.
    fn send_what_waits(&mut self) -> Result<bool, CallError> {
        // Control entries do not need new room, but what was seen of it is to be up to date before
        // a sleep for more.
        let waits = self.has_more_to_send();
        let has_room = waits && self.link.has_new_room()?;
        let mut sent = false;
        if has_room {
            sent = self.send_outbox()?;
            self.due.append(&mut self.room_waiters);
        }
        Ok(self.send_controls()? | sent)
    }

    fn send_outbox(&mut self) -> Result<bool, CallError> {
        let sent = self.outbox.send(&mut self.link).map_err(CallError::from)?;
        self.unflushed |= sent;
        Ok(sent)
    }

    /// Sends the window and reset entries that this side owes.
    fn send_controls(&mut self) -> Result<bool, CallError> {
        let mut sent = false;
        while let Some(control) = self.streams.next_control() {
            let bytes;
            let (kind, number, tag, body) = match control {
                Control::Window { number, consumed } => {
                    bytes = consumed.bytes.to_le_bytes();
                    (Kind::Window, number, consumed.messages, &bytes[..])
                }
                Control::Reset { number, code } => (Kind::Reset, number, code.number(), &[][..]),
            };
            let head = Head { kind, flags: Flags::NONE, stream: number, tag, time: 0 };
            match self.link.send(head, Body::Bytes(body)) {
                Ok(()) => self.streams.control_sent(),
                Err(SendError::Full { .. }) => break,
                Err(error) => return Err(error.into()),
            }
            sent = true;
        }
        self.unflushed |= sent;
        Ok(sent)
    }

    /// Wakes a peer that sleeps for what was published.
    fn flush(&mut self) -> Result<(), CallError> {
        if std::mem::take(&mut self.unflushed) {
            self.link.flush_now()?;
        } else {
            self.link.flush_progress()?;
        }
        Ok(())
    }

    /// Writes down, for tools, how many streams are open and what nobody has taken up.
    fn note_state(&mut self) {
        let (streams, arrivals) = (self.streams.open_count(), self.arrivals.len());
        self.link.meter().holds(streams, arrivals);
    }

    /// What every operation ends with: what it has published reaches the peer, by whoever drives if
    /// that one is awake. Whoever drives is woken to wait for room as well.
    pub(super) fn settle(&mut self) {
        self.end_drain();
        self.due.append(&mut self.calls.discarded);
        self.due.append(&mut self.serving.discarded);
        if self.is_ended() {
            return;
        }
        self.note_state();
        if self.driver_is_awake {
            return;
        }
        let outcome = self.send_controls().and_then(|_| self.flush());
        self.end_drain();
        match outcome {
            Ok(()) if !self.room_is_awaited && self.awaits_room() => {
                self.due.extend(self.driver.clone());
            }
            Ok(()) => {}
            Err(error) => self.finish(error),
        }
    }

    /// Whether somebody waits for the peer to consume something.
    fn awaits_room(&mut self) -> bool {
        self.has_more_to_send() || self.link.has_unwritten()
    }

    /// Whether entries wait for room, or who would send some.
    fn has_more_to_send(&mut self) -> bool {
        !self.room_waiters.is_empty()
            || !self.outbox.is_empty()
            || self.streams.next_control().is_some()
    }

    /// Announces that whoever drives is about to sleep. False if there is something to do after
    /// all.
    pub(super) fn prepare_sleep(&mut self) -> bool {
        if self.is_ended() {
            return false;
        }
        if self.is_flooded() {
            // Whoever takes one up wakes the driver; till then the socket has nothing for it. (Who
            // waits for room waits as well.)
            self.driver_is_awake = false;
            return true;
        }
        match self.try_prepare_sleep() {
            Ok(asleep) => {
                self.driver_is_awake = !asleep;
                asleep
            }
            Err(error) => {
                self.finish(error.into());
                false
            }
        }
    }

    fn try_prepare_sleep(&mut self) -> Result<bool, LinkError> {
        // What a turn writes last may have made room on a socket, and nothing else would say so.
        if self.unflushed || self.link.has_room_on_socket() && self.has_more_to_send() {
            return Ok(false);
        }
        self.room_is_awaited = self.awaits_room();
        if self.room_is_awaited {
            let more_room = self.link.more_room();
            self.link.prepare_sleep_for(more_room)
        } else {
            self.link.prepare_sleep()
        }
    }

    /// Who is to be woken when whoever drives is needed.
    pub(super) fn set_driver(&mut self, waker: &Waker) {
        match &mut self.driver {
            Some(driver) => driver.clone_from(waker),
            None => self.driver = Some(waker.clone()),
        }
        self.link.set_return_waker(waker);
    }

    /// Takes note of what was noticed of the socket.
    pub(super) fn notice(&mut self, notice: Notice) {
        if let Err(error) = self.link.notice(notice) {
            self.finish(error.into());
        }
    }

    // ---- what came ----

    fn dispatch(&mut self) -> Result<(), CallError> {
        let head = self.link.head();
        match Kind::from_number(head.kind) {
            Some(Kind::Message) => return self.message(head),
            Some(Kind::Window) => {
                let consumed = window(head, self.link.body())?;
                let event = self.streams.receive_window(head.stream, consumed)?;
                self.note(event);
            }
            Some(Kind::Reset) => {
                let code = ErrorCode::from_number(head.tag);
                let event = self.streams.receive_reset(head.stream, code)?;
                self.note(event);
            }
            Some(Kind::Cancel) if !self.is_client => {
                let waker = self.serving.cancel(head.stream);
                self.due.extend(waker);
            }
            Some(Kind::GoAway) => self.going_away = true,
            Some(Kind::Shutdown) => return Err(CallError::Closed),
            Some(kind) => return Err(CallViolation::Unexpected(kind).into()),
            None => return Err(CallViolation::Kind(head.kind).into()),
        }
        Ok(self.link.finish()?)
    }

    fn message(&mut self, head: PeerHead) -> Result<(), CallError> {
        let flags = Flags::from_bits(head.flags);
        const IN_THE_MIDDLE: Flags = Flags::LENT.with(Flags::FIN);
        if flags.without(IN_THE_MIDDLE) == Flags::NONE && self.streams.uses(head.stream) {
            return self.message_in_the_middle(head, flags);
        }
        let content = Message::new(self.link.detach(), flags, self.max_metadata[0])
            .map_err(StreamViolation::from)?;
        if flags.has(Flags::OPEN) && !flags.has(Flags::STREAM) && !self.is_client {
            return self.request(head, content);
        }
        if !flags.has(Flags::OPEN) && self.is_client && self.calls.awaits(head.stream) {
            return self.answer(head, flags, content);
        }
        let is_opening = flags.has(Flags::OPEN);
        const CALLS_ONLY: Flags = Flags::ERROR.with(Flags::NO_REPLY);
        if flags.without(CALLS_ONLY) != flags || flags.has(Flags::STREAM) != is_opening {
            return Err(CallViolation::Flags(head.flags).into());
        }
        let carried = Carried {
            message: content.is_message().then(|| content.len()),
            metadata: content.metadata().is_some(),
            last: flags.has(Flags::FIN),
        };
        let opening = is_opening.then_some(Opening { number: head.stream, method: head.tag });
        let event = self.streams.receive(head.stream, opening, head.flags, carried, || content)?;
        if let Event::Opened { key, method } = event {
            let deadline = deadline(head.time);
            self.arrivals.push_back(Arrival::Stream { key, method, deadline });
            self.stream_arrivals += 1;
            self.drop_a_stream_that_is_over();
            self.due.append(&mut self.arrival_waiters);
        }
        self.note(event);
        Ok(())
    }

    /// A plain message on a stream that is open, which mostly is all that comes.
    fn message_in_the_middle(&mut self, head: PeerHead, flags: Flags) -> Result<(), CallError> {
        let message = Some(self.link.body().len());
        let carried = Carried { message, metadata: false, last: flags.has(Flags::FIN) };
        let link = &mut self.link;
        let detach = || Message::plain(link.detach());
        let event = self.streams.receive(head.stream, None, head.flags, carried, detach)?;
        self.note(event);
        // One that nobody wants was not taken.
        Ok(self.link.finish()?)
    }

    fn request(&mut self, head: PeerHead, content: Message) -> Result<(), CallError> {
        let request = request(head)?;
        if !request.one_way {
            if self.streams.uses(request.stream) || !self.serving.begin(request.stream) {
                return Err(StreamViolation::Number(request.stream).into());
            }
            // Replies that wait for room were not taken, and one go-away may wait among them.
            let in_flight = self.serving.len() + self.outbox.len().saturating_sub(1);
            if in_flight > self.max_in_flight {
                return Err(CallViolation::TooManyCalls(self.max_in_flight).into());
            }
        }
        let deadline = deadline(request.time);
        if request.one_way {
            self.streams.receive_one_way(content.len())?;
            self.one_way_arrivals += 1;
            self.one_way_bytes += content.len();
        }
        self.arrivals.push_back(Arrival::Call(request, content, deadline));
        self.due.append(&mut self.arrival_waiters);
        Ok(())
    }

    fn answer(&mut self, head: PeerHead, flags: Flags, content: Message) -> Result<(), CallError> {
        const NEITHER: Flags = Flags::LENT.with(Flags::ERROR).with(Flags::METADATA);
        if flags.without(NEITHER) != Flags::FIN {
            return Err(CallViolation::NotAReply(head.flags).into());
        }
        let answer: Answer = if flags.has(Flags::ERROR) {
            Err((ErrorCode::from_number(head.tag), reason(&content)))
        } else {
            Ok(content)
        };
        let waker = self.calls.answer(head.stream, answer);
        self.due.extend(waker);
        self.calls.wake_room(&mut self.due);
        Ok(())
    }

    /// Wakes whom an event concerns.
    fn note(&mut self, event: Event) {
        match event {
            Event::Nothing | Event::Opened { .. } => {}
            Event::Received(key) => self.due.extend(self.waiters.reader(key)),
            Event::Room(key) => self.due.extend(self.waiters.writer(key)),
            Event::OneWayRoom => self.due.append(&mut self.one_way_waiters),
            Event::Reset(key) => {
                self.due.extend(self.waiters.reader(key));
                self.due.extend(self.waiters.writer(key));
            }
        }
    }

    /// Whether more one-way messages wait than are to be kept, of a peer that knows no window for
    /// them: one without streams, which only holds up itself.
    fn is_flooded(&self) -> bool {
        if self.streams.limits_one_way() {
            return false;
        }
        self.one_way_arrivals >= MAX_ONE_WAY || self.one_way_bytes >= self.link.cap()
    }

    /// Of more streams than may be open at one time, one that waits to be accepted is over: nobody
    /// is to keep them all for somebody who accepts none.
    fn drop_a_stream_that_is_over(&mut self) {
        if self.stream_arrivals <= self.streams.most_of_peer() {
            return;
        }
        let streams = &self.streams;
        let over = self.arrivals.iter().position(
            |arrival| matches!(arrival, Arrival::Stream { key, .. } if streams.is_over(*key)),
        );
        if let Some(Arrival::Stream { key, .. }) = over.and_then(|at| self.arrivals.remove(at)) {
            self.stream_arrivals -= 1;
            self.streams.abandon(key);
        }
    }

    /// Whether something came that nobody has taken up.
    pub(super) fn has_arrivals(&self) -> bool {
        !self.arrivals.is_empty()
    }

    /// How much it is.
    #[cfg(test)]
    pub(super) fn arrivals(&self) -> usize {
        self.arrivals.len()
    }

    /// Takes the next arrival.
    pub(super) fn arrival(&mut self) -> Option<Arrival> {
        self.end_drain();
        self.take_arrival()
    }

    pub(super) fn take_arrival(&mut self) -> Option<Arrival> {
        let arrival = self.arrivals.pop_front()?;
        let was_flooded = self.is_flooded();
        match &arrival {
            Arrival::Call(request, message, _) if request.one_way => {
                self.one_way_arrivals -= 1;
                self.one_way_bytes -= message.len();
                self.streams.one_way_taken(message.len());
            }
            Arrival::Call(..) => {}
            Arrival::Stream { .. } => self.stream_arrivals -= 1,
        }
        if was_flooded && !self.driver_is_awake {
            self.due.extend(self.driver.clone());
        }
        Some(arrival)
    }

    /// Nobody will take up what has come.
    pub(super) fn forget_arrivals(&mut self) {
        self.arrivals.clear();
        (self.one_way_arrivals, self.one_way_bytes, self.stream_arrivals) = (0, 0, 0);
    }

    /// Remembers who waits to send one-way messages.
    pub(super) fn await_one_way_window(&mut self, cx: &Context<'_>) {
        remember(&mut self.one_way_waiters, cx);
    }

    /// As [`Self::arrival`], remembering who waits for one.
    pub(super) fn poll_arrival(&mut self, cx: &Context<'_>) -> Poll<Result<Arrival, CallError>> {
        if let Some(arrival) = self.arrival() {
            return Poll::Ready(Ok(arrival));
        }
        self.check()?;
        remember(&mut self.arrival_waiters, cx);
        Poll::Pending
    }

    // ---- sending ----

    /// A number of this side's that nothing under way uses.
    pub(super) fn free_number(&mut self) -> u32 {
        while self.calls.uses(self.next_number) || self.streams.uses(self.next_number) {
            self.next_number = self.next_number.wrapping_add(2);
        }
        self.next_number
    }

    /// The number was used.
    pub(super) fn used_number(&mut self) {
        self.next_number = self.next_number.wrapping_add(2);
        if self.next_number == 0 {
            // Even ones begin anew behind the session's own.
            self.next_number = 2;
        }
    }

    /// Why no call or stream may be begun, if that is so.
    pub(super) fn may_begin(&self) -> Result<(), CallError> {
        if let Some(end) = &self.end {
            return Err(CallError::NotSent(Arc::clone(end)));
        }
        if self.going_away { Err(CallError::GoingAway) } else { Ok(()) }
    }

    /// Refuses metadata that the peer does not take.
    pub(super) fn check_metadata(&self, metadata: Option<&[u8]>) -> Result<(), CallError> {
        let (len, limit) = (metadata.map_or(0, <[u8]>::len), self.max_metadata[1]);
        if len > limit { Err(CallError::TooMuchMetadata { len, limit }) } else { Ok(()) }
    }

    /// Publishes an entry, or remembers who waits until there is room for it.
    pub(super) fn poll_send(
        &mut self,
        cx: &Context<'_>,
        head: Head,
        outgoing: &mut Outgoing<'_>,
    ) -> Poll<Result<(), CallError>> {
        let outcome = self.send_behind_replies(head, outgoing);
        self.or_await_room(cx, outcome)
    }

    /// What came of sending or reserving; remembers who waits until there is room for it.
    pub(super) fn or_await_room<T>(
        &mut self,
        cx: &Context<'_>,
        outcome: Result<T, SendError>,
    ) -> Poll<Result<T, CallError>> {
        match outcome {
            Ok(outcome) => Poll::Ready(Ok(outcome)),
            Err(SendError::Full { .. } | SendError::NoMemory { until: Some(_), .. }) => {
                remember(&mut self.room_waiters, cx);
                Poll::Pending
            }
            Err(error) => Poll::Ready(Err(self.failed(error))),
        }
    }

    /// Says why an entry was not sent. What concerns the session ends it.
    pub(super) fn failed(&mut self, error: SendError) -> CallError {
        let error = CallError::from(error);
        if error.session_goes_on() {
            return error;
        }
        self.finish(error);
        self.check().err().unwrap_or(CallError::Ended)
    }

    /// Sends an entry for which nobody waits, at the latest when there is room for it.
    pub(super) fn send_or_keep(
        &mut self,
        head: Head,
        mut outgoing: Outgoing<'_>,
    ) -> Result<(), CallError> {
        self.check()?;
        match self.send_behind_replies(head, &mut outgoing) {
            Ok(()) => Ok(()),
            Err(
                error @ (SendError::Full { .. }
                | SendError::NoMemory { until: Some(_), .. }
                | SendError::Segment(_)),
            ) => {
                let lacks_slots = matches!(error, SendError::Full { .. });
                let (head, body) = outgoing.into_owned(head);
                self.outbox.push(head, body, lacks_slots);
                Ok(())
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Sends an entry unless replies wait for slots.
    pub(super) fn send_behind_replies(
        &mut self,
        head: Head,
        outgoing: &mut Outgoing<'_>,
    ) -> Result<(), SendError> {
        if self.outbox.lacks_slots() {
            return Err(SendError::Full { unconsumed: 0, until: Want::Data });
        }
        self.send(head, outgoing)
    }

    fn send(&mut self, head: Head, outgoing: &mut Outgoing<'_>) -> Result<(), SendError> {
        let head = outgoing.head(head);
        match (&mut outgoing.content, outgoing.metadata) {
            (Content::Space(space, _), _) => self.send_space(head, space)?,
            (content, None) => {
                self.link.send(head, Body::Bytes(content.copied().unwrap_or_default()))?;
            }
            (_, Some(metadata)) => self.send_with_metadata(head, metadata, outgoing)?,
        }
        self.unflushed = true;
        Ok(())
    }

    fn send_space(&mut self, head: Head, space: &mut OwnedBody) -> Result<(), SendError> {
        let is_cut = space.is_cut();
        self.link.send_owned(head, space)?;
        if is_cut {
            self.due.append(&mut self.room_waiters);
            // One of them may be the thread that leads, which sleeps in another place.
            self.due.extend(self.driver.clone());
        }
        Ok(())
    }

    fn send_with_metadata(
        &mut self,
        head: Head,
        metadata: &[u8],
        outgoing: &Outgoing<'_>,
    ) -> Result<(), SendError> {
        let len = outgoing.body_len();
        if len <= INLINE_MAX {
            let mut bytes = [0; INLINE_MAX];
            outgoing.write_to(&mut bytes[..len]);
            self.link.send(head, Body::Bytes(&bytes[..len]))?;
        } else {
            self.link.reserve(len)?;
            let mut filling = self.link.fill();
            filling.write(0, ForeignBytes::stable(&outgoing.prefix()));
            filling.write(METADATA_PREFIX, ForeignBytes::stable(metadata));
            let start = METADATA_PREFIX + metadata.len();
            filling
                .write(start, ForeignBytes::stable(outgoing.content.copied().unwrap_or_default()));
            if let Err(error) = self.link.send(head, Body::Space) {
                self.link.abandon();
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Until when a caller waits, as its entry says.
fn deadline(time: u16) -> Deadline {
    Deadline::from(time_left::decode(time))
}

/// What a window entry says.
fn window(head: PeerHead, body: ForeignBytes<'_>) -> Result<Window, StreamViolation> {
    let mut bytes = [0; 8];
    if body.len() != bytes.len() {
        return Err(StreamViolation::WindowLength(body.len()));
    }
    body.copy_to(&mut bytes);
    Ok(Window { messages: head.tag, bytes: u64::from_le_bytes(bytes) })
}

/// Why a call failed, as its reply says.
fn reason(content: &Message) -> String {
    let bytes = content.bytes();
    let bytes = bytes.slice(..bytes.len().min(LONGEST_REASON)).to_vec();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;
    use crate::carrier::Carrier;
    use crate::handshake;
    use crate::options::SessionOptions;

    #[test]
    fn the_window_of_one_way_messages_is_the_cap_although_a_frame_is_smaller() {
        let (one, other) = UnixStream::pair().unwrap();
        let options = SessionOptions::new().cap(8 << 30);
        let accepting = thread::spawn({
            let options = options.clone();
            move || handshake::accept(other.into(), Carrier::Unix, &options).map(drop)
        });
        let agreed = handshake::connect(one.into(), Carrier::Unix, &options).unwrap();
        accepting.join().unwrap().unwrap();
        let mut state = State::new(agreed, true, Leadership::outside(), SpinBudget::new(0));
        assert!(state.link.cap() < 4 << 30);
        state.streams.one_way_sent(5 << 30);
        assert!(state.streams.may_send_one_way());
        state.streams.one_way_sent(3 << 30);
        assert!(!state.streams.may_send_one_way());
    }
}
