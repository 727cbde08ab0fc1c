//! Round trips to any shmipc server that echoes the bytes of its streams.

use std::io::{self, Read};

use breezeway_measure::pattern;
use breezeway_os::clock;
use breezeway_shmipc::{Address, Client, ClientOptions, SessionOptions, Stream, Trust};

use super::latency::Recorder;
use super::{Args, Outcome, Pattern, Touch, Until, finish, run_all};
use crate::Failure;
use crate::methods::HOLLOW_BYTES;

/// The protocol's lengths have 32 bits.
const LARGEST: u64 = u32::MAX as u64;

pub(super) fn run(args: &Args, address: &Address) -> Result<(), Failure> {
    if args.pattern != Pattern::PingPong || args.depth != 1 || args.rate.is_some() || args.size == 0
    {
        return Err("a shmipc server is measured with --pattern ping-pong, --depth 1, --size above 0 and without --rate".into());
    }
    if args.size as u64 > LARGEST {
        let size = args.size;
        return Err(format!(
            "--size {size} exceeds the {LARGEST} bytes that lengths of shmipc can tell"
        )
        .into());
    }
    let clients: Result<Vec<_>, _> =
        (0..args.sessions).map(|_| Client::connect(address, options(args))).collect();
    let (outcomes, cpu_seconds) = run_all(args, clients?, closed_loop)?;
    finish(args, outcomes.into_iter().map(|(outcome, _)| outcome).collect(), cpu_seconds)
}

fn options(args: &Args) -> ClientOptions {
    let wait = args.session.wait.unwrap_or_default();
    // Whoever runs the command has named the socket: it is trusted.
    ClientOptions::new(Trust::Anybody).session(SessionOptions::new().wait(wait.into()))
}

/// Room for a message, if this machine has it.
fn message(size: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(size)
        .map_err(|_| format!("no memory for a request and a reply of --size {size}"))?;
    bytes.resize(size, 0);
    Ok(bytes)
}

/// The largest piece of a request that is sent before its echo is received: a request larger than
/// the shared memory does not get stuck.
const WINDOW: usize = 1 << 20;

/// One round trip.
fn echo(stream: &mut Stream, request: &[u8], reply: &mut [u8]) -> io::Result<()> {
    for (sent, received) in request.chunks(WINDOW).zip(reply.chunks_mut(WINDOW)) {
        stream.send(sent)?;
        stream.read_exact(received)?;
    }
    Ok(())
}

/// One call at a time. One reading of the clock per round trip ends one call's latency and starts the next one's.
fn closed_loop(args: &Args, until: Until, client: &mut Client) -> Result<Outcome, Failure> {
    let touched = if args.touch == Touch::All { args.size } else { args.size.min(HOLLOW_BYTES) };
    let (mut request, mut reply) = (message(args.size)?, message(args.size)?);
    let mut stream = client.open()?;
    let mut recorder = Recorder::new();
    let start = clock::ticks();
    let (mut now, mut count) = (start, 0);
    while !until.reached(count, start, now) {
        let seed = pattern::seed(count);
        pattern::fill(&mut request[..touched], seed);
        echo(&mut stream, &request, &mut reply)?;
        if !pattern::matches(&reply[..touched], seed) {
            return Err(
                format!("reply {count} ({} bytes) differs from its request", args.size).into()
            );
        }
        let before = std::mem::replace(&mut now, clock::ticks());
        recorder.record(now.wrapping_sub(before));
        count += 1;
    }
    let ticks = now.wrapping_sub(start);
    Ok(Outcome { count, ticks, latencies: Some(recorder), ..Outcome::default() })
}
