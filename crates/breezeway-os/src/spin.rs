//! How long to poll before sleeping.

use std::time::Duration;

/// What a waiter does until something comes.
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
    /// What is done until something comes.
    pub policy: WaitPolicy,
    /// The longest that [`WaitPolicy::Adaptive`] polls before it sleeps.
    pub spin_bound: Duration,
}

impl Waiting {
    /// The usual bound: about two wake-ups of a sleeping process on another CPU of a virtual
    /// machine, so that a caller whose server has to be woken first still sees the
    /// reply without being woken itself.
    pub const SPIN_BOUND: Duration = Duration::from_micros(100);
}

impl From<WaitPolicy> for Waiting {
    fn from(policy: WaitPolicy) -> Self {
        Self { policy, spin_bound: Self::SPIN_BOUND }
    }
}

/// The self-tuning time of [`WaitPolicy::Adaptive`]: the longest spin while waits end within it,
/// halved by each wait that did not, down to none.
///
/// The evidence is each wait's length, whether it was spun or slept through, so a budget of zero
/// finds back as soon as a short wait shows that spinning would have paid (competitive spinning:
/// Karlin et al., "Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor",
/// SOSP 1991).
#[derive(Debug)]
pub struct SpinBudget {
    longest: u64,
    now: u64,
}

impl SpinBudget {
    /// A budget that never exceeds `longest` ticks, and starts there.
    pub fn new(longest: u64) -> Self {
        Self { longest, now: longest }
    }

    /// How many ticks to spin in the next wait.
    pub fn ticks(&self) -> u64 {
        self.now
    }

    /// Learns from a wait that took `ticks`, sleep included.
    pub fn learn(&mut self, ticks: u64) {
        self.now = if ticks <= self.longest { self.longest } else { self.now / 2 };
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
}
