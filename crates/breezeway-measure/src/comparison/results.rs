//! What a comparison found. The fields and their names are the contract of `--json`;
//! docs/compare.md describes them.

use serde::Serialize;

use super::plan::{Pattern, Series};
use super::rare::Rare;
use crate::machine::Machine;
use crate::statistics::{Level, Spread};

/// Raised whenever a field changes its meaning or goes away.
pub const SCHEMA: u32 = 1;

/// Figures of fewer messages than this, in all rounds together, are marked and kept from cards and
/// charts.
pub const MIN_MESSAGES: u64 = 50;

/// All of a run.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of this crate.
    pub version: &'static str,
    /// Start of the evaluation, in UTC.
    pub date: String,
    /// Method of the measurement.
    pub method: Method,
    /// CPU usage of other programs during the run; None on a system that does not count it.
    pub background: Option<Background>,
    /// Machine of the measurement.
    pub machine: Machine,
    /// The levels of the floor that were seen, the nearest first.
    pub levels: Vec<Level>,
    /// Results of all rows, in the order of the plan.
    pub rows: Vec<Found>,
    /// Ours over plain sockets.
    pub against_plain: Vec<AgainstPlain>,
    /// Rare calls, in the order of the rates.
    pub rare_calls: Vec<Rare>,
    /// Patterns without rows.
    pub left_out: Vec<LeftOut>,
}

/// A pattern that this build of the command cannot measure.
#[derive(Debug, Serialize)]
pub struct LeftOut {
    /// The pattern.
    pub pattern: Pattern,
    /// Reason why it cannot be measured.
    pub reason: &'static str,
}

/// CPU usage of other programs on the two CPUs, over all measurements.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Background {
    /// The share of both CPUs that they used, from 0 to 1.
    pub others: f64,
    /// The share that the hypervisor gave to other machines.
    pub stolen: f64,
    /// Number of measurements, including repetitions.
    pub measurements: usize,
    /// In how many of them the two shares together were too large.
    pub disturbed: usize,
    /// Number of measurements that repeat a disturbed one.
    pub repeated: usize,
}

/// Method of a run: its sizes, rounds and times.
#[derive(Debug, Serialize)]
pub struct Method {
    /// True if the quick run, with fewer sizes, was requested.
    pub quick: bool,
    /// Number of rounds.
    pub rounds: u32,
    /// Time of one measurement.
    pub seconds: f64,
    /// [`MIN_MESSAGES`].
    pub min_messages: u64,
    /// Time of one reading of the floor.
    pub floor_milliseconds: u128,
    /// Floors, each between two measurements, with every server stopped.
    pub floor_readings: usize,
    /// Number of floors that were disturbed by other programs on the two CPUs.
    pub floor_disturbed: usize,
}

/// Result of one row.
#[derive(Debug, Serialize)]
pub struct Found {
    /// The line of a chart.
    #[serde(flatten)]
    pub series: Series,
    /// Pattern of messages.
    pub pattern: Pattern,
    /// Bytes of a message.
    pub size: usize,
    /// Calls in flight.
    pub depth: u32,
    /// Reason why there are no figures.
    pub error: Option<String>,
    /// At the level that most of the run had, if there are any.
    pub figures: Option<Figures>,
    /// Figures at other levels of the floor, if the row was measured there too.
    pub other_levels: Vec<Figures>,
    /// The commands that repeat the row.
    pub commands: Vec<String>,
}

/// Medians over the rounds of a row at one level of the floor.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// The level of the floor.
    pub level: String,
    /// Number of rounds that count.
    pub rounds: usize,
    /// True if the floors before and after agree in every round that counts; otherwise ratios mean
    /// little.
    pub steady: bool,
    /// Messages in all rounds that count.
    pub messages: u64,
    /// True if these are fewer than [`MIN_MESSAGES`]: the figures mean little, and neither cards
    /// nor charts show them.
    pub few: bool,
    /// True if other programs disturbed every round that counts.
    pub disturbed: bool,
    /// The share of both CPUs that other programs and other machines had, in the rounds that count.
    pub others: Option<f64>,
    /// CPUs that the two processes used.
    pub cpus: CpuUse,
    /// Medians of the percentiles.
    pub latency_ns: Latencies,
    /// Throughput in one direction.
    pub messages_per_second: Option<f64>,
    /// Throughput in one direction.
    pub bytes_per_second: Option<f64>,
    /// The floor directly before.
    pub floor_before_ns: f64,
    /// The floor directly after.
    pub floor_after_ns: f64,
    /// The time of a message.
    pub ns_per_message: f64,
    /// `ns_per_message` over the mean of the floors before and after, over the rounds.
    pub floors: Spread,
}

/// CPUs that each side used, from 0 to 1, as both are pinned: 1 if the side spins.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CpuUse {
    /// The measuring process, while it measured.
    pub client: Option<f64>,
    /// The server, while it had a session.
    pub server: Option<f64>,
}

impl CpuUse {
    /// Returns the usage of both sides together.
    #[must_use]
    pub fn both(self) -> Option<f64> {
        Some(self.client? + self.server?)
    }
}

/// Percentiles of round trips, as far as there are enough of them.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Latencies {
    /// Half are shorter.
    pub p50: Option<f64>,
    /// Nine of ten are shorter.
    pub p90: Option<f64>,
    /// 99 % are shorter.
    pub p99: Option<f64>,
    /// 99.9 % are shorter.
    pub p999: Option<f64>,
}

/// Ours over a plain socket of the same kind and size, round by round.
#[derive(Debug, Serialize)]
pub struct AgainstPlain {
    /// The line of a chart.
    #[serde(flatten)]
    pub series: Series,
    /// Bytes of a message.
    pub size: usize,
    /// The time of ours over that of theirs.
    pub ratio: Spread,
}

impl Comparison {
    /// The row of `series`, if it was planned.
    #[must_use]
    pub fn find(&self, series: Series, pattern: Pattern, size: usize) -> Option<&Found> {
        self.rows.iter().find(|row| (row.series, row.pattern, row.size) == (series, pattern, size))
    }

    /// The sizes that rows of `pattern` have, ascending.
    pub(crate) fn sizes_of(&self, pattern: Pattern) -> Vec<usize> {
        let has =
            |size: &usize| self.rows.iter().any(|row| (row.pattern, row.size) == (pattern, *size));
        self.sizes().into_iter().filter(has).collect()
    }

    /// The sizes that were measured, ascending.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.rows.iter().map(|row| row.size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Every pattern and series that lacks rows, and every rate of rare calls without figures, with
    /// the reason, each reason once.
    #[must_use]
    pub fn missing(&self) -> Vec<(String, &str)> {
        let left_out = self.left_out.iter().map(|one| (one.pattern.name().to_owned(), one.reason));
        let mut missing: Vec<(String, &str)> = left_out.collect();
        for row in &self.rows {
            let Some(error) = row.error.as_deref() else { continue };
            let whole = self.rows.iter().filter(|other| other.series == row.series);
            let all = whole.clone().all(|other| other.error.is_some());
            let what = if all {
                row.series.name()
            } else {
                format!("{} {} {} B", row.series.name(), row.pattern.name(), row.size)
            };
            if !missing.iter().any(|known| *known == (what.clone(), error)) {
                missing.push((what, error));
            }
        }
        for rare in &self.rare_calls {
            if let Some(error) = rare.error.as_deref() {
                missing.push((format!("rare calls, {}/s", rare.rate), error));
            }
        }
        missing
    }

    /// The name of the level that was seen most.
    #[must_use]
    pub fn main_level(&self) -> Option<&str> {
        let most = self.levels.iter().map(|level| level.readings).max();
        let main = self.levels.iter().find(|level| Some(level.readings) == most);
        main.map(|level| level.name.as_str())
    }

    /// The series that have a row of `pattern`.
    #[must_use]
    pub fn series(&self, pattern: Pattern) -> Vec<Series> {
        let has = |series: &Series| {
            self.rows.iter().any(|row| row.pattern == pattern && row.series == *series)
        };
        Series::ALL.into_iter().filter(has).collect()
    }

    /// The series that were compared with a plain socket.
    #[must_use]
    pub fn compared_series(&self) -> Vec<Series> {
        let compared = |series: &Series| self.against_plain.iter().any(|one| one.series == *series);
        Series::ALL.into_iter().filter(compared).collect()
    }

    /// Ours over a plain socket.
    #[must_use]
    pub fn over_plain(&self, series: Series, size: usize) -> Option<Spread> {
        let one = self.against_plain.iter().find(|one| (one.series, one.size) == (series, size));
        one.map(|one| one.ratio)
    }
}
