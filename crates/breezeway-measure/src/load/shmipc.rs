//! Round trips to any shmipc server that echoes the bytes of its streams.

use std::io::{self, Read};

use breezeway_os::clock;
use breezeway_shmipc::{Client, Stream};

use super::{Load, Measurement, Outcome, Until, run_all};
use crate::statistics::Recorder;
use crate::{Failure, pattern};

/// Runs round trips of `load` on all `clients` at once, each on a thread of its own. Calls
/// `progress` every quarter of a second.
///
/// # Errors
///
/// A client's first error, or a reply that differs from its request.
pub fn on_shmipc(
    load: &Load,
    clients: Vec<Client>,
    progress: impl FnMut(),
) -> Result<Measurement, Failure> {
    let (done, cpu) = run_all(load, clients, closed_loop, progress)?;
    let outcomes: Vec<_> = done.into_iter().map(|(outcome, _)| outcome).collect();
    Ok(Measurement::of(&outcomes, cpu))
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

/// One call at a time. One reading of the clock per round trip ends one call's latency and starts
/// the next one's.
fn closed_loop(load: &Load, until: Until, client: &mut Client) -> Result<Outcome, Failure> {
    let touched = load.touched();
    let (mut request, mut reply) = (message(load.size)?, message(load.size)?);
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
                format!("reply {count} ({} bytes) differs from its request", load.size).into()
            );
        }
        let before = std::mem::replace(&mut now, clock::ticks());
        recorder.record(now.wrapping_sub(before));
        count += 1;
    }
    let ticks = now.wrapping_sub(start);
    Ok(Outcome { count, ticks, latencies: Some(recorder), ..Outcome::default() })
}
