//! The sweep: every row in every round, each measurement between two readings of the floor.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::host::{self, Host};
use super::others::{Reading, Usage};
use super::plan::{Carrier, Pattern, Plan, Row};
use crate::Failure;
use crate::process::{Interrupt, Server, json};
use breezeway::describe;

/// Time beyond the planned one after which a measurement counts as failed.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// A floor fails when something else takes both CPUs for long; that may pass.
const TRIES: usize = 5;

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// This row is measured next.
    Begins(Row),
    /// One of [`Plan::steps`] is over, whatever it found.
    Done,
    /// This row is measured again, because other programs disturbed it.
    Repeats(Row),
    /// Rare calls at this rate are measured next, over shared memory and over a plain socket.
    Rare(u32),
}

/// Result of one measurement of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) round: u32,
    /// The floor directly before and after, in nanoseconds.
    pub(crate) floor: [f64; 2],
    pub(crate) messages: u64,
    pub(crate) per_second: Option<f64>,
    /// 50, 90, 99 and 99.9 percent of the latencies are at most this many nanoseconds.
    pub(crate) percentiles: [Option<f64>; 4],
    /// CPUs that the measuring process and the server used.
    pub(crate) cpus: [Option<f64>; 2],
    /// CPU usage during the measurement, if the system counts it.
    pub(crate) usage: Option<Usage>,
}

/// All measurements of a row, or why there are none.
pub(crate) type Samples = Result<Vec<Sample>, String>;

/// Everything that a sweep found.
pub(crate) struct Swept {
    /// Samples of each row of the plan, in its order.
    pub(crate) samples: Vec<Samples>,
    /// CPU usage of every measurement, including those that a repetition replaced.
    pub(crate) usages: Vec<Usage>,
    /// Number of measurements that were repetitions.
    pub(crate) repeated: usize,
}

/// Measures every row of `plan`, and then those again that other programs disturbed.
pub(crate) fn sweep(
    plan: &Plan,
    program: &Path,
    folder: &Path,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Step),
) -> Result<Swept, Failure> {
    let hosts = host::start_all(plan, program, folder)?;
    let (start, usages) = (Instant::now(), Vec::new());
    let mut sweep = Sweep { plan, program, hosts, interrupt, progress, start, usages };
    let mut all: Vec<Samples> = plan.rows.iter().map(|_| Ok(Vec::new())).collect();
    for round in 0..plan.rounds {
        sweep.round(round, &mut all)?;
    }
    let repeated = sweep.repeat(&mut all)?;
    Ok(Swept { samples: all, usages: sweep.usages, repeated })
}

/// Context of every measurement of a run.
struct Sweep<'a> {
    plan: &'a Plan,
    program: &'a Path,
    hosts: Vec<Host>,
    interrupt: &'a Interrupt,
    progress: &'a mut dyn FnMut(Step),
    start: Instant,
    usages: Vec<Usage>,
}

/// Output of one measurement, and the CPU usage during it.
struct Measured {
    report: Value,
    usage: Option<Usage>,
}

impl Sweep<'_> {
    /// Measures every row once, or as many as there is time for; the first round is always
    /// complete.
    fn round(&mut self, round: u32, all: &mut [Samples]) -> Result<(), Failure> {
        let mut before = self.floor()?;
        for (row, samples) in self.plan.rows.iter().zip(all) {
            if round > 0 && self.start.elapsed() > self.plan.limit_of_rows() {
                return Ok(());
            }
            (self.progress)(Step::Begins(*row));
            if let Some(measured) = self.try_row(*row, samples)? {
                let after = self.floor()?;
                record(samples, Sample::new(*row, round, [before, after], &measured));
                before = after;
            }
            (self.progress)(Step::Done);
        }
        Ok(())
    }

    /// Measures again what other programs disturbed, as long as there are repetitions left and
    /// time: first the rows with the fewest undisturbed samples. Returns how often.
    fn repeat(&mut self, all: &mut [Samples]) -> Result<usize, Failure> {
        let mut repeated = 0;
        let mut before = None;
        loop {
            let mut rows = disturbed_rows(all);
            rows.truncate(self.plan.repetitions() - repeated);
            if rows.is_empty() {
                return Ok(repeated);
            }
            for index in rows {
                if self.start.elapsed() > self.plan.limit_of_rows() {
                    return Ok(repeated);
                }
                let (row, samples) = (self.plan.rows[index], &mut all[index]);
                (self.progress)(Step::Repeats(row));
                let floor = before.map_or_else(|| self.floor(), Ok)?;
                if let Some(measured) = self.try_row(row, samples)? {
                    let after = self.floor()?;
                    if let Ok(samples) = samples {
                        let floors = [floor, after];
                        replace(samples, |round| Sample::new(row, round, floors, &measured));
                    }
                    before = Some(after);
                }
                repeated += 1;
            }
        }
    }

    /// Measures a row unless it has failed before.
    fn try_row(&mut self, row: Row, samples: &mut Samples) -> Result<Option<Measured>, Failure> {
        self.interrupt.check()?;
        if samples.is_err() {
            return Ok(None);
        }
        match self.measure(row) {
            Ok(measured) => {
                self.usages.extend(measured.usage);
                Ok(Some(measured))
            }
            Err(error) => {
                self.interrupt.check()?;
                *samples = Err(describe(&*error));
                Ok(None)
            }
        }
    }

    fn measure(&self, row: Row) -> Result<Measured, Failure> {
        let bench = |address: &str| {
            let command =
                host::command(self.program, &host::bench_arguments(row, address, self.plan));
            json(command, self.plan.measuring + PATIENCE, self.interrupt)
        };
        let server = match host::of(&self.hosts, row).map(|host| &host.server) {
            Some(Err(reason)) => return Err(format!("not available: {reason}").into()),
            Some(Ok(server)) => Some(server),
            None => None,
        };
        let reading = || Reading::take(&self.plan.cpus.both(), server.map(Server::pid));
        let before = reading();
        let report = match server {
            Some(server) => server.during(|| bench(&server.address))??,
            None => bench("")?,
        };
        let usage = before.zip(reading()).map(|(before, after)| Usage::between(&before, &after));
        Ok(Measured { report, usage })
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
    /// Returns `None` if a report lacks the figures of the row.
    fn new(row: Row, round: u32, floor: [f64; 2], measured: &Measured) -> Option<Self> {
        let Measured { report, usage } = measured;
        let (cpus, usage) = (cpus(report, *usage), *usage);
        let sample = if row.series.carrier == Carrier::Memory {
            let p50 = number(report, "/touched/0/p50_ns")?;
            let messages = report.pointer("/touched/0/round_trips").and_then(Value::as_u64)?;
            let percentiles = [Some(p50), None, None, None];
            Self { round, floor, messages, per_second: None, percentiles, cpus, usage }
        } else {
            let messages = report.pointer("/count").and_then(Value::as_u64)?;
            let per_second = number(report, "/messages_per_second");
            let percentiles = percentiles(report, messages);
            Self { round, floor, messages, per_second, percentiles, cpus, usage }
        };
        sample.per_message(row.pattern).is_some().then_some(sample)
    }

    /// Returns true if other programs disturbed the measurement.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.usage.is_some_and(|usage| usage.is_disturbed())
    }

    /// CPU time that others used, as a share of the time of both CPUs.
    pub(super) fn lost(&self) -> f64 {
        self.usage.map_or(0.0, |usage| usage.others_share() + usage.stolen_share())
    }

    /// Returns nanoseconds for each message: the median if there is one call at a time, and
    /// otherwise the inverse of the rate.
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

/// Returns the percentiles that this many messages have: at least two of them lie above each.
fn percentiles(report: &Value, messages: u64) -> [Option<f64>; 4] {
    let known = |name: &str, least: u64| {
        let value = number(report, &format!("/latency_ns/{name}"));
        value.filter(|_| messages >= least)
    };
    [known("p50", 1), known("p90", 20), known("p99", 200), known("p999", 2_000)]
}

/// CPUs that the measuring process used while it measured, and the server while it had a session.
fn cpus(report: &Value, usage: Option<Usage>) -> [Option<f64>; 2] {
    let over =
        |time: Option<f64>, seconds: Option<f64>| Some(time? / seconds.filter(|s| *s > 0.0)?);
    let client = over(number(report, "/client_cpu_seconds"), number(report, "/seconds"));
    let server = usage.map(|usage| usage.server.as_secs_f64());
    [client, over(server, number(report, "/session_seconds"))]
}

/// The rows with disturbed samples, those first that have the fewest others.
fn disturbed_rows(all: &[Samples]) -> Vec<usize> {
    let undisturbed = |index: &usize| {
        let samples = all[*index].iter().flatten();
        samples.filter(|sample| !sample.is_disturbed()).count()
    };
    let is_disturbed =
        |index: &usize| all[*index].iter().flatten().any(|sample| sample.is_disturbed());
    let mut rows: Vec<usize> = (0..all.len()).filter(is_disturbed).collect();
    rows.sort_by_key(undisturbed);
    rows
}

/// Puts a new sample in the place of the most disturbed one, if it is less disturbed.
fn replace(samples: &mut [Sample], sample: impl FnOnce(u32) -> Option<Sample>) {
    let worst = samples.iter_mut().filter(|sample| sample.is_disturbed());
    let Some(worst) = worst.max_by(|one, other| one.lost().total_cmp(&other.lost())) else {
        return;
    };
    if let Some(sample) = sample(worst.round).filter(|sample| sample.lost() < worst.lost()) {
        *worst = sample;
    }
}

fn record(samples: &mut Samples, sample: Option<Sample>) {
    match (samples.as_mut(), sample) {
        (Ok(samples), Some(sample)) => samples.push(sample),
        _ => *samples = Err("no message was measured".to_owned()),
    }
}

pub(super) fn number(report: &Value, field: &str) -> Option<f64> {
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

    /// Returns a usage of 100 ms of both CPUs, of which other programs used `milliseconds`.
    fn used_by_others(milliseconds: u64) -> Usage {
        let [available, others] = [100, milliseconds].map(Duration::from_millis);
        Usage { available, others, stolen: Duration::ZERO, server: Duration::from_millis(40) }
    }

    fn disturbed(round: u32, milliseconds: u64) -> Sample {
        Sample {
            round,
            floor: [100.0; 2],
            messages: 100,
            per_second: None,
            percentiles: [Some(200.0), None, None, None],
            cpus: [None; 2],
            usage: Some(used_by_others(milliseconds)),
        }
    }

    #[test]
    fn a_repetition_replaces_the_most_disturbed_sample() {
        let mut samples = [disturbed(0, 50), disturbed(1, 90), disturbed(2, 0)];
        replace(&mut samples, |round| Some(disturbed(round, 95)));
        assert_eq!(samples[1], disturbed(1, 90));
        replace(&mut samples, |round| Some(disturbed(round, 10)));
        assert_eq!(samples, [disturbed(0, 50), disturbed(1, 10), disturbed(2, 0)]);
        replace(&mut samples, |_| None);
        assert_eq!(samples[0], disturbed(0, 50));
    }

    #[test]
    fn rows_without_undisturbed_samples_are_repeated_first() {
        let all = [
            Ok(vec![disturbed(0, 0), disturbed(1, 50)]),
            Ok(vec![disturbed(0, 0), disturbed(1, 0)]),
            Err("not available".to_owned()),
            Ok(vec![disturbed(0, 50), disturbed(1, 50)]),
        ];
        assert_eq!(disturbed_rows(&all), [3, 0]);
    }

    #[test]
    fn cpus_are_those_of_the_load_and_of_the_session() {
        let report = object!({
            "client_cpu_seconds": 0.025, "seconds": 0.05, "session_seconds": 0.08,
        });
        assert_eq!(cpus(&report, Some(used_by_others(0))), [Some(0.5), Some(0.5)]);
        assert_eq!(cpus(&report, None), [Some(0.5), None]);
        assert_eq!(cpus(&object!({}), Some(used_by_others(0))), [None; 2]);
    }

    fn measured(report: Value) -> Measured {
        Measured { report, usage: None }
    }

    fn row(pattern: Pattern) -> Row {
        Row { series: Series::SHM_BUSY, pattern, size: 8 }
    }

    #[test]
    fn few_messages_have_no_high_percentiles() {
        let report = object!({"latency_ns": {"p50": 1.0, "p90": 2.0, "p99": 3.0, "p999": 4.0}});
        assert_eq!(percentiles(&report, 19), [Some(1.0), None, None, None]);
        assert_eq!(percentiles(&report, 2_000), [1.0, 2.0, 3.0, 4.0].map(Some));
    }

    #[test]
    fn round_trips_count_by_their_median_and_streams_by_their_rate() {
        let report = measured(object!({
            "count": 1000, "messages_per_second": 1e6, "latency_ns": {"p50": 900},
        }));
        let sample = |pattern| Sample::new(row(pattern), 0, [100.0; 2], &report).unwrap();
        let per_message = |pattern| sample(pattern).per_message(pattern);
        assert_eq!(per_message(Pattern::PingPong), Some(900.0));
        assert_eq!(per_message(Pattern::OneWay), Some(1000.0));
    }

    #[test]
    fn a_report_without_figures_is_no_sample() {
        let nothing =
            measured(object!({"count": 0, "messages_per_second": 0.0, "latency_ns": null}));
        for pattern in Pattern::ALL {
            assert_eq!(Sample::new(row(pattern), 0, [100.0; 2], &nothing), None);
        }
        let mut samples = Ok(Vec::new());
        record(&mut samples, None);
        assert!(samples.is_err());
    }
}
