//! The median of durations read from a coarse clock.
//!
//! A counter may advance in steps: the reference machine's TSC does so every 10 ns, a twelfth of a
//! round trip. All samples then lie on a few values, and the plain median jumps between them. But a
//! duration of 127 ns shows as 130 more often than as 120, so the share of the samples on each
//! value determines the position of the median between them. This is the median of grouped data of
//! the statistics textbooks: each value stands for an interval one step wide, filled evenly.

use breezeway_os::clock;

/// The median of `ticks` in nanoseconds, `None` of nothing; reorders them.
pub(crate) fn median_nanoseconds(ticks: &mut [u64]) -> Option<f64> {
    /// The conversion yields whole nanoseconds; tens of ticks are not enough of them.
    const SCALE: f64 = 1_000.0;
    let scaled = interpolated(ticks)? * SCALE;
    Some(clock::nanoseconds(scaled as u64) as f64 / SCALE)
}

fn interpolated(ticks: &mut [u64]) -> Option<f64> {
    if ticks.is_empty() {
        return None;
    }
    let half = ticks.len() as f64 / 2.0;
    let (below, &mut value, above) = ticks.select_nth_unstable(ticks.len() / 2);
    let less = below.iter().filter(|&&other| other < value).count();
    let more = above.iter().filter(|&&other| other > value).count();
    let equal = below.len() + 1 + above.len() - less - more;
    let position = (half - less as f64) / equal as f64;
    Some(value as f64 + step_around(value, below, above) * (position - 0.5))
}

/// The distance from `value` to the nearest other sample: the clock's step, or less than the
/// spread of the samples if that is wider.
fn step_around(value: u64, below: &[u64], above: &[u64]) -> f64 {
    let others = below.iter().chain(above).filter(|&&other| other != value);
    others.map(|other| other.abs_diff(value)).min().unwrap_or(0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(interpolated(&mut []), None);
        assert_eq!(median_nanoseconds(&mut []), None);
    }

    #[test]
    fn equal_samples_are_their_own_median() {
        assert_eq!(interpolated(&mut [7]), Some(7.0));
        assert_eq!(interpolated(&mut [7; 10]), Some(7.0));
    }

    #[test]
    fn an_odd_number_of_different_samples_has_the_middle_one() {
        assert_eq!(interpolated(&mut [30, 10, 20]), Some(20.0));
        assert_eq!(interpolated(&mut [1_000, 0, 500, 900, 100]), Some(500.0));
    }

    #[test]
    fn median_between_steps_follows_their_shares() {
        let mut mostly_upper = [vec![120; 30], vec![130; 70]].concat();
        let median = interpolated(&mut mostly_upper).unwrap();
        assert!((126.0..129.0).contains(&median), "{median}");
        let mut mostly_lower = [vec![120; 70], vec![130; 30]].concat();
        let median = interpolated(&mut mostly_lower).unwrap();
        assert!((121.0..124.0).contains(&median), "{median}");
    }

    #[test]
    fn a_second_level_far_away_does_not_pull_the_median() {
        let mut samples = [vec![120; 20], vec![130; 60], vec![5_000; 20]].concat();
        let median = interpolated(&mut samples).unwrap();
        assert!((125.0..=135.0).contains(&median), "{median}");
    }

    #[test]
    fn extreme_samples_do_not_overflow() {
        assert!(interpolated(&mut [0, u64::MAX]).is_some());
        assert!(median_nanoseconds(&mut [u64::MAX; 3]).is_some());
    }
}
