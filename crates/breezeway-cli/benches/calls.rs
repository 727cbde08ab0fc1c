//! The cost of a call with a time-out, and through a `Pool`, beside the plain call of a session.
//!
//! `cargo bench -p breezeway-cli --bench calls` takes half a minute. One thread on one CPU calls a
//! server on another one, both busy; payload is written and compared. The ways take turns; a ratio
//! is of two turns of one round.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use breezeway::{Address, ClientOptions, ExclusiveSession, Pool, SessionOptions, WaitPolicy};
use breezeway_measure::load::{Extent, closed_loop, methods::ECHO};
use breezeway_measure::machine::{Cpus, Machine, pin};
use breezeway_measure::pattern;
use breezeway_measure::process::Server;
use breezeway_measure::statistics::Spread;

type Failure = Box<dyn Error + Send + Sync>;

const ROUNDS: usize = 41;
const TURN: f64 = 0.02;
const SIZES: [usize; 3] = [40, 1 << 10, 64 << 10];
const TIMEOUT: Duration = Duration::from_secs(1);

/// Makes the call of a round.
type Call = Box<dyn FnMut(u64) -> Result<(), Failure>>;

fn check(reply: &[u8], round: u64) -> Result<(), Failure> {
    let right = pattern::matches(reply, pattern::seed(round));
    if right { Ok(()) } else { Err("a reply to another call".into()) }
}

fn session(address: &Address, size: usize, timeout: Option<Duration>) -> Result<Call, Failure> {
    let options = SessionOptions::new().wait(WaitPolicy::Busy).call_timeout(timeout);
    let mut session = ExclusiveSession::connect_with(address, &options)?;
    let (mut request, mut reply) = (vec![0; size], vec![0; size]);
    Ok(Box::new(move |round| {
        pattern::fill(&mut request, pattern::seed(round));
        session.call(ECHO, &request)?.bytes().copy_to(&mut reply);
        check(&reply, round)
    }))
}

fn client(address: &Address, size: usize) -> Result<Call, Failure> {
    let session = SessionOptions::new().wait(WaitPolicy::Busy);
    let client = Pool::connect_with(address, ClientOptions::new().session(session))?;
    let (mut request, mut reply) = (vec![0; size], vec![0; size]);
    Ok(Box::new(move |round| {
        pattern::fill(&mut request, pattern::seed(round));
        client.call(ECHO, &request)?.bytes().copy_to(&mut reply);
        check(&reply, round)
    }))
}

/// The median round trip of a turn, in nanoseconds.
fn turn(server: &Server, call: &mut Call) -> Result<f64, Failure> {
    let extent = Extent { count: None, seconds: TURN };
    let found = server.during(|| closed_loop(extent, call))??;
    let percentiles = found.latencies.and_then(|latencies| latencies.percentiles());
    Ok(percentiles.ok_or("a turn without a call")?.p50)
}

fn measure(server: &Server, size: usize) -> Result<(), Failure> {
    let address: Address = server.address.parse()?;
    let mut calls = server.during(|| {
        Ok::<_, Failure>([
            session(&address, size, None)?,
            session(&address, size, Some(TIMEOUT))?,
            client(&address, size)?,
            // Against itself, which shows how far the rounds are from each other.
            session(&address, size, None)?,
        ])
    })??;
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let mut times = [0.0; 4];
        for (time, call) in times.iter_mut().zip(&mut calls) {
            *time = turn(server, call)?;
        }
        rounds.push(times);
    }
    let names = ["with a time-out", "Pool::call", "the same again"];
    for (column, name) in names.into_iter().enumerate() {
        let ratios = rounds.iter().map(|times| times[column + 1] / times[0]);
        let Spread { q1, median, q3, .. } = Spread::of(ratios).ok_or("no round")?;
        println!("{size:>6} B  {name:<16} {median:.3} x ExclusiveSession::call ({q1:.3}-{q3:.3})");
    }
    Ok(())
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
    let folder = tempfile::tempdir()?;
    let mut serve = Command::new(env!("CARGO_BIN_EXE_breezeway"));
    let address = format!("shm:{}", folder.path().join("calls.sock").display());
    serve.args(["serve", "--wait", "busy", "--addr", &address]);
    serve.arg(format!("--cpu={}", cpus.partner));
    let server = Server::start(serve, &folder.path().join("log"))?;
    pin(Some(cpus.measurer))?;
    SIZES.into_iter().try_for_each(|size| measure(&server, size))
}
