//! How far the peer's CPU is, seen from a line that it has written.
//!
//! Whether a large payload is better written past the caches depends on it, and it may change while
//! a session lasts: a hypervisor or a scheduler moves either side.

use std::sync::OnceLock;
use std::time::Duration;

use crate::{clock, cpu};

/// Large payloads between two samples, each of which takes as long as a line does.
const SAMPLE_EVERY: u32 = 8;
/// Faster than any line comes from another CPU: it was in our own cache.
const OWN_CACHE: Duration = Duration::from_nanos(40);
/// Slower than lines that come from the next cache, where CPUs share caches in groups (AMD).
/// Measured on Zen 4: 50 to 60 ns where a round trip takes 120, 150 to 170 ns where it takes 470.
const FAR_IN_GROUPS: Duration = Duration::from_nanos(100);
/// The same where all CPUs of a socket share one. Measured on Cascade Lake: 130 ns inside a socket,
/// where a 64 KiB echo past the caches takes 1.5 times as long.
const FAR: Duration = Duration::from_nanos(250);
/// Slower than any line: something interrupted.
const INTERRUPTED: Duration = Duration::from_micros(2);
/// Samples that have to agree.
const SURE: i8 = 2;

/// What is known of the distance.
#[derive(Debug, Default)]
pub struct Distance {
    payloads: u32,
    /// Samples that said far, less those that said near, of the last few.
    balance: i8,
}

impl Distance {
    /// Whether lines of the peer come from so far that large payloads are better written past the
    /// caches; not, as long as nothing is known.
    #[inline]
    #[must_use]
    pub fn is_far(&self) -> bool {
        self.balance > 0
    }

    /// Now and then, times `load`, of a word of its progress that the peer writes with each
    /// message.
    pub fn sample<T>(&mut self, load: impl FnOnce() -> T) {
        if self.payloads.is_multiple_of(SAMPLE_EVERY) {
            let start = clock::ticks_in_order();
            std::hint::black_box(load());
            let took = clock::nanoseconds(clock::ticks_in_order().wrapping_sub(start));
            self.learn(Duration::from_nanos(took));
        }
        self.payloads = self.payloads.wrapping_add(1);
    }

    fn learn(&mut self, took: Duration) {
        if (OWN_CACHE..INTERRUPTED).contains(&took) {
            let step = if took >= far() { 1 } else { -1 };
            self.balance = (self.balance + step).clamp(-SURE, SURE);
        }
    }
}

/// From where on a line counts as far.
fn far() -> Duration {
    static FAR_HERE: OnceLock<Duration> = OnceLock::new();
    *FAR_HERE.get_or_init(|| if cpu::shares_caches_in_groups() { FAR_IN_GROUPS } else { FAR })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(samples: &[u64]) -> bool {
        let mut distance = Distance::default();
        samples.iter().for_each(|&ns| distance.learn(Duration::from_nanos(ns)));
        distance.is_far()
    }

    #[test]
    fn one_odd_sample_changes_nothing() {
        assert!(!after(&[]));
        assert!(after(&[400, 400, 90]));
        assert!(!after(&[90, 90, 400]));
        assert!(!after(&[400, 400, 90, 90]));
    }

    #[test]
    fn samples_that_are_of_no_line_do_not_count() {
        assert!(after(&[400, 10, 20, 30]));
        assert!(!after(&[5_000, 1_000_000]));
    }
}
