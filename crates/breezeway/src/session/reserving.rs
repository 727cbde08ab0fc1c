//! Messages that are filled in place: space that calls and streams reserve and send.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use breezeway_os::Deadline;
use breezeway_proto::time_left;
use breezeway_shm::Account;

use super::owned_space::{OwnedSpace, Wanted};
use super::stream::{Inner, SendHalf};
use super::{PendingCall, Session};
use crate::error::{CallError, StreamError};

/// Methods that send calls and one-way messages from space.
impl Session {
    /// Reserves space for a message of `len` bytes, which any of this session's calls and streams
    /// may send. Waits, at most for the call timeout, while the memory is lent or reserved: a
    /// thread that keeps spaces or messages while it asks for more may wait for itself. A large
    /// reservation waits for a moment while more than a quarter of the last cache is in flight.
    pub fn reserve(&self, len: usize) -> Result<OwnedSpace, CallError> {
        let deadline = self.deadline();
        self.handle.shared.hold_back(len, deadline);
        self.handle.shared.reserve(Wanted::of_session(&[], len), deadline)
    }

    /// Reserves space like [`Self::reserve`] if there is memory now. Otherwise the error names the
    /// shortage.
    pub fn try_reserve(&self, len: usize) -> Result<OwnedSpace, CallError> {
        self.handle.shared.try_reserve(Wanted::of_session(&[], len))
    }

    /// Reserves space like [`Self::reserve`], behind a metadata block unless that is empty, if
    /// there is memory now. Otherwise wakes `cx` when there may be.
    pub fn poll_reserve(
        &self,
        cx: &mut Context<'_>,
        metadata: &[u8],
        len: usize,
    ) -> Poll<Result<OwnedSpace, CallError>> {
        self.handle.shared.poll_reserve(cx, Wanted::of_session(metadata, len))
    }

    /// Starts a call like [`Self::poll_start_call`], with the contents of `space`, which is empty
    /// once it was sent.
    ///
    /// # Panics
    ///
    /// Panics if the space was sent before.
    pub fn poll_start_call_space(
        &self,
        cx: &mut Context<'_>,
        method: u32,
        space: &mut OwnedSpace,
        time: Option<Duration>,
    ) -> Poll<Result<PendingCall, CallError>> {
        let time = time_left::encode(time);
        let sent = space.poll_sent(&self.handle.shared, |state, outgoing| {
            state.poll_call(cx, method, outgoing, time)
        });
        sent.map_ok(|number| PendingCall::new(Arc::clone(&self.handle), number))
    }

    /// Sends a one-way message with the contents of `space` if there is room for it now. Otherwise
    /// wakes `cx` when there may be.
    ///
    /// # Panics
    ///
    /// Panics if the space was sent before.
    pub fn poll_post_space(
        &self,
        cx: &mut Context<'_>,
        method: u32,
        space: &mut OwnedSpace,
    ) -> Poll<Result<(), CallError>> {
        space
            .poll_sent(&self.handle.shared, |state, outgoing| state.poll_post(cx, method, outgoing))
    }
}

/// Methods that send a stream's messages from space. Space that the stream reserves counts as held
/// by the stream, so that a part of the memory is there for it whatever others hold. Any space of
/// the session may be sent.
impl SendHalf {
    /// Reserves space for a message of `len` bytes. Waits while the memory is lent or reserved.
    /// (The stream's window is checked when the message is sent.)
    pub fn reserve(&mut self, len: usize) -> Result<OwnedSpace, CallError> {
        self.inner.shared.reserve(self.wanted(&[], len), Deadline::NEVER)
    }

    /// Reserves space like [`Self::reserve`], but fails at `deadline`: then the error names the
    /// shortage, like that of [`Self::try_reserve`].
    pub fn reserve_until(
        &mut self,
        len: usize,
        deadline: Instant,
    ) -> Result<OwnedSpace, CallError> {
        self.inner.shared.reserve_or_say(self.wanted(&[], len), Deadline::at(deadline))
    }

    /// Reserves space like [`Self::reserve`], with a metadata block, which is sent in front of the
    /// message: the first or the last of this direction.
    pub fn reserve_with_metadata(
        &mut self,
        metadata: &[u8],
        len: usize,
    ) -> Result<OwnedSpace, CallError> {
        self.inner.shared.reserve(self.wanted(metadata, len), Deadline::NEVER)
    }

    /// Reserves space like [`Self::reserve`] if there is memory now. Otherwise the error names the
    /// shortage.
    pub fn try_reserve(&mut self, len: usize) -> Result<OwnedSpace, CallError> {
        self.inner.shared.try_reserve(self.wanted(&[], len))
    }

    /// Reserves space like [`Self::reserve`] if there is memory now. Otherwise wakes `cx` when
    /// there may be.
    pub fn poll_reserve(
        &mut self,
        cx: &mut Context<'_>,
        len: usize,
    ) -> Poll<Result<OwnedSpace, CallError>> {
        self.inner.shared.poll_reserve(cx, self.wanted(&[], len))
    }

    /// Reserves space like [`Self::poll_reserve`], with a metadata block like
    /// [`Self::reserve_with_metadata`].
    pub fn poll_reserve_with_metadata(
        &mut self,
        cx: &mut Context<'_>,
        metadata: &[u8],
        len: usize,
    ) -> Poll<Result<OwnedSpace, CallError>> {
        self.inner.shared.poll_reserve(cx, self.wanted(metadata, len))
    }

    /// Sends the contents of `space`. Waits while the peer does not read, or there is no room.
    pub fn send_space(&mut self, space: OwnedSpace) -> Result<(), StreamError> {
        self.space_within(space, false, Deadline::NEVER)
    }

    /// Sends the contents of `space` like [`Self::send_space`], but fails at `deadline`: then
    /// nothing was sent.
    pub fn send_space_until(
        &mut self,
        space: OwnedSpace,
        deadline: Instant,
    ) -> Result<(), StreamError> {
        self.space_within(space, false, Deadline::at(deadline))
    }

    /// Ends this direction like [`Self::finish`], with the contents of `space` as the last message.
    pub fn finish_with_space(&mut self, space: OwnedSpace) -> Result<(), StreamError> {
        self.space_within(space, true, Deadline::NEVER)
    }

    fn space_within(
        &mut self,
        mut space: OwnedSpace,
        last: bool,
        deadline: Deadline,
    ) -> Result<(), StreamError> {
        let outgoing = space.outgoing_by(&self.inner.shared)?;
        self.send_within(outgoing, last, deadline)
    }

    /// Sends the contents of `space`, as the last message or not, if that needs no waiting; then
    /// `space` is empty. Otherwise wakes `cx` when it may be possible.
    ///
    /// # Panics
    ///
    /// Panics if the space was sent before.
    pub fn poll_space(
        &mut self,
        cx: &mut Context<'_>,
        space: &mut OwnedSpace,
        last: bool,
    ) -> Poll<Result<(), StreamError>> {
        let Inner { shared, key, .. } = &*self.inner;
        space.poll_sent(shared, |state, outgoing| state.poll_stream_send(cx, *key, outgoing, last))
    }

    fn wanted<'a>(&self, metadata: &'a [u8], len: usize) -> Wanted<'a> {
        Wanted { account: Account::of_stream(self.inner.key.index()), metadata, len }
    }
}
