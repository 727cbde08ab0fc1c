//! The sweep: every row in every round, each measurement between two readings of the floor.

use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use super::child::{self, Interrupt};
use super::host::{self, Host};
use super::plan::{Carrier, Pattern, Plan, Row};
use crate::Failure;

/// How much longer than planned one measurement may take before it counts as failed.
const PATIENCE: Duration = Duration::from_secs(20);
/// A floor fails when something else takes both CPUs for long; that may pass.
const TRIES: usize = 5;

/// What one measurement of a row found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) round: u32,
    /// The floor directly before and after, in nanoseconds.
    pub(super) floor: [f64; 2],
    pub(super) messages: u64,
    pub(super) per_second: Option<f64>,
    /// 50, 90, 99 and 99.9 percent of the latencies are at most so many nanoseconds.
    pub(super) percentiles: [Option<f64>; 4],
}

/// All measurements of a row, or why there are none.
pub(super) type Samples = Result<Vec<Sample>, String>;

/// Measures every row of `plan`; the result has an entry for each, in its order.
pub(super) fn sweep(
    plan: &Plan,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<Vec<Samples>, Failure> {
    let hosts = host::start_all(plan, folder)?;
    let bar = progress_bar(plan.steps());
    let sweep = Sweep { plan, hosts, interrupt, bar, start: Instant::now() };
    let mut all: Vec<Samples> = plan.rows.iter().map(|_| Ok(Vec::new())).collect();
    for round in 0..plan.rounds {
        sweep.round(round, &mut all)?;
    }
    sweep.bar.finish_and_clear();
    Ok(all)
}

/// What every measurement needs.
struct Sweep<'a> {
    plan: &'a Plan,
    hosts: Vec<Host>,
    interrupt: &'a Interrupt,
    bar: ProgressBar,
    start: Instant,
}

impl Sweep<'_> {
    /// Measures every row once, or as many as there is time for; the first round is always complete.
    fn round(&self, round: u32, all: &mut [Samples]) -> Result<(), Failure> {
        let mut before = self.floor()?;
        for (row, samples) in self.plan.rows.iter().zip(all) {
            if round > 0 && self.start.elapsed() > self.plan.limit {
                return Ok(());
            }
            self.bar.set_message(format!("{} {}", row.series.name(), row.pattern.name()));
            if let Some(report) = self.try_row(*row, samples)? {
                let after = self.floor()?;
                record(samples, Sample::new(*row, round, [before, after], &report));
                before = after;
            }
            self.bar.inc(1);
        }
        Ok(())
    }

    /// Measures a row unless it has failed before.
    fn try_row(&self, row: Row, samples: &mut Samples) -> Result<Option<Value>, Failure> {
        self.interrupt.check()?;
        if samples.is_err() {
            return Ok(None);
        }
        match self.measure(row) {
            Ok(report) => Ok(Some(report)),
            Err(error) => {
                self.interrupt.check()?;
                *samples = Err(error.to_string());
                Ok(None)
            }
        }
    }

    fn measure(&self, row: Row) -> Result<Value, Failure> {
        let bench = |address: &str| {
            let command = host::this_program(&host::bench_arguments(row, address, self.plan))?;
            child::json(command, self.plan.measuring + PATIENCE, self.interrupt)
        };
        let Some(host) = host::of(&self.hosts, row.series) else { return bench("") };
        match &host.server {
            Ok(server) => server.during(|| bench(&server.address))?,
            Err(reason) => Err(format!("not available: {reason}").into()),
        }
    }

    /// One reading of the floor; every server is stopped.
    fn floor(&self) -> Result<f64, Failure> {
        let mut failure = None;
        for _ in 0..TRIES {
            self.interrupt.check()?;
            let command = host::this_program(&host::line_arguments(self.plan.cpus))?;
            match child::json(command, PATIENCE, self.interrupt) {
                Ok(report) => {
                    return number(&report, "/line_ns").ok_or_else(|| no_figures(&report));
                }
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.unwrap_or_else(|| "the floor was not measured".into()))
    }
}

impl Sample {
    /// `None` if a report lacks what the row is measured by.
    fn new(row: Row, round: u32, floor: [f64; 2], report: &Value) -> Option<Self> {
        let sample = if row.series.carrier == Carrier::Memory {
            let p50 = number(report, "/touched/0/p50_ns")?;
            let percentiles = [Some(p50), None, None, None];
            Self { round, floor, messages: 0, per_second: None, percentiles }
        } else {
            let messages = report.pointer("/count").and_then(Value::as_u64)?;
            let per_second = number(report, "/messages_per_second");
            Self { round, floor, messages, per_second, percentiles: percentiles(report, messages) }
        };
        sample.per_message(row.pattern).is_some().then_some(sample)
    }

    /// Nanoseconds for each message: the median round trip of ping-pong, and otherwise what the rate says.
    pub(super) fn per_message(&self, pattern: Pattern) -> Option<f64> {
        match pattern {
            Pattern::PingPong => self.percentiles[0],
            _ => self.per_second.filter(|rate| *rate > 0.0).map(|rate| 1e9 / rate),
        }
    }
}

/// The percentiles that so many messages can tell: at least two of them lie above each.
fn percentiles(report: &Value, messages: u64) -> [Option<f64>; 4] {
    let told = |name: &str, least: u64| {
        let value = number(report, &format!("/latency_ns/{name}"));
        value.filter(|_| messages >= least)
    };
    [told("p50", 1), told("p90", 20), told("p99", 200), told("p999", 2_000)]
}

fn record(samples: &mut Samples, sample: Option<Sample>) {
    match (samples.as_mut(), sample) {
        (Ok(samples), Some(sample)) => samples.push(sample),
        _ => *samples = Err("no message was measured".to_owned()),
    }
}

fn number(report: &Value, field: &str) -> Option<f64> {
    report.pointer(field).and_then(Value::as_f64)
}

fn no_figures(report: &Value) -> Failure {
    format!("no figures in {report}").into()
}

/// On standard error, and only if that is a terminal.
fn progress_bar(steps: usize) -> ProgressBar {
    const TEMPLATE: &str = "{wide_bar} {pos}/{len} {eta:>4} left  {msg:<28}";
    let style = ProgressStyle::with_template(TEMPLATE).expect("a valid template");
    ProgressBar::new(steps as u64).with_style(style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::plan::Series;
    use serde_json::json;

    fn row(pattern: Pattern) -> Row {
        Row { series: Series::SHM_BUSY, pattern, size: 8 }
    }

    #[test]
    fn few_messages_tell_no_far_percentiles() {
        let report = json!({"latency_ns": {"p50": 1.0, "p90": 2.0, "p99": 3.0, "p999": 4.0}});
        assert_eq!(percentiles(&report, 19), [Some(1.0), None, None, None]);
        assert_eq!(percentiles(&report, 2_000), [1.0, 2.0, 3.0, 4.0].map(Some));
    }

    #[test]
    fn round_trips_count_by_their_median_and_streams_by_their_rate() {
        let report = json!({"count": 1000, "messages_per_second": 1e6, "latency_ns": {"p50": 900}});
        let sample = |pattern| Sample::new(row(pattern), 0, [100.0; 2], &report).unwrap();
        let per_message = |pattern| sample(pattern).per_message(pattern);
        assert_eq!(per_message(Pattern::PingPong), Some(900.0));
        assert_eq!(per_message(Pattern::OneWay), Some(1000.0));
    }

    #[test]
    fn a_report_without_figures_is_no_sample() {
        let nothing = json!({"count": 0, "messages_per_second": 0.0, "latency_ns": null});
        for pattern in Pattern::ALL {
            assert_eq!(Sample::new(row(pattern), 0, [100.0; 2], &nothing), None);
        }
        let mut samples = Ok(Vec::new());
        record(&mut samples, None);
        assert!(samples.is_err());
    }
}
