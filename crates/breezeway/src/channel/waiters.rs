//! Tasks and threads that wait for the same thing.

use std::ops::{Deref, DerefMut};
use std::task::{Context, Waker};
use std::time::Duration;

use breezeway_os::clock;

/// Who polls with it looks again by itself, as a leader does. In one place: what
/// [`Waker::noop`] gives may differ from use to use, and would not be known again.
pub(super) static NOBODY: &Waker = Waker::noop();

/// Waiters, at least, and those that have come since, at least, when they are asked whether they
/// still wait.
const MANY: usize = 64;
/// Time between two such questions, at least.
const PATIENCE: Duration = Duration::from_millis(10);

/// Tasks and threads that wait for the same thing. As a list it is taken whole, by whoever wakes
/// them.
///
/// A task that has given up does not say so. Where many wait, all are woken now and then although
/// nothing came: who still waits polls again, and who has not done so by the next time is dropped.
#[derive(Default)]
pub(super) struct Waiters {
    wakers: Vec<Waker>,
    /// How many, the first ones, were asked and have not polled since.
    asked: usize,
    /// How many have polled since they were asked, and how many have come since.
    stayed: usize,
    came: usize,
    /// When they were last asked, in clock ticks.
    when: u64,
}

impl Waiters {
    /// Adds a waiter, unless it waits already: a task may poll any number of times before it is
    /// woken.
    pub(super) fn remember(&mut self, cx: &Context<'_>, due: &mut Vec<Waker>) {
        // Since they were last taken there are fewer.
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

    /// Asks all who still waits, if the last time was long ago.
    #[cold]
    fn ask(&mut self, due: &mut Vec<Waker>) {
        let now = clock::ticks();
        if now.wrapping_sub(self.when) < clock::ticks_in(PATIENCE) {
            return;
        }
        // One that was only slow is woken as well, and comes back. (They are dropped where they
        // are woken, without the lock.)
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

/// Remembers the only one who waits. Gives whom it replaces, to be dropped without the lock: the
/// last copy of a waker may drop a task, and with it what takes the lock.
#[must_use]
pub(super) fn replace(waiter: &mut Option<Waker>, cx: &Context<'_>) -> Option<Waker> {
    match waiter {
        Some(waker) if waker.will_wake(cx.waker()) => None,
        waiter => waiter.replace(cx.waker().clone()),
    }
}

/// Takes back that the task of `cx` waits: it is about to look for itself. (It runs, so this drops
/// no task.)
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
