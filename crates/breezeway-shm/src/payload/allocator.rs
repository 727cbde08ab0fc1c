//! The space of one payload segment, kept in private memory: only the owner allocates, so nothing
//! here is shared.
//!
//! First fit over a sorted list of free extents. Lent payloads are few (at most the lend count), so
//! the list is short, and the lowest address that fits is most often the space that was released
//! last, whose cache lines are still warm.

/// Granule of allocation in bytes: payloads never share a cache line, nor the pair that a
/// prefetcher fetches.
const GRANULE: usize = 128;

/// A run of free bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    offset: usize,
    len: usize,
}

/// Free space of a segment.
#[derive(Debug)]
pub(crate) struct FreeSpace {
    size: usize,
    /// Sorted by offset, never touching, never empty.
    extents: Vec<Extent>,
}

/// Returns the size that an allocation of `len` bytes takes.
pub(crate) fn rounded(len: usize) -> usize {
    len.next_multiple_of(GRANULE)
}

impl FreeSpace {
    /// Creates the free space of an unused segment of `size` bytes.
    pub(crate) fn new(size: usize) -> Self {
        Self { size, extents: vec![Extent { offset: 0, len: size }] }
    }

    /// Takes `len` bytes (rounded up to the granule), if they are free in one piece.
    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Option<usize> {
        let len = rounded(len);
        let index = self.extents.iter().position(|extent| extent.len >= len)?;
        let extent = &mut self.extents[index];
        let offset = extent.offset;
        extent.offset += len;
        extent.len -= len;
        if extent.len == 0 {
            self.extents.remove(index);
        }
        Some(offset)
    }

    /// Takes `len` bytes like [`take`](Self::take), at the first place at or behind `from` that
    /// ends at or before `end`.
    #[inline]
    pub(crate) fn take_within(&mut self, from: usize, end: usize, len: usize) -> Option<usize> {
        let len = rounded(len);
        for index in 0..self.extents.len() {
            let Extent { offset, len: free } = self.extents[index];
            let start = offset.max(from);
            if start.saturating_add(len) > end {
                return None;
            }
            if start + len <= offset + free {
                self.cut(index, start, len);
                return Some(start);
            }
        }
        None
    }

    /// Takes a part of a free extent.
    #[inline]
    fn cut(&mut self, index: usize, start: usize, len: usize) {
        let extent = &mut self.extents[index];
        let behind = Extent { offset: start + len, len: extent.offset + extent.len - start - len };
        extent.len = start - extent.offset;
        match (extent.len, behind.len) {
            (0, 0) => drop(self.extents.remove(index)),
            (0, _) => *extent = behind,
            (_, 0) => {}
            (_, _) => self.extents.insert(index + 1, behind),
        }
    }

    /// Gives back the result of `take(len)`.
    #[inline]
    pub(crate) fn give_back(&mut self, offset: usize, len: usize) {
        let len = rounded(len);
        match self.extents.first_mut() {
            // The space taken last from the lowest address usually comes back first.
            Some(first) if offset + len == first.offset => {
                first.offset = offset;
                first.len += len;
            }
            _ => self.give_back_between(offset, len),
        }
    }

    fn give_back_between(&mut self, offset: usize, len: usize) {
        let index = self.extents.partition_point(|extent| extent.offset < offset);
        let touches_next = self.extents.get(index).is_some_and(|next| offset + len == next.offset);
        let touches_previous =
            index > 0 && self.extents[index - 1].offset + self.extents[index - 1].len == offset;
        match (touches_previous, touches_next) {
            (true, true) => {
                self.extents[index - 1].len += len + self.extents[index].len;
                self.extents.remove(index);
            }
            (true, false) => self.extents[index - 1].len += len,
            (false, true) => {
                self.extents[index].offset = offset;
                self.extents[index].len += len;
            }
            (false, false) => self.extents.insert(index, Extent { offset, len }),
        }
    }

    /// Returns the size of the segment.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Returns true if nothing is taken.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.extents[..], [extent] if extent.len == self.size)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn space_that_is_not_there_is_refused_and_nothing_changes() {
        let mut space = FreeSpace::new(4096);
        assert_eq!(space.take(4097), None);
        assert!(space.is_whole());
        assert_eq!(space.take(4096), Some(0));
        assert_eq!(space.take(1), None);
        space.give_back(0, 4096);
        assert!(space.is_whole());
    }

    #[test]
    fn space_is_taken_from_where_it_is_wanted() {
        let mut space = FreeSpace::new(4096);
        assert_eq!(space.take_within(1024, 2048, 1024), Some(1024));
        assert_eq!(space.take_within(0, 4096, 1024), Some(0));
        assert_eq!(space.take_within(0, 2048, 128), None, "both halves are taken");
        assert_eq!(space.take_within(3072, 4096, 1025), None, "it would end behind that");
        assert_eq!(space.take_within(3072, 4096, 1024), Some(3072));
        assert_eq!(space.take(1024), Some(2048));
        for offset in [2048, 0, 3072, 1024] {
            assert!(!space.is_whole());
            space.give_back(offset, 1024);
        }
        assert!(space.is_whole());
    }

    #[test]
    fn the_space_released_last_is_taken_next() {
        let mut space = FreeSpace::new(1 << 20);
        let first = space.take(5000).unwrap();
        space.give_back(first, 5000);
        assert_eq!(space.take(5000), Some(first));
    }

    /// Reference allocator for comparison: one flag per granule, and the lowest run that is long
    /// enough.
    struct Flags(Vec<bool>);

    impl Flags {
        fn new(size: usize) -> Self {
            Self(vec![false; size / GRANULE])
        }

        fn take(&mut self, len: usize) -> Option<usize> {
            self.take_within(0, self.0.len() * GRANULE, len)
        }

        fn take_within(&mut self, from: usize, end: usize, len: usize) -> Option<usize> {
            let count = len.div_ceil(GRANULE);
            let (from, end) = (from / GRANULE, (end / GRANULE).min(self.0.len()));
            let fits = |&at: &usize| self.0[at..at + count].iter().all(|taken| !taken);
            let at = (from..(end + 1).saturating_sub(count)).find(fits)?;
            self.0[at..at + count].fill(true);
            Some(at * GRANULE)
        }

        fn give_back(&mut self, offset: usize, len: usize) {
            self.0[offset / GRANULE..][..len.div_ceil(GRANULE)].fill(false);
        }
    }

    #[test]
    fn a_comb_of_free_teeth_fits_no_more_than_a_tooth() {
        const SIZE: usize = 64 * GRANULE;
        for tooth in 1..=8 {
            let mut space = FreeSpace::new(SIZE);
            let taken: Vec<_> = std::iter::from_fn(|| space.take(tooth * GRANULE)).collect();
            assert_eq!(taken.len(), 64 / tooth);
            let gaps: Vec<_> = taken.iter().copied().step_by(2).collect();
            let kept = taken.iter().copied().skip(1).step_by(2);
            for &offset in &gaps {
                space.give_back(offset, tooth * GRANULE);
            }
            assert_eq!(space.take(2 * tooth * GRANULE), None);
            for &offset in &gaps {
                assert_eq!(space.take(tooth * GRANULE), Some(offset), "the lowest first");
            }
            // From the back, and then between free neighbours.
            for offset in gaps.iter().copied().rev().chain(kept) {
                space.give_back(offset, tooth * GRANULE);
            }
            assert!(space.is_whole());
        }
    }

    #[test]
    fn pieces_merge_in_any_order_of_return() {
        const PIECES: usize = 6;
        // All orders in which six pieces can be given back.
        for mut order in 0..720 {
            let mut space = FreeSpace::new(PIECES * GRANULE);
            let mut taken: Vec<_> = (0..PIECES).map(|_| space.take(1).unwrap()).collect();
            assert_eq!(space.take(1), None);
            for left in (1..=PIECES).rev() {
                space.give_back(taken.remove(order % left), 1);
                order /= left;
            }
            assert!(space.is_whole(), "{order}");
            assert_eq!(space.extents.len(), 1);
        }
    }

    proptest! {
        #[test]
        fn space_is_taken_and_given_back_as_by_the_simplest_means(
            steps in prop::collection::vec(
                (1usize..6_000, any::<prop::sample::Index>(), 0u8..5),
                1..300,
            )
        ) {
            const SIZE: usize = 32 * 1024;
            // Ends past the segment as well.
            const PLACES: usize = SIZE / GRANULE + 8;
            let (mut space, mut flags) = (FreeSpace::new(SIZE), Flags::new(SIZE));
            let mut taken: Vec<(usize, usize)> = Vec::new();
            for (len, pick, kind) in steps {
                if kind == 0 && !taken.is_empty() {
                    let (offset, len) = taken.swap_remove(pick.index(taken.len()));
                    space.give_back(offset, len);
                    flags.give_back(offset, len);
                } else {
                    // Short ones and long ones, so that it is cut up.
                    let len = if kind % 2 == 1 { len } else { 1 + len % 300 };
                    let found = if kind < 3 {
                        let found = space.take(len);
                        prop_assert_eq!(found, flags.take(len));
                        found
                    } else {
                        let at = pick.index(PLACES * PLACES);
                        let (from, end) = (at % PLACES * GRANULE, at / PLACES * GRANULE);
                        let found = space.take_within(from, end, len);
                        prop_assert_eq!(found, flags.take_within(from, end, len));
                        found
                    };
                    taken.extend(found.map(|offset| (offset, len)));
                }
                let free = flags.0.iter().filter(|&&taken| !taken).count() * GRANULE;
                let extents: usize = space.extents.iter().map(|extent| extent.len).sum();
                prop_assert_eq!(extents, free);
                prop_assert_eq!(space.is_whole(), free == SIZE);
            }
        }

        #[test]
        fn allocations_never_overlap_and_all_space_comes_back(
            steps in prop::collection::vec(
                (0usize..20_000, any::<prop::sample::Index>(), any::<bool>()),
                1..400,
            )
        ) {
            const SIZE: usize = 256 * 1024;
            let mut space = FreeSpace::new(SIZE);
            let mut taken: Vec<(usize, usize)> = Vec::new();
            for (len, pick, free_first) in steps {
                if free_first && !taken.is_empty() {
                    let (offset, len) = taken.swap_remove(pick.index(taken.len()));
                    space.give_back(offset, len);
                }
                let len = len + 1;
                if let Some(offset) = space.take(len) {
                    prop_assert!(offset + len <= SIZE);
                    prop_assert_eq!(offset % GRANULE, 0);
                    for &(other, other_len) in &taken {
                        prop_assert!(offset + len <= other || other + other_len <= offset);
                    }
                    taken.push((offset, len));
                }
            }
            for (offset, len) in taken {
                space.give_back(offset, len);
            }
            prop_assert!(space.is_whole());
        }
    }
}
