//! Calls of one caller in flight, and the numbers of a side's calls, one-way messages and streams.
//!
//! The replies of a plain session come in the order of the requests unless the server defers some.

use std::collections::VecDeque;

use crate::entry::{Flags, RawHead};
use crate::error_code::ErrorCode;
use crate::validate::reply;
use crate::violation::CallViolation;

/// Identifier of a call in flight and of its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallId(pub(crate) u32);

impl CallId {
    /// Returns the call on the stream with this number.
    pub fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// Call that its reply has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedCall {
    /// Number of the call.
    pub call: CallId,
    /// Code of the failure, if the call failed.
    pub error: Option<ErrorCode>,
    /// True if a caller still waits for the reply.
    pub wanted: bool,
}

/// Numbers of one side's calls, one-way messages and streams.
#[derive(Debug)]
pub struct Numbers {
    next: u32,
    /// No number from `next` up to this one, modulo 2³², is in use.
    in_use: u32,
}

impl Numbers {
    /// Begins with the number `first`.
    pub(crate) fn new(first: u32) -> Self {
        Self { next: first, in_use: first }
    }

    /// Returns the next number, which is not in use.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Marks the next number as used. The numbers `in_use` are not used again.
    #[inline]
    pub(crate) fn used<I: Iterator<Item = u32>>(&mut self, in_use: impl Fn() -> I) {
        self.next = next_after(self.next);
        if self.next == self.in_use {
            self.pass_over(in_use);
        }
    }

    #[cold]
    fn pass_over<I: Iterator<Item = u32>>(&mut self, in_use: impl Fn() -> I) {
        let distance = |next: u32| {
            let distances = in_use().map(|number| number.wrapping_sub(next));
            distances.filter(|way| way % 2 == 0).min()
        };
        let mut next = self.next;
        while distance(next) == Some(0) {
            next = next_after(next);
        }
        self.in_use = next.wrapping_add(distance(next).unwrap_or(0));
        self.next = next;
    }

    /// Continues with the number `next`.
    #[cfg(test)]
    pub(crate) fn restart<I: Iterator<Item = u32>>(&mut self, next: u32, in_use: impl Fn() -> I) {
        self.next = next;
        self.pass_over(in_use);
    }
}

/// Calls with pending replies, each wanted or given up, and the next number.
#[derive(Debug)]
pub struct InFlight {
    numbers: Numbers,
    limit: usize,
    /// Calls in the order of their requests: the reply's call is mostly the first.
    calls: VecDeque<(CallId, bool)>,
    wanted: usize,
}

impl InFlight {
    /// Creates an empty list of at most `limit` calls.
    pub fn new(limit: usize) -> Self {
        let calls = VecDeque::with_capacity(limit);
        Self { numbers: Numbers::new(1), limit, calls, wanted: 0 }
    }

    /// Returns the maximum number of calls in flight.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the number of calls that a caller waits for.
    #[inline]
    pub fn wanted(&self) -> usize {
        self.wanted
    }

    /// Returns the number of calls that were given up before their reply came.
    pub fn late(&self) -> usize {
        self.calls.len() - self.wanted
    }

    /// Returns the number of calls without a reply, wanted or not.
    #[allow(clippy::len_without_is_empty, reason = "a count that is compared with a limit")]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns true if one more call may be sent. Calls that were given up count until their late
    /// reply has come.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.calls.len() < self.limit
    }

    /// Returns the number of the next call or one-way message, which is not in use.
    #[inline]
    pub fn next_number(&self) -> u32 {
        self.numbers.next()
    }

    /// Records that a request was sent on [`Self::next_number`].
    #[inline]
    pub fn call_sent(&mut self) -> CallId {
        let call = CallId(self.numbers.next());
        self.calls.push_back((call, true));
        self.wanted += 1;
        self.one_way_sent();
        call
    }

    /// Records that a one-way message was sent on [`Self::next_number`].
    #[inline]
    pub fn one_way_sent(&mut self) {
        self.numbers.used(|| self.calls.iter().map(|(call, _)| call.0));
    }

    /// Gives up all calls in flight: no caller waits for their replies any more.
    pub fn give_up_all(&mut self) {
        for (_, wanted) in &mut self.calls {
            *wanted = false;
        }
        self.wanted = 0;
    }

    /// Returns true if a caller waits for the call that a message replies to.
    pub fn wants(&self, head: RawHead) -> bool {
        self.calls.contains(&(CallId(head.stream), true))
    }

    /// Validates a message as a reply without metadata, and ends its call.
    #[inline]
    pub fn answer(&mut self, head: RawHead) -> Result<EndedCall, CallViolation> {
        // This end's hello refuses metadata.
        let error = reply(head, Flags::NONE)?;
        let wanted = match self.calls.front() {
            Some(&(first, wanted)) if first.0 == head.stream => {
                self.calls.pop_front();
                wanted
            }
            _ => self.end_later_call(head.stream)?,
        };
        self.wanted -= usize::from(wanted);
        Ok(EndedCall { call: CallId(head.stream), error, wanted })
    }

    /// Ends a call that is not the oldest. Returns true if a caller waits for it.
    fn end_later_call(&mut self, number: u32) -> Result<bool, CallViolation> {
        let index = self.calls.iter().position(|(call, _)| call.0 == number);
        let ended = index.and_then(|index| self.calls.remove(index));
        ended.map(|(_, wanted)| wanted).ok_or(CallViolation::UnexpectedReply(number))
    }
}

/// Returns the next number of the same side. Number 0 belongs to the session itself.
#[inline]
fn next_after(number: u32) -> u32 {
    match number.wrapping_add(2) {
        0 => 2,
        next => next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Kind;
    use crate::entry::REQUEST;

    fn message(flags: Flags, stream: u32) -> RawHead {
        RawHead { kind: Kind::Message as u8, flags: flags.bits(), stream, tag: 9, time: 0 }
    }

    #[test]
    fn a_reply_ends_its_call_once() {
        let mut calls = InFlight::new(4);
        let call = calls.call_sent();
        assert_eq!(calls.wanted(), 1);
        let reply = message(Flags::FIN, call.0);
        assert_eq!(calls.answer(reply), Ok(EndedCall { call, error: None, wanted: true }));
        assert_eq!(calls.wanted(), 0);
        assert_eq!(calls.answer(reply), Err(CallViolation::UnexpectedReply(call.0)));
    }

    #[test]
    fn replies_may_come_in_any_order() {
        let mut calls = InFlight::new(4);
        let sent: Vec<_> = (0..4).map(|_| calls.call_sent()).collect();
        assert!(!calls.has_room());
        for index in [2, 0, 3, 1] {
            let answer = calls.answer(message(Flags::FIN, sent[index].0)).unwrap();
            assert_eq!(answer.call, sent[index]);
        }
        assert!(calls.has_room());
    }

    #[test]
    fn a_call_given_up_counts_until_its_late_reply_comes() {
        let mut calls = InFlight::new(1);
        let call = calls.call_sent();
        calls.give_up_all();
        assert_eq!(calls.wanted(), 0);
        assert!(!calls.has_room());
        let answer = calls.answer(message(Flags::FIN.with(Flags::ERROR), call.0)).unwrap();
        assert_eq!(answer, EndedCall { call, error: Some(ErrorCode::Other(9)), wanted: false });
        assert!(calls.has_room());
    }

    #[test]
    fn stream_numbers_stay_odd_when_they_wrap() {
        let mut calls = InFlight::new(1);
        calls.numbers.next = u32::MAX;
        calls.one_way_sent();
        assert_eq!(calls.next_number(), 1);
    }

    #[test]
    fn numbers_in_use_are_passed_over_when_they_wrap() {
        let mut calls = InFlight::new(4);
        let kept: Vec<_> = (0..3).map(|_| calls.call_sent().0).collect();
        assert_eq!(kept, [1, 3, 5]);
        calls.answer(message(Flags::FIN, 3)).unwrap();
        calls.numbers.next = u32::MAX;
        assert_eq!(calls.call_sent().0, u32::MAX);
        let next: Vec<_> = (0..3)
            .map(|_| {
                let call = calls.call_sent();
                calls.answer(message(Flags::FIN, call.0)).unwrap();
                call.0
            })
            .collect();
        assert_eq!(next, [3, 7, 9]);
    }

    #[test]
    fn messages_that_are_no_replies_are_violations() {
        for flags in [Flags::NONE, Flags::OPEN, REQUEST, Flags::FIN.with(Flags::NO_REPLY)] {
            let mut calls = InFlight::new(4);
            let call = calls.call_sent();
            let judged = calls.answer(message(flags, call.0));
            assert_eq!(judged, Err(CallViolation::NotAReply(flags.bits())));
        }
    }
}
