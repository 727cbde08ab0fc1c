//! Tasks of a connection's calls, each of which ends at its deadline.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, ready};

use hyper::rt::Executor;
use tonic::Status;

use crate::timeout::Timeout;

tokio::task_local! {
    /// Timeout of the call that this task runs.
    static TIMEOUT: RefCell<Timeout>;
}

/// Sets the timeout of this task's call.
pub(crate) fn set_timeout(timeout: Timeout) {
    TIMEOUT.with(|own| *own.borrow_mut() = timeout);
}

/// Returns ready with the status, once this task's call has timed out.
pub(crate) fn poll_timeout(cx: &mut Context<'_>) -> Poll<Status> {
    TIMEOUT.with(|timeout| timeout.borrow_mut().poll(cx))
}

/// Runs the calls of a connection.
///
/// hyper does not poll the body of a response while its client leaves no room, so such a body
/// cannot end at the deadline. Here the call is dropped then, which resets its stream.
#[derive(Clone, Copy)]
pub(crate) struct Calls;

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Calls {
    fn execute(&self, call: F) {
        tokio::spawn(TIMEOUT.scope(RefCell::new(Timeout::NEVER), until_deadline(call)));
    }
}

async fn until_deadline(call: impl Future<Output = ()>) {
    let mut call = pin!(call);
    poll_fn(|cx| {
        if call.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        ready!(poll_timeout(cx));
        // The deadline may have passed since the call was polled, which sends its status then.
        let _ = call.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
}
