//! The space of one payload segment, kept in private memory: only the owner allocates, so nothing here is shared.
//!
//! First fit over a sorted list of free extents. Lent payloads are few (at most the lend count), so the list is short, and the lowest address
//! that fits is most often the space that was released last, whose cache lines are still warm.

/// Granule of allocation in bytes: payloads never share a cache line, nor the pair that a prefetcher fetches.
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

/// The bytes that an allocation of `len` really takes.
pub(crate) fn rounded(len: usize) -> usize {
    len.next_multiple_of(GRANULE)
}

impl FreeSpace {
    /// A segment of `size` bytes, all free.
    pub(crate) fn new(size: usize) -> Self {
        Self { size, extents: vec![Extent { offset: 0, len: size }] }
    }

    /// Takes `len` bytes (rounded up to the granule), if they are free in one piece.
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

    /// Gives back what `take(len)` gave.
    pub(crate) fn give_back(&mut self, offset: usize, len: usize) {
        let len = rounded(len);
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

    /// Size of the segment.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Whether nothing is taken.
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
    fn the_space_released_last_is_taken_next() {
        let mut space = FreeSpace::new(1 << 20);
        let first = space.take(5000).unwrap();
        space.give_back(first, 5000);
        assert_eq!(space.take(5000), Some(first));
    }

    proptest! {
        #[test]
        fn allocations_never_overlap_and_all_space_comes_back(
            steps in prop::collection::vec((0usize..20_000, any::<prop::sample::Index>(), any::<bool>()), 1..400)
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
