//! A call with a pending reply.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::handle::Handle;
use crate::error::CallError;
use crate::message::Message;

/// A call with a pending reply, and the future of that reply. If it is dropped before the reply, it
/// cancels the call, which the server's handler can observe.
pub struct PendingCall {
    handle: Arc<Handle>,
    /// Number of the call; `None` once the reply was taken.
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
