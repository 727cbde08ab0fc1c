//! The tasks of a connection's calls, each of which ends at its deadline.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, ready};

use hyper::rt::Executor;
use tonic::Status;

use crate::timeout::Timeout;

tokio::task_local! {
    /// The time of the call whose task this is.
    static TIMEOUT: RefCell<Timeout>;
}

/// Sets the time of this task's call.
pub(crate) fn set_timeout(timeout: Timeout) {
    TIMEOUT.with(|own| *own.borrow_mut() = timeout);
}

/// Ready, with the status of it, once the time of this task's call is over.
pub(crate) fn poll_timeout(cx: &mut Context<'_>) -> Poll<Status> {
    TIMEOUT.with(|timeout| timeout.borrow_mut().poll(cx))
}

/// Runs the calls of a connection.
///
/// hyper asks the body of a response for nothing while its client leaves no room, so such a body
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
        // It may have become over since the call was polled, which sends its status then.
        let _ = call.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
}
