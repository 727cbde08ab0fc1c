//! Messages without replies, in batches; the server confirms how many arrived, and their sum.

use breezeway::ExclusiveSession;
use breezeway_os::clock;
use breezeway_shm::layout::INLINE_MAX;

use super::methods::{GLANCE, SINK, TALLY};
use super::{Load, Outcome, Runs, Touch, Until};
use crate::{Failure, pattern};

/// Messages that a server has sunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tally {
    count: u64,
    sum: u64,
}

/// Requests the tally of the server.
pub(super) fn tally(session: &mut ExclusiveSession) -> Result<Tally, Failure> {
    let reply = session.call(TALLY, &[])?;
    let (count, sum) = (reply.bytes().u64_le_at(0), reply.bytes().u64_le_at(8));
    match (count, sum) {
        (Some(count), Some(sum)) => Ok(Tally { count, sum }),
        _ => Err("the server's tally makes no sense; is it a `breezeway serve`?".into()),
    }
}

pub(super) fn run(
    load: &Load,
    session: &mut ExclusiveSession,
    until: Until,
) -> Result<Outcome, Failure> {
    let start = clock::ticks();
    let mut outcome = Outcome::default();
    let mut now = start;
    while !until.reached(outcome.count, start, now) {
        let batch = u64::from(load.batch).min(until.count - outcome.count);
        if load.size <= INLINE_MAX {
            post_inline(load, session, batch, &mut outcome)?;
        } else {
            post_large(load, session, batch, &mut outcome)?;
        }
        now = clock::ticks();
    }
    // The reply to a call proves that everything before it was served.
    tally(session)?;
    outcome.ticks = clock::ticks().wrapping_sub(start);
    Ok(outcome)
}

fn method(load: &Load) -> u32 {
    if load.touch == Touch::All { SINK } else { GLANCE }
}

fn post_inline(
    load: &Load,
    session: &mut ExclusiveSession,
    count: u64,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let mut bytes = [0; INLINE_MAX];
    let touched = load.touched();
    let mut batch = session.batch();
    for _ in 0..count {
        let seed = pattern::seed(outcome.count);
        pattern::fill(&mut bytes[..touched], seed);
        outcome.sum = outcome.sum.wrapping_add(pattern::sum(touched, seed));
        batch.post(method(load), &bytes[..load.size])?;
        outcome.count += 1;
    }
    batch.flush()?;
    Ok(())
}

fn post_large(
    load: &Load,
    session: &mut ExclusiveSession,
    count: u64,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let touched = load.touched();
    for _ in 0..count {
        let mut space = session.reserve(load.size)?;
        let seed = pattern::seed(outcome.count);
        pattern::fill(&mut space.bytes_mut()[..touched], seed);
        outcome.sum = outcome.sum.wrapping_add(pattern::sum(touched, seed));
        space.post(method(load))?;
        outcome.count += 1;
    }
    Ok(())
}

/// Compares what the server has sunk with what was sent, also to warm up. Other clients' messages
/// would show here.
pub(super) fn confirm(
    load: &Load,
    session: &mut ExclusiveSession,
    before: Tally,
    runs: &[Runs],
) -> Result<(), Failure> {
    let after = tally(session)?;
    let count = after.count.wrapping_sub(before.count);
    let outcomes = || runs.iter().flat_map(|runs| [&runs.warm_up, &runs.counted]);
    let sent: u64 = outcomes().map(|outcome| outcome.count).sum();
    if count != sent {
        return Err(format!(
            "the server confirms {count} messages, {sent} were sent; does another client use it?"
        )
        .into());
    }
    let sum = after.sum.wrapping_sub(before.sum);
    let expected = outcomes().fold(0u64, |sum, outcome| sum.wrapping_add(outcome.sum));
    if sum != expected {
        return Err(format!(
            "the sum of the {sent} messages of {} bytes differs from what was sent",
            load.size
        )
        .into());
    }
    Ok(())
}
