//! Trial of writing large payload past the caches: measured on the payloads of a session, and
//! remembered for the process.

use std::sync::atomic::{AtomicI8, Ordering};

use crate::clock;
use crate::placement::distance::{CLEARLY, IDLE, MAJORITY, RUN};

/// Results of the trials of a process, for all its peers that are neither near nor distant. Once
/// decided the verdict stays: it depends on the CPU model. Peers at several distances in between
/// get the verdict of the one that was tried first.
#[derive(Debug)]
pub(super) struct Evidence(AtomicI8);

impl Evidence {
    pub(super) const fn new() -> Self {
        Self(AtomicI8::new(0))
    }

    /// Returns true if streaming is faster; `None` until that is decided.
    #[inline]
    pub(super) fn verdict(&self) -> Option<bool> {
        let sum = self.0.load(Ordering::Relaxed);
        (sum.abs() >= MAJORITY).then_some(sum > 0)
    }

    /// Adds a result. Results of simultaneous trials may be lost, which only delays the verdict.
    fn add(&self, streaming_is_faster: bool) {
        if self.verdict().is_none() {
            let step = if streaming_is_faster { 1 } else { -1 };
            self.0.store(self.0.load(Ordering::Relaxed) + step, Ordering::Relaxed);
        }
    }
}

/// A run of payloads written by one method, and then one written by the other.
#[derive(Debug, Default)]
pub(super) struct Trial {
    streams: bool,
    payloads: u32,
    bytes: usize,
    /// Start of the run, in ticks.
    since: u64,
    /// Nanoseconds per byte of the first run, during the second.
    first: Option<f64>,
}

impl Trial {
    /// Returns true if the next payload is written past the caches.
    pub(super) fn streams(&self) -> bool {
        self.streams
    }

    /// Counts a payload that is about to be written.
    pub(super) fn count(&mut self, len: usize, now: u64, found: &Evidence) {
        if self.payloads == RUN {
            let took = clock::nanoseconds(now.wrapping_sub(self.since)) as f64;
            self.end_run(took / self.bytes as f64, now, found);
        }
        if self.payloads == 0 {
            self.since = now;
        }
        self.payloads += 1;
        self.bytes += len;
    }

    /// Ends a run. The clock decides which method comes first in the next trial: two sides in
    /// strict alternation would find no difference.
    fn end_run(&mut self, took: f64, now: u64, found: &Evidence) {
        let streamed = self.streams;
        let next = match self.first {
            None => Self { streams: !streamed, first: Some(took), ..Self::default() },
            Some(first) => {
                let (past, through) = if streamed { (took, first) } else { (first, took) };
                if past.max(through) < IDLE && past.max(through) > CLEARLY * past.min(through) {
                    found.add(past < through);
                }
                Self { streams: (now >> 4) & 1 == 1, ..Self::default() }
            }
        };
        *self = next;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Runs trials in which a payload of 64 KiB takes these multiples of 10 µs by either method.
    pub(in crate::distance) fn found(streamed: u64, ordinary: u64) -> Evidence {
        let (found, mut trial) = (Evidence::new(), Trial::default());
        let step = clock::ticks_in(std::time::Duration::from_micros(10));
        let mut now = 0;
        for _ in 0..20 * RUN {
            trial.count(64 << 10, now, &found);
            now += step * if trial.streams() { streamed } else { ordinary };
        }
        found
    }

    #[test]
    fn clearly_faster_copy_is_found() {
        assert_eq!(found(1, 6).verdict(), Some(true));
        assert_eq!(found(3, 2).verdict(), Some(false));
    }

    #[test]
    fn similar_or_idle_trials_have_no_verdict() {
        assert_eq!(found(11, 10).verdict(), None);
        assert_eq!(found(1_000, 6_000).verdict(), None);
    }

    #[test]
    fn a_verdict_stays() {
        let found = found(1, 6);
        (0..20).for_each(|_| found.add(false));
        assert_eq!(found.verdict(), Some(true));
    }
}
