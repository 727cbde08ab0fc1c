//! Decision whether a wait begins with spinning.

use breezeway_os::Waiting;
use breezeway_os::clock;

/// Maximum number of consecutive waits that begin with sleeping before spinning is tried again.
const LONGEST_BREAK: u32 = 256;

/// Spinning by evidence: the longest spin while that ends waits; after spins that miss, a growing
/// number of waits without.
///
/// The length of a slept wait is not evidence here. Where both sides share a CPU, which the
/// protocol cannot detect, the peer's answer comes just after this side stops spinning, however
/// short the spin; only trying shows that it never comes before.
#[derive(Debug)]
pub(crate) struct SpinPlan {
    longest: u64,
    skip: u32,
    next_break: u32,
}

impl SpinPlan {
    /// Creates a plan that begins with spinning.
    pub(crate) fn new() -> Self {
        clock::calibrate();
        Self { longest: clock::ticks_in(Waiting::SPIN_BOUND), skip: 0, next_break: 1 }
    }

    /// Returns the number of ticks to spin in this wait, if any.
    #[inline]
    pub(crate) fn ticks(&mut self) -> Option<u64> {
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        Some(self.longest)
    }

    /// Returns the longest spin, in ticks.
    #[cfg(feature = "tokio")]
    pub(crate) fn longest(&self) -> u64 {
        self.longest
    }

    /// Notes that a spin ended with data.
    #[inline]
    pub(crate) fn paid(&mut self) {
        self.next_break = 1;
    }

    /// Notes that a spin ended without data.
    pub(crate) fn missed(&mut self) {
        self.skip = self.next_break;
        self.next_break = (self.next_break * 2).min(LONGEST_BREAK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_spins_become_rare_and_a_hit_restores_them() {
        let mut plan = SpinPlan::new();
        let mut spins = 0;
        for _ in 0..1000 {
            if plan.ticks().is_some() {
                spins += 1;
                plan.missed();
            }
        }
        assert!((9..14).contains(&spins), "{spins}");
        while plan.ticks().is_none() {}
        plan.paid();
        assert!((0..100).all(|_| plan.ticks().is_some()));
        plan.missed();
        assert!(plan.ticks().is_none() && plan.ticks().is_some());
    }
}
