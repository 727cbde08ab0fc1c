//! The buffer region: lists of equally large slices, one list after the other.
//!
//! ```text
//! region   0       2     4        8
//!          lists   | 0   | used   | list, list, ...
//! list     0       4       8      12     16         20         24        28    36
//!          free    | count | head | tail | capacity | creator  | mapper  | 0   | slices
//! slice    0          4      8       12     16      17   20
//!          capacity   | size | start | next | flags | -  | payload
//! ```
//!
//! `head`, `tail`, and `next` of a free slice count from the list's first slice; `next` of a slice
//! in a message counts from the region's start. `creator` and `mapper` are unused bookkeeping, and
//! stay unchanged.

use crate::violation::Violation;

/// Size of the region's header.
pub(crate) const REGION_HEADER: u32 = 8;
/// Offset of the used bytes in the region's header.
pub(crate) const USED_AT: u32 = 4;

/// Size of a list's header.
pub(crate) const LIST_HEADER: u32 = 36;
/// Offsets in a list's header.
pub(crate) const FREE_AT: u32 = 0;
pub(crate) const COUNT_AT: u32 = 4;
pub(crate) const HEAD_AT: u32 = 8;
pub(crate) const TAIL_AT: u32 = 12;
pub(crate) const CAPACITY_AT: u32 = 16;

/// Size of a slice's header.
pub(crate) const SLICE_HEADER: u32 = 20;
/// Offsets in a slice's header.
pub(crate) const SLICE_CAPACITY_AT: u32 = 0;
pub(crate) const SIZE_AT: u32 = 4;
pub(crate) const START_AT: u32 = 8;
pub(crate) const NEXT_AT: u32 = 12;
pub(crate) const FLAGS_AT: u32 = 16;

/// Flag: another slice follows.
pub(crate) const HAS_NEXT: u8 = 1;
/// Flag: the slice was allocated. Advisory: a slice that is reused in place is sent without it.
pub(crate) const IN_USE: u8 = 2;

/// Size of a cache line.
const LINE: u32 = 64;

/// Maximum number of lists, more than in any real configuration.
const MOST_LISTS: u16 = 64;

/// One list of slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    /// Offset of its header.
    pub(crate) header: u32,
    /// Number of its slices.
    pub(crate) count: u32,
    /// Payload bytes of each.
    pub(crate) capacity: u32,
    /// Slices of the lists before it: the number of its first one.
    pub(crate) first_number: u32,
}

impl List {
    /// Returns the offset of its first slice.
    #[inline]
    pub(crate) fn area(&self) -> u32 {
        self.header + LIST_HEADER
    }

    /// Returns the distance from one slice to the next.
    #[inline]
    pub(crate) fn stride(&self) -> u32 {
        SLICE_HEADER + self.capacity
    }

    /// Returns its end; in 64 bits, because a peer may declare anything.
    fn end(&self) -> u64 {
        let stride = u64::from(SLICE_HEADER) + u64::from(self.capacity);
        let slices = u64::from(self.count).saturating_mul(stride);
        slices.saturating_add(u64::from(self.header) + u64::from(LIST_HEADER))
    }

    /// Returns true if its words can be accessed in place. Elsewhere than on x86-64 they have to be
    /// aligned. On x86-64 they need not be, but words that are accessed by locked instructions must
    /// not cross a cache line: that stops the whole machine for a moment, and some kernels end the
    /// process (`split_lock_detect`).
    pub(crate) fn is_accessible(&self) -> bool {
        if !cfg!(target_arch = "x86_64") {
            return self.header.is_multiple_of(4) && self.capacity.is_multiple_of(4);
        }
        let crosses = |at: u32| (self.header % LINE + at) % LINE > LINE - 4;
        ![FREE_AT, HEAD_AT, TAIL_AT].into_iter().any(crosses)
    }

    /// Returns the index of its slice that starts at `relative` to its area.
    #[inline]
    pub(crate) fn index(&self, relative: u32) -> Option<u32> {
        let index = relative / self.stride();
        (relative.is_multiple_of(self.stride()) && index < self.count).then_some(index)
    }
}

/// Slice at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SliceId {
    /// Index of its list.
    pub(crate) list: usize,
    /// Number in the whole region.
    pub(crate) number: u32,
    /// Offset of its header in the region.
    pub(crate) offset: u32,
}

/// Private copy of the layout: the region's declarations are read once, validated, and never read
/// again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BufferLayout {
    lists: Vec<List>,
    slices: u32,
}

impl BufferLayout {
    /// Lays out lists of `(slice capacity, percent)` pairs in `size` bytes, smallest slices first.
    /// `None` if a list would have no slice.
    pub(crate) fn plan(size: u32, classes: &[(u32, u32)]) -> Option<Self> {
        let mut classes = classes.to_vec();
        classes.sort_unstable();
        let headers = u64::from(REGION_HEADER) + u64::from(LIST_HEADER) * classes.len() as u64;
        let usable = u64::from(size).checked_sub(headers)?;
        let mut lists = Vec::new();
        let (mut header, mut first_number) = (REGION_HEADER, 0);
        for (capacity, percent) in classes {
            let share = usable * u64::from(percent) / 100;
            let count = u32::try_from(share / u64::from(SLICE_HEADER + capacity)).ok()?;
            let list = List { header, count, capacity, first_number };
            header = u32::try_from(list.end()).ok().filter(|_| count > 0)?;
            first_number += count;
            lists.push(list);
        }
        Some(Self { lists, slices: first_number })
    }

    /// Validates the declarations of a region of `size` bytes. `word` reads one of its words.
    pub(crate) fn judge(size: u32, word: impl Fn(u32) -> u32) -> Result<Self, Violation> {
        if size < REGION_HEADER + LIST_HEADER {
            let allowed = "a list's header has to fit";
            return Err(Violation::RegionSize { region: "buffer", size: size.into(), allowed });
        }
        let declared = (word(0) & 0xffff) as u16;
        if declared == 0 || declared > MOST_LISTS {
            return Err(Violation::ListCount(declared));
        }
        let mut layout = Self { lists: Vec::new(), slices: 0 };
        let mut header = REGION_HEADER;
        for index in 0..usize::from(declared) {
            if u64::from(header) + u64::from(LIST_HEADER) > u64::from(size) {
                return Err(Violation::ListBounds(index));
            }
            let (count, capacity) = (word(header + COUNT_AT), word(header + CAPACITY_AT));
            header =
                layout.add(List { header, count, capacity, first_number: layout.slices }, size)?;
        }
        Ok(layout)
    }

    /// Adds a declared list. Returns the place of the next.
    fn add(&mut self, list: List, size: u32) -> Result<u32, Violation> {
        let index = self.lists.len();
        let known = self.lists.iter().any(|other| other.capacity == list.capacity);
        if list.capacity == 0 || known {
            return Err(Violation::SliceCapacity { list: index, capacity: list.capacity });
        }
        if !list.is_accessible() {
            return Err(Violation::ListAlignment { list: index, header: list.header });
        }
        let end = u32::try_from(list.end()).ok().filter(|&end| end <= size && list.count > 0);
        let end = end.ok_or(Violation::ListBounds(index))?;
        self.slices += list.count;
        self.lists.push(list);
        Ok(end)
    }

    /// Returns the lists, in the region's order.
    #[inline]
    pub(crate) fn lists(&self) -> &[List] {
        &self.lists
    }

    /// Returns the number of slices of all lists.
    pub(crate) fn slices(&self) -> u32 {
        self.slices
    }

    /// Returns the payload bytes that the region has room for if all of it is free. The last slice
    /// of each list is never given out.
    pub(crate) fn room(&self) -> usize {
        let room = |list: &List| (list.count as usize - 1) * list.capacity as usize;
        self.lists.iter().map(room).sum()
    }

    /// Returns the bytes that the lists take, without the region's header.
    pub(crate) fn used(&self) -> u32 {
        self.lists.last().map_or(0, |list| list.end() as u32 - REGION_HEADER)
    }

    /// Returns the slice whose header starts at `offset`.
    #[inline]
    pub(crate) fn slice(&self, offset: u32) -> Result<SliceId, Violation> {
        let inside = |list: &&List| offset >= list.area() && u64::from(offset) < list.end();
        let found = self.lists.iter().enumerate().find(|(_, list)| inside(list));
        let (index, list) = found.ok_or(Violation::NoSlice(offset))?;
        let slot = list.index(offset - list.area()).ok_or(Violation::NoSlice(offset))?;
        Ok(SliceId { list: index, number: list.first_number + slot, offset })
    }

    /// Returns the slice with a number.
    #[cfg(test)]
    pub(crate) fn numbered(&self, number: u32) -> SliceId {
        let list = self.lists.iter().rposition(|list| list.first_number <= number).unwrap_or(0);
        let place = &self.lists[list];
        let offset = place.area() + (number - place.first_number) * place.stride();
        SliceId { list, number, offset }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const MIB: u32 = 1 << 20;

    fn default_layout() -> BufferLayout {
        BufferLayout::plan(32 * MIB, &[(8172, 50), (32748, 30), (131_052, 20)]).unwrap()
    }

    /// Validates a region with these words.
    fn declared(size: u32, words: &[(u32, u32)]) -> Result<BufferLayout, Violation> {
        BufferLayout::judge(size, |at| {
            words.iter().find(|(place, _)| *place == at).map_or(0, |(_, value)| *value)
        })
    }

    #[test]
    fn a_small_region_is_laid_out_as_upstream_does() {
        let layout = BufferLayout::plan(MIB, &[(4076, 50), (1004, 50)]).unwrap();
        assert_eq!(layout.used(), 0x000f_ec48);
        let [small, large] = *layout.lists() else { panic!("two lists") };
        assert_eq!((small.header, small.count, small.capacity), (8, 511, 1004));
        assert_eq!((large.header, large.count, large.capacity), (523_308, 127, 4076));
    }

    #[test]
    fn the_default_region_is_laid_out_as_upstream_does() {
        let layout = default_layout();
        let headers: Vec<_> = layout.lists().iter().map(|list| (list.header, list.count)).collect();
        assert_eq!(headers, [(8, 2047), (16_769_068, 307), (26_828_880, 51)]);
        assert_eq!(layout.used(), 33_513_580);
        assert_eq!(layout.slices(), 2047 + 307 + 51);
    }

    #[test]
    fn planned_layout_is_validated_as_the_same() {
        let layout = default_layout();
        let words: Vec<_> = layout
            .lists()
            .iter()
            .flat_map(|list| [(list.header + 4, list.count), (list.header + 16, list.capacity)])
            .chain([(0, 3)])
            .collect();
        assert_eq!(declared(32 * MIB, &words), Ok(layout));
    }

    #[test]
    fn only_starts_of_slices_are_slices() {
        let layout = default_layout();
        for number in [0, 1, 2046, 2047, 2353, 2354, 2404] {
            let slice = layout.numbered(number);
            assert_eq!(layout.slice(slice.offset), Ok(slice));
            for wrong in [slice.offset - 1, slice.offset + 1, slice.offset + 4] {
                assert_eq!(layout.slice(wrong), Err(Violation::NoSlice(wrong)));
            }
        }
        for wrong in [0, 8, 43, 33_513_588, u32::MAX] {
            assert_eq!(layout.slice(wrong), Err(Violation::NoSlice(wrong)));
        }
        assert_eq!(layout.slice(44).unwrap().number, 0);
    }

    #[test]
    fn lists_that_do_not_fit_or_make_no_sense_are_refused() {
        assert_eq!(declared(MIB, &[]), Err(Violation::ListCount(0)));
        assert_eq!(declared(MIB, &[(0, 65)]), Err(Violation::ListCount(65)));
        assert!(matches!(declared(40, &[(0, 1)]), Err(Violation::RegionSize { .. })));
        for (count, capacity) in
            [(0, 1004), (1 << 20, 1004), (u32::MAX, u32::MAX - 3), (2, u32::MAX - 3)]
        {
            let found = declared(MIB, &[(0, 1), (12, count), (24, capacity)]);
            assert_eq!(found, Err(Violation::ListBounds(0)), "{count} {capacity}");
        }
        let found = declared(MIB, &[(0, 1), (12, 4), (24, 0)]);
        assert_eq!(found, Err(Violation::SliceCapacity { list: 0, capacity: 0 }));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn slice_size_is_refused_if_a_lock_crosses_a_line() {
        assert!(declared(MIB, &[(0, 1), (12, 4), (24, 1001)]).is_ok());
        for count in 1..64u32 {
            let header = 8 + 36 + count * 1021;
            let found = declared(
                MIB,
                &[(0, 2), (12, count), (24, 1001), (header + 4, 2), (header + 16, 64)],
            );
            let crosses = [0, 8, 12].iter().any(|at| (header + at) / 64 != (header + at + 3) / 64);
            let refused = Err(Violation::ListAlignment { list: 1, header });
            assert_eq!(found.is_err(), crosses, "{header}");
            assert!(found.is_ok() || found == refused);
        }
    }

    #[test]
    fn two_lists_of_the_same_capacity_are_refused() {
        let second = 8 + 36 + 2 * 1024;
        let words = [(0, 2), (12, 2), (24, 1004), (second + 4, 2), (second + 16, 1004)];
        let refused = Violation::SliceCapacity { list: 1, capacity: 1004 };
        assert_eq!(declared(MIB, &words), Err(refused));
    }
}
