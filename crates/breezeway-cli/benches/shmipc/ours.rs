//! Our own side, in the roles and with the options of upstream's programs.

use std::io::Read;
use std::time::{Duration, Instant};

use breezeway_measure::pattern;
use breezeway_shmipc::{
    Address, Client, ClientOptions, Server, ServerOptions, Stream, Trust, asynchronous,
};
use serde_json::json;
use tokio::io::AsyncReadExt;

use super::Outcome;

/// The argument that makes this program play a role instead of measuring others.
pub(crate) const ROLE: &str = "ours";

/// Round trips of each stream before the first that counts, as in upstream's programs.
const WARM_UP: u64 = 200;
/// Payloads are written and compared in pieces that stay in the first-level cache. A multiple of 8.
const PIECE: usize = 4096;

pub(crate) fn play(arguments: &[String]) -> Outcome<()> {
    let option = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name);
        place.and_then(|place| arguments.get(place + 1)).ok_or_else(|| format!("{name} is missing"))
    };
    let address: Address = option("--path")?.parse()?;
    match arguments.first().map(String::as_str) {
        Some("serve") => serve(&address),
        Some("bench") => bench(
            &address,
            option("--size")?.parse()?,
            option("--streams")?.parse()?,
            Duration::from_secs_f64(option("--seconds")?.parse()?),
        ),
        other => Err(format!("no role {other:?}").into()),
    }
}

fn serve(address: &Address) -> Outcome<()> {
    let server = Server::bind(address, ServerOptions::new(Trust::SameUser))?;
    let stopper = server.stopper();
    println!("listening on {address}");
    std::thread::spawn(move || {
        // The end of the standard input ends the server.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        stopper.stop();
    });
    server.serve(|stream| {
        let (reader, writer) = stream.halves();
        writer.forward(reader).map(|_| ())
    });
    Ok(())
}

fn bench(address: &Address, size: usize, streams: usize, duration: Duration) -> Outcome<()> {
    let mut latencies = match streams {
        1 => one_stream(address, size, duration)?,
        _ => many_streams(address, size, streams, duration)?,
    };
    latencies.sort_unstable();
    let last = (latencies.len() - 1) as f64;
    let at = |quantile: f64| latencies[(quantile * last) as usize].as_nanos() as u64;
    let report = json!({
        "messages_per_second": latencies.len() as f64 / duration.as_secs_f64(),
        "latency_ns": { "p50": at(0.5), "p99": at(0.99) },
    });
    println!("{report}");
    Ok(())
}

fn one_stream(address: &Address, size: usize, duration: Duration) -> Outcome<Vec<Duration>> {
    let client = Client::connect(address, ClientOptions::new(Trust::SameUser))?;
    let mut stream = client.open()?;
    let (mut meter, mut piece) = (Meter::default(), [0; PIECE]);
    while meter.goes_on(duration) {
        round_trip(&mut stream, size, meter.round, &mut piece)?;
    }
    Ok(meter.latencies)
}

/// A task for each stream, all on this thread.
fn many_streams(
    address: &Address,
    size: usize,
    streams: usize,
    duration: Duration,
) -> Outcome<Vec<Duration>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let options = ClientOptions::new(Trust::SameUser);
        let client = asynchronous::Client::connect(address, options).await?;
        let mut tasks = Vec::new();
        for _ in 0..streams {
            let mut stream = client.open().await?;
            tasks.push(tokio::spawn(async move {
                let (mut meter, mut message) = (Meter::default(), vec![0; size]);
                while meter.goes_on(duration) {
                    asynchronous_round_trip(&mut stream, meter.round, &mut message).await?;
                }
                Outcome::Ok(meter.latencies)
            }));
        }
        let mut latencies = Vec::new();
        for task in tasks {
            latencies.extend(task.await??);
        }
        Ok(latencies)
    })
}

/// Counts round trips and takes their latencies: a latency is the time from the end of one round
/// trip to the end of the next, so that touching the payload is part of it.
#[derive(Default)]
struct Meter {
    round: u64,
    start: Option<Instant>,
    before: Option<Instant>,
    latencies: Vec<Duration>,
}

impl Meter {
    /// Records a round trip; returns true if there is to be another one.
    fn goes_on(&mut self, duration: Duration) -> bool {
        self.round += 1;
        if self.round <= WARM_UP {
            return true;
        }
        let now = Instant::now();
        let start = *self.start.get_or_insert(now);
        self.latencies.extend(self.before.replace(now).map(|before| now - before));
        now - start < duration
    }
}

fn round_trip(
    stream: &mut Stream,
    size: usize,
    round: u64,
    piece: &mut [u8; PIECE],
) -> Outcome<()> {
    let seed = pattern::seed(round);
    let mut message = stream.reserve(size)?;
    for offset in (0..size).step_by(PIECE) {
        let piece = &mut piece[..PIECE.min(size - offset)];
        pattern::fill(piece, pattern::seed_at(seed, offset));
        message.write(piece);
    }
    message.commit()?;
    for offset in (0..size).step_by(PIECE) {
        let piece = &mut piece[..PIECE.min(size - offset)];
        stream.read_exact(piece)?;
        check(piece, pattern::seed_at(seed, offset))?;
    }
    Ok(())
}

/// Makes a round trip like [`round_trip`], for a small message.
async fn asynchronous_round_trip(
    stream: &mut asynchronous::Stream,
    round: u64,
    message: &mut [u8],
) -> Outcome<()> {
    let seed = pattern::seed(round);
    pattern::fill(message, seed);
    stream.send(message).await?;
    stream.read_exact(message).await?;
    check(message, seed)
}

fn check(piece: &[u8], seed: u64) -> Outcome<()> {
    if pattern::matches(piece, seed) { Ok(()) } else { Err("an answer differs".into()) }
}
