//! Running handlers.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Runs a handler. Returns an error without content if it panics.
pub(crate) async fn caught<T>(running: impl Future<Output = T>) -> Result<T, ()> {
    let mut running = pin!(running);
    poll_fn(|cx| {
        // After a panic the future is only dropped.
        match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Ok),
            Err(_) => Poll::Ready(Err(())),
        }
    })
    .await
}
