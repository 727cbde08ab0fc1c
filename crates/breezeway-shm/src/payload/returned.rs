//! Owned space that was dropped without being sent: it waits here until the lender takes it back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use crate::payload::lender::Loan;

/// Loans on their way back to the lender.
#[derive(Default)]
pub(crate) struct Returned {
    /// True if there are any, so that the check takes no lock.
    any: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    loans: Vec<Loan>,
    /// Waker for the next loan that comes back.
    waiter: Option<Waker>,
}

impl Returned {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock.
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

    /// Returns true if there are any. If it returns false, the next loan wakes the waker that was
    /// set before by [`Self::wake`].
    pub(crate) fn is_any(&self) -> bool {
        // Relaxed: a reader that takes the loans acquires the lock.
        self.any.load(Ordering::Relaxed)
    }

    /// Wakes `waiter` when the next loan comes back. Returns false if some are there already.
    pub(crate) fn wake(&self, waiter: &Waker) -> bool {
        let mut state = self.lock();
        let none = state.loans.is_empty();
        if none {
            state.waiter = Some(waiter.clone());
        }
        none
    }

    /// Takes all returned loans.
    pub(crate) fn take(&self) -> Vec<Loan> {
        if !self.is_any() {
            return Vec::new();
        }
        let mut state = self.lock();
        self.any.store(false, Ordering::Relaxed);
        std::mem::take(&mut state.loans)
    }
}
