//! Calls that this side serves and has not replied to.

use std::task::Waker;

use rustc_hash::FxHashMap;

/// A call that is being served.
#[derive(Default)]
struct Served {
    cancelled: bool,
    waker: Option<Waker>,
}

/// Calls by stream number. One-way messages are none.
#[derive(Default)]
pub(super) struct Serving {
    calls: FxHashMap<u32, Served>,
    /// Who waited and no longer does, to be dropped without the lock.
    pub(super) discarded: Vec<Waker>,
}

impl Serving {
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// A request came; whether its number is free.
    pub(super) fn begin(&mut self, number: u32) -> bool {
        self.calls.insert(number, Served::default()).is_none()
    }

    /// The reply goes out.
    pub(super) fn end(&mut self, number: u32) {
        let call = self.calls.remove(&number);
        self.discarded.extend(call.and_then(|call| call.waker));
    }

    /// The client no longer wants the reply. Gives who wants to know that.
    pub(super) fn cancel(&mut self, number: u32) -> Option<Waker> {
        let call = self.calls.get_mut(&number)?;
        call.cancelled = true;
        call.waker.take()
    }

    /// Whether the client no longer wants the reply; else `waker` will be woken when that is so.
    pub(super) fn is_cancelled(&mut self, number: u32, waker: Option<&Waker>) -> bool {
        let Some(call) = self.calls.get_mut(&number) else { return true };
        if !call.cancelled
            && let Some(waker) = waker
        {
            self.discarded.extend(call.waker.replace(waker.clone()));
        }
        call.cancelled
    }

    /// Everybody who waits.
    pub(super) fn wakers(&mut self) -> impl Iterator<Item = Waker> + '_ {
        self.calls.values_mut().filter_map(|call| call.waker.take())
    }
}
