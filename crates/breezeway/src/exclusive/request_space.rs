//! Space for a request, which its caller fills in place.

use breezeway_proto::in_flight::CallId;
use breezeway_shm::ForeignBytes;

use super::{ExclusiveSession, Reply};
use crate::carrier::Body;
use crate::error::CallError;

/// Space for a request, in shared memory if it is larger than 104 bytes. The peer can read it at
/// any time. Dropping it unsent gives it back.
pub struct RequestSpace<'s> {
    pub(super) session: &'s mut ExclusiveSession,
}

impl<'s> RequestSpace<'s> {
    /// Returns its bytes. They hold earlier data of this session, or zeros; over a socket also
    /// received data.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.session.link.fill().into_bytes()
    }

    /// Copies `bytes` to `offset`. For messages of 64 KiB and more this is faster than writing
    /// through [`Self::bytes_mut`] if the two CPUs are distant, as it bypasses the caches. Panics
    /// if they reach outside.
    #[inline]
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.session.link.fill().write(offset, ForeignBytes::stable(bytes));
    }

    /// Keeps the first `len` bytes, if there are more, and gives the rest back: for a message that
    /// turns out shorter than the reserved space.
    pub fn truncate(&mut self, len: usize) {
        self.session.link.truncate(len);
    }

    /// Calls `method` with these bytes and waits for the reply.
    #[inline]
    pub fn call(self, method: u32) -> Result<Reply<'s>, CallError> {
        self.session.span(method).of(move || {
            self.session.may_call()?;
            let deadline = self.session.deadline();
            self.session.request(method, Body::Space, deadline)?;
            self.session.await_reply(deadline)
        })
    }

    /// Sends these bytes as a request; [`ExclusiveSession::receive`] takes the reply later.
    #[inline]
    pub fn send(self, method: u32) -> Result<CallId, CallError> {
        let deadline = self.session.deadline();
        self.session.request(method, Body::Space, deadline)
    }

    /// Sends these bytes as a one-way message.
    #[inline]
    pub fn post(self, method: u32) -> Result<(), CallError> {
        let deadline = self.session.deadline();
        self.session.message(method, Body::Space, deadline)
    }
}
