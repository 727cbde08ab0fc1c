//! Threads that share one session, with calls or with streams.

use breezeway::{Session, Stream};
use breezeway_os::clock;

use super::content::{Content, check_size, no_stream};
use super::methods::ECHO;
use super::spread::Spread;
use super::{Load, Measurement, Outcome, Until, run_all};
use crate::Failure;
use crate::statistics::Recorder;

/// A thread's means to exchange messages.
enum Caller {
    Calls(Session),
    /// Streams with one message in flight on each.
    Streams(Vec<Stream>),
}

/// Runs `load` on one session, which `spread.threads` threads share: with calls, or each with its
/// part of the streams, on each of which it sends a message and then waits for the replies.
///
/// # Errors
///
/// The first error of a thread, a server that takes no streams, or a reply that differs from its
/// request.
pub fn on_channel(
    load: &Load,
    session: &Session,
    spread: Spread,
    progress: impl FnMut(),
) -> Result<Measurement, Failure> {
    check_size(load.size, session.cap())?;
    let callers = (0..spread.threads).map(|number| caller(session, spread, number));
    let callers = callers.collect::<Result<Vec<_>, _>>()?;
    let (_, runs, cpu) = run_all(load, callers, session.peer().pid, run, progress)?;
    Ok(Measurement::of(&runs, cpu))
}

fn caller(session: &Session, spread: Spread, number: u32) -> Result<Caller, Failure> {
    let Some(streams) = spread.streams else { return Ok(Caller::Calls(session.clone())) };
    let share = streams / spread.threads + u32::from(number < streams % spread.threads);
    let open = |_| session.open(ECHO).map_err(no_stream);
    Ok(Caller::Streams((0..share).map(open).collect::<Result<_, _>>()?))
}

fn run(load: &Load, until: Until, caller: &mut Caller) -> Result<Outcome, Failure> {
    let mut content = Content::new(load.size);
    let mut recorder = Recorder::new();
    let start = clock::ticks();
    let (mut now, mut count) = (start, 0);
    while !until.reached(count, start, now) {
        let round = until.first + count;
        count += match caller {
            Caller::Calls(session) => {
                let reply = session.call(ECHO, content.request(round))?;
                content.check(reply.bytes(), round)?;
                let after = clock::ticks();
                recorder.record(after.wrapping_sub(now));
                now = after;
                1
            }
            Caller::Streams(streams) => {
                let most = (until.count - count).min(streams.len() as u64);
                exchange(&mut streams[..most as usize], round, &mut content, &mut recorder)?;
                now = clock::ticks();
                most
            }
        };
    }
    let ticks = now.wrapping_sub(start);
    Ok(Outcome { count, ticks, latencies: Some(recorder), ..Outcome::default() })
}

/// A message on each stream, then their replies.
fn exchange(
    streams: &mut [Stream],
    first: u64,
    content: &mut Content,
    recorder: &mut Recorder,
) -> Result<(), Failure> {
    let mut sent = Vec::with_capacity(streams.len());
    for (stream, round) in streams.iter_mut().zip(first..) {
        sent.push(clock::ticks());
        stream.send(content.request(round))?;
    }
    for ((stream, round), sent) in streams.iter_mut().zip(first..).zip(sent) {
        let reply = stream.receive()?.ok_or("the server has ended a stream")?;
        content.check(reply.bytes(), round)?;
        recorder.record(clock::ticks().wrapping_sub(sent));
    }
    Ok(())
}
