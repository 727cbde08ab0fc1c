//! A session for tasks.

use std::task::Poll;

use super::{Stream, driver};
use crate::error::{SessionEnd, StreamError};

/// One connection between two processes, as [`crate::Session`], for tasks.
#[derive(Clone)]
pub struct Session {
    session: crate::Session,
}

impl Session {
    /// In the current runtime.
    pub fn new(session: crate::Session) -> Result<Self, StreamError> {
        driver::ensure(&session.core).map_err(SessionEnd::from)?;
        Ok(Self { session })
    }

    /// Of a session that has a driver.
    pub(super) fn driven(session: crate::Session) -> Self {
        Self { session }
    }

    /// Opens a stream; only for the client's side.
    pub fn open(&self) -> Result<Stream, StreamError> {
        Stream::new(self.session.open()?)
    }

    /// Waits for the next stream that the peer opens.
    pub async fn accept(&self) -> Result<Stream, StreamError> {
        let accepted = std::future::poll_fn(|context| {
            self.session.core.receive_if_due();
            self.session.poll_accept(Some(context.waker())).map_or(Poll::Pending, Poll::Ready)
        });
        Stream::new(accepted.await?)
    }

    /// The session itself, for what does not wait.
    pub fn get(&self) -> &crate::Session {
        &self.session
    }
}
