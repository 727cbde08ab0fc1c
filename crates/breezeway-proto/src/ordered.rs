//! The calls of an exclusive session, whose replies come in the order of the requests unless the
//! server defers some.

use std::collections::VecDeque;

use crate::validate::reply;
use crate::violation::CallViolation;
use crate::{ErrorCode, Flags, RawHead};

/// A call in flight, or the reply to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallId(pub(crate) u32);

impl CallId {
    /// The call on the stream with this number.
    pub fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// A reply, as a client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedReply {
    /// The call that it answers.
    pub call: CallId,
    /// Set if the call failed.
    pub error: Option<ErrorCode>,
    /// Whether somebody still wants it.
    pub wanted: bool,
}

/// A client's calls.
#[derive(Debug)]
pub struct OrderedCalls {
    next: u32,
    /// No number from `next` up to this one, modulo 2³², is in use.
    in_use: u32,
    limit: usize,
    /// In the order of their requests; a server answers one session in order, so the reply's call
    /// is mostly the first.
    in_flight: VecDeque<(CallId, bool)>,
    wanted: usize,
}

impl OrderedCalls {
    /// No call yet, of `limit` at one time.
    pub fn new(limit: usize) -> Self {
        Self { next: 1, in_use: 1, limit, in_flight: VecDeque::with_capacity(limit), wanted: 0 }
    }

    /// The most calls in flight.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Calls whose reply is still to be received.
    #[inline]
    pub fn wanted(&self) -> usize {
        self.wanted
    }

    /// Calls that were given up and whose reply has not come.
    pub fn late(&self) -> usize {
        self.in_flight.len() - self.wanted
    }

    /// Calls whose reply has not come, wanted or not.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether one more call may go out. Calls that were given up count until their late reply has
    /// come.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.in_flight.len() < self.limit
    }

    /// The stream of the next message.
    #[inline]
    pub fn next_stream(&self) -> u32 {
        self.next
    }

    /// A request went out on [`Self::next_stream`].
    #[inline]
    pub fn call_sent(&mut self) -> CallId {
        let call = CallId(self.next);
        self.in_flight.push_back((call, true));
        self.wanted += 1;
        self.one_way_sent();
        call
    }

    /// A one-way message went out on [`Self::next_stream`].
    #[inline]
    pub fn one_way_sent(&mut self) {
        self.next = self.next.wrapping_add(2);
        if self.next == self.in_use {
            self.pass_over_numbers_in_use();
        }
    }

    #[cold]
    fn pass_over_numbers_in_use(&mut self) {
        let distance =
            |next: u32| self.in_flight.iter().map(move |(call, _)| call.0.wrapping_sub(next)).min();
        let mut next = self.next;
        while distance(next) == Some(0) {
            next = next.wrapping_add(2);
        }
        self.in_use = next.wrapping_add(distance(next).unwrap_or(0));
        self.next = next;
    }

    /// Nobody waits any more for the replies of the calls in flight.
    pub fn give_up(&mut self) {
        for (_, wanted) in &mut self.in_flight {
            *wanted = false;
        }
        self.wanted = 0;
    }

    /// Whether somebody waits for what an entry of kind message replies to.
    pub fn wants(&self, head: RawHead) -> bool {
        self.in_flight.contains(&(CallId(head.stream), true))
    }

    /// Ends a call that is not the oldest; gives whether somebody waited for it.
    fn end_later_call(&mut self, call: CallId) -> Result<bool, CallViolation> {
        let index = self.in_flight.iter().position(|&(other, _)| other == call);
        let ended = index.and_then(|index| self.in_flight.remove(index));
        ended.map(|(_, wanted)| wanted).ok_or(CallViolation::UnexpectedReply(call.0))
    }

    /// Validates a message as a reply, and ends its call.
    #[inline]
    pub fn answer(&mut self, head: RawHead) -> Result<OrderedReply, CallViolation> {
        // Metadata belongs to what the hello said this end does not take.
        let error = reply(head, Flags::NONE)?;
        let call = CallId(head.stream);
        let wanted = match self.in_flight.front() {
            Some(&(first, wanted)) if first == call => {
                self.in_flight.pop_front();
                wanted
            }
            _ => self.end_later_call(call)?,
        };
        self.wanted -= usize::from(wanted);
        Ok(OrderedReply { call, error, wanted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use crate::validate::REQUEST;

    fn message(flags: Flags, stream: u32) -> RawHead {
        RawHead { kind: Kind::Message as u8, flags: flags.bits(), stream, tag: 9, time: 0 }
    }

    #[test]
    fn a_reply_ends_its_call_once() {
        let mut calls = OrderedCalls::new(4);
        let call = calls.call_sent();
        assert_eq!(calls.wanted(), 1);
        let reply = message(Flags::FIN, call.0);
        assert_eq!(calls.answer(reply), Ok(OrderedReply { call, error: None, wanted: true }));
        assert_eq!(calls.wanted(), 0);
        assert_eq!(calls.answer(reply), Err(CallViolation::UnexpectedReply(call.0)));
    }

    #[test]
    fn replies_may_come_in_any_order() {
        let mut calls = OrderedCalls::new(4);
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
        let mut calls = OrderedCalls::new(1);
        let call = calls.call_sent();
        calls.give_up();
        assert_eq!(calls.wanted(), 0);
        assert!(!calls.has_room());
        let answer = calls.answer(message(Flags::FIN.with(Flags::ERROR), call.0)).unwrap();
        assert_eq!(answer, OrderedReply { call, error: Some(ErrorCode::Other(9)), wanted: false });
        assert!(calls.has_room());
    }

    #[test]
    fn stream_numbers_stay_odd_when_they_wrap() {
        let mut calls = OrderedCalls::new(1);
        calls.next = u32::MAX;
        calls.one_way_sent();
        assert_eq!(calls.next_stream(), 1);
    }

    #[test]
    fn numbers_in_use_are_passed_over_when_they_wrap() {
        let mut calls = OrderedCalls::new(4);
        let kept: Vec<_> = (0..3).map(|_| calls.call_sent().0).collect();
        assert_eq!(kept, [1, 3, 5]);
        calls.answer(message(Flags::FIN, 3)).unwrap();
        calls.next = u32::MAX;
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
            let mut calls = OrderedCalls::new(4);
            let call = calls.call_sent();
            let judged = calls.answer(message(flags, call.0));
            assert_eq!(judged, Err(CallViolation::NotAReply(flags.bits())));
        }
    }
}
