//! Handlers in progress: each is polled once by the session's task, and becomes a task only if it
//! waits for something.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::{JoinError, JoinSet};

/// Place for one handler's future, which the next handler reuses if this one does not wait.
pub(crate) struct Slot<F>(Pin<Box<Option<F>>>);

impl<F: Future<Output = ()> + Send + 'static> Slot<F> {
    pub(crate) fn new() -> Self {
        Self(Box::pin(None))
    }

    /// Creates a handler's future and polls it once. If it is not done, it becomes a task, which
    /// keeps the result of `hold` to its end.
    pub(crate) fn start<H: Send + 'static>(
        &mut self,
        cx: &mut Context<'_>,
        handler: impl FnOnce() -> F,
        waiting: &mut JoinSet<()>,
        hold: impl FnOnce() -> H,
    ) {
        // A future that panicked is dropped and not used again; its call fails.
        let polled = catch_unwind(AssertUnwindSafe(|| {
            self.0.set(Some(handler()));
            poll(&mut self.0, cx)
        }));
        match polled {
            Ok(Poll::Ready(())) => self.0.set(None),
            Ok(Poll::Pending) => {
                let mut place = std::mem::replace(&mut self.0, Box::pin(None));
                let held = hold();
                waiting.spawn(async move {
                    poll_fn(|cx| poll(&mut place, cx)).await;
                    drop(held);
                });
            }
            Err(_) => {
                tracing::warn!("a handler panicked");
                self.0.set(None);
            }
        }
    }
}

fn poll<F: Future<Output = ()>>(place: &mut Pin<Box<Option<F>>>, cx: &mut Context<'_>) -> Poll<()> {
    place.as_mut().as_pin_mut().expect("a handler is in its place").poll(cx)
}

/// Removes handlers that have ended, and logs panics.
pub(crate) fn reap(waiting: &mut JoinSet<()>) {
    while let Some(ended) = waiting.try_join_next() {
        note(&ended);
    }
}

/// Logs a panic of a handler that has ended.
pub(crate) fn note(ended: &Result<(), JoinError>) {
    if ended.is_err() {
        tracing::warn!("a handler panicked");
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// Waits for ever, or returns at once.
    async fn handle(waits: bool) {
        if waits {
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn the_place_is_used_again_until_a_handler_waits_in_it() {
        let mut cx = Context::from_waker(Waker::noop());
        let (mut slot, mut waiting) = (Slot::new(), JoinSet::new());
        let place = |slot: &Slot<_>| std::ptr::from_ref(&*slot.0).addr();
        let first = place(&slot);
        for _ in 0..100 {
            slot.start(&mut cx, || handle(false), &mut waiting, || panic!("it does not wait"));
            assert_eq!((place(&slot), waiting.len()), (first, 0));
            assert!(slot.0.is_none(), "what is done is dropped");
        }
        slot.start(&mut cx, || handle(true), &mut waiting, || ());
        // The task owns the other place, at an unchanged address.
        assert!(place(&slot) != first && waiting.len() == 1);
        let second = place(&slot);
        slot.start(&mut cx, || handle(false), &mut waiting, || panic!("it does not wait"));
        assert_eq!((place(&slot), waiting.len()), (second, 1));
    }
}
