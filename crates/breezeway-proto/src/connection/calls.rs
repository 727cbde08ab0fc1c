//! The calls of this side, for many who make them and wait for their replies.

use rustc_hash::FxHashMap;

use crate::ErrorCode;
use crate::in_flight::InFlight;
use crate::violation::CallViolation;

/// What came of a call.
pub type Answer<M> = Result<M, (ErrorCode, String)>;

pub(super) enum Call<M, W> {
    /// The reply is to come.
    Waiting(Option<W>),
    /// The reply is there.
    Answered(Answer<M>),
}

/// Calls by stream number, each with whoever waits for its reply.
pub struct Calls<M, W> {
    pub(super) in_flight: InFlight,
    /// Those whose answer is wanted and was not taken.
    pub(super) awaited: FxHashMap<u32, Call<M, W>>,
}

impl<M, W> Calls<M, W> {
    pub(super) fn new(first: u32, limit: usize) -> Self {
        Self { in_flight: InFlight::new(first, limit), awaited: FxHashMap::default() }
    }

    /// Whether one more call may go out.
    pub fn has_room(&self) -> bool {
        self.in_flight.has_room()
    }

    /// Whether a reply is to come on this number.
    pub fn awaits(&self, number: u32) -> bool {
        self.in_flight.awaits(number)
    }

    /// Whether any reply is to come.
    pub fn awaits_any(&self) -> bool {
        self.in_flight.len() > 0
    }

    /// A request went out on the next number.
    pub(super) fn sent(&mut self) {
        let call = self.in_flight.begin();
        self.awaited.insert(call.0, Call::Waiting(None));
    }

    /// The reply to a call. Gives who waits for it.
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

    /// Who waits for a call whose reply has not come.
    pub fn waiter(&mut self, number: u32) -> Option<&mut Option<W>> {
        match self.awaited.get_mut(&number) {
            Some(Call::Waiting(waiter)) => Some(waiter),
            _ => None,
        }
    }

    /// Nobody waits for a call any more; gives who did if its reply is still to come.
    pub fn give_up(&mut self, number: u32) -> Option<Option<W>> {
        let call = self.awaited.remove(&number);
        self.in_flight.give_up(number).then(|| match call {
            Some(Call::Waiting(waiter)) => waiter,
            _ => None,
        })
    }

    /// Everybody who waits.
    pub fn waiters(&mut self) -> impl Iterator<Item = W> + '_ {
        self.awaited.values_mut().filter_map(|call| match call {
            Call::Waiting(waiter) => waiter.take(),
            Call::Answered(_) => None,
        })
    }
}
