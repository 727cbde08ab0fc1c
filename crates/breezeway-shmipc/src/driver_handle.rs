//! The part of a session that its driver of tasks and the other threads share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use tokio::sync::Notify;

/// State of the session's driver, and the way to wake it.
#[derive(Default)]
pub(crate) struct DriverHandle {
    pub(crate) started: AtomicBool,
    pub(crate) attention: Arc<Notify>,
    /// True while it sleeps or is about to, and does not poll for room to send.
    pub(crate) sleeps: AtomicBool,
    /// Number of sends that had waited for room and found it.
    pub(crate) progress: AtomicU64,
}

impl DriverHandle {
    /// Makes the driver poll again, if there is one.
    pub(crate) fn attend(&self) {
        if self.is_started() {
            self.attention.notify_one();
        }
    }

    /// Notes that a task waits until it can send. A polling driver sees it, and a pausing one ends
    /// the pause in time.
    pub(crate) fn attend_sender(&self) {
        fence(Ordering::SeqCst);
        if self.sleeps.load(Ordering::SeqCst) {
            self.attend();
        }
    }

    /// Notes that a task that had waited for room has sent.
    pub(crate) fn note_progress(&self) {
        self.progress.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns true if the session has a driver.
    pub(crate) fn is_started(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }
}
