//! Handlers that run: each is polled once where it was asked for, and becomes a task only if it
//! waits for something.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::{JoinError, JoinSet};

/// A place for one handler's future, used again by the next if this one does not wait.
pub(crate) struct Slot<F>(Pin<Box<Option<F>>>);

impl<F: Future<Output = ()> + Send + 'static> Slot<F> {
    pub(crate) fn new() -> Self {
        Self(Box::pin(None))
    }

    /// Asks for a handler's future and polls it once. One that is not done then becomes a task,
    /// which keeps what `hold` gives to its end.
    pub(crate) fn start<H: Send + 'static>(
        &mut self,
        cx: &mut Context<'_>,
        handler: impl FnOnce() -> F,
        waiting: &mut JoinSet<()>,
        hold: impl FnOnce() -> H,
    ) {
        // What panicked is dropped and nothing else of it is seen; its call fails.
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

/// Takes note of handlers that have ended.
pub(crate) fn reap(waiting: &mut JoinSet<()>) {
    while let Some(ended) = waiting.try_join_next() {
        note(&ended);
    }
}

/// Takes note of a handler that has ended.
pub(crate) fn note(ended: &Result<(), JoinError>) {
    if ended.is_err() {
        tracing::warn!("a handler panicked");
    }
}
