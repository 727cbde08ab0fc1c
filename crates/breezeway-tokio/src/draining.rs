//! What a client asks for, of a session that may drain meanwhile.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use breezeway::{Incoming, ServerChannel, SessionError};
use tokio::time::{Sleep, sleep};

/// Wakes whoever accepts when the time to drain is over.
#[derive(Default)]
pub(crate) struct DrainTimer(Option<Pin<Box<Sleep>>>);

impl DrainTimer {
    /// What the client asks for next; `None` once the session is over or has drained.
    pub(crate) fn poll_accept(
        &mut self,
        channel: &ServerChannel,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Incoming>, SessionError>> {
        loop {
            if let Poll::Ready(accepted) = channel.poll_accept(cx) {
                return Poll::Ready(accepted);
            }
            let Some(left) = channel.drain_time_left() else { return Poll::Pending };
            ready!(self.poll_sleep(left, cx));
        }
    }

    /// Ready once a session that drains has nothing more to give than its end.
    pub(crate) fn poll_over(&mut self, channel: &ServerChannel, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(left) = channel.drain_time_left() {
            if left.is_zero() {
                break;
            }
            ready!(self.poll_sleep(left, cx));
        }
        Poll::Ready(())
    }

    fn poll_sleep(&mut self, left: Duration, cx: &mut Context<'_>) -> Poll<()> {
        self.0.insert(Box::pin(sleep(left))).as_mut().poll(cx)
    }
}
