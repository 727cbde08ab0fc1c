//! How sessions, and the end, get to a worker.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use breezeway_os::Notifier;

use super::Load;
use crate::served::ServerSession;

/// Where a worker gets its sessions from.
pub(crate) struct Inbox {
    /// Set when there is something to take, so that a spinning worker needs no system call.
    changed: AtomicBool,
    stopping: AtomicBool,
    arrived: Mutex<Vec<ServerSession>>,
    /// Sessions that the worker has or will have.
    sessions: AtomicUsize,
    notifier: Notifier,
    load: Load,
}

impl Inbox {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            changed: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            arrived: Mutex::new(Vec::new()),
            sessions: AtomicUsize::new(0),
            notifier: Notifier::new()?,
            load: Load::default(),
        })
    }

    /// Sessions that the worker has or will have.
    pub(crate) fn sessions(&self) -> usize {
        self.sessions.load(Ordering::Relaxed)
    }

    /// How busy the worker is.
    #[inline(always)]
    pub(crate) fn load(&self) -> &Load {
        &self.load
    }

    /// Gives the worker one more session.
    pub(crate) fn deliver(&self, session: ServerSession) {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        self.arrived.lock().expect("nobody panics with the lock").push(session);
        self.announce();
    }

    /// Lets the worker end.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.announce();
    }

    fn announce(&self) {
        self.changed.store(true, Ordering::Release);
        self.notifier.notify();
    }

    /// What was delivered since the last call; `None` if nothing has changed.
    #[inline(always)]
    pub(super) fn take(&self) -> Option<Vec<ServerSession>> {
        // Acquire: what was delivered, or the stop, comes before the flag.
        if !self.changed.load(Ordering::Relaxed) || !self.changed.swap(false, Ordering::Acquire) {
            return None;
        }
        Some(std::mem::take(&mut *self.arrived.lock().expect("nobody panics with the lock")))
    }

    /// Whether there is something to take.
    #[inline(always)]
    pub(super) fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Acquire)
    }

    /// Set while there is something to take.
    #[inline(always)]
    pub(super) fn changed(&self) -> &AtomicBool {
        &self.changed
    }

    /// Whether the worker is to end.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Counts a session that the worker no longer has.
    pub(super) fn session_ended(&self) {
        self.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// To be watched: readable when something has changed.
impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.notifier.as_fd()
    }
}
