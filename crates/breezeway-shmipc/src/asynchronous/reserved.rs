//! Space for one message of a stream, for tasks.

use std::future::poll_fn;
use std::ops::{Deref, DerefMut};
use std::task::Poll;

use super::writer::wait_for_room;
use crate::error::StreamError;
use crate::options::WhenFull;
use crate::writer;

/// Space for a message, with the methods of [`crate::Reserved`] to fill it; a task commits it.
pub struct Reserved<'a>(writer::Reserved<'a>);

impl<'a> Reserved<'a> {
    pub(super) fn new(reserved: writer::Reserved<'a>) -> Self {
        Self(reserved)
    }

    /// Sends the filled bytes. Dropping the future has sent nothing, or everything.
    ///
    /// # Errors
    ///
    /// Those of [`crate::Writer::reserve`].
    pub async fn commit(mut self) -> Result<(), StreamError> {
        poll_fn(|context| {
            let is_sent = self.0.commit_now()?;
            let core = self.0.core();
            if is_sent {
                if core.is_socket_full() {
                    core.driver.attend();
                }
                return Poll::Ready(Ok(()));
            }
            if core.options.when_full == WhenFull::Fail && self.0.is_shared() {
                return Poll::Ready(Err(StreamError::QueueFull));
            }
            wait_for_room(core, context);
            Poll::Pending
        })
        .await
    }
}

impl<'a> Deref for Reserved<'a> {
    type Target = writer::Reserved<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Reserved<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}
