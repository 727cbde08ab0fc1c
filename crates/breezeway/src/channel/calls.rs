//! A client's calls, each with whoever waits for its reply.

use std::task::{Context, Poll, Waker};

use rustc_hash::FxHashMap;

use super::waiters::{remember, replace, withdraw};
use crate::message::Message;
use crate::protocol::ErrorCode;

/// What came of a call.
pub(super) type Answer = Result<Message, (ErrorCode, String)>;

enum Call {
    /// The reply is to come.
    Waiting(Option<Waker>),
    /// The reply is there.
    Answered(Answer),
    /// Nobody wants the reply, which is to come.
    GivenUp,
}

/// Calls by stream number.
pub(super) struct Calls {
    calls: FxHashMap<u32, Call>,
    /// Calls whose reply is to come.
    in_flight: usize,
    limit: usize,
    /// Who waits to make one more.
    room_waiters: Vec<Waker>,
    /// Who waited and no longer does, to be dropped without the lock.
    pub(super) discarded: Vec<Waker>,
}

impl Calls {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            calls: FxHashMap::default(),
            in_flight: 0,
            limit,
            room_waiters: Vec::new(),
            discarded: Vec::new(),
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.in_flight < self.limit
    }

    /// Whether a call has this number.
    pub(super) fn uses(&self, number: u32) -> bool {
        self.calls.contains_key(&number)
    }

    /// Whether a reply is to come on this number.
    pub(super) fn awaits(&self, number: u32) -> bool {
        matches!(self.calls.get(&number), Some(Call::Waiting(_) | Call::GivenUp))
    }

    /// A request went out.
    pub(super) fn sent(&mut self, number: u32) {
        self.calls.insert(number, Call::Waiting(None));
        self.in_flight += 1;
    }

    /// The reply to a call that [`Self::awaits`] one. Gives who waits for it.
    pub(super) fn answer(&mut self, number: u32, answer: Answer) -> Option<Waker> {
        self.in_flight -= 1;
        match self.calls.remove(&number) {
            Some(Call::Waiting(waker)) => {
                self.calls.insert(number, Call::Answered(answer));
                waker
            }
            _ => None,
        }
    }

    /// Takes the answer to a call, or remembers who waits for it.
    pub(super) fn poll(&mut self, number: u32, cx: &mut Context<'_>) -> Poll<Answer> {
        match self.calls.get_mut(&number) {
            Some(Call::Waiting(waker)) => {
                self.discarded.extend(replace(waker, cx));
                Poll::Pending
            }
            Some(Call::Answered(_)) => match self.calls.remove(&number) {
                Some(Call::Answered(answer)) => Poll::Ready(answer),
                _ => unreachable!("it was there"),
            },
            Some(Call::GivenUp) | None => unreachable!("a call is polled by who waits for it"),
        }
    }

    /// The task of `cx` no longer waits for a call's reply, if that has not come.
    pub(super) fn withdraw(&mut self, number: u32, cx: &Context<'_>) {
        if let Some(Call::Waiting(waker)) = self.calls.get_mut(&number) {
            withdraw(waker, cx);
        }
    }

    /// Nobody waits for a call any more; whether its reply is still to come.
    pub(super) fn give_up(&mut self, number: u32) -> bool {
        match self.calls.get_mut(&number) {
            Some(call @ Call::Waiting(_)) => {
                if let Call::Waiting(waker) = std::mem::replace(call, Call::GivenUp) {
                    self.discarded.extend(waker);
                }
                true
            }
            _ => {
                self.calls.remove(&number);
                false
            }
        }
    }

    /// Remembers who waits to make one more.
    pub(super) fn await_room(&mut self, cx: &Context<'_>) {
        remember(&mut self.room_waiters, cx);
    }

    /// Everybody who waits to make one more.
    pub(super) fn wake_room(&mut self, due: &mut Vec<Waker>) {
        due.append(&mut self.room_waiters);
    }

    /// Everybody who waits.
    pub(super) fn wakers(&mut self) -> impl Iterator<Item = Waker> + '_ {
        self.calls.values_mut().filter_map(|call| match call {
            Call::Waiting(waker) => waker.take(),
            _ => None,
        })
    }
}
