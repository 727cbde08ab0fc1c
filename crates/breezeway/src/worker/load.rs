//! A worker's load, published for the placement of sessions.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use breezeway_os::clock;

use crate::slice::SLICE;

/// The whole time, in 256ths.
const FULL: u64 = 256;
/// Time over which work is summed up. A share counts half after the same time again.
const WINDOW: Duration = Duration::from_millis(10);

/// A worker's published load. Only the worker writes; every value is a hint, so relaxed accesses
/// suffice.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// The share of time spent in turns that served something.
    share: AtomicU64,
    /// Time of that share, in clock ticks.
    as_of: AtomicU64,
    /// Start of the present turn, in clock ticks; 0 while the worker sleeps.
    turn_since: AtomicU64,
}

impl Load {
    /// Returns the share of recent time, in 256ths, that the worker was busy; all of it, if it is
    /// in one turn for long.
    pub(crate) fn share(&self, now: u64) -> u64 {
        let window = clock::ticks_in(WINDOW).max(1);
        let since = self.turn_since.load(Ordering::Relaxed);
        if since != 0 && now.saturating_sub(since) >= window {
            return FULL;
        }
        let age = now.saturating_sub(self.as_of.load(Ordering::Relaxed)) / window;
        self.share.load(Ordering::Relaxed) >> age.min(63)
    }

    /// Returns the duration of the present turn so far, in clock ticks; `None` while the worker
    /// sleeps.
    pub(crate) fn turn_age(&self, now: u64) -> Option<u64> {
        let since = self.turn_since.load(Ordering::Relaxed);
        (since != 0).then(|| now.saturating_sub(since))
    }

    /// Returns true if the worker has time for others: it sleeps, or has short turns and mostly no
    /// work.
    pub(super) fn is_free(&self, now: u64) -> bool {
        let short = self.turn_age(now).is_none_or(|age| age <= clock::ticks_in(SLICE));
        short && self.share(now) < FULL / 2
    }

    /// Notes that a turn begins.
    #[inline(always)]
    pub(super) fn turn_begins(&self, now: u64) {
        self.turn_since.store(now, Ordering::Relaxed);
    }

    /// Notes that the worker starts to sleep.
    pub(super) fn sleeps(&self) {
        self.turn_since.store(0, Ordering::Relaxed);
    }
}

/// The worker's private counts behind its published load.
#[derive(Debug)]
pub(super) struct Workload {
    window: u64,
    window_start: u64,
    /// Ticks of work since then.
    busy: u64,
}

impl Workload {
    pub(super) fn new(now: u64) -> Self {
        Self { window: clock::ticks_in(WINDOW).max(1), window_start: now, busy: 0 }
    }

    /// Adds a turn with work that took `ticks` and ended at `now`.
    #[inline(always)]
    pub(super) fn worked(&mut self, ticks: u64, now: u64, load: &Load) {
        self.busy += ticks;
        if now.saturating_sub(self.window_start) >= self.window {
            self.publish(now, load);
        }
    }

    #[cold]
    fn publish(&mut self, now: u64, load: &Load) {
        let elapsed = now - self.window_start;
        let latest = self.busy.min(elapsed).saturating_mul(FULL) / elapsed;
        let age = (elapsed / self.window).min(63);
        let earlier = load.share.load(Ordering::Relaxed) >> age;
        load.share.store(latest.max(earlier), Ordering::Relaxed);
        load.as_of.store(now, Ordering::Relaxed);
        (self.window_start, self.busy) = (now, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window() -> u64 {
        clock::ticks_in(WINDOW)
    }

    #[test]
    fn a_worker_is_as_busy_as_the_share_of_time_that_it_works() {
        let (load, window) = (Load::default(), window());
        let mut workload = Workload::new(0);
        for tenth in 1..=10 {
            workload.worked(window / 20, tenth * window / 10 + 1, &load);
        }
        let share = load.share(window);
        assert!(share.abs_diff(FULL / 2) <= 1, "{share}");
    }

    #[test]
    fn work_of_the_past_counts_less_and_less() {
        let (load, window) = (Load::default(), window());
        Workload::new(0).worked(window, window, &load);
        assert_eq!(load.share(window), FULL);
        assert_eq!(load.share(3 * window), FULL / 4);
        assert_eq!(load.share(1000 * window), 0);
    }

    #[test]
    fn worker_is_free_while_asleep_or_lightly_loaded() {
        let (load, slice) = (Load::default(), clock::ticks_in(SLICE));
        assert!(load.is_free(5), "asleep");
        load.turn_begins(1);
        assert!(load.is_free(1 + slice));
        assert!(!load.is_free(2 + slice), "in a turn for long");
        Workload::new(0).worked(window(), window(), &load);
        load.sleeps();
        assert!(!load.is_free(window()), "it was busy all the time");
        assert!(load.is_free(3 * window()), "long ago");
    }

    #[test]
    fn worker_in_a_long_turn_is_busy_until_it_sleeps() {
        let (load, window) = (Load::default(), window());
        load.turn_begins(1);
        assert_eq!(load.share(window), 0);
        assert_eq!(load.share(window + 1), FULL);
        load.sleeps();
        assert_eq!(load.share(10 * window), 0);
    }
}
