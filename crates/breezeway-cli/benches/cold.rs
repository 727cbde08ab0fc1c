//! Fresh sessions: the cost of connecting, the first messages and the end over shared memory,
//! against the same over a unix socket.
//!
//! `cargo bench -p breezeway-cli --bench cold` takes a minute; a word behind `--` restricts it to
//! the rows whose names contain it. The carriers take turns, and a ratio is of two that were
//! measured one right after the other. The server is another process on the second CPU, the client
//! on the first; both wait adaptively. Every byte is written and compared.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

use std::error::Error;
use std::process::Command;
use std::time::{Duration, Instant};

use breezeway::{Address, ExclusiveSession, SessionOptions};
use breezeway_measure::load::{self, Extent, Load, Pattern, Touch};
use breezeway_measure::machine::{Cpus, Machine};
use breezeway_measure::process::Server;
use breezeway_measure::statistics::Spread;
use breezeway_os::cpu;

type Failure = Box<dyn Error + Send + Sync>;

/// Messages of a fresh session that are measured.
const FIRST: u64 = 100;
/// Cap of the server's sessions; the client's is lower, unless this many bytes are in flight.
const LARGE_CAP: u64 = 256 << 20;
/// Variable that makes this program connect once and print how many nanoseconds it took.
const CONNECT_ONCE: &str = "BREEZEWAY_COLD_CONNECT";

/// Work to measure: returns its time.
type Work = Box<dyn Fn(&Address) -> Result<Duration, Failure>>;

struct Row {
    name: String,
    pairs: usize,
    /// Which of the servers in shared memory.
    server: usize,
    work: Work,
}

/// Payload memory that each server in shared memory has ready.
const READY: [u64; 3] = [0, 64 << 10, 2 << 20];

fn rows() -> Vec<Row> {
    let row = |name: &str, pairs, work| Row { name: name.to_owned(), pairs, server: 0, work };
    let mut rows = vec![
        row("connect, a process's first", 21, Box::new(first_connect)),
        row("connect", 101, Box::new(connect)),
    ];
    for (of, size, ready) in [("1 MiB", 1 << 20, 2), ("64 KiB", 64 << 10, 1)] {
        for (server, how) in [(0, ""), (ready, ", prefault")] {
            let name = format!("connect, echo {of}, close{how}");
            let work = Box::new(move |address: &Address| visit(address, size, READY[server]));
            rows.push(Row { name, pairs: 101, server, work });
        }
    }
    for (size, of, pairs) in
        [(64 << 10, "64 KiB", 21), (1 << 20, "1 MiB", 11), (8 << 20, "8 MiB", 3)]
    {
        for (pattern, depth, how) in [
            (Pattern::PingPong, 1, "echo"),
            (Pattern::OneWay, 1, "one-way"),
            (Pattern::PingPong, 16, "16 in flight"),
        ] {
            let name = format!("first {FIRST} of {of}, {how}");
            let work = Box::new(move |address: &Address| first(address, pattern, size, depth));
            rows.push(Row { name, pairs, server: 0, work });
        }
    }
    rows
}

fn connect(address: &Address) -> Result<Duration, Failure> {
    let start = Instant::now();
    let session = ExclusiveSession::connect(address)?;
    let elapsed = start.elapsed();
    drop(session);
    Ok(elapsed)
}

/// Connects in a process of its own, which prints the time that it took.
fn first_connect(address: &Address) -> Result<Duration, Failure> {
    let mut child = Command::new(std::env::current_exe()?);
    let output = child.env(CONNECT_ONCE, address.to_string()).output()?;
    Ok(Duration::from_nanos(String::from_utf8(output.stdout)?.trim().parse()?))
}

/// A session for one echo, from the first system call to the last, with so much memory ready.
fn visit(address: &Address, size: usize, ready: u64) -> Result<Duration, Failure> {
    let options = SessionOptions::new().prefault(ready);
    let load = messages(Pattern::PingPong, size, 1, 1);
    let start = Instant::now();
    let mut session = ExclusiveSession::connect_with(address, &options)?;
    load::first_messages(&load, &mut session)?;
    drop(session);
    Ok(start.elapsed())
}

fn first(
    address: &Address,
    pattern: Pattern,
    size: usize,
    depth: u32,
) -> Result<Duration, Failure> {
    let options = SessionOptions::new();
    let under_way = size as u64 * u64::from(depth);
    let options = if under_way > 32 << 20 { options.cap(LARGE_CAP) } else { options };
    let mut session = ExclusiveSession::connect_with(address, &options)?;
    load::first_messages(&messages(pattern, size, depth, FIRST), &mut session)
}

fn messages(pattern: Pattern, size: usize, depth: u32, count: u64) -> Load {
    let extent = Extent { count: Some(count), seconds: 0.0 };
    Load { pattern, size, touch: Touch::All, extent, rate: None, depth, batch: 64 }
}

/// Measures a row on both carriers in turn, each first in every other pair.
fn measure(row: &Row, [shm, unix]: &[Address; 2]) -> Result<(), Failure> {
    let (mut times, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
    for pair in 0..row.pairs {
        let [a, b] = if pair % 2 == 0 {
            [(row.work)(shm)?, (row.work)(unix)?]
        } else {
            let second = (row.work)(unix)?;
            [(row.work)(shm)?, second]
        };
        let [a, b] = [a, b].map(|time| time.as_secs_f64() * 1e6);
        times[0].push(a);
        times[1].push(b);
        ratios.push(a / b);
    }
    let [shm, unix] = times.map(|times| Spread::of(times).map_or(f64::NAN, |spread| spread.median));
    let Spread { q1, median, q3, .. } = Spread::of(ratios).ok_or("no figure")?;
    println!("{:<40} {shm:>9.0} {unix:>9.0}   {median:.2} ({q1:.2}-{q3:.2})", row.name);
    Ok(())
}

fn main() -> Result<(), Failure> {
    if let Ok(address) = std::env::var(CONNECT_ONCE) {
        let time = connect(&address.parse()?)?;
        println!("{}", time.as_nanos());
        return Ok(());
    }
    let mut arguments = std::env::args().skip(1);
    // `cargo test` runs benches without this flag: then there is nothing to publish.
    if !arguments.any(|argument| argument == "--bench") {
        return Ok(());
    }
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let folder = tempfile::tempdir()?;
    let serve = |scheme: &str, ready: u64| {
        let path = folder.path().join(format!("{scheme}-{ready}"));
        let (address, ready) = (format!("{scheme}:{}", path.display()), ready.to_string());
        let mut command = Command::new(env!("CARGO_BIN_EXE_breezeway"));
        command.args(["serve", "--cpu", "1", "--cap", "256MiB", "--addr", &address]);
        command.args(["--prefault", &ready]);
        Server::start(command, &path.with_extension("log"))
    };
    let shm = READY.map(|ready| serve("shm", ready));
    let unix = serve("unix", 0)?;
    let shm = shm.into_iter().collect::<Result<Vec<_>, _>>()?;
    for (name, value) in Machine::detect(Cpus::first_allowed()?).facts() {
        println!("{name}: {value}");
    }
    cpu::pin_current_thread(0)?;
    println!("{:<40} {:>9} {:>9}   ratio, median (quartiles)", "", "shm us", "unix us");
    let rows = rows();
    let chosen =
        rows.iter().filter(|row| wanted.as_ref().is_none_or(|part| row.name.contains(part)));
    for row in chosen {
        let server = &shm[row.server];
        let addresses = [server.address.parse()?, unix.address.parse()?];
        server.during(|| unix.during(|| measure(row, &addresses)))???;
    }
    Ok(())
}
