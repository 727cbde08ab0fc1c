//! Time that a waiter polls before it sleeps.

use std::time::Duration;

/// Behaviour of a waiter until its condition holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WaitPolicy {
    /// Polls without end: lowest latency, one CPU in full for as long as it waits.
    Busy,
    /// Polls for a short, self-tuning time, then sleeps. Costs nothing while idle.
    #[default]
    Adaptive,
    /// Sleeps at once.
    Park,
}

/// A wait policy, and its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The wait policy.
    pub policy: WaitPolicy,
    /// Maximum time that [`WaitPolicy::Adaptive`] polls before it sleeps.
    pub spin_bound: Duration,
}

impl Waiting {
    /// Default bound: about two wake-ups of a sleeping process on another CPU of a virtual machine,
    /// so that a caller that has to wake its server first still sees the reply without being woken
    /// itself.
    pub const SPIN_BOUND: Duration = Duration::from_micros(100);
}

impl From<WaitPolicy> for Waiting {
    fn from(policy: WaitPolicy) -> Self {
        Self { policy, spin_bound: Self::SPIN_BOUND }
    }
}

/// The self-tuning time of [`WaitPolicy::Adaptive`]: the longest spin while spinning pays, halved
/// by each wait that outlasted it, down to none.
///
/// The evidence is each wait's length, whether it was spun or slept through, so a budget of zero
/// recovers when a short wait suggests that spinning would have paid (competitive spinning: Karlin
/// et al., "Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor", SOSP
/// 1991). A short wait that was slept through is weak evidence: where the peer runs only once this
/// thread sleeps, each wait is short and each spin is lost. Such waits restore the budget at once
/// the first time, and after each further loss only after a break that is twice as long.
#[derive(Debug)]
pub struct SpinBudget {
    longest: u64,
    now: u64,
    /// Short waits that are still to be slept through.
    skip: u16,
    /// Number of short waits in the next break.
    next_break: u16,
}

impl SpinBudget {
    /// Maximum number of short waits slept through before spinning is tried again: a lost spin then
    /// adds less than half a percent to each wait.
    const LONGEST_BREAK: u16 = 256;

    /// Creates a budget that never exceeds `longest` ticks, and starts there.
    pub fn new(longest: u64) -> Self {
        Self { longest, now: longest, skip: 0, next_break: 0 }
    }

    /// Returns the number of ticks to spin in the next wait.
    pub fn ticks(&self) -> u64 {
        self.now
    }

    /// Adapts to a wait that took `ticks`, sleep included.
    pub fn learn(&mut self, ticks: u64) {
        if ticks <= self.now {
            *self = Self::new(self.longest);
            return;
        }
        self.now /= 2;
        if ticks > self.longest {
            return;
        }
        if self.skip > 0 {
            self.skip -= 1;
        } else {
            self.now = self.longest;
            self.skip = self.next_break;
            self.next_break = (2 * self.next_break).clamp(1, Self::LONGEST_BREAK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vain_spins_fade_out_and_one_short_wait_brings_them_back() {
        let mut budget = SpinBudget::new(1000);
        for _ in 0..16 {
            budget.learn(1_000_000);
        }
        assert_eq!(budget.ticks(), 0);
        budget.learn(1001);
        assert_eq!(budget.ticks(), 0);
        budget.learn(1000);
        assert_eq!(budget.ticks(), 1000);
    }

    /// Runs `count` waits that end `beyond` after the spin was given up. Returns the ticks spun in
    /// all.
    fn waits(budget: &mut SpinBudget, beyond: u64, count: u32) -> u64 {
        (0..count)
            .map(|_| {
                let spun = budget.ticks();
                budget.learn(spun + beyond);
                spun
            })
            .sum()
    }

    #[test]
    fn spins_become_rare_where_peer_needs_the_cpu() {
        let mut budget = SpinBudget::new(1000);
        waits(&mut budget, 50, 10_000);
        let spun = waits(&mut budget, 50, 10_000);
        assert!(spun < 10_000 * 1000 / 100, "{spun}");
    }

    #[test]
    fn one_spin_that_paid_ends_the_breaks() {
        let mut budget = SpinBudget::new(1000);
        waits(&mut budget, 50, 10_000);
        while budget.ticks() < 1000 {
            waits(&mut budget, 50, 1);
        }
        budget.learn(999);
        for _ in 0..16 {
            budget.learn(1_000_000);
        }
        assert_eq!(budget.ticks(), 0);
        budget.learn(50);
        assert_eq!(budget.ticks(), 1000);
    }
}
