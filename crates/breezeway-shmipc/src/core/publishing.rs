//! Putting elements into the queue, and waking the peer for them.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use super::Core;
use crate::error::SessionEnd;
use crate::layout::buffer::SliceId;
use crate::lock::lock;
use crate::queue::{Element, Producer, PutError};
use crate::wire::{self, MessageType};

impl Core {
    /// Sends a message of `slices`, which from then on belong to the peer. Returns false if the
    /// queue is full: then they still belong to this side.
    #[inline]
    pub(crate) fn publish(
        &self,
        stream: u32,
        slices: &[SliceId],
        len: usize,
    ) -> Result<bool, SessionEnd> {
        let mut producer = lock(&self.producer);
        // The peer may send the slices back as soon as they are visible, so this side gives them up
        // before.
        lock(&self.pool).part(slices);
        let put = producer.put(Element::data(stream, slices[0].offset));
        let was_put = put.is_ok();
        if was_put {
            self.counters.bytes_sent.add_locked(len as u64);
            self.counters.messages_sent.add_locked(1);
        } else {
            lock(&self.pool).keep(slices);
        }
        match self.after_put(put, producer) {
            // The session ended while the peer was to be woken. It may have received the message,
            // so the slices must not be treated as this side's again; the next operation finds the
            // end.
            Err(_) if was_put => Ok(true),
            outcome => outcome,
        }
    }

    /// Sends the end of a stream through the queue. Returns false if it is full.
    pub(crate) fn publish_close(&self, stream: u32) -> Result<bool, SessionEnd> {
        let mut producer = lock(&self.producer);
        let put = producer.put(Element::close(stream));
        self.after_put(put, producer)
    }

    #[inline]
    fn after_put(
        &self,
        put: Result<(), PutError>,
        producer: MutexGuard<'_, Producer>,
    ) -> Result<bool, SessionEnd> {
        match put {
            Ok(()) => {
                let corked = self.corked.load(Ordering::Relaxed);
                self.unannounced.store(corked, Ordering::Relaxed);
                let must_wake = !corked && producer.must_wake();
                drop(producer);
                if must_wake {
                    self.send(&wire::bare(MessageType::Polling, self.version))?;
                }
                self.judge_regions()?;
                Ok(true)
            }
            Err(PutError::Full) => {
                self.counters.queue_full.add_locked(1);
                drop(producer);
                self.announce()?;
                Ok(false)
            }
            Err(PutError::Violation(violation)) => {
                drop(producer);
                Err(self.broken(violation))
            }
        }
    }

    /// Delays wake-ups: the peer is not woken for each element, but for all of them at
    /// [`Self::uncork`]. For a thread that answers several streams in a row. A polling peer sees
    /// each at once.
    pub(crate) fn cork(&self) {
        let _producer = lock(&self.producer);
        self.corked.store(true, Ordering::Relaxed);
    }

    /// Wakes the peer for elements put since [`Self::cork`].
    pub(crate) fn uncork(&self) -> Result<(), SessionEnd> {
        let producer = lock(&self.producer);
        self.corked.store(false, Ordering::Relaxed);
        drop(producer);
        self.announce()
    }

    /// Wakes the peer for elements it was not woken for; due before any wait for the peer.
    #[inline]
    pub(crate) fn announce(&self) -> Result<(), SessionEnd> {
        if !self.unannounced.load(Ordering::Relaxed) {
            return Ok(());
        }
        let producer = lock(&self.producer);
        let must_wake = self.unannounced.swap(false, Ordering::Relaxed) && producer.must_wake();
        drop(producer);
        if must_wake {
            self.send(&wire::bare(MessageType::Polling, self.version))?;
        }
        Ok(())
    }
}
