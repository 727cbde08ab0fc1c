//! The sweep: every row in every round, each measurement between two readings of the floor.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::host::{self, Host};
use super::plan::{Carrier, Pattern, Plan, Row};
use crate::Failure;
use crate::process::{Interrupt, describe, json};

/// How much longer than planned one measurement may take before it counts as failed.
const PATIENCE: Duration = Duration::from_secs(20);
/// A floor fails when something else takes both CPUs for long; that may pass.
const TRIES: usize = 5;

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// This row is measured next.
    Begins(Row),
    /// One of [`Plan::steps`] is over, whatever it found.
    Done,
}

/// What one measurement of a row found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) round: u32,
    /// The floor directly before and after, in nanoseconds.
    pub(crate) floor: [f64; 2],
    pub(crate) messages: u64,
    pub(crate) per_second: Option<f64>,
    /// 50, 90, 99 and 99.9 percent of the latencies are at most so many nanoseconds.
    pub(crate) percentiles: [Option<f64>; 4],
}

/// All measurements of a row, or why there are none.
pub(crate) type Samples = Result<Vec<Sample>, String>;

/// Measures every row of `plan`; the result has an entry for each, in its order.
pub(crate) fn sweep(
    plan: &Plan,
    program: &Path,
    folder: &Path,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Step),
) -> Result<Vec<Samples>, Failure> {
    let hosts = host::start_all(plan, program, folder)?;
    let mut sweep = Sweep { plan, program, hosts, interrupt, progress, start: Instant::now() };
    let mut all: Vec<Samples> = plan.rows.iter().map(|_| Ok(Vec::new())).collect();
    for round in 0..plan.rounds {
        sweep.round(round, &mut all)?;
    }
    Ok(all)
}

/// What every measurement needs.
struct Sweep<'a> {
    plan: &'a Plan,
    program: &'a Path,
    hosts: Vec<Host>,
    interrupt: &'a Interrupt,
    progress: &'a mut dyn FnMut(Step),
    start: Instant,
}

impl Sweep<'_> {
    /// Measures every row once, or as many as there is time for; the first round is always
    /// complete.
    fn round(&mut self, round: u32, all: &mut [Samples]) -> Result<(), Failure> {
        let mut before = self.floor()?;
        for (row, samples) in self.plan.rows.iter().zip(all) {
            if round > 0 && self.start.elapsed() > self.plan.limit {
                return Ok(());
            }
            (self.progress)(Step::Begins(*row));
            if let Some(report) = self.try_row(*row, samples)? {
                let after = self.floor()?;
                record(samples, Sample::new(*row, round, [before, after], &report));
                before = after;
            }
            (self.progress)(Step::Done);
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
                *samples = Err(describe(&*error));
                Ok(None)
            }
        }
    }

    fn measure(&self, row: Row) -> Result<Value, Failure> {
        let bench = |address: &str| {
            let command =
                host::command(self.program, &host::bench_arguments(row, address, self.plan));
            json(command, self.plan.measuring + PATIENCE, self.interrupt)
        };
        let Some(host) = host::of(&self.hosts, row) else { return bench("") };
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
            let command = host::command(self.program, &host::line_arguments(self.plan.cpus));
            match json(command, PATIENCE, self.interrupt) {
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
            let messages = report.pointer("/touched/0/round_trips").and_then(Value::as_u64)?;
            let percentiles = [Some(p50), None, None, None];
            Self { round, floor, messages, per_second: None, percentiles }
        } else {
            let messages = report.pointer("/count").and_then(Value::as_u64)?;
            let per_second = number(report, "/messages_per_second");
            Self { round, floor, messages, per_second, percentiles: percentiles(report, messages) }
        };
        sample.per_message(row.pattern).is_some().then_some(sample)
    }

    /// Nanoseconds for each message: the median where there is one call at a time, and otherwise
    /// what the rate says.
    pub(crate) fn per_message(&self, pattern: Pattern) -> Option<f64> {
        match pattern {
            Pattern::PingPong
            | Pattern::Tokio
            | Pattern::Cold
            | Pattern::Grpc
            | Pattern::GrpcHttp2
            | Pattern::Thrift => self.percentiles[0],
            _ => self.per_second.filter(|rate| *rate > 0.0).map(|rate| 1e9 / rate),
        }
    }
}

/// The percentiles that so many messages have: at least two of them lie above each.
fn percentiles(report: &Value, messages: u64) -> [Option<f64>; 4] {
    let known = |name: &str, least: u64| {
        let value = number(report, &format!("/latency_ns/{name}"));
        value.filter(|_| messages >= least)
    };
    [known("p50", 1), known("p90", 20), known("p99", 200), known("p999", 2_000)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Series;
    use serde_json::json as object;

    fn row(pattern: Pattern) -> Row {
        Row { series: Series::SHM_BUSY, pattern, size: 8 }
    }

    #[test]
    fn few_messages_tell_no_far_percentiles() {
        let report = object!({"latency_ns": {"p50": 1.0, "p90": 2.0, "p99": 3.0, "p999": 4.0}});
        assert_eq!(percentiles(&report, 19), [Some(1.0), None, None, None]);
        assert_eq!(percentiles(&report, 2_000), [1.0, 2.0, 3.0, 4.0].map(Some));
    }

    #[test]
    fn round_trips_count_by_their_median_and_streams_by_their_rate() {
        let report =
            object!({"count": 1000, "messages_per_second": 1e6, "latency_ns": {"p50": 900}});
        let sample = |pattern| Sample::new(row(pattern), 0, [100.0; 2], &report).unwrap();
        let per_message = |pattern| sample(pattern).per_message(pattern);
        assert_eq!(per_message(Pattern::PingPong), Some(900.0));
        assert_eq!(per_message(Pattern::OneWay), Some(1000.0));
    }

    #[test]
    fn a_report_without_figures_is_no_sample() {
        let nothing = object!({"count": 0, "messages_per_second": 0.0, "latency_ns": null});
        for pattern in Pattern::ALL {
            assert_eq!(Sample::new(row(pattern), 0, [100.0; 2], &nothing), None);
        }
        let mut samples = Ok(Vec::new());
        record(&mut samples, None);
        assert!(samples.is_err());
    }
}
