//! How often a peer can make this side log: what a stranger causes must be seen, and must not fill
//! a disk.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::lock::lock;

/// So many lines may come at once,
const BURST: u32 = 10;
/// and one more for each of these.
const INTERVAL: Duration = Duration::from_secs(1);

/// Admits a burst of lines, and then one in a while, which says how many were left out before it.
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

    /// Whether to log now: then how many lines were left out since the last one.
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

/// Warns, within a limit of its own for each place, and says how many like it were left out before.
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
