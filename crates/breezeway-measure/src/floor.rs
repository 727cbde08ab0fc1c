//! The bare loops that measure the limits of this machine, with nothing of Breezeway in them.
//!
//! Every figure of this project is a ratio to such a loop in the same run. Each loop comes as two
//! functions: `measure` for the process that takes the time, and `answer` for its partner. Both
//! are meant to be pinned to different CPUs first.
//!
//! | module | one round trip |
//! |---|---|
//! | `line` | one cache line there, one back: *the* floor |
//! | `touched` | N bytes written, copied by the partner, compared byte for byte |
//! | `futex` | a wake-up there and one back, both sides asleep in between |
//! | `socket` | N bytes through a stream socket and back, blocking or spinning |
//! | `ring` | the bare ring: an entry there and back, one-way, and with large slots |
//!
//! A side that spins does so with the CPU's pause instruction or without, whichever is faster.
//!
//! Both processes map `SharedLines` writable. This differs from a session: the partner is the same
//! program. Whatever the partner writes can at most make a measurement fail.

mod futex;
mod line;
mod lines;
mod measurer;
mod payload;
mod ring;
mod socket;
mod spin;
mod touched;

pub mod partner;

use lines::SharedLines;
pub use measurer::{Measurer, jobs};
pub use partner::FLOOR_PARTNER;

use breezeway_os::clock;
use rustix::io::Errno;
use std::time::Duration;

/// Error of a measurement of the floor.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FloorError {
    /// A system call failed.
    #[error("{call} failed")]
    System {
        /// The system call.
        call: &'static str,
        /// Error that the kernel returned.
        source: Errno,
    },
    /// The peer neither answered nor ended for too long: it died, was stopped, or got no CPU.
    #[error("the peer did not answer within {0:?}")]
    NoAnswer(Duration),
    /// The peer closed its socket in the middle of a round trip.
    #[error("the peer went away in the middle of a round trip")]
    PartnerGone,
    /// The received content differs from the sent one.
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
        /// Size of the memory of the run, rounded up to pages.
        limit: usize,
    },
    /// The descriptor is not the memory of a floor.
    #[error("this descriptor is not floor memory: its size is {0} bytes")]
    NotFloorMemory(u64),
}

impl FloorError {
    fn system(call: &'static str) -> impl FnOnce(Errno) -> Self {
        move |source| Self::System { call, source }
    }
}

/// Time for which the measuring side waits for one answer. On a busy machine the first answer takes
/// more than a second, because the partner has to start and to map its memory.
const MEASURER_PATIENCE: Duration = Duration::from_secs(4);

/// Time for which the partner waits for the next round. It is longer, because a person may stop the
/// measuring process for a moment. A partner should also request a signal for the death of its
/// parent.
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
    fn failed_round_ends_sampling_and_keeps_samples() {
        let mut samples = Vec::with_capacity(10);
        let error = FloorError::PartnerGone;
        let outcome = sample(u64::MAX, &mut samples, |round| match round {
            4 => Err(FloorError::PartnerGone),
            _ => Ok(()),
        });
        assert_eq!((outcome, samples.len()), (Err(error), 2));
    }
}
