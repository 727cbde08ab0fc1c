//! Requests of a session with a deadline or metadata.

use breezeway_os::Deadline;

use super::Session;
use super::outgoing::Outgoing;
use super::owned_space::{OwnedSpace, Wanted};
use super::stream::Stream;
use crate::error::{CallError, StreamError};
use crate::message::Message;
use crate::request::Request;

/// Requests of a session.
impl Request<'_, Session> {
    /// Calls the method with a copy of `request` and waits for the reply.
    pub fn send(self, request: &[u8]) -> Result<Message, CallError> {
        self.to.call_within(self.method, self.outgoing(request), self.time())
    }

    /// Sends a one-way message like [`Session::post`].
    pub fn post(self, message: &[u8]) -> Result<(), CallError> {
        self.to.post_within(self.method, self.outgoing(message), self.time())
    }

    /// Opens a stream like [`Session::open`]. The deadline is that of the opening; the stream is
    /// not reset when it has passed.
    pub fn open(self) -> Result<Stream, StreamError> {
        self.to.open_within(self.method, self.metadata, self.deadline)
    }

    /// Reserves space like [`Session::reserve`], with the metadata, which is sent in front of the
    /// message. After a deadline of the request, the error names the shortage.
    pub fn reserve(self, len: usize) -> Result<OwnedSpace, CallError> {
        let (shared, deadline) = (&self.to.handle.shared, self.time());
        shared.hold_back(len, deadline);
        let wanted = Wanted::of_session(self.metadata, len);
        if self.deadline.is_some() {
            shared.reserve_or_say(wanted, deadline)
        } else {
            shared.reserve(wanted, deadline)
        }
    }

    /// Calls the method with the contents of `space`, and waits for the reply. Metadata is that of
    /// the [reservation](Self::reserve), in place of this request's.
    pub fn send_space(self, mut space: OwnedSpace) -> Result<Message, CallError> {
        let outgoing = space.outgoing_by(&self.to.handle.shared)?;
        self.to.call_within(self.method, outgoing, self.time())
    }

    /// Sends the contents of `space` as a one-way message, like [`Session::post`]. Metadata is that
    /// of the [reservation](Self::reserve), in place of this request's.
    pub fn post_space(self, mut space: OwnedSpace) -> Result<(), CallError> {
        let outgoing = space.outgoing_by(&self.to.handle.shared)?;
        self.to.post_within(self.method, outgoing, self.time())
    }

    fn outgoing<'b>(&'b self, message: &'b [u8]) -> Outgoing<'b> {
        Outgoing::new(Some(message), Some(self.metadata))
    }

    fn time(&self) -> Deadline {
        self.deadline.unwrap_or_else(|| self.to.deadline())
    }
}
