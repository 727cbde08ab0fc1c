//! How a loop waits for the peer.

use super::FloorError;
use breezeway_os::clock;
use std::hint;
use std::time::Duration;

/// Number of polls between two readings of the clock: tens of microseconds to one millisecond.
const POLLS_PER_CHECK: u32 = 1 << 14;

/// Instruction of a spinning side between two polls. The faster one depends on the CPU, so both are
/// measured, and the faster one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spin {
    /// No instruction.
    Tight,
    /// The CPU's pause instruction.
    Pausing,
}

/// Polls until there is something, at most for `limit`.
#[inline(always)]
pub(super) fn spin_until<T>(
    spin: Spin,
    limit: Duration,
    mut poll: impl FnMut() -> Option<T>,
) -> Result<T, FloorError> {
    let mut patience = Patience::new(limit);
    loop {
        for _ in 0..POLLS_PER_CHECK {
            if let Some(found) = poll() {
                return Ok(found);
            }
            if spin == Spin::Pausing {
                hint::spin_loop();
            }
        }
        patience.check()?;
    }
}

/// A limit on a wait that reads the clock only now and then, to keep it out of the measurement.
pub(super) struct Patience {
    limit: Duration,
    ends: Option<u64>,
}

impl Patience {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, ends: None }
    }

    /// Starts the wait on the first call; an error once `limit` has passed since.
    #[cold]
    pub(super) fn check(&mut self) -> Result<(), FloorError> {
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
    fn patience_ends() {
        let mut patience = Patience::new(Duration::from_millis(1));
        assert_eq!(patience.check(), Ok(()));
        std::thread::sleep(Duration::from_millis(5));
        assert!(matches!(patience.check(), Err(FloorError::NoAnswer(_))));
    }

    #[test]
    fn both_spins_end_with_result_or_at_limit() {
        for spin in [Spin::Tight, Spin::Pausing] {
            let mut polls = 0;
            let mut third = || {
                polls += 1;
                (polls == 3).then_some(polls)
            };
            assert_eq!(spin_until(spin, Duration::from_secs(1), &mut third), Ok(3));
            let limit = Duration::from_millis(1);
            let nothing = spin_until(spin, limit, || None::<()>);
            assert_eq!(nothing, Err(FloorError::NoAnswer(limit)));
        }
    }
}
