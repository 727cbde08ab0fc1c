//! A session's part in a hot restart: a new server listens at the address, the old one notifies its
//! clients, each opens a new session there, and acknowledges on the old one.

use std::sync::{Condvar, Mutex};

use breezeway_os::Deadline;

use crate::lock::{lock, wait};

/// Received messages of a hot restart.
#[derive(Default)]
pub(crate) struct Restart {
    received: Mutex<Received>,
    changed: Condvar,
}

#[derive(Default)]
struct Received {
    /// Epoch that the server announced, until the client takes it.
    announced: Option<u64>,
    /// Epoch that the client acknowledged.
    acknowledged: Option<u64>,
    /// Called on changes on the client's side.
    listener: Option<std::sync::Arc<dyn Fn() + Send + Sync>>,
}

impl Restart {
    /// Notes the server's announcement that a new one has taken over.
    pub(crate) fn announced(&self, epoch: u64) {
        let mut received = lock(&self.received);
        received.announced = Some(epoch);
        let listener = received.listener.clone();
        drop(received);
        if let Some(listener) = listener {
            listener();
        }
    }

    /// Notes the client's acknowledgement that it has a session with the new server.
    pub(crate) fn acknowledged(&self, epoch: u64) {
        lock(&self.received).acknowledged = Some(epoch);
        self.changed.notify_all();
    }

    /// Takes the server's announcement.
    pub(crate) fn take_announced(&self) -> Option<u64> {
        lock(&self.received).announced.take()
    }

    /// Calls `listener` whenever the server announces a restart, and when the session ends.
    pub(crate) fn listen(&self, listener: std::sync::Arc<dyn Fn() + Send + Sync>) {
        lock(&self.received).listener = Some(listener);
    }

    /// Waits until the client has acknowledged `epoch`. Returns false if it has not until
    /// `deadline`, or if `given_up` returns true.
    pub(crate) fn wait_acknowledged(
        &self,
        epoch: u64,
        deadline: Deadline,
        given_up: impl Fn() -> bool,
    ) -> bool {
        let mut received = lock(&self.received);
        loop {
            if received.acknowledged == Some(epoch) {
                return true;
            }
            if deadline.has_passed() || given_up() {
                return false;
            }
            received = wait(&self.changed, received, deadline);
        }
    }

    /// Wakes all waiters, because the session is over.
    pub(crate) fn notify(&self) {
        // The lock is taken so that no waiter is between its check and its wait.
        let listener = lock(&self.received).listener.clone();
        self.changed.notify_all();
        if let Some(listener) = listener {
            listener();
        }
    }
}
