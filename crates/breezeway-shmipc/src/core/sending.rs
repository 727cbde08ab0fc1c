//! Messages over the session's socket.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use breezeway_os::{Deadline, shortage};
use rustix::event::{PollFd, PollFlags, poll};

use super::Core;
use crate::error::SessionEnd;
use crate::lock::lock;
use crate::wire::{self, MessageType};

/// The longest time for which a thread that waits for room keeps a session that has no other user.
const LONGEST_FLUSH: Duration = Duration::from_millis(100);

impl Core {
    /// Sends a message over the socket without waiting; what the socket does not take is sent
    /// later. True if it took everything.
    pub(crate) fn send(&self, message: &[u8]) -> Result<bool, SessionEnd> {
        self.socket_writes.fetch_add(1, Ordering::Relaxed);
        let sent = lock(&self.outgoing).send(self.socket(), message);
        sent.map_err(|errno| self.failed(errno))
    }

    /// Whether the socket has taken everything that was sent, after another try.
    pub(crate) fn flush_socket(&self) -> Result<bool, SessionEnd> {
        let flushed = lock(&self.outgoing).flush(self.socket());
        flushed.map_err(|errno| self.failed(errno))
    }

    /// Sees to it that the socket gets what it has not yet taken, also if nobody uses the session
    /// from here on: by its driver, or by a thread, which ends with the session.
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
        let core = Arc::downgrade(self);
        let flush = move || while core.upgrade().is_some_and(|core| core.flush_once()) {};
        if shortage::spawn("shmipc-flush", flush).is_err() {
            // The next operation tries again.
            self.flushing.store(false, Ordering::SeqCst);
        }
    }

    /// Waits for room, but not for long, and sends; false once nothing is left to be sent.
    fn flush_once(&self) -> bool {
        let socket = self.socket();
        let mut room = [PollFd::new(&socket, PollFlags::OUT)];
        // Whatever it gives, the socket is tried.
        let _ = poll(&mut room, Deadline::after(LONGEST_FLUSH).timespec().as_ref());
        if matches!(self.flush_socket(), Ok(false)) {
            return true;
        }
        self.flushing.store(false, Ordering::SeqCst);
        // Others may have left it to this thread until then.
        self.ended().is_none()
            && self.is_socket_full()
            && !self.flushing.swap(true, Ordering::SeqCst)
    }

    /// Whether there are bytes that the socket has not yet taken.
    pub(crate) fn is_socket_full(&self) -> bool {
        !lock(&self.outgoing).is_empty()
    }

    /// Sends a message over the socket that must not overtake what is in the queue. The peer takes
    /// all of that when it is woken, and another thread that put an element may not yet have woken
    /// it.
    pub(crate) fn send_behind_queue(&self, parts: &[&[u8]]) -> Result<bool, SessionEnd> {
        let mut message = wire::bare(MessageType::Polling, self.version).to_vec();
        parts.iter().for_each(|part| message.extend_from_slice(part));
        self.send(&message)
    }

    /// As [`Self::send_behind_queue`], but not behind other bytes that wait for the socket; false,
    /// and nothing sent, if there are such.
    pub(crate) fn send_payload_behind_queue(&self, parts: &[&[u8]]) -> Result<bool, SessionEnd> {
        let mut message = wire::bare(MessageType::Polling, self.version).to_vec();
        parts.iter().for_each(|part| message.extend_from_slice(part));
        self.socket_writes.fetch_add(1, Ordering::Relaxed);
        let sent = lock(&self.outgoing).send_if_idle(self.socket(), &message);
        Ok(sent.map_err(|errno| self.failed(errno))?.is_some())
    }
}
