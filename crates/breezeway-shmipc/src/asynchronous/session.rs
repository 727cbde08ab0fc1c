//! A session for tasks.

use std::task::Poll;

use super::{Stream, driver};
use crate::error::{SessionEnd, StreamError};
use crate::session;

/// One connection between two processes, the awaited form of [`crate::Session`].
#[derive(Clone)]
pub struct Session {
    session: session::Session,
}

impl Session {
    /// Wraps a session, with a driver in the current runtime.
    pub fn new(session: session::Session) -> Result<Self, StreamError> {
        driver::ensure(&session.core).map_err(SessionEnd::from)?;
        Ok(Self { session })
    }

    /// Wraps a session that has a driver.
    pub(super) fn driven(session: session::Session) -> Self {
        Self { session }
    }

    /// Opens a stream; only on the client's side.
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

    /// Returns the blocking session, for methods that do not wait.
    pub fn get(&self) -> &session::Session {
        &self.session
    }
}
