//! Entries one way, in batches of 64, each with 40 bytes that are written and summed up. The
//! partner reports their number and their sum at the end.

use super::super::FloorError;
use super::super::spin::Spin;
use super::ends::{Kind, Side};
use super::{INLINE, SharedRings, Throughput, WORDS};
use crate::pattern;
use breezeway_os::clock;

/// Entries for each fence and load of the peer's intent.
const BATCH: u64 = 64;

/// Sends for `budget` ticks. Then the partner's [`answer`] returns.
///
/// # Errors
///
/// [`FloorError::NoAnswer`] if the partner does not run, [`FloorError::WrongContent`] if it did
/// not take what was sent.
pub(crate) fn measure(
    rings: &SharedRings,
    spin: Spin,
    budget: u64,
) -> Result<Throughput, FloorError> {
    let mut side = Side::measurer(rings, spin);
    let outcome = send(&mut side, budget);
    side.shut_down();
    outcome
}

fn send(side: &mut Side<'_>, budget: u64) -> Result<Throughput, FloorError> {
    // From here on the partner is there.
    confirm(side, 0, 0)?;
    let (mut messages, mut sum) = (0, 0u64);
    let start = clock::ticks();
    while messages == 0 || clock::ticks().saturating_sub(start) < budget {
        for _ in 0..BATCH {
            let body = pattern::words::<WORDS>(pattern::seed(messages));
            sum = sum.wrapping_add(sum_of(&body));
            side.publish(Kind::Message, &body)?;
            messages += 1;
        }
        side.announce();
    }
    confirm(side, messages, sum)?;
    Ok(Throughput { messages, ticks: clock::ticks().saturating_sub(start) })
}

/// Requests the tally, and compares.
pub(super) fn confirm(side: &mut Side<'_>, count: u64, sum: u64) -> Result<(), FloorError> {
    side.send(Kind::Tally, &[0; WORDS])?;
    let body = side.take()?.body;
    let right = body[..2] == [count, sum];
    if right { Ok(()) } else { Err(FloorError::WrongContent { size: INLINE, round: count }) }
}

/// Takes until the measuring side is done.
///
/// # Errors
///
/// [`FloorError::NoAnswer`] if the measuring side does not run.
pub(crate) fn answer(rings: &SharedRings, spin: Spin) -> Result<(), FloorError> {
    let mut side = Side::partner(rings, spin);
    let (mut count, mut sum) = (0, 0u64);
    loop {
        let entry = side.take()?;
        match entry.kind {
            Kind::Message => {
                count += 1;
                sum = sum.wrapping_add(sum_of(&entry.body));
            }
            Kind::Tally => side.send(Kind::Message, &[count, sum, 0, 0, 0])?,
            Kind::Shutdown => return Ok(()),
        }
    }
}

fn sum_of(body: &[u64; WORDS]) -> u64 {
    body.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_batch_is_confirmed_and_partner_ends() {
        let rings = SharedRings::create(0).unwrap();
        let theirs = SharedRings::open(rings.share().unwrap()).unwrap();
        let partner = std::thread::spawn(move || answer(&theirs, Spin::Pausing));
        let throughput = measure(&rings, Spin::Pausing, 1).unwrap();
        assert_eq!((throughput.messages, partner.join().unwrap()), (BATCH, Ok(())));
        assert!(throughput.nanoseconds().is_some_and(|each| each > 0.0));
    }

    #[test]
    fn a_partner_that_loses_a_message_is_found_out() {
        let rings = SharedRings::create(0).unwrap();
        let theirs = SharedRings::open(rings.share().unwrap()).unwrap();
        let partner = std::thread::spawn(move || {
            let mut side = Side::partner(&theirs, Spin::Pausing);
            side.take()?;
            side.send(Kind::Message, &[0; WORDS])?;
            while side.take()?.kind == Kind::Message {}
            side.send(Kind::Message, &[BATCH - 1, 0, 0, 0, 0])
        });
        let error = measure(&rings, Spin::Pausing, 1).unwrap_err();
        assert_eq!(error, FloorError::WrongContent { size: INLINE, round: BATCH });
        partner.join().unwrap().unwrap();
    }
}
