//! The calls of this side, for many who make them and wait for their replies.

use rustc_hash::FxHashMap;

use crate::ErrorCode;

/// What came of a call.
pub type Answer<M> = Result<M, (ErrorCode, String)>;

enum Call<M, W> {
    /// The reply is to come.
    Waiting(Option<W>),
    /// The reply is there.
    Answered(Answer<M>),
    /// Nobody wants the reply, which is to come.
    GivenUp,
}

/// Calls by stream number, each with whoever waits for its reply.
pub struct Calls<M, W> {
    calls: FxHashMap<u32, Call<M, W>>,
    /// Calls whose reply is to come.
    in_flight: usize,
    limit: usize,
}

impl<M, W> Calls<M, W> {
    pub(super) fn new(limit: usize) -> Self {
        Self { calls: FxHashMap::default(), in_flight: 0, limit }
    }

    /// Whether one more call may go out.
    pub fn has_room(&self) -> bool {
        self.in_flight < self.limit
    }

    /// Whether a call has this number.
    pub(super) fn uses(&self, number: u32) -> bool {
        self.calls.contains_key(&number)
    }

    /// Whether a reply is to come on this number.
    pub fn awaits(&self, number: u32) -> bool {
        matches!(self.calls.get(&number), Some(Call::Waiting(_) | Call::GivenUp))
    }

    /// Whether any reply is to come.
    pub fn awaits_any(&self) -> bool {
        self.in_flight > 0
    }

    /// A request went out.
    pub(super) fn sent(&mut self, number: u32) {
        self.calls.insert(number, Call::Waiting(None));
        self.in_flight += 1;
    }

    /// The reply to a call that [`Self::awaits`] one. Gives who waits for it.
    pub fn answer(&mut self, number: u32, answer: Answer<M>) -> Option<W> {
        self.in_flight -= 1;
        match self.calls.remove(&number) {
            Some(Call::Waiting(waiter)) => {
                self.calls.insert(number, Call::Answered(answer));
                waiter
            }
            _ => None,
        }
    }

    /// Takes the answer to a call, if it has come.
    pub fn take(&mut self, number: u32) -> Option<Answer<M>> {
        match self.calls.get(&number) {
            Some(Call::Answered(_)) => match self.calls.remove(&number) {
                Some(Call::Answered(answer)) => Some(answer),
                _ => unreachable!("it was there"),
            },
            Some(Call::Waiting(_)) => None,
            Some(Call::GivenUp) | None => unreachable!("who waits for a call asks for its answer"),
        }
    }

    /// Who waits for a call whose reply has not come.
    pub fn waiter(&mut self, number: u32) -> Option<&mut Option<W>> {
        match self.calls.get_mut(&number) {
            Some(Call::Waiting(waiter)) => Some(waiter),
            _ => None,
        }
    }

    /// Nobody waits for a call any more; gives who did if its reply is still to come.
    pub fn give_up(&mut self, number: u32) -> Option<Option<W>> {
        match self.calls.get_mut(&number) {
            Some(call @ Call::Waiting(_)) => match std::mem::replace(call, Call::GivenUp) {
                Call::Waiting(waiter) => Some(waiter),
                _ => unreachable!("it was"),
            },
            _ => {
                self.calls.remove(&number);
                None
            }
        }
    }

    /// Everybody who waits.
    pub fn waiters(&mut self) -> impl Iterator<Item = W> + '_ {
        self.calls.values_mut().filter_map(|call| match call {
            Call::Waiting(waiter) => waiter.take(),
            _ => None,
        })
    }
}
