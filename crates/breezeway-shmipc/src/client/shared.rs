//! The sessions of a client, which the client opens streams on and the keeper replaces.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

use breezeway_os::Notifier;

use crate::address::Address;
use crate::error::ConnectError;
use crate::handshake;
use crate::lock::lock;
use crate::options::ClientOptions;
use crate::regions::{OwnBuffer, OwnRegions};
use crate::session::Session;
use crate::socket::connect_socket;
use crate::stream_pool::StreamPool;

/// State that client and keeper share.
pub(super) struct Shared {
    pub(super) address: Address,
    pub(super) options: ClientOptions,
    pub(super) notifier: Notifier,
    pub(super) slots: Mutex<Slots>,
    pub(super) changed: Condvar,
    /// Notified like `changed`, for tasks.
    #[cfg(feature = "tokio")]
    pub(super) replaced: tokio::sync::Notify,
    pub(super) put_back: StreamPool,
    /// Listeners of other holders of streams.
    pub(super) listeners: Mutex<Vec<Listener>>,
    pub(super) opened: AtomicUsize,
}

/// Called on each replacement, until it returns false.
type Listener = Box<dyn Fn() -> bool + Send>;

/// The sessions, by index.
pub(super) struct Slots {
    pub(super) sessions: Vec<Option<Session>>,
    /// Error of the last failed attempt to connect.
    pub(super) last_error: String,
    pub(super) closed: bool,
}

impl Slots {
    /// Returns a live session, searching from this turn's.
    pub(super) fn in_turn(&self, turn: usize) -> Option<Session> {
        let count = self.sessions.len();
        let mut candidates =
            (0..count).filter_map(|step| self.sessions[(turn + step) % count].as_ref());
        candidates.find(|session| session.ended().is_none()).cloned()
    }
}

impl Shared {
    /// Replaces the session at `index`, and returns the one before. `None` for both if the client
    /// was closed.
    pub(super) fn replace(&self, index: usize, session: Session) -> Option<Session> {
        let mut slots = lock(&self.slots);
        if slots.closed {
            return None;
        }
        let before = slots.sessions[index].replace(session);
        self.changed.notify_all();
        drop(slots);
        #[cfg(feature = "tokio")]
        self.replaced.notify_waiters();
        if let Some(before) = &before {
            before.core.replaced.store(true, Ordering::SeqCst);
        }
        self.put_back.forget_replaced();
        lock(&self.listeners).retain(|listener| listener());
        before
    }
}

/// Agrees on one session in the calling thread. Sessions that are connected together share their
/// buffer region, which is created if there is none yet. Over TCP a server does not map a file for
/// two sessions.
pub(super) fn connect_session(
    address: &Address,
    options: &ClientOptions,
    shared: &mut Option<OwnBuffer>,
    index: usize,
    epoch: Option<u64>,
) -> Result<Session, ConnectError> {
    let socket = connect_socket(address, options.connect_timeout)?;
    let buffer = match shared.take() {
        Some(buffer) if address.is_unix() => buffer,
        _ => OwnBuffer::create(options, epoch)?,
    };
    let regions = OwnRegions::create(options, shared.insert(buffer), index)?;
    let parts = handshake::connect(socket, regions, options)?;
    Ok(Session::new(parts, options.session.clone()))
}
