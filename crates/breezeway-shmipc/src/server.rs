//! Serving: handshakes run on other threads, so that a slow client delays no other, and agreed
//! sessions are returned.

mod handshakes;
mod hot_restart;

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::task::Waker;
use std::thread::JoinHandle;
use std::time::Duration;

use breezeway_os::{Deadline, Notifier};
use rustix::net::{Shutdown, shutdown};

use self::hot_restart::Restarted;
use crate::address::Address;
use crate::core::Core;
use crate::error::{ServeError, SessionEnd, StreamError};
use crate::handler::Handler;
use crate::listener::Listener;
use crate::lock::{lock, wait};
use crate::log_limit::warn_limited;
use crate::options::ServerOptions;
use crate::session::Session;
use crate::stream::Stream;

pub use hot_restart::RestartReport;

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
        self.shared.hot_restart(epoch, timeout)
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
