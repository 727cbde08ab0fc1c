//! The floor: one cache line to the partner and one back.
//!
//! Both sides spin with plain relaxed loads, with or without a pause, whichever is faster: nothing
//! that two processes do through shared memory can be faster.

use super::lines::{STOP, StopOnDrop, spin_past};
use super::spin::Spin;
use super::{FloorError, MEASURER_PATIENCE, PARTNER_PATIENCE, SharedLines, sample};
use std::sync::atomic::Ordering;

/// Appends the ticks of each round trip to `samples`, until it is filled to its capacity or
/// `budget` ticks have passed. Then the partner's [`answer`] returns.
///
/// # Errors
///
/// [`FloorError::NoAnswer`] if the partner does not run.
pub(crate) fn measure(
    lines: &SharedLines,
    spin: Spin,
    budget: u64,
    samples: &mut Vec<u64>,
) -> Result<(), FloorError> {
    let _stop = StopOnDrop(lines);
    let (ask, answer) = (lines.ask(), lines.answer());
    sample(budget, samples, |sequence| {
        ask.store(sequence, Ordering::Relaxed);
        spin_past(answer, sequence - 1, spin, MEASURER_PATIENCE).map(drop)
    })
}

/// Answers until the measuring side is done.
///
/// # Errors
///
/// [`FloorError::NoAnswer`] if the measuring side does not run.
pub(crate) fn answer(lines: &SharedLines, spin: Spin) -> Result<(), FloorError> {
    let (ask, answer) = (lines.ask(), lines.answer());
    let mut sequence = 0;
    loop {
        sequence = spin_past(ask, sequence, spin, PARTNER_PATIENCE)?;
        if sequence == STOP {
            return Ok(());
        }
        answer.store(sequence, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_are_sampled_and_the_partner_ends() {
        let lines = SharedLines::create(0).unwrap();
        let partner = SharedLines::open(lines.share().unwrap()).unwrap();
        let partner = std::thread::spawn(move || answer(&partner, Spin::Tight));
        let mut samples = Vec::with_capacity(20);
        measure(&lines, Spin::Tight, u64::MAX, &mut samples).unwrap();
        assert_eq!(samples.len(), samples.capacity());
        assert_eq!(partner.join().unwrap(), Ok(()));
    }

    #[test]
    fn without_a_partner_the_measurement_fails_and_stops_a_late_one() {
        let lines = SharedLines::create(0).unwrap();
        let mut samples = Vec::with_capacity(1);
        let error = measure(&lines, Spin::Tight, u64::MAX, &mut samples).unwrap_err();
        assert_eq!(error, FloorError::NoAnswer(MEASURER_PATIENCE));
        assert!(samples.is_empty());
        assert_eq!(answer(&lines, Spin::Tight), Ok(()));
    }
}
