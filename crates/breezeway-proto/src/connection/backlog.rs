//! Replies and other entries that found no room: they are sent as soon as there is room, and no
//! caller waits for that.
//!
//! The driver attempts them in passes: it calls [`Backlog::begin_pass`], and then passes the result
//! for each entry that [`Backlog::next_transmit`] returns to [`Backlog::attempted`]. Replies belong
//! to different calls, so one that lacks memory delays no other.

use std::collections::VecDeque;

use crate::entry::{Flags, Head};
use crate::error_code::ErrorCode;
use crate::time::Time;

/// Entries that wait, in the order in which they were made; `B` is the body of one. Their number is
/// bounded by the client's calls in flight: a call counts among those until its reply was sent.
pub struct Backlog<B> {
    entries: VecDeque<Waiting<B>>,
    bytes: usize,
    lacks_slots: bool,
    is_copying: bool,
    /// Lower bound of the times when entries have waited for too long.
    timeout: Time,
    /// Time that an entry waits for memory, in the unit of the owner's clock.
    patience: u64,
    /// True if no call is served while a handler's own reply to an earlier one waits.
    in_order: bool,
    /// Index of the entry that the pass attempts.
    at: usize,
}

/// Resource that an entry waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// A slot of the ring, or room on the socket, which all entries need.
    Slot,
    /// Memory for its body.
    Memory,
    /// The next pass, which copies a further piece of its body.
    Copy,
}

/// Body that is sent with an entry.
#[derive(Debug, PartialEq, Eq)]
pub enum BacklogBody<B> {
    /// The entry's own body.
    Own(B),
    /// Reason of the failure, which fits into a slot.
    Reason(&'static str),
}

/// Result of an attempt to send an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The entry was sent.
    Sent,
    /// A piece of its body was copied, or made of the memory for it.
    Copied {
        /// True if there is memory for all of it.
        has_memory: bool,
    },
    /// The next pass copies the next piece.
    Later,
    /// The ring, or the socket, has no room.
    NoSlot,
    /// The memory is short. Holds the reason of the failure in case the entry has waited too long.
    NoMemory(&'static str),
}

struct Waiting<B> {
    head: Head,
    content: BacklogBody<B>,
    len: usize,
    /// Time from which on the entry is not wanted.
    until: Time,
    /// Time when it has waited for memory for as long as it may, while it lacks some.
    memory_until: Option<Time>,
    /// True if no further call is served before it was sent.
    holds_calls: bool,
}

impl<B> Waiting<B> {
    fn timeout(&self) -> Time {
        self.memory_until.map_or(self.until, |until| until.min(self.until))
    }
}

impl<B> Backlog<B> {
    /// Returns an empty backlog that lets entries wait for memory for any time.
    pub(super) fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: 0,
            lacks_slots: false,
            is_copying: false,
            timeout: Time::NEVER,
            patience: u64::MAX,
            in_order: false,
            at: 0,
        }
    }

    /// Sets the time that entries wait for memory from now on, in the unit of the owner's
    /// clock.
    pub fn set_patience(&mut self, patience: u64) {
        self.patience = patience;
    }

    /// Serves no call from now on while a handler's own reply to an earlier one waits.
    pub fn set_in_order(&mut self) {
        self.in_order = true;
    }

    /// Returns true if no entry waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the number of entries that wait.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the bytes of the bodies that wait.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true if each further entry has to wait behind these.
    #[inline]
    pub fn lacks_slots(&self) -> bool {
        self.lacks_slots
    }

    /// Returns true if the next pass copies a piece of a body.
    pub fn is_copying(&self) -> bool {
        self.is_copying
    }

    /// Returns the time when a pass is needed although there is no more room.
    pub fn poll_timeout(&self) -> Time {
        self.timeout
    }

    /// Returns true if no call is to be served before an entry that waits.
    pub fn holds_calls(&self) -> bool {
        self.entries.iter().any(|waiting| waiting.holds_calls)
    }

    /// Holds further calls until the last entry was sent, if replies are sent in order and that
    /// entry stands behind the first `len`.
    pub fn hold_calls(&mut self, len: usize) {
        if self.in_order
            && self.len() > len
            && let Some(waiting) = self.entries.back_mut()
        {
            waiting.holds_calls = true;
        }
    }

    /// Keeps an entry with a body of `len` bytes, which is not wanted from `until` on.
    pub fn push(
        &mut self,
        head: Head,
        (body, len): (B, usize),
        lack: Lack,
        until: Time,
        now: Time,
    ) {
        self.bytes += len;
        self.lacks_slots |= lack == Lack::Slot;
        self.is_copying |= lack == Lack::Copy;
        let memory_until = (lack == Lack::Memory).then(|| now.after(self.patience));
        let content = BacklogBody::Own(body);
        let waiting = Waiting { head, content, len, until, memory_until, holds_calls: false };
        self.timeout = self.timeout.min(waiting.timeout());
        self.entries.push_back(waiting);
    }

    /// Begins a pass over all entries.
    pub fn begin_pass(&mut self) {
        (self.at, self.lacks_slots, self.is_copying) = (0, false, false);
    }

    fn end_pass(&mut self) {
        self.timeout = self.entries.iter().map(Waiting::timeout).min().unwrap_or(Time::NEVER);
    }

    /// Returns the entry that is to be attempted next; `None` ends the pass.
    pub fn next_transmit(&mut self) -> Option<(Head, &mut BacklogBody<B>)> {
        self.entries.get_mut(self.at).map(|waiting| (waiting.head, &mut waiting.content))
    }

    /// Records the result of the attempt at [`Self::next_transmit`], and fails entries that have
    /// waited too long.
    pub fn attempted(&mut self, attempt: Attempt, now: Time) {
        let Some(waiting) = self.entries.get_mut(self.at) else { return };
        match attempt {
            Attempt::Sent => {
                self.bytes -= waiting.len;
                self.entries.remove(self.at);
            }
            Attempt::Copied { has_memory: true } => waiting.memory_until = None,
            Attempt::Copied { has_memory: false } => {}
            // The next passes serve other entries.
            Attempt::Later if waiting.until.has_passed_at(now) => {
                self.fail(self.at, ErrorCode::DeadlinePassed, "the reply was not copied in time");
            }
            Attempt::Later => {
                self.is_copying = true;
                self.at += 1;
            }
            Attempt::NoSlot => {
                self.lacks_slots = true;
                self.fail_late_ones(now);
            }
            // The memory of the peer or of the kernel is short: another entry may need less.
            Attempt::NoMemory(reason) => {
                waiting.memory_until.get_or_insert(now.after(self.patience));
                if waiting.timeout().has_passed_at(now) {
                    self.fail(self.at, ErrorCode::NoMemory, reason);
                } else {
                    self.at += 1;
                }
            }
        }
        if self.at >= self.entries.len() {
            self.end_pass();
        }
    }

    /// Ends a pass whose further entries find no slot.
    fn fail_late_ones(&mut self, now: Time) {
        for index in self.at..self.entries.len() {
            let waiting = &self.entries[index];
            if waiting.timeout().has_passed_at(now) {
                let (code, reason) = match waiting.memory_until.is_some() {
                    true => (ErrorCode::NoMemory, "the reply found no payload memory in time"),
                    false => (ErrorCode::DeadlinePassed, "the reply found no room in time"),
                };
                self.fail(index, code, reason);
            }
        }
        self.at = self.entries.len();
    }

    /// Turns a reply into that of a failed call, which needs a slot and no memory.
    fn fail(&mut self, index: usize, code: ErrorCode, reason: &'static str) {
        let waiting = &mut self.entries[index];
        waiting.head.flags = Flags::FIN.with(Flags::ERROR);
        waiting.head.tag = code.number();
        self.bytes = self.bytes - waiting.len + reason.len();
        (waiting.content, waiting.len) = (BacklogBody::Reason(reason), reason.len());
        (waiting.until, waiting.memory_until) = (Time::NEVER, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: u64 = 100;
    const NOW: Time = Time::from_ticks(1000);
    const LATER: Time = Time::from_ticks(1000 + PATIENCE);
    const SENT: Attempt = Attempt::Sent;
    const NO_MEMORY: Attempt = Attempt::NoMemory("no memory");

    /// Returns a backlog with one entry of 200 bytes for each element, numbered in order.
    fn backlog(entries: &[(Lack, Time)]) -> Backlog<()> {
        let mut backlog = Backlog::new();
        backlog.set_patience(PATIENCE);
        for (&(lack, until), stream) in entries.iter().zip(1..) {
            backlog.push(Head::of_reply(stream), ((), 200), lack, until, NOW);
        }
        backlog
    }

    /// Makes one pass with these results of its attempts. Returns the entries that were attempted.
    fn pass<B>(backlog: &mut Backlog<B>, now: Time, attempts: &[Attempt]) -> Vec<u32> {
        let mut streams = Vec::new();
        let mut attempts = attempts.iter();
        backlog.begin_pass();
        while let Some((head, _)) = backlog.next_transmit() {
            streams.push(head.stream);
            backlog.attempted(*attempts.next().expect("fewer attempts"), now);
        }
        assert_eq!(attempts.len(), 0, "more attempts than entries: {streams:?}");
        let bytes = backlog.entries.iter().map(|waiting| waiting.len).sum();
        assert_eq!(backlog.bytes(), bytes);
        streams
    }

    /// Returns the failures that wait, by number.
    fn failures<B>(backlog: &Backlog<B>) -> Vec<(u32, ErrorCode, &'static str)> {
        let failure = |waiting: &Waiting<B>| match waiting.content {
            BacklogBody::Own(_) => None,
            BacklogBody::Reason(reason) => {
                assert_eq!(waiting.head.flags, Flags::FIN.with(Flags::ERROR));
                let code = ErrorCode::from_number(waiting.head.tag);
                Some((waiting.head.stream, code, reason))
            }
        };
        backlog.entries.iter().filter_map(failure).collect()
    }

    #[test]
    fn entry_that_lacks_memory_delays_no_other() {
        let mut backlog = backlog(&[(Lack::Memory, Time::NEVER); 3]);
        assert_eq!(pass(&mut backlog, NOW, &[NO_MEMORY, SENT, NO_MEMORY]), [1, 2, 3]);
        assert_eq!((backlog.len(), backlog.lacks_slots()), (2, false));
        assert_eq!(pass(&mut backlog, NOW, &[SENT, SENT]), [1, 3]);
        assert!(backlog.is_empty());
    }

    #[test]
    fn entry_without_slot_ends_the_pass() {
        let mut backlog = backlog(&[(Lack::Slot, Time::NEVER); 3]);
        assert!(backlog.lacks_slots());
        assert_eq!(pass(&mut backlog, NOW, &[SENT, Attempt::NoSlot]), [1, 2]);
        assert_eq!((backlog.len(), backlog.lacks_slots()), (2, true));
        assert_eq!(pass(&mut backlog, NOW, &[SENT, SENT]), [2, 3]);
        assert!(!backlog.lacks_slots());
    }

    #[test]
    fn late_reply_fails_with_code_of_its_lack() {
        use ErrorCode::{DeadlinePassed, NoMemory};
        let (in_time, no_room) = (Time::from_ticks(1101), "the reply found no room in time");
        let not_copied = "the reply was not copied in time";
        for (lack, until, attempt, expected) in [
            (Lack::Slot, LATER, Attempt::NoSlot, Some((DeadlinePassed, no_room))),
            (Lack::Copy, LATER, Attempt::NoSlot, Some((DeadlinePassed, no_room))),
            (Lack::Copy, LATER, Attempt::Later, Some((DeadlinePassed, not_copied))),
            (Lack::Memory, in_time, NO_MEMORY, Some((NoMemory, "no memory"))),
            (Lack::Slot, LATER, NO_MEMORY, Some((NoMemory, "no memory"))),
            (
                Lack::Memory,
                in_time,
                Attempt::NoSlot,
                Some((NoMemory, "the reply found no payload memory in time")),
            ),
            (Lack::Slot, in_time, Attempt::NoSlot, None),
            (Lack::Copy, in_time, Attempt::Later, None),
            (Lack::Slot, in_time, NO_MEMORY, None),
        ] {
            let mut backlog = backlog(&[(lack, until)]);
            // The failure does not find a slot at once either.
            let is_attempted_again = expected.is_some() && attempt != Attempt::NoSlot;
            let attempts = [attempt, Attempt::NoSlot];
            pass(&mut backlog, LATER, &attempts[..1 + usize::from(is_attempted_again)]);
            let expected: Vec<_> =
                expected.into_iter().map(|(code, reason)| (1, code, reason)).collect();
            assert_eq!(failures(&backlog), expected, "{lack:?}, {attempt:?}");
            if !expected.is_empty() {
                assert_eq!(backlog.poll_timeout(), Time::NEVER, "a failure waits for its slot");
            }
        }
    }

    #[test]
    fn timeout_is_that_of_the_earliest_entry() {
        let early = Time::from_ticks(1050);
        for (entries, expected) in [
            (&[][..], Time::NEVER),
            (&[(Lack::Slot, Time::NEVER)], Time::NEVER),
            (&[(Lack::Memory, Time::NEVER), (Lack::Slot, Time::NEVER)], LATER),
            (&[(Lack::Memory, early)], early),
            (&[(Lack::Memory, Time::NEVER), (Lack::Copy, early)], early),
        ] {
            assert_eq!(backlog(entries).poll_timeout(), expected);
        }
        let mut backlog = backlog(&[(Lack::Slot, early), (Lack::Slot, LATER)]);
        pass(&mut backlog, NOW, &[SENT, Attempt::NoSlot]);
        assert_eq!(backlog.poll_timeout(), LATER);
    }

    #[test]
    fn patience_counts_from_the_first_shortage() {
        let mut backlog = backlog(&[(Lack::Slot, Time::NEVER)]);
        pass(&mut backlog, NOW, &[NO_MEMORY]);
        assert_eq!(backlog.poll_timeout(), LATER);
        pass(&mut backlog, Time::from_ticks(1050), &[NO_MEMORY]);
        assert_eq!(backlog.poll_timeout(), LATER);
    }

    #[test]
    fn copy_that_found_memory_waits_for_none() {
        let mut backlog = backlog(&[(Lack::Copy, Time::NEVER)]);
        let no_memory_yet = Attempt::Copied { has_memory: false };
        pass(&mut backlog, NOW, &[no_memory_yet, NO_MEMORY]);
        assert_eq!((backlog.poll_timeout(), backlog.is_copying()), (LATER, false));
        pass(&mut backlog, NOW, &[Attempt::Copied { has_memory: true }, Attempt::Later]);
        assert_eq!((backlog.poll_timeout(), backlog.is_copying()), (Time::NEVER, true));
        pass(&mut backlog, LATER, &[Attempt::Copied { has_memory: true }, SENT]);
        assert!(backlog.is_empty() && !backlog.is_copying());
    }

    #[test]
    fn own_reply_holds_calls_only_where_replies_go_in_order() {
        let mut backlog = backlog(&[(Lack::Slot, Time::NEVER)]);
        backlog.hold_calls(0);
        assert!(!backlog.holds_calls(), "replies go in any order");
        backlog.set_in_order();
        backlog.hold_calls(1);
        assert!(!backlog.holds_calls(), "the reply was sent at once");
        backlog.hold_calls(0);
        assert!(backlog.holds_calls());
        pass(&mut backlog, NOW, &[SENT]);
        assert!(!backlog.holds_calls());
    }
}
