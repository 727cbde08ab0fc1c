//! Messages over the session's socket.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use breezeway_os::{Deadline, ready, shortage};
use rustix::event::PollFlags;

use super::Core;
use crate::error::SessionEnd;
use crate::lock::lock;
use crate::wire::{self, MessageType};

impl Core {
    /// Sends a message over the socket without waiting; bytes that the socket does not accept are
    /// sent later. Returns true if it accepted all.
    pub(crate) fn send(&self, message: &[u8]) -> Result<bool, SessionEnd> {
        self.socket_writes.fetch_add(1, Ordering::Relaxed);
        let sent = lock(&self.outgoing).send(self.socket(), message);
        sent.map_err(|errno| self.failed(errno))
    }

    /// Tries again to send the pending bytes. Returns true if the socket has accepted all.
    pub(crate) fn flush_socket(&self) -> Result<bool, SessionEnd> {
        let flushed = lock(&self.outgoing).flush(self.socket());
        flushed.map_err(|errno| self.failed(errno))
    }

    /// Arranges that the socket gets its pending bytes, even if the session is not used from here
    /// on: by its driver, or by a thread, which ends with the session.
    pub(crate) fn flush_later(self: &Arc<Self>) {
        if !self.is_socket_full() || self.ended().is_some() {
            return;
        }
        #[cfg(feature = "tokio")]
        if self.has_driver() {
            return self.driver.attend();
        }
        if self.flushing.swap(true, Ordering::SeqCst) {
            return;
        }
        // A duplicate, so that the thread does not hold a session without another user: its end
        // shuts the socket down, which ends the wait.
        let core = Arc::downgrade(self);
        let spawned = self.socket().try_clone_to_owned().and_then(|socket| {
            let wait = move || ready(&socket, PollFlags::OUT, Deadline::NEVER).is_ok();
            shortage::spawn("shmipc-flush", move || {
                while wait() && core.upgrade().is_some_and(|core| core.flush_once()) {}
            })
        });
        if spawned.is_err() {
            // The next operation tries again.
            self.flushing.store(false, Ordering::SeqCst);
        }
    }

    /// Sends, after a wait for room. Returns false once nothing is left to send, or the session is
    /// over.
    fn flush_once(&self) -> bool {
        if self.ended().is_none() && matches!(self.flush_socket(), Ok(false)) {
            return true;
        }
        self.flushing.store(false, Ordering::SeqCst);
        // Other threads may have left their bytes to this one until then.
        self.ended().is_none()
            && self.is_socket_full()
            && !self.flushing.swap(true, Ordering::SeqCst)
    }

    /// Returns true if there are bytes that the socket has not accepted yet.
    pub(crate) fn is_socket_full(&self) -> bool {
        !lock(&self.outgoing).is_empty()
    }

    /// Sends a message over the socket that must not overtake elements in the queue. The peer takes
    /// all of those when it is woken, and another thread that put an element may not have woken it
    /// yet.
    pub(crate) fn send_behind_queue(&self, parts: &[&[u8]]) -> Result<bool, SessionEnd> {
        let mut message = wire::bare(MessageType::Polling, self.version).to_vec();
        parts.iter().for_each(|part| message.extend_from_slice(part));
        self.send(&message)
    }

    /// Sends like [`send_behind_queue`](Self::send_behind_queue), but not behind other bytes that
    /// wait for the socket. Returns false, with nothing sent, if there are such bytes.
    pub(crate) fn send_payload_behind_queue(&self, parts: &[&[u8]]) -> Result<bool, SessionEnd> {
        let mut message = wire::bare(MessageType::Polling, self.version).to_vec();
        parts.iter().for_each(|part| message.extend_from_slice(part));
        self.socket_writes.fetch_add(1, Ordering::Relaxed);
        let sent = lock(&self.outgoing).send_if_idle(self.socket(), &message);
        Ok(sent.map_err(|errno| self.failed(errno))?.is_some())
    }
}
