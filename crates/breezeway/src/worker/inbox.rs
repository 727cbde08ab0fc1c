//! How sessions, and the end, get to a worker.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use breezeway_os::Notifier;

use super::{Load, News};
use crate::presence::SessionId;
use crate::served::ServerSession;

/// What has come for a worker.
#[derive(Default)]
pub(super) struct Arrived {
    pub(super) sessions: Vec<ServerSession>,
    /// Sessions with replies to deferred calls, by token.
    pub(super) mailed: Vec<(usize, SessionId)>,
}

/// Where a worker gets its sessions from, and hears of replies to deferred calls.
pub(crate) struct Inbox {
    /// A worker that is awake needs no system call to hear of it.
    news: News,
    stopping: AtomicBool,
    arrived: Mutex<Arrived>,
    /// Sessions that the worker has or will have.
    sessions: AtomicUsize,
    notifier: Notifier,
    load: Load,
}

impl Inbox {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            news: News::default(),
            stopping: AtomicBool::new(false),
            arrived: Mutex::default(),
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
        self.lock().sessions.push(session);
        self.announce();
    }

    /// Lets the worker know that there are replies to a session's deferred calls.
    pub(crate) fn mail(&self, token: usize, id: SessionId) {
        self.lock().mailed.push((token, id));
        self.announce();
    }

    fn lock(&self) -> MutexGuard<'_, Arrived> {
        self.arrived.lock().expect("nobody panics with the lock")
    }

    /// Lets the worker end.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.announce();
    }

    fn announce(&self) {
        if self.news.announce() {
            self.notifier.notify();
        }
    }

    /// What was delivered since the last call; `None` if nothing has changed.
    #[inline(always)]
    pub(super) fn take(&self) -> Option<Arrived> {
        if !self.news.take() {
            return None;
        }
        Some(std::mem::take(&mut *self.lock()))
    }

    /// Whether there is something to take, and whether the worker sleeps.
    #[inline(always)]
    pub(super) fn news(&self) -> &News {
        &self.news
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
