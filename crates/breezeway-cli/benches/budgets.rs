//! The budgets: each row of the table is measured in pairs with its floor, which is
//! taken directly before and after while the server is stopped. Pairs during which the machine
//! changed its speed are dropped; what is printed is the median of the ratios.
//!
//! `cargo bench -p breezeway-cli --bench budgets -- --quick` takes under a minute, without
//! `--quick` some ten. Rows of other systems appear when `make peers` has built them.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use breezeway_measure::process::{self, Interrupt, Server};
use breezeway_measure::statistics::{self, Spread};
use serde_json::Value;

/// Floors below count as near, others as far: a ratio holds within one level only.
const FAR_FROM_NS: f64 = 350.0;
/// How much the floors before and after a measurement may differ.
const STEADY: f64 = 0.15;

/// How long one process may take.
const PATIENCE: Duration = Duration::from_secs(60);

type Failure = Box<dyn Error + Send + Sync>;
type Outcome<T> = Result<T, Failure>;

/// What a row is divided by.
#[derive(Clone, Copy)]
enum Floor {
    /// The bare cache-line round trip.
    Line,
    /// Bare touched memory of this size.
    Touched(usize),
    /// A bare unix socket echo of 64 bytes, both sides blocking.
    UnixBlocking,
    /// A bare unix socket echo of 64 bytes, both sides spinning on receives.
    UnixSpinning,
}

impl Floor {
    fn measure(self, cpus: &str, interrupt: &Interrupt) -> Outcome<f64> {
        let size;
        let (arguments, field): (&[&str], &str) = match self {
            Self::Line => (&["--only", "line", "--milliseconds", "30"], "/line_ns"),
            Self::Touched(bytes) => {
                size = bytes.to_string();
                (
                    &["--only", "touched", "--milliseconds", "60", "--size", &size],
                    "/touched/0/p50_ns",
                )
            }
            Self::UnixBlocking => (&["--only", "unix", "--milliseconds", "100"], "/unix_ns"),
            Self::UnixSpinning => (&["--only", "unix", "--milliseconds", "100"], "/unix_spin_ns"),
        };
        let mut command = breezeway();
        command.args(["floor", "--json", "--cpus", cpus]).args(arguments);
        let report = process::json(command, PATIENCE, interrupt)?;
        report
            .pointer(field)
            .and_then(Value::as_f64)
            .ok_or_else(|| format!("no {field} in {report}").into())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Line => "floors",
            Self::Touched(_) => "x touched",
            Self::UnixBlocking => "x unix, blocking",
            Self::UnixSpinning => "x unix, spinning",
        }
    }
}

/// How a row is judged.
#[derive(Clone, Copy)]
enum Budget {
    /// The ratio is at most this.
    AtMost(f64),
    /// There are at least so many million messages a second, near and far.
    Millions(f64, f64),
    /// For comparison.
    Shown,
}

/// Who serves and measures.
#[derive(Clone, Copy, PartialEq)]
enum System {
    Breezeway,
    Iceoryx2,
}

struct Row {
    name: &'static str,
    system: System,
    wait: &'static str,
    arguments: &'static [&'static str],
    floor: Floor,
    budget: Budget,
    quick: bool,
}

/// One measurement with the mean of its two floors.
struct Pair {
    /// The cache line, which tells the level.
    line: f64,
    floor: f64,
    value: f64,
}

const fn busy(
    name: &'static str,
    arguments: &'static [&'static str],
    floor: Floor,
    budget: Budget,
    quick: bool,
) -> Row {
    Row { name, system: System::Breezeway, wait: "busy", arguments, floor, budget, quick }
}

const ROWS: &[Row] = &[
    busy("echo 8 B", &["--size", "8"], Floor::Line, Budget::AtMost(1.5), true),
    busy("echo 40 B", &["--size", "40"], Floor::Line, Budget::AtMost(1.5), true),
    busy("echo 64 B", &["--size", "64"], Floor::Line, Budget::AtMost(2.0), false),
    busy("echo 100 B", &["--size", "100"], Floor::Line, Budget::AtMost(2.0), true),
    busy("echo 1 KiB", &["--size", "1024"], Floor::Line, Budget::AtMost(4.0), true),
    busy("echo 64 KiB", &["--size", "65536"], Floor::Touched(65536), Budget::AtMost(1.15), true),
    busy("echo 1 MiB", &["--size", "1048576"], Floor::Touched(1 << 20), Budget::AtMost(1.15), true),
    busy(
        "echo 64 KiB untouched",
        &["--size", "65536", "--touch", "none"],
        Floor::Line,
        Budget::AtMost(2.5),
        false,
    ),
    busy(
        "echo 1 MiB untouched",
        &["--size", "1048576", "--touch", "none"],
        Floor::Line,
        Budget::AtMost(2.5),
        false,
    ),
    busy(
        "echo 4 MiB untouched",
        &["--size", "4194304", "--touch", "none"],
        Floor::Line,
        Budget::AtMost(2.5),
        true,
    ),
    busy(
        "one-way 40 B, batches of 64",
        &["--pattern", "one-way", "--size", "40"],
        Floor::Line,
        Budget::Millions(30.0, 10.0),
        true,
    ),
    busy(
        "pipelined 40 B, 16 in flight",
        &["--size", "40", "--depth", "16"],
        Floor::Line,
        Budget::Shown,
        false,
    ),
    Row {
        name: "echo 64 B, park",
        system: System::Breezeway,
        wait: "park",
        arguments: &["--size", "64"],
        floor: Floor::UnixBlocking,
        budget: Budget::AtMost(1.10),
        quick: true,
    },
    Row {
        name: "echo 64 B, adaptive",
        system: System::Breezeway,
        wait: "adaptive",
        arguments: &["--size", "64"],
        floor: Floor::UnixSpinning,
        budget: Budget::AtMost(1.0),
        quick: true,
    },
    busy("echo 48 B", &["--size", "48"], Floor::Line, Budget::Shown, false),
    Row {
        name: "iceoryx2 0.10 echo 48 B",
        system: System::Iceoryx2,
        wait: "busy",
        arguments: &["--size", "48"],
        floor: Floor::Line,
        budget: Budget::Shown,
        quick: false,
    },
];

/// Starts the server of a row; it runs only while it is measured.
fn start(row: &Row, folder: &Path, cpu: &str) -> Outcome<Server> {
    let mut command = match row.system {
        System::Breezeway => {
            let mut command = breezeway();
            let socket = folder.join(row.wait);
            command.args(["serve", "--wait", row.wait, "--addr"]);
            command.arg(format!("shm:{}", socket.display()));
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
    cpus: &'a [&'a str; 2],
    interrupt: &'a Interrupt,
}

impl Measurer<'_> {
    fn bench(&self, seconds: &str) -> Outcome<Value> {
        let mut command = match self.row.system {
            System::Breezeway => {
                let mut command = breezeway();
                let address = &self.server.address;
                command.args(["bench", "--json", "--wait", self.row.wait, "--addr", address]);
                command
            }
            System::Iceoryx2 => {
                let mut command = Command::new(peer("iceoryx2-ping-pong"));
                command.args(["bench", "--name", "budgets"]);
                command
            }
        };
        command.args(self.row.arguments).args(["--cpu", self.cpus[0], "--seconds", seconds]);
        self.server.during(|| process::json(command, PATIENCE, self.interrupt))?
    }

    /// A measurement between two floors; `None` if the machine changed its speed meanwhile.
    fn pair(&self) -> Outcome<Option<Pair>> {
        let before = self.floors()?;
        let report = self.bench("0.2")?;
        let after = self.floors()?;
        let latency = report.pointer("/latency_ns/p50").and_then(Value::as_f64);
        let rate = report.pointer("/messages_per_second").and_then(Value::as_f64);
        let value = latency.or(rate).ok_or("no figures")?;
        let line = f64::midpoint(before.0, after.0);
        let steady = (before.0 - after.0).abs() < STEADY * line;
        Ok(steady.then(|| Pair { line, floor: f64::midpoint(before.1, after.1), value }))
    }

    /// The cache line, and the row's own floor.
    fn floors(&self) -> Outcome<(f64, f64)> {
        let cpus = self.cpus.join(",");
        let line = Floor::Line.measure(&cpus, self.interrupt)?;
        match self.row.floor {
            Floor::Line => Ok((line, line)),
            own => Ok((line, own.measure(&cpus, self.interrupt)?)),
        }
    }
}

fn breezeway() -> Command {
    Command::new(env!("CARGO_BIN_EXE_breezeway"))
}

fn peer(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/target/release").join(name)
}

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    statistics::median(values).unwrap_or(f64::NAN)
}

/// Prints what one level's pairs of a row say.
fn print(row: &Row, level: &str, pairs: &[&Pair]) {
    if pairs.is_empty() {
        return;
    }
    let line = median(pairs.iter().map(|pair| pair.line));
    let value = median(pairs.iter().map(|pair| pair.value));
    let per_second = matches!(row.budget, Budget::Millions(..));
    let (figures, what, verdict) = if per_second {
        let millions: Vec<f64> = pairs.iter().map(|pair| pair.value / 1e6).collect();
        let Budget::Millions(near, far) = row.budget else { unreachable!("just matched") };
        let budget = if level == "near" { near } else { far };
        let verdict = if median(millions.iter().copied()) >= budget { "ok" } else { "MISSED" };
        (millions, "M messages/s", format!(">= {budget} {verdict}"))
    } else {
        let ratios: Vec<f64> = pairs.iter().map(|pair| pair.value / pair.floor).collect();
        let verdict = match row.budget {
            Budget::AtMost(most) => {
                let verdict = if median(ratios.iter().copied()) <= most { "ok" } else { "MISSED" };
                format!("<= {most} {verdict}")
            }
            _ => String::new(),
        };
        (ratios, row.floor.name(), verdict)
    };
    let Some(spread) = Spread::of(figures) else { return };
    let value = if per_second { String::new() } else { format!("{value:.0} ns") };
    println!(
        "{:<30} {level:<5} {:>3} {line:>7.0} ns {value:>12} {:>8.2} {what:<17} {:>7.2} ..{:>7.2}  \
         {verdict}",
        row.name,
        pairs.len(),
        spread.median,
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
        .filter(|row| row.system == System::Breezeway || peer("iceoryx2-ping-pong").exists())
        .collect();
    println!(
        "Two processes pinned to CPUs {}, payload written and compared unless untouched; the",
        cpus.join(" and ")
    );
    println!("floor is one bare cache-line round trip, measured before and after each figure.\n");
    println!(
        "{:<30} {:<5} {:>3} {:>10} {:>12} {:>8} {:<17} {:^17}  budget",
        "work", "level", "n", "floor", "p50", "median", "in", "smallest..largest"
    );
    for row in rows {
        let server = start(row, folder.path(), cpus[1])?;
        let measurer = Measurer { row, server, cpus: &cpus, interrupt: &interrupt };
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
