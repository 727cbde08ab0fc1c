//! The bare loops that measure what this machine can do, with nothing of Breezeway in them.
//!
//! Every figure of this project is a ratio to such a loop in the same run. Each loop comes as two
//! functions: `measure` for the process that takes the time, and `answer` for its partner. Both
//! are meant to be pinned to different CPUs first.
//!
//! | module | one round trip |
//! |---|---|
//! | [`mod@line`] | one cache line there, one back: *the* floor |
//! | [`touched`] | N bytes written, copied by the partner, compared byte for byte |
//! | [`futex`] | a wake-up there and one back, both sides asleep in between |
//! | [`socket`] | N bytes through a stream socket and back, blocking or spinning |
//!
//! Both processes map [`SharedLines`] writable. That is no session: the partner is the same
//! program. All the same, nothing that the partner writes can do more than fail a measurement.

mod lines;
mod measurer;
mod payload;

pub mod futex;
pub mod line;
pub mod partner;
pub mod socket;
pub mod touched;

pub use lines::SharedLines;
pub use measurer::{Measurer, jobs};
pub use partner::FLOOR_PARTNER;

use breezeway_os::clock;
use rustix::io::Errno;
use std::time::Duration;

/// Why a measurement failed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FloorError {
    /// A system call failed.
    #[error("{call} failed")]
    System {
        /// The system call.
        call: &'static str,
        /// What the kernel answered.
        source: Errno,
    },
    /// The other side neither answered nor ended for too long: it died, was stopped, or got no CPU.
    #[error("the other side did not answer within {0:?}")]
    NoAnswer(Duration),
    /// The other side closed its socket in the middle of a round trip.
    #[error("the other side went away in the middle of a round trip")]
    PartnerGone,
    /// What came back is not what was sent.
    #[error("round trip {round} of {size} bytes came back with wrong content")]
    WrongContent {
        /// The bytes of a round trip.
        size: usize,
        /// Which round trip, counted from 1.
        round: u64,
    },
    /// More payload was asked for than the memory was created with.
    #[error("a payload of {size} bytes does not fit, {limit} were set aside")]
    TooLarge {
        /// The bytes of a round trip.
        size: usize,
        /// What [`SharedLines::create`] was asked to set aside, rounded up to pages.
        limit: usize,
    },
    /// The descriptor is not the memory of a [`SharedLines`].
    #[error("this descriptor is not floor memory: its size is {0} bytes")]
    NotFloorMemory(u64),
}

impl FloorError {
    fn system(call: &'static str) -> impl FnOnce(Errno) -> Self {
        move |source| Self::System { call, source }
    }
}

/// How long the measuring side waits for one answer.
const MEASURER_PATIENCE: Duration = Duration::from_millis(1_500);

/// How long the partner waits for the next round; longer, because a person may stop the measuring
/// process for a moment. A partner should also ask for a signal when its parent dies.
const PARTNER_PATIENCE: Duration = Duration::from_secs(10);

/// Runs `round` with 1, 2, 3 … and appends the ticks that each took, until `samples` is filled to
/// its capacity or `budget` ticks have passed.
///
/// The first round is not counted: it waits for the partner to start. The clock is read once per
/// round.
#[inline(always)]
fn sample(
    budget: u64,
    samples: &mut Vec<u64>,
    mut round: impl FnMut(u64) -> Result<(), FloorError>,
) -> Result<(), FloorError> {
    round(1)?;
    let start = clock::ticks();
    let mut before = start;
    let mut sequence = 2;
    while samples.len() < samples.capacity() && before.saturating_sub(start) < budget {
        round(sequence)?;
        let now = clock::ticks();
        samples.push(now.saturating_sub(before));
        before = now;
        sequence += 1;
    }
    Ok(())
}

/// A limit on a wait that reads the clock only now and then, to keep it out of the measurement.
struct Patience {
    limit: Duration,
    ends: Option<u64>,
}

impl Patience {
    fn new(limit: Duration) -> Self {
        Self { limit, ends: None }
    }

    /// Starts the wait on the first call; an error once `limit` has passed since.
    #[cold]
    fn check(&mut self) -> Result<(), FloorError> {
        let now = clock::ticks();
        let ends =
            *self.ends.get_or_insert_with(|| now.saturating_add(clock::ticks_in(self.limit)));
        if now < ends { Ok(()) } else { Err(FloorError::NoAnswer(self.limit)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_stops_when_the_samples_are_full() {
        let mut samples = Vec::with_capacity(3);
        let capacity = samples.capacity();
        let mut rounds = Vec::new();
        sample(u64::MAX, &mut samples, |round| {
            rounds.push(round);
            Ok(())
        })
        .unwrap();
        assert_eq!(samples.len(), capacity);
        assert_eq!(rounds, (1..=capacity as u64 + 1).collect::<Vec<_>>());
    }

    #[test]
    fn sampling_stops_when_the_budget_is_spent() {
        let mut samples = Vec::with_capacity(1 << 20);
        sample(0, &mut samples, |_| Ok(())).unwrap();
        assert!(samples.is_empty());
    }

    #[test]
    fn a_failed_round_ends_the_sampling_and_keeps_what_was_measured() {
        let mut samples = Vec::with_capacity(10);
        let error = FloorError::PartnerGone;
        let outcome = sample(u64::MAX, &mut samples, |round| match round {
            4 => Err(FloorError::PartnerGone),
            _ => Ok(()),
        });
        assert_eq!((outcome, samples.len()), (Err(error), 2));
    }

    #[test]
    fn patience_ends() {
        let mut patience = Patience::new(Duration::from_millis(1));
        assert_eq!(patience.check(), Ok(()));
        std::thread::sleep(Duration::from_millis(5));
        assert!(matches!(patience.check(), Err(FloorError::NoAnswer(_))));
    }
}
