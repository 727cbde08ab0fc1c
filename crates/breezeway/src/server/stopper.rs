//! The handle that ends a server.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use breezeway_os::Notifier;

use crate::unserved::Unserved;

/// A handle that ends a server from another thread.
#[derive(Clone)]
pub struct Stopper {
    pub(super) stopping: Arc<AtomicBool>,
    pub(super) notifier: Notifier,
    pub(super) unserved: Arc<Mutex<Unserved>>,
}

impl Stopper {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            stopping: Arc::new(AtomicBool::new(false)),
            notifier: Notifier::new()?,
            unserved: Arc::default(),
        })
    }

    /// Makes [`Server::serve`](crate::Server::serve) return: calls already made are served, within
    /// [`drain_timeout`](crate::ServerOptions::drain_timeout), clients are notified, and the socket
    /// file is removed.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.notifier.notify();
    }

    /// Returns the calls and messages left unserved because
    /// [`drain_timeout`](crate::ServerOptions::drain_timeout) was too short, once
    /// [`Server::serve`](crate::Server::serve) has returned.
    pub fn unserved(&self) -> Unserved {
        *self.unserved.lock().expect("no thread panics with the lock")
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }
}
