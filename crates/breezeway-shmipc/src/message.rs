//! Messages in the buffer region: chains of slices, linked by absolute offsets.
//!
//! Every header of a received chain is read once, validated against the private layout, and never
//! read again. A chain ends: this side comes to hold each of its slices, and none can be received
//! twice.

use crate::layout::buffer::{
    BufferLayout, FLAGS_AT, HAS_NEXT, IN_USE, NEXT_AT, SIZE_AT, SLICE_CAPACITY_AT, SLICE_HEADER,
    START_AT, SliceId,
};
use crate::pool::Pool;
use crate::region::Region;
use crate::violation::Violation;
use std::sync::atomic::Ordering;

/// Received bytes in order.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Bytes of a slice that this side holds.
    Slice {
        /// The slice.
        slice: SliceId,
        /// First byte not yet read, in the region.
        at: u32,
        /// Bytes not yet read.
        len: u32,
    },
    /// Bytes that came over the socket.
    Heap {
        /// All received bytes.
        bytes: Vec<u8>,
        /// Number of bytes that were read.
        read: usize,
    },
}

impl Piece {
    /// Returns the number of bytes not read yet.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Slice { len, .. } => *len as usize,
            Self::Heap { bytes, read } => bytes.len() - read,
        }
    }

    /// Marks bytes as read.
    #[inline]
    pub(crate) fn advance(&mut self, count: usize) {
        debug_assert!(count <= self.len());
        match self {
            Self::Slice { at, len, .. } => {
                *at += count as u32;
                *len -= count as u32;
            }
            Self::Heap { bytes, read } => {
                *read += count;
                drop_read(bytes, read);
            }
        }
    }
}

/// Drops read bytes as soon as they are the larger part: a piece takes at most twice the memory of
/// its unread bytes, and each byte is moved once on average.
fn drop_read(bytes: &mut Vec<u8>, read: &mut usize) {
    if *read < bytes.len() && *read > bytes.len() / 2 {
        bytes.drain(..*read);
        bytes.shrink_to_fit();
        *read = 0;
    }
}

/// Takes hold of the message at `first`; its pieces that hold bytes are added to `pieces`.
pub(crate) fn receive(
    region: &Region,
    layout: &BufferLayout,
    pool: &mut Pool,
    first: u32,
    pieces: &mut Vec<Piece>,
) -> Result<(), Violation> {
    let mut offset = first;
    let mut empty = Vec::new();
    loop {
        let slice = pool.hold(offset)?;
        let header = Header::read(region, offset);
        header.judge(layout.lists()[slice.list].capacity)?;
        if header.size > 0 {
            let at = offset + SLICE_HEADER + header.start;
            pieces.push(Piece::Slice { slice, at, len: header.size });
        } else {
            // Held until the chain's end, so that a circle of them is detected.
            empty.push(slice);
        }
        match header.next {
            Some(next) => offset = next,
            None => break,
        }
    }
    empty.into_iter().try_for_each(|slice| pool.give(slice))
}

/// Links the slices of a message of `len` bytes, filled one after the other. Returns the slices
/// that are not needed.
pub(crate) fn link<'a>(
    region: &Region,
    layout: &BufferLayout,
    slices: &'a [SliceId],
    mut len: usize,
) -> &'a [SliceId] {
    for (index, slice) in slices.iter().enumerate() {
        let size = len.min(layout.lists()[slice.list].capacity as usize);
        len -= size;
        let next = slices.get(index + 1).filter(|_| len > 0);
        write_header(region, slice.offset, size as u32, next.map(|next| next.offset));
        if next.is_none() {
            return &slices[index + 1..];
        }
    }
    &[]
}

fn write_header(region: &Region, offset: u32, size: u32, next: Option<u32>) {
    region.word(offset + SIZE_AT).store(size, Ordering::Relaxed);
    region.word(offset + START_AT).store(0, Ordering::Relaxed);
    if let Some(next) = next {
        region.word(offset + NEXT_AT).store(next, Ordering::Relaxed);
    }
    let flags = if next.is_some() { IN_USE | HAS_NEXT } else { IN_USE };
    region.byte(offset + FLAGS_AT).store(flags, Ordering::Relaxed);
}

/// A private copy of a slice's header.
struct Header {
    offset: u32,
    capacity: u32,
    size: u32,
    start: u32,
    next: Option<u32>,
}

impl Header {
    fn read(region: &Region, offset: u32) -> Self {
        let word = |at: u32| region.word(offset + at).load(Ordering::Relaxed);
        let flags = region.byte(offset + FLAGS_AT).load(Ordering::Relaxed);
        Self {
            offset,
            capacity: word(SLICE_CAPACITY_AT),
            size: word(SIZE_AT),
            start: word(START_AT),
            next: (flags & HAS_NEXT != 0).then(|| word(NEXT_AT)),
        }
    }

    /// Validates the header. Upstream recycles by the capacity, so a false one is refused although
    /// nothing here relies on it.
    fn judge(&self, capacity: u32) -> Result<(), Violation> {
        let Self { offset, size, start, .. } = *self;
        if self.capacity != capacity {
            return Err(Violation::SliceHeader { offset, declared: self.capacity, capacity });
        }
        if start.checked_add(size).is_none_or(|end| end > capacity) {
            return Err(Violation::SliceSize { offset, start, size, capacity });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::*;
    use crate::free_list;
    use crate::layout::buffer::{FREE_AT, HEAD_AT, TAIL_AT};

    const MIB: u32 = 1 << 20;

    /// Returns the recorded region: 511 slices of 1004 bytes and 127 of 4076.
    fn region() -> (Arc<Region>, Arc<BufferLayout>) {
        let layout = BufferLayout::plan(MIB, &[(1004, 50), (4076, 50)]).unwrap();
        let fd = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&fd, MIB.into()).unwrap();
        let region = Region::map(&fd, MIB).unwrap();
        free_list::initialise(&region, &layout);
        (Arc::new(region), Arc::new(layout))
    }

    fn bytes(region: &Region, at: u32, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        region.copy_to(at, &mut bytes);
        bytes
    }

    fn words(region: &Region, list: u32) -> [u32; 3] {
        [FREE_AT, HEAD_AT, TAIL_AT].map(|at| region.word(list + at).load(Ordering::Relaxed))
    }

    #[test]
    fn a_fresh_region_is_as_recorded() {
        let (region, _) = region();
        assert_eq!(bytes(&region, 0, 8), [2, 0, 0, 0, 0x48, 0xec, 0x0f, 0]);
        let list = [0xff, 1, 0, 0, 0xff, 1, 0, 0, 0, 0, 0, 0, 0, 0xf8, 7, 0, 0xec, 3, 0, 0];
        assert_eq!(bytes(&region, 8, 36), [&list[..], &[0; 16]].concat());
        let first = [0xec, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 1, 0, 0, 0];
        assert_eq!(bytes(&region, 44, 20), first);
        assert_eq!(bytes(&region, 522_284, 20), [&[0xec, 3][..], &[0; 18]].concat());
        let list = [0x7f, 0, 0, 0, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0xe0, 7, 0, 0xec, 0x0f, 0, 0];
        assert_eq!(bytes(&region, 523_308, 20), list);
    }

    #[test]
    fn a_chain_of_ten_thousand_bytes_is_as_recorded() {
        let (region, layout) = region();
        let mut pool = Pool::new(Arc::clone(&region), Arc::clone(&layout));
        let mut slices = Vec::new();
        assert_eq!(words(&region, 523_308), [127, 0, 516_096]);
        assert_eq!(pool.reserve(10_000, &mut slices), Ok(0));
        let offsets: Vec<_> = slices.iter().map(|slice| slice.offset).collect();
        assert_eq!(offsets, [523_344, 527_440, 531_536]);
        assert!(link(&region, &layout, &slices, 10_000).is_empty());
        assert_eq!(words(&region, 523_308), [124, 12_288, 516_096]);
        let first = [0xec, 0x0f, 0, 0, 0xec, 0x0f, 0, 0, 0, 0, 0, 0, 0x50, 0x0c, 8, 0, 3, 0, 0, 0];
        assert_eq!(bytes(&region, 523_344, 20), first);
        let last = [0xec, 0x0f, 0, 0, 0x38, 7, 0, 0, 0, 0, 0, 0, 0, 0x30, 0, 0, 2, 0, 0, 0];
        assert_eq!(bytes(&region, 531_536, 20), last);
        pool.part(&slices);
        for slice in &slices {
            free_list::give(&region, &layout.lists()[1], slice.offset).unwrap();
        }
        assert_eq!(words(&region, 523_308), [127, 12_288, 8192]);
    }

    #[test]
    fn linked_slices_are_received_once() {
        let (region, layout) = region();
        let mut sender = Pool::new(Arc::clone(&region), Arc::clone(&layout));
        let mut receiver = Pool::new(Arc::clone(&region), Arc::clone(&layout));
        let mut slices = Vec::new();
        sender.reserve(10_000, &mut slices).unwrap();
        link(&region, &layout, &slices, 10_000);
        sender.part(&slices);
        let mut pieces = Vec::new();
        let first = slices[0].offset;
        receive(&region, &layout, &mut receiver, first, &mut pieces).unwrap();
        assert_eq!(pieces.iter().map(Piece::len).collect::<Vec<_>>(), [4076, 4076, 1848]);
        assert_eq!((sender.held_count(), receiver.held_count()), (0, 3));
        let again = receive(&region, &layout, &mut receiver, first, &mut pieces);
        assert_eq!(again, Err(Violation::SliceHeld(first)));
    }

    #[test]
    fn bytes_of_the_socket_that_were_read_take_no_memory() {
        let all: Vec<u8> = (0..100_000u32).map(|value| value as u8).collect();
        let mut piece = Piece::Heap { bytes: all.clone(), read: 0 };
        for left in (0..100_000).rev().step_by(7) {
            piece.advance(piece.len() - left);
            let Piece::Heap { bytes, read } = &piece else { panic!("still of the socket") };
            assert!(bytes[*read..] == all[all.len() - left..], "{left} bytes left");
            assert!(left == 0 || bytes.capacity() <= 2 * left + 8, "{} bytes", bytes.capacity());
        }
    }

    #[test]
    fn slices_that_a_short_message_does_not_need_are_not_linked() {
        let (region, layout) = region();
        let mut pool = Pool::new(Arc::clone(&region), Arc::clone(&layout));
        let mut slices = Vec::new();
        pool.reserve(10_000, &mut slices).unwrap();
        assert_eq!(link(&region, &layout, &slices, 5), &slices[1..]);
        assert_eq!(region.byte(slices[0].offset + FLAGS_AT).load(Ordering::Relaxed), IN_USE);
    }

    #[test]
    fn the_last_slice_of_a_list_is_never_given_out() {
        let (region, layout) = region();
        let mut pool = Pool::new(Arc::clone(&region), Arc::clone(&layout));
        let mut slices = Vec::new();
        let room = 510 * 1004 + 126 * 4076;
        assert_eq!(pool.reserve(room + 1, &mut slices), Ok(1));
        assert_eq!(slices.len(), 510 + 126);
        slices.drain(..).for_each(|slice| pool.give(slice).unwrap());
        pool.give_back_kept().unwrap();
        assert_eq!(pool.held_count(), 0);
        assert_eq!(words(&region, 8)[0], 511);
    }
}
