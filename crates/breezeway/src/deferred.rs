//! Calls that are replied to later, by any thread.
//!
//! A handler gives its call up for a [`DeferredCall`]. What comes of it goes to the session's
//! mailbox, from where whoever serves the session publishes it: a session has one publisher.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use breezeway_os::{Deadline, Notifier, Origin, Peer};
use breezeway_shm::{ForeignBytes, Message, Want};
use thiserror::Error;

use crate::carrier::Carrier;
use crate::presence::SessionId;
use crate::protocol::{ErrorCode, Request};
use crate::time_left;
use crate::worker::Inbox;

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
    /// Bytes of the request, which are held no more.
    pub(crate) held: usize,
    pub(crate) outcome: Outcome,
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
    /// Whether there is something to take.
    has_mail: AtomicBool,
    mail: Mutex<Mail>,
}

struct Mail {
    answers: Vec<Answer>,
    /// Whether the session goes on.
    open: bool,
}

impl Mailbox {
    pub(crate) fn new(recipient: Recipient) -> Self {
        Self {
            origin: Origin::here(),
            recipient,
            has_mail: AtomicBool::new(false),
            mail: Mutex::new(Mail { answers: Vec::new(), open: true }),
        }
    }

    pub(crate) fn recipient(&self) -> &Recipient {
        &self.recipient
    }

    fn lock(&self) -> MutexGuard<'_, Mail> {
        // Nothing that panics runs with the lock.
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is something to take.
    #[inline(always)]
    pub(crate) fn has_mail(&self) -> bool {
        self.has_mail.load(Ordering::Relaxed)
    }

    /// Takes what has come.
    pub(crate) fn take(&self) -> Vec<Answer> {
        let mut mail = self.lock();
        self.has_mail.store(false, Ordering::Relaxed);
        std::mem::take(&mut mail.answers)
    }

    /// From now on nothing is taken any more.
    pub(crate) fn close(&self) {
        let mut mail = self.lock();
        mail.open = false;
        mail.answers.clear();
    }

    fn post(&self, answer: Answer) -> Result<(), DeferredError> {
        // Before the lock, which another thread may have held when this process was forked.
        if !self.origin.is_here() {
            return Err(DeferredError::Forked);
        }
        let mut mail = self.lock();
        if !mail.open {
            return Err(DeferredError::SessionEnded);
        }
        mail.answers.push(answer);
        let is_first = !self.has_mail.swap(true, Ordering::Relaxed);
        drop(mail);
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
/// request, against what its session may have in flight: a session with as many deferred calls as
/// it may have calls in flight, or with as many bytes of requests as its cap, is not served
/// further until one of them is replied to.
pub struct DeferredCall {
    /// Present until there is an outcome.
    mailbox: Option<Arc<Mailbox>>,
    request: Request,
    body: Message,
    caller: Caller,
}

/// What is known of who calls, and of the way back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) session: SessionId,
    pub(crate) peer: Peer,
    pub(crate) carrier: Carrier,
    pub(crate) cap: usize,
}

impl DeferredCall {
    pub(crate) fn new(
        mailbox: Arc<Mailbox>,
        request: Request,
        body: Message,
        caller: Caller,
    ) -> Self {
        Self { mailbox: Some(mailbox), request, body, caller }
    }

    /// The method number.
    pub fn method(&self) -> u32 {
        self.request.method
    }

    /// Whether the client wants no reply. Replying is allowed, and sends nothing.
    pub fn is_one_way(&self) -> bool {
        self.request.one_way
    }

    /// The request's bytes: a private copy up to 104 bytes, else the client's memory, which the
    /// client may still change, and which is lent as long as the call is not replied to.
    pub fn request(&self) -> ForeignBytes<'_> {
        self.body.bytes()
    }

    /// The session that the call came by.
    pub fn session(&self) -> SessionId {
        self.caller.session
    }

    /// Who calls: the credentials of the process that connected.
    pub fn peer(&self) -> &Peer {
        &self.caller.peer
    }

    /// What the call came by, and the reply goes by.
    pub fn carrier(&self) -> Carrier {
        self.caller.carrier
    }

    /// Replies with these bytes; a `Vec` is not copied before it is published. A client that sleeps
    /// is woken as soon as the reply is published.
    ///
    /// `Ok` says that the reply is on its way, not that the client gets it: it may die meanwhile.
    pub fn reply(self, bytes: impl Into<Vec<u8>>) -> Result<(), DeferredError> {
        let (bytes, cap) = (bytes.into(), self.caller.cap);
        let len = bytes.len();
        if len > cap && !self.request.one_way {
            let error = DeferredError::TooLarge { len, cap };
            self.end(Outcome::Failure(ErrorCode::NoMemory, error.to_string()))?;
            return Err(error);
        }
        self.end(Outcome::Reply(bytes))
    }

    /// Replies with the request's own bytes.
    pub fn echo(self) -> Result<(), DeferredError> {
        let body = self.body.to_vec();
        self.reply(body)
    }

    /// Replies with nothing.
    pub fn done(self) -> Result<(), DeferredError> {
        self.reply(Vec::new())
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
        time_left::decode(self.request.time)
    }

    /// Fails the call: there is no such method.
    pub fn no_such_method(self) -> Result<(), DeferredError> {
        let reason = format!("there is no method {}", self.method());
        self.fail_as(ErrorCode::NoSuchMethod, reason)
    }

    pub(crate) fn fail_as(self, code: ErrorCode, reason: String) -> Result<(), DeferredError> {
        self.end(Outcome::Failure(code, reason))
    }

    /// The largest reply.
    pub(crate) fn cap(&self) -> usize {
        self.caller.cap
    }

    fn end(mut self, outcome: Outcome) -> Result<(), DeferredError> {
        self.post(outcome)
    }

    fn post(&mut self, outcome: Outcome) -> Result<(), DeferredError> {
        let Some(mailbox) = self.mailbox.take() else { return Ok(()) };
        // First, as it may be what the client needs for its next request.
        let held = std::mem::take(&mut self.body).len();
        mailbox.post(Answer { request: self.request, held, outcome })
    }
}

impl Drop for DeferredCall {
    fn drop(&mut self) {
        // Nobody waits if the session has ended, and a forked child is not the one that was called.
        let _ = self.post(Outcome::Failure(ErrorCode::Failed, DROPPED.to_owned()));
    }
}

impl fmt::Debug for DeferredCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeferredCall")
            .field("session", &self.caller.session)
            .field("method", &self.request.method)
            .field("len", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// A session's calls that are still to be replied to, as whoever serves it keeps them.
pub(crate) struct Deferrals {
    /// From the first deferred call on.
    mailbox: Option<Arc<Mailbox>>,
    /// How replies find back to a worker; `None` where a thread serves this session alone.
    worker: Option<(Arc<Inbox>, usize)>,
    /// Calls whose reply was not published.
    pub(crate) calls: usize,
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
    /// How long a reply waits.
    pub(crate) patience: Duration,
}

impl Deferrals {
    pub(crate) fn new(max_calls: usize, max_bytes: usize) -> Self {
        Self {
            mailbox: None,
            worker: None,
            calls: 0,
            bytes: 0,
            max_calls,
            max_bytes,
            waiting: VecDeque::new(),
            retry: Deadline::NEVER,
            want: None,
            patience: Self::PATIENCE,
        }
    }

    /// How long a reply waits unless the server's options say otherwise.
    pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

    pub(crate) fn of_worker(&mut self, inbox: Arc<Inbox>, token: usize) {
        self.worker = Some((inbox, token));
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

    /// Whether replies are to be published, or tried again.
    #[inline(always)]
    pub(crate) fn are_due(&self) -> bool {
        match &self.mailbox {
            None => false,
            Some(mailbox) => {
                mailbox.has_mail() || (!self.waiting.is_empty() && self.retry.has_passed())
            }
        }
    }

    /// Whether replies have come and were not taken.
    #[inline(always)]
    pub(crate) fn have_mail(&self) -> bool {
        self.mailbox.as_ref().is_some_and(|mailbox| mailbox.has_mail())
    }

    /// Whether so many calls are deferred that no further request is taken.
    #[inline(always)]
    pub(crate) fn are_full(&self) -> bool {
        self.calls >= self.max_calls || self.bytes >= self.max_bytes
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
