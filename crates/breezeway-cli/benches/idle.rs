//! The cost of 1,000 connected sessions that do nothing: CPU, memory, and the time of a session
//! that does something.
//!
//! `cargo bench -p breezeway-cli --bench idle` takes some twenty seconds. Two servers, processes of
//! their own with one worker each: one with idle sessions, whose clients are in this process, and
//! one without. Each session has made a call before. Clients and servers are pinned to two CPUs.
//! CPU time is the time that the kernel's scheduler counts for each thread of the server; a thread
//! that did not run has made no system call.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{Address, Call, ExclusiveSession, Server};
use breezeway_measure::machine::{Cpus, Machine};
use breezeway_measure::statistics::Spread;
use breezeway_os::cpu;
use rustix::process::{Resource, getrlimit, setrlimit};

type Failure = Box<dyn Error + Send + Sync>;

const SESSIONS: usize = 1_000;
const REQUEST: &[u8] = &[7; 40];
/// Time for which the idle sessions are observed.
const WATCHED: Duration = Duration::from_secs(3);
const PAIRS: usize = 21;
const TURN: Duration = Duration::from_millis(200);

fn address(folder: &Path, name: &str) -> Result<Address, Failure> {
    Ok(format!("shm:{}", folder.join(name).display()).parse()?)
}

fn serve(place: &str) -> Result<(), Failure> {
    raise_limit_of_open_files()?;
    cpu::pin_current_thread(Cpus::first_allowed()?.partner)?;
    let server = Server::bind(place)?;
    println!("ready");
    Ok(server.serve(|call: Call<'_>| call.echo())?)
}

fn raise_limit_of_open_files() -> Result<(), Failure> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}

/// A server's process, ended with the measurement.
struct Serving(Child);

impl Serving {
    fn start(address: &Address) -> Result<Self, Failure> {
        let mut serving = Self(
            Command::new(std::env::current_exe()?)
                .env("BREEZEWAY_IDLE_PLACE", address.to_string())
                .stdout(Stdio::piped())
                .spawn()?,
        );
        let output = serving.0.stdout.take().ok_or("no output")?;
        BufReader::new(output).read_line(&mut String::new())?;
        Ok(serving)
    }

    fn file(&self, name: &str) -> Result<String, Failure> {
        Ok(fs::read_to_string(format!("/proc/{}/{name}", self.0.id()))?)
    }

    /// Resident memory in bytes, without the pages of shared segments.
    fn private_memory(&self) -> Result<f64, Failure> {
        kibibytes(&self.file("status")?, "RssAnon:")
    }

    /// Pages of shared segments that are mapped, of both sides.
    fn shared_memory(&self) -> Result<f64, Failure> {
        kibibytes(&self.file("status")?, "RssShmem:")
    }

    /// Time that its threads ran, in nanoseconds, and how often they began to.
    fn ran(&self) -> Result<[u64; 2], Failure> {
        let mut sum = [0; 2];
        for thread in fs::read_dir(format!("/proc/{}/task", self.0.id()))? {
            let text = fs::read_to_string(thread?.path().join("schedstat"))?;
            let mut numbers = text.split_whitespace().map(str::parse::<u64>);
            let mut next = || numbers.next().ok_or("schedstat has three numbers");
            sum[0] += next()??;
            next()??;
            sum[1] += next()??;
        }
        Ok(sum)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Fails if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the bytes after a name in a text whose numbers are in KiB.
fn kibibytes(page: &str, name: &str) -> Result<f64, Failure> {
    let line = page.lines().find(|line| line.starts_with(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(number.ok_or_else(|| format!("no {name}"))?.parse::<f64>()? * 1024.0)
}

/// Returns the kernel's own memory on the whole machine.
fn kernel_memory() -> Result<f64, Failure> {
    let page = fs::read_to_string("/proc/meminfo")?;
    ["Slab:", "PageTables:", "KernelStack:"].iter().map(|name| kibibytes(&page, name)).sum()
}

/// The median time of a call, in nanoseconds.
fn p50(session: &mut ExclusiveSession) -> Result<f64, Failure> {
    let (end, mut times) = (Instant::now() + TURN, Vec::new());
    loop {
        let start = Instant::now();
        if start >= end {
            break;
        }
        if session.call(0, REQUEST)?.to_vec() != REQUEST {
            return Err("a wrong reply".into());
        }
        times.push(start.elapsed().as_nanos() as f64);
    }
    Ok(Spread::of(times).ok_or("no call")?.median)
}

fn print(name: &str, before: f64, after: f64) {
    println!("{name}: {:.1} KiB per session", (after - before) / 1024.0 / SESSIONS as f64);
}

fn main() -> Result<(), Failure> {
    if let Ok(place) = std::env::var("BREEZEWAY_IDLE_PLACE") {
        return serve(&place);
    }
    raise_limit_of_open_files()?;
    let cpus = Cpus::first_allowed()?;
    for (name, value) in Machine::detect(cpus).facts() {
        println!("{name}: {value}");
    }
    let folder = tempfile::tempdir()?;
    let places = [address(folder.path(), "many.sock")?, address(folder.path(), "alone.sock")?];
    let (crowded, empty) = (Serving::start(&places[0])?, Serving::start(&places[1])?);
    // Pinned here, because the servers would have inherited it.
    cpu::pin_current_thread(cpus.measurer)?;
    let mut alone = ExclusiveSession::connect(&places[1])?;
    let mut among = ExclusiveSession::connect(&places[0])?;
    for session in [&mut alone, &mut among] {
        p50(session)?;
    }

    let before = [crowded.private_memory()?, crowded.shared_memory()?, kernel_memory()?];
    let mut idle = Vec::new();
    for _ in 0..SESSIONS {
        let mut session = ExclusiveSession::connect(&places[0])?;
        session.call(0, REQUEST)?;
        idle.push(session);
    }
    thread::sleep(Duration::from_millis(200));
    let after = [crowded.private_memory()?, crowded.shared_memory()?, kernel_memory()?];
    print("server's own memory (RssAnon)", before[0], after[0]);
    print("segments, both sides' (RssShmem)", before[1], after[1]);
    print("kernel, both processes (Slab, PageTables, KernelStack)", before[2], after[2]);

    let before = crowded.ran()?;
    thread::sleep(WATCHED);
    let after = crowded.ran()?;
    println!(
        "the server in {WATCHED:?} with {SESSIONS} idle sessions: ran for {} ns, {} times",
        after[0] - before[0],
        after[1] - before[1]
    );

    let (mut ratios, mut times) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let base = p50(&mut alone)?;
        let time = p50(&mut among)?;
        times.push(time);
        ratios.push(time / base);
    }
    let time = Spread::of(times).ok_or("no figure")?.median;
    let Spread { q1, median, q3, .. } = Spread::of(ratios).ok_or("no figure")?;
    println!(
        "a call of a busy one among them: p50 {time:.0} ns, {median:.3} x alone ({q1:.3}-{q3:.3})"
    );
    drop((idle, empty));
    Ok(())
}
