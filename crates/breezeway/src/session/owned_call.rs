//! A call that is replied to by any thread, at any time.
//!
//! A [`ServerSession`](super::ServerSession) accepts such calls, and a handler gives its
//! [`Call`](crate::Call) up for one. A session that one thread serves alone gets its lock with the
//! first of them: see [`Serving::defer`](crate::call::Serving).

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use breezeway_os::{Deadline, Peer};
use breezeway_proto::time_left;
use breezeway_proto::validate::Request;
use breezeway_proto::{ErrorCode, Head};
use breezeway_shm::ForeignBytes;
use breezeway_shm::statistics::HandlerTimes;

use super::outgoing::Outgoing;
use super::owned_space::{OwnedSpace, Wanted};
use super::shared::Shared;
use super::state::State;
use super::stream_opener::StreamOpener;
use crate::call_limit::CallInFlight;
use crate::carrier::Carrier;
use crate::error::{CallError, ReplyError};
use crate::message::Message;
use crate::presence::SessionId;
use crate::reasons::short_reason;

/// A call that owns its request: any thread replies to it, at any time, in any order with other
/// calls. See [`Call::defer`](crate::Call::defer) and [`Incoming`](super::Incoming).
///
/// If it is dropped without a reply, the call fails with a reason that names this. A call counts
/// among the session's calls in flight until it ends. A one-way message counts against its client's
/// window until it is dropped or [taken](Self::into_message). A session that has 1,024 deferred
/// one-way messages, or as many bytes of them as its cap, is not served further until one of them
/// ends.
///
/// `Ok` of a reply means that the session continues, not that the client gets the reply: the client
/// may die before, and a reply that finds no memory fails the call by the name of the limit.
pub struct OwnedCall {
    shared: Arc<Shared>,
    request: Request,
    /// Bytes of the message as it came.
    len: usize,
    message: Message,
    deadline: Deadline,
    /// True once its handler has given it up for a reply later.
    is_deferred: bool,
    replied: bool,
    /// Place of the call among the server's calls in flight, if it was deferred there.
    counted: Option<CallInFlight>,
}

impl OwnedCall {
    pub(super) fn new(
        shared: &Arc<Shared>,
        request: Request,
        message: Message,
        deadline: Deadline,
    ) -> Self {
        let (shared, len) = (Arc::clone(shared), message.len());
        let (is_deferred, replied, counted) = (false, false, None);
        Self { shared, request, len, message, deadline, is_deferred, replied, counted }
    }

    /// Notes that the reply comes later, and so in any order with others. Until then the call
    /// counts in a limit of the server, if there is one, as an offloaded call does before.
    pub(crate) fn deferred(mut self, counted: Option<CallInFlight>) -> Self {
        self.is_deferred = true;
        self.counted = counted.or(self.counted.take());
        self
    }

    /// Returns the method number.
    pub fn method(&self) -> u32 {
        self.request.method
    }

    /// Returns true if the client wants no reply. Replying is allowed, and sends nothing.
    pub fn is_one_way(&self) -> bool {
        self.request.one_way
    }

    /// Returns false in a forked child of the process that was called.
    pub(crate) fn is_here(&self) -> bool {
        self.shared.origin.is_here()
    }

    /// Returns the counters of its session's handlers.
    pub(crate) fn handler_times(&self) -> Option<HandlerTimes> {
        self.shared.handler_times
    }

    /// Returns the size of the largest reply.
    pub(crate) fn cap(&self) -> usize {
        self.shared.cap
    }

    /// Returns the request.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Returns the request's bytes: a private copy up to 104 bytes, else the client's memory, which
    /// the client may still change, and which is lent until the call is replied to.
    pub fn request(&self) -> ForeignBytes<'_> {
        self.message.bytes()
    }

    /// Returns the metadata block that came with the request, like
    /// [`Call::metadata`](crate::Call::metadata).
    pub fn metadata(&self) -> Option<&[u8]> {
        self.message.metadata()
    }

    /// Takes the request where it is lent; it is empty from then on.
    pub(crate) fn lease(&mut self) -> Option<Message> {
        self.message.is_lent().then(|| std::mem::take(&mut self.message))
    }

    /// Returns the request, to be kept: as a one-way message's handler does. A call that wants a
    /// reply fails.
    pub fn into_message(mut self) -> Message {
        std::mem::take(&mut self.message)
    }

    /// Returns the session that the call came by, as [`Call::session`](crate::Call::session) does.
    pub fn session(&self) -> SessionId {
        self.shared.id
    }

    /// Returns a handle that opens streams to the client, like
    /// [`Call::stream_opener`](crate::Call::stream_opener). Its [`open`](StreamOpener::open) blocks
    /// a thread: tasks of `breezeway-tokio` have a `StreamOpener` of their own, `StreamOpener::of`.
    pub fn stream_opener(&self) -> Option<StreamOpener> {
        (self.shared.max_streams > 0).then(|| StreamOpener::new(&self.shared))
    }

    /// Returns the credentials of the process that connected.
    pub fn peer(&self) -> &Peer {
        &self.shared.peer
    }

    /// Returns the carrier of the call and of its reply.
    pub fn carrier(&self) -> Carrier {
        self.shared.carrier
    }

    /// Returns the time for which the client waits for the reply, counted from its sending, or
    /// `None` if it waits for ever.
    pub fn patience(&self) -> Option<Duration> {
        time_left::decode(self.request.time)
    }

    /// Returns the time for which the client still waits for the reply, or `None` if it waits for
    /// ever.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.time_left()
    }

    /// Returns true once the reply is not wanted any more: the client's time has passed, it has
    /// cancelled the call, or the session has ended. The client of a plain session, a
    /// [`ExclusiveSession`](crate::ExclusiveSession) or a [`Pool`](crate::Pool), does not cancel
    /// calls.
    ///
    /// ```
    /// # fn next_step() {}
    /// fn work(call: breezeway::OwnedCall) {
    ///     for _ in 0..1000 {
    ///         if call.is_cancelled() {
    ///             return;
    ///         }
    ///         next_step();
    ///     }
    ///     let _ = call.done();
    /// }
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.deadline.has_passed() || !self.is_here() || self.is_unwanted(None)
    }

    /// Returns ready once the client no longer wants the reply, or is gone. (For a one-way message,
    /// only if the client is gone already.)
    pub fn poll_cancelled(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_unwanted(Some(cx.waker())) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Returns true if the client no longer wants the reply, or is gone; else wakes `waker` then.
    fn is_unwanted(&self, waker: Option<&Waker>) -> bool {
        let Request { stream, one_way, .. } = self.request;
        self.shared.with(|state| state.is_ended() || !one_way && state.is_cancelled(stream, waker))
    }
}

/// Methods that reply. `Ok` means that the reply was sent or waits for room, or that the client of
/// a one-way message wants none. With any error but [`ReplyError::SessionEnded`] and
/// [`ReplyError::Forked`], the client's call has failed.
impl OwnedCall {
    /// Replies with a copy of `bytes`: at once, or as soon as there is room. Never waits. A client
    /// that sleeps is woken as soon as the reply is published.
    pub fn reply(self, bytes: impl AsRef<[u8]>) -> Result<(), ReplyError> {
        self.send(Outgoing::message(bytes.as_ref()))
    }

    /// Replies like [`reply`](Self::reply), with a metadata block beside the reply.
    pub fn reply_with_metadata(self, metadata: &[u8], bytes: &[u8]) -> Result<(), ReplyError> {
        self.send(Outgoing::new(Some(bytes), Some(metadata)))
    }

    /// Replies with the contents of `space`: at once, or as soon as there is room. Never waits.
    /// Space of another session fails the call.
    pub fn reply_space(self, mut space: OwnedSpace) -> Result<(), ReplyError> {
        match space.outgoing_by(&self.shared) {
            Ok(outgoing) => self.send(outgoing),
            Err(error) => {
                self.fail(ErrorCode::Failed, error)?;
                Err(ReplyError::SpaceOfAnotherSession)
            }
        }
    }

    /// Replies with the request's own bytes.
    pub fn echo(mut self) -> Result<(), ReplyError> {
        let head = Head::of_reply(self.request.stream);
        self.finish(|state, message, until| state.reply(head, Outgoing::received(message), until))
    }

    /// Replies with nothing.
    pub fn done(self) -> Result<(), ReplyError> {
        self.reply([])
    }

    /// Fails the call with a code, such as one of the application's own, and a reason, which is cut
    /// behind 1 KiB.
    pub fn fail(mut self, code: ErrorCode, reason: impl fmt::Display) -> Result<(), ReplyError> {
        self.refuse(code, &reason.to_string())
    }

    /// Fails the call: there is no such method.
    pub fn no_such_method(self) -> Result<(), ReplyError> {
        let reason = format!("there is no method {}", self.method());
        self.fail(ErrorCode::NoSuchMethod, reason)
    }

    fn refuse(&mut self, code: ErrorCode, reason: &str) -> Result<(), ReplyError> {
        self.give_back();
        let stream = self.request.stream;
        self.finish(|state, _, until| {
            state.send_failure(stream, code, (reason, reason), until);
            Ok(())
        })
    }

    fn send(mut self, outgoing: Outgoing<'_>) -> Result<(), ReplyError> {
        self.give_back();
        let head = Head::of_reply(self.request.stream);
        self.finish(|state, _, until| state.reply(head, outgoing, until))
    }

    /// Releases a lent request first: the client may need that memory for its next one.
    fn give_back(&mut self) {
        if self.message.is_lent() {
            self.message = Message::default();
        }
    }

    /// Ends the call by `reply`, which may take the request's message, if its client wants one.
    fn finish(
        &mut self,
        reply: impl FnOnce(&mut State, &mut Message, Deadline) -> Result<(), ReplyError>,
    ) -> Result<(), ReplyError> {
        if !self.is_here() {
            return Err(ReplyError::Forked);
        }
        self.replied = true;
        let Self { shared, request, message, deadline, is_deferred, .. } = self;
        if request.one_way {
            return Ok(());
        }
        shared.with(|state| {
            let waiter = state.connection.served.end(request.stream);
            state.discarded.extend(waiter);
            let waiting = state.connection.backlog.len();
            let outcome = reply(state, message, *deadline);
            if !*is_deferred {
                state.connection.backlog.hold_calls(waiting);
            }
            state.flush_reply();
            if state.is_ended() { Err(ReplyError::SessionEnded) } else { outcome }
        })
    }
}

/// Methods that reserve space for replies.
impl OwnedCall {
    /// Reserves space for a reply of `len` bytes. Waits while the memory is lent or reserved, for
    /// as long as the client waits for the reply.
    pub fn reserve(&self, len: usize) -> Result<OwnedSpace, CallError> {
        self.shared.reserve(Wanted::of_session(&[], len), self.deadline)
    }

    /// Reserves space like [`Self::reserve`], with a metadata block, which is sent in front of the
    /// reply.
    pub fn reserve_with_metadata(
        &self,
        metadata: &[u8],
        len: usize,
    ) -> Result<OwnedSpace, CallError> {
        self.shared.reserve(Wanted::of_session(metadata, len), self.deadline)
    }

    /// Reserves space like [`Self::reserve`] if there is memory now. Otherwise the error names the
    /// shortage.
    pub fn try_reserve(&self, len: usize) -> Result<OwnedSpace, CallError> {
        self.shared.try_reserve(Wanted::of_session(&[], len))
    }

    /// Reserves space like [`Self::reserve`] if there is memory now. Otherwise wakes `cx` when
    /// there may be.
    pub fn poll_reserve(
        &self,
        cx: &mut Context<'_>,
        len: usize,
    ) -> Poll<Result<OwnedSpace, CallError>> {
        self.shared.poll_reserve(cx, Wanted::of_session(&[], len))
    }

    /// Reserves space like [`Self::poll_reserve`], with a metadata block, which is sent in front of
    /// the reply.
    pub fn poll_reserve_with_metadata(
        &self,
        cx: &mut Context<'_>,
        metadata: &[u8],
        len: usize,
    ) -> Poll<Result<OwnedSpace, CallError>> {
        self.shared.poll_reserve(cx, Wanted::of_session(metadata, len))
    }
}

impl Drop for OwnedCall {
    fn drop(&mut self) {
        if !self.is_here() {
            // The lock may have been held when this process was forked.
            return;
        }
        if self.request.one_way {
            self.give_back();
            self.shared.with(|state| state.one_way_ended(self.len));
        } else if !self.replied {
            let reason = "the server dropped the call without a reply";
            // A session that has ended wants no reply.
            let _ = self.refuse(ErrorCode::Failed, reason);
        }
    }
}

impl fmt::Debug for OwnedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedCall")
            .field("session", &self.session())
            .field("method", &self.method())
            .field("len", &self.request().len())
            .finish_non_exhaustive()
    }
}

impl State {
    /// Sends a reply, or fails the call whose reply cannot be sent and returns the error.
    fn reply(
        &mut self,
        head: Head,
        outgoing: Outgoing<'_>,
        until: Deadline,
    ) -> Result<(), ReplyError> {
        let sent = self
            .check_metadata(outgoing.metadata)
            .and_then(|()| self.send_or_keep(head, outgoing, until));
        let Err(error) = sent else { return Ok(()) };
        if !error.session_goes_on() {
            return Err(ReplyError::SessionEnded);
        }
        let reason = error.to_string();
        let (code, short) = match &error {
            CallError::NoMemory { .. } => (ErrorCode::NoMemory, short_reason(None)),
            CallError::Segment(error) => (ErrorCode::NoMemory, short_reason(Some(&error.0))),
            CallError::TooLarge { .. } => (ErrorCode::NoMemory, &*reason),
            _ => (ErrorCode::Failed, &*reason),
        };
        self.send_failure(head.stream, code, (&reason, short), Deadline::NEVER);
        Err(match error {
            CallError::TooLarge { len, cap } => ReplyError::TooLarge { len, cap },
            CallError::NoMemory { len, shortage } => ReplyError::NoMemory { len, shortage },
            CallError::Segment(error) => ReplyError::Segment(error),
            CallError::TooMuchMetadata { len, limit } => ReplyError::TooMuchMetadata { len, limit },
            other => unreachable!("no reply fails so: {other}"),
        })
    }
}
