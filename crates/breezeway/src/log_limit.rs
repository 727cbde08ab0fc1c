//! A limit on the log lines that hostile peers can cause.

use std::time::{Duration, Instant};

/// Lines in one window; more are only counted.
const MAX_LINES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(10);

/// Decides which lines of one kind are written.
#[derive(Debug)]
pub(crate) struct LogLimit {
    window_start: Instant,
    lines: u32,
    suppressed: u64,
}

impl LogLimit {
    pub(crate) fn new() -> Self {
        Self { window_start: Instant::now(), lines: 0, suppressed: 0 }
    }

    /// Returns None if a line may not be written, and else the number of lines suppressed since the
    /// last one.
    pub(crate) fn admit(&mut self) -> Option<u64> {
        self.admit_at(Instant::now())
    }

    fn admit_at(&mut self, now: Instant) -> Option<u64> {
        if now.saturating_duration_since(self.window_start) >= WINDOW {
            self.window_start = now;
            self.lines = 0;
        }
        if self.lines == MAX_LINES {
            self.suppressed += 1;
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flood_is_limited_per_window_and_rest_is_counted() {
        let mut limit = LogLimit::new();
        let start = Instant::now();
        for _ in 0..MAX_LINES {
            assert_eq!(limit.admit_at(start), Some(0));
        }
        for _ in 0..1000 {
            assert_eq!(limit.admit_at(start), None);
        }
        assert_eq!(limit.admit_at(start + WINDOW * 2), Some(1000));
        assert_eq!(limit.admit_at(start + WINDOW * 2), Some(0));
    }
}
