//! Slices that this side holds, and their source.
//!
//! The shared free lists are queues, so taking from them walks through the whole region, and each
//! visit writes a line that both processes contend for. A process may simply keep slices: a few of
//! each list stay here, last in, first out, so that the next message finds its slice in the cache.
//! The kept slices are a small part of a list, and are given back when the session ends.
//!
//! A slice is *held* from being taken or received until it is given back or sent. One bit per slice
//! marks that, in private memory. A slice that is received while it is held shows a chain in a
//! circle, a message sent twice, or a tampered list, and no slice is ever used twice on this side.

use std::sync::Arc;

use crate::free_list;
use crate::layout::buffer::{BufferLayout, SliceId};
use crate::region::Region;
use crate::violation::Violation;

/// Divisor of a list's size that gives the maximum of kept slices.
const KEPT_PART: u32 = 8;
/// Maximum number of kept slices of a list.
const MOST_KEPT: u32 = 32;

/// Source and destination of slices.
pub(crate) struct Pool {
    region: Arc<Region>,
    layout: Arc<BufferLayout>,
    held: Vec<u64>,
    kept: Vec<Vec<SliceId>>,
}

impl Pool {
    /// Creates a pool that holds nothing yet.
    pub(crate) fn new(region: Arc<Region>, layout: Arc<BufferLayout>) -> Self {
        let held = vec![0; layout.slices().div_ceil(64) as usize];
        let kept = layout.lists().iter().map(|_| Vec::new()).collect();
        Self { region, layout, held, kept }
    }

    /// Takes slices for `len` bytes, as few as possible, and adds them to `slices`. Returns the
    /// bytes that found no room.
    pub(crate) fn reserve(
        &mut self,
        mut len: usize,
        slices: &mut Vec<SliceId>,
    ) -> Result<usize, Violation> {
        while len > 0 {
            let Some(slice) = self.take_for(len)? else { return Ok(len) };
            len = len.saturating_sub(self.capacity(slice) as usize);
            slices.push(slice);
        }
        Ok(0)
    }

    /// Takes the smallest slice that covers `len`, else the largest available.
    fn take_for(&mut self, len: usize) -> Result<Option<SliceId>, Violation> {
        let lists = self.layout.lists().len();
        let covers = |pool: &Self, list: usize| pool.layout.lists()[list].capacity as usize >= len;
        for list in 0..lists {
            if covers(self, list)
                && let Some(slice) = self.take(list)?
            {
                return Ok(Some(slice));
            }
        }
        for list in (0..lists).rev() {
            if !covers(self, list)
                && let Some(slice) = self.take(list)?
            {
                return Ok(Some(slice));
            }
        }
        Ok(None)
    }

    fn take(&mut self, list: usize) -> Result<Option<SliceId>, Violation> {
        if let Some(slice) = self.kept[list].pop() {
            return Ok(Some(slice));
        }
        let taken = free_list::take(&self.region, &self.layout.lists()[list])?;
        taken.map(|offset| self.hold(offset)).transpose()
    }

    /// Takes hold of the received slice at `offset`.
    #[inline]
    pub(crate) fn hold(&mut self, offset: u32) -> Result<SliceId, Violation> {
        let slice = self.layout.slice(offset)?;
        let (word, bit) = bit_of(slice);
        if self.held[word] & bit != 0 {
            return Err(Violation::SliceHeld(offset));
        }
        self.held[word] |= bit;
        Ok(slice)
    }

    /// Gives up the slices with a message, which must not be visible before this.
    #[inline]
    pub(crate) fn part(&mut self, slices: &[SliceId]) {
        for &slice in slices {
            let (word, bit) = bit_of(slice);
            self.held[word] &= !bit;
        }
    }

    /// Takes hold of the slices again after the message could not be sent.
    pub(crate) fn keep(&mut self, slices: &[SliceId]) {
        for &slice in slices {
            let (word, bit) = bit_of(slice);
            self.held[word] |= bit;
        }
    }

    /// Gives back a held slice.
    #[inline]
    pub(crate) fn give(&mut self, slice: SliceId) -> Result<(), Violation> {
        let list = &self.layout.lists()[slice.list];
        let room = (list.count / KEPT_PART).min(MOST_KEPT) as usize;
        if self.kept[slice.list].len() < room {
            self.kept[slice.list].push(slice);
            return Ok(());
        }
        self.give_back(slice)
    }

    fn give_back(&mut self, slice: SliceId) -> Result<(), Violation> {
        self.part(&[slice]);
        free_list::give(&self.region, &self.layout.lists()[slice.list], slice.offset)
    }

    /// Gives back the kept slices: the peer waits for them before it unmaps the region.
    pub(crate) fn give_back_kept(&mut self) -> Result<(), Violation> {
        for list in 0..self.kept.len() {
            while let Some(slice) = self.kept[list].pop() {
                self.give_back(slice)?;
            }
        }
        Ok(())
    }

    /// Returns the payload bytes of a slice.
    #[inline]
    pub(crate) fn capacity(&self, slice: SliceId) -> u32 {
        self.layout.lists()[slice.list].capacity
    }

    /// Returns the free slices of each list as the peer would find them, and those kept here: for
    /// statistics.
    pub(crate) fn free(&self) -> Vec<(u32, u32, u32)> {
        let lists = self.layout.lists().iter().zip(&self.kept);
        lists
            .map(|(list, kept)| {
                (list.capacity, free_list::free_count(&self.region, list), kept.len() as u32)
            })
            .collect()
    }

    /// Returns the number of slices that this side holds, those kept included.
    #[cfg(test)]
    pub(crate) fn held_count(&self) -> u32 {
        self.held.iter().map(|word| word.count_ones()).sum()
    }
}

#[inline]
fn bit_of(slice: SliceId) -> (usize, u64) {
    (slice.number as usize / 64, 1 << (slice.number % 64))
}
