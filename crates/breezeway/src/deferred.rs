//! Calls that are replied to later, by any thread.
//!
//! A handler gives its call up for a [`DeferredCall`], which threads reply to under the session's
//! lock. A session that one thread serves alone gets that lock with its first deferred call: see
//! [`Serving::defer`](crate::call::Serving).

use std::fmt;
use std::time::Duration;

use breezeway_os::Peer;
use breezeway_proto::ErrorCode;
use breezeway_proto::time_left;
use breezeway_shm::ForeignBytes;
use breezeway_shm::statistics::HandlerTimes;
use thiserror::Error;

use crate::call_limit::CallInFlight;
use crate::carrier::Carrier;
use crate::channel::{BackChannel, IncomingCall, OwnedSpace};
use crate::message::Message;
use crate::presence::SessionId;

/// Why a deferred call could not be replied to.
#[derive(Error)]
#[non_exhaustive]
pub enum DeferredError {
    /// The session has ended, so nobody waits for the reply.
    #[error("the session has ended; nobody waits for the reply")]
    SessionEnded,
    /// The reply is larger than the session allows; the client's call fails.
    #[error(
        "a message of {len} bytes exceeds the session's cap of {cap} bytes; raise the cap on both \
         sides"
    )]
    TooLarge {
        /// The reply's length.
        len: usize,
        /// The cap: the smaller of both sides' settings.
        cap: usize,
    },
    /// This is a forked child of the process that was called.
    #[error("a call cannot be replied to in a forked child; reply in the process that was called")]
    Forked,
}

/// As its message: `main` and `unwrap` print errors in their debug form.
impl fmt::Debug for DeferredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A call that is replied to later: by any thread, in any order with other calls, after the handler
/// has returned. See [`Call::defer`](crate::Call::defer).
///
/// Dropped without a reply, it fails the call with a reason that names this. A deferred call counts
/// among the session's calls in flight until it ends. A session that has 1,024 deferred one-way
/// messages, or as many bytes of them as its cap, is not served further until one of them ends.
pub struct DeferredCall {
    call: IncomingCall,
    _counted: Option<CallInFlight>,
}

impl DeferredCall {
    /// Notes that the reply comes later, and so in any order with others.
    pub(crate) fn deferred(mut self) -> Self {
        self.call.set_deferred();
        self
    }

    pub(crate) fn new(call: IncomingCall) -> Self {
        Self { call, _counted: None }
    }

    /// Counts it among the server's calls in flight from now on.
    pub(crate) fn count(&mut self, counted: CallInFlight) {
        self._counted = Some(counted);
    }

    /// Returns the method number.
    pub fn method(&self) -> u32 {
        self.call.method()
    }

    /// Returns true if the client wants no reply. Replying is allowed, and sends nothing.
    pub fn is_one_way(&self) -> bool {
        self.call.is_one_way()
    }

    /// Returns the request's bytes: a private copy up to 104 bytes, else the client's memory, which
    /// the client may still change, and which is lent until the call is replied to.
    pub fn request(&self) -> ForeignBytes<'_> {
        self.call.request()
    }

    /// Takes the request where it is lent.
    pub(crate) fn lease(&mut self) -> Option<Message> {
        self.call.lease()
    }

    /// Returns the metadata block that came with the request, like
    /// [`Call::metadata`](crate::Call::metadata).
    pub fn metadata(&self) -> Option<&[u8]> {
        self.call.message().metadata()
    }

    /// Returns the session that the call came by.
    pub fn session(&self) -> SessionId {
        self.call.session()
    }

    /// Returns a handle that opens streams to the client, like
    /// [`Call::back_channel`](crate::Call::back_channel).
    pub fn back_channel(&self) -> Option<BackChannel> {
        self.call.takes_streams().then(|| self.call.back_channel())
    }

    /// Returns the credentials of the process that connected.
    pub fn peer(&self) -> &Peer {
        self.call.peer()
    }

    /// Returns the carrier of the call and of its reply.
    pub fn carrier(&self) -> Carrier {
        self.call.carrier()
    }

    /// Replies with these bytes. A client that sleeps is woken as soon as the reply is published.
    ///
    /// `Ok` means that the session goes on, not that the client gets the reply: the client may die
    /// meanwhile, and a reply that finds no memory fails the call by the name of the limit.
    pub fn reply(self, bytes: impl AsRef<[u8]>) -> Result<(), DeferredError> {
        let bytes = bytes.as_ref();
        let cap = self.cap();
        if bytes.len() > cap && !self.is_one_way() {
            let error = DeferredError::TooLarge { len: bytes.len(), cap };
            self.fail_as(ErrorCode::NoMemory, &error.to_string())?;
            return Err(error);
        }
        self.end(|call| call.try_reply(bytes))
    }

    /// Replies through `send`, which returns false once the session has ended.
    fn end(self, send: impl FnOnce(IncomingCall) -> bool) -> Result<(), DeferredError> {
        if !self.call.is_here() {
            return Err(DeferredError::Forked);
        }
        if send(self.call) { Ok(()) } else { Err(DeferredError::SessionEnded) }
    }

    /// Takes space for a reply in the memory that it is sent from, if there is some now.
    pub(crate) fn try_reserve(&self, len: usize) -> Option<OwnedSpace> {
        if !self.call.is_here() {
            return None;
        }
        self.call.try_reserve(len).ok()
    }

    /// Replies with space that [`Self::try_reserve`] returned.
    pub(crate) fn reply_space(self, space: OwnedSpace) -> Result<(), DeferredError> {
        self.end(|call| call.try_reply_space(space))
    }

    /// Replies with the request's own bytes.
    pub fn echo(self) -> Result<(), DeferredError> {
        self.end(IncomingCall::try_echo)
    }

    /// Replies with nothing.
    pub fn done(self) -> Result<(), DeferredError> {
        self.reply([])
    }

    /// Fails the call, as a handler's error does.
    pub fn fail(self, reason: impl fmt::Display) -> Result<(), DeferredError> {
        self.fail_as(ErrorCode::Failed, &reason.to_string())
    }

    /// Fails the call with a code, such as one of the application's own, and a reason.
    pub fn fail_with(
        self,
        code: ErrorCode,
        reason: impl fmt::Display,
    ) -> Result<(), DeferredError> {
        self.fail_as(code, &reason.to_string())
    }

    /// Returns the time for which the client waits for the reply, counted from its sending, or
    /// `None` if it waits for ever.
    pub fn patience(&self) -> Option<Duration> {
        time_left::decode(self.call.asked().time)
    }

    /// Returns the time for which the client still waits for the reply, or `None` if it waits for
    /// ever.
    pub fn time_left(&self) -> Option<Duration> {
        self.call.time_left()
    }

    /// Returns true once the reply is not wanted any more: the client's time has passed, it has
    /// cancelled the call, or the session has ended. The client of a plain session, a
    /// [`Session`](crate::Session) or a [`Client`](crate::Client), does not cancel calls.
    ///
    /// ```
    /// # fn next_step() {}
    /// fn work(call: breezeway::DeferredCall) {
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
        self.call.is_cancelled()
    }

    /// Fails the call: there is no such method.
    pub fn no_such_method(self) -> Result<(), DeferredError> {
        let reason = format!("there is no method {}", self.method());
        self.fail_as(ErrorCode::NoSuchMethod, &reason)
    }

    pub(crate) fn fail_as(self, code: ErrorCode, reason: &str) -> Result<(), DeferredError> {
        self.end(|call| call.try_fail(code, reason))
    }

    /// Returns the counters of its session's handlers.
    pub(crate) fn handler_times(&self) -> Option<HandlerTimes> {
        self.call.handler_times()
    }

    /// Returns the size of the largest reply.
    pub(crate) fn cap(&self) -> usize {
        self.call.cap()
    }
}

impl fmt::Debug for DeferredCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeferredCall")
            .field("session", &self.session())
            .field("method", &self.method())
            .field("len", &self.request().len())
            .finish_non_exhaustive()
    }
}
