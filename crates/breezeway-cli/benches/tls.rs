//! The cost of TLS: sessions over `tls:` beside sessions over `tcp:`, on the same work.
//!
//! `cargo bench -p breezeway-cli --bench tls` takes a minute. One thread on one CPU calls a server
//! on another one, by loopback; payload is written and compared. The two carriers take turns, and
//! which is first changes; a ratio is of two turns of one round.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

use std::error::Error;
use std::path::Path;
use std::process::Command;

use breezeway::{Address, ExclusiveSession, SessionOptions, Tls, WaitPolicy};
use breezeway_adversary::certificates::{Authority, Issued, Valid};
use breezeway_measure::load::{
    Extent, closed_loop,
    methods::{ECHO, GLANCE},
};
use breezeway_measure::machine::{Cpus, Machine, pin};
use breezeway_measure::pattern;
use breezeway_measure::process::Server;
use breezeway_measure::statistics::{Spread, median};

type Failure = Box<dyn Error + Send + Sync>;

const ROUNDS: usize = 21;
const TURN: f64 = 0.06;
/// Bytes of a round of one-way messages; the call at its end waits for all of them.
const MOVED: usize = 32 << 20;
const SIZES: [usize; 4] = [64, 1 << 10, 64 << 10, 1 << 20];

/// A carrier: its server, and how it is reached.
struct Side {
    server: Server,
    options: SessionOptions,
}

impl Side {
    fn session(&self) -> Result<ExclusiveSession, Failure> {
        Ok(ExclusiveSession::connect_with(&self.server.address, &self.options)?)
    }
}

/// The work of one turn, which gives nanoseconds.
type Work = Box<dyn FnMut() -> Result<f64, Failure>>;

fn p50(call: impl FnMut(u64) -> Result<(), Failure>) -> Result<f64, Failure> {
    let found = closed_loop(Extent { count: None, seconds: TURN }, call)?;
    let percentiles = found.latencies.and_then(|latencies| latencies.percentiles());
    Ok(percentiles.ok_or("a turn without a call")?.p50)
}

fn echo(side: &Side, size: usize) -> Result<Work, Failure> {
    let mut session = side.session()?;
    let (mut request, mut reply) = (vec![0; size], vec![0; size]);
    Ok(Box::new(move || {
        p50(|round| {
            pattern::fill(&mut request, pattern::seed(round));
            session.call(ECHO, &request)?.bytes().copy_to(&mut reply);
            let right = pattern::matches(&reply, pattern::seed(round));
            if right { Ok(()) } else { Err("a reply to another call".into()) }
        })
    }))
}

/// Nanoseconds for each message; only 8 bytes of it are read.
fn one_way(side: &Side, size: usize) -> Result<Work, Failure> {
    let mut session = side.session()?;
    let message = vec![7; size];
    Ok(Box::new(move || {
        let (begun, count) = (std::time::Instant::now(), MOVED / size);
        for _ in 0..count {
            session.post(GLANCE, &message)?;
        }
        session.call(ECHO, &[0])?;
        Ok(begun.elapsed().as_nanos() as f64 / count as f64)
    }))
}

/// A session that is opened and closed again.
fn open(side: &Side) -> Result<Work, Failure> {
    let (address, options) = (side.server.address.parse::<Address>()?, side.options.clone());
    Ok(Box::new(move || {
        p50(|_| {
            let session = ExclusiveSession::connect_with(&address, &options)?;
            drop(session);
            Ok(())
        })
    }))
}

fn compare(
    name: &str,
    sides: &[Side; 2],
    work: impl Fn(&Side) -> Result<Work, Failure>,
) -> Result<(), Failure> {
    let start = |side: &Side| side.server.during(|| work(side))?;
    let mut works = [start(&sides[0])?, start(&sides[1])?];
    let mut rounds = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        let mut times = [0.0; 2];
        for turn in [round % 2, (round + 1) % 2] {
            times[turn] = sides[turn].server.during(&mut works[turn])??;
        }
        rounds.push(times);
    }
    let ratios = rounds.iter().map(|[tcp, tls]| tls / tcp);
    let Spread { q1, median: ratio, q3, .. } = Spread::of(ratios).ok_or("no round")?;
    let of = |side: usize| median(rounds.iter().map(|times| times[side] / 1e3)).ok_or("no round");
    let (tcp, tls) = (of(0)?, of(1)?);
    println!("{name:<28} tcp {tcp:>9.1} µs  tls {tls:>9.1} µs  {ratio:.2} ({q1:.2}-{q3:.2})");
    // The server notices the end of a session only while it runs.
    for (side, work) in sides.iter().zip(works) {
        side.server.during(|| drop(work))?;
    }
    Ok(())
}

fn measure(wait: &str, policy: WaitPolicy, folder: &Path, cpus: Cpus) -> Result<(), Failure> {
    let authority = Authority::new(folder);
    let Issued { chain, key, .. } = authority.issue(&["127.0.0.1"], Valid::Now);
    let serve = |place: &str| {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_breezeway"));
        serve.args(["serve", "--wait", wait, "--addr", place]);
        serve.arg(format!("--cpu={}", cpus.partner));
        if place.starts_with("tls") {
            serve.arg("--certificate").arg(&chain).arg("--key").arg(&key);
        }
        Server::start(serve, &folder.join("log"))
    };
    let options = SessionOptions::new().wait(policy);
    let within = options.clone().tls(Tls::new().roots(authority.root())?);
    let sides = [
        Side { server: serve("tcp:127.0.0.1:0")?, options },
        Side { server: serve("tls:127.0.0.1:0")?, options: within },
    ];
    for size in SIZES {
        compare(&format!("{wait}, echo {size} B"), &sides, |side| echo(side, size))?;
    }
    for size in [64 << 10, 1 << 20] {
        compare(&format!("{wait}, one-way {size} B"), &sides, |side| one_way(side, size))?;
    }
    compare(&format!("{wait}, open and close"), &sides, open)
}

fn main() -> Result<(), Failure> {
    // `cargo test` builds benches and may run them: then there is nothing to measure.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let cpus = Cpus::first_allowed()?;
    for (name, value) in Machine::detect(cpus).facts() {
        println!("{name}: {value}");
    }
    pin(Some(cpus.measurer))?;
    let folder = tempfile::tempdir()?;
    measure("adaptive", WaitPolicy::default(), folder.path(), cpus)?;
    measure("busy", WaitPolicy::Busy, folder.path(), cpus)
}
