//! Limit of the log lines that a peer can cause: its faults must be visible, and must not fill a
//! disk.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::lock::lock;

/// Number of lines in a burst.
const BURST: u32 = 10;
/// Time after which one more line is allowed.
const INTERVAL: Duration = Duration::from_secs(1);

/// Admits a burst of lines, and then one per interval, with the number of lines dropped before it.
#[derive(Debug)]
pub(crate) struct LogLimit(Mutex<State>);

#[derive(Debug)]
struct State {
    allowed: u32,
    since: Option<Instant>,
    left_out: u64,
}

impl LogLimit {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(State { allowed: BURST, since: None, left_out: 0 }))
    }

    /// Returns the number of lines dropped since the last one if a line may be logged now.
    pub(crate) fn admit(&self) -> Option<u64> {
        self.admit_at(Instant::now())
    }

    fn admit_at(&self, now: Instant) -> Option<u64> {
        let mut state = lock(&self.0);
        let since = *state.since.get_or_insert(now);
        let earned = (now.saturating_duration_since(since).as_nanos() / INTERVAL.as_nanos()) as u32;
        if earned > 0 {
            state.since = Some(now);
            state.allowed = state.allowed.saturating_add(earned).min(BURST);
        }
        if state.allowed == 0 {
            state.left_out += 1;
            return None;
        }
        state.allowed -= 1;
        Some(std::mem::take(&mut state.left_out))
    }
}

/// Warns, within a limit of its own for each place, with the number of similar lines dropped
/// before.
macro_rules! warn_limited {
    ($($arguments:tt)+) => {{
        static LIMIT: $crate::log_limit::LogLimit = $crate::log_limit::LogLimit::new();
        match LIMIT.admit() {
            Some(0) => tracing::warn!($($arguments)+),
            Some(left_out) => tracing::warn!(left_out, $($arguments)+),
            None => {}
        }
    }};
}

pub(crate) use warn_limited;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_logged_in_a_burst_and_then_counted() {
        let (limit, start) = (LogLimit::new(), Instant::now());
        let admitted = (0..1000).filter(|_| limit.admit_at(start).is_some()).count();
        assert_eq!(admitted, BURST as usize);
        assert_eq!(limit.admit_at(start + INTERVAL / 2), None);
        assert_eq!(limit.admit_at(start + INTERVAL), Some(1000 - u64::from(BURST) + 1));
        assert_eq!(limit.admit_at(start + INTERVAL), None);
        let later = start + 1000 * INTERVAL;
        let admitted = (0..1000).filter(|_| limit.admit_at(later).is_some()).count();
        assert_eq!(admitted, BURST as usize, "quiet times save up no more than a burst");
    }
}
