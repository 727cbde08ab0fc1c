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
    let open = |client: Client| -> Result<Session, Failure> {
        let (request, reply) = (message(load.size)?, message(load.size)?);
        Ok(Session { stream: client.open()?, _client: client, request, reply })
    };
    let sessions: Result<Vec<_>, _> = clients.into_iter().map(open).collect();
    let (_sessions, runs, cpu) = run_all(load, sessions?, None, closed_loop, progress)?;
    Ok(Measurement::of(&runs, cpu))
}

/// A stream with its messages. It is dropped before the client that carries it.
struct Session {
    stream: Stream,
    _client: Client,
    request: Vec<u8>,
    reply: Vec<u8>,
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
fn closed_loop(load: &Load, until: Until, session: &mut Session) -> Result<Outcome, Failure> {
    let touched = load.touched();
    let Session { stream, request, reply, .. } = session;
    let mut recorder = Recorder::new();
    let start = clock::ticks();
    let (mut now, mut count) = (start, 0);
    while !until.reached(count, start, now) {
        let round = until.first + count;
        let seed = pattern::seed(round);
        pattern::fill(&mut request[..touched], seed);
        echo(stream, request, reply)?;
        if !pattern::matches(&reply[..touched], seed) {
            return Err(
                format!("reply {round} ({} bytes) differs from its request", load.size).into()
            );
        }
        let before = std::mem::replace(&mut now, clock::ticks());
        recorder.record(now.wrapping_sub(before));
        count += 1;
    }
    let ticks = now.wrapping_sub(start);
    Ok(Outcome { count, ticks, latencies: Some(recorder), ..Outcome::default() })
}
