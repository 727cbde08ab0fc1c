//! Receiving for all streams of a session: the holder of the [`Receiver`] takes elements off the
//! queue and messages off the socket, and delivers each to its stream.

mod closing;
mod routing;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::core::Core;
use crate::error::SessionEnd;
use crate::incoming::{Incoming, Message};
use crate::lock::lock;
use crate::message::{self, Piece};
use crate::pace::Pace;
use crate::pauses::Pauses;
use crate::queue::{Consumer, Element};
use crate::spin::SpinPlan;
use crate::stream_state::StreamState;
use crate::violation::Violation;
use routing::{discard_if_forgotten, find, finish, handle_restart, is_for, mark_ready};

/// Number of elements taken before the producer sees it.
const PUBLISH_EVERY: u32 = 64;
/// Number of elements taken before other work gets its turn.
const AT_ONCE: u32 = 4096;

/// The receiving side of a session.
pub(crate) struct Receiver {
    pub(crate) consumer: Consumer,
    incoming: Incoming,
    pub(crate) spin: SpinPlan,
    pub(crate) pace: Pace,
    /// Pauses since the socket may not be read and nothing came through the queue; messages until
    /// then.
    pauses: Option<(Pauses, u64)>,
    /// Pieces of the message that is being received; kept so that the memory is reused.
    pieces: Vec<Piece>,
    /// The stream of the last message, which the next one is probably for.
    last: Option<Arc<StreamState>>,
    /// The stream that fallback bytes are for; `None` if they are dropped.
    payload_for: Option<Arc<StreamState>>,
    /// Streams whose end was just seen.
    closing: Vec<Arc<StreamState>>,
    /// Streams whose end was seen, with the number of bytes that must have been read from the
    /// socket before it counts: those that were in there when it was seen. In this order.
    ending: VecDeque<(u64, Arc<StreamState>)>,
    /// Bytes read from the socket so far.
    bytes_read: u64,
    /// True if the peer has put an element, which proves that it has mapped the regions.
    peer_has_put: bool,
    #[cfg(feature = "tokio")]
    by_driver: bool,
}

impl Receiver {
    /// Creates a receiver of `consumer`'s elements, and of the session's socket.
    pub(crate) fn new(consumer: Consumer) -> Self {
        Self {
            consumer,
            incoming: Incoming::new(),
            spin: SpinPlan::new(),
            pace: Pace::new(),
            pauses: None,
            pieces: Vec::new(),
            last: None,
            payload_for: None,
            closing: Vec::new(),
            ending: VecDeque::new(),
            bytes_read: 0,
            peer_has_put: false,
            #[cfg(feature = "tokio")]
            by_driver: false,
        }
    }

    /// Returns true if it is time to poll the queue again; always for callers that do not spin
    /// until it is.
    #[cfg(feature = "tokio")]
    #[inline]
    pub(crate) fn is_due(&self, core: &Core) -> bool {
        self.pace.is_due() || !core.may_spin()
    }

    /// Returns the time to sleep while the socket, and with it wake-ups, may not be read.
    pub(crate) fn pause_without_socket(&mut self) -> Duration {
        let received = self.pace.received();
        if self.pauses.as_ref().is_none_or(|(_, before)| *before != received) {
            self.pauses = Some((Pauses::new(), received));
        }
        self.pauses.as_ref().map_or(Duration::ZERO, |(pauses, _)| pauses.next_short())
    }

    /// Receives the elements in the queue, and from the socket if a stream's end requires that.
    /// Ends the session where the peer breaks a rule.
    #[inline]
    pub(crate) fn receive(&mut self, core: &Core) -> Result<(), SessionEnd> {
        let received = self.take_elements(core).and_then(|()| self.finish_closing(core));
        received.map_err(|violation| core.broken(violation))?;
        core.judge_regions()
    }

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
    fn read(&mut self, core: &Core, flags: RecvFlags) -> Result<usize, Errno> {
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
    fn handle_all(&mut self, core: &Core) -> Result<(), Violation> {
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

    /// Takes all elements in the queue: at most a ring full, because the peer may continue to put.
    fn take_ring_full(&mut self, core: &Core) -> Result<(), Violation> {
        for _ in 0..=self.consumer.capacity() / AT_ONCE {
            self.take_elements(core)?;
            if !self.consumer.has_elements() {
                break;
            }
        }
        Ok(())
    }

    /// Takes elements in the queue, a bounded number.
    #[inline]
    fn take_elements(&mut self, core: &Core) -> Result<(), Violation> {
        self.pace.begin();
        for taken in 1..=AT_ONCE {
            let Some(element) = self.consumer.take()? else { break };
            if !self.peer_has_put {
                self.peer_has_put = true;
                core.note_first_element();
            }
            self.receive_element(core, element)?;
            if taken % PUBLISH_EVERY == 0 {
                self.consumer.publish();
            }
        }
        self.consumer.publish();
        Ok(())
    }

    #[inline]
    fn receive_element(&mut self, core: &Core, element: Element) -> Result<(), Violation> {
        if element.is_close() {
            self.begin_closing(core, element.stream);
            return Ok(());
        }
        message::receive(
            &core.buffer,
            &core.layout,
            &mut lock(&core.pool),
            element.offset,
            &mut self.pieces,
        )?;
        let len: usize = self.pieces.iter().map(Piece::len).sum();
        if self.last.as_ref().is_none_or(|last| !is_for(last, element.stream)) {
            self.last = find(core, element.stream);
        }
        match &self.last {
            Some(stream) => {
                self.pace.count(&stream.last);
                stream.deliver(&mut self.pieces);
                mark_ready(core, stream);
                discard_if_forgotten(core, stream);
            }
            None => core.discard(self.pieces.drain(..)),
        }
        // Counted after delivery, so that a reader of the count finds the data.
        core.counters.bytes_received.add_locked(len as u64);
        core.counters.messages_received.add_locked(1);
        Ok(())
    }

    /// Frees the elements in the queue, when no stream is left to read them.
    pub(crate) fn discard_rest(&mut self, core: &Core) {
        self.last = None;
        // At most a ring full, because the peer may continue to put.
        for _ in 0..self.consumer.capacity() {
            let Ok(Some(element)) = self.consumer.take() else { break };
            if element.is_close() {
                continue;
            }
            let pool = &mut lock(&core.pool);
            let first = element.offset;
            if message::receive(&core.buffer, &core.layout, pool, first, &mut self.pieces).is_err()
            {
                return;
            }
        }
        self.consumer.publish();
        core.discard(self.pieces.drain(..));
    }
}
