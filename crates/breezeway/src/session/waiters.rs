//! Tasks and threads that wait for the same thing.

use std::ops::{Deref, DerefMut};
use std::task::{Context, Waker};
use std::time::Duration;

use breezeway_os::clock;

/// Waker of callers that poll again by themselves, like a leader. It is a single static: the
/// results of [`Waker::noop`] may differ from use to use, and then would not be recognised.
pub(super) static NOBODY: &Waker = Waker::noop();

/// Minimum number of waiters, and of waiters that have come since the last question, before all are
/// asked whether they still wait.
const MANY: usize = 64;
/// Minimum time between two such questions.
const PATIENCE: Duration = Duration::from_millis(10);

/// Tasks and threads that wait for the same thing. The list is taken whole to wake them.
///
/// A task that has given up does not report it. If many wait, all are woken now and then although
/// nothing came: a task that still waits polls again, and one that has not polled again by the next
/// time is dropped.
#[derive(Default)]
pub(super) struct Waiters {
    wakers: Vec<Waker>,
    /// Number of wakers, at the front, that were asked and have not polled since.
    asked: usize,
    /// Number of waiters that have polled since they were asked, and of those that have come since.
    stayed: usize,
    came: usize,
    /// Time of the last question, in clock ticks.
    when: u64,
}

impl Waiters {
    /// Adds a waiter, unless it waits already: a task may poll any number of times before it is
    /// woken.
    pub(super) fn remember(&mut self, cx: &Context<'_>, due: &mut Vec<Waker>) {
        // There are fewer if the list was taken since.
        self.asked = self.asked.min(self.wakers.len());
        match self.wakers.iter().position(|waiter| waiter.will_wake(cx.waker())) {
            Some(at) if at < self.asked => {
                self.asked -= 1;
                self.wakers.swap(at, self.asked);
                self.stayed += 1;
            }
            Some(_) => {}
            None => {
                self.came += 1;
                if self.wakers.len() >= MANY && self.came >= MANY.max(self.stayed) {
                    self.ask(due);
                }
                self.wakers.push(cx.waker().clone());
            }
        }
    }

    /// Wakes all, to learn which still wait, if the last time was long ago.
    #[cold]
    fn ask(&mut self, due: &mut Vec<Waker>) {
        let now = clock::ticks();
        if now.wrapping_sub(self.when) < clock::ticks_in(PATIENCE) {
            return;
        }
        // A task that was only slow is woken as well, and comes back. (Wakers are dropped where
        // they are woken, without the lock.)
        due.extend(self.wakers.drain(..self.asked));
        due.extend(self.wakers.iter().cloned());
        (self.asked, self.stayed, self.came) = (self.wakers.len(), 0, 0);
        self.when = now;
    }
}

impl Deref for Waiters {
    type Target = Vec<Waker>;

    fn deref(&self) -> &Vec<Waker> {
        &self.wakers
    }
}

impl DerefMut for Waiters {
    fn deref_mut(&mut self) -> &mut Vec<Waker> {
        &mut self.wakers
    }
}

/// Remembers the only waiter. Returns the one that it replaces, to be dropped without the lock: the
/// drop of a waker's last copy may drop a task, and with it a value that takes the lock in its
/// drop.
#[must_use]
pub(super) fn replace(waiter: &mut Option<Waker>, cx: &Context<'_>) -> Option<Waker> {
    match waiter {
        Some(waker) if waker.will_wake(cx.waker()) => None,
        waiter => waiter.replace(cx.waker().clone()),
    }
}

/// Removes the waiter if it is the task of `cx`, which is about to poll itself. (It runs, so this
/// drops no task.)
pub(super) fn withdraw(waiter: &mut Option<Waker>, cx: &Context<'_>) {
    if waiter.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
        *waiter = None;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::Wake;

    use super::*;

    struct Task;

    impl Wake for Task {
        fn wake(self: Arc<Self>) {}
    }

    #[test]
    fn a_task_that_polls_again_and_again_waits_once() {
        let tasks: Vec<Waker> = (0..3).map(|_| Waker::from(Arc::new(Task))).collect();
        let (mut waiters, mut due) = (Waiters::default(), Vec::new());
        for _ in 0..100 {
            for task in &tasks {
                waiters.remember(&Context::from_waker(task), &mut due);
            }
        }
        assert_eq!((waiters.len(), due.len()), (3, 0));
    }
}
