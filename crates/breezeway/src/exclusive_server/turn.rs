//! A turn of a session: takes requests and passes them to the handler.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use breezeway_os::cpu;
use breezeway_proto::validate::{Request, Side, Subject, check_plain_request, validate_plain};
use breezeway_proto::{CallViolation, ErrorCode};
use breezeway_shm::Want;

use super::ExclusiveServerSession;
use crate::call::{Call, Handler, HandlerError};
use crate::carrier::{LinkError, Notice};
use crate::error::{CallError, ReplyError, SessionError, describe};
use crate::link::Flush;
use crate::offload;
use crate::reasons::panic_message;
use crate::serving::{Place, Serving};
use crate::session::{Incoming, Turn};
use crate::slice::Slice;

/// Result of serving a session for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// This many entries were handled; 0 if there were none.
    Served(usize),
    /// The session has drained, and the client has not taken all entries.
    Closing,
    /// The session was closed in order.
    Closed,
}

impl ExclusiveServerSession {
    /// Serves the requests that have arrived, within a slice, polling up to `polls` times for the
    /// first one. An error ends the session.
    #[inline(always)]
    pub(crate) fn serve_some(
        &mut self,
        handler: &impl Handler,
        polls: u32,
        slice: &mut Slice<'_>,
    ) -> Result<Progress, SessionError> {
        if self.place.is_shared() {
            return self.serve_shared(handler, polls, slice);
        }
        let outcome = self.serve_alone(handler, polls, slice);
        if outcome.as_ref().is_err_and(|error| !error.is_shortage())
            && let Place::Alone(_, ending) = &mut self.place
        {
            ending.end(Arc::new(CallError::Ended), false);
        }
        outcome
    }

    /// Serves the requests that have arrived on a shared session. Out of line, to spare a worker of
    /// plain calls the cost.
    #[inline(never)]
    fn serve_shared(
        &mut self,
        handler: &impl Handler,
        polls: u32,
        slice: &mut Slice<'_>,
    ) -> Result<Progress, SessionError> {
        self.terms.begin_turn();
        let (turn, mut has_arrivals) = self.place.driver_mut().turn(polls)?;
        let driver = self.place.driver();
        let mut served = 0;
        if turn == Some(Turn::Worked) {
            served += 1;
            has_arrivals &= slice.goes_on_after(0);
        }
        while has_arrivals && let Some(incoming) = driver.accept() {
            served += 1;
            has_arrivals = slice.goes_on_after(self.serve_incoming(incoming, handler));
        }
        match turn {
            // If another thread has the lock, there is still something to accept.
            Some(Turn::Ended) if served == 0 && !has_arrivals => {
                driver.error().map_or(Ok(Progress::Closed), Err)
            }
            Some(Turn::Closing) => Ok(Progress::Closing),
            _ => Ok(Progress::Served(served)),
        }
    }

    /// Serves one call, or finds a thread for a stream. Returns the bytes of the request.
    pub(super) fn serve_incoming(&self, incoming: Incoming, handler: &impl Handler) -> usize {
        match (incoming, &self.streams) {
            (Incoming::Call(call), _) => {
                let len = call.message().len();
                offload::serve(call, handler, self.terms.call_limit.as_ref());
                return len;
            }
            (Incoming::Stream(method, stream), Some((threads, share))) => {
                threads.serve(share, method, stream);
            }
            (Incoming::Stream(_, stream), None) => stream.reset(ErrorCode::Refused),
        }
        0
    }

    #[inline(always)]
    fn serve_alone(
        &mut self,
        handler: &impl Handler,
        polls: u32,
        slice: &mut Slice<'_>,
    ) -> Result<Progress, SessionError> {
        let link = self.link();
        for _ in 1..polls {
            if link.has(Want::Data)? {
                break;
            }
            cpu::spin_hint();
        }
        link.notice(Notice::Turn)?;
        let mut served = 0;
        loop {
            let link = self.link();
            if link.status().backlogged {
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
            if link.head().is_message() {
                one_way = self.serve_request(handler, slice)?;
                if self.place.is_shared() {
                    return Ok(Progress::Served(served + 1));
                }
            } else {
                match validate_plain(link.head(), len, Side::Server)? {
                    Subject::Shutdown => {
                        self.peer_closed();
                        return Ok(Progress::Closed);
                    }
                    // A cancel is too late here: a call is served in one piece.
                    _ => link.finish()?,
                }
            }
            served += 1;
            let goes_on = if one_way {
                slice.goes_on_after_one_way(len, &mut self.quick)
            } else {
                slice.goes_on_after(len)
            };
            if !goes_on {
                break;
            }
        }
        self.link().flush(Flush::Progress)?;
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

    /// Serves the current request; returns true for a one-way message.
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
        // unwinds; unsent reserved space is given back below.
        let mut failure = None;
        // One reference to all: the captures of a closure are copied where panics are caught, and a
        // copy of data just written stalls until it has been stored.
        let captured = &mut (&mut *self, &mut replied, &mut failure, handler);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let (session, replied, failure, handler) = &mut *captured;
            // Rebuilt from the entry, for the same reason.
            let request = Request::of(session.place.link().head());
            let mut serving = session.serving(request, replied);
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
        if let Place::Alone(link, _) = &mut self.place {
            // For a one-way message: a reply has finished the request already.
            link.finish()?;
        }
        Ok(request.one_way)
    }

    #[inline(always)]
    pub(super) fn serving<'c>(
        &'c mut self,
        request: Request,
        replied: &'c mut bool,
    ) -> Serving<'c> {
        Serving { place: &mut self.place, terms: &self.terms, replied, request }
    }

    /// Handles a handler that failed or panicked.
    #[cold]
    fn not_replied(
        &mut self,
        request: Request,
        mut replied: bool,
        failure: Failure,
    ) -> Result<(), SessionError> {
        let code = match failure.reply_error {
            Some(error @ (ReplyError::Full { .. } | ReplyError::Session(_))) => {
                return Err(not_failed(error));
            }
            Some(
                ReplyError::TooLarge { .. } | ReplyError::NoMemory { .. } | ReplyError::Segment(_),
            ) => ErrorCode::NoMemory,
            Some(
                ReplyError::TooMuchMetadata { .. }
                | ReplyError::SpaceOfAnotherSession
                | ReplyError::SessionEnded
                | ReplyError::Forked,
            )
            | None => failure.code,
        };
        let reason = &failure.reason;
        if code == ErrorCode::Panicked || request.one_way || replied {
            tracing::warn!(method = request.method, %reason, "handler failed");
        }
        if replied || request.one_way {
            if let Place::Alone(link, _) = &mut self.place {
                link.truncate(0);
            }
            return Ok(());
        }
        self.link().truncate(0);
        self.serving(request, &mut replied).fail(code, reason).map_err(not_failed)
    }
}

/// Returns the error that ends the session of a call which could not even be failed.
#[cold]
fn not_failed(error: ReplyError) -> SessionError {
    match error {
        ReplyError::Session(error) => error,
        ReplyError::Forked => SessionError::Forked,
        // The client has more calls in flight than the ring has slots for replies.
        ReplyError::Full { unconsumed } => CallViolation::TooManyCalls(unconsumed).into(),
        // An inline reason needs only memory of this process, and only on a socket.
        ReplyError::TooLarge { .. }
        | ReplyError::NoMemory { .. }
        | ReplyError::Segment(_)
        | ReplyError::TooMuchMetadata { .. }
        | ReplyError::SpaceOfAnotherSession
        | ReplyError::SessionEnded => SessionError::Io(io::Error::other(error)),
    }
}

/// Failure of a call without a reply. The message is created while panics are still caught, as
/// creating it runs the handler's own code.
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
    fn of(error: HandlerError) -> Self {
        let reason = describe(&*error);
        let reply_error = error.downcast().ok().map(|error| *error);
        Self { code: ErrorCode::Failed, reason, reply_error }
    }

    #[cold]
    fn panicked(panic: &(dyn std::any::Any + Send)) -> Self {
        Self::new(ErrorCode::Panicked, &format!("the handler panicked: {}", panic_message(panic)))
    }
}
