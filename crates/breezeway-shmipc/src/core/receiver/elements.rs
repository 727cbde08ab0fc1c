//! Elements of the queue, each for the stream that it names.

use super::Receiver;
use super::routing::{discard_if_forgotten, find, is_for, mark_ready};
use crate::core::Core;
use crate::error::SessionEnd;
use crate::lock::lock;
use crate::message::{self, Piece};
use crate::queue::Element;
use crate::violation::Violation;

/// Number of elements taken before the producer sees it.
const PUBLISH_EVERY: u32 = 64;
/// Number of elements taken before other work gets its turn.
const AT_ONCE: u32 = 4096;

impl Receiver {
    /// Returns true if it is time to poll the queue again; always for callers that do not spin
    /// until it is.
    #[cfg(feature = "tokio")]
    #[inline]
    pub(crate) fn is_due(&self, core: &Core) -> bool {
        self.pace.is_due() || !core.may_spin()
    }

    /// Receives the elements in the queue, and from the socket if a stream's end requires that.
    /// Ends the session where the peer breaks a rule.
    #[inline]
    pub(crate) fn receive(&mut self, core: &Core) -> Result<(), SessionEnd> {
        let received = self.take_elements(core).and_then(|()| self.finish_closing(core));
        received.map_err(|violation| core.broken(violation))?;
        core.judge_regions()
    }

    /// Takes all elements in the queue: at most a ring full, because the peer may continue to put.
    pub(super) fn take_ring_full(&mut self, core: &Core) -> Result<(), Violation> {
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
