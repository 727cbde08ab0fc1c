//! The honest side's control segment, as the peer reads it.

use std::ops::Deref;
use std::os::fd::OwnedFd;

use super::entry::Seen;
use super::hello::Terms;
use super::layout::{control, entry};
use crate::memory::Mapping;

/// A read-only mapping, and how far the peer has read in its ring.
#[derive(Debug)]
pub struct View {
    map: Mapping,
    capacity: u64,
    /// Position of the next entry to be read.
    pub head: u64,
}

impl View {
    /// Maps the control segment of the honest side's hello.
    pub fn new(fd: &OwnedFd, honest: &Terms) -> Self {
        let map = Mapping::foreign(fd);
        assert_eq!(map.len(), control::size(honest.ring_capacity), "the honest side lies");
        Self { map, capacity: honest.ring_capacity.into(), head: 0 }
    }

    /// Returns the number of the peer's entries that the honest side has consumed.
    pub fn consumed(&self) -> u64 {
        self.map.load(control::CONSUMED_AT)
    }

    /// Takes the next entry, if it is committed.
    pub fn try_next(&mut self) -> Option<Seen> {
        let slot = control::RING_AT + entry::SIZE * (self.head % self.capacity) as usize;
        if self.map.load(slot) != self.head + 1 {
            return None;
        }
        self.head += 1;
        Some(Seen(self.map.read(slot..slot + entry::SIZE)))
    }
}

impl Deref for View {
    type Target = Mapping;

    fn deref(&self) -> &Mapping {
        &self.map
    }
}
