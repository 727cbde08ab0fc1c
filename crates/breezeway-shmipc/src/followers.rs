//! Threads that wait while another thread receives for all, and the choice of the next to receive.
//!
//! The rule that loses none: each thread that has held the receiver, however briefly, and each
//! thread that has followed, wakes the next leader ([`Followers::promote`]) when it leaves.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::task::Waker;

use crate::sync::{Mutex, MutexGuard, Step, removed};

/// The followers, in the order in which they came.
#[derive(Default)]
pub(crate) struct Followers(Mutex<VecDeque<Waker>>);

impl Followers {
    /// Sleeps, by `park`, as a follower, unless the leader is gone.
    pub(crate) fn follow<T>(
        &self,
        waker: &Waker,
        is_led: impl FnOnce() -> bool,
        park: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        self.lock().push_back(waker.clone());
        // A leader that leaves unlocks the receiver and then takes this lock; this thread has taken
        // this lock, and now tries the receiver's. One of the two sees the other.
        let outcome = if removed(Step::TryAfterJoining) || is_led() { park() } else { None };
        self.lock().retain(|follower| !follower.will_wake(waker));
        outcome
    }

    /// Wakes the next leader, if there is a follower. Due after every hold of the receiver, however
    /// short: a thread that found it held has gone to sleep.
    pub(crate) fn promote(&self) {
        if removed(Step::NameTheNext) {
            return;
        }
        let next = self.lock().pop_front();
        if let Some(next) = next {
            next.wake();
        }
    }

    /// Wakes all followers: there is nothing more to wait for.
    pub(crate) fn wake_all(&self) {
        let all = std::mem::take(&mut *self.lock());
        all.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Waker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
