//! Messages in the buffer region: chains of slices, linked by absolute offsets.
//!
//! Every header of a received chain is read once, judged against the private layout, and never looked at again. A chain ends: each of its slices comes into our hands, and none can do so twice.

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
    /// Bytes of a slice that we hold.
    Slice {
        /// Which.
        slice: SliceId,
        /// First byte not yet read, in the region.
        at: u32,
        /// Bytes not yet read.
        len: u32,
    },
    /// Bytes that came over the socket.
    Heap {
        /// All that came.
        bytes: Vec<u8>,
        /// How many of them were read.
        read: usize,
    },
}

impl Piece {
    /// Bytes not yet read.
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
            Self::Heap { read, .. } => *read += count,
        }
    }
}

/// Takes the message at `first` into our hands; its pieces that hold bytes are added to `pieces`.
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
            // Held until the chain's end, for a circle of them must be noticed.
            empty.push(slice);
        }
        match header.next {
            Some(next) => offset = next,
            None => break,
        }
    }
    empty.into_iter().try_for_each(|slice| pool.give(slice))
}

/// Links the slices of a message that holds `len` bytes, filled one after the other. Gives the slices that are not needed.
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

    /// The capacity decides on recycling in upstream, so one that lies is refused although nothing here relies on it.
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
