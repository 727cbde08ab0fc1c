//! The serving end of one session.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use breezeway_os::shortage::RETRY_AFTER;
use breezeway_os::{Deadline, Peer, TrustedPeer, Waiting, clock, cpu, ready};
use breezeway_proto::validate::{Request, Side, Subject, check_plain_request, validate_plain};
use breezeway_proto::{CallViolation, ErrorCode, Head, Kind};
use breezeway_shm::Want;
use rustix::event::PollFlags;

use crate::call::{Call, Handler, Serving};
use crate::carrier::Carrier;
use crate::channel::{Incoming, ServerChannel};
use crate::deferred::DeferredCall;
use crate::error::{ConnectError, ReplyError, SessionError};
use crate::handshake::{self, Agreed, HandshakeError};
use crate::link::{Body, Link, LinkError, Notice, SHORTAGE_PATIENCE};
use crate::log_limit::LogLimit;
use crate::offload;
use crate::options::SessionOptions;
use crate::presence::SessionId;
use crate::slice::{Group, SLICE, Slice};
use crate::worker::Inbox;

mod ending;
mod place;
pub(crate) use ending::NOT_BEGUN;
pub(crate) use place::{Place, Terms};

/// What came of serving a session for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// This many entries were dealt with; 0 if there were none.
    Served(usize),
    /// The client closed the session in order.
    Closed,
}

/// The serving end of one session: for a parent and its child, for tests, and inside a
/// [`Server`](crate::Server).
///
/// One thread serves the session without a lock, until a handler defers a call or a reply finds no
/// memory. From then on threads share the session, as they share a [`ServerChannel`].
pub struct ServerSession {
    terms: Terms,
    place: Place,
    /// Readable once the client's process is gone.
    exit: Option<OwnedFd>,
    /// How many of its one-way messages are timed together.
    group: Group,
    /// Whether the session ended with an error.
    broken: bool,
    has_said_shutdown: bool,
    /// True once the client's shutdown was taken, which is not answered by another.
    client_has_closed: bool,
    orphan: Orphan,
}

/// Until when a session is tried again, since its client was gone in a shortage.
#[derive(Default)]
pub(crate) struct Orphan(Option<Deadline>);

impl Orphan {
    /// Whether to try again later: for any time as long as the client lives, and for a limited time
    /// once it is gone, as its descriptors may be those that are short.
    pub(crate) fn may_retry(&mut self, is_gone: bool) -> bool {
        !is_gone || !self.0.get_or_insert_with(|| Deadline::after(SHORTAGE_PATIENCE)).has_passed()
    }
}

/// Asks the kernel whether a client is gone, by its session's socket or its process's descriptor.
pub(crate) fn is_gone(socket: BorrowedFd<'_>, exit: Option<BorrowedFd<'_>>) -> bool {
    let now = || Deadline::after(Duration::ZERO);
    let hung_up = ready(socket, PollFlags::RDHUP, now());
    let exited = exit.map_or(Ok(false), |exit| ready(exit, PollFlags::IN, now()));
    // What cannot be asked now rings again, or is found when it is read.
    hung_up.unwrap_or(false) || exited.unwrap_or(false)
}

impl ServerSession {
    /// Answers the hello of a client that wants shared memory on a connected unix stream socket,
    /// such as one end of a pair (see [`breezeway_os::inherited`]).
    pub fn from_socket(socket: OwnedFd, options: &SessionOptions) -> Result<Self, ConnectError> {
        options.validate()?;
        let peer = Peer::of(&socket).map_err(HandshakeError::from)?;
        let agreed = handshake::accept(socket, Carrier::Shm, &options.for_plain_calls())?;
        let session = Self::new(agreed, peer.clone(), options.waiting());
        Ok(match options.trust.ask(&peer) {
            Some(proof) => session.trusting(proof),
            None => session,
        })
    }

    pub(crate) fn new(agreed: Agreed, peer: Peer, waiting: Waiting) -> Self {
        let terms = Terms {
            id: SessionId::next(),
            peer,
            max_in_flight: agreed.max_in_flight,
            service: agreed.service,
            may_say_go_away: agreed.knows_go_away,
            waiting,
            reply_timeout: None,
            worker: None,
        };
        Self {
            terms,
            place: Place::Alone(agreed.link),
            exit: None,
            group: Group::default(),
            broken: false,
            has_said_shutdown: false,
            client_has_closed: false,
            orphan: Orphan::default(),
        }
    }

    /// From now on requests are given as slices, without a copy.
    pub fn trusting(mut self, proof: TrustedPeer) -> Self {
        self.link().trust(proof);
        self
    }

    /// Which session of this process it is.
    pub fn id(&self) -> SessionId {
        self.terms.id
    }

    /// Who calls.
    pub fn peer(&self) -> &Peer {
        &self.terms.peer
    }

    /// Where to see that the client's process is gone, also if a forked child of it holds the
    /// socket. Only for a client that connected by itself: the ends of a pair name the process that
    /// made the pair.
    pub(crate) fn watch_exit(&mut self, exit: Option<OwnedFd>) {
        self.exit = exit;
    }

    pub(crate) fn exit(&self) -> Option<BorrowedFd<'_>> {
        self.exit.as_ref().map(OwnedFd::as_fd)
    }

    /// Notes that a worker serves it.
    pub(crate) fn join(&mut self, inbox: Arc<Inbox>) {
        self.terms.worker = Some(inbox);
    }

    /// Takes the shared session that this one has become, and the descriptor that shows the
    /// client's exit. The caller serves that session from then on.
    pub(crate) fn take_shared(&mut self) -> Option<(ServerChannel, Option<OwnedFd>)> {
        let channel = self.place.take_shared()?;
        Some((channel, self.exit.take()))
    }

    /// Sets the time for which replies wait for memory.
    pub(crate) fn set_reply_timeout(&mut self, timeout: Duration) {
        self.terms.reply_timeout = Some(timeout);
    }

    /// Returns true if it is to be served again before long although no event will report anything:
    /// the socket could not be read empty.
    pub(crate) fn looks_again(&self) -> bool {
        self.place.link().is_unread()
    }

    /// Announces that this side is about to sleep until there is something to do, and polls once
    /// more. True if there is nothing.
    pub(crate) fn prepare_sleep(&mut self) -> Result<bool, SessionError> {
        Ok(self.link().prepare_sleep()?)
    }

    /// Whether the client is gone and all that it committed was taken. (Entries about segments are
    /// taken one at a time and count as nothing served.)
    pub(crate) fn is_exhausted(&mut self) -> bool {
        let link = self.link();
        link.is_closed() && !link.ready().unwrap_or(true)
    }

    /// Whether nothing is served before the socket has taken some of the replies.
    pub(crate) fn is_backlogged(&self) -> bool {
        self.place.link().is_backlogged()
    }

    /// Whether something may be there although a turn has served nothing: it was a piece of an
    /// entry about a segment.
    pub(crate) fn may_have_more(&mut self) -> bool {
        // An error is what the next turn ends with.
        self.link().ready().unwrap_or(true)
    }

    /// Whether this side, being short of something, is to try again later.
    pub(crate) fn may_retry(&mut self) -> bool {
        self.orphan.may_retry(self.place.link().is_closed())
    }

    /// Lets a shortage be for a moment, and sees whether the client is still there.
    fn pause(&mut self) -> Result<(), SessionError> {
        std::thread::sleep(RETRY_AFTER);
        if self.client_is_gone() {
            self.link().notice(Notice::PeerGone)?;
        }
        Ok(())
    }

    /// Asks the kernel whether the client is still there.
    pub(crate) fn client_is_gone(&self) -> bool {
        is_gone(self.socket(), self.exit())
    }

    pub(crate) fn carrier(&self) -> Carrier {
        self.place.link().carrier()
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.place.link().socket()
    }

    /// Whether something is left to be written once the socket has room.
    #[inline(always)]
    pub(crate) fn has_unwritten(&self) -> bool {
        self.place.link().has_unwritten()
    }

    /// Says that the session is over, behind all replies, and serves no more.
    pub(crate) fn say_shutdown(&mut self) {
        if self.broken || std::mem::replace(&mut self.has_said_shutdown, true) {
            // Without an orderly end: the client is to see that.
            return;
        }
        let client_has_closed = self.client_has_closed;
        let Place::Alone(link) = &mut self.place else { return };
        if !client_has_closed {
            // A full ring or a dead peer: the end of file says the same, less politely.
            let _ = link.send(Head::of_session(Kind::Shutdown, 0), Body::Bytes(&[]));
        }
        let _ = link.flush_now();
    }

    #[inline(always)]
    pub(crate) fn link(&mut self) -> &mut Link {
        self.place.link_mut()
    }

    /// Serves calls on this thread until the client closes the session.
    pub fn serve(mut self, handler: &impl Handler) -> Result<(), SessionError> {
        let mut short = LogLimit::new();
        clock::calibrate();
        let ticks = clock::ticks_in(SLICE);
        loop {
            let mut slice = Slice::new(clock::ticks(), ticks);
            let progress = self.serve_some(handler, 1, &mut slice);
            if let Some(channel) = self.place.take_shared() {
                return serve_shared(&channel, handler);
            }
            let waited = progress.and_then(|progress| {
                if progress == Progress::Served(0) {
                    self.wait()?;
                }
                Ok(progress)
            });
            match waited {
                Ok(Progress::Closed) => return Ok(()),
                Ok(Progress::Served(_)) => {}
                Err(error) if error.is_shortage() && self.may_retry() => {
                    if let Some(suppressed) = short.admit() {
                        tracing::warn!(peer = ?self.peer(), %error, suppressed, "session waits");
                    }
                    self.pause()?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until there may be something to serve.
    fn wait(&mut self) -> Result<(), SessionError> {
        let link = self.link();
        let want = if link.is_backlogged() { Want::Consumed(0) } else { Want::Data };
        Ok(link.wait(want, Deadline::NEVER)?)
    }

    /// Serves what is there, within a slice, polling so many times for the first request. An error
    /// ends the session.
    #[inline(always)]
    pub(crate) fn serve_some(
        &mut self,
        handler: &impl Handler,
        polls: u32,
        slice: &mut Slice<'_>,
    ) -> Result<Progress, SessionError> {
        let outcome = self.try_serve(handler, polls, slice);
        self.broken |= outcome.as_ref().is_err_and(|error| !error.is_shortage());
        outcome
    }

    #[inline(always)]
    fn try_serve(
        &mut self,
        handler: &impl Handler,
        polls: u32,
        slice: &mut Slice<'_>,
    ) -> Result<Progress, SessionError> {
        let link = self.link();
        for _ in 1..polls {
            if link.ready()? {
                break;
            }
            cpu::spin_hint();
        }
        link.look();
        let mut served = 0;
        loop {
            let link = self.link();
            if link.is_backlogged() {
                break;
            }
            match link.take() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.not_taken(error)?;
                    served += 1;
                    continue;
                }
            }
            let len = link.body().len();
            let mut one_way = false;
            if link.head().kind == Kind::Message as u8 {
                one_way = self.serve_request(handler, slice)?;
                if self.place.is_shared() {
                    return Ok(Progress::Served(served + 1));
                }
            } else {
                match validate_plain(link.head(), len, Side::Server)? {
                    Subject::Shutdown => {
                        self.client_has_closed = true;
                        return Ok(Progress::Closed);
                    }
                    // A cancel comes too late here: a call is served in one piece.
                    _ => link.finish()?,
                }
            }
            served += 1;
            let goes_on = if one_way {
                slice.goes_on_after_one_way(len, &mut self.group)
            } else {
                slice.goes_on_after(len)
            };
            if !goes_on {
                break;
            }
        }
        self.link().flush_progress()?;
        Ok(Progress::Served(served))
    }

    /// Fails a call whose request found no memory. Any other error ends the session.
    #[cold]
    fn not_taken(&mut self, error: LinkError) -> Result<(), SessionError> {
        let head = match &error {
            LinkError::Unreceived(unreceived) => unreceived.request(),
            _ => None,
        };
        let (LinkError::Unreceived(unreceived), Some(head)) = (&error, head) else {
            return Err(error.into());
        };
        let failure = Failure::new(ErrorCode::NoMemory, &unreceived.to_string());
        self.not_replied(Request::of(head), false, failure)
    }

    /// Serves the current request; true if it was a one-way message.
    #[inline(always)]
    fn serve_request(
        &mut self,
        handler: &impl Handler,
        slice: &mut Slice<'_>,
    ) -> Result<bool, SessionError> {
        let head = self.link().head();
        check_plain_request(head)?;
        let request = Request::of(head);
        if request.one_way {
            slice.begin_one_way();
        }
        let mut replied = false;
        // The handler sees the session only through the call, which is gone when it returns or
        // unwinds; what is left, reserved space, is given back below.
        let mut failure = None;
        // All by one reference: what a closure captures is copied where panics are caught, and a
        // copy of what was just written waits for it.
        let captured = &mut (&mut *self, &mut replied, &mut failure, handler);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let (session, replied, failure, handler) = &mut *captured;
            // Made anew of what lies there, for the same reason.
            let request = Request::of(session.place.link().head());
            let mut serving = session.serving(request, replied);
            serving.limit = handler.call_limit();
            match handler.handle(Call::here(&mut serving)) {
                Ok(_) => {}
                Err(error) => **failure = Some(Failure::of(error)),
            }
        }));
        if let Err(panic) = outcome {
            failure = Some(Failure::panicked(&*panic));
        }
        if failure.is_some() || !replied {
            let silent = || Failure::new(ErrorCode::Failed, "the handler did not reply");
            self.not_replied(request, replied, failure.unwrap_or_else(silent))?;
        }
        if let Place::Alone(link) = &mut self.place {
            // Of a one-way message: a reply has done so.
            link.finish()?;
        }
        Ok(request.one_way)
    }

    #[inline(always)]
    fn serving<'c>(&'c mut self, request: Request, replied: &'c mut bool) -> Serving<'c> {
        Serving { place: &mut self.place, terms: &self.terms, replied, request, limit: None }
    }

    /// Deals with a handler that failed or panicked.
    #[cold]
    fn not_replied(
        &mut self,
        request: Request,
        mut replied: bool,
        failure: Failure,
    ) -> Result<(), SessionError> {
        let code = match failure.reply_error {
            Some(ReplyError::Full { unconsumed }) => return Err(too_many_calls(unconsumed)),
            Some(ReplyError::Session(error)) => return Err(error),
            Some(
                ReplyError::TooLarge { .. } | ReplyError::NoMemory { .. } | ReplyError::Segment(_),
            ) => ErrorCode::NoMemory,
            None => failure.code,
        };
        let reason = &failure.reason;
        if code == ErrorCode::Panicked || request.one_way || replied {
            tracing::warn!(method = request.method, %reason, "handler failed");
        }
        if replied || request.one_way {
            if let Place::Alone(link) = &mut self.place {
                link.abandon();
            }
            return Ok(());
        }
        self.link().abandon();
        match self.serving(request, &mut replied).fail(code, reason) {
            Ok(()) => Ok(()),
            Err(ReplyError::Session(error)) => Err(error),
            Err(ReplyError::Full { unconsumed }) => Err(too_many_calls(unconsumed)),
            // An inline reason needs no memory.
            Err(
                ReplyError::TooLarge { .. } | ReplyError::NoMemory { .. } | ReplyError::Segment(_),
            ) => Err(too_many_calls(0)),
        }
    }
}

/// Serves calls on this thread, with others that reply to those that were deferred.
fn serve_shared(channel: &ServerChannel, handler: &impl Handler) -> Result<(), SessionError> {
    while let Some(incoming) = channel.accept()? {
        match incoming {
            Incoming::Call(call) => offload::serve(DeferredCall::new(call), handler),
            Incoming::Stream(_, stream) => stream.reset(ErrorCode::Refused),
        }
    }
    Ok(())
}

/// The client has more calls in flight than the ring has slots for replies.
#[cold]
fn too_many_calls(unconsumed: usize) -> SessionError {
    CallViolation::TooManyCalls(unconsumed).into()
}

/// Why a call was not replied to. The message is taken while panics are still caught: making it is
/// the handler's own code.
struct Failure {
    code: ErrorCode,
    reason: String,
    reply_error: Option<ReplyError>,
}

impl Failure {
    fn new(code: ErrorCode, reason: &str) -> Self {
        Self { code, reason: reason.to_owned(), reply_error: None }
    }

    #[cold]
    fn of(error: crate::HandlerError) -> Self {
        let reason = error.to_string();
        let reply_error = error.downcast().ok().map(|error| *error);
        Self { code: ErrorCode::Failed, reason, reply_error }
    }

    #[cold]
    fn panicked(panic: &(dyn std::any::Any + Send)) -> Self {
        Self::new(ErrorCode::Panicked, &format!("the handler panicked: {}", panic_message(panic)))
    }
}

impl Drop for ServerSession {
    fn drop(&mut self) {
        self.say_shutdown();
    }
}

/// The message of a panic.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no message)")
}
