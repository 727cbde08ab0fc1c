//! Points in time, as the owner of a session counts them.

/// A point in time on the clock of the owner, in the unit of that clock. Nothing here reads one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(u64);

impl Time {
    /// Later than every other time.
    pub const NEVER: Self = Self(u64::MAX);

    /// Returns the time at which the owner's clock shows `ticks`.
    #[inline]
    pub const fn from_ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    /// Returns what the owner's clock shows at this time.
    #[inline]
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// Returns the time so many ticks later.
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
