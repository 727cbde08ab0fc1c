//! Two processes that wake each other with a futex in shared memory and sleep in between.

use super::lines::STOP;
use super::{FloorError, MEASURER_PATIENCE, PARTNER_PATIENCE, SharedLines, sample};
use rustix::fs::Timespec;
use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// [`STOP`], as far as a futex word holds it.
const STOP_WORD: u32 = STOP as u32;

/// Appends the ticks of each round trip to `samples`, until it is filled to its capacity or
/// `budget` ticks have passed. Then the partner's [`answer`] returns.
///
/// # Errors
///
/// [`FloorError::NoAnswer`] if the partner does not run.
pub(crate) fn measure(
    lines: &SharedLines,
    budget: u64,
    samples: &mut Vec<u64>,
) -> Result<(), FloorError> {
    let (ask, answer) = (lines.ask_futex(), lines.answer_futex());
    let outcome = sample(budget, samples, |round| {
        let sequence = word(round);
        let previous = answer.load(Ordering::Relaxed);
        publish(ask, sequence)?;
        sleep_past(answer, previous, MEASURER_PATIENCE).map(drop)
    });
    outcome.and(publish(ask, STOP_WORD))
}

/// Answers until the measuring side is done.
///
/// # Errors
///
/// [`FloorError::NoAnswer`] if the measuring side does not run.
pub(crate) fn answer(lines: &SharedLines) -> Result<(), FloorError> {
    let (ask, answer) = (lines.ask_futex(), lines.answer_futex());
    let mut sequence = 0;
    loop {
        sequence = sleep_past(ask, sequence, PARTNER_PATIENCE)?;
        if sequence == STOP_WORD {
            return Ok(());
        }
        publish(answer, sequence)?;
    }
}

/// The round as a word that differs from its neighbours, from 0 and from [`STOP_WORD`].
fn word(round: u64) -> u32 {
    (round % u64::from(STOP_WORD - 1)) as u32 + 1
}

fn publish(word: &AtomicU32, value: u32) -> Result<(), FloorError> {
    word.store(value, Ordering::Release);
    futex::wake(word, Flags::empty(), 1).map_err(FloorError::system("futex wake"))?;
    Ok(())
}

/// Sleeps until `word` is no longer `previous`. Signals and spurious wake-ups lead back to sleep.
fn sleep_past(word: &AtomicU32, previous: u32, limit: Duration) -> Result<u32, FloorError> {
    let timeout = Timespec {
        tv_sec: limit.as_secs().cast_signed(),
        tv_nsec: i64::from(limit.subsec_nanos()),
    };
    loop {
        let value = word.load(Ordering::Acquire);
        if value != previous {
            return Ok(value);
        }
        match futex::wait(word, Flags::empty(), previous, Some(&timeout)) {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::TIMEDOUT) => return Err(FloorError::NoAnswer(limit)),
            Err(source) => return Err(FloorError::System { call: "futex wait", source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_are_sampled_and_the_partner_ends() {
        let lines = SharedLines::create(0).unwrap();
        let partner = SharedLines::open(lines.share().unwrap()).unwrap();
        let partner = std::thread::spawn(move || answer(&partner));
        let mut samples = Vec::with_capacity(20);
        measure(&lines, u64::MAX, &mut samples).unwrap();
        assert_eq!(samples.len(), samples.capacity());
        assert_eq!(partner.join().unwrap(), Ok(()));
    }

    #[test]
    fn a_silent_other_side_ends_the_wait() {
        let limit = Duration::from_millis(1);
        let outcome = sleep_past(&AtomicU32::new(0), 0, limit);
        assert_eq!(outcome, Err(FloorError::NoAnswer(limit)));
    }

    #[test]
    fn without_a_partner_the_measurement_fails_and_stops_a_late_one() {
        let lines = SharedLines::create(0).unwrap();
        let error = measure(&lines, u64::MAX, &mut Vec::with_capacity(1)).unwrap_err();
        assert_eq!(error, FloorError::NoAnswer(MEASURER_PATIENCE));
        assert_eq!(answer(&lines), Ok(()));
    }

    #[test]
    fn round_word_differs_from_start_and_end() {
        let last = u64::from(STOP_WORD);
        for round in [0, 1, last - 2, last - 1, last, last + 1, u64::MAX] {
            assert!(word(round) != 0 && word(round) != STOP_WORD, "{round}");
            assert_ne!(word(round), word(round.wrapping_add(1)), "{round}");
        }
    }
}
