//! One client and one server, started for one figure.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::Value;
use tempfile::TempDir;

use super::work::Work;
use super::{Outcome, ours};

/// Whose code plays a side.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum System {
    Ours,
    Go,
    Rust,
}

/// Systems that call and answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) client: System,
    pub(crate) server: System,
}

/// Figures of a bench.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) per_second: f64,
}

const CLIENT_CPU: usize = 0;
const SERVER_CPU: usize = 1;

pub(crate) fn check_peers() -> Outcome<()> {
    let missing = [System::Go, System::Rust].map(System::program);
    match missing.iter().find(|program| !program.exists()) {
        None => Ok(()),
        Some(program) => {
            Err(format!("{} is missing: run make shmipc-peers", program.display()).into())
        }
    }
}

impl System {
    fn program(self) -> PathBuf {
        let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/target/release");
        match self {
            Self::Ours => std::env::current_exe().expect("this program"),
            Self::Go => peers.join("shmipc-go"),
            Self::Rust => peers.join("shmipc-rs"),
        }
    }

    /// Each system in the configuration that did best here: on one CPU a shmipc-go with two
    /// processors answers a single stream later, and many streams sooner, than with one; for the
    /// crate one more thread decides the same.
    fn command(self, work: &Work) -> Command {
        let mut command = Command::new(self.program());
        let threads = if work.streams > 1 { "2" } else { "1" };
        match self {
            Self::Ours => command.arg(ours::ROLE),
            Self::Go => command.env("GOMAXPROCS", threads),
            Self::Rust => command.args(["--workers", threads]),
        };
        command
    }
}

impl Pair {
    pub(crate) fn measure(self, work: &Work) -> Outcome<Figures> {
        let folder = tempfile::Builder::new().prefix("breezeway-bench-").tempdir_in("/dev/shm")?;
        let _server = Server::start(self.server, work, &folder)?;
        let mut bench = self.client.command(work);
        bench.args(["bench", "--mode", "memfd", "--path"]).arg(folder.path().join("socket"));
        bench.arg("--prefix").arg(folder.path().join("region")).args(work.arguments());
        pin(CLIENT_CPU)?;
        let output = bench.stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(format!("{bench:?} failed").into());
        }
        let report: Value = serde_json::from_slice(&output.stdout)?;
        let figure = |path| report.pointer(path).and_then(Value::as_f64).ok_or("no figures");
        Ok(Figures {
            p50: figure("/latency_ns/p50")?,
            p99: figure("/latency_ns/p99")?,
            per_second: figure("/messages_per_second")?,
        })
    }
}

/// A server that ends when dropped.
struct Server(Child);

impl Server {
    fn start(system: System, work: &Work, folder: &TempDir) -> Outcome<Self> {
        let mut command = system.command(work);
        command.args(["serve", "--tied", "--path"]).arg(folder.path().join("socket"));
        pin(SERVER_CPU)?;
        let mut server = Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?);
        let mut line = String::new();
        BufReader::new(server.0.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        match line.starts_with("listening on") {
            true => Ok(server),
            false => Err(format!("{command:?} did not start").into()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = self.0.id().try_into().ok().and_then(Pid::from_raw) {
            // Fails if it has ended already.
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.0.wait();
    }
}

/// Processes that start from now on run on this CPU only.
fn pin(cpu: usize) -> Outcome<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}
