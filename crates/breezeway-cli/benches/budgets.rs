//! The figures of the README: each row of the table is measured in pairs with its floor, which is taken directly before and after while the
//! server is stopped. Pairs during which the machine changed its speed are dropped; what is printed is the median of the ratios.
//!
//! `cargo bench -p breezeway-cli --bench budgets -- --quick` takes under a minute, without `--quick` some ten. Rows of other systems appear when
//! `make peers` has built them.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Floors below count as near, others as far: a ratio holds within one level only.
const FAR_FROM_NS: f64 = 350.0;
/// How much the floors before and after a measurement may differ.
const STEADY: f64 = 0.15;

type Outcome<T> = Result<T, Box<dyn Error>>;

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
    fn measure(self, cpus: &str) -> Outcome<f64> {
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
        let breezeway = Path::new(env!("CARGO_BIN_EXE_breezeway"));
        let report = json(
            Command::new(breezeway).args(["floor", "--json", "--cpus", cpus]).args(arguments),
        )?;
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

/// A server of one system, stopped while floors are measured, ended when dropped.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(row: &Row, folder: &Path, cpu: &str) -> Outcome<Self> {
        let address = format!("{}-{}", folder.join(row.wait).display(), std::process::id());
        let mut command = match row.system {
            System::Breezeway => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_breezeway"));
                command.args(["serve", "--wait", row.wait, "--addr"]).arg(format!("shm:{address}"));
                command
            }
            System::Iceoryx2 => {
                let mut command = Command::new(peer("iceoryx2-ping-pong"));
                command.args(["serve", "--name", "budgets", "--size", "48"]);
                command
            }
        };
        let mut child = command.args(["--cpu", cpu]).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        if line.is_empty() {
            child.wait()?;
            return Err("the server did not start".into());
        }
        Ok(Self { child, address })
    }

    fn signal(&self, signal: Signal) -> Outcome<()> {
        let pid = Pid::from_raw(self.child.id().try_into()?).ok_or("no pid")?;
        Ok(kill_process(pid, signal)?)
    }

    fn bench(&self, row: &Row, cpu: &str, seconds: &str) -> Outcome<Value> {
        let mut command = match row.system {
            System::Breezeway => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_breezeway"));
                command
                    .args(["bench", "--json", "--wait", row.wait, "--addr"])
                    .arg(format!("shm:{}", self.address));
                command
            }
            System::Iceoryx2 => {
                let mut command = Command::new(peer("iceoryx2-ping-pong"));
                command.args(["bench", "--name", "budgets"]);
                command
            }
        };
        json(command.args(row.arguments).args(["--cpu", cpu, "--seconds", seconds]))
    }

    /// A measurement between two floors; `None` if the machine changed its speed meanwhile.
    fn pair(&self, row: &Row, cpus: &[&str; 2]) -> Outcome<Option<Pair>> {
        let before = self.floors(row, cpus)?;
        let report = self.bench(row, cpus[0], "0.2")?;
        let after = self.floors(row, cpus)?;
        let latency = report.pointer("/latency_ns/p50").and_then(Value::as_f64);
        let rate = report.pointer("/messages_per_second").and_then(Value::as_f64);
        let value = latency.or(rate).ok_or("no figures")?;
        let mean = |one: f64, other: f64| (one + other) / 2.0;
        let line = mean(before.0, after.0);
        let steady = (before.0 - after.0).abs() < STEADY * line;
        Ok(steady.then(|| Pair { line, floor: mean(before.1, after.1), value }))
    }

    /// The cache line, and the row's own floor.
    fn floors(&self, row: &Row, cpus: &[&str; 2]) -> Outcome<(f64, f64)> {
        self.signal(Signal::STOP)?;
        let cpus = cpus.join(",");
        let line = Floor::Line.measure(&cpus)?;
        let own = if matches!(row.floor, Floor::Line) { line } else { row.floor.measure(&cpus)? };
        self.signal(Signal::CONT)?;
        Ok((line, own))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A stopped process takes its end only when it goes on.
        let _ = self.signal(Signal::TERM);
        let _ = self.signal(Signal::CONT);
        let _ = self.child.wait();
    }
}

fn peer(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/target/release").join(name)
}

fn json(command: &mut Command) -> Outcome<Value> {
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{command:?} failed").into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn spread(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::MAX, 0.0f64), |(low, high), &value| (low.min(value), high.max(value)))
}

/// Prints what one level's pairs of a row say.
fn print(row: &Row, level: &str, pairs: &[&Pair]) {
    if pairs.is_empty() {
        return;
    }
    let line = median(pairs.iter().map(|pair| pair.line).collect());
    let value = median(pairs.iter().map(|pair| pair.value).collect());
    let per_second = matches!(row.budget, Budget::Millions(..));
    let (figures, what, verdict) = if per_second {
        let millions: Vec<f64> = pairs.iter().map(|pair| pair.value / 1e6).collect();
        let Budget::Millions(near, far) = row.budget else { unreachable!("just matched") };
        let budget = if level == "near" { near } else { far };
        let verdict = if median(millions.clone()) >= budget { "ok" } else { "MISSED" };
        (millions, "M messages/s", format!(">= {budget} {verdict}"))
    } else {
        let ratios: Vec<f64> = pairs.iter().map(|pair| pair.value / pair.floor).collect();
        let verdict = match row.budget {
            Budget::AtMost(most) => {
                let verdict = if median(ratios.clone()) <= most { "ok" } else { "MISSED" };
                format!("<= {most} {verdict}")
            }
            _ => String::new(),
        };
        (ratios, row.floor.name(), verdict)
    };
    let (low, high) = spread(&figures);
    let value = if per_second { String::new() } else { format!("{value:.0} ns") };
    println!(
        "{:<30} {level:<5} {:>3} {line:>7.0} ns {value:>12} {:>8.2} {what:<17} {low:>7.2} ..{high:>7.2}  {verdict}",
        row.name,
        pairs.len(),
        median(figures.clone()),
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
    let folder = std::env::temp_dir();
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
        let server = Server::start(row, &folder, cpus[1])?;
        let mut pairs = Vec::new();
        for _ in 0..rounds {
            pairs.extend(server.pair(row, &cpus)?);
        }
        drop(server);
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
