//! Messages of the socket, for the session and for its streams.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::Receiver;
use super::routing::{discard_if_forgotten, find, finish, handle_restart, mark_ready};
use crate::core::Core;
use crate::error::SessionEnd;
use crate::incoming::Message;
use crate::stream_state::StreamState;
use crate::violation::Violation;

impl Receiver {
    /// Reads the socket once and handles the data. Returns false if there was none.
    pub(crate) fn read_socket(
        &mut self,
        core: &Core,
        flags: RecvFlags,
    ) -> Result<bool, SessionEnd> {
        loop {
            return match self.read(core, flags) {
                Ok(0) => Err(self.end_of_socket(core)),
                Ok(_) => self.handle_messages(core).map(|()| true),
                // After a signal there may be data, and no further event reports it.
                Err(Errno::INTR) if flags.contains(RecvFlags::DONTWAIT) => continue,
                Err(Errno::AGAIN | Errno::INTR) => Ok(false),
                Err(Errno::CONNRESET | Errno::PIPE) => Err(self.end_of_socket(core)),
                Err(errno) => Err(core.failed(errno)),
            };
        }
    }

    /// Returns true if the last read left nothing in the socket.
    #[cfg(feature = "tokio")]
    pub(crate) fn was_emptied(&self) -> bool {
        self.incoming.was_emptied()
    }

    /// Reads the socket. The wake-up that is read may be the one that the driver of tasks sleeps
    /// for, which must then be woken.
    pub(super) fn read(&mut self, core: &Core, flags: RecvFlags) -> Result<usize, Errno> {
        core.socket_reads.fetch_add(1, Ordering::Relaxed);
        let outcome = self.incoming.read(core.socket(), flags);
        self.bytes_read += outcome.as_ref().map_or(0, |&count| count as u64);
        #[cfg(feature = "tokio")]
        if !self.by_driver && outcome.as_ref().is_ok_and(|&count| count > 0) {
            core.driver.attend();
        }
        outcome
    }

    /// Reads like [`read_socket`](Self::read_socket), on the driver itself.
    #[cfg(feature = "tokio")]
    pub(crate) fn read_socket_as_driver(&mut self, core: &Core) {
        self.by_driver = true;
        // A failure has ended the session, which the driver sees.
        let _ = self.read_socket(core, RecvFlags::DONTWAIT);
        self.by_driver = false;
    }

    /// Handles the end of the socket. Elements that the peer put into the queue before are still
    /// received: at most a ring full, because a peer that continues to put is not gone.
    fn end_of_socket(&mut self, core: &Core) -> SessionEnd {
        if let Err(violation) = self.take_ring_full(core) {
            return core.broken(violation);
        }
        let ending = self.ending.drain(..).map(|(_, stream)| stream);
        for stream in ending.chain(self.closing.drain(..)) {
            finish(core, &stream);
        }
        core.end(SessionEnd::PeerGone);
        core.ended().cloned().unwrap_or(SessionEnd::PeerGone)
    }

    fn handle_messages(&mut self, core: &Core) -> Result<(), SessionEnd> {
        self.handle_all(core)
            .and_then(|()| self.finish_closing(core))
            .map_err(|violation| core.broken(violation))
    }

    /// Handles the data of the last read.
    pub(super) fn handle_all(&mut self, core: &Core) -> Result<(), Violation> {
        let mut queue_taken = false;
        loop {
            let (polling, stream_close, fallback_for, restart) = match self.incoming.next()? {
                None => return Ok(()),
                Some(Message::FallbackBytes(bytes)) => {
                    core.counters.bytes_received.add_locked(bytes.len() as u64);
                    if let Some(stream) = &self.payload_for {
                        core.fallback_held.fetch_add(bytes.len(), Ordering::Relaxed);
                        stream.deliver_copy(bytes);
                        mark_ready(core, stream);
                        discard_if_forgotten(core, stream);
                    }
                    continue;
                }
                Some(Message::Polling) => (true, None, None, None),
                Some(Message::StreamClose(id)) => (false, Some(id), None, None),
                Some(Message::FallbackFor(id)) => (false, None, Some(id), None),
                Some(Message::HotRestart(epoch)) => (false, None, None, Some((epoch, false))),
                Some(Message::HotRestartAck(epoch)) => (false, None, None, Some((epoch, true))),
            };
            // Elements that the peer put into the queue before it sent any of these messages come
            // first: neither fallback data nor a close may overtake them. All of them are visible
            // since the read.
            if !std::mem::replace(&mut queue_taken, true) {
                self.take_ring_full(core)?;
            }
            if polling {
                continue;
            }
            if let Some(id) = stream_close {
                self.begin_closing(core, id);
            }
            if let Some(id) = fallback_for {
                core.counters.fallbacks_received.add_locked(1);
                self.payload_for = self.begin_fallback(core, id);
            }
            if let Some((epoch, acknowledged)) = restart {
                handle_restart(core, epoch, acknowledged)?;
            }
        }
    }

    fn begin_fallback(&mut self, core: &Core, id: u32) -> Option<Arc<StreamState>> {
        let stream = find(core, id)?;
        core.leave_queue(&stream);
        Some(stream)
    }
}
