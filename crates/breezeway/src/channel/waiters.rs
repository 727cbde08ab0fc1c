//! Tasks and threads that wait for the same thing.

use std::task::{Context, Waker};

/// Who polls with it looks again by itself, as a leader does. In one place: what
/// [`Waker::noop`] gives may differ from use to use, and would not be known again.
pub(super) static NOBODY: &Waker = Waker::noop();

/// Adds a waiter, unless it waits already: a task may poll any number of times before it is woken.
pub(super) fn remember(waiters: &mut Vec<Waker>, cx: &Context<'_>) {
    if !waiters.iter().any(|waiter| waiter.will_wake(cx.waker())) {
        waiters.push(cx.waker().clone());
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
        let mut waiters = Vec::new();
        for _ in 0..100 {
            for task in &tasks {
                remember(&mut waiters, &Context::from_waker(task));
            }
        }
        assert_eq!(waiters.len(), 3);
    }
}
