//! The budgets: each row of the table is measured in pairs with its floor, which is
//! taken directly before and after while the server is stopped. Pairs during which the machine
//! changed its speed are dropped; what is printed is the median of the ratios.
//!
//! `cargo bench -p breezeway-cli --bench budgets -- --quick` takes under a minute, without
//! `--quick` some fifteen. Rows of other systems appear when `make peers` has built them.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

mod floor;
mod rows;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use breezeway_measure::process::{self, Interrupt, Server};
use breezeway_measure::statistics::{self, Spread};
use floor::Floor;
use rows::{Budget, ROWS, Row, System};
use serde_json::Value;

/// Floors below count as near, others as far: a ratio holds within one level only.
const FAR_FROM_NS: f64 = 300.0;
/// Largest difference between the floors before and after a measurement that counts as steady.
const STEADY: f64 = 0.15;

/// Time limit of one process.
const PATIENCE: Duration = Duration::from_secs(60);

type Failure = Box<dyn Error + Send + Sync>;
type Outcome<T> = Result<T, Failure>;

/// One measurement with the mean of its two floors.
struct Pair {
    /// Round trip of the cache line, which identifies the level.
    line: f64,
    floor: f64,
    value: f64,
    /// Time that `bench` itself takes for each message.
    empty: f64,
}

/// Starts the server of a row, or that of its reference; it runs only while it is measured.
fn start(row: &Row, system: System, folder: &Path, cpu: &str) -> Outcome<Server> {
    let mut command = match system {
        System::Breezeway(carrier) => {
            let mut command = breezeway();
            let socket = folder.join(format!("{carrier}-{}", row.wait));
            command.args(["serve", "--wait", row.wait, "--addr"]);
            command.arg(format!("{carrier}:{}", socket.display())).arg("--cap=268435456");
            command
        }
        System::Iceoryx2 => {
            let mut command = Command::new(peer("iceoryx2-ping-pong"));
            command.args(["serve", "--name", "budgets", "--size", "48"]);
            command
        }
    };
    command.args(["--cpu", cpu]);
    Server::start(command, &folder.join("log"))
}

/// Measures pairs.
struct Measurer<'a> {
    row: &'a Row,
    server: Server,
    /// Server of a reference that `bench` measures over another carrier.
    other: Option<Server>,
    cpus: &'a [&'a str; 2],
    interrupt: &'a Interrupt,
}

impl<'a> Measurer<'a> {
    fn new(
        row: &'a Row,
        folder: &Path,
        cpus: &'a [&'a str; 2],
        interrupt: &'a Interrupt,
    ) -> Outcome<Self> {
        let server = start(row, row.system, folder, cpus[1])?;
        let other = match row.floor {
            Floor::Bench(carrier, _) if System::Breezeway(carrier) != row.system => {
                Some(start(row, System::Breezeway(carrier), folder, cpus[1])?)
            }
            _ => None,
        };
        Ok(Self { row, server, other, cpus, interrupt })
    }

    fn bench(&self, server: &Server, arguments: &[&str]) -> Outcome<Value> {
        let mut command = match self.row.system {
            System::Breezeway(_) => {
                let mut command = breezeway();
                let address = &server.address;
                command.args(["bench", "--json", "--wait", self.row.wait, "--addr", address]);
                command.arg("--cap=268435456");
                command
            }
            System::Iceoryx2 => {
                let mut command = Command::new(peer("iceoryx2-ping-pong"));
                command.args(["bench", "--name", "budgets"]);
                command
            }
        };
        command.args(arguments).args(["--cpu", self.cpus[0], "--seconds", "0.2"]);
        server.during(|| process::json(command, PATIENCE, self.interrupt))?
    }

    /// Measures between two floors; returns `None` if the machine changed its speed in between.
    fn pair(&self) -> Outcome<Option<Pair>> {
        let before = self.floors()?;
        let report = self.bench(&self.server, self.row.arguments)?;
        let after = self.floors()?;
        let value = report.pointer(self.row.floor.counterpart()).and_then(Value::as_f64);
        let value = value.ok_or("no figures")?;
        let empty = report.pointer("/empty_ns").and_then(Value::as_f64).unwrap_or(f64::NAN);
        let line = f64::midpoint(before.0, after.0);
        let steady = (before.0 - after.0).abs() < STEADY * line;
        Ok(steady.then(|| Pair { line, floor: f64::midpoint(before.1, after.1), value, empty }))
    }

    /// The cache line, and the row's own floor.
    fn floors(&self) -> Outcome<(f64, f64)> {
        let cpus = self.cpus.join(",");
        let line = Floor::Line.measure(&cpus, self.interrupt)?;
        match self.row.floor {
            Floor::Line => Ok((line, line)),
            Floor::Bench(_, arguments) => {
                let server = self.other.as_ref().unwrap_or(&self.server);
                let report = self.bench(server, arguments.unwrap_or(self.row.arguments))?;
                let found = report.pointer(self.row.floor.counterpart()).and_then(Value::as_f64);
                Ok((line, found.ok_or("no figures")?))
            }
            own => Ok((line, own.measure(&cpus, self.interrupt)?)),
        }
    }
}

fn breezeway() -> Command {
    Command::new(env!("CARGO_BIN_EXE_breezeway"))
}

fn peer(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/target/release").join(name)
}

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    statistics::median(values).unwrap_or(f64::NAN)
}

/// Prints the results of one level's pairs of a row.
fn print(row: &Row, level: &str, pairs: &[&Pair]) {
    if pairs.is_empty() {
        return;
    }
    let line = median(pairs.iter().map(|pair| pair.line));
    let value = median(pairs.iter().map(|pair| pair.value));
    let empty = median(pairs.iter().map(|pair| pair.empty));
    let Some(spread) = Spread::of(pairs.iter().map(|pair| pair.value / pair.floor)) else { return };
    let verdict = |holds| if holds { "ok" } else { "MISSED" };
    let verdict = match row.budget {
        Budget::AtMost(most) => format!("<= {most} {}", verdict(spread.median <= most)),
        Budget::AtLeast(least) => format!(">= {least} {}", verdict(spread.median >= least)),
        Budget::Shown => String::new(),
    };
    let value = match row.floor {
        Floor::RingOneWay => format!("{:.1} M/s", value / 1e6),
        Floor::Bench(..) => format!("{:.1} k/s", value / 1e3),
        Floor::Slots(_) | Floor::SlotsReturned(_) => format!("{:.2} GB/s", value / 1e9),
        _ => format!("{value:.0} ns"),
    };
    println!(
        "{:<30} {level:<5} {:>3} {line:>7.0} ns {value:>12} {empty:>7.1} ns {:>7.2} {:<17} \
         {:>7.2} ..{:>7.2}  {verdict}",
        row.name,
        pairs.len(),
        spread.median,
        row.floor.name(),
        spread.min,
        spread.max,
    );
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` builds benches and may run them: then there is nothing to measure.
    if arguments.iter().any(|argument| argument == "--test") {
        return Ok(());
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let chosen: Vec<&String> =
        arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let rounds = if quick { 5 } else { 25 };
    let cpus = ["0", "1"];
    let folder = tempfile::tempdir()?;
    let interrupt = Interrupt::watch()?;
    let rows: Vec<&Row> = ROWS
        .iter()
        .filter(|row| !quick || row.quick)
        .filter(|row| {
            chosen.is_empty() || chosen.iter().any(|words| row.name.contains(words.as_str()))
        })
        .filter(|row| row.system != System::Iceoryx2 || peer("iceoryx2-ping-pong").exists())
        .collect();
    println!(
        "Two processes pinned to CPUs {}, payload written and compared unless untouched; the",
        cpus.join(" and ")
    );
    println!(
        "floor is one bare cache-line round trip, measured before and after each figure. A value is"
    );
    println!("a median latency or a rate; empty is what bench itself takes of each message.\n");
    println!(
        "{:<30} {:<5} {:>3} {:>10} {:>12} {:>10} {:>7} {:<17} {:^17}  budget",
        "work", "level", "n", "floor", "value", "empty", "median", "in", "smallest..largest"
    );
    for row in rows {
        let measurer = Measurer::new(row, folder.path(), &cpus, &interrupt)?;
        let mut pairs = Vec::new();
        for _ in 0..rounds {
            pairs.extend(measurer.pair()?);
        }
        drop(measurer);
        let (near, far): (Vec<&Pair>, Vec<&Pair>) =
            pairs.iter().partition(|pair| pair.line < FAR_FROM_NS);
        print(row, "near", &near);
        print(row, "far", &far);
        if pairs.is_empty() {
            println!("{:<30} the machine changed its speed during every pair; run again", row.name);
        }
    }
    Ok(())
}
