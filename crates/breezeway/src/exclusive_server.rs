//! The serving end of one session.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use breezeway_os::shortage::RETRY_AFTER;
use breezeway_os::{Deadline, Peer, TrustedPeer, Waiting, clock, ready};
use breezeway_shm::Want;
use rustix::event::PollFlags;

use crate::call::Handler;
use crate::call_limit::CallLimit;
use crate::carrier::stream::SHORTAGE_PATIENCE;
use crate::carrier::{Carrier, Notice};
use crate::error::{ConnectError, HandshakeError, SessionError, describe};
use crate::handshake::{self, Agreed};
use crate::link::Link;
use crate::log_limit::LogLimit;
use crate::options::SessionOptions;
use crate::presence::SessionId;
use crate::serving::{Place, Terms, TurnQueue, TurnWaker};
use crate::session::{Driving, ServerSession, WorkerDriver};
use crate::slice::{SLICE, Slice};
use crate::stream_threads::{Share, StreamThreads};

mod ending;
mod turn;
pub(crate) use turn::Progress;

/// The serving end of one session: for a parent and its child, for tests, and inside a
/// [`Server`](crate::Server).
///
/// A session without streams is served by one thread without a lock, until a handler defers a call
/// or a reply finds no memory. From then on threads share the session, as they share a
/// [`ServerSession`]. A session with streams is shared from the beginning.
pub struct ExclusiveServerSession {
    terms: Terms,
    place: Place,
    /// Readable once the client's process is gone.
    exit: Option<OwnedFd>,
    /// Quick one-way messages in a row, counted up to the number that is timed together.
    quick: u32,
    orphan: Orphan,
    /// The threads that serve its streams, and its client's share of them; `None` if the server
    /// takes no streams.
    streams: Option<(Arc<StreamThreads>, Share)>,
}

/// Deadline for retries of a session whose client ended during a shortage.
#[derive(Default)]
struct Orphan(Option<Deadline>);

impl Orphan {
    /// Returns true if the session is to be tried again later: without a limit while the client
    /// lives, and for a limited time after its end, as its descriptors may be those that are short.
    fn may_retry(&mut self, is_gone: bool) -> bool {
        !is_gone || !self.0.get_or_insert_with(|| Deadline::after(SHORTAGE_PATIENCE)).has_passed()
    }
}

/// Asks the kernel if a client is gone, by its session's socket or its process's descriptor.
fn is_gone(socket: BorrowedFd<'_>, exit: Option<BorrowedFd<'_>>) -> bool {
    let now = || Deadline::after(Duration::ZERO);
    let hung_up = ready(socket, PollFlags::RDHUP, now());
    let exited = exit.map_or(Ok(false), |exit| ready(exit, PollFlags::IN, now()));
    // A failed query rings again, or the end is found when the socket is read.
    hung_up.unwrap_or(false) || exited.unwrap_or(false)
}

impl ExclusiveServerSession {
    /// Answers the hello of a client that asks for shared memory on a connected unix stream socket,
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

    /// Creates a session that one thread serves alone.
    pub(crate) fn new(agreed: Agreed, peer: Peer, waiting: Waiting) -> Self {
        let terms = Terms::new(&agreed, peer, waiting);
        Self::at(terms, Place::alone(agreed.link, agreed.knows_go_away), None)
    }

    /// Creates a session that threads share from the beginning, as `threads` serve its streams. A
    /// worker drives it.
    pub(crate) fn with_streams(
        agreed: Agreed,
        peer: Peer,
        waiting: Waiting,
        threads: Arc<StreamThreads>,
    ) -> Self {
        let terms = Terms::new(&agreed, peer.clone(), waiting);
        let share = threads.share_of(&peer);
        let session = ServerSession::known_as(terms.id, agreed, peer, waiting, Driving::Elsewhere);
        let place = Place::Shared(Some(WorkerDriver::new(session)));
        Self::at(terms, place, Some((threads, share)))
    }

    fn at(terms: Terms, place: Place, streams: Option<(Arc<StreamThreads>, Share)>) -> Self {
        Self { terms, place, exit: None, quick: 0, orphan: Orphan::default(), streams }
    }

    /// Makes the session return requests as slices, without a copy, from now on.
    pub fn trusting(mut self, proof: TrustedPeer) -> Self {
        match &mut self.place {
            Place::Alone(link, _) => link.trust(proof),
            place => place.driver().trust(proof),
        }
        self
    }

    /// Sets the time that replies wait for memory.
    pub(crate) fn set_reply_timeout(&mut self, timeout: Duration) {
        self.terms.reply_timeout = Some(timeout);
        if let Place::Shared(_) = &self.place {
            self.place.driver().set_reply_timeout(timeout);
        }
    }

    /// Sets the limit that counts deferred calls.
    pub(crate) fn set_call_limit(&mut self, limit: CallLimit) {
        self.terms.call_limit = Some(limit);
    }

    /// Sets the descriptor that reports the exit of the client's process, also if a forked child of
    /// it holds the socket. Only for a client that connected: the ends of a pair name the process
    /// that created the pair.
    pub(crate) fn watch_exit(&mut self, exit: Option<OwnedFd>) {
        self.exit = exit;
    }

    /// Notes that a worker serves this session under this token.
    pub(crate) fn join(&mut self, turns: Arc<dyn TurnQueue>, token: usize) {
        let worker = Arc::new(TurnWaker::new(turns, token, self.terms.id));
        if let Place::Shared(_) = &self.place {
            self.place.driver().set_waker(&Arc::clone(&worker).into());
        }
        self.terms.worker = Some(worker);
    }

    /// Returns the id of the session within this process.
    pub fn id(&self) -> SessionId {
        self.terms.id
    }

    /// Returns the client's credentials.
    pub fn peer(&self) -> &Peer {
        &self.terms.peer
    }

    pub(crate) fn carrier(&self) -> Carrier {
        self.terms.carrier
    }

    pub(crate) fn exit(&self) -> Option<BorrowedFd<'_>> {
        self.exit.as_ref().map(OwnedFd::as_fd)
    }
}

// ---- the link, alone or behind a lock ----
impl ExclusiveServerSession {
    /// Passes its socket to `act`: of a shared session, while no other thread uses it.
    pub(crate) fn with_socket<R>(&self, act: impl FnOnce(BorrowedFd<'_>) -> R) -> R {
        match &self.place {
            Place::Alone(link, _) => act(link.socket()),
            place => place.driver().with_socket(act),
        }
    }

    /// Like [`with_socket`](Self::with_socket), unless another thread uses it now.
    pub(crate) fn try_with_socket<R>(&self, act: impl FnOnce(BorrowedFd<'_>) -> R) -> Option<R> {
        match &self.place {
            Place::Alone(link, _) => Some(act(link.socket())),
            place => place.driver().try_with_socket(act),
        }
    }

    /// Returns true if the client is gone and all that it committed was taken. (Entries about
    /// segments are taken one at a time and count as nothing served. A shared session reports this
    /// when it is served.)
    pub(crate) fn is_exhausted(&mut self) -> bool {
        match &mut self.place {
            Place::Alone(link, _) => link.status().closed && !link.has(Want::Data).unwrap_or(true),
            Place::Shared(_) => false,
        }
    }

    /// Returns true if this process lacks a resource and is to try again later.
    pub(crate) fn may_retry(&mut self) -> bool {
        let is_closed = match &self.place {
            Place::Alone(link, _) => link.status().closed,
            place => place.driver().is_closed(),
        };
        self.orphan.may_retry(is_closed)
    }

    /// Announces that this side is about to sleep until there is something to do, and polls once
    /// more. Returns the time at which the session is to be served again although no event reports
    /// anything: replies wait, the socket could not be read empty, or a drain or the last replies
    /// are late. `None` if there is something to do.
    pub(crate) fn prepare_sleep(&mut self) -> Result<Option<Deadline>, SessionError> {
        match &mut self.place {
            Place::Alone(link, _) => {
                let unread = |link: &Link| link.status().unread.then_some(RETRY_AFTER);
                Ok(link.prepare_sleep(Want::Data, None)?.then(|| Deadline::from(unread(link))))
            }
            place => {
                self.terms.begin_turn();
                Ok(place.driver_mut().prepare_sleep())
            }
        }
    }

    /// Records an event of the socket.
    pub(crate) fn notice(&mut self, notice: Notice) -> Result<(), SessionError> {
        match &mut self.place {
            Place::Alone(link, _) => link.notice(notice)?,
            place => place.driver_mut().notice(notice),
        }
        Ok(())
    }

    /// Reads the bytes that events have reported and that are not messages, and validates them.
    /// Returns false if some may be left there. A shared session reads them in its turns.
    pub(crate) fn read_unread(&mut self) -> Result<bool, SessionError> {
        match &mut self.place {
            Place::Alone(link, _) => {
                link.read_unread()?;
                Ok(!link.status().unread)
            }
            _ => Ok(true),
        }
    }

    /// Asks the kernel if the client still exists.
    pub(crate) fn client_is_gone(&self) -> bool {
        self.with_socket(|socket| is_gone(socket, self.exit()))
    }

    /// Returns true if the client last waited on the CPU that this thread runs on.
    pub(crate) fn shares_cpu(&mut self) -> bool {
        match &mut self.place {
            Place::Alone(link, _) => link.shares_cpu(),
            place => place.driver().shares_cpu(),
        }
    }

    /// Returns true if something is left to be written once the socket has room.
    #[inline(always)]
    pub(crate) fn has_unwritten(&self) -> bool {
        match &self.place {
            Place::Alone(link, _) => link.status().unwritten > 0,
            place => place.driver().has_unwritten(),
        }
    }

    /// Returns a function that runs its argument with the session's lock.
    #[cfg(test)]
    pub(crate) fn locked(&self) -> impl FnOnce(&mut dyn FnMut() -> bool) -> bool + Send + 'static {
        self.place.driver().locked()
    }
}

// ---- serving on a thread of its own ----
impl ExclusiveServerSession {
    /// Serves calls on this thread until the client closes the session.
    pub fn serve(mut self, handler: &impl Handler) -> Result<(), SessionError> {
        let mut short = LogLimit::new();
        clock::calibrate();
        let ticks = clock::ticks_in(SLICE);
        loop {
            let mut slice = Slice::new(clock::ticks(), ticks);
            let progress = self.serve_some(handler, 1, &mut slice);
            if let Place::Shared(_) = &self.place {
                return self.serve_to_the_end(handler);
            }
            let waited = progress.and_then(|progress| {
                if progress == Progress::Served(0) {
                    self.wait()?;
                }
                Ok(progress)
            });
            match waited {
                Ok(Progress::Closed) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.is_shortage() && self.may_retry() => {
                    if let Some(suppressed) = short.admit() {
                        let (peer, reason) = (self.peer(), describe(&error));
                        tracing::warn!(?peer, error = %reason, suppressed, "session waits");
                    }
                    self.pause()?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Serves calls on this thread, with other threads that reply to the deferred calls.
    fn serve_to_the_end(&self, handler: &impl Handler) -> Result<(), SessionError> {
        let session = self.place.driver().session();
        while let Some(incoming) = session.accept()? {
            self.serve_incoming(incoming, handler);
        }
        Ok(())
    }

    /// Waits until there may be something to serve.
    fn wait(&mut self) -> Result<(), SessionError> {
        let link = self.link();
        let want = if link.status().backlogged { Want::Consumed(0) } else { Want::Data };
        Ok(link.wait(want, Deadline::NEVER)?)
    }

    /// Waits for a moment in a shortage, and checks that the client still exists.
    fn pause(&mut self) -> Result<(), SessionError> {
        std::thread::sleep(RETRY_AFTER);
        if self.client_is_gone() { self.notice(Notice::PeerGone) } else { Ok(()) }
    }

    /// Returns the link of a session that is served alone.
    #[inline(always)]
    pub(crate) fn link(&mut self) -> &mut Link {
        self.place.link_mut()
    }
}
