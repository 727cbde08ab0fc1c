//! The session's shared memory: taking and giving back slices, and lost regions.

use std::sync::atomic::Ordering;

use breezeway_os::copy::STREAM_FROM;

use super::Core;
use crate::error::{SessionEnd, StreamError};
use crate::layout::buffer::SliceId;
use crate::lock::lock;
use crate::message::Piece;
use crate::violation::Violation;

impl Core {
    /// Returns the region that lost its memory, if any. Data read there since is zeros, so whatever
    /// rule that seems to break, this is the cause.
    pub(crate) fn lost_region(&self) -> Option<&'static str> {
        if self.queue.is_lost() {
            Some("queue")
        } else if self.buffer.is_lost() {
            Some("buffer")
        } else {
            None
        }
    }

    /// Takes slices for `len` bytes. Returns the number of bytes that found no room.
    pub(crate) fn reserve(
        &self,
        len: usize,
        slices: &mut Vec<SliceId>,
    ) -> Result<usize, SessionEnd> {
        if len >= STREAM_FROM {
            self.buffer.stream_large_copies(lock(&self.producer).streams(len));
        }
        let reserved = lock(&self.pool).reserve(len, slices);
        reserved.map_err(|violation| self.broken(violation)).and_then(|missing| {
            self.judge_regions()?;
            Ok(missing)
        })
    }

    /// Counts a message that went over the socket. Under the lock under which those through the
    /// queue are counted.
    pub(crate) fn count_fallback(&self, len: usize) {
        let _producer = lock(&self.producer);
        self.counters.bytes_sent.add_locked(len as u64);
        self.counters.fallbacks_sent.add_locked(1);
    }

    /// Returns the error for missing room for `len` bytes.
    pub(crate) fn memory_exhausted(&self, len: usize) -> StreamError {
        StreamError::MemoryExhausted { len, buffer_size: self.buffer.len() }
    }

    /// Ends the session if a region lost its memory: data read there since need not break any other
    /// rule.
    #[inline]
    pub(crate) fn judge_regions(&self) -> Result<(), SessionEnd> {
        match self.lost_region() {
            None => Ok(()),
            Some(region) => Err(self.broken(Violation::Truncated(region))),
        }
    }

    /// Gives back slices that this side holds.
    pub(crate) fn give(&self, slices: impl IntoIterator<Item = SliceId>) {
        let mut pool = lock(&self.pool);
        let given = slices.into_iter().try_for_each(|slice| pool.give(slice));
        if given.is_ok() && self.ended().is_some() {
            let _ = pool.give_back_kept();
        }
        drop(pool);
        if let Err(violation) = given {
            self.broken(violation);
        }
    }

    /// Frees the memory of pieces, read or not.
    #[inline]
    pub(crate) fn discard(&self, pieces: impl IntoIterator<Item = Piece>) {
        for piece in pieces {
            match piece {
                Piece::Slice { slice, .. } => self.give([slice]),
                Piece::Heap { .. } => self.forget_fallback(piece.len()),
            }
        }
    }

    /// Subtracts bytes received over the socket that were read, or that will never be read.
    pub(crate) fn forget_fallback(&self, count: usize) {
        let (before, limit) =
            (self.fallback_held.fetch_sub(count, Ordering::SeqCst), self.options.fallback_limit);
        // The socket is read again: the thread that sleeps until then is woken.
        if before >= limit && before - count < limit {
            self.notify_leader();
            self.restart.notify();
            #[cfg(feature = "tokio")]
            self.driver.attend();
        }
    }
}
