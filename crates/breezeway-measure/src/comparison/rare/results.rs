//! Figures of rare calls: medians over the rounds.

use serde::Serialize;

use super::{RarePair, RarePairs, RareRate, RareSample};
use crate::comparison::results::MIN_MESSAGES;
use crate::report::bench::KEPT;
use crate::statistics::{Spread, median};

/// Rare calls at one rate, over shared memory and over a plain unix socket.
#[derive(Debug, Serialize)]
pub struct Rare {
    /// Calls a second that were due.
    pub rate: u32,
    /// Reason why there are no figures.
    pub error: Option<String>,
    /// Medians over the rounds, if there are any.
    pub figures: Option<RareFigures>,
    /// The commands that repeat it: server and caller over shared memory, then over a plain socket.
    pub commands: Vec<String>,
}

/// Medians over the rounds at one rate.
#[derive(Debug, Serialize)]
pub struct RareFigures {
    /// Number of rounds that count.
    pub rounds: usize,
    /// True if one side made fewer calls than [`MIN_MESSAGES`] in all rounds that count.
    pub few: bool,
    /// True if other programs disturbed every round that counts.
    pub disturbed: bool,
    /// The sessions over shared memory.
    pub shm: RareSide,
    /// A std unix socket with the same calls.
    pub plain_unix: RareSide,
    /// The p50 of `shm` over that of `plain_unix`.
    pub p50_ratio: RatioOfMedians,
    /// The p99 of `shm` over that of `plain_unix`.
    pub p99_ratio: RatioOfMedians,
}

/// Medians of one side over the rounds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RareSide {
    /// Calls in all rounds that count.
    pub calls: u64,
    /// Calls a second.
    pub per_second: f64,
    /// True if these are nearly as many as were due.
    pub reached: bool,
    /// Half of the calls are shorter.
    pub p50_ns: f64,
    /// 99 % of the calls of a round are shorter; of fewer than 100 calls, the longest one.
    pub p99_ns: f64,
    /// CPU time of both processes for each call; None on a system that does not count it.
    pub cpu_ns_per_call: Option<f64>,
}

/// A ratio of two medians over the rounds, and the range of the ratios within a round.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RatioOfMedians {
    /// The ratio of the medians.
    pub ratio: f64,
    /// The least ratio of a round.
    pub min: f64,
    /// The greatest ratio of a round.
    pub max: f64,
}

impl Rare {
    pub(in crate::comparison) fn new(rate: RareRate, pairs: &RarePairs) -> Self {
        Self {
            rate: rate.per_second,
            error: pairs.as_ref().err().cloned(),
            figures: pairs.as_ref().ok().and_then(|pairs| RareFigures::of(rate, pairs)),
            commands: rate.commands(),
        }
    }
}

impl RareFigures {
    /// Returns figures of the rounds that no other program disturbed, if there are any.
    fn of(rate: RareRate, pairs: &[RarePair]) -> Option<Self> {
        let undisturbed: Vec<RarePair> =
            pairs.iter().filter(|pair| !pair.iter().any(is_disturbed)).copied().collect();
        let disturbed = undisturbed.is_empty();
        let counted = if disturbed { pairs } else { &undisturbed };
        let side = |index: usize| {
            let samples: Vec<RareSample> = counted.iter().map(|pair| pair[index]).collect();
            RareSide::of(rate, &samples)
        };
        let (shm, plain_unix) = (side(0)?, side(1)?);
        Some(Self {
            rounds: counted.len(),
            few: shm.calls.min(plain_unix.calls) < MIN_MESSAGES,
            disturbed,
            shm,
            plain_unix,
            p50_ratio: RatioOfMedians::of(counted, |sample| sample.p50)?,
            p99_ratio: RatioOfMedians::of(counted, |sample| sample.p99)?,
        })
    }
}

fn is_disturbed(sample: &RareSample) -> bool {
    sample.usage.is_some_and(|usage| usage.is_disturbed())
}

impl RareSide {
    fn of(rate: RareRate, samples: &[RareSample]) -> Option<Self> {
        let over = |value: fn(&RareSample) -> f64| median(samples.iter().map(value));
        let per_second = over(|sample| sample.per_second)?;
        Some(Self {
            calls: samples.iter().map(|sample| sample.calls).sum(),
            per_second,
            reached: per_second >= KEPT * f64::from(rate.per_second),
            p50_ns: over(|sample| sample.p50)?,
            p99_ns: over(|sample| sample.p99)?,
            cpu_ns_per_call: median(samples.iter().filter_map(|sample| sample.cpu)),
        })
    }
}

impl RatioOfMedians {
    fn of(pairs: &[RarePair], value: fn(&RareSample) -> f64) -> Option<Self> {
        let side = |index: usize| median(pairs.iter().map(|pair| value(&pair[index])));
        let rounds = pairs.iter().map(|[ours, theirs]| value(ours) / value(theirs));
        let rounds = Spread::of(rounds)?;
        Some(Self { ratio: side(0)? / side(1)?, min: rounds.min, max: rounds.max })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::comparison::others::Usage;

    const RATE: RareRate = RareRate { per_second: 100, measuring: Duration::from_secs(1) };

    fn sample(p50: f64, disturbed: bool) -> RareSample {
        let [available, others] =
            [1_000, if disturbed { 500 } else { 0 }].map(Duration::from_millis);
        let usage = Usage { available, others, stolen: Duration::ZERO, server: Duration::ZERO };
        let cpu = Some(2.0 * p50);
        RareSample { calls: 100, per_second: 101.0, p50, p99: 3.0 * p50, cpu, usage: Some(usage) }
    }

    /// Returns two rounds in which shared memory takes 1.2 times as long as the plain socket.
    pub(crate) fn pairs() -> RarePairs {
        let ours = [sample(55_000.0, false), sample(65_000.0, false)];
        Ok(ours.map(|ours| [ours, sample(50_000.0, false)]).into())
    }

    #[test]
    fn ratio_is_that_of_medians_and_lies_in_its_range() {
        let figures = Rare::new(RATE, &pairs()).figures.unwrap();
        let ratio = figures.p50_ratio;
        assert_eq!((ratio.min, ratio.ratio, ratio.max), (1.1, 1.2, 1.3));
        assert_eq!((figures.shm.p50_ns, figures.shm.cpu_ns_per_call), (60e3, Some(120e3)));
        assert_eq!((figures.rounds, figures.disturbed, figures.few), (2, false, false));
    }

    #[test]
    fn disturbed_rounds_do_not_count_if_there_are_others() {
        let quiet = [sample(60.0, false), sample(50.0, false)];
        let busy = [sample(900.0, false), sample(50.0, true)];
        let figures = Rare::new(RATE, &Ok(vec![busy, quiet])).figures.unwrap();
        assert_eq!((figures.rounds, figures.disturbed, figures.shm.p50_ns), (1, false, 60.0));
        let figures = Rare::new(RATE, &Ok(vec![busy])).figures.unwrap();
        assert_eq!((figures.rounds, figures.disturbed, figures.shm.p50_ns), (1, true, 900.0));
    }

    #[test]
    fn rate_that_one_side_misses_is_reported() {
        let slow = RareSample { per_second: 80.0, ..sample(60.0, false) };
        let figures = Rare::new(RATE, &Ok(vec![[slow, sample(50.0, false)]])).figures.unwrap();
        assert_eq!((figures.shm.reached, figures.plain_unix.reached), (false, true));
    }

    #[test]
    fn few_calls_are_marked() {
        let once = RareSample { calls: 49, ..sample(60.0, false) };
        assert!(Rare::new(RATE, &Ok(vec![[once, sample(50.0, false)]])).figures.unwrap().few);
    }

    #[test]
    fn failed_rate_has_its_reason_and_no_figures() {
        let rare = Rare::new(RATE, &Err("not available: no room".to_owned()));
        assert_eq!(rare.error.as_deref(), Some("not available: no room"));
        assert!(rare.figures.is_none() && rare.commands.len() == 4);
        assert!(Rare::new(RATE, &Ok(Vec::new())).figures.is_none());
    }
}
