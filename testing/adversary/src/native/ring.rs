//! The peer's own control segment and the ring in it (sections 3.1 and 4).

use std::sync::Arc;

use super::entry::Entry;
use super::hello::Terms;
use super::layout::{control, entry};
use crate::memory::Shared;

/// A control segment as its owner leaves it before the hello.
pub fn control_segment(terms: &Terms) -> Shared {
    let shared = Shared::fit(control::size(terms.ring_capacity));
    shared.write(control::MAGIC_AT, control::MAGIC);
    shared.store(control::VERSION_AT, 2);
    shared.store(control::CAPACITY_AT, terms.ring_capacity.into());
    shared.store(control::LENDS_AT, terms.lend_count.into());
    shared.store(control::DATA_WAKE_AT, control::NO_WAKE);
    shared.store(control::SPACE_WAKE_AT, control::NO_WAKE);
    shared
}

/// Ring that the peer publishes in. None of its methods waits, checks for room or rings.
#[derive(Clone, Debug)]
pub struct Ring {
    /// The control segment. Threads of an attack may hold it as well.
    pub shared: Arc<Shared>,
    /// Position of the next entry.
    pub tail: u64,
    capacity: u64,
}

impl Ring {
    /// An idle one in a new control segment.
    pub fn new(terms: &Terms) -> Self {
        Self::within(control_segment(terms), terms)
    }

    /// An idle one in a control segment of any content.
    pub fn within(shared: Shared, terms: &Terms) -> Self {
        Self { shared: Arc::new(shared), tail: 0, capacity: terms.ring_capacity.into() }
    }

    /// Returns the offset of an entry.
    pub fn slot(&self, position: u64) -> usize {
        control::RING_AT + entry::SIZE * (position % self.capacity) as usize
    }

    /// Writes an entry without committing it.
    pub fn write(&self, position: u64, entry: &Entry) {
        for (index, word) in entry.words().into_iter().enumerate() {
            self.shared.store(self.slot(position) + 8 * (index + 1), word);
        }
    }

    /// Writes a sequence word, right or wrong.
    pub fn commit(&self, position: u64, sequence: u64) {
        self.shared.store(self.slot(position), sequence);
    }

    /// Writes and commits the next entry, room or not.
    pub fn publish(&mut self, entry: &Entry) {
        self.write(self.tail, entry);
        self.commit(self.tail, self.tail + 1);
        self.tail += 1;
    }

    /// Returns true if the next entry has room once the honest side has consumed `consumed`.
    pub fn has_room(&self, consumed: u64) -> bool {
        self.tail.wrapping_sub(consumed) < self.capacity
    }
}
