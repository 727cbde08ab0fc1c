//! The effect of polling on sessions on sockets: the same echo with the waiting thread blocking at
//! once, polling while data keeps coming, yielding once and then blocking (the practice that the
//! KiteX team published for its epoll loop), and polling for a bounded time before that.
//!
//! `cargo bench -p breezeway-cli --bench polling` takes two minutes. Variants take turns; each
//! figure is a median over the rounds.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use breezeway_measure::process::{self, Interrupt, Server};
use breezeway_measure::statistics::median;
use serde_json::Value;

type Failure = Box<dyn Error + Send + Sync>;

const ROUNDS: usize = 7;
const PATIENCE: Duration = Duration::from_secs(30);

/// Wait policies of both sides.
const VARIANTS: [(&str, &[&str]); 3] = [
    ("block at once", &["--wait", "park"]),
    ("poll, yield once, block", &["--wait", "adaptive", "--spin-bound", "0s"]),
    ("poll up to 100 us, then so", &["--wait", "adaptive"]),
];

/// Loads of the client, with its CPU beside the server's, which is the second.
const LOADS: [(&str, &str, &[&str]); 5] = [
    ("one caller, another CPU", "0", &[]),
    ("one caller, the same CPU", "1", &[]),
    ("16 in flight, another CPU", "0", &["--depth", "16"]),
    ("8 callers, another CPU", "0", &["--sessions", "8"]),
    ("10,000 calls a second", "0", &["--rate", "10000"]),
];

fn breezeway() -> Command {
    Command::new(env!("CARGO_BIN_EXE_breezeway"))
}

struct Figures {
    p50: Vec<f64>,
    p99: Vec<f64>,
    rate: Vec<f64>,
}

impl Figures {
    fn add(&mut self, report: &Value) -> Result<(), Failure> {
        for (field, values) in [
            ("/latency_ns/p50", &mut self.p50),
            ("/latency_ns/p99", &mut self.p99),
            ("/messages_per_second", &mut self.rate),
        ] {
            values.push(report.pointer(field).and_then(Value::as_f64).ok_or(field)?);
        }
        Ok(())
    }

    fn print(self, name: &str) {
        let middle = |values| median(values).unwrap_or(f64::NAN);
        let (p50, p99, rate) = (middle(self.p50), middle(self.p99), middle(self.rate));
        println!("  {name:28} {:>9.1} {:>9.1} {rate:>12.0}", p50 / 1e3, p99 / 1e3);
    }
}

fn compare(scheme: &str, folder: &Path, interrupt: &Interrupt) -> Result<(), Failure> {
    let mut servers = Vec::new();
    for (number, (_, wait)) in VARIANTS.iter().enumerate() {
        let address = match scheme {
            "tcp" => "tcp:127.0.0.1:0".to_owned(),
            _ => format!("unix:{}", folder.join(format!("{number}.sock")).display()),
        };
        let mut command = breezeway();
        command.args(["serve", "--cpu", "1", "--addr", &address]).args(*wait);
        servers.push(Server::start(command, &folder.join("log"))?);
    }
    for (load, cpu, arguments) in LOADS {
        println!("{scheme}, 64 B, {load}");
        println!("  {:28} {:>9} {:>9} {:>12}", "", "p50 us", "p99 us", "calls/s");
        let mut all: Vec<_> = VARIANTS
            .iter()
            .map(|_| Figures { p50: Vec::new(), p99: Vec::new(), rate: Vec::new() })
            .collect();
        for _ in 0..ROUNDS {
            for ((server, (_, wait)), figures) in servers.iter().zip(VARIANTS).zip(&mut all) {
                let mut command = breezeway();
                command.args(["bench", "--json", "--seconds", "0.4", "--cpu", cpu]);
                command.args(["--addr", &server.address]).args(wait).args(arguments);
                figures.add(&server.during(|| process::json(command, PATIENCE, interrupt))??)?;
            }
        }
        for ((name, _), figures) in VARIANTS.iter().zip(all) {
            figures.print(name);
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    // Cargo passes `--bench`, and `cargo test` runs benches with no flag: then there is nothing to
    // publish.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let interrupt = Interrupt::watch()?;
    let folder = tempfile::tempdir()?;
    ["unix", "tcp"].iter().try_for_each(|scheme| compare(scheme, folder.path(), &interrupt))
}
