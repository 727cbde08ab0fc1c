//! Time that a waiter polls before it sleeps.

use std::time::Duration;

use crate::{clock, cpu};

/// Behaviour of a waiter until its condition holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WaitPolicy {
    /// Polls without end: lowest latency, one CPU in full for as long as it waits.
    Busy,
    /// Polls for a short, self-tuning time, then sleeps. Costs nothing while idle.
    #[default]
    Adaptive,
    /// Sleeps at once. (The sender of an exclusive session polls for a slot of a full ring as under
    /// `Adaptive`.)
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

/// The choice of one waiter between another poll and a sleep: its wait policy, with the budget of
/// [`WaitPolicy::Adaptive`]. Times are clock ticks.
#[derive(Debug)]
pub struct Spinner {
    policy: WaitPolicy,
    budget: SpinBudget,
}

impl Spinner {
    /// Messages are rare once spins without a message have cut the budget to this part of the
    /// longest.
    const RARE: u64 = 32;

    /// Creates the spinner of a waiter, and calibrates the clock.
    pub fn new(waiting: impl Into<Waiting>) -> Self {
        clock::calibrate();
        let Waiting { policy, spin_bound } = waiting.into();
        Self { policy, budget: SpinBudget::new(clock::ticks_in(spin_bound)) }
    }

    /// Returns the wait policy.
    #[inline(always)]
    pub fn policy(&self) -> WaitPolicy {
        self.policy
    }

    /// Returns true if the next wait does not poll at all, whatever the CPUs are.
    #[inline(always)]
    pub fn sleeps_at_once(&self) -> bool {
        match self.policy {
            WaitPolicy::Busy => false,
            WaitPolicy::Adaptive => self.budget.now == 0,
            WaitPolicy::Park => true,
        }
    }

    /// Returns true if messages are so rare that polls find none: the last waits were all too long
    /// to be spun through.
    pub fn is_rare(&self) -> bool {
        self.policy != WaitPolicy::Busy && self.budget.now <= self.budget.longest / Self::RARE
    }

    /// Returns the number of ticks to poll in the next wait. `shares_cpu` is true if the peer last
    /// waited on this thread's CPU, where it cannot answer a spin.
    pub fn ticks(&self, shares_cpu: impl FnOnce() -> bool) -> u64 {
        match self.policy {
            WaitPolicy::Busy => u64::MAX,
            WaitPolicy::Adaptive if !self.sleeps_at_once() && can_be_answered(shares_cpu) => {
                self.budget.now
            }
            WaitPolicy::Adaptive | WaitPolicy::Park => 0,
        }
    }

    /// Returns true if a waiter polls again that has found nothing for `idle` ticks.
    pub fn spins(&self, idle: impl FnOnce() -> u64, shares_cpu: impl FnOnce() -> bool) -> bool {
        match self.policy {
            WaitPolicy::Busy => true,
            WaitPolicy::Adaptive => idle() < self.budget.now && can_be_answered(shares_cpu),
            WaitPolicy::Park => false,
        }
    }

    /// Adapts to a wait that took `ticks`, sleep included.
    pub fn learn(&mut self, ticks: u64) {
        self.budget.learn(ticks);
    }
}

/// Returns true if the peer can answer while this thread spins.
fn can_be_answered(shares_cpu: impl FnOnce() -> bool) -> bool {
    cpu::spinning_pays() && !shares_cpu()
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
struct SpinBudget {
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
    fn new(longest: u64) -> Self {
        Self { longest, now: longest, skip: 0, next_break: 0 }
    }

    /// Adapts to a wait that took `ticks`, sleep included.
    fn learn(&mut self, ticks: u64) {
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
        assert_eq!(budget.now, 0);
        budget.learn(1001);
        assert_eq!(budget.now, 0);
        budget.learn(1000);
        assert_eq!(budget.now, 1000);
    }

    /// Runs `count` waits that end `beyond` after the spin was given up. Returns the ticks spun in
    /// all.
    fn waits(budget: &mut SpinBudget, beyond: u64, count: u32) -> u64 {
        (0..count)
            .map(|_| {
                let spun = budget.now;
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
        while budget.now < 1000 {
            waits(&mut budget, 50, 1);
        }
        budget.learn(999);
        for _ in 0..16 {
            budget.learn(1_000_000);
        }
        assert_eq!(budget.now, 0);
        budget.learn(50);
        assert_eq!(budget.now, 1000);
    }

    fn spinner(policy: WaitPolicy) -> Spinner {
        Spinner { policy, budget: SpinBudget::new(1000) }
    }

    #[test]
    fn only_adaptive_spinner_depends_on_idle_time_and_cpu() {
        let pays = cpu::spinning_pays();
        for (policy, [short, long, shared]) in [
            (WaitPolicy::Busy, [true; 3]),
            (WaitPolicy::Adaptive, [pays, false, false]),
            (WaitPolicy::Park, [false; 3]),
        ] {
            let spinner = spinner(policy);
            assert_eq!(spinner.spins(|| 999, || false), short, "{policy:?}");
            assert_eq!(spinner.spins(|| 1000, || false), long, "{policy:?}");
            assert_eq!(spinner.spins(|| 0, || true), shared, "{policy:?}");
            assert_eq!(spinner.ticks(|| false) > 0, short, "{policy:?}");
            assert_eq!(spinner.ticks(|| true) > 0, shared, "{policy:?}");
        }
    }

    #[test]
    fn long_waits_make_messages_rare_unless_busy() {
        for policy in [WaitPolicy::Busy, WaitPolicy::Adaptive, WaitPolicy::Park] {
            let mut spinner = spinner(policy);
            assert!(!spinner.is_rare(), "{policy:?}");
            (0..5).for_each(|_| spinner.learn(1_000_000));
            assert_eq!(spinner.is_rare(), policy != WaitPolicy::Busy, "{policy:?}");
            (0..5).for_each(|_| spinner.learn(1_000_000));
            assert_eq!(spinner.sleeps_at_once(), policy != WaitPolicy::Busy, "{policy:?}");
        }
    }
}
