//! Pauses between two polls for an event that nothing reports.

use std::time::{Duration, Instant};

/// Shortest pause, so that an event that is about to come is seen soon.
const SHORTEST: Duration = Duration::from_millis(1);
/// Longest pause: waiting for a peer that is stuck for ever has no measurable cost.
const LONGEST: Duration = Duration::from_secs(1);
/// Longest pause while only the queue is polled, because the socket may not be read.
const SHORT: Duration = Duration::from_millis(50);
/// Divisor of the time since the wait began that gives the pause in between: the wait is prolonged
/// by at most this part.
const PART: u32 = 8;

/// A wait that polls.
#[derive(Debug)]
pub(crate) struct Pauses {
    since: Instant,
}

impl Pauses {
    /// Begins the wait, or begins it again after progress.
    pub(crate) fn new() -> Self {
        Self { since: Instant::now() }
    }

    /// Returns the next pause.
    pub(crate) fn next(&self) -> Duration {
        Self::after(self.since.elapsed())
    }

    /// Returns the pause like [`next`](Self::next), with a lower maximum for other events that may
    /// come.
    pub(crate) fn next_short(&self) -> Duration {
        self.next().min(SHORT)
    }

    fn after(waited: Duration) -> Duration {
        (waited / PART).clamp(SHORTEST, LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_wait_polls_rarely_and_a_short_one_often() {
        let (mut polls, mut waited) = (0, Duration::ZERO);
        let mut until = |end: u64| {
            while waited < Duration::from_secs(end) {
                waited += Pauses::after(waited);
                polls += 1;
            }
            polls
        };
        assert!((20..70).contains(&until(1)), "in the first second");
        assert!(until(10) < 90);
        assert!(until(3610) < 90 + 3600, "once a second for ever");
        assert_eq!(Pauses::after(Duration::ZERO), SHORTEST);
    }
}
