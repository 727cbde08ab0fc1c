//! All streams of a session, as one side sees them.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use thiserror::Error;

use super::one_way::OneWay;
use super::stream::{Carried, Direction, Stream};
use super::window::Window;
use crate::ErrorCode;
use crate::violation::StreamViolation;

/// What one side's hello says of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamTerms {
    /// What may be under way to it on each stream.
    pub window: Window,
    /// Streams that the other side may have open at one time.
    pub max_streams: u16,
}

impl StreamTerms {
    /// No streams.
    pub const NONE: Self = Self { window: Window { messages: 0, bytes: 0 }, max_streams: 0 };
}

/// Which stream of this side. It stays right when the stream's number is used again.
///
/// One word, as it is passed on for each message: two halves that are stored one by one and loaded
/// together wait for each other (15 % of a turn that takes 199 messages, Zen 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamKey(u64);

impl StreamKey {
    #[inline]
    fn new(place: u32, generation: u32) -> Self {
        Self(u64::from(generation) << 32 | u64::from(place))
    }

    #[inline]
    fn place(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// A small number that no other stream of this side has at the same time.
    #[inline]
    pub fn index(self) -> usize {
        self.place() as usize
    }
}

/// An opening that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) number: u32,
    pub(super) method: u32,
}

/// What came of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// Nothing that the application waits for.
    Nothing,
    /// The peer has opened a stream. What came with it can be taken.
    Opened {
        /// The stream.
        key: StreamKey,
        /// The method that it was opened for.
        method: u32,
    },
    /// Something can be taken, or the peer has sent its last message.
    Received(StreamKey),
    /// The peer has reset the stream.
    Reset(StreamKey),
    /// The peer takes messages again.
    Room(StreamKey),
    /// The peer takes one-way messages again.
    OneWayRoom,
}

/// What a stream has for its reader.
#[derive(Debug, PartialEq, Eq)]
pub enum RecvState<M> {
    /// The oldest that was received.
    Content(M),
    /// Nothing yet.
    Nothing,
    /// The peer has sent its last message, and all of them were taken.
    End,
    /// One of both sides has reset the stream.
    Reset(ErrorCode),
}

/// An entry that this side owes the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// The client is to begin nothing new.
    GoAway,
    /// So much more may be sent on the stream, or, on number 0, of one-way messages.
    Window {
        /// The stream's number.
        number: u32,
        /// What the peer is given back.
        consumed: Window,
    },
    /// The stream is over.
    Reset {
        /// The stream's number.
        number: u32,
        /// Why.
        code: ErrorCode,
    },
    /// This side sends no more on the stream: a message with FIN and EMPTY.
    Finish {
        /// The stream's number.
        number: u32,
    },
}

/// Why a stream cannot be opened now.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{0} streams are open, the most that the peer allows (its option max_streams)")]
pub struct TooManyStreams(pub u16);

/// Why nothing can be sent on a stream now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The peer has to consume first.
    Window,
    /// This side has sent its last message.
    Finished,
    /// One of both sides has reset the stream.
    Reset(ErrorCode),
    /// Metadata goes with the first and the last entry only.
    Metadata,
}

/// The streams of a session.
pub struct Streams<M> {
    own: StreamTerms,
    peers: StreamTerms,
    /// Numbers that this side opens are odd, as a client's, or even.
    opens_odd: bool,
    slots: Vec<Option<Stream<M>>>,
    /// How often each slot was used.
    generations: Vec<u32>,
    free: Vec<u32>,
    /// Streams that are not over, by number.
    by_number: FxHashMap<u32, u32>,
    opened_here: u16,
    /// Whether one of them has ended since somebody asked.
    has_ended_here: bool,
    opened_by_peer: u16,
    /// Streams for which this side may owe an entry.
    listed: VecDeque<u32>,
    /// The window of one-way messages, if they have one.
    one_way: Option<OneWay>,
    /// True behind the peer's shutdown, with which all streams end.
    have_ended: bool,
}

impl<M> Streams<M> {
    /// No streams yet, between sides with these terms.
    pub fn new(opens_odd: bool, own: StreamTerms, peers: StreamTerms) -> Self {
        Self {
            own,
            peers,
            opens_odd,
            slots: Vec::new(),
            generations: Vec::new(),
            free: Vec::new(),
            by_number: FxHashMap::default(),
            opened_here: 0,
            has_ended_here: false,
            opened_by_peer: 0,
            listed: VecDeque::new(),
            one_way: None,
            have_ended: false,
        }
    }

    /// Gives one-way messages a window. Comes before the first.
    pub fn limit_one_way(&mut self, window: Window) {
        self.one_way = Some(OneWay::new(window));
    }

    /// The peer has sent its shutdown: nothing more is sent on any stream.
    pub(super) fn end(&mut self) {
        self.have_ended = true;
    }

    /// Streams that are not over, nor reset by this side.
    pub fn live_count(&self) -> usize {
        if self.have_ended {
            return 0;
        }
        let streams =
            self.by_number.values().filter_map(|&index| self.slots[index as usize].as_ref());
        streams.filter(|stream| !stream.is_reset_here()).count()
    }

    /// Streams that are not over for the peer.
    pub fn open_count(&self) -> usize {
        self.by_number.len()
    }

    /// Streams that the application still holds, or that are not over.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn kept(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// The most streams that the peer may have open at one time.
    pub fn max_peer_streams(&self) -> usize {
        usize::from(self.own.max_streams)
    }

    /// Whether both directions of a stream have ended.
    pub fn is_over(&self, key: StreamKey) -> bool {
        self.get(key).is_over()
    }

    /// Whether a stream uses this number.
    pub fn uses(&self, number: u32) -> bool {
        self.by_number.contains_key(&number)
    }

    /// Returns the numbers that streams use.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.by_number.keys().copied()
    }

    // ---- one-way messages ----

    /// Whether one-way messages have a window.
    pub fn limits_one_way(&self) -> bool {
        self.one_way.is_some()
    }

    /// Whether a one-way message may be sent.
    pub fn may_send_one_way(&self) -> bool {
        self.one_way.as_ref().is_none_or(OneWay::may_send)
    }

    /// A one-way message that [`Self::may_send_one_way`] allowed was published.
    pub fn one_way_sent(&mut self, len: usize) {
        if let Some(one_way) = &mut self.one_way {
            one_way.sent(len);
        }
    }

    /// Validates a one-way message that came.
    pub fn receive_one_way(&mut self, len: usize) -> Result<(), StreamViolation> {
        self.one_way.as_mut().map_or(Ok(()), |one_way| one_way.receive(len))
    }

    /// The application has served a one-way message, or let go of it.
    pub fn one_way_ended(&mut self, len: usize) {
        if let Some(one_way) = &mut self.one_way {
            one_way.consume(len);
        }
    }

    // ---- opening and sending ----

    /// Whether this side may open one more.
    pub fn may_open(&self) -> Result<(), TooManyStreams> {
        let most = self.peers.max_streams;
        if self.opened_here < most { Ok(()) } else { Err(TooManyStreams(most)) }
    }

    /// Whether a stream that this side opened has ended and nobody has asked since.
    #[inline]
    pub fn has_ended_here(&self) -> bool {
        self.has_ended_here
    }

    /// Whether a stream that this side opened has ended since this was last asked.
    pub fn take_ended_here(&mut self) -> bool {
        std::mem::take(&mut self.has_ended_here)
    }

    /// This side's opening entry was published.
    pub fn opened(&mut self, number: u32, carried: Carried) -> StreamKey {
        self.opened_here += 1;
        let key = self.insert(number);
        self.sent(key, carried);
        key
    }

    /// Whether such an entry may be sent on a stream.
    pub fn may_send(&self, key: StreamKey, carried: Carried) -> Result<(), Refusal> {
        self.get(key).may_send(carried)
    }

    /// Sends what most streams do, a message alone: by `send`, which is given the stream's number.
    /// Gives whether the stream is then [quiet](Self::is_quiet). `None` if nothing was tried, as
    /// [`Self::may_send`] has something to say about it.
    #[inline]
    pub fn send_message<E>(
        &mut self,
        key: StreamKey,
        len: usize,
        send: impl FnOnce(u32) -> Result<(), E>,
    ) -> Option<Result<bool, E>> {
        let stream = self.get_mut(key);
        let carried = Carried { message: Some(len), metadata: false, last: false };
        if stream.may_send(carried).is_err() {
            return None;
        }
        Some(send(stream.number).map(|()| {
            stream.sent(carried);
            stream.is_quiet()
        }))
    }

    /// The code with which one of both sides has reset a stream, if one has.
    pub fn reset_code(&self, key: StreamKey) -> Option<ErrorCode> {
        let stream = self.get(key);
        let code = stream.incoming.reset_code().or(stream.outgoing.reset_code());
        code.or(stream.reset_due)
    }

    /// Whether the next entry on a stream is the first of this side.
    #[cfg(test)]
    pub(crate) fn is_first(&self, key: StreamKey) -> bool {
        self.get(key).outgoing == Direction::New
    }

    /// The number of a stream that is not over.
    pub fn number(&self, key: StreamKey) -> u32 {
        self.get(key).number
    }

    /// An entry that [`Self::may_send`] allowed was published.
    pub fn sent(&mut self, key: StreamKey, carried: Carried) {
        self.get_mut(key).sent(carried);
        if carried.last {
            self.settle(key.place());
        }
    }

    /// Ends a stream both ways, whatever is under way on it.
    pub fn reset(&mut self, key: StreamKey, code: ErrorCode) {
        if self.get_mut(key).reset(code) {
            self.list(key.place());
        }
    }

    /// The application lets go of a stream. If it is not over, it is reset, but ended in order if
    /// the peer has opened it and the application has read it to its end.
    pub fn abandon(&mut self, key: StreamKey) {
        let opens_odd = self.opens_odd;
        let stream = self.get_mut(key);
        let is_odd = !stream.number.is_multiple_of(2);
        if stream.abandon(is_odd != opens_odd) {
            self.list(key.place());
        }
        self.settle(key.place());
    }

    /// The next entry that this side owes. It is owed until [`Self::transmitted`].
    pub fn next_transmit(&mut self) -> Option<Transmit> {
        if self.have_ended {
            return None;
        }
        if let Some(consumed) = self.one_way.as_ref().and_then(OneWay::window_due) {
            return Some(Transmit::Window { number: 0, consumed });
        }
        while let Some(&index) = self.listed.front() {
            if let Some(stream) = &mut self.slots[index as usize] {
                let number = stream.number;
                if let Some(code) = stream.reset_due {
                    return Some(Transmit::Reset { number, code });
                }
                if stream.fin_due {
                    return Some(Transmit::Finish { number });
                }
                if let Some(consumed) = stream.window_due() {
                    return Some(Transmit::Window { number, consumed });
                }
                stream.is_listed = false;
            }
            self.listed.pop_front();
        }
        None
    }

    /// The entry that [`Self::next_transmit`] named was published.
    pub fn transmitted(&mut self) {
        if let Some(one_way) = &mut self.one_way
            && one_way.window_due().is_some()
        {
            return one_way.window_sent();
        }
        let Some(&index) = self.listed.front() else { return };
        let Some(stream) = &mut self.slots[index as usize] else { return };
        match stream.reset_due.take() {
            Some(code) => stream.outgoing = Direction::Reset(code),
            None if stream.fin_due => stream.outgoing = Direction::Finished,
            None => stream.window_sent(),
        }
        self.settle(index);
    }

    // ---- receiving ----

    /// Validates a message on a stream that is open, or that it opens. Its content is put into the
    /// stream if a reader may take it.
    #[inline]
    pub(super) fn receive(
        &mut self,
        number: u32,
        opening: Option<Opening>,
        flags: u8,
        carried: Carried,
        put: impl FnOnce(&mut Option<M>),
    ) -> Result<StreamEvent, StreamViolation> {
        let Some(Opening { method, .. }) = opening else {
            let key = self.find(number).ok_or(StreamViolation::NotOpen(number))?;
            let is_wanted = self.receive_message(key, flags, carried, put)?;
            return Ok(if is_wanted { StreamEvent::Received(key) } else { StreamEvent::Nothing });
        };
        let key = self.open_for_peer(number)?;
        self.receive_message(key, flags, carried, put)?;
        Ok(StreamEvent::Opened { key, method })
    }

    /// Validates a message on a stream that is open; whether somebody may wait for it.
    #[inline]
    pub(super) fn receive_message(
        &mut self,
        key: StreamKey,
        flags: u8,
        carried: Carried,
        put: impl FnOnce(&mut Option<M>),
    ) -> Result<bool, StreamViolation> {
        // Its key was just made.
        let stream = self.slots[key.index()].as_mut().expect("a stream that is not over");
        let is_wanted = stream.receive(flags, carried, put)?;
        if carried.last {
            self.settle(key.place());
        }
        Ok(is_wanted)
    }

    /// Takes in a reset. One of a stream that is over has crossed this side's last entry.
    pub fn receive_reset(
        &mut self,
        number: u32,
        code: ErrorCode,
    ) -> Result<StreamEvent, StreamViolation> {
        let Some(key) = self.find(number) else { return self.crossed(number) };
        let stream = self.get_mut(key);
        let is_wanted = stream.receive_reset(code)?;
        if stream.reset_due.is_some() {
            self.list(key.place());
        }
        self.settle(key.place());
        Ok(if is_wanted { StreamEvent::Reset(key) } else { StreamEvent::Nothing })
    }

    /// Takes in what the peer has consumed.
    pub fn receive_window(
        &mut self,
        number: u32,
        consumed: Window,
    ) -> Result<StreamEvent, StreamViolation> {
        // Only clients send one-way messages, and only they are given some back.
        if number == 0
            && self.opens_odd
            && let Some(one_way) = &mut self.one_way
        {
            let has_room = one_way.receive_window(consumed)?;
            return Ok(if has_room { StreamEvent::OneWayRoom } else { StreamEvent::Nothing });
        }
        let Some(key) = self.find(number) else { return self.crossed(number) };
        let stream = self.get_mut(key);
        let was_full = !stream.credit.allows_a_message();
        stream.credit.add(consumed)?;
        let has_room = was_full && stream.credit.allows_a_message() && !stream.outgoing.is_over();
        Ok(if has_room { StreamEvent::Room(key) } else { StreamEvent::Nothing })
    }

    /// An entry of a stream that this side has forgotten; 0 never was one.
    fn crossed(&self, number: u32) -> Result<StreamEvent, StreamViolation> {
        if number == 0 { Err(StreamViolation::NotOpen(0)) } else { Ok(StreamEvent::Nothing) }
    }

    /// Takes the oldest that was received on a stream: gives what `read` makes of it where it
    /// lies, after which it is dropped.
    #[inline]
    pub fn take<R>(&mut self, key: StreamKey, read: impl FnOnce(&mut M) -> R) -> RecvState<R> {
        let stream = self.get_mut(key);
        if let Some((content, is_due)) = stream.take(read) {
            if is_due {
                self.list(key.place());
            }
            return RecvState::Content(content);
        }
        self.nothing_to_take(key)
    }

    fn nothing_to_take<R>(&self, key: StreamKey) -> RecvState<R> {
        match (self.reset_code(key), self.get(key).incoming) {
            (_, Direction::Refusing(_)) => RecvState::End,
            (Some(code), _) => RecvState::Reset(code),
            (None, Direction::Finished) => RecvState::End,
            (None, _) => RecvState::Nothing,
        }
    }

    /// Whether a stream has nothing for its reader, and goes on.
    #[inline]
    pub fn is_quiet(&self, key: StreamKey) -> bool {
        self.get(key).is_quiet()
    }

    // ---- the table ----

    fn open_for_peer(&mut self, number: u32) -> Result<StreamKey, StreamViolation> {
        let is_odd = !number.is_multiple_of(2);
        if number == 0 || is_odd == self.opens_odd || self.uses(number) {
            return Err(StreamViolation::Number(number));
        }
        if self.opened_by_peer == self.own.max_streams {
            return Err(StreamViolation::TooMany(self.own.max_streams));
        }
        self.opened_by_peer += 1;
        Ok(self.insert(number))
    }

    fn insert(&mut self, number: u32) -> StreamKey {
        let stream = Stream::new(number, self.own.window, self.peers.window);
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.generations.push(0);
            self.slots.len() as u32 - 1
        });
        let generation = &mut self.generations[index as usize];
        *generation = generation.wrapping_add(1);
        self.slots[index as usize] = Some(stream);
        self.by_number.insert(number, index);
        StreamKey::new(index, *generation)
    }

    /// The stream that has this number.
    #[inline]
    pub(super) fn find(&self, number: u32) -> Option<StreamKey> {
        let &index = self.by_number.get(&number)?;
        Some(StreamKey::new(index, self.generations[index as usize]))
    }

    #[inline]
    fn check(&self, key: StreamKey) {
        let generation = self.generations[key.index()];
        assert!(generation == key.generation(), "the stream's handle outlives it");
    }

    #[inline]
    fn get(&self, key: StreamKey) -> &Stream<M> {
        self.check(key);
        self.slots[key.index()].as_ref().expect("a stream lives until its handle is dropped")
    }

    #[inline]
    fn get_mut(&mut self, key: StreamKey) -> &mut Stream<M> {
        self.check(key);
        self.slots[key.index()].as_mut().expect("a stream lives until its handle is dropped")
    }

    fn list(&mut self, index: u32) {
        if let Some(stream) = &mut self.slots[index as usize]
            && !std::mem::replace(&mut stream.is_listed, true)
        {
            self.listed.push_back(index);
        }
    }

    /// Frees the number of a stream that is over, and the stream if nobody holds it.
    fn settle(&mut self, index: u32) {
        let Some(stream) = &mut self.slots[index as usize] else { return };
        if !stream.is_over() {
            return;
        }
        stream.end();
        let (number, is_abandoned) = (stream.number, stream.is_abandoned());
        if self.by_number.get(&number) == Some(&index) {
            self.by_number.remove(&number);
            let is_odd = !number.is_multiple_of(2);
            if is_odd == self.opens_odd {
                self.opened_here -= 1;
                self.has_ended_here = true;
            } else {
                self.opened_by_peer -= 1;
            }
        }
        if is_abandoned {
            // It may still be listed, which then means nothing.
            self.slots[index as usize] = None;
            self.free.push(index);
        }
    }
}
