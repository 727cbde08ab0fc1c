//! Echoes of this state of the code beside those of another one, in pairs.
//!
//! `make bench-against BASE=22db869` builds the command of that commit and gives its path in
//! `BREEZEWAY_BASE`. Each command's `bench` calls its own `serve`, busy, on two CPUs; payload is
//! written and compared. The two take turns, and which is first changes; a ratio is of two turns of
//! one round, and a round counts if the floor was the same before and after it. Sizes may be given
//! as arguments, and `--rounds N`.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use breezeway_measure::machine::{Cpus, Machine};
use breezeway_measure::process::{self, Interrupt, Server};
use breezeway_measure::statistics::{Levels, median};
use serde_json::Value;

type Failure = Box<dyn Error + Send + Sync>;

const SIZES: [&str; 4] = ["40", "1024", "65536", "1048576"];
/// Some are lost to a machine that changes its speed: 41 of one level should be left.
const ROUNDS: usize = 61;
/// Largest difference between the floors before and after a round that counts as steady.
const STEADY: f64 = 0.15;
/// Budget: the largest ratio to the other state's time.
const TARGET: f64 = 1.02;
/// Time limit of one process.
const PATIENCE: Duration = Duration::from_secs(60);

/// A state of the code: its command, and a server of it.
struct State {
    command: OsString,
    server: Server,
}

impl State {
    fn start(name: &str, command: OsString, folder: &Path, cpus: Cpus) -> Result<Self, Failure> {
        let mut serve = Command::new(&command);
        let socket = folder.join(name);
        serve.args(["serve", "--wait", "busy", "--addr", &format!("shm:{}", socket.display())]);
        serve.arg(format!("--cpu={}", cpus.partner));
        let server = Server::start(serve, &folder.join("log"))?;
        Ok(Self { command, server })
    }

    /// The median round trip of a turn, in nanoseconds.
    fn turn(&self, size: &str, cpus: Cpus, interrupt: &Interrupt) -> Result<f64, Failure> {
        let mut bench = Command::new(&self.command);
        bench.args(["bench", "--json", "--wait", "busy", "--seconds", "0.1"]);
        bench.args(["--addr", &self.server.address, "--size", size]);
        bench.arg(format!("--cpu={}", cpus.measurer));
        let report = self.server.during(|| process::json(bench, PATIENCE, interrupt))??;
        number(&report, "/latency_ns/p50")
    }
}

fn number(report: &Value, field: &str) -> Result<f64, Failure> {
    let found = report.pointer(field).and_then(Value::as_f64);
    found.ok_or_else(|| format!("no {field} in {report}").into())
}

/// The bare round trip of a cache line.
fn floor(cpus: Cpus, interrupt: &Interrupt) -> Result<f64, Failure> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_breezeway"));
    command.args(["floor", "--json", "--only", "line", "--milliseconds", "20"]);
    command.arg(format!("--cpus={},{}", cpus.measurer, cpus.partner));
    number(&process::json(command, PATIENCE, interrupt)?, "/line_ns")
}

/// A round: the floor, and the time of the other state and of this one.
struct Round {
    floor: f64,
    times: [f64; 2],
}

/// The 95 % interval of the median of `sorted`, by the ranks of a sign test.
fn interval(sorted: &[f64]) -> Option<(f64, f64)> {
    let count = sorted.len() as f64;
    let low = ((count - 1.96 * count.sqrt()) / 2.0).floor().max(1.0) as usize;
    Some((*sorted.get(low - 1)?, *sorted.get(sorted.len().checked_sub(low)?)?))
}

fn print(size: &str, rounds: &[Round]) -> Option<()> {
    let floors: Vec<f64> = rounds.iter().map(|round| round.floor).collect();
    let levels = Levels::of(&floors);
    for (index, level) in levels.0.iter().enumerate() {
        let of_level = rounds.iter().filter(|round| levels.index(round.floor) == index);
        let times: Vec<[f64; 2]> = of_level.map(|round| round.times).collect();
        let mut ratios: Vec<f64> = times.iter().map(|[before, now]| now / before).collect();
        ratios.sort_by(f64::total_cmp);
        let ((low, high), ratio) = (interval(&ratios)?, median(ratios.iter().copied())?);
        let [before, now] = [0, 1].map(|state| median(times.iter().map(|times| times[state])));
        let verdict = if ratio <= TARGET || low <= TARGET { "ok" } else { "MISSED" };
        println!(
            "{size:>8} B  {:<8} floor {:>4.0} ns  {:>3} pairs  {:>9.0} ns before {:>9.0} ns now  \
             {ratio:.3} ({low:.3}-{high:.3})  {verdict}",
            level.name,
            level.nanoseconds.median,
            ratios.len(),
            before?,
            now?,
        );
    }
    Some(())
}

fn main() -> Result<(), Failure> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` builds benches and may run them: then there is nothing to measure.
    if arguments.iter().any(|argument| argument == "--test") {
        return Ok(());
    }
    let mut wanted = ROUNDS;
    if let Some(place) = arguments.iter().position(|argument| argument == "--rounds") {
        let number = arguments.drain(place..).nth(1).ok_or("--rounds needs a number")?;
        wanted = number.parse()?;
    }
    arguments.retain(|argument| !argument.starts_with("--"));
    if arguments.is_empty() {
        arguments = SIZES.map(str::to_owned).to_vec();
    }
    let base = std::env::var_os("BREEZEWAY_BASE")
        .ok_or("BREEZEWAY_BASE is not set: it is the other state's command")?;
    let cpus = Cpus::first_allowed()?;
    for (name, value) in Machine::detect(cpus).facts() {
        println!("{name}: {value}");
    }
    println!("the median of pair-wise ratios, with its 95 % interval; the target is {TARGET}");
    let (folder, interrupt) = (tempfile::tempdir()?, Interrupt::watch()?);
    let states = [("before", base), ("now", env!("CARGO_BIN_EXE_breezeway").into())]
        .map(|(name, command)| State::start(name, command, folder.path(), cpus));
    let [before, now] = states;
    let states = [before?, now?];
    for size in &arguments {
        let mut rounds = Vec::with_capacity(wanted);
        for round in 0..wanted {
            let (earlier, mut times) = (floor(cpus, &interrupt)?, [0.0; 2]);
            for turn in [round % 2, (round + 1) % 2] {
                times[turn] = states[turn].turn(size, cpus, &interrupt)?;
            }
            let later = floor(cpus, &interrupt)?;
            let floor = f64::midpoint(earlier, later);
            if (earlier - later).abs() < STEADY * floor {
                rounds.push(Round { floor, times });
            }
        }
        if print(size, &rounds).is_none() {
            println!("{size:>8} B  the machine changed its speed in every round; run again");
        }
    }
    Ok(())
}
