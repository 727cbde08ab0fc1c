//! How sessions, and the end, get to a worker.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use breezeway_os::Notifier;

use super::{Armed, Load, News, Slot};
use crate::presence::SessionId;
use crate::served::ServerSession;
use crate::server::Unserved;

/// What has come for a worker.
#[derive(Default)]
pub(super) struct Arrived {
    pub(super) sessions: Vec<ServerSession>,
    /// Sessions whose threads need a turn, by token.
    pub(super) called: Vec<(usize, SessionId)>,
    /// Sessions that another worker had.
    #[allow(clippy::vec_box, reason = "what is boxed already is handed on as it is")]
    pub(super) handed: Vec<Box<Slot>>,
    /// Tokens for which the guard has heard the doorbell.
    pub(super) rang: Vec<usize>,
}

/// The place from which a worker gets its sessions, and calls for turns of them.
pub(crate) struct Inbox {
    /// A worker that is awake needs no system call to hear of it.
    news: News,
    stopping: AtomicBool,
    /// Whether clients are to go to a successor.
    draining: AtomicBool,
    /// Whether they have had all the time that there is.
    out_of_time: AtomicBool,
    /// What the worker has left undone at its end.
    unserved: Mutex<Unserved>,
    arrived: Mutex<Arrived>,
    /// Sessions that the worker has or will have.
    sessions: AtomicUsize,
    notifier: Notifier,
    load: Load,
    armed: Armed<Box<Slot>>,
}

impl Inbox {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            news: News::default(),
            stopping: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            out_of_time: AtomicBool::new(false),
            unserved: Mutex::default(),
            arrived: Mutex::default(),
            sessions: AtomicUsize::new(0),
            notifier: Notifier::new()?,
            load: Load::default(),
            armed: Armed::default(),
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

    /// Lets the worker know that a thread needs a turn of a session.
    pub(crate) fn call(&self, token: usize, id: SessionId) {
        self.lock().called.push((token, id));
        self.announce();
    }

    /// Gives the worker a session that another one had.
    pub(super) fn hand(&self, slot: Box<Slot>) {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        self.lock().handed.push(slot);
        self.announce();
    }

    /// Lets the worker know that the doorbell of a session of its own was heard elsewhere.
    pub(super) fn leave_word(&self, token: usize) {
        self.lock().rang.push(token);
        self.announce();
    }

    /// The sessions that the worker does not touch.
    pub(super) fn armed(&self) -> &Armed<Box<Slot>> {
        &self.armed
    }

    fn lock(&self) -> MutexGuard<'_, Arrived> {
        #[cfg(test)]
        super::sync::count_lock();
        self.arrived.lock().expect("nobody panics with the lock")
    }

    /// Lets the worker end.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.announce();
    }

    /// Lets the worker send its clients to a successor, those as well that had no room for the news
    /// the last time, and serve them meanwhile.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        self.announce();
    }

    /// Whether clients are to go to a successor.
    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// From the end on that follows nothing more is served.
    pub(crate) fn run_out_of_time(&self) {
        self.out_of_time.store(true, Ordering::Release);
    }

    /// Whether nothing more is served at the end.
    pub(super) fn is_out_of_time(&self) -> bool {
        self.out_of_time.load(Ordering::Acquire)
    }

    /// Counts what a session's end leaves undone.
    pub(super) fn leave_undone(&self, rest: Unserved) {
        *self.unserved.lock().expect("nobody panics with the lock") += rest;
    }

    /// What the worker has left undone, once it has ended.
    pub(crate) fn unserved(&self) -> Unserved {
        *self.unserved.lock().expect("nobody panics with the lock")
    }

    fn announce(&self) {
        if self.news.announce() {
            self.ring();
        }
    }

    /// Wakes the worker.
    pub(super) fn ring(&self) {
        self.notifier.notify();
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
