//! A buffer region, seen from outside.

use super::source::Source;
use crate::layout::buffer::{
    BufferLayout, FLAGS_AT, FREE_AT, HAS_NEXT, HEAD_AT, List, NEXT_AT, SLICE_HEADER, TAIL_AT,
    USED_AT,
};

/// Maximum number of slices of a list that are followed.
const MOST_FOLLOWED: u32 = 1 << 20;

/// The lists of slices that sessions send in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferDump {
    /// Path or label of the region.
    pub name: String,
    /// Bytes of it used by slices and their lists.
    pub used: u32,
    /// Lists, smallest slices first.
    pub lists: Vec<ListDump>,
}

/// The slices of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListDump {
    /// Payload bytes of each.
    pub slice_size: u32,
    /// Number of slices.
    pub slices: u32,
    /// Number of free slices, by the list's counter. The last one is never given out.
    pub free: i32,
    /// Number of slices found by following the list from its head.
    pub reachable: u32,
    /// True if that led to the list's tail. If nothing changes and this is false, the list is cut,
    /// as by a process that died in between: no slice of it is given out again.
    pub whole: bool,
}

impl BufferDump {
    /// Reads a buffer region; `None` if there is none.
    pub(super) fn read(name: &str, source: &Source<'_>) -> Option<Self> {
        let layout = BufferLayout::judge(source.len(), |at| source.word(at)).ok()?;
        if source.word(USED_AT) != layout.used() {
            return None;
        }
        let lists = layout.lists().iter().map(|list| ListDump::read(list, source)).collect();
        Some(Self { name: name.to_owned(), used: layout.used(), lists })
    }
}

impl ListDump {
    fn read(list: &List, source: &Source<'_>) -> Self {
        let field = |at| source.word(list.header + at);
        let (free, head, tail) = (field(FREE_AT).cast_signed(), field(HEAD_AT), field(TAIL_AT));
        let (reachable, whole) = follow(list, source, head, tail);
        let (slice_size, slices) = (list.capacity, list.count);
        Self { slice_size, slices, free, reachable, whole }
    }
}

/// Counts slices from `head` on. Returns also whether `tail` was reached.
fn follow(list: &List, source: &Source<'_>, head: u32, tail: u32) -> (u32, bool) {
    let mut place = head;
    for met in 0..list.count.min(MOST_FOLLOWED) {
        if list.index(place).is_none() {
            return (met, false);
        }
        if place == tail {
            return (met + 1, true);
        }
        let header: [u8; SLICE_HEADER as usize] = source.bytes(list.area() + place);
        if header[FLAGS_AT as usize] & HAS_NEXT == 0 {
            return (met + 1, false);
        }
        let next = header[NEXT_AT as usize..].first_chunk().expect("a header has its fields");
        place = u32::from_le_bytes(*next);
    }
    (list.count.min(MOST_FOLLOWED), false)
}
