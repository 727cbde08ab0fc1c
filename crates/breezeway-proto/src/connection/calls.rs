//! Calls of this side, for many callers that wait for replies.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::error_code::ErrorCode;
use crate::in_flight::Numbers;

/// Result of a call.
pub type Answer<M> = Result<M, (ErrorCode, String)>;

pub(super) enum Call<M, W> {
    /// The reply has not come.
    Waiting(Option<W>),
    /// The reply has not come, and no caller waits for it.
    GivenUp,
    /// The reply has come, and was not taken.
    Answered(Answer<M>),
}

/// Calls by stream number, each with the waiter for its reply, and the next number.
pub struct Calls<M, W> {
    pub(super) numbers: Numbers,
    limit: usize,
    pub(super) by_number: FxHashMap<u32, Call<M, W>>,
    /// Number of calls with a pending reply.
    pending: usize,
}

impl<M, W> Calls<M, W> {
    pub(super) fn new(first: u32, limit: usize) -> Self {
        Self { numbers: Numbers::new(first), limit, by_number: FxHashMap::default(), pending: 0 }
    }

    /// Returns true if one more call may be sent. Calls that were given up count until their late
    /// reply has come.
    pub fn has_room(&self) -> bool {
        self.pending < self.limit
    }

    /// Returns true if any reply is pending.
    pub fn awaits_any(&self) -> bool {
        self.pending > 0
    }

    /// Records that a request was sent on the next number.
    pub(super) fn sent(&mut self) {
        self.by_number.insert(self.numbers.next(), Call::Waiting(None));
        self.pending += 1;
    }

    /// Marks the next number as used. Besides calls, `others` are in use.
    pub(super) fn number_used<I: Iterator<Item = u32>>(&mut self, others: impl Fn() -> I) {
        let Self { numbers, by_number, .. } = self;
        numbers.used(|| by_number.keys().copied().chain(others()));
    }

    /// Continues with the number `next`.
    #[cfg(test)]
    pub(super) fn renumber<I: Iterator<Item = u32>>(&mut self, next: u32, others: impl Fn() -> I) {
        let Self { numbers, by_number, .. } = self;
        numbers.restart(next, || by_number.keys().copied().chain(others()));
    }

    /// Returns true if the reply to the call on this number is pending.
    pub fn is_pending(&self, number: u32) -> bool {
        matches!(self.by_number.get(&number), Some(Call::Waiting(_) | Call::GivenUp))
    }

    /// Stores the reply to a [pending](Self::is_pending) call, unless the call was given up.
    /// Returns the waiter for it.
    pub fn answer(&mut self, number: u32, answer: Answer<M>) -> Option<W> {
        let Entry::Occupied(mut call) = self.by_number.entry(number) else { return None };
        self.pending -= 1;
        if let Call::Waiting(waiter) = call.get_mut() {
            let waiter = waiter.take();
            call.insert(Call::Answered(answer));
            return waiter;
        }
        call.remove();
        None
    }

    /// Takes the answer to a call, if it has come.
    pub fn take(&mut self, number: u32) -> Option<Answer<M>> {
        let Entry::Occupied(call) = self.by_number.entry(number) else {
            unreachable!("the waiter of a call asks for its answer")
        };
        if let Call::Waiting(_) = call.get() {
            return None;
        }
        let Call::Answered(answer) = call.remove() else { unreachable!("it was not given up") };
        Some(answer)
    }

    /// Returns the waiter for a call without a reply.
    pub fn waiter(&mut self, number: u32) -> Option<&mut Option<W>> {
        match self.by_number.get_mut(&number) {
            Some(Call::Waiting(waiter)) => Some(waiter),
            _ => None,
        }
    }

    /// Gives up a call. Returns its waiter if the reply is still pending.
    pub fn give_up(&mut self, number: u32) -> Option<Option<W>> {
        let call = self.by_number.get_mut(&number)?;
        if let Call::Answered(_) = call {
            self.by_number.remove(&number);
            return None;
        }
        match std::mem::replace(call, Call::GivenUp) {
            Call::Waiting(waiter) => Some(waiter),
            _ => Some(None),
        }
    }

    /// Takes all waiters.
    pub fn waiters(&mut self) -> impl Iterator<Item = W> + '_ {
        self.by_number.values_mut().filter_map(|call| match call {
            Call::Waiting(waiter) => waiter.take(),
            Call::GivenUp | Call::Answered(_) => None,
        })
    }
}
