//! Streams of a session, as one side sees them.

mod event;
mod key;
mod receiving;
mod table;

pub(super) use event::Opening;
pub use event::{RecvState, StreamEvent};
pub use key::StreamKey;

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use thiserror::Error;

use super::stream::{Carried, Direction, Refusal, Stream};
use super::transmit::Transmit;
use super::window::{Credit, Granted};
use crate::error_code::ErrorCode;
use crate::violation::StreamViolation;
use crate::window::Window;

/// Terms of one side's hello about streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamTerms {
    /// Messages and bytes that may be in flight to it on each stream.
    pub window: Window,
    /// Number of streams that the peer may have open at once.
    pub max_streams: u16,
}

impl StreamTerms {
    /// Terms without streams.
    pub const NONE: Self = Self { window: Window { messages: 0, bytes: 0 }, max_streams: 0 };
}

/// Error returned when a stream cannot be opened now.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{0} streams are open, the most that the peer allows (its option max_streams)")]
pub struct TooManyStreams(pub u16);

/// Window of one-way messages, which do not belong to a stream: an application that does not take
/// them stops their sender, and nothing else.
struct OneWay {
    credit: Credit,
    granted: Granted,
}

/// Table of a session's streams.
pub struct Streams<M> {
    own: StreamTerms,
    peers: StreamTerms,
    /// True if this side opens streams on odd numbers, as clients do; else on even ones.
    opens_odd: bool,
    slots: Vec<Option<Stream<M>>>,
    /// Number of uses of each slot.
    generations: Vec<u32>,
    free: Vec<u32>,
    /// Streams that are not over, by number.
    by_number: FxHashMap<u32, u32>,
    opened_here: u16,
    /// True if one of them has ended since the last [`Self::take_ended_here`].
    has_ended_here: bool,
    opened_by_peer: u16,
    /// Streams that may have an entry to be sent.
    listed: VecDeque<u32>,
    /// Window of one-way messages, if they have one.
    one_way: Option<OneWay>,
    /// True behind the peer's shutdown, which ends all streams.
    have_ended: bool,
}

impl<M> Streams<M> {
    /// Creates an empty table between sides with these terms.
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

    /// Gives one-way messages a window. The caller does so before the first message.
    pub fn limit_one_way(&mut self, window: Window) {
        let (credit, granted) = (Credit::new(window), Granted::new(window));
        self.one_way = Some(OneWay { credit, granted });
    }

    /// Ends all streams at the peer's shutdown: nothing more is sent on them.
    pub(super) fn end(&mut self) {
        self.have_ended = true;
    }

    /// Returns the number of streams that are not over and not reset by this side.
    pub fn live_count(&self) -> usize {
        if self.have_ended {
            return 0;
        }
        let streams =
            self.by_number.values().filter_map(|&index| self.slots[index as usize].as_ref());
        streams.filter(|stream| !stream.is_reset_here()).count()
    }

    /// Returns the number of streams that are not over for the peer.
    pub fn open_count(&self) -> usize {
        self.by_number.len()
    }

    /// Returns the number of streams that the application still holds, or that are not over.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn kept(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// Returns the maximum number of streams that the peer may have open at once.
    pub fn max_peer_streams(&self) -> usize {
        usize::from(self.own.max_streams)
    }

    /// Returns true if both directions of a stream have ended.
    pub fn is_over(&self, key: StreamKey) -> bool {
        self.get(key).is_over()
    }

    /// Returns true if a stream uses this number.
    pub fn uses(&self, number: u32) -> bool {
        self.by_number.contains_key(&number)
    }

    /// Returns the numbers that streams use.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.by_number.keys().copied()
    }

    // ---- one-way messages ----

    /// Returns true if one-way messages have a window.
    pub fn limits_one_way(&self) -> bool {
        self.one_way.is_some()
    }

    /// Returns true if a one-way message may be sent.
    pub fn may_send_one_way(&self) -> bool {
        self.one_way.as_ref().is_none_or(|one_way| one_way.credit.allows_a_message())
    }

    /// Records that a one-way message that [`Self::may_send_one_way`] allowed was published.
    pub fn one_way_sent(&mut self, len: usize) {
        if let Some(one_way) = &mut self.one_way {
            one_way.credit.spend(len);
        }
    }

    /// Validates a received one-way message.
    pub fn receive_one_way(&mut self, len: usize) -> Result<(), StreamViolation> {
        self.one_way.as_mut().map_or(Ok(()), |one_way| one_way.granted.take(len))
    }

    /// Records that the application has served or dropped a one-way message.
    pub fn one_way_ended(&mut self, len: usize) {
        if let Some(one_way) = &mut self.one_way {
            one_way.granted.consume(len);
        }
    }

    // ---- opening and sending ----

    /// Returns an error if this side may not open one more stream.
    pub fn may_open(&self) -> Result<(), TooManyStreams> {
        let most = self.peers.max_streams;
        if self.opened_here < most { Ok(()) } else { Err(TooManyStreams(most)) }
    }

    /// Returns true if a stream that this side opened has ended since the last
    /// [`Self::take_ended_here`].
    #[inline]
    pub fn has_ended_here(&self) -> bool {
        self.has_ended_here
    }

    /// Returns true if a stream that this side opened has ended since the last call of this
    /// function.
    pub fn take_ended_here(&mut self) -> bool {
        std::mem::take(&mut self.has_ended_here)
    }

    /// Records that this side's opening entry was published.
    pub fn opened(&mut self, number: u32, carried: Carried) -> StreamKey {
        self.opened_here += 1;
        let key = self.insert(number);
        self.sent(key, carried);
        key
    }

    /// Returns an error if an entry with such content may not be sent on a stream now.
    pub fn may_send(&self, key: StreamKey, carried: Carried) -> Result<(), Refusal> {
        self.get(key).may_send(carried)
    }

    /// Sends a message alone, the most frequent entry, by `send`, which receives the stream's
    /// number. Returns true if the stream is [quiet](Self::is_quiet) afterwards. Returns `None`
    /// without an attempt if [`Self::may_send`] refuses the message.
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

    /// Returns the code of either side's reset of a stream, if there was one.
    pub fn reset_code(&self, key: StreamKey) -> Option<ErrorCode> {
        let stream = self.get(key);
        let code = stream.incoming.reset_code().or(stream.outgoing.reset_code());
        code.or(stream.reset_due)
    }

    /// Returns true if the next entry on a stream is the first of this side.
    #[cfg(test)]
    pub(crate) fn is_first(&self, key: StreamKey) -> bool {
        self.get(key).outgoing == Direction::New
    }

    /// Returns the number of a stream that is not over.
    pub fn number(&self, key: StreamKey) -> u32 {
        self.get(key).number
    }

    /// Records that an entry that [`Self::may_send`] allowed was published.
    pub fn sent(&mut self, key: StreamKey, carried: Carried) {
        self.get_mut(key).sent(carried);
        if carried.last {
            self.settle(key.place());
        }
    }

    /// Ends both directions of a stream, regardless of messages in flight on it.
    pub fn reset(&mut self, key: StreamKey, code: ErrorCode) {
        if self.get_mut(key).reset(code) {
            self.list(key.place());
        }
    }

    /// Abandons a stream for the application. A stream that is not over is reset; it is finished in
    /// order instead if the peer opened it and the application has read it to its end.
    pub fn abandon(&mut self, key: StreamKey) {
        let opens_odd = self.opens_odd;
        let stream = self.get_mut(key);
        let is_odd = !stream.number.is_multiple_of(2);
        if stream.abandon(is_odd != opens_odd) {
            self.list(key.place());
        }
        self.settle(key.place());
    }

    /// Returns the next entry that this side has to send. It remains the next until
    /// [`Self::transmitted`].
    pub fn next_transmit(&mut self) -> Option<Transmit> {
        if self.have_ended {
            return None;
        }
        if let Some(consumed) = self.one_way.as_ref().and_then(|one_way| one_way.granted.due()) {
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

    /// Records that the entry of [`Self::next_transmit`] was published.
    pub fn transmitted(&mut self) {
        if let Some(one_way) = &mut self.one_way
            && one_way.granted.due().is_some()
        {
            return one_way.granted.give_back();
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

    /// Applies a reset. A reset of a stream that is over has crossed this side's last entry.
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

    /// Applies a window entry: the messages and bytes that the peer has consumed.
    pub fn receive_window(
        &mut self,
        number: u32,
        consumed: Window,
    ) -> Result<StreamEvent, StreamViolation> {
        // Only clients send one-way messages, so only they receive window entries for them.
        if number == 0
            && self.opens_odd
            && let Some(one_way) = &mut self.one_way
        {
            let has_room = one_way.credit.add(consumed)?;
            return Ok(if has_room { StreamEvent::OneWayRoom } else { StreamEvent::Nothing });
        }
        let Some(key) = self.find(number) else { return self.crossed(number) };
        let stream = self.get_mut(key);
        let has_room = stream.credit.add(consumed)? && !stream.outgoing.is_over();
        Ok(if has_room { StreamEvent::Room(key) } else { StreamEvent::Nothing })
    }

    /// Takes the oldest content received on a stream. Returns the result of `read`, which reads it
    /// in place; it is dropped afterwards.
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

    /// Returns true if a stream has nothing for its reader and both directions are open.
    #[inline]
    pub fn is_quiet(&self, key: StreamKey) -> bool {
        self.get(key).is_quiet()
    }
}
