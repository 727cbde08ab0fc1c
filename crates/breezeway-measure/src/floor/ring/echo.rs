//! One entry there, and one back with the same 40 bytes.

use super::super::spin::Spin;
use super::super::{FloorError, sample};
use super::ends::{Kind, Side};
use super::{INLINE, SharedRings, WORDS};
use crate::pattern;

/// Appends the ticks of each round trip to `samples`, until it is filled to its capacity or
/// `budget` ticks have passed. Then the partner's [`answer`] returns.
///
/// # Errors
///
/// [`FloorError::NoAnswer`] if the partner does not run, [`FloorError::WrongContent`] if it
/// returns something else.
pub(crate) fn measure(
    rings: &SharedRings,
    spin: Spin,
    budget: u64,
    samples: &mut Vec<u64>,
) -> Result<(), FloorError> {
    let mut side = Side::measurer(rings, spin);
    let outcome = sample(budget, samples, |round| {
        let body = pattern::words::<WORDS>(pattern::seed(round));
        side.send(Kind::Message, &body)?;
        let right = side.take()?.body == body;
        if right { Ok(()) } else { Err(FloorError::WrongContent { size: INLINE, round }) }
    });
    side.shut_down();
    outcome
}

/// Answers until the measuring side is done.
///
/// # Errors
///
/// [`FloorError::NoAnswer`] if the measuring side does not run.
pub(crate) fn answer(rings: &SharedRings, spin: Spin) -> Result<(), FloorError> {
    let mut side = Side::partner(rings, spin);
    loop {
        let entry = side.take()?;
        if entry.kind == Kind::Shutdown {
            return Ok(());
        }
        side.send(Kind::Message, &entry.body)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure_against(
        partner: impl FnOnce(&SharedRings) -> Result<(), FloorError> + Send + 'static,
    ) -> (Result<(), FloorError>, usize, Result<(), FloorError>) {
        let rings = SharedRings::create(0).unwrap();
        let theirs = SharedRings::open(rings.share().unwrap()).unwrap();
        let partner = std::thread::spawn(move || partner(&theirs));
        // More than the ring holds.
        let mut samples = Vec::with_capacity(600);
        let outcome = measure(&rings, Spin::Pausing, u64::MAX, &mut samples);
        (outcome, samples.len(), partner.join().unwrap())
    }

    #[test]
    fn round_trips_are_sampled_and_the_partner_ends() {
        for spin in [Spin::Tight, Spin::Pausing] {
            let (outcome, count, partner) = measure_against(move |rings| answer(rings, spin));
            assert_eq!((outcome, partner), (Ok(()), Ok(())));
            assert!(count >= 600);
        }
    }

    #[test]
    fn a_partner_that_returns_something_else_is_found_out() {
        let (outcome, count, _) = measure_against(|rings| {
            let mut side = Side::partner(rings, Spin::Pausing);
            let mut body = side.take()?.body;
            body[WORDS - 1] ^= 1 << 63;
            side.send(Kind::Message, &body)
        });
        assert_eq!(outcome, Err(FloorError::WrongContent { size: INLINE, round: 1 }));
        assert_eq!(count, 0);
    }

    #[test]
    fn a_partner_that_does_not_answer_is_reported() {
        let (outcome, ..) = measure_against(|_| Ok(()));
        assert!(matches!(outcome, Err(FloorError::NoAnswer(_))));
    }
}
