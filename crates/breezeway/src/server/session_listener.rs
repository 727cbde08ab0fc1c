//! Accepting shared sessions in an event loop of any kind.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use super::acceptor::{Accepted, Acceptor, Destination};
use super::listening::Listening;
use super::monitor::Monitor;
use crate::address::Address;
use crate::call_limit::CallLimit;
use crate::channel::{Counted, Driver, ServerChannel};
use crate::error::ServeError;
use crate::handshake::HandshakeError;
use crate::options::ServerOptions;

/// Listens, and completes handshakes, for an event loop: a task of an async runtime, or a thread
/// with epoll. It enforces what a [`Server`](super::Server) does: the policy, the limits, and the
/// time that a client has for its hello.
///
/// Its descriptor is to be watched for being readable, level- or edge-triggered. [`Self::accept`]
/// comes when it was, and when [`Self::time_left`] is over.
pub struct SessionListener {
    acceptor: Acceptor<Agreements>,
    /// Whether the descriptor may be readable still, of which no edge says so again.
    may_be_readable: bool,
    monitor: Monitor,
}

/// Sessions that nobody has taken.
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
    /// Listens at all places of the address. The number of workers does not matter.
    pub fn bind(address: &Address, options: ServerOptions) -> Result<Self, ServeError> {
        let listening = Listening::at(address, &options)?;
        let monitor = Monitor::new(&options);
        let acceptor = Acceptor::new(listening, options, Agreements::default(), monitor.clone())?;
        Ok(Self { acceptor, may_be_readable: true, monitor })
    }

    /// Where to ask what its sessions do.
    pub fn monitor(&self) -> Monitor {
        self.monitor.clone()
    }

    /// What bounds the calls of all its sessions that are in flight.
    #[doc(hidden)]
    pub fn call_limit(&self) -> CallLimit {
        self.monitor.call_limit().clone()
    }

    /// Whether a successor has [taken over](ServerOptions::take_over): nobody is accepted any more,
    /// but for clients that had connected before, which [`Self::accept`] gives until
    /// [`Self::is_exhausted`]. Their channels, as all others, are to be told to [go
    /// away](ServerChannel::go_away), and to be served until they have.
    pub fn is_handed_over(&self) -> bool {
        self.acceptor.is_handed_over() || self.acceptor.has_let_go()
    }

    /// Whether [`Self::accept`] gives nobody any more, as a successor has taken over.
    pub fn is_exhausted(&mut self) -> bool {
        self.acceptor.has_let_go()
            && !self.acceptor.has_half_open()
            && self.acceptor.destination.waiting.is_empty()
    }

    /// Where it listens: the address that it was given, with the ports that it has got where 0 was
    /// asked for.
    pub fn address(&self) -> Address {
        self.acceptor.address()
    }

    /// The next client whose handshake is complete, if there is one. Never blocks, but for the
    /// first call with [`ServerOptions::take_over`]: for up to 5 s, if the predecessor is stuck.
    /// The session counts against `max_sessions` until its driver is dropped.
    pub fn accept(&mut self) -> io::Result<Option<(ServerChannel, Driver)>> {
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
                Err(error) => tracing::warn!(%error, "no session"),
            }
        }
        Ok(None)
    }

    fn open(&self, accepted: Accepted) -> Result<(ServerChannel, Driver), HandshakeError> {
        let Accepted { agreed, peer, exit, trusted } = accepted;
        let options = self.acceptor.options();
        let (channel, driver) = ServerChannel::accepted(agreed, peer, options)?;
        let channel = match trusted {
            Some(proof) => channel.trusting(proof),
            None => channel,
        };
        tracing::debug!(peer = ?channel.peer(), "session started");
        let presence = options.hooks.start(channel.session(), channel.peer());
        let place = Arc::clone(&self.acceptor.destination.taken);
        Ok((channel, driver.accepted(exit, Counted { presence, _place: place })))
    }

    /// The time after which [`Self::accept`] has something to do, whatever the descriptor says, if
    /// it will.
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
