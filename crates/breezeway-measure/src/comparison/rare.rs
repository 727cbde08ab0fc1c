//! Rare calls: a 64-byte echo at fixed rates, by programs that sleep until each call is due.
//!
//! Options are the defaults, and nothing is pinned. The kernel's choice of CPUs for a pair of
//! processes may last as long as the pair, so each measurement starts a pair of its own.

mod results;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::host::{command, owned_strings, started_by_this_process};
use super::others::{Reading, Usage};
use super::plan::{Plan, Settings};
use super::sweep::{PATIENCE, Step, number};
use crate::Failure;
use crate::process::{Interrupt, Server, json};
use breezeway::describe;
use breezeway_os::cpu;

pub use results::{Rare, RareFigures, RareSide, RatioOfMedians};

#[cfg(test)]
pub(crate) use results::tests::pairs as sample_pairs;

/// Bytes of a request and of its reply.
pub(crate) const SIZE: usize = 64;
/// Time to start and warm up the processes of a measurement, and to end them.
const STARTING: Duration = Duration::from_millis(70);

/// A rate, and the time of a measurement at it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RareRate {
    /// Calls a second.
    pub per_second: u32,
    /// Time of one measurement.
    pub measuring: Duration,
}

/// Milliseconds of a measurement at each rate, in a full and in a quick run; none is left out.
const RATES: [(u32, u64, Option<u64>); 4] =
    [(10, 3_000, None), (100, 1_000, Some(600)), (1_000, 500, Some(300)), (10_000, 250, Some(150))];

/// Program that is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Program {
    /// A session over shared memory.
    Shm,
    /// A std unix socket with the same calls, both sides blocking.
    PlainUnix,
}

/// Results of one measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RareSample {
    pub(crate) calls: u64,
    pub(crate) per_second: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// CPU time of both processes for each call, in nanoseconds.
    pub(crate) cpu: Option<f64>,
    /// CPU usage during the measurement, if the system counts it.
    pub(crate) usage: Option<Usage>,
}

/// Results of one round: over shared memory and over the plain socket.
pub(crate) type RarePair = [RareSample; 2];

/// All rounds at a rate, or the reason why there are none.
pub(crate) type RarePairs = Result<Vec<RarePair>, String>;

impl RareRate {
    /// Returns the rates of a run with these settings.
    pub(super) fn planned(settings: &Settings) -> Vec<Self> {
        let planned = RATES.into_iter().filter_map(|(per_second, full, quick)| {
            let milliseconds = if settings.quick { quick? } else { full };
            let seconds = settings.seconds.map(Duration::from_secs_f64);
            let measuring = seconds.unwrap_or(Duration::from_millis(milliseconds));
            Some(Self { per_second, measuring })
        });
        planned.collect()
    }

    /// Returns the planned time of one round.
    pub(super) fn duration(self) -> Duration {
        2 * (self.measuring + STARTING)
    }

    /// Returns the commands that a person types to repeat it: server and caller over shared memory,
    /// then over a plain unix socket.
    #[must_use]
    pub fn commands(self) -> Vec<String> {
        let path = "/tmp/echo.sock";
        let of = |program: Program| {
            let address = program.address(path);
            [program.serve_arguments(&address), program.bench_arguments(&address, self)]
        };
        let all = [Program::Shm, Program::PlainUnix].map(of).concat();
        all.into_iter().map(|arguments| format!("breezeway {}", arguments.join(" "))).collect()
    }
}

impl Program {
    fn address(self, path: &str) -> String {
        match self {
            Self::Shm => format!("shm:{path}"),
            Self::PlainUnix => format!("unix:{path}"),
        }
    }

    fn serve_arguments(self, address: &str) -> Vec<String> {
        match self {
            Self::Shm => owned_strings(&["serve", "--addr", address]),
            Self::PlainUnix => owned_strings(&["plain", "serve", "--addr", address]),
        }
    }

    fn bench_arguments(self, address: &str, rate: RareRate) -> Vec<String> {
        let mut arguments = match self {
            Self::Shm => owned_strings(&["bench", "--json"]),
            Self::PlainUnix => owned_strings(&["plain", "bench"]),
        };
        let (size, per_second) = (SIZE.to_string(), rate.per_second.to_string());
        let seconds = rate.measuring.as_secs_f64().to_string();
        let load = ["--addr", address, "--size", &size, "--rate", &per_second];
        arguments.extend(owned_strings(&load));
        arguments.extend(owned_strings(&["--seconds", &seconds]));
        arguments
    }
}

/// Measures all rates of `plan` in rounds. After the plan's limit, counted from `start`, only the
/// first round is finished.
pub(super) fn measure(
    plan: &Plan,
    start: Instant,
    program: &Path,
    folder: &Path,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Step),
) -> Result<Vec<RarePairs>, Failure> {
    let run = Run { program, folder, interrupt };
    let mut all: Vec<RarePairs> = plan.rare.iter().map(|_| Ok(Vec::new())).collect();
    for round in 0..plan.rounds {
        for (&rate, pairs) in plan.rare.iter().zip(&mut all) {
            if round > 0 && start.elapsed() > plan.limit {
                return Ok(all);
            }
            progress(Step::Rare(rate.per_second));
            if let Ok(found) = pairs {
                match run.pair(rate, round) {
                    Ok(pair) => found.push(pair),
                    Err(error) => *pairs = Err(describe(&*error)),
                }
            }
            interrupt.check()?;
            progress(Step::Done);
        }
    }
    Ok(all)
}

/// Context of every measurement.
struct Run<'a> {
    program: &'a Path,
    folder: &'a Path,
    interrupt: &'a Interrupt,
}

impl Run<'_> {
    /// Measures both programs one after the other; the order changes from round to round.
    fn pair(&self, rate: RareRate, round: u32) -> Result<RarePair, Failure> {
        if round.is_multiple_of(2) {
            Ok([self.one(Program::Shm, rate)?, self.one(Program::PlainUnix, rate)?])
        } else {
            let plain = self.one(Program::PlainUnix, rate)?;
            Ok([self.one(Program::Shm, rate)?, plain])
        }
    }

    fn one(&self, measured: Program, rate: RareRate) -> Result<RareSample, Failure> {
        let socket = self.folder.join("rare.sock");
        let address = measured.address(&socket.display().to_string());
        let serve = started_by_this_process(measured.serve_arguments(&address));
        let log = self.folder.join("rare.log");
        let server = Server::start(command(self.program, &serve), &log)
            .map_err(|error| format!("not available: {}", describe(&*error)))?;
        let bench = command(self.program, &measured.bench_arguments(&server.address, rate));
        let cpus = cpu::allowed();
        let reading = || Reading::take(&cpus, Some(server.pid()));
        let before = reading();
        let limit = rate.measuring + PATIENCE;
        let report = server.during(|| json(bench, limit, self.interrupt))??;
        let usage = before.zip(reading()).map(|(before, after)| Usage::between(&before, &after));
        let sample = RareSample::new(&report, usage);
        sample.ok_or_else(|| format!("no figures in {report}").into())
    }
}

impl RareSample {
    /// Returns `None` if a report lacks the figures.
    fn new(report: &Value, usage: Option<Usage>) -> Option<Self> {
        let calls = report.pointer("/count")?.as_u64()?;
        let both = number(report, "/client_cpu_seconds").zip(number(report, "/server_cpu_seconds"));
        Some(Self {
            calls,
            per_second: number(report, "/messages_per_second")?,
            p50: number(report, "/latency_ns/p50")?,
            p99: number(report, "/latency_ns/p99")?,
            cpu: both.map(|(client, server)| (client + server) * 1e9 / calls as f64),
            usage,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json as object;

    #[test]
    fn quick_rare_calls_take_less_than_15_s() {
        let settings = Settings { quick: true, ..Settings::default() };
        let rates = RareRate::planned(&settings);
        let round: Duration = rates.iter().map(|rate| rate.duration()).sum();
        assert!(3 * round < Duration::from_secs(15), "{round:?}");
        let all = RareRate::planned(&Settings::default());
        let all: Vec<_> = all.iter().map(|rate| rate.per_second).collect();
        assert_eq!(all, [10, 100, 1_000, 10_000]);
    }

    #[test]
    fn given_time_replaces_that_of_every_rate() {
        let settings = Settings { seconds: Some(0.5), ..Settings::default() };
        let rates = RareRate::planned(&settings);
        assert!(rates.iter().all(|rate| rate.measuring == Duration::from_millis(500)));
    }

    #[test]
    fn report_without_latencies_is_not_a_sample() {
        let nothing = object!({"count": 0, "messages_per_second": 0.0, "latency_ns": null});
        assert_eq!(RareSample::new(&nothing, None), None);
    }

    #[test]
    fn cpu_time_is_that_of_both_sides_for_each_call() {
        let mut report = object!({
            "count": 10, "messages_per_second": 10.0, "latency_ns": {"p50": 1.0, "p99": 2.0},
            "client_cpu_seconds": 1e-3, "server_cpu_seconds": 2e-3,
        });
        let cpu = RareSample::new(&report, None).unwrap().cpu.unwrap();
        assert!((cpu - 300_000.0).abs() < 1.0, "{cpu}");
        report["server_cpu_seconds"] = Value::Null;
        assert_eq!(RareSample::new(&report, None).unwrap().cpu, None);
    }
}
