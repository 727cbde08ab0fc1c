//! One direction of the queue region: a ring of elements with one producing and one consuming
//! process, and the flag that shows the producer whether the consumer must be woken.
//!
//! Each side keeps its own count privately and uses the peer's only for its distance to it, so
//! whatever the peer writes there, no element outside the ring is touched.
//!
//! Sleeping and waking is Dekker's pattern: the producer writes `tail` and then reads the flag, the
//! consumer clears the flag and then reads `tail`, and a full fence stands between write and read
//! on both sides. Without either, a wake-up gets lost; the model shows it.

use std::sync::Arc;

#[cfg(not(loom))]
use breezeway_os::Distance;

use crate::layout::queue::{NATIVE, RingLayout, judge_rings};
use crate::region::Region;
use crate::sync::{Ordering, Step, full_fence, removed};
use crate::violation::Violation;

/// Mask of a status: the receiver reads only its low 8 bits.
const STATUS_MASK: u32 = 0xff;
/// Status: the stream's sender has closed it.
const CLOSED: u32 = 1;

/// One entry of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// Number of the stream.
    pub(crate) stream: u32,
    /// Offset of the message's first slice; 0 for a close.
    pub(crate) offset: u32,
    /// Status, of which only the low 8 bits count.
    pub(crate) status: u32,
}

impl Element {
    /// Creates a message.
    pub(crate) fn data(stream: u32, offset: u32) -> Self {
        Self { stream, offset, status: 0 }
    }

    /// Creates the end of a stream.
    pub(crate) fn close(stream: u32) -> Self {
        Self { stream, offset: 0, status: CLOSED }
    }

    /// Returns true if it ends its stream.
    pub(crate) fn is_close(&self) -> bool {
        self.status & STATUS_MASK == CLOSED
    }
}

/// Reason why nothing was put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PutError {
    /// The peer has not taken enough.
    Full,
    /// The peer's count is impossible.
    Violation(Violation),
}

/// Writes the capacities of two fresh rings.
pub(crate) fn initialise(region: &Region, capacity: u32) {
    for base in [0, region.len() / 2] {
        region.word(base + NATIVE.capacity).store(capacity, Ordering::Relaxed);
    }
}

/// Reads both capacities once and validates them: first the ring from client to server, then the
/// other.
pub(crate) fn judge(region: &Region) -> Result<[RingLayout; 2], Violation> {
    // A region too small for the headers is refused before anything in it is read.
    judge_rings(region.len(), [1, 1])?;
    let declared = [0, region.len() / 2]
        .map(|base| region.word(base + NATIVE.capacity).load(Ordering::Relaxed));
    judge_rings(region.len(), declared)
}

/// The producing side.
pub(crate) struct Producer {
    region: Arc<Region>,
    ring: RingLayout,
    /// Elements put.
    tail: u64,
    /// The consumer's count when last read, so that its line is only fetched when the ring seems
    /// full.
    head_seen: u32,
    #[cfg(not(loom))]
    distance: Distance,
}

impl Producer {
    /// Continues at the ring's present counts.
    pub(crate) fn new(region: Arc<Region>, ring: RingLayout) -> Self {
        let tail = region.count(ring.base + NATIVE.tail).value();
        let head_seen = region.count(ring.base + NATIVE.head).observe();
        Self {
            region,
            ring,
            tail,
            head_seen,
            #[cfg(not(loom))]
            distance: Distance::default(),
        }
    }

    /// Returns true if a payload of `len` bytes is better written past the caches. At intervals the
    /// consumer's distance is measured on its count, which it writes with each batch.
    #[cfg(not(loom))]
    pub(crate) fn streams(&mut self, len: usize) -> bool {
        let head = self.region.count(self.ring.base + NATIVE.head);
        self.distance.sample(len, || head.observe());
        self.distance.streams()
    }

    /// Puts an element; the peer may be taking others.
    #[inline]
    pub(crate) fn put(&mut self, element: Element) -> Result<(), PutError> {
        if self.in_flight() >= self.ring.capacity {
            self.head_seen = self.region.count(self.ring.base + NATIVE.head).observe();
            self.judge_room()?;
        }
        let at = self.ring.element(self.tail);
        self.region.word(at).store(element.stream, Ordering::Relaxed);
        self.region.word(at + 4).store(element.offset, Ordering::Relaxed);
        self.region.word(at + 8).store(element.status, Ordering::Relaxed);
        let order =
            if removed(Step::ReleaseOfElement) { Ordering::Relaxed } else { Ordering::Release };
        let count = self.region.count(self.ring.base + NATIVE.tail);
        count.publish(self.tail, self.tail.wrapping_add(1), order);
        self.tail = self.tail.wrapping_add(1);
        Ok(())
    }

    fn judge_room(&self) -> Result<(), PutError> {
        let (distance, capacity) = (self.in_flight(), self.ring.capacity);
        if distance > capacity {
            return Err(PutError::Violation(Violation::QueueDistance { distance, capacity }));
        }
        if distance == capacity { Err(PutError::Full) } else { Ok(()) }
    }

    fn in_flight(&self) -> u32 {
        (self.tail as u32).wrapping_sub(self.head_seen)
    }

    /// Returns the number of elements that the consumer has not taken, by its published count.
    #[cfg(not(loom))]
    pub(crate) fn depth(&self) -> u32 {
        let head = self.region.count(self.ring.base + NATIVE.head).observe();
        (self.tail as u32).wrapping_sub(head).min(self.ring.capacity)
    }

    /// Returns true if this producer must wake the consumer for the elements put.
    #[inline]
    pub(crate) fn must_wake(&self) -> bool {
        full_fence(Step::FenceAfterPut);
        let flag = self.region.word(self.ring.base + NATIVE.flag);
        flag.load(Ordering::Relaxed) == 0
            && flag.compare_exchange(0, 1, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }
}

#[cfg(all(test, feature = "tokio", not(loom)))]
impl Producer {
    /// Returns true if the consumer waits to be woken.
    pub(crate) fn is_consumer_resting(&self) -> bool {
        self.region.word(self.ring.base + NATIVE.flag).load(Ordering::SeqCst) == 0
    }
}

/// The consuming side.
pub(crate) struct Consumer {
    region: Arc<Region>,
    ring: RingLayout,
    /// Elements taken.
    head: u64,
    /// Elements that the producer knows to be taken.
    published: u64,
    /// The producer's count when last read.
    tail_seen: u32,
}

impl Consumer {
    /// Continues at the ring's present counts.
    pub(crate) fn new(region: Arc<Region>, ring: RingLayout) -> Self {
        let head = region.count(ring.base + NATIVE.head).value();
        Self { region, ring, head, published: head, tail_seen: head as u32 }
    }

    /// Returns the capacity of the ring in elements.
    pub(crate) fn capacity(&self) -> u32 {
        self.ring.capacity
    }

    /// Takes an element if there is one. The producer sees that after [`Self::publish`].
    #[inline]
    pub(crate) fn take(&mut self) -> Result<Option<Element>, Violation> {
        if self.tail_seen == self.head as u32 {
            self.tail_seen = self.region.count(self.ring.base + NATIVE.tail).observe();
            self.judge_distance()?;
            if self.tail_seen == self.head as u32 {
                return Ok(None);
            }
        }
        let at = self.ring.element(self.head);
        let element = Element {
            stream: self.region.word(at).load(Ordering::Relaxed),
            offset: self.region.word(at + 4).load(Ordering::Relaxed),
            status: self.region.word(at + 8).load(Ordering::Relaxed),
        };
        self.head = self.head.wrapping_add(1);
        Ok(Some(element))
    }

    fn judge_distance(&self) -> Result<(), Violation> {
        let distance = self.tail_seen.wrapping_sub(self.head as u32);
        let capacity = self.ring.capacity;
        if distance > capacity {
            return Err(Violation::QueueDistance { distance, capacity });
        }
        Ok(())
    }

    /// Lets the producer reuse the places of taken elements.
    #[inline]
    pub(crate) fn publish(&mut self) {
        if self.published != self.head {
            let count = self.region.count(self.ring.base + NATIVE.head);
            count.publish(self.published, self.head, Ordering::Release);
            self.published = self.head;
        }
    }

    /// Returns true if there is an element to take, or an error to be found by taking.
    #[inline]
    pub(crate) fn has_elements(&self) -> bool {
        self.tail_seen != self.head as u32
            || self.region.count(self.ring.base + NATIVE.tail).observe() != self.head as u32
    }

    /// Marks that this side polls and need not be woken.
    #[inline]
    pub(crate) fn work(&self) {
        let flag = self.region.word(self.ring.base + NATIVE.flag);
        if flag.load(Ordering::Relaxed) != 1 {
            flag.store(1, Ordering::Relaxed);
        }
    }

    /// Marks that this side must be woken from now on. Returns true if it may sleep; false if an
    /// element came in the meantime, and then it keeps working.
    pub(crate) fn rest(&self) -> bool {
        self.region.word(self.ring.base + NATIVE.flag).store(0, Ordering::SeqCst);
        full_fence(Step::FenceAfterRest);
        if self.has_elements() && !removed(Step::PollAfterRest) {
            self.work();
            return false;
        }
        true
    }
}

#[cfg(all(test, not(loom), target_arch = "x86_64"))]
mod tests {
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::*;

    fn region() -> Arc<Region> {
        let fd = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&fd, 432).unwrap();
        let region = Region::map(&fd, 432).unwrap();
        initialise(&region, 16);
        Arc::new(region)
    }

    #[test]
    fn messages_and_a_close_are_as_recorded() {
        let region = region();
        let [to_server, to_client] = judge(&region).unwrap();
        let mut producer = Producer::new(Arc::clone(&region), to_server);
        producer.put(Element::data(2, 44)).unwrap();
        producer.put(Element::close(2)).unwrap();
        let mut answering = Producer::new(Arc::clone(&region), to_client);
        answering.put(Element::data(2, 1068)).unwrap();
        let mut bytes = [0; 432];
        region.copy_to(0, &mut bytes);
        let header = [16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(bytes[..24], header);
        assert_eq!(bytes[24..36], [2, 0, 0, 0, 0x2c, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[36..48], [2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(bytes[216 + 24..216 + 36], [2, 0, 0, 0, 0x2c, 4, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_consumer_is_woken_only_while_it_rests() {
        let region = region();
        let [ring, _] = judge(&region).unwrap();
        let mut producer = Producer::new(Arc::clone(&region), ring);
        let mut consumer = Consumer::new(Arc::clone(&region), ring);
        producer.put(Element::data(2, 44)).unwrap();
        assert!(producer.must_wake() && !producer.must_wake());
        assert!(!consumer.rest(), "there is something");
        assert_eq!(consumer.take(), Ok(Some(Element::data(2, 44))));
        assert!(consumer.rest());
        assert!(producer.must_wake());
    }

    #[test]
    fn counts_go_on_beyond_32_bits() {
        let region = region();
        let [ring, _] = judge(&region).unwrap();
        for at in [NATIVE.head, NATIVE.tail] {
            region.word(at).store(u32::MAX - 1, Ordering::Relaxed);
        }
        let mut producer = Producer::new(Arc::clone(&region), ring);
        let mut consumer = Consumer::new(Arc::clone(&region), ring);
        for number in 0..40 {
            producer.put(Element::data(number, 44)).unwrap();
            assert_eq!(consumer.take(), Ok(Some(Element::data(number, 44))));
            consumer.publish();
        }
        for at in [NATIVE.head, NATIVE.tail] {
            assert_eq!(region.count(at).value(), u64::from(u32::MAX) + 39);
        }
    }
}
