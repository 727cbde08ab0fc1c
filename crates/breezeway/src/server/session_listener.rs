//! A listener of shared sessions for an event loop of any kind.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use super::acceptor::{Accepted, Acceptor, Destination};
use super::listening::Listening;
use super::monitor::Monitor;
use crate::address::{Address, AddressError};
use crate::call_limit::CallLimit;
use crate::error::{HandshakeError, ServeError, describe};
use crate::options::ServerOptions;
use crate::session::{Counted, Driver, ServerSession};

/// Listens, and completes handshakes, for an event loop: a task of an async runtime, or a thread
/// with epoll. It enforces the same rules as a [`Server`](super::Server): the policy, the limits,
/// and the time that a client has for its hello. Only
/// [`max_calls_in_flight`](ServerOptions::max_calls_in_flight) has no effect: the loop bounds the
/// calls that it keeps.
///
/// The event loop watches its descriptor for being readable, level- or edge-triggered, and calls
/// [`Self::accept`] when it is, and when [`Self::time_left`] is over.
pub struct SessionListener {
    acceptor: Acceptor<Agreements>,
    /// True if the descriptor may still be readable although no further edge reports it.
    may_be_readable: bool,
    monitor: Monitor,
}

/// Agreed sessions that were not yet taken.
#[derive(Default)]
struct Agreements {
    waiting: VecDeque<Accepted>,
    /// Held by each session that was taken, until its driver is dropped.
    taken: Arc<()>,
}

impl Destination for Agreements {
    fn sessions(&self) -> usize {
        self.waiting.len() + Arc::strong_count(&self.taken) - 1
    }

    fn deliver(&mut self, accepted: Accepted) {
        self.waiting.push_back(accepted);
    }
}

impl SessionListener {
    /// Listens at all places of the address. The number of workers is ignored.
    pub fn bind(
        address: impl TryInto<Address, Error: Into<AddressError>>,
        options: ServerOptions,
    ) -> Result<Self, ServeError> {
        let listening = Listening::at(&Address::of(address)?, &options)?;
        let monitor = Monitor::new(&options);
        let acceptor = Acceptor::new(listening, options, Agreements::default(), monitor.clone())?;
        Ok(Self { acceptor, may_be_readable: true, monitor })
    }

    /// Returns a handle to the statistics of its sessions.
    pub fn monitor(&self) -> Monitor {
        self.monitor.clone()
    }

    /// Returns the limit on the calls in flight of all its sessions.
    pub(crate) fn call_limit(&self) -> CallLimit {
        self.monitor.call_limit().clone()
    }

    /// Returns true if a successor has [taken over](ServerOptions::take_over): no more clients are
    /// accepted, apart from clients that had connected before, which [`Self::accept`] returns until
    /// [`Self::is_exhausted`]. The caller then asks all sessions to [go
    /// away](ServerSession::go_away), and serves them until they have.
    pub fn is_handed_over(&self) -> bool {
        self.acceptor.is_handed_over() || self.acceptor.has_let_go()
    }

    /// Returns true if [`Self::accept`] returns no more sessions, as a successor has taken over.
    pub fn is_exhausted(&mut self) -> bool {
        self.acceptor.has_let_go()
            && !self.acceptor.has_half_open()
            && self.acceptor.destination.waiting.is_empty()
    }

    /// Returns the address that it was given, with the actual ports in place of 0.
    pub fn address(&self) -> Address {
        self.acceptor.address()
    }

    /// Returns the next client with a complete handshake, or None. Never blocks, apart from the
    /// first call with [`ServerOptions::take_over`]: for up to 5 s, if the predecessor hangs. The
    /// session counts against `max_sessions` until its driver is dropped.
    pub fn accept(&mut self) -> io::Result<Option<(ServerSession, Driver)>> {
        self.acceptor.begin().map_err(io::Error::other)?;
        if self.acceptor.is_handed_over() {
            self.acceptor.let_go();
        }
        if self.acceptor.destination.waiting.is_empty() {
            self.may_be_readable = self.acceptor.turn(Some(Duration::ZERO))?;
        }
        while let Some(accepted) = self.acceptor.destination.waiting.pop_front() {
            match self.open(accepted) {
                Ok(session) => return Ok(Some(session)),
                // The client sees the end of the session.
                Err(error) => tracing::warn!(error = %describe(&error), "no session"),
            }
        }
        Ok(None)
    }

    fn open(&self, accepted: Accepted) -> Result<(ServerSession, Driver), HandshakeError> {
        let Accepted { agreed, peer, exit, trusted } = accepted;
        let options = self.acceptor.options();
        let (session, driver) = ServerSession::accepted(agreed, peer, options)?;
        let session = match trusted {
            Some(proof) => session.trusting(proof),
            None => session,
        };
        tracing::debug!(peer = ?session.peer(), "session started");
        let presence = options.hooks.start(session.session(), session.peer());
        let place = Arc::clone(&self.acceptor.destination.taken);
        Ok((session, driver.accepted(exit, Counted { presence, _place: place })))
    }

    /// Returns the time after which [`Self::accept`] must be called without an event, or None.
    pub fn time_left(&mut self) -> Option<Duration> {
        let is_due = self.may_be_readable || !self.acceptor.destination.waiting.is_empty();
        if is_due { Some(Duration::ZERO) } else { self.acceptor.time_left() }
    }
}

impl AsFd for SessionListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.acceptor.descriptor()
    }
}
