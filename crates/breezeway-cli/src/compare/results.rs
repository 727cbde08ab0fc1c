//! What a comparison found. The fields and their names are the contract of `--json`; docs/compare.md describes them.

use serde::Serialize;

use super::level::Level;
use super::machine::Machine;
use super::plan::{Pattern, Series};
use super::spread::Spread;

/// Raised whenever a field changes its meaning or goes away.
pub(super) const SCHEMA: u32 = 1;
/// All of a run.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    pub(super) schema: u32,
    pub(super) version: &'static str,
    pub(super) date: String,
    pub(super) method: Method,
    pub(super) machine: Machine,
    /// The levels of the floor that were seen, the nearest first.
    pub(super) levels: Vec<Level>,
    pub(super) rows: Vec<Found>,
    pub(super) against_plain: Vec<AgainstPlain>,
}

/// How it was measured.
#[derive(Debug, Serialize)]
pub(super) struct Method {
    pub(super) quick: bool,
    pub(super) rounds: u32,
    pub(super) seconds: f64,
    pub(super) floor_milliseconds: u128,
    /// Floors, each between two measurements, with every server stopped.
    pub(super) floor_readings: usize,
    /// How many of them tell that something else ran on the two CPUs.
    pub(super) floor_disturbed: usize,
}

/// What one row found.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    #[serde(flatten)]
    pub(super) series: Series,
    pub(super) pattern: Pattern,
    pub(super) size: usize,
    pub(super) depth: u32,
    /// Why there are no figures.
    pub(super) error: Option<String>,
    pub(super) figures: Option<Figures>,
    /// The same at other levels of the floor, if the row was measured there too.
    pub(super) other_levels: Vec<Figures>,
    /// The commands that repeat the row.
    pub(super) commands: Vec<String>,
}

/// Medians over the rounds of a row at one level of the floor.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    pub(super) level: String,
    pub(super) rounds: usize,
    /// Whether the floors before and after agree in every round that counts; if not, ratios mean little.
    pub(super) steady: bool,
    pub(super) messages: u64,
    pub(super) latency_ns: Percentiles,
    pub(super) messages_per_second: Option<f64>,
    pub(super) bytes_per_second: Option<f64>,
    pub(super) floor_before_ns: f64,
    pub(super) floor_after_ns: f64,
    pub(super) ns_per_message: f64,
    /// `ns_per_message` over the mean of the floors before and after, over the rounds.
    pub(super) floors: Spread,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Percentiles {
    pub(super) p50: Option<f64>,
    pub(super) p90: Option<f64>,
    pub(super) p99: Option<f64>,
    pub(super) p999: Option<f64>,
}

/// Ours over a plain socket of the same kind and size, round by round.
#[derive(Debug, Serialize)]
pub(super) struct AgainstPlain {
    #[serde(flatten)]
    pub(super) series: Series,
    pub(super) size: usize,
    pub(super) ratio: Spread,
}

impl Comparison {
    /// The row of `series`, if it was planned.
    pub(super) fn find(&self, series: Series, pattern: Pattern, size: usize) -> Option<&Found> {
        self.rows.iter().find(|row| (row.series, row.pattern, row.size) == (series, pattern, size))
    }

    pub(super) fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.rows.iter().map(|row| row.size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Every series that lacks rows, with the reason, each reason once.
    pub(super) fn missing(&self) -> Vec<(String, &str)> {
        let mut missing: Vec<(String, &str)> = Vec::new();
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
        missing
    }

    /// The name of the level that was seen most.
    pub(super) fn main_level(&self) -> Option<&str> {
        let most = self.levels.iter().map(|level| level.readings).max();
        let main = self.levels.iter().find(|level| Some(level.readings) == most);
        main.map(|level| level.name.as_str())
    }

    /// The series that have a row of `pattern`.
    pub(super) fn series(&self, pattern: Pattern) -> Vec<Series> {
        let has = |series: &Series| {
            self.rows.iter().any(|row| row.pattern == pattern && row.series == *series)
        };
        Series::ALL.into_iter().filter(has).collect()
    }

    /// The series that were compared with a plain socket.
    pub(super) fn compared_series(&self) -> Vec<Series> {
        let compared = |series: &Series| self.against_plain.iter().any(|one| one.series == *series);
        Series::ALL.into_iter().filter(compared).collect()
    }

    /// Ours over a plain socket.
    pub(super) fn over_plain(&self, series: Series, size: usize) -> Option<Spread> {
        let one = self.against_plain.iter().find(|one| (one.series, one.size) == (series, size));
        one.map(|one| one.ratio)
    }
}
