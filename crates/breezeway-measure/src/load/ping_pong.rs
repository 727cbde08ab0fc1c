//! Calls with replies: closed loop with some in flight, or open loop at a rate.

use std::collections::VecDeque;

use breezeway::{ExclusiveSession, ForeignBytes};
use breezeway_os::clock;

use super::exchange::{Rate, Schedule, sleep_until};
use super::methods::{ECHO, HOLLOW};
use super::{Load, Outcome, Touch, Until};
use crate::statistics::Recorder;
use crate::{Failure, pattern};

/// Large payloads are written in pieces that stay in the first-level cache. A multiple
/// of 8.
pub(super) const PIECE: usize = 4096;
/// Payloads from this size on are written through the session's copy, which passes the caches.
pub(super) const LARGE: usize = 64 * 1024;

pub(super) fn run(
    load: &Load,
    session: &mut ExclusiveSession,
    until: Until,
) -> Result<Outcome, Failure> {
    let mut messages = Messages { load, piece: [0; PIECE] };
    match load.rate {
        None => closed_loop(&mut messages, session, until),
        Some(rate) => open_loop(&mut messages, Rate(rate), session, until),
    }
}

/// The messages of a run.
struct Messages<'a> {
    load: &'a Load,
    piece: [u8; PIECE],
}

impl Messages<'_> {
    fn method(&self) -> u32 {
        if self.load.touch == Touch::All { ECHO } else { HOLLOW }
    }

    /// Sends the request of round `round`.
    #[inline]
    fn send(&mut self, session: &mut ExclusiveSession, round: u64) -> Result<(), Failure> {
        let seed = pattern::seed(round);
        let mut space = session.reserve(self.load.size)?;
        if self.load.touch == Touch::None {
            let bytes = space.bytes_mut();
            let few = self.load.touched();
            pattern::fill(&mut bytes[..few], seed);
        } else if self.load.size < LARGE {
            pattern::fill(space.bytes_mut(), seed);
        } else {
            for offset in (0..self.load.size).step_by(PIECE) {
                let piece = &mut self.piece[..PIECE.min(self.load.size - offset)];
                pattern::fill(piece, pattern::seed_at(seed, offset));
                space.write(offset, piece);
            }
        }
        space.send(self.method())?;
        Ok(())
    }

    /// Compares the reply to round `round`.
    #[inline]
    fn check(&self, reply: ForeignBytes<'_>, round: u64) -> Result<(), Failure> {
        let seed = pattern::seed(round);
        let touched = self.load.touched();
        let same = reply.len() == self.load.size && matches(reply.slice(..touched), seed);
        if same { Ok(()) } else { Err(mismatch(round, self.load.size, reply.len())) }
    }
}

#[inline]
pub(super) fn matches(bytes: ForeignBytes<'_>, seed: u64) -> bool {
    let mut offset = 0;
    bytes
        .try_for_each_line(|line| {
            let same = pattern::matches(line, pattern::seed_at(seed, offset));
            offset += line.len();
            if same { Ok(()) } else { Err(()) }
        })
        .is_ok()
}

#[cold]
pub(super) fn mismatch(round: u64, sent: usize, received: usize) -> Failure {
    format!("reply {round} ({received} bytes) differs from its request ({sent} bytes)").into()
}

/// As many calls as possible, `depth` in flight. One reading of the clock per round trip ends one
/// call's latency and starts the next one's.
fn closed_loop(
    messages: &mut Messages<'_>,
    session: &mut ExclusiveSession,
    until: Until,
) -> Result<Outcome, Failure> {
    let depth = messages.load.depth;
    let mut recorder = Recorder::new();
    let mut started = VecDeque::with_capacity(depth as usize);
    let start = clock::ticks();
    let mut now = start;
    let (mut sent, mut received) = (0, 0);
    while sent < u64::from(depth) && !until.reached(sent, start, now) {
        messages.send(session, until.first + sent)?;
        started.push_back(now);
        sent += 1;
    }
    while received < sent {
        let reply = session.receive()?;
        messages.check(reply.bytes(), until.first + received)?;
        drop(reply);
        received += 1;
        now = clock::ticks();
        let latency = now.wrapping_sub(started.pop_front().unwrap_or(now));
        if !until.reached(sent, start, now) {
            messages.send(session, until.first + sent)?;
            started.push_back(now);
            sent += 1;
        }
        // While the next reply is on its way.
        recorder.record(latency);
    }
    let ticks = now.wrapping_sub(start);
    Ok(Outcome { count: received, ticks, latencies: Some(recorder), ..Outcome::default() })
}

/// One call outstanding, due at a fixed rate. After a call that ended late, the latency of the next
/// one counts from when it was due.
fn open_loop(
    messages: &mut Messages<'_>,
    rate: Rate,
    session: &mut ExclusiveSession,
    until: Until,
) -> Result<Outcome, Failure> {
    let mut recorder = Recorder::new();
    let start = clock::ticks();
    let schedule = Schedule::new(start, rate);
    let (mut now, mut count) = (start, 0);
    loop {
        let due = schedule.due(count);
        if until.reached(count, start, now.max(due)) {
            break;
        }
        let begin = sleep_until(due);
        messages.send(session, until.first + count)?;
        let reply = session.receive()?;
        messages.check(reply.bytes(), until.first + count)?;
        drop(reply);
        now = clock::ticks();
        recorder.record(now.wrapping_sub(begin));
        count += 1;
    }
    let ticks = now.wrapping_sub(start);
    Ok(Outcome { count, ticks, latencies: Some(recorder), ..Outcome::default() })
}
