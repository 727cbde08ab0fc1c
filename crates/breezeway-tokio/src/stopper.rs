//! The handle that ends a server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use breezeway::Unserved;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// Handle that ends a server from any task or thread.
#[derive(Clone)]
pub struct Stopper {
    shared: Arc<Stopping>,
}

struct Stopping {
    is_stopping: AtomicBool,
    /// True if clients are sent to a successor.
    is_draining: AtomicBool,
    notify: Arc<Notify>,
    unserved: Mutex<Unserved>,
}

impl Stopper {
    pub(crate) fn new() -> Self {
        let notify = Arc::new(Notify::new());
        let (is_stopping, is_draining) = (AtomicBool::new(false), AtomicBool::new(false));
        Self {
            shared: Arc::new(Stopping {
                is_stopping,
                is_draining,
                notify,
                unserved: Mutex::default(),
            }),
        }
    }

    /// Lets [`Server::serve`](crate::Server::serve) return. The server accepts no more clients,
    /// asks its clients to begin nothing new, begins the requests that they have sent, for at most
    /// [`drain_timeout`](crate::ServerOptions::drain_timeout), awaits running handlers while their
    /// clients are connected, and removes the socket file. Calls that were not begun fail with
    /// [`ErrorCode::Refused`](crate::ErrorCode::Refused): they never ran.
    pub fn stop(&self) {
        self.shared.is_stopping.store(true, Ordering::Release);
        self.shared.notify.notify_waiters();
    }

    /// Waits until the server accepts no more clients: it was stopped, or a successor has [taken
    /// over](crate::ServerOptions::take_over). It still serves its clients then.
    pub async fn ending(&self) {
        loop {
            let news = self.stopped();
            if self.is_stopping() || self.is_draining() {
                return;
            }
            news.await;
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.shared.is_stopping.load(Ordering::Acquire)
    }

    /// Sends clients to a successor.
    pub(crate) fn drain(&self) {
        self.shared.is_draining.store(true, Ordering::Release);
        self.shared.notify.notify_waiters();
    }

    /// Returns, after [`Server::serve`](crate::Server::serve) has returned, the numbers of requests
    /// that the server did not serve because
    /// [`drain_timeout`](crate::ServerOptions::drain_timeout) was too short.
    pub fn unserved(&self) -> Unserved {
        *self.lock_unserved()
    }

    pub(crate) fn lock_unserved(&self) -> MutexGuard<'_, Unserved> {
        self.shared.unserved.lock().expect("no thread panics with the lock")
    }

    /// Returns true if clients are sent to a successor.
    pub(crate) fn is_draining(&self) -> bool {
        self.shared.is_draining.load(Ordering::Acquire)
    }

    /// Returns a future that completes once [`Self::stop`] is called, or clients are sent to a
    /// successor, after this call.
    pub(crate) fn stopped(&self) -> OwnedNotified {
        Arc::clone(&self.shared.notify).notified_owned()
    }
}
