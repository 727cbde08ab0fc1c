//! The streams that a client opens or accepts.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use breezeway_os::Deadline;
use breezeway_proto::connection::StreamKey;
use breezeway_proto::time_left;

use super::Session;
use super::outgoing::Outgoing;
use super::receiving::Arrival;
use super::state::State;
use super::stream::Stream;
use crate::error::{CallError, StreamError};
use crate::time::to_deadline;

/// Methods for streams.
impl Session {
    /// Opens a stream. Waits for room for at most the call timeout.
    pub fn open(&self, method: u32) -> Result<Stream, StreamError> {
        self.open_within(method, &[], None)
    }

    /// Opens a stream; the peer's handler receives the time that is left until `deadline`. The
    /// stream is not reset when it has passed.
    pub(crate) fn open_within(
        &self,
        method: u32,
        metadata: &[u8],
        deadline: Option<Deadline>,
    ) -> Result<Stream, StreamError> {
        let shared = &self.handle.shared;
        let mut outgoing = Outgoing::new(None, Some(metadata));
        let wait = deadline.unwrap_or_else(|| self.deadline());
        let deadline = deadline.unwrap_or(Deadline::NEVER);
        let time = time_left::encode(deadline.time_left());
        let outcome =
            shared.wait(wait, |state, cx| state.poll_open(cx, method, &mut outgoing, false, time));
        let key = outcome.map_err(|_| StreamError::DeadlinePassed(None))??;
        Ok(Stream::new(shared, key, Some(Arc::clone(&self.handle)), deadline))
    }

    /// Opens a stream if there is room for it now. Otherwise wakes `cx`
    /// when there may be.
    pub fn poll_open(
        &self,
        cx: &mut Context<'_>,
        method: u32,
        metadata: Option<&[u8]>,
        time: Option<Duration>,
    ) -> Poll<Result<Stream, StreamError>> {
        let mut outgoing = Outgoing::new(None, metadata);
        self.poll_opened(time, |state, coded| {
            state.poll_open(cx, method, &mut outgoing, false, coded)
        })
    }

    /// Opens a stream like [`Self::poll_open`], with an optional first message, which may be this
    /// side's last: a stream with one request then takes one entry. Also waits while as many
    /// streams are open as the peer allows.
    pub fn poll_open_with(
        &self,
        cx: &mut Context<'_>,
        method: u32,
        metadata: Option<&[u8]>,
        message: Option<&[u8]>,
        last: bool,
        time: Option<Duration>,
    ) -> Poll<Result<Stream, StreamError>> {
        let mut outgoing = Outgoing::new(message, metadata);
        self.poll_opened(time, |state, coded| {
            match state.poll_open(cx, method, &mut outgoing, last, coded) {
                Poll::Ready(Err(StreamError::TooMany(most))) if most > 0 => {
                    state.await_open(cx);
                    Poll::Pending
                }
                outcome => outcome,
            }
        })
    }

    fn poll_opened(
        &self,
        time: Option<Duration>,
        open: impl FnOnce(&mut State, u16) -> Poll<Result<StreamKey, StreamError>>,
    ) -> Poll<Result<Stream, StreamError>> {
        let shared = &self.handle.shared;
        let key = shared.with(|state| open(state, time_left::encode(time)));
        key.map_ok(|key| {
            Stream::new(shared, key, Some(Arc::clone(&self.handle)), Deadline::from(time))
        })
    }

    /// Waits for a stream that the server opens, and returns its method and the stream.
    pub fn accept(&self) -> Result<(u32, Stream), CallError> {
        self.accept_by(Deadline::NEVER)
    }

    /// Waits for a stream like [`Self::accept`], but fails with [`CallError::DeadlinePassed`] at
    /// `deadline`.
    pub fn accept_until(&self, deadline: Instant) -> Result<(u32, Stream), CallError> {
        self.accept_by(Deadline::at(deadline))
    }

    /// Waits for a stream like [`Self::accept_until`], but fails once nothing new may begin on the
    /// session and the streams that came before are taken.
    pub(crate) fn accept_while_open(&self, deadline: Deadline) -> Result<(u32, Stream), CallError> {
        let arrival = self.handle.shared.wait(deadline, State::poll_arrival_while_open);
        self.accepted(arrival.unwrap_or(Err(CallError::DeadlinePassed))?)
    }

    fn accept_by(&self, deadline: Deadline) -> Result<(u32, Stream), CallError> {
        let arrival = self.handle.shared.wait(deadline, |state, cx| state.poll_arrival(cx));
        self.accepted(arrival.unwrap_or(Err(CallError::DeadlinePassed))?)
    }

    /// Returns a stream like [`Self::accept`] if there is one. Otherwise wakes `cx` when there may
    /// be.
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Result<(u32, Stream), CallError>> {
        let arrival = self.handle.shared.with(|state| state.poll_arrival(cx));
        arrival.map(|arrival| self.accepted(arrival?))
    }

    /// Returns a stream like [`Self::poll_accept`], but fails once nothing new may begin on the
    /// session and the streams that came before are taken.
    pub fn poll_accept_while_open(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(u32, Stream), CallError>> {
        let arrival = self.handle.shared.with(|state| state.poll_arrival_while_open(cx));
        arrival.map(|arrival| self.accepted(arrival?))
    }

    fn accepted(&self, arrival: Arrival) -> Result<(u32, Stream), CallError> {
        match arrival {
            Arrival::Stream { key, method, deadline } => {
                let handle = Some(Arc::clone(&self.handle));
                let stream = Stream::new(&self.handle.shared, key, handle, to_deadline(deadline));
                Ok((method, stream))
            }
            Arrival::Call(..) => unreachable!("a client takes no calls"),
        }
    }
}
