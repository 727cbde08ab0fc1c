//! Who waits while another thread receives for all, and who of them is the next to.
//!
//! The rule that loses nobody: whoever has had the receiver, however shortly, and whoever has
//! followed, names the next one ([`Followers::promote`]) when it goes.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::task::Waker;

use crate::sync::{Mutex, MutexGuard, Step, removed};

/// Those who follow, in the order in which they came.
#[derive(Default)]
pub(crate) struct Followers(Mutex<VecDeque<Waker>>);

impl Followers {
    /// Sleeps, by `park`, among those who follow, unless nobody leads any more.
    pub(crate) fn follow<T>(
        &self,
        waker: &Waker,
        is_led: impl FnOnce() -> bool,
        park: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        self.lock().push_back(waker.clone());
        // A leader that leaves unlocks the receiver and then has this lock; we have had it, and now
        // try the receiver's. One of us sees the other.
        let outcome = if removed(Step::TryAfterJoining) || is_led() { park() } else { None };
        self.lock().retain(|follower| !follower.will_wake(waker));
        outcome
    }

    /// Wakes the next leader, if somebody follows. Due after every hold of the receiver, however
    /// short: who found it held has gone to sleep.
    pub(crate) fn promote(&self) {
        if removed(Step::NameTheNext) {
            return;
        }
        let next = self.lock().pop_front();
        if let Some(next) = next {
            next.wake();
        }
    }

    /// Wakes all of them: there is nothing more to wait for.
    pub(crate) fn wake_all(&self) {
        let all = std::mem::take(&mut *self.lock());
        all.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Waker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
