//! Points in time on the clock of a session's owner.

/// Point in time on the owner's clock, in the unit of that clock. This crate reads no clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(u64);

impl Time {
    /// Time that is later than every other time.
    pub const NEVER: Self = Self(u64::MAX);

    /// Returns the time when the owner's clock shows `ticks`.
    #[inline]
    pub const fn from_ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    /// Returns the reading of the owner's clock at this time.
    #[inline]
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// Returns the time that is `ticks` later.
    #[must_use]
    pub const fn after(self, ticks: u64) -> Self {
        Self(self.0.saturating_add(ticks))
    }

    /// Returns true if this time has passed when the owner's clock shows `now`.
    #[inline]
    pub fn has_passed_at(self, now: Self) -> bool {
        self != Self::NEVER && self <= now
    }
}
