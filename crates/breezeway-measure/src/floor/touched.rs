//! Touched memory: the cost of N bytes that are written, copied, and read again.
//!
//! The measuring side writes N bytes of a pattern that changes each round and publishes a sequence
//! word; the partner copies the bytes into its own payload and publishes; the measuring side
//! compares every byte. This is the lowest cost of an echo with content in use. Bytes are handled
//! in lanes of 16, so a size between is rounded up.

use super::lines::{STOP, StopOnDrop, spin_past};
use super::spin::Spin;
use super::{FloorError, MEASURER_PATIENCE, PARTNER_PATIENCE, SharedLines, sample};
use crate::pattern;
use std::sync::atomic::{Ordering, fence};

/// Appends the ticks of each round trip of `size` bytes to `samples`, until it is filled to its
/// capacity or `budget` ticks have passed. Then the partner's [`answer`] returns.
///
/// # Errors
///
/// [`FloorError::TooLarge`] if `size` bytes were not set aside, [`FloorError::NoAnswer`] if the
/// partner does not run, [`FloorError::WrongContent`] if it does not copy.
pub(crate) fn measure(
    lines: &SharedLines,
    size: usize,
    spin: Spin,
    budget: u64,
    samples: &mut Vec<u64>,
) -> Result<(), FloorError> {
    let _stop = StopOnDrop(lines);
    let (sent, returned) = lines.payloads(size)?;
    sample(budget, samples, |round| {
        let seed = pattern::seed(round);
        sent.fill(seed);
        lines.ask().store(round, Ordering::Release);
        spin_past(lines.answer(), round - 1, spin, MEASURER_PATIENCE)?;
        fence(Ordering::Acquire);
        if returned.matches(seed) { Ok(()) } else { Err(FloorError::WrongContent { size, round }) }
    })
}

/// Copies and answers until the measuring side is done.
///
/// # Errors
///
/// [`FloorError::TooLarge`] if `size` bytes were not set aside, [`FloorError::NoAnswer`] if the
/// measuring side does not run.
pub(crate) fn answer(lines: &SharedLines, size: usize, spin: Spin) -> Result<(), FloorError> {
    let (received, returned) = lines.payloads(size)?;
    let mut sequence = 0;
    loop {
        sequence = spin_past(lines.ask(), sequence, spin, PARTNER_PATIENCE)?;
        if sequence == STOP {
            return Ok(());
        }
        fence(Ordering::Acquire);
        returned.copy_from(&received);
        lines.answer().store(sequence, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure_against(
        size: usize,
        partner: impl FnOnce(SharedLines) -> Result<(), FloorError> + Send + 'static,
    ) -> (Result<(), FloorError>, usize, Result<(), FloorError>) {
        let lines = SharedLines::create(size).unwrap();
        let theirs = SharedLines::open(lines.share().unwrap()).unwrap();
        let partner = std::thread::spawn(move || partner(theirs));
        let mut samples = Vec::with_capacity(8);
        let outcome = measure(&lines, size, Spin::Pausing, u64::MAX, &mut samples);
        (outcome, samples.len(), partner.join().unwrap())
    }

    #[test]
    fn every_size_class_is_copied_and_compared() {
        for size in [0, 1, 15, 16, 17, 64, 1000, 4096, 4097, 70_000] {
            let (outcome, count, partner) =
                measure_against(size, move |lines| answer(&lines, size, Spin::Pausing));
            assert_eq!((outcome, partner), (Ok(()), Ok(())), "{size}");
            assert!(count >= 8);
        }
    }

    #[test]
    fn a_partner_that_answers_without_copying_is_found_out() {
        let (outcome, count, _) =
            measure_against(64, |lines| super::super::line::answer(&lines, Spin::Tight));
        assert_eq!(outcome, Err(FloorError::WrongContent { size: 64, round: 1 }));
        assert_eq!(count, 0);
    }

    #[test]
    fn a_partner_that_copies_too_little_is_found_out() {
        let (outcome, ..) = measure_against(64, |lines| answer(&lines, 32, Spin::Tight));
        assert_eq!(outcome, Err(FloorError::WrongContent { size: 64, round: 1 }));
    }

    #[test]
    fn a_size_that_was_not_set_aside_is_refused_on_both_sides() {
        let lines = SharedLines::create(64).unwrap();
        let refused = Err(FloorError::TooLarge { size: 5000, limit: 4096 });
        assert_eq!(answer(&lines, 5000, Spin::Tight), refused);
        assert_eq!(
            measure(&lines, 5000, Spin::Tight, u64::MAX, &mut Vec::with_capacity(1)),
            refused
        );
    }
}
