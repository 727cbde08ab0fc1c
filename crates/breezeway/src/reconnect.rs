//! Repeated attempts to connect to a server that does not listen, for a bounded time.

use std::hash::{BuildHasher, RandomState};
use std::thread;
use std::time::Duration;

use breezeway_os::Deadline;

use crate::error::ConnectError;

/// The first pause and the longest one. Each is twice as long as the one before.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(200);

/// The pauses between the attempts of one client.
pub struct Reconnecting {
    until: Deadline,
    pause: Duration,
}

impl Reconnecting {
    /// Creates pauses for at most `time`, and not beyond `deadline`.
    pub(crate) fn new(time: Duration, deadline: Deadline) -> Self {
        Self { until: Deadline::after(time).min(deadline), pause: SHORTEST }
    }

    /// Returns the pause before the next attempt, or None if an attempt is of no use after this
    /// failure or the time is over.
    pub fn pause_after(&mut self, error: &ConnectError) -> Option<Duration> {
        if !error.may_pass() || self.until.has_passed() {
            return None;
        }
        let pause = self.pause - self.pause.mul_f64(random() / 2.0);
        self.pause = (self.pause * 2).min(LONGEST);
        Some(pause.min(self.until.time_left().unwrap_or(pause)))
    }

    /// Repeats attempts on this thread until one succeeds or the time is over.
    pub(crate) fn run<T>(
        &mut self,
        mut connect: impl FnMut() -> Result<T, ConnectError>,
    ) -> Result<T, ConnectError> {
        loop {
            match connect() {
                Ok(connected) => return Ok(connected),
                Err(error) => match self.pause_after(&error) {
                    Some(pause) => thread::sleep(pause),
                    None => return Err(error),
                },
            }
        }
    }
}

/// Returns a random number of at least 0 and less than 1. Each state of the standard library's
/// hasher is random.
fn random() -> f64 {
    (RandomState::new().hash_one(0) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_longest_and_are_cut_by_up_to_half() {
        let absent = ConnectError::NoSocket("/nowhere".into());
        let mut reconnecting = Reconnecting::new(Duration::from_secs(3600), Deadline::NEVER);
        let mut base = SHORTEST;
        let mut differ = false;
        for _ in 0..20 {
            let pause = reconnecting.pause_after(&absent).unwrap();
            assert!((base / 2..=base).contains(&pause), "{pause:?} of {base:?}");
            differ |= pause != base;
            base = (base * 2).min(LONGEST);
        }
        assert!(differ && base == LONGEST);
    }

    #[test]
    fn permanent_error_or_no_time_left_is_not_retried() {
        let mut reconnecting = Reconnecting::new(Duration::from_secs(3600), Deadline::NEVER);
        let error = ConnectError::Permission("/there".into());
        assert_eq!(reconnecting.pause_after(&error), None);
        let mut reconnecting = Reconnecting::new(Duration::ZERO, Deadline::NEVER);
        assert_eq!(reconnecting.pause_after(&ConnectError::NoSocket("/nowhere".into())), None);
    }
}
