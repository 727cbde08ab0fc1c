//! Space that was reserved to be filled elsewhere and was dropped there instead of being sent: it
//! waits here until the lender has a use for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use crate::payload::lender::Loan;

/// Loans on their way back to the lender.
#[derive(Default)]
pub(crate) struct Returned {
    /// Whether there are any, so that who has none takes no lock.
    any: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    loans: Vec<Loan>,
    /// Whom the next one wakes.
    waiter: Option<Waker>,
}

impl Returned {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nobody panics with the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a loan back, on any thread.
    pub(crate) fn push(&self, loan: Loan) {
        let mut state = self.lock();
        state.loans.push(loan);
        self.any.store(true, Ordering::Relaxed);
        let waiter = state.waiter.take();
        drop(state);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    /// Whether there are any. A waiter who is told that there are none is woken by the next, if it
    /// has said so before by [`Self::wake`].
    pub(crate) fn is_any(&self) -> bool {
        // Relaxed: whoever wants to see them takes the lock.
        self.any.load(Ordering::Relaxed)
    }

    /// Wakes `waiter` when the next loan comes back; false if some are there already.
    pub(crate) fn wake(&self, waiter: &Waker) -> bool {
        let mut state = self.lock();
        let none = state.loans.is_empty();
        if none {
            state.waiter = Some(waiter.clone());
        }
        none
    }

    /// Takes what has come back.
    pub(crate) fn take(&self) -> Vec<Loan> {
        if !self.is_any() {
            return Vec::new();
        }
        let mut state = self.lock();
        self.any.store(false, Ordering::Relaxed);
        std::mem::take(&mut state.loans)
    }
}
