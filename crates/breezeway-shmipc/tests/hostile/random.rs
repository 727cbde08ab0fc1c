//! A peer that writes anything anywhere, between any two steps.

use breezeway_adversary::Chance;
use breezeway_adversary::shmipc::{Peer, by_chance};

use crate::victim::Victim;

#[test]
fn arbitrary_writes_leave_others_served() {
    let mut victim = Victim::new();
    for seed in 1..=150 {
        let mut dice = Chance::new(seed);
        let mut raw = Peer::connect(&victim.path);
        by_chance::attack_for(&mut raw, &mut dice, u64::MAX);
        if seed % 50 == 0 {
            victim.is_well();
        }
    }
}
