//! Calls of this side, for many callers that wait for replies.

use rustc_hash::FxHashMap;

use crate::ErrorCode;
use crate::in_flight::InFlight;
use crate::violation::CallViolation;

/// Result of a call.
pub type Answer<M> = Result<M, (ErrorCode, String)>;

pub(super) enum Call<M, W> {
    /// The reply has not come.
    Waiting(Option<W>),
    /// The reply has come.
    Answered(Answer<M>),
}

/// Calls by stream number, each with the waiter for its reply.
pub struct Calls<M, W> {
    pub(super) in_flight: InFlight,
    /// Calls that a caller waits for and whose answer was not taken.
    pub(super) awaited: FxHashMap<u32, Call<M, W>>,
}

impl<M, W> Calls<M, W> {
    pub(super) fn new(first: u32, limit: usize) -> Self {
        Self { in_flight: InFlight::new(first, limit), awaited: FxHashMap::default() }
    }

    /// Returns true if one more call may be sent.
    pub fn has_room(&self) -> bool {
        self.in_flight.has_room()
    }

    /// Returns true if a reply on this number is pending.
    pub fn awaits(&self, number: u32) -> bool {
        self.in_flight.awaits(number)
    }

    /// Returns true if any reply is pending.
    pub fn awaits_any(&self) -> bool {
        self.in_flight.len() > 0
    }

    /// Records that a request was sent on the next number.
    pub(super) fn sent(&mut self) {
        let call = self.in_flight.begin();
        self.awaited.insert(call.0, Call::Waiting(None));
    }

    /// Stores the reply to a call. Returns the waiter for it.
    pub fn answer(&mut self, number: u32, answer: Answer<M>) -> Result<Option<W>, CallViolation> {
        if !self.in_flight.end(number)? {
            return Ok(None);
        }
        match self.awaited.insert(number, Call::Answered(answer)) {
            Some(Call::Waiting(waiter)) => Ok(waiter),
            _ => unreachable!("a call that is wanted waits"),
        }
    }

    /// Takes the answer to a call, if it has come.
    pub fn take(&mut self, number: u32) -> Option<Answer<M>> {
        match self.awaited.get(&number) {
            Some(Call::Answered(_)) => match self.awaited.remove(&number) {
                Some(Call::Answered(answer)) => Some(answer),
                _ => unreachable!("it was there"),
            },
            Some(Call::Waiting(_)) => None,
            None => unreachable!("who waits for a call asks for its answer"),
        }
    }

    /// Returns the waiter for a call without a reply.
    pub fn waiter(&mut self, number: u32) -> Option<&mut Option<W>> {
        match self.awaited.get_mut(&number) {
            Some(Call::Waiting(waiter)) => Some(waiter),
            _ => None,
        }
    }

    /// Gives up a call. Returns its waiter if the reply is still pending.
    pub fn give_up(&mut self, number: u32) -> Option<Option<W>> {
        let call = self.awaited.remove(&number);
        self.in_flight.give_up(number).then(|| match call {
            Some(Call::Waiting(waiter)) => waiter,
            _ => None,
        })
    }

    /// Takes all waiters.
    pub fn waiters(&mut self) -> impl Iterator<Item = W> + '_ {
        self.awaited.values_mut().filter_map(|call| match call {
            Call::Waiting(waiter) => waiter.take(),
            Call::Answered(_) => None,
        })
    }
}
