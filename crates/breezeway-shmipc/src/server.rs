//! Serving: handshakes run on other threads, so that a slow client delays no other, and agreed
//! sessions are returned.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::task::Waker;
use std::thread::JoinHandle;
use std::time::Duration;

use breezeway_os::{Deadline, Notifier, scm};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};

use crate::address::Address;
use crate::core::Core;
use crate::error::{HandshakeError, ServeError, SessionEnd, StreamError};
use crate::handler::Handler;
use crate::handshake;
use crate::listener::Listener;
use crate::lock::{lock, wait};
use crate::log_limit::warn_limited;
use crate::options::ServerOptions;
use crate::session::Session;
use crate::stream::Stream;
use crate::wire::{self, MessageType};

/// Time that accepting rests when the process is out of descriptors or memory.
const REST: Duration = Duration::from_millis(20);
/// Time that a thread waits for the next handshake after one.
const HANDSHAKE_REST: Duration = Duration::from_secs(1);
/// Interval at which a hot restart polls for acknowledgements, for sessions without a receiving
/// thread.
const POLL_EVERY: Duration = Duration::from_millis(10);

/// Accepts shmipc clients at an address. Stops when dropped; sessions that it has returned
/// continue.
pub struct Server {
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

/// Stops a [`Server`] from any thread: no more clients are accepted, and [`Server::accept`] returns
/// `None`.
#[derive(Clone)]
pub struct Stopper(Weak<Shared>);

/// Result of a hot restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartReport {
    /// Number of sessions that their clients have replaced by one with the new server.
    pub acknowledged: usize,
    /// Number of sessions whose client did not acknowledge in time, or is gone.
    pub missing: usize,
}

struct Shared {
    options: ServerOptions,
    address: Address,
    stop: Notifier,
    state: Mutex<State>,
    changed: Condvar,
    accepted_more: Condvar,
}

#[derive(Default)]
struct State {
    stopped: bool,
    ready: VecDeque<Session>,
    sessions: Vec<Weak<Core>>,
    half_open: VecDeque<(u64, OwnedFd)>,
    restarted: Option<Restarted>,
    /// Connections before their handshake, with their tickets.
    accepted: VecDeque<(OwnedFd, u64)>,
    /// Number of threads that wait for one.
    resting: usize,
    next_ticket: u64,
    waiting: Vec<Waker>,
}

/// A hot restart that was announced, for clients whose handshake was in progress then.
#[derive(Clone, Copy)]
struct Restarted {
    epoch: u64,
    /// Ticket of the first connection that was accepted later. A client that connects that late has
    /// found the address without a new server behind it, and would be sent back here again and
    /// again.
    next_ticket: u64,
}

impl Server {
    /// Listens at `address`.
    pub fn bind(address: &Address, options: ServerOptions) -> Result<Self, ServeError> {
        options.validate_at(address)?;
        let listener = Listener::bind(address, options.socket_mode, options.take_over)?;
        Self::start(listener, options)
    }

    /// Serves a stream socket that already listens: one that was inherited from a parent, as by
    /// socket activation, or created with other settings. No file is removed when the server stops.
    ///
    /// ```no_run
    /// # use breezeway_shmipc::{Server, ServerOptions, Trust};
    /// let listener = std::os::unix::net::UnixListener::bind("/run/echo.sock")?;
    /// let server = Server::from_listener(listener, ServerOptions::new(Trust::SameUser))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_listener(
        listener: impl Into<OwnedFd>,
        options: ServerOptions,
    ) -> Result<Self, ServeError> {
        let listener = Listener::inherit(listener.into())?;
        options.validate_at(listener.address())?;
        Self::start(listener, options)
    }

    fn start(listener: Listener, options: ServerOptions) -> Result<Self, ServeError> {
        let address = listener.address().clone();
        let failed = |cause| ServeError::Listen { address: address.to_string(), cause };
        let shared = Arc::new(Shared {
            address: listener.address().clone(),
            options,
            stop: Notifier::new().map_err(failed)?,
            state: Mutex::default(),
            changed: Condvar::new(),
            accepted_more: Condvar::new(),
        });
        let own = Arc::clone(&shared);
        let accepting = std::thread::Builder::new()
            .name("shmipc-accept".to_owned())
            .spawn(move || own.accept_connections(&listener));
        Ok(Self { accepting: Some(accepting.map_err(failed)?), shared })
    }

    /// Returns the address it listens at; for TCP with the port that the kernel chose.
    pub fn address(&self) -> &Address {
        &self.shared.address
    }

    /// Returns the time limit of a client's handshake, from the options.
    pub fn handshake_timeout(&self) -> Duration {
        self.shared.options.session.handshake_timeout
    }

    /// Waits for the next session; `None` when the server was stopped.
    pub fn accept(&self) -> Option<Session> {
        let mut state = lock(&self.shared.state);
        loop {
            if let Some(session) = state.ready.pop_front() {
                return Some(session);
            }
            if state.stopped {
                return None;
            }
            state = wait(&self.shared.changed, state, Deadline::NEVER);
        }
    }

    /// Returns the next session or the end; if there is neither, `waker` is woken later.
    #[cfg(feature = "tokio")]
    pub(crate) fn poll_accept(&self, waker: &Waker) -> std::task::Poll<Option<Session>> {
        use std::task::Poll;
        let mut state = lock(&self.shared.state);
        if let Some(session) = state.ready.pop_front() {
            return Poll::Ready(Some(session));
        }
        if state.stopped {
            return Poll::Ready(None);
        }
        if !state.waiting.iter().any(|known| known.will_wake(waker)) {
            state.waiting.push(waker.clone());
        }
        Poll::Pending
    }

    /// Serves every session on a thread of its own until the server is stopped, like
    /// [`Session::serve`]. Ends the sessions when stopped.
    pub fn serve(&self, handler: impl Fn(&mut Stream) -> Result<(), StreamError> + Send + Sync) {
        self.serve_by(|session| session.serve(&handler));
    }

    /// Serves like [`serve`](Self::serve), with a handler that is also called at the begin and end
    /// of sessions and their streams.
    pub fn serve_with(&self, handler: &(impl Handler + Sync)) {
        self.serve_by(|session| session.serve_with(handler));
    }

    fn serve_by(&self, serve: impl Fn(&Session) -> SessionEnd + Sync) {
        std::thread::scope(|scope| {
            while let Some(session) = self.accept() {
                let serve = &serve;
                let serving = std::thread::Builder::new().name("shmipc-session".to_owned());
                let spawned = serving.spawn_scoped(scope, move || {
                    let end = serve(&session);
                    tracing::debug!(%end, "shmipc session");
                });
                if let Err(error) = spawned {
                    warn_limited!(%error, "no thread for a shmipc session, which is closed");
                }
            }
            self.close_sessions();
        });
    }

    /// Returns the live sessions, including those that were not yet accepted.
    pub fn sessions(&self) -> Vec<Session> {
        self.shared.live().into_iter().map(|core| Session { core }).collect()
    }

    /// Records the counts of the live sessions since the last call: see
    /// [`Session::record_metrics`].
    #[cfg(feature = "metrics")]
    pub fn record_metrics(&self) {
        self.sessions().iter().for_each(Session::record_metrics);
    }

    /// Ends all sessions that were accepted here.
    pub fn close_sessions(&self) {
        for core in self.shared.live() {
            core.end(SessionEnd::Closed);
        }
    }

    /// Returns a handle that stops the server from another thread.
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::downgrade(&self.shared))
    }

    /// Announces to all clients that a new server listens at the address, which it must already do,
    /// and waits until each has a session there, at most for `timeout` (upstream: 2 s). The old
    /// sessions continue until they are closed here. `epoch` must not be 0, and must differ from
    /// the last one's.
    ///
    /// A client that is still in its handshake gets the announcement once its session exists, and
    /// is not in the report.
    pub fn hot_restart(&self, epoch: u64, timeout: Duration) -> RestartReport {
        let live = self.shared.begin_restart(epoch);
        let announced: Vec<_> = live.iter().filter(|core| announce_restart(core, epoch)).collect();
        let deadline = Deadline::after(timeout);
        let acknowledged =
            announced.iter().filter(|core| await_acknowledgement(core, epoch, deadline)).count();
        RestartReport { acknowledged, missing: live.len() - acknowledged }
    }
}

/// Returns true if the client has already closed the connection, as a client does that only tests
/// whether a server listens: not worth a handshake. Its data, if any, stays in the socket.
fn is_closed(socket: &OwnedFd) -> bool {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    recv(socket, &mut [0; 1], flags).is_ok_and(|(_, received)| received == 0)
}

fn announce_restart(core: &Core, epoch: u64) -> bool {
    core.ended().is_none()
        && core.send(&wire::hot_restart(MessageType::HotRestart, core.version, epoch)).is_ok()
}

/// Returns true if the client acknowledges in time.
fn await_acknowledgement(core: &Core, epoch: u64, deadline: Deadline) -> bool {
    loop {
        let until = deadline.min(Deadline::after(POLL_EVERY));
        if core.restart.wait_acknowledged(epoch, until, || core.ended().is_some()) {
            return true;
        }
        if deadline.has_passed() || core.ended().is_some() {
            return false;
        }
        core.help_receive();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl Stopper {
    /// Stops the server, if it still runs.
    pub fn stop(&self) {
        if let Some(shared) = self.0.upgrade() {
            shared.stop();
        }
    }
}

impl Shared {
    fn stop(&self) {
        let mut state = lock(&self.state);
        state.stopped = true;
        for (_, socket) in state.half_open.drain(..) {
            let _ = shutdown(&socket, Shutdown::Both);
        }
        state.wake_all();
        self.stop.notify();
        self.changed.notify_all();
        self.accepted_more.notify_all();
    }

    fn accept_connections(self: &Arc<Self>, listener: &Listener) {
        loop {
            let mut fds = [
                PollFd::new(listener, PollFlags::IN),
                PollFd::from_borrowed_fd(self.stop.as_fd(), PollFlags::IN),
            ];
            let _ = poll(&mut fds, None);
            if lock(&self.state).stopped {
                return;
            }
            match self.accept_all(listener) {
                Ok(()) => {}
                Err(error) => {
                    warn_limited!(%error, "cannot accept a shmipc client");
                    std::thread::sleep(REST);
                }
            }
        }
    }

    /// Takes every waiting connection, so that the backlog has room.
    fn accept_all(self: &Arc<Self>, listener: &Listener) -> io::Result<()> {
        while let Some(socket) = listener.accept()? {
            if is_closed(&socket) {
                tracing::debug!("a shmipc client left before it sent anything");
            } else {
                self.begin(socket);
            }
        }
        Ok(())
    }

    /// Starts a handshake on a thread that has ended another one, or on a new one; at the limit the
    /// oldest unfinished handshake is ended.
    fn begin(self: &Arc<Self>, socket: OwnedFd) {
        let Some(ticket) = self.register(&socket) else {
            return scm::close_connection(socket);
        };
        let mut state = lock(&self.state);
        state.accepted.push_back((socket, ticket));
        if state.resting >= state.accepted.len() {
            drop(state);
            self.accepted_more.notify_one();
            return;
        }
        drop(state);
        let own = Arc::clone(self);
        let spawned = std::thread::Builder::new()
            .name("shmipc-handshake".to_owned())
            .spawn(move || own.shake_all_hands());
        if let Err(error) = spawned {
            warn_limited!(%error, "no thread for a shmipc handshake");
            self.give_up(ticket);
        }
    }

    /// Closes a connection for lack of a thread, unless a resting one has taken it.
    fn give_up(&self, ticket: u64) {
        let mut state = lock(&self.state);
        let place = state.accepted.iter().position(|(_, other)| *other == ticket);
        let accepted = place.and_then(|place| state.accepted.remove(place));
        drop(state);
        if let Some((socket, _)) = accepted {
            self.unregister(ticket);
            scm::close_connection(socket);
        }
    }

    /// Performs one handshake after the other, until none has come for a while.
    fn shake_all_hands(&self) {
        while let Some((socket, ticket)) = self.next_accepted() {
            self.shake_hands(socket, ticket);
        }
    }

    fn next_accepted(&self) -> Option<(OwnedFd, u64)> {
        let until = Deadline::after(HANDSHAKE_REST);
        let mut state = lock(&self.state);
        state.resting += 1;
        let next = loop {
            if let Some(next) = state.accepted.pop_front() {
                break Some(next);
            }
            if state.stopped || until.has_passed() {
                break None;
            }
            state = wait(&self.accepted_more, state, until);
        };
        state.resting -= 1;
        next
    }

    fn register(&self, socket: &OwnedFd) -> Option<u64> {
        let copy = socket.try_clone().inspect_err(|error| {
            warn_limited!(%error, "a shmipc client is refused: its socket cannot be duplicated");
        });
        let copy = copy.ok()?;
        let mut state = lock(&self.state);
        state.forget_ended();
        if state.sessions.len() >= self.options.max_sessions {
            let limit = self.options.max_sessions;
            warn_limited!(limit, "a shmipc client is refused: raise max_sessions");
            return None;
        }
        if state.half_open.len() >= self.options.max_half_open
            && let Some((_, oldest)) = state.half_open.pop_front()
        {
            let limit = self.options.max_half_open;
            warn_limited!(limit, "the oldest unfinished shmipc handshake is ended: max_half_open");
            let _ = shutdown(&oldest, Shutdown::Both);
        }
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.half_open.push_back((ticket, copy));
        Some(ticket)
    }

    /// Removes a ticket, before the socket is passed on, so that closing it closes the connection
    /// at once.
    fn unregister(&self, ticket: u64) {
        let mut state = lock(&self.state);
        let place = state.half_open.iter().position(|(other, _)| *other == ticket);
        let copy = place.and_then(|place| state.half_open.remove(place));
        drop(state);
        // Without the lock, because this may be the last descriptor.
        drop(copy);
    }

    fn shake_hands(&self, socket: OwnedFd, ticket: u64) {
        let shaken = handshake::accept(socket, &self.options);
        self.unregister(ticket);
        match shaken {
            Ok(parts) => {
                self.hand_out(Session::new(parts, self.options.session.clone()), ticket);
            }
            // A client that tests whether a server listens.
            Err(error @ HandshakeError::Closed) => tracing::debug!(%error, "shmipc handshake"),
            Err(error) => warn_limited!(%error, "a shmipc client is refused"),
        }
    }

    fn hand_out(&self, session: Session, ticket: u64) {
        let mut state = lock(&self.state);
        state.forget_ended();
        if state.stopped {
            return;
        }
        if state.sessions.len() >= self.options.max_sessions {
            let limit = self.options.max_sessions;
            warn_limited!(limit, "a shmipc client is refused: raise max_sessions");
            return;
        }
        let restarted = state.restarted.filter(|restarted| ticket < restarted.next_ticket);
        // Held only where it must be: dropping the last handle of a session frees its memory.
        let late = restarted.map(|restarted| (Arc::clone(&session.core), restarted.epoch));
        state.sessions.push(Arc::downgrade(&session.core));
        state.ready.push_back(session);
        state.wake_all();
        self.changed.notify_one();
        drop(state);
        if let Some((core, epoch)) = late {
            announce_restart(&core, epoch);
        }
    }

    /// Returns the sessions that must get the announcement; those still in their handshake get it
    /// later.
    fn begin_restart(&self, epoch: u64) -> Vec<Arc<Core>> {
        let mut state = lock(&self.state);
        state.restarted = Some(Restarted { epoch, next_ticket: state.next_ticket });
        let sessions = state.held_sessions();
        drop(state);
        living(sessions)
    }

    fn live(&self) -> Vec<Arc<Core>> {
        let sessions = lock(&self.state).held_sessions();
        living(sessions)
    }
}

/// Removes ended sessions without the lock, because dropping the last handle of a session frees its
/// memory.
fn living(mut sessions: Vec<Arc<Core>>) -> Vec<Arc<Core>> {
    sessions.retain(|core| core.ended().is_none());
    sessions
}

impl State {
    fn held_sessions(&self) -> Vec<Arc<Core>> {
        self.sessions.iter().filter_map(Weak::upgrade).collect()
    }

    fn forget_ended(&mut self) {
        let lives = |core: &Weak<Core>| core.upgrade().is_some_and(|core| core.ended().is_none());
        self.sessions.retain(lives);
    }

    fn wake_all(&mut self) {
        for waker in self.waiting.drain(..) {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::options::Trust;

    /// Returns the number of threads of this process that perform handshakes, of any server.
    fn handshake_threads() -> usize {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let names = tasks.flat_map(|task| std::fs::read_to_string(task.path().join("comm")));
        names.filter(|name| name.trim() == "shmipc-handshak").count()
    }

    #[test]
    fn a_flood_of_connections_takes_few_threads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sock");
        let options = ServerOptions::new(Trust::SameUser);
        let _server = Server::bind(&Address::Unix(path.clone()), options).unwrap();
        let mut most = 0;
        for number in 0..2000 {
            let mut client = UnixStream::connect(&path).unwrap();
            if number % 2 == 0 {
                // Bytes that are not shmipc end a handshake at once; the other clients send
                // nothing.
                let _ = io::Write::write_all(&mut client, b"GET / HTTP/1.1");
                let _ = io::Read::read(&mut client, &mut [0]);
            }
            drop(client);
            most = most.max(if number % 100 == 0 { handshake_threads() } else { 0 });
        }
        // Those of other tests count too.
        assert!(most < 100, "{most} threads for one client at a time");
    }

    #[test]
    fn taken_handshake_keeps_its_place_on_give_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sock");
        let options = ServerOptions::new(Trust::SameUser);
        let server = Server::bind(&Address::Unix(path), options).unwrap();
        let patience = Deadline::after(Duration::from_secs(30));
        let (_silent, socket) = UnixStream::pair().unwrap();
        server.shared.begin(OwnedFd::from(socket));
        // It waits for a thread by now, or a thread has taken it.
        while !lock(&server.shared.state).accepted.is_empty() {
            assert!(!patience.has_passed());
            std::thread::yield_now();
        }
        let (ticket, _) = *lock(&server.shared.state).half_open.front().expect("it is half open");
        server.shared.give_up(ticket);
        let half_open = lock(&server.shared.state).half_open.len();
        assert_eq!(half_open, 1, "it is counted, and shut down when the server stops");
        // A connection that was not taken is closed.
        let (mut client, socket) = UnixStream::pair().unwrap();
        let socket = OwnedFd::from(socket);
        let ticket = server.shared.register(&socket).unwrap();
        // Without a notification no thread takes it.
        lock(&server.shared.state).accepted.push_back((socket, ticket));
        server.shared.give_up(ticket);
        assert_eq!(lock(&server.shared.state).half_open.len(), 1);
        assert_eq!(io::Read::read(&mut client, &mut [0]).unwrap(), 0);
    }

    /// Returns the announcement of a hot restart that a client got.
    fn announced_to(client: &Session, deadline: Deadline) -> Option<u64> {
        loop {
            client.core.help_receive();
            let announced = client.core.restart.take_announced();
            if announced.is_some() || deadline.has_passed() {
                return announced;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn hot_restart_is_announced_to_handshakes_in_progress() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sock");
        let options = ServerOptions::new(Trust::SameUser);
        let server = Server::bind(&Address::Unix(path.clone()), options).unwrap();
        let patience = Deadline::after(Duration::from_secs(30));
        let connect = || UnixStream::connect(&path).unwrap();
        let early = connect();
        while lock(&server.shared.state).half_open.is_empty() {
            assert!(!patience.has_passed());
            std::thread::yield_now();
        }
        let report = server.hot_restart(7, Duration::ZERO);
        assert_eq!(report, RestartReport { acknowledged: 0, missing: 0 });
        let shake_hands = |socket: UnixStream| {
            Session::connect_over(socket.into(), &crate::ClientOptions::new(Trust::SameUser))
                .unwrap()
        };
        assert_eq!(announced_to(&shake_hands(early), patience), Some(7));
        let late = shake_hands(connect());
        assert!(server.accept().is_some() && server.accept().is_some());
        assert_eq!(announced_to(&late, Deadline::after(Duration::ZERO)), None);
    }
}
