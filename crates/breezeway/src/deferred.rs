//! Calls that are replied to later, by any thread.
//!
//! A handler gives its call up for a [`DeferredCall`]. What comes of it goes to the session's
//! mailbox, from where whoever serves the session publishes it: a session has one publisher.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use breezeway_os::segment::SegmentError;
use breezeway_os::{Deadline, Notifier, Origin, Peer, clock};
use breezeway_proto::connection::Served;
use breezeway_proto::time_left;
use breezeway_proto::validate::Request;
use breezeway_proto::{ErrorCode, StreamViolation};
use breezeway_shm::statistics::HandlerTimes;
use breezeway_shm::{ForeignBytes, Message, Want};
use thiserror::Error;

use crate::call_limit::CallInFlight;
use crate::carrier::Carrier;
use crate::channel::{BackChannel, IncomingCall, OwnedSpace};
use crate::presence::SessionId;
use crate::time::deadline_of;
use crate::violation::Violation;
use crate::worker::{Inbox, Mail};

/// Time between two attempts to send replies that found no memory.
pub(crate) const RETRY: Duration = Duration::from_millis(1);
/// Why a call failed whose handle was dropped.
const DROPPED: &str = "the server deferred the call and dropped it without a reply";

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
    /// There is no private memory for the reply; the client's call fails.
    #[error(transparent)]
    Memory(SegmentError),
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

/// What comes of a deferred call.
#[derive(Debug)]
pub(crate) enum Outcome {
    Reply(Vec<u8>),
    Failure(ErrorCode, String),
}

/// What is to be published of a deferred call.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) request: Request,
    /// Bytes that count against what the session may hold, until this is published.
    pub(crate) held: usize,
    pub(crate) outcome: Outcome,
    /// When its caller no longer waits.
    pub(crate) deadline: Deadline,
}

/// How whoever serves a session is woken for its mailbox.
pub(crate) enum Recipient {
    /// A worker, and by which token it knows the session.
    Worker { inbox: Arc<Inbox>, token: usize, id: SessionId },
    /// A thread that serves this session alone.
    Alone(Notifier),
}

/// Where the replies to a session's deferred calls go.
pub(crate) struct Mailbox {
    origin: Origin,
    recipient: Recipient,
    mail: Mail<Answer>,
}

impl Mailbox {
    pub(crate) fn new(recipient: Recipient) -> Self {
        Self { origin: Origin::here(), recipient, mail: Mail::default() }
    }

    pub(crate) fn recipient(&self) -> &Recipient {
        &self.recipient
    }

    /// Whether there is something to take.
    #[inline(always)]
    pub(crate) fn has_mail(&self) -> bool {
        self.mail.is_there()
    }

    /// Takes what has come.
    pub(crate) fn take(&self) -> Vec<Answer> {
        self.mail.take()
    }

    /// From now on nothing is taken any more.
    pub(crate) fn close(&self) {
        self.mail.close();
    }

    /// Whether nobody takes a reply of this process any more.
    fn is_closed(&self) -> bool {
        !self.origin.is_here() || self.mail.is_closed()
    }

    fn post(&self, answer: Answer) -> Result<(), DeferredError> {
        // Before the lock, which another thread may have held when this process was forked.
        if !self.origin.is_here() {
            return Err(DeferredError::Forked);
        }
        let Some(is_first) = self.mail.post(answer) else {
            return Err(DeferredError::SessionEnded);
        };
        if is_first {
            match &self.recipient {
                Recipient::Worker { inbox, token, id } => inbox.mail(*token, *id),
                Recipient::Alone(notifier) => notifier.notify(),
            }
        }
        Ok(())
    }
}

/// A call that is replied to later: by any thread, in any order with other calls, after the handler
/// has returned. See [`Call::defer`](crate::Call::defer).
///
/// Dropped without a reply, it fails the call with a reason that says so. It counts, with its
/// request, against what its session may have in flight: a session with as many deferred one-way
/// messages as it may have calls in flight, or with as many bytes of requests as its cap, is not
/// served further until one of them is ended.
pub struct DeferredCall(Way, Option<CallInFlight>);

/// How the reply gets to whoever publishes it.
enum Way {
    Mailed(MailedCall),
    /// Of a shared session, which takes replies from any thread.
    Shared(IncomingCall),
}

use Way::{Mailed, Shared};

/// A call whose reply is published by whoever serves its session.
struct MailedCall {
    /// Present until there is an outcome.
    mailbox: Option<Arc<Mailbox>>,
    request: Request,
    body: Message,
    caller: Caller,
    /// When the client no longer waits.
    deadline: Deadline,
}

/// What is known of who calls, and of the way back.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) session: SessionId,
    pub(crate) peer: Peer,
    pub(crate) carrier: Carrier,
    pub(crate) cap: usize,
    /// Where the session's handlers are noted.
    pub(crate) times: Option<HandlerTimes>,
}

impl DeferredCall {
    pub(crate) fn new(
        mailbox: Arc<Mailbox>,
        request: Request,
        body: Message,
        caller: Caller,
    ) -> Self {
        let deadline = deadline_of(request.time);
        let mailbox = Some(mailbox);
        Self(Mailed(MailedCall { mailbox, request, body, caller, deadline }), None)
    }

    /// A call of a shared session.
    pub(crate) fn of_shared(call: IncomingCall) -> Self {
        Self(Shared(call), None)
    }

    /// From now on it counts among the server's calls in flight.
    pub(crate) fn count(&mut self, counted: CallInFlight) {
        self.1 = Some(counted);
    }

    fn asked(&self) -> &Request {
        match &self.0 {
            Mailed(call) => &call.request,
            Shared(call) => call.asked(),
        }
    }

    /// The method number.
    pub fn method(&self) -> u32 {
        self.asked().method
    }

    /// Whether the client wants no reply. Replying is allowed, and sends nothing.
    pub fn is_one_way(&self) -> bool {
        self.asked().one_way
    }

    /// The request's bytes: a private copy up to 104 bytes, else the client's memory, which the
    /// client may still change, and which is lent as long as the call is not replied to.
    pub fn request(&self) -> ForeignBytes<'_> {
        match &self.0 {
            Mailed(call) => call.body.bytes(),
            Shared(call) => call.request(),
        }
    }

    /// Takes the request where it is lent. What is to be mailed counts it until there is a reply.
    pub(crate) fn lease(&mut self) -> Option<crate::message::Message> {
        match &mut self.0 {
            Mailed(_) => None,
            Shared(call) => call.lease(),
        }
    }

    /// The metadata block that came with the request, as [`Call::metadata`](crate::Call::metadata)
    /// gives it.
    pub fn metadata(&self) -> Option<&[u8]> {
        match &self.0 {
            Mailed(_) => None,
            Shared(call) => call.message().metadata(),
        }
    }

    /// The session that the call came by.
    pub fn session(&self) -> SessionId {
        match &self.0 {
            Mailed(call) => call.caller.session,
            Shared(call) => call.session(),
        }
    }

    /// What opens streams to the client, as [`Call::back_channel`](crate::Call::back_channel) gives
    /// it.
    pub fn back_channel(&self) -> Option<BackChannel> {
        match &self.0 {
            Mailed(_) => None,
            Shared(call) => Some(call.back_channel()),
        }
    }

    /// Who calls: the credentials of the process that connected.
    pub fn peer(&self) -> &Peer {
        match &self.0 {
            Mailed(call) => &call.caller.peer,
            Shared(call) => call.peer(),
        }
    }

    /// What the call came by, and the reply goes by.
    pub fn carrier(&self) -> Carrier {
        match &self.0 {
            Mailed(call) => call.caller.carrier,
            Shared(call) => call.carrier(),
        }
    }

    /// Replies with these bytes; a `Vec` is not copied before it is published. A client that sleeps
    /// is woken as soon as the reply is published.
    ///
    /// `Ok` says that the reply is on its way, not that the client gets it: it may die meanwhile.
    pub fn reply(self, bytes: impl Into<Vec<u8>>) -> Result<(), DeferredError> {
        let bytes = bytes.into();
        self.refuse_if_too_large(bytes.len())?.end(Outcome::Reply(bytes))
    }

    /// As [`Self::reply`], with a copy that is made where it is published, if that is here.
    pub(crate) fn reply_copied(self, bytes: &[u8]) -> Result<(), DeferredError> {
        match self.refuse_if_too_large(bytes.len())? {
            Self(Shared(call), _counted) => or_ended(call.try_reply(bytes)),
            mailed => mailed.end_with(ForeignBytes::stable(bytes).try_to_vec()),
        }
    }

    /// Replies with a copy, or fails the call for which there was no memory.
    fn end_with(self, copy: Result<Vec<u8>, SegmentError>) -> Result<(), DeferredError> {
        match copy {
            Ok(bytes) => self.end(Outcome::Reply(bytes)),
            Err(error) => {
                self.end(Outcome::Failure(ErrorCode::NoMemory, error.to_string()))?;
                Err(DeferredError::Memory(error))
            }
        }
    }

    /// Fails a call whose reply would be so long, if that is too long.
    fn refuse_if_too_large(self, len: usize) -> Result<Self, DeferredError> {
        let cap = self.cap();
        if len <= cap || self.is_one_way() {
            return Ok(self);
        }
        let error = DeferredError::TooLarge { len, cap };
        self.end(Outcome::Failure(ErrorCode::NoMemory, error.to_string()))?;
        Err(error)
    }

    /// Space for a reply in the memory that it is sent from, if that can be had at once.
    pub(crate) fn try_reserve(&self, len: usize) -> Option<OwnedSpace> {
        match &self.0 {
            Mailed(_) => None,
            Shared(call) => call.try_reserve(len).ok(),
        }
    }

    /// Replies with what [`Self::try_reserve`] has given.
    pub(crate) fn reply_space(self, space: OwnedSpace) -> Result<(), DeferredError> {
        match self.0 {
            Mailed(_) => unreachable!("space is reserved of shared sessions"),
            Shared(call) => {
                call.reply_space(space);
                Ok(())
            }
        }
    }

    /// Replies with the request's own bytes.
    pub fn echo(self) -> Result<(), DeferredError> {
        match self {
            Self(Shared(call), _counted) => {
                call.echo();
                Ok(())
            }
            Self(Mailed(call), counted) => {
                let len = call.body.len();
                let copy = call.body.bytes().try_to_vec();
                Self(Mailed(call), counted).refuse_if_too_large(len)?.end_with(copy)
            }
        }
    }

    /// Replies with nothing.
    pub fn done(self) -> Result<(), DeferredError> {
        self.reply_copied(&[])
    }

    /// Fails the call, as a handler's error does.
    pub fn fail(self, reason: impl fmt::Display) -> Result<(), DeferredError> {
        self.fail_as(ErrorCode::Failed, reason.to_string())
    }

    /// Fails the call with a code, such as one of the application's own, and a reason.
    pub fn fail_with(
        self,
        code: ErrorCode,
        reason: impl fmt::Display,
    ) -> Result<(), DeferredError> {
        self.fail_as(code, reason.to_string())
    }

    /// How long the client said that it waits for the reply, counted from its sending; `None` if it
    /// waits for ever.
    pub fn patience(&self) -> Option<Duration> {
        time_left::decode(self.asked().time)
    }

    /// How much longer the client waits for the reply; `None` if it waits for ever.
    pub fn time_left(&self) -> Option<Duration> {
        match &self.0 {
            Mailed(call) => call.deadline.time_left(),
            Shared(call) => call.time_left(),
        }
    }

    /// Whether nobody wants the reply any more: the client's time is over, it has given the call
    /// up, or the session has ended. A plain session's client, a [`Session`](crate::Session) or a
    /// [`Client`](crate::Client), does not say that it gives up: of its calls the time tells, and
    /// the session's end.
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
        match &self.0 {
            Mailed(call) => {
                let is_closed = |mailbox: &Arc<Mailbox>| mailbox.is_closed();
                call.deadline.has_passed() || call.mailbox.as_ref().is_none_or(is_closed)
            }
            Shared(call) => call.is_cancelled(),
        }
    }

    /// Fails the call: there is no such method.
    pub fn no_such_method(self) -> Result<(), DeferredError> {
        let reason = format!("there is no method {}", self.method());
        self.fail_as(ErrorCode::NoSuchMethod, reason)
    }

    pub(crate) fn fail_as(self, code: ErrorCode, reason: String) -> Result<(), DeferredError> {
        self.end(Outcome::Failure(code, reason))
    }

    /// Where it is noted how long handlers of its session take.
    pub(crate) fn handler_times(&self) -> Option<HandlerTimes> {
        match &self.0 {
            Mailed(call) => call.caller.times,
            Shared(call) => call.handler_times(),
        }
    }

    /// The largest reply.
    pub(crate) fn cap(&self) -> usize {
        match &self.0 {
            Mailed(call) => call.caller.cap,
            Shared(call) => call.cap(),
        }
    }

    fn end(self, outcome: Outcome) -> Result<(), DeferredError> {
        match (self.0, outcome) {
            (Mailed(mut call), outcome) => call.post(outcome),
            (Shared(call), Outcome::Reply(bytes)) => or_ended(call.try_reply(&bytes)),
            (Shared(call), Outcome::Failure(code, reason)) => {
                or_ended(call.try_fail(code, &reason))
            }
        }
    }
}

/// What came of a reply on a shared session, which goes on or not.
fn or_ended(goes_on: bool) -> Result<(), DeferredError> {
    if goes_on { Ok(()) } else { Err(DeferredError::SessionEnded) }
}

impl MailedCall {
    fn post(&mut self, outcome: Outcome) -> Result<(), DeferredError> {
        let Some(mailbox) = self.mailbox.take() else { return Ok(()) };
        // First, as it may be what the client needs for its next request.
        let held = std::mem::take(&mut self.body).len();
        let (request, deadline) = (self.request, self.deadline);
        mailbox.post(Answer { request, held, outcome, deadline })
    }
}

impl Drop for MailedCall {
    fn drop(&mut self) {
        // Nobody waits if the session has ended, and a forked child is not the one that was called.
        let _ = self.post(Outcome::Failure(ErrorCode::Failed, DROPPED.to_owned()));
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

/// A session's calls that are still to be replied to, as whoever serves it keeps them.
pub(crate) struct Deferrals {
    /// From the first deferred call on.
    mailbox: Option<Arc<Mailbox>>,
    /// How replies find back to a worker; `None` where a thread serves this session alone.
    worker: Option<(Arc<Inbox>, usize)>,
    /// Calls and one-way messages that were not ended.
    pub(crate) calls: usize,
    /// The calls among them.
    served: Served<()>,
    /// Bytes of their requests.
    pub(crate) bytes: usize,
    /// The most of both.
    pub(crate) max_calls: usize,
    pub(crate) max_bytes: usize,
    /// Replies that wait for memory or room, each until its deadline.
    pub(crate) waiting: VecDeque<(Answer, Deadline)>,
    pub(crate) retry: Deadline,
    /// What to wait for before they are tried again, if that is known.
    pub(crate) want: Option<Want>,
    /// Whether a handler's own reply is among them.
    pub(crate) in_order: bool,
    /// How long a reply waits.
    pub(crate) patience: Duration,
}

impl Deferrals {
    pub(crate) fn new(max_calls: usize, max_bytes: usize) -> Self {
        Self {
            mailbox: None,
            worker: None,
            calls: 0,
            served: Served::new(max_calls),
            bytes: 0,
            max_calls,
            max_bytes,
            waiting: VecDeque::new(),
            retry: Deadline::NEVER,
            want: None,
            in_order: false,
            patience: Self::PATIENCE,
        }
    }

    /// How long a reply waits unless the server's options say otherwise.
    pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

    pub(crate) fn of_worker(&mut self, inbox: Arc<Inbox>, token: usize) {
        debug_assert_eq!(self.calls, 0, "replies to deferred calls come to one worker");
        self.worker = Some((inbox, token));
        self.mailbox = None;
    }

    /// For how long the present turn of the session's worker has lasted.
    pub(crate) fn turn_age(&self) -> Option<Duration> {
        let (inbox, _) = self.worker.as_ref()?;
        let ticks = inbox.load().turn_age(clock::ticks())?;
        Some(Duration::from_nanos(clock::nanoseconds(ticks)))
    }

    pub(crate) fn mailbox(&self) -> Option<&Arc<Mailbox>> {
        self.mailbox.as_ref()
    }

    /// The mailbox, made if there was none.
    pub(crate) fn open(&mut self, id: SessionId) -> std::io::Result<Arc<Mailbox>> {
        if let Some(mailbox) = &self.mailbox {
            return Ok(Arc::clone(mailbox));
        }
        let recipient = match &self.worker {
            Some((inbox, token)) => {
                Recipient::Worker { inbox: Arc::clone(inbox), token: *token, id }
            }
            None => Recipient::Alone(Notifier::new()?),
        };
        Ok(Arc::clone(self.mailbox.insert(Arc::new(Mailbox::new(recipient)))))
    }

    /// Keeps a handler's reply that found no memory, until there is some or its time is over.
    #[cold]
    pub(crate) fn keep(&mut self, request: Request, reply: Vec<u8>, want: Option<Want>) {
        let (held, deadline) = (reply.len(), deadline_of(request.time));
        let answer = Answer { request, held, outcome: Outcome::Reply(reply), deadline };
        self.waiting.push_back((answer, Deadline::after(self.patience).min(deadline)));
        self.begin(request, held);
        self.want = want;
        self.in_order = true;
        self.retry = Deadline::after(RETRY);
    }

    /// Validates a request beside those that were deferred.
    pub(crate) fn check(&self, request: Request) -> Result<(), Violation> {
        if self.served.has(request.stream) {
            return Err(StreamViolation::Number(request.stream).into());
        }
        if !request.one_way {
            self.served.check_room(0)?;
        }
        Ok(())
    }

    /// Counts a request that is replied to later, and `bytes` that are held for it.
    pub(crate) fn begin(&mut self, request: Request, bytes: usize) {
        if !request.one_way {
            self.served.begin(request.stream);
        }
        self.calls += 1;
        self.bytes += bytes;
    }

    /// Counts a request no longer whose reply was published, if it has one.
    pub(crate) fn end(&mut self, request: Request, bytes: usize) {
        if !request.one_way {
            self.served.end(request.stream);
        }
        self.calls -= 1;
        self.bytes -= bytes;
    }

    /// Whether replies are to be published, or tried again.
    #[inline(always)]
    pub(crate) fn are_due(&self) -> bool {
        self.calls > 0
            && (self.have_mail() || (!self.waiting.is_empty() && self.retry.has_passed()))
    }

    /// Whether replies have come and were not taken.
    #[inline(always)]
    pub(crate) fn have_mail(&self) -> bool {
        self.mailbox.as_ref().is_some_and(|mailbox| mailbox.has_mail())
    }

    /// Whether nothing further is taken: so many one-way messages or bytes are deferred, or a
    /// handler's own reply waits, which is to come before the next one's.
    #[inline(always)]
    pub(crate) fn are_full(&self) -> bool {
        self.calls - self.served.len() >= self.max_calls
            || self.bytes >= self.max_bytes
            || self.in_order
    }
}

impl Drop for Deferrals {
    fn drop(&mut self) {
        if let Some(mailbox) = &self.mailbox
            && mailbox.origin.is_here()
        {
            mailbox.close();
        }
    }
}
