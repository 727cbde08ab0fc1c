//! The queue region: one ring for the client's elements, and one for the server's.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::region::{get, set};
use crate::memfd::unsealable;

/// Size of the region that [`region`] makes: two rings of [`CAPACITY`] elements.
pub const SIZE: u64 = 432;
/// Elements in each of its rings.
pub const CAPACITY: u32 = 16;

/// Offsets of the fields of a ring, from its start.
#[allow(missing_docs, reason = "the names are those of the protocol")]
pub mod at {
    pub const CAPACITY: u64 = 0;
    /// Elements taken in all; the low half.
    pub const HEAD: u64 = 4;
    /// Elements put in all; the low half.
    pub const TAIL: u64 = 12;
    /// Flag that is set while the taking side is awake.
    pub const WORKING: u64 = 20;
    pub const ELEMENTS: u64 = 24;
}

/// A queue region as a well-behaved client makes it.
pub fn region() -> OwnedFd {
    let fd = unsealable(SIZE);
    for base in [0, SIZE / 2] {
        set(&fd, base + at::CAPACITY, CAPACITY);
    }
    fd
}

/// One ring, as a peer uses it that puts elements there or takes them.
#[derive(Debug)]
pub struct Ring {
    region: Arc<OwnedFd>,
    /// Offset of the queue in the region.
    pub base: u64,
    capacity: u32,
    /// Elements that the peer has put or taken.
    pub count: u32,
}

impl Ring {
    /// The ring at `base`, of the capacity that stands there.
    pub fn new(region: &Arc<OwnedFd>, base: u64) -> Self {
        Self::of_capacity(region, base, get(region, base + at::CAPACITY))
    }

    /// The ring at `base`, of a capacity that need not stand there.
    pub fn of_capacity(region: &Arc<OwnedFd>, base: u64, capacity: u32) -> Self {
        Self { region: Arc::clone(region), base, capacity, count: 0 }
    }

    fn element(&self) -> u64 {
        self.base + at::ELEMENTS + 12 * u64::from(self.count % self.capacity)
    }

    /// Puts an element, even into a full queue, and sends no wake-up.
    pub fn put(&mut self, stream: u32, offset: u32, status: u32) {
        let at = self.element();
        for (place, value) in (0..).zip([stream, offset, status]) {
            set(&self.region, at + 4 * place, value);
        }
        self.count += 1;
        set(&self.region, self.base + at::TAIL, self.count);
    }

    /// Elements that the honest side has put.
    pub fn tail(&self) -> u32 {
        get(&self.region, self.base + at::TAIL)
    }

    /// Takes an element, if one is there: stream, offset, status.
    pub fn try_take(&mut self) -> Option<[u32; 3]> {
        if self.tail() == self.count {
            return None;
        }
        let at = self.element();
        self.count += 1;
        set(&self.region, self.base + at::HEAD, self.count);
        Some([0, 4, 8].map(|place| get(&self.region, at + place)))
    }

    /// Marks the peer as sleeping, so that the next element comes with a message.
    pub fn sleep(&self) {
        set(&self.region, self.base + at::WORKING, 0);
    }
}
