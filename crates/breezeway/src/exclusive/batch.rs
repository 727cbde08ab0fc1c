//! Messages that wake the server once.

use breezeway_proto::in_flight::CallId;

use super::ExclusiveSession;
use crate::carrier::Body;
use crate::error::CallError;

/// Messages that wake the server once, at the end: when the batch is flushed or dropped. A server
/// that spins sees each message at once.
pub struct Batch<'s> {
    pub(super) session: &'s mut ExclusiveSession,
    pub(super) flushed: bool,
}

impl Batch<'_> {
    /// Sends a request like [`ExclusiveSession::send`].
    #[inline(always)]
    pub fn send(&mut self, method: u32, request: &[u8]) -> Result<CallId, CallError> {
        self.session.may_begin()?;
        let deadline = self.session.deadline();
        self.session.request_unflushed(method, Body::Bytes(request), deadline)
    }

    /// Sends a one-way message like [`ExclusiveSession::post`].
    #[inline(always)]
    pub fn post(&mut self, method: u32, message: &[u8]) -> Result<(), CallError> {
        self.session.may_begin()?;
        let deadline = self.session.deadline();
        self.session.message_unflushed(method, Body::Bytes(message), deadline)
    }

    /// Ends the batch and wakes the server.
    pub fn flush(mut self) -> Result<(), CallError> {
        self.flushed = true;
        self.session.flush(self.session.deadline())
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.session.link.set_batching(false);
        if !self.flushed {
            // An error has ended the session, and its next use returns it; a deadline that passed
            // has given up the calls in flight.
            let _ = self.session.flush(self.session.deadline());
        }
    }
}
