//! Pauses between two polls of something of which nothing reports the end.

use std::time::{Duration, Instant};

/// The first pauses: what is about to end soon is noticed soon.
const SHORTEST: Duration = Duration::from_millis(1);
/// The longest: a peer that is stuck for ever costs nothing that anybody could measure.
const LONGEST: Duration = Duration::from_secs(1);
/// The longest while only the queue is polled, since the socket may not be read.
const SHORT: Duration = Duration::from_millis(50);
/// In between, so large a part of the time since the wait began: that is the most that a wait is
/// prolonged by.
const PART: u32 = 8;

/// A wait that polls.
#[derive(Debug)]
pub(crate) struct Pauses {
    since: Instant,
}

impl Pauses {
    /// The wait begins, or begins again since there was progress.
    pub(crate) fn new() -> Self {
        Self { since: Instant::now() }
    }

    /// The next pause.
    pub(crate) fn next(&self) -> Duration {
        Self::after(self.since.elapsed())
    }

    /// As [`Self::next`], where something else may come meanwhile that is not to wait so long.
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
