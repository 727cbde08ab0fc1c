//! Payload in memory that another process maps too, written and read in lanes of 16 bytes.
//!
//! The other process may write at any time, against every rule, so no reference points to this
//! memory: every access is a volatile load or store of one lane, through a raw pointer.
#![allow(unsafe_code, reason = "reads and writes memory that another process maps")]

use crate::pattern::{self, STEP};
use lane::Lane;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// The bytes of a lane.
const LANE: usize = size_of::<Lane>();

/// `count` lanes of shared memory.
pub(super) struct Payload<'a> {
    start: NonNull<Lane>,
    count: usize,
    mapping: PhantomData<&'a [Lane]>,
}

impl Payload<'_> {
    /// The lanes that hold `size` bytes from `start`.
    ///
    /// # Safety
    ///
    /// `start` is aligned for a lane and valid for reads of `size` bytes, rounded up to whole
    /// lanes, for the lifetime of the result, and for writes if there are any.
    pub(super) unsafe fn new(start: NonNull<u8>, size: usize) -> Self {
        Self { start: start.cast(), count: size.div_ceil(LANE), mapping: PhantomData }
    }

    /// Writes the pattern of `seed`.
    pub(super) fn fill(&self, seed: u64) {
        let (mut words, step) = lanes_of(seed);
        for index in 0..self.count {
            self.store(index, words);
            words = lane::add(words, step);
        }
    }

    /// Returns true if all lanes hold the pattern of `seed`.
    pub(super) fn matches(&self, seed: u64) -> bool {
        let (mut words, step) = lanes_of(seed);
        let mut differences = lane::new(0, 0);
        for index in 0..self.count {
            differences = lane::differences(differences, self.load(index), words);
            words = lane::add(words, step);
        }
        bytes_of(differences) == [0; LANE]
    }

    /// The wrapping sum of all words.
    pub(super) fn sum(&self) -> u64 {
        let sums =
            (0..self.count).fold(lane::new(0, 0), |sums, index| lane::add(sums, self.load(index)));
        let bytes = bytes_of(sums);
        let words = bytes.as_chunks::<8>().0;
        words.iter().fold(0, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)))
    }

    /// The sum of all words of the pattern of `seed`, without reading any.
    pub(super) fn sum_of(&self, seed: u64) -> u64 {
        pattern::sum(self.count * LANE, seed)
    }

    /// Copies the content of `other`, up to the length of the shorter one.
    pub(super) fn copy_from(&self, other: &Payload<'_>) {
        for index in 0..self.count.min(other.count) {
            self.store(index, other.load(index));
        }
    }

    #[inline(always)]
    fn load(&self, index: usize) -> Lane {
        debug_assert!(index < self.count);
        // SAFETY: `index` is below `count`, so by the contract of `new` the lane is valid and
        // aligned. Any bits are a lane. A write by the other process at the same time is outside
        // of what this program can see but through this volatile load, and yields some bits.
        unsafe { self.start.add(index).read_volatile() }
    }

    #[inline(always)]
    fn store(&self, index: usize, value: Lane) {
        debug_assert!(index < self.count);
        // SAFETY: as for `load`; no reference to this memory exists anywhere in this process.
        unsafe { self.start.add(index).write_volatile(value) }
    }
}

fn bytes_of(lane: Lane) -> [u8; LANE] {
    // SAFETY: a lane is an integer vector: LANE bytes without padding.
    unsafe { std::mem::transmute(lane) }
}

/// Returns the first lane of the pattern of `seed`, and the step from one lane to the next.
fn lanes_of(seed: u64) -> (Lane, Lane) {
    let step = STEP.wrapping_mul(2);
    (lane::new(seed, seed.wrapping_add(STEP)), lane::new(step, step))
}

/// Two words in one SSE2 register.
#[cfg(target_arch = "x86_64")]
mod lane {
    use std::arch::x86_64 as arch;

    pub(super) type Lane = arch::__m128i;

    #[inline(always)]
    pub(super) fn new(low: u64, high: u64) -> Lane {
        // SAFETY: SSE2 is part of every x86-64 CPU; the instruction touches registers only.
        unsafe { arch::_mm_set_epi64x(high.cast_signed(), low.cast_signed()) }
    }

    #[inline(always)]
    pub(super) fn add(a: Lane, b: Lane) -> Lane {
        // SAFETY: as above.
        unsafe { arch::_mm_add_epi64(a, b) }
    }

    /// Returns the bits of `others` and the bits that differ between `a` and `b`.
    #[inline(always)]
    pub(super) fn differences(others: Lane, a: Lane, b: Lane) -> Lane {
        // SAFETY: as above.
        unsafe { arch::_mm_or_si128(others, arch::_mm_xor_si128(a, b)) }
    }
}

/// Two words in one NEON register.
#[cfg(target_arch = "aarch64")]
mod lane {
    use std::arch::aarch64 as arch;

    pub(super) type Lane = arch::uint64x2_t;

    #[inline(always)]
    pub(super) fn new(low: u64, high: u64) -> Lane {
        // SAFETY: NEON is part of every aarch64 Linux target; the instructions touch registers
        // only.
        unsafe { arch::vcombine_u64(arch::vcreate_u64(low), arch::vcreate_u64(high)) }
    }

    #[inline(always)]
    pub(super) fn add(a: Lane, b: Lane) -> Lane {
        // SAFETY: as above.
        unsafe { arch::vaddq_u64(a, b) }
    }

    /// Returns the bits of `others` and the bits that differ between `a` and `b`.
    #[inline(always)]
    pub(super) fn differences(others: Lane, a: Lane, b: Lane) -> Lane {
        // SAFETY: as above.
        unsafe { arch::vorrq_u64(others, arch::veorq_u64(a, b)) }
    }
}

/// Two plain words where no vector registers are known.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod lane {
    pub(super) type Lane = [u64; 2];

    pub(super) fn new(low: u64, high: u64) -> Lane {
        [low, high]
    }

    pub(super) fn add(a: Lane, b: Lane) -> Lane {
        [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])]
    }

    pub(super) fn differences(others: Lane, a: Lane, b: Lane) -> Lane {
        [others[0] | (a[0] ^ b[0]), others[1] | (a[1] ^ b[1])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floor::SharedLines;

    fn bytes(payload: &Payload<'_>) -> Vec<u8> {
        (0..payload.count).flat_map(|index| bytes_of(payload.load(index))).collect()
    }

    #[test]
    fn lanes_hold_the_same_pattern_as_private_buffers() {
        let lines = SharedLines::create(96).unwrap();
        let (payload, _) = lines.payloads(96).unwrap();
        payload.fill(pattern::seed(5));
        assert!(pattern::matches(&bytes(&payload), pattern::seed(5)));
    }

    #[test]
    fn one_changed_lane_is_noticed_wherever_it_is() {
        let lines = SharedLines::create(160).unwrap();
        let (payload, _) = lines.payloads(160).unwrap();
        for index in 0..payload.count {
            payload.fill(7);
            assert!(payload.matches(7));
            payload.store(index, lane::add(payload.load(index), lane::new(0, 1 << 63)));
            assert!(!payload.matches(7), "lane {index}");
        }
    }

    #[test]
    fn a_sum_is_that_of_the_pattern_until_a_bit_changes() {
        let lines = SharedLines::create(160).unwrap();
        let (payload, _) = lines.payloads(160).unwrap();
        payload.fill(7);
        assert_eq!(payload.sum(), payload.sum_of(7));
        payload.store(3, lane::add(payload.load(3), lane::new(1, 0)));
        assert_ne!(payload.sum(), payload.sum_of(7));
    }

    #[test]
    fn a_copy_ends_with_the_shorter_payload() {
        let lines = SharedLines::create(64).unwrap();
        let (short, _) = lines.payloads(32).unwrap();
        let (_, long) = lines.payloads(64).unwrap();
        short.fill(1);
        long.copy_from(&short);
        assert_eq!(bytes(&long)[..32], bytes(&short)[..]);
        assert_eq!(bytes(&long)[32..], [0; 32]);
        assert!(!long.matches(1));
    }
}
