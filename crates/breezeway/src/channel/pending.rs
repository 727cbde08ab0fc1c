//! A call whose reply is to come.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::Handle;
use crate::error::CallError;
use crate::message::Message;

/// A call whose reply is to come: a future of it. Dropped before, it cancels the call, as the
/// server's handler may learn.
pub struct PendingCall {
    handle: Arc<Handle>,
    /// `None` once the reply was taken.
    number: Option<u32>,
}

impl PendingCall {
    pub(super) fn new(handle: Arc<Handle>, number: u32) -> Self {
        Self { handle, number: Some(number) }
    }
}

impl Future for PendingCall {
    type Output = Result<Message, CallError>;

    /// Panics if it is polled after it was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let number = self.number.expect("a call has one reply");
        let answer = self.handle.shared.with(|state| state.poll_answer(cx, number));
        if answer.is_ready() {
            self.number = None;
        }
        answer
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.handle.shared.with(|state| state.cancel_call(number));
        }
    }
}
