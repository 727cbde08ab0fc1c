//! Decision whether large payload is better written past the caches, by the distance of the peer's
//! CPU.
//!
//! The distance may change while a session lasts: a hypervisor or a scheduler moves either side.
//! The load of a line that the peer has written is therefore timed at intervals. Some times are
//! conclusive; between them the best choice differs by CPU model, and the process measures it.

mod trial;

use std::time::Duration;

use crate::clock;
use crate::placement::distance::{FAR, INTERRUPTED, NEAR, OWN_CACHE, SAMPLE_EVERY, SAMPLES};
use trial::{Evidence, Trial};

/// Evidence found by this process.
static FOUND: Evidence = Evidence::new();

/// Estimate of the peer's distance, and a trial of both methods at it.
#[derive(Debug, Default)]
pub struct Distance {
    payloads: u32,
    not_near: Balance,
    far: Balance,
    trial: Trial,
}

/// The last few samples: those in favour, less those against.
#[derive(Clone, Copy, Debug, Default)]
struct Balance(i8);

impl Balance {
    fn add(&mut self, says_so: bool) {
        self.0 = (self.0 + if says_so { 1 } else { -1 }).clamp(-SAMPLES, SAMPLES);
    }

    fn says_so(self) -> bool {
        self.0 > 0
    }
}

impl Distance {
    /// Returns true if large payloads are better written past the caches; false as long as this is
    /// unknown.
    #[inline]
    #[must_use]
    pub fn streams(&self) -> bool {
        self.streams_by(&FOUND)
    }

    /// Returns true if that is known to be better. False during a trial, when
    /// [`streams`](Self::streams) changes with each run of a few payloads.
    #[inline]
    #[must_use]
    pub fn is_far(&self) -> bool {
        self.is_far_by(&FOUND)
    }

    /// Notes that a large payload of `len` bytes is about to be filled. At intervals this times
    /// `load`, the load of a word of its progress that the peer writes with each message.
    pub fn sample<T>(&mut self, len: usize, load: impl FnOnce() -> T) {
        if self.payloads.is_multiple_of(SAMPLE_EVERY) {
            let start = clock::ticks_in_order();
            std::hint::black_box(load());
            let took = clock::nanoseconds(clock::ticks_in_order().wrapping_sub(start));
            self.learn(Duration::from_nanos(took), &FOUND);
        }
        self.payloads = self.payloads.wrapping_add(1);
        if self.is_in_doubt(&FOUND) {
            self.trial.count(len, clock::ticks(), &FOUND);
        }
    }

    fn streams_by(&self, found: &Evidence) -> bool {
        self.is_far_by(found) || self.is_in_doubt(found) && self.trial.streams()
    }

    fn is_far_by(&self, found: &Evidence) -> bool {
        self.not_near.says_so() && (self.far.says_so() || found.verdict() == Some(true))
    }

    fn is_in_doubt(&self, found: &Evidence) -> bool {
        self.not_near.says_so() && !self.far.says_so() && found.verdict().is_none()
    }

    fn learn(&mut self, took: Duration, found: &Evidence) {
        if (OWN_CACHE..INTERRUPTED).contains(&took) {
            self.not_near.add(took >= NEAR);
            self.far.add(took >= FAR);
        }
        if !self.is_in_doubt(found) {
            self.trial = Trial::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(samples: &[u64], found: &Evidence) -> bool {
        let mut distance = Distance::default();
        samples.iter().for_each(|&ns| distance.learn(Duration::from_nanos(ns), found));
        distance.streams_by(found)
    }

    #[test]
    fn one_odd_sample_changes_nothing() {
        let found = Evidence::new();
        assert!(!after(&[], &found));
        assert!(after(&[400, 400, 90], &found));
        assert!(!after(&[90, 90, 400], &found));
        assert!(!after(&[400, 400, 90, 90], &found));
    }

    #[test]
    fn samples_that_are_of_no_line_do_not_count() {
        let found = Evidence::new();
        assert!(after(&[400, 10, 20, 30], &found));
        assert!(!after(&[5_000, 1_000_000], &found));
    }

    #[test]
    fn a_peer_is_not_far_while_both_ways_are_tried() {
        let (found, mut distance) = (Evidence::new(), Distance::default());
        (0..2).for_each(|_| distance.learn(Duration::from_nanos(150), &found));
        let mut ways = [false; 2];
        for now in 0..10_000 {
            distance.trial.count(64 << 10, now, &found);
            ways[usize::from(distance.streams_by(&found))] = true;
            assert!(!distance.is_far_by(&found));
        }
        assert_eq!(ways, [true; 2]);
        (0..3).for_each(|_| distance.learn(Duration::from_nanos(400), &found));
        assert!(distance.is_far_by(&found));
    }

    #[test]
    fn intermediate_distance_follows_the_process_verdict() {
        for (streamed, ordinary, streams) in [(1, 6, true), (3, 2, false)] {
            let found = trial::tests::found(streamed, ordinary);
            assert_eq!(found.verdict(), Some(streams));
            assert_eq!(after(&[150, 150], &found), streams);
            assert!(!after(&[60, 60], &found));
            assert!(after(&[400, 400], &found));
        }
    }
}
