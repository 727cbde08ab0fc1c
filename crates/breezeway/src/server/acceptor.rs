//! Accepts clients and completes their handshakes without waiting for any of them: a silent client
//! delays no other.

mod admission;
mod handshakes;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use breezeway_os::{Notifier, Peer, Sleeper, TrustedPeer, open_files_limit, scm};

use super::half_open::{self, HalfOpen, HalfOpens, Shaken};
use super::listening::{Listening, Succession, address_of};
use super::monitor::{Monitor, Reason};
use crate::address::Address;
use crate::carrier::Carrier;
use crate::carrier::tls::TlsSocket;
use crate::carrier::wire::Wire;
use crate::connect;
use crate::error::{HandshakeError, ServeError};
use crate::hand_over::Door;
use crate::handshake::{Agreed, GreetingReceiver, ReadyControl};
use crate::listener::Listener;
use crate::log_limit::LogLimit;
use crate::options::ServerOptions;

/// Clients accepted before hellos are read again.
const ACCEPTS_PER_TURN: usize = 32;
/// Pause after a failure to accept that passes only with time, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Token of the stopper; those of listeners follow.
const STOPPER: u64 = 1 << 63;

/// Destination of agreed sessions.
pub(super) trait Destination {
    /// Returns the number of its sessions.
    fn sessions(&self) -> usize;

    /// Takes one more session.
    fn deliver(&mut self, accepted: Accepted);

    /// Returns true if clients that use neither streams nor metadata are offered none, as they are
    /// served faster without.
    fn prefers_plain(&self) -> bool {
        false
    }
}

/// An agreed session.
pub(super) struct Accepted {
    pub(super) agreed: Agreed,
    pub(super) peer: Peer,
    /// Readable once the client's process has ended.
    pub(super) exit: Option<OwnedFd>,
    /// Set if the client is trusted.
    pub(super) trusted: Option<TrustedPeer>,
}

pub(super) struct Acceptor<D> {
    /// The listening sockets; none once they were handed over.
    listeners: Vec<Listener>,
    address: Address,
    /// Link to the predecessor until this server begins, and then the door for a successor.
    succession: Option<Succession>,
    door: Option<Door>,
    /// Notified when a successor has taken over.
    handed_over: Notifier,
    options: ServerOptions,
    pub(super) destination: D,
    /// Held by each connection of another protocol.
    foreign: Arc<()>,
    sleeper: Sleeper,
    half_open: HalfOpens,
    ready_control: ReadyControl,
    monitor: Monitor,
    /// For each listener, true if another client may be waiting.
    pending: Vec<bool>,
    /// End of the pause while accepting fails for lack of a resource.
    pause_until: Option<Instant>,
    log: Logs,
}

/// One limit for each kind of log line that untrusted clients can cause.
struct Logs {
    denied: LogLimit,
    refused: LogLimit,
    failed: LogLimit,
    short: LogLimit,
}

impl<D: Destination> Acceptor<D> {
    pub(super) fn new(
        listening: Listening,
        options: ServerOptions,
        destination: D,
        monitor: Monitor,
    ) -> io::Result<Self> {
        let Listening { listeners, succession } = listening;
        let (sleeper, handed_over) = (Sleeper::new()?, Notifier::new()?);
        sleeper.watch(&handed_over, STOPPER)?;
        for (index, listener) in listeners.iter().enumerate() {
            sleeper.watch(listener, STOPPER + 1 + index as u64)?;
        }
        let log = Logs {
            denied: LogLimit::new(),
            refused: LogLimit::new(),
            failed: LogLimit::new(),
            short: LogLimit::new(),
        };
        Ok(Self {
            pending: vec![true; listeners.len()],
            address: address_of(&listeners),
            listeners,
            succession,
            door: None,
            handed_over,
            options,
            destination,
            foreign: Arc::new(()),
            sleeper,
            half_open: HalfOpens::new(half_open::most()),
            ready_control: ReadyControl::default(),
            monitor,
            pause_until: None,
            log,
        })
    }

    /// Takes over from the predecessor, if there is one. Called before the first turn.
    pub(super) fn begin(&mut self) -> Result<(), ServeError> {
        if let Some(succession) = self.succession.take() {
            self.door = Some(succession.begin(&mut self.listeners, &self.handed_over)?);
        }
        Ok(())
    }

    /// Returns true if a successor has the sockets; see [`Self::let_go`].
    pub(super) fn is_handed_over(&self) -> bool {
        self.door.as_ref().is_some_and(|door| door.handed_over().is_some())
    }

    /// Returns true after [`Self::let_go`].
    pub(super) fn has_let_go(&self) -> bool {
        self.listeners.is_empty()
    }

    /// Returns true while some clients have time to complete their hello. Silent ones do not count:
    /// they end with the server.
    pub(super) fn has_half_open(&self) -> bool {
        !self.half_open.are_silent()
    }

    /// Makes `notifier` end the sleep of [`Self::turn`].
    pub(super) fn watch_stopper(&self, notifier: &Notifier) -> io::Result<()> {
        self.sleeper.watch(notifier, STOPPER)
    }

    /// Returns the descriptor that is readable when [`Self::turn`] has something to do before
    /// [`Self::time_left`] is over.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.sleeper.as_fd()
    }

    /// Returns the options that sessions are created with.
    pub(super) fn options(&self) -> &ServerOptions {
        &self.options
    }

    /// Returns the address that the server listens at.
    pub(super) fn address(&self) -> Address {
        self.address.clone()
    }

    /// Waits until a client, a byte of a hello, a deadline or the stopper needs attention, but no
    /// longer than `timeout`, and does the due work. Returns true if the descriptor may still be
    /// readable.
    pub(super) fn turn(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        let woken = self.wait(timeout)?;
        self.give_up_late();
        self.accept_some();
        if !self.has_half_open() {
            self.ready_control.give_up();
        }
        Ok(woken)
    }

    /// Returns the time until [`Self::turn`] has something to do without an event, or None.
    pub(super) fn time_left(&mut self) -> Option<Duration> {
        let may_accept = self.pause_until.is_none() && self.pending.contains(&true);
        if may_accept {
            return Some(Duration::ZERO);
        }
        let patience = self.options.session.handshake_timeout;
        let late = self.half_open.oldest().map(|(_, since)| since + patience);
        let due = late.into_iter().chain(self.pause_until).min()?;
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// Sleeps, and reads the hellos that have arrived. Returns true if an event ended the sleep.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        let mut ready = Vec::new();
        let wakes = self.sleeper.wait(timeout)?;
        let woken = !wakes.is_empty();
        for wake in wakes {
            match wake.token.checked_sub(STOPPER) {
                None => ready.push(wake.token),
                Some(0) => {}
                Some(listener) => self.pending[listener as usize - 1] = true,
            }
        }
        for token in ready {
            self.advance(token);
        }
        Ok(woken)
    }

    /// Ends handshakes that have taken too long. A client that has sent nothing, and may speak
    /// another protocol, becomes silent.
    fn give_up_late(&mut self) {
        let patience = self.options.session.handshake_timeout;
        while let Some((token, since)) = self.half_open.oldest()
            && since.elapsed() >= patience
        {
            self.advance(token);
            match self.half_open.get_mut(token) {
                Some(client) if self.options.foreign.is_some() && client.has_sent_nothing() => {
                    self.half_open.set_since(token, None);
                }
                _ => self.finish(token, Err(HandshakeError::Timeout(patience))),
            }
        }
    }

    fn accept_some(&mut self) {
        if self.pause_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        self.pause_until = None;
        // Bounded: clients that connect continuously must not delay the hellos of others.
        for index in 0..self.listeners.len() {
            for _ in 0..ACCEPTS_PER_TURN {
                if !self.pending[index] {
                    break;
                }
                let (accepted, carrier) =
                    (self.listeners[index].accept(), self.listeners[index].carrier());
                match accepted {
                    Ok(Some(socket)) => self.admit(socket, carrier),
                    Ok(None) => self.pending[index] = false,
                    Err(error) => {
                        let limit = open_files_limit();
                        let suppressed = self.log.short.admit();
                        if let Some(suppressed) = suppressed {
                            tracing::warn!(
                                %error, limit, suppressed,
                                "cannot accept clients; is the limit of open files (ulimit -n) too \
                                 low?"
                            );
                        }
                        self.pause_until = Some(Instant::now() + ACCEPT_PAUSE);
                        return;
                    }
                }
            }
        }
    }

    /// Starts a client's handshake if the policy admits the client, and completes it at once if its
    /// hello has arrived.
    fn admit(&mut self, socket: OwnedFd, carrier: Carrier) {
        let peer = match connect::peer(&socket, carrier) {
            Ok(peer) => peer,
            Err(error) => {
                if let Some(suppressed) = self.log.failed.admit() {
                    tracing::warn!(%error, suppressed, "cannot ask the kernel who connects");
                }
                return scm::close_connection(socket);
            }
        };
        let wire = match carrier {
            Carrier::Tls => match TlsSocket::accept(socket, self.options.session.own_tls()) {
                Ok(tls) => Wire::from(tls),
                Err(error) => {
                    if let Some(suppressed) = self.log.failed.admit() {
                        tracing::warn!(%error, suppressed, "no TLS for a client");
                    }
                    return;
                }
            },
            _ => socket.into(),
        };
        let receiver = GreetingReceiver::of_client(carrier, self.options.foreign.is_some());
        let mut client = HalfOpen { wire, carrier, peer, receiver, since: Some(Instant::now()) };
        match client.shake() {
            Ok(Shaken::Before | Shaken::Now) => {}
            Ok(Shaken::NotYet { .. }) => return self.keep(client),
            Err(error) => return self.complete(client, Err(error)),
        }
        if let Some(objection) = self.objection(&client.peer) {
            return self.turn_away(client, objection);
        }
        match client.receiver.receive(&mut client.wire) {
            Ok(Some(received)) => self.complete(client, Ok(received)),
            Ok(None) => self.keep(client),
            Err(error) => self.complete(client, Err(error)),
        }
    }

    /// Stores a client until its hello arrives, and makes room for it if required.
    fn keep(&mut self, client: HalfOpen) {
        while self.half_open.is_full()
            && let Some(victim) = self.half_open.next_victim()
        {
            // Its hello may have arrived unread.
            self.advance(victim);
            self.finish(victim, Err(HandshakeError::PushedOut));
        }
        let token = self.half_open.next_token();
        let mut watched = self.sleeper.watch(&client, token);
        if client.has_unwritten() {
            watched = watched.and_then(|()| self.sleeper.watch_room(&client, token, true));
        }
        match watched {
            Ok(()) => {
                self.ready_control.make(client.carrier, &self.options.session);
                self.half_open.insert(client);
            }
            Err(error) => self.complete(client, Err(error.into())),
        }
    }
}

impl<D> Acceptor<D> {
    /// Leaves the listening sockets to the successor that has them. Accepted clients are kept.
    pub(super) fn let_go(&mut self) {
        let taken = self.door.take().and_then(|door| door.handed_over()).unwrap_or(0);
        self.pending.clear();
        for (number, listener) in self.listeners.drain(..).enumerate() {
            if let Err(error) = self.sleeper.forget(&listener) {
                tracing::warn!(%error, "cannot stop watching a listening socket");
            }
            if taken & 1 << number != 0 {
                listener.release();
            }
        }
    }
}

impl<D> Drop for Acceptor<D> {
    fn drop(&mut self) {
        // A successor may have come while this server was about to end.
        if self.door.as_ref().is_some_and(|door| !door.close()) {
            self.let_go();
        }
    }
}
