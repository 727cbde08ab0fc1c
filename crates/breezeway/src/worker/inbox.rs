//! The inbox of a worker: receives sessions, and the end.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use breezeway_os::{Notifier, clock};

use super::load::Load;
use super::slot::Slot;
use crate::exclusive_server::ExclusiveServerSession;
use crate::presence::SessionId;
use crate::serving::TurnQueue;
use crate::unserved::Unserved;
use crate::wake::{Armed, WakeFlag};

/// The token of the inbox.
pub(super) const INBOX: u64 = u64::MAX;

/// Deliveries to a worker.
#[derive(Default)]
pub(super) struct Arrived {
    pub(super) sessions: Vec<ExclusiveServerSession>,
    /// Tokens and ids of sessions whose threads need a turn.
    pub(super) called: Vec<(usize, SessionId)>,
    /// Sessions that another worker had.
    #[allow(clippy::vec_box, reason = "what is boxed already is handed on as it is")]
    pub(super) handed: Vec<Box<Slot>>,
    /// Tokens of sessions with a doorbell that the guard has seen.
    pub(super) rang: Vec<usize>,
}

/// Inbox of a worker: receives its sessions, and requests for their turns.
pub(crate) struct Inbox {
    /// Flags that show deliveries to a worker that is awake without a system call.
    flag: WakeFlag,
    stopping: AtomicBool,
    /// True if clients are to move to a successor.
    draining: AtomicBool,
    /// True if the time to drain is over.
    out_of_time: AtomicBool,
    /// Calls and messages that the worker left unserved at its end.
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
            flag: WakeFlag::default(),
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

    /// Returns the number of sessions that the worker has or will have.
    pub(crate) fn sessions(&self) -> usize {
        self.sessions.load(Ordering::Relaxed)
    }

    /// Returns the worker's load.
    #[inline(always)]
    pub(crate) fn load(&self) -> &Load {
        &self.load
    }

    /// Gives the worker one more session.
    pub(crate) fn deliver(&self, session: ExclusiveServerSession) {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        self.lock().sessions.push(session);
        self.announce();
    }

    /// Gives the worker a session that another one had.
    pub(super) fn hand(&self, slot: Box<Slot>) {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        self.lock().handed.push(slot);
        self.announce();
    }

    /// Notifies the worker that the guard heard the doorbell of one of its sessions.
    pub(super) fn leave_word(&self, token: usize) {
        self.lock().rang.push(token);
        self.announce();
    }

    /// Returns the sessions that the worker does not touch.
    pub(super) fn armed(&self) -> &Armed<Box<Slot>> {
        &self.armed
    }

    fn lock(&self) -> MutexGuard<'_, Arrived> {
        #[cfg(test)]
        crate::wake::count_lock();
        self.arrived.lock().expect("no thread panics with the lock")
    }

    /// Makes the worker end.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.announce();
    }

    /// Makes the worker send its clients to a successor, including those that had no room for the
    /// go-away entry before, and serve them until they have gone.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        self.announce();
    }

    /// Returns true if clients are to move to a successor.
    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Makes the worker serve nothing more at the end that follows.
    pub(crate) fn run_out_of_time(&self) {
        self.out_of_time.store(true, Ordering::Release);
    }

    /// Returns true if nothing more is served at the end.
    pub(super) fn is_out_of_time(&self) -> bool {
        self.out_of_time.load(Ordering::Acquire)
    }

    /// Counts the work that a session's end leaves unserved.
    pub(super) fn leave_undone(&self, rest: Unserved) {
        *self.unserved.lock().expect("no thread panics with the lock") += rest;
    }

    /// Returns the work that the worker has left unserved, once it has ended.
    pub(crate) fn unserved(&self) -> Unserved {
        *self.unserved.lock().expect("no thread panics with the lock")
    }

    fn announce(&self) {
        if self.flag.announce() {
            self.ring();
        }
    }

    /// Wakes the worker.
    pub(super) fn ring(&self) {
        self.notifier.notify();
    }

    /// Returns the deliveries since the last call; `None` if there are none.
    #[inline(always)]
    pub(super) fn take(&self) -> Option<Arrived> {
        if !self.flag.take() {
            return None;
        }
        Some(std::mem::take(&mut *self.lock()))
    }

    /// Returns the flags for pending deliveries and for the worker's sleep.
    #[inline(always)]
    pub(super) fn flag(&self) -> &WakeFlag {
        &self.flag
    }

    /// Returns true if the worker is to end.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Counts a session that the worker no longer has.
    pub(super) fn session_ended(&self) {
        self.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

impl TurnQueue for Inbox {
    fn call(&self, token: usize, id: SessionId) {
        self.lock().called.push((token, id));
        self.announce();
    }

    fn turn_age(&self) -> Option<u64> {
        self.load.turn_age(clock::ticks())
    }
}

/// Makes the inbox watchable: readable after a delivery.
impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.notifier.as_fd()
    }
}
