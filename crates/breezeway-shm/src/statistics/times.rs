//! Histogram of the handler times of a session's calls.

use std::sync::atomic::{AtomicU64, Ordering};

use breezeway_os::Origin;

use super::fields::{Field, Identity, TIMES};

/// Histogram of handler times that a process publishes for one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times([u64; TIMES]);

/// Returns the shortest time, in nanoseconds, that a word counts; the first one counts shorter ones
/// too.
pub const fn shortest(word: usize) -> u64 {
    (4 + word as u64 % 4) << (2 + word / 4)
}

/// Returns the word that counts a time.
const fn word_of(nanoseconds: u64) -> usize {
    if nanoseconds < shortest(0) {
        return 0;
    }
    let octave = nanoseconds.ilog2() as usize;
    // The two bits behind the first.
    let quarter = (nanoseconds >> (octave - 2)) as usize & 3;
    let word = 4 * (octave - 4) + quarter;
    if word < TIMES { word } else { TIMES - 1 }
}

impl Default for Times {
    fn default() -> Self {
        Self([0; TIMES])
    }
}

impl Times {
    pub(super) fn read(word: impl Fn(usize) -> u64) -> Self {
        Self(std::array::from_fn(word))
    }

    /// Returns the number of times.
    pub fn count(&self) -> u64 {
        // Saturates: forged counts may be arbitrarily large.
        self.0.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// Returns the counts added since an earlier snapshot of the same session.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        // A count that decreased was forged.
        Self(std::array::from_fn(|word| self.0[word].saturating_sub(earlier.0[word])))
    }

    /// Returns the time, in nanoseconds, that this percentage of handlers does not exceed, within
    /// about an eighth: the middle of its word's range. `None` if there are none.
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        let rank = (u128::from(self.count()) * u128::from(percent)).div_ceil(100).max(1);
        let mut seen = 0;
        let word = self.0.iter().position(|&count| {
            seen += u128::from(count);
            seen >= rank
        })?;
        Some(shortest(word).midpoint(shortest(word + 1)))
    }
}

/// Recorder of handler times of a session, for any thread. After the session has ended it records
/// nothing.
#[derive(Clone, Copy, Debug)]
pub struct HandlerTimes {
    /// The session's record, and the times that belong to it.
    record: &'static [AtomicU64],
    times: &'static [AtomicU64],
    /// The record's sequence while the session has it.
    sequence: u64,
    /// Process that owns the record; a forked child has no memory there.
    origin: Origin,
}

impl HandlerTimes {
    /// Creates the recorder of the session that has the record now.
    pub(super) fn new(
        record: &'static [AtomicU64],
        times: &'static [AtomicU64],
        origin: Origin,
    ) -> Self {
        let sequence = record[Identity::Sequence as usize].load(Ordering::Relaxed);
        Self { record, times, sequence, origin }
    }

    /// Returns the session's number in its process, while it lives.
    pub fn session(&self) -> Option<u64> {
        let word = |field: Identity| self.record[field as usize].load(Ordering::Relaxed);
        let lives = self.origin.is_here() && word(Identity::Sequence) == self.sequence;
        lives.then(|| word(Identity::Number))
    }

    /// Counts a handler that took this long, in nanoseconds.
    #[cold]
    pub fn note(&self, nanoseconds: u64) {
        if !self.origin.is_here() {
            return;
        }
        // The record belongs to another session by now. (That may still happen right after this
        // check, and one time be counted there; this is harmless.)
        let sequence = &self.record[Identity::Sequence as usize];
        if sequence.load(Ordering::Relaxed) != self.sequence {
            return;
        }
        self.record[Field::Timed.word()].fetch_add(1, Ordering::Relaxed);
        self.times[word_of(nanoseconds)].fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn times(of: &[(u64, u64)]) -> Times {
        let mut times = Times::default();
        for &(nanoseconds, count) in of {
            times.0[word_of(nanoseconds)] += count;
        }
        times
    }

    #[test]
    fn each_word_counts_from_its_own_time_up_to_the_next_ones() {
        assert_eq!((shortest(0), shortest(1), shortest(4), shortest(127)), (16, 20, 32, 7 << 33));
        assert_eq!((word_of(0), word_of(19), word_of(20)), (0, 0, 1));
        for word in 1..TIMES {
            assert_eq!(word_of(shortest(word) - 1), word - 1);
            assert_eq!(word_of(shortest(word)), word);
        }
        assert_eq!(word_of(u64::MAX), 127);
    }

    #[test]
    fn percentile_bounds_its_share_of_times() {
        assert_eq!(Times::default().percentile(50), None);
        let all = times(&[(1_000, 98), (1_000_000, 2)]);
        let near = |found: Option<u64>, expected: u64| {
            found.is_some_and(|found| found.abs_diff(expected) <= expected / 7)
        };
        assert!(near(all.percentile(50), 1_000) && near(all.percentile(98), 1_000));
        assert!(near(all.percentile(99), 1_000_000) && near(all.percentile(100), 1_000_000));
        let one = times(&[(5_000, 1)]);
        assert!(near(one.percentile(0), 5_000) && near(one.percentile(99), 5_000));
    }

    #[test]
    fn since_returns_only_later_times() {
        let earlier = times(&[(1_000, 98)]);
        let later = times(&[(1_000, 99), (1_000_000, 2)]);
        assert_eq!(later.since(&earlier), times(&[(1_000, 1), (1_000_000, 2)]));
        assert_eq!(earlier.since(&later), times(&[]), "forged");
    }

    proptest! {
        #[test]
        fn any_counts_have_percentiles_in_order(words: Vec<u64>, percents: [u64; 2]) {
            let times = Times::read(|word| words.get(word).copied().unwrap_or(0));
            let [low, high] = percents.map(|percent| percent % 101);
            let (low, high) = (low.min(high), low.max(high));
            let found = times.percentile(low);
            prop_assert_eq!(found.is_some(), times.count() > 0);
            prop_assert!(found <= times.percentile(high));
        }

        #[test]
        fn any_time_is_counted_by_the_word_that_it_falls_into(nanoseconds: u64) {
            let word = word_of(nanoseconds);
            prop_assert!(word == 0 || shortest(word) <= nanoseconds);
            prop_assert!(word == TIMES - 1 || nanoseconds < shortest(word + 1));
        }
    }
}
