//! Deadlines.

use std::time::{Duration, Instant};

use rustix::event::Timespec;

use crate::clock;

/// A point in time at which an operation must end, or never.
///
/// It is kept in clock ticks, so that comparing it with [`clock::ticks`] on a hot path takes
/// neither a system call nor a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(u64);

impl Deadline {
    /// No deadline: it never passes.
    pub const NEVER: Self = Self(u64::MAX);

    /// Returns the deadline `timeout` from now; never, if the clock cannot represent it.
    #[must_use]
    pub fn after(timeout: Duration) -> Self {
        Self(clock::ticks().saturating_add(clock::ticks_in(timeout)))
    }

    /// Returns the deadline at `instant`.
    #[must_use]
    pub fn at(instant: Instant) -> Self {
        Self::after(instant.saturating_duration_since(Instant::now()))
    }

    /// Returns the deadline at the time `ticks` of [`clock::ticks`]; [`u64::MAX`] is never.
    #[inline]
    #[must_use]
    pub const fn at_ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    /// Returns the time of the deadline in [`clock::ticks`]; [`u64::MAX`] for never.
    #[inline]
    #[must_use]
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// Returns true if the deadline has passed.
    #[inline]
    #[must_use]
    pub fn has_passed(self) -> bool {
        self != Self::NEVER && self.has_passed_at(clock::ticks())
    }

    /// Returns true if the deadline has passed at the time `now`, an earlier reading of
    /// [`clock::ticks`].
    #[inline(always)]
    #[must_use]
    pub fn has_passed_at(self, now: u64) -> bool {
        now >= self.0
    }

    /// Returns the time left: zero if the deadline has passed, `None` if it never does.
    #[must_use]
    pub fn time_left(self) -> Option<Duration> {
        if self == Self::NEVER {
            return None;
        }
        let ticks = self.0.saturating_sub(clock::ticks());
        Some(Duration::from_nanos(clock::nanoseconds(ticks)))
    }

    /// Returns the time left as a system call takes it.
    #[must_use]
    pub fn timespec(self) -> Option<Timespec> {
        self.time_left().map(timespec)
    }
}

/// Converts a timeout; `None` is never.
impl From<Option<Duration>> for Deadline {
    #[inline]
    fn from(timeout: Option<Duration>) -> Self {
        timeout.map_or(Self::NEVER, Self::after)
    }
}

/// Converts a duration for a system call.
pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: duration.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(1000);

    #[test]
    fn a_deadline_has_passed_from_its_moment_on() {
        assert!(Deadline::after(Duration::ZERO).has_passed());
        assert!(!Deadline::after(LONG).has_passed());
        let deadline = Deadline(7);
        assert!(!deadline.has_passed_at(6));
        assert!(deadline.has_passed_at(7) && deadline.has_passed_at(8));
    }

    #[test]
    fn the_time_left_shrinks_to_zero_and_no_deadline_has_none() {
        let left = Deadline::after(LONG).time_left().unwrap();
        assert!(left <= LONG && left > LONG / 2, "{left:?}");
        assert_eq!(Deadline::after(Duration::ZERO).time_left(), Some(Duration::ZERO));
        assert_eq!(Deadline::NEVER.time_left(), None);
        assert!(!Deadline::NEVER.has_passed());
    }

    #[test]
    fn a_timeout_that_no_clock_can_count_never_passes() {
        assert_eq!(Deadline::after(Duration::MAX), Deadline::NEVER);
        assert_eq!(Deadline::from(None), Deadline::NEVER);
    }

    #[test]
    fn a_moment_that_is_past_has_passed() {
        assert!(Deadline::at(Instant::now()).has_passed());
        assert!(!Deadline::at(Instant::now() + LONG).has_passed());
    }

    #[test]
    fn oversized_duration_is_the_longest_timespec() {
        let longest = timespec(Duration::MAX);
        assert_eq!((longest.tv_sec, longest.tv_nsec), (i64::MAX, 999_999_999));
    }
}
