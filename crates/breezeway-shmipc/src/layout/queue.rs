//! The queue region: two rings back to back, the first from client to server, the second from
//! server to client.
//!
//! ```text
//! x86-64    0        4        12       20      24
//!           capacity | head   | tail   | flag  | elements, 12 bytes each
//! aarch64   0        4        8        16      24
//!           capacity | flag   | head   | tail  | elements, 12 bytes each
//! ```
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | capacity | creator, once | elements of this ring |
//! | head | consumer | elements ever taken |
//! | tail | producer | elements ever put; the publication |
//! | flag | both | 1: the consumer polls or was woken; 0: the consumer must be woken |
//!
//! An element is a stream's number, the offset of a message's first slice, and a status, 4 bytes
//! each.

use crate::violation::Violation;

/// Offset of the first element.
pub(crate) const HEADER: u32 = 24;
/// Size of an element.
pub(crate) const ELEMENT: u32 = 12;

/// Offsets of the fields of a ring's header, which differ between architectures. The two never
/// meet, as both peers share a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingHeader {
    /// Offset of the capacity.
    pub(crate) capacity: u32,
    /// Offset of the count of elements taken.
    pub(crate) head: u32,
    /// Offset of the count of elements put.
    pub(crate) tail: u32,
    /// Offset of the working flag.
    pub(crate) flag: u32,
}

/// Offsets on x86-64, where the counts are 8 bytes aligned to 4.
pub(crate) const X86_64: RingHeader = RingHeader { capacity: 0, head: 4, tail: 12, flag: 20 };
/// Offsets on aarch64, where they are aligned to 8.
pub(crate) const AARCH64: RingHeader = RingHeader { capacity: 0, flag: 4, head: 8, tail: 16 };
/// Offsets on this machine.
pub(crate) const NATIVE: RingHeader = if cfg!(target_arch = "aarch64") { AARCH64 } else { X86_64 };

/// Returns the size of a region with two rings of `capacity` elements each.
pub(crate) const fn region_size(capacity: u32) -> u64 {
    2 * (HEADER as u64 + ELEMENT as u64 * capacity as u64)
}

/// A ring inside its region, with the capacity that was validated when it was mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingLayout {
    /// Offset of its header.
    pub(crate) base: u32,
    /// Number of its elements.
    pub(crate) capacity: u32,
}

impl RingLayout {
    /// Returns the offset of the element for count `position`.
    #[inline]
    pub(crate) fn element(&self, position: u64) -> u32 {
        let capacity = u64::from(self.capacity);
        let slot = if capacity.is_power_of_two() {
            position & (capacity - 1)
        } else {
            position % capacity
        };
        self.base + HEADER + ELEMENT * slot as u32
    }
}

/// Validates the capacities of both rings, as `declared` in a region of `size` bytes.
pub(crate) fn judge_rings(size: u32, declared: [u32; 2]) -> Result<[RingLayout; 2], Violation> {
    let half = size / 2;
    if half < HEADER + ELEMENT
        || !half.is_multiple_of(4)
        || (cfg!(target_arch = "aarch64") && !half.is_multiple_of(8))
    {
        let allowed = "two rings of at least one element, each a multiple of 4 bytes, are needed";
        return Err(Violation::RegionSize { region: "queue", size: size.into(), allowed });
    }
    let fit = (half - HEADER) / ELEMENT;
    for declared in declared {
        if declared == 0 || declared > fit {
            return Err(Violation::QueueCapacity { declared, fit });
        }
    }
    Ok([
        RingLayout { base: 0, capacity: declared[0] },
        RingLayout { base: half, capacity: declared[1] },
    ])
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_protocol() {
        assert_eq!(region_size(8192), 196_656);
        assert_eq!(region_size(16), 432);
    }

    #[test]
    fn the_second_ring_starts_in_the_middle() {
        let [first, second] = judge_rings(432, [16, 16]).unwrap();
        assert_eq!((first.base, second.base), (0, 216));
        assert_eq!(judge_rings(196_656, [8192, 8192]).unwrap()[1].base, 98_328);
        assert_eq!(second.element(17), 216 + 24 + 12);
        assert_eq!(RingLayout { base: 0, capacity: 10 }.element(1 << 33), 24 + 12 * 2);
    }

    #[test]
    fn header_layouts_are_disjoint_and_aarch64_is_aligned() {
        for header in [X86_64, AARCH64] {
            let mut bytes = [false; HEADER as usize];
            for (at, len) in
                [(header.capacity, 4), (header.flag, 4), (header.head, 8), (header.tail, 8)]
            {
                for byte in &mut bytes[at as usize..][..len] {
                    assert!(!std::mem::replace(byte, true), "{header:?} overlaps");
                }
            }
            assert!(bytes.iter().all(|&used| used));
        }
        assert_eq!((AARCH64.head % 8, AARCH64.tail % 8), (0, 0));
        assert_eq!((X86_64.head, X86_64.tail, X86_64.flag), (4, 12, 20));
    }

    #[test]
    fn impossible_capacities_and_sizes_are_refused() {
        assert_eq!(
            judge_rings(432, [0, 16]),
            Err(Violation::QueueCapacity { declared: 0, fit: 16 })
        );
        assert_eq!(
            judge_rings(432, [16, 17]),
            Err(Violation::QueueCapacity { declared: 17, fit: 16 })
        );
        assert_eq!(
            judge_rings(432, [u32::MAX, 16]),
            Err(Violation::QueueCapacity { declared: u32::MAX, fit: 16 })
        );
        for size in [0, 1, 48, 71, 74] {
            assert!(
                matches!(judge_rings(size, [1, 1]), Err(Violation::RegionSize { .. })),
                "{size}"
            );
        }
    }
}
