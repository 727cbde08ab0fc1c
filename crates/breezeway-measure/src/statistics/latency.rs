//! Latencies: an HDR histogram of clock ticks, and percentiles that a coarse clock does not round.

use hdrhistogram::Histogram;

use breezeway_os::clock;
use serde::Serialize;

/// Collects latencies of one session.
#[derive(Clone, Debug)]
pub struct Recorder(Histogram<u64>);

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// Without any latency.
    #[must_use]
    pub fn new() -> Self {
        const LONGEST: u64 = 1 << 44;
        Self(Histogram::new_with_bounds(1, LONGEST, 3).expect("possible bounds and figures"))
    }

    /// Adds one latency in clock ticks; hours count as the longest that fits.
    #[inline]
    pub fn record(&mut self, ticks: u64) {
        self.0.saturating_record(ticks);
    }

    /// Adds the latencies of another session.
    pub fn merge(&mut self, other: &Self) {
        self.0.add(&other.0).expect("both have the same bounds");
    }

    /// Returns the number of latencies.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The percentiles in nanoseconds, `None` of nothing.
    #[must_use]
    pub fn percentiles(&self) -> Option<Percentiles> {
        let exact = |ticks: u64| nanoseconds(ticks as f64);
        (!self.0.is_empty()).then(|| Percentiles {
            min: exact(self.0.min()),
            p50: nanoseconds(self.quantile(0.5)),
            p90: nanoseconds(self.quantile(0.9)),
            p99: nanoseconds(self.quantile(0.99)),
            p999: nanoseconds(self.quantile(0.999)),
            p9999: nanoseconds(self.quantile(0.9999)),
            max: exact(self.0.max()),
            mean: nanoseconds(self.0.mean()),
        })
    }

    /// Returns a quantile of grouped data: clocks advance in steps (of 10 ns on some machines), so
    /// the samples lie on few values, each of which stands for an interval around it that is filled
    /// evenly. Their shares determine the position of the quantile in that interval.
    fn quantile(&self, quantile: f64) -> f64 {
        let target = quantile * self.0.len() as f64;
        let mut below = 0.0;
        let mut previous: Option<u64> = None;
        let mut values = self.0.iter_recorded().peekable();
        while let Some(step) = values.next() {
            let value = step.value_iterated_to();
            let count = step.count_since_last_iteration() as f64;
            if below + count >= target {
                let next = values.peek().map(|next| next.value_iterated_to() - value);
                let gap = previous.map(|previous| value - previous);
                let width = next.into_iter().chain(gap).min().unwrap_or(0) as f64;
                // Far out samples are single, and their neighbours far away: then the value itself
                // is the best guess.
                let width = if width > value as f64 / 8.0 { 0.0 } else { width };
                let guess = value as f64 + width * ((target - below) / count - 0.5);
                return guess.clamp(self.0.min() as f64, self.0.max() as f64);
            }
            below += count;
            previous = Some(value);
        }
        self.0.max() as f64
    }
}

/// Ticks to nanoseconds with a decimal place.
fn nanoseconds(ticks: f64) -> f64 {
    const SCALE: f64 = 1000.0;
    let nanoseconds = clock::nanoseconds((ticks * SCALE) as u64) as f64 / SCALE;
    (nanoseconds * 10.0).round() / 10.0
}

/// Latencies in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Percentiles {
    /// The shortest.
    pub min: f64,
    /// The median.
    pub p50: f64,
    /// Nine of ten are shorter.
    pub p90: f64,
    /// 99 % are shorter.
    pub p99: f64,
    /// 99.9 % are shorter.
    pub p999: f64,
    /// 99.99 % are shorter.
    pub p9999: f64,
    /// The longest.
    pub max: f64,
    /// The arithmetic mean.
    pub mean: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(samples: &[(u64, u64)]) -> Recorder {
        let mut recorder = Recorder::new();
        for &(value, count) in samples {
            for _ in 0..count {
                recorder.record(value);
            }
        }
        recorder
    }

    #[test]
    fn nothing_has_no_summary() {
        assert!(Recorder::new().percentiles().is_none());
    }

    #[test]
    fn median_between_clock_steps_follows_their_shares() {
        let upper = recorded(&[(1200, 30), (1300, 70)]).quantile(0.5);
        assert!((1260.0..1290.0).contains(&upper), "{upper}");
        let lower = recorded(&[(1200, 70), (1300, 30)]).quantile(0.5);
        assert!((1210.0..1240.0).contains(&lower), "{lower}");
    }

    #[test]
    fn lone_outliers_are_reported_as_they_are() {
        let far = recorded(&[(1000, 99), (1_000_000, 1)]);
        assert!(far.quantile(0.999) >= 999_000.0);
        assert!(far.quantile(0.5) <= 1001.0);
    }

    #[test]
    fn sessions_add_up() {
        let mut all = recorded(&[(100, 5)]);
        all.merge(&recorded(&[(300, 5)]));
        assert_eq!(all.0.len(), 10);
        assert_eq!((all.0.min(), all.0.max()), (100, 300));
    }
}
