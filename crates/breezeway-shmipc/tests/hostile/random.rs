//! A peer that writes anything anywhere, between any two steps.

use std::io::Write;

use breezeway_adversary::Chance;
use breezeway_adversary::shmipc::buffers::{FIRST_SLICE, LISTS, SliceHeader};
use breezeway_adversary::shmipc::message::{WAKE, message};
use breezeway_adversary::shmipc::region::set;
use breezeway_adversary::shmipc::{Peer, buffers, queue};

use crate::victim::Victim;

/// A value that is likely to matter.
fn value(dice: &mut Chance) -> u32 {
    match dice.below(8) {
        0 => 0,
        1 => u32::MAX,
        2 => u32::MAX - dice.below(64) as u32,
        3 => FIRST_SLICE + 1024 * dice.below(511) as u32,
        4 => 1024 * dice.below(511) as u32,
        5 => buffers::SIZE as u32 - dice.below(64) as u32,
        6 => dice.below(32) as u32,
        _ => dice.any() as u32,
    }
}

/// One thing that a hostile peer can do; whether its session has ended it does not care.
fn step(raw: &mut Peer, dice: &mut Chance) {
    match dice.below(8) {
        0 => set(&raw.queue, 4 * dice.below(queue::SIZE / 4), value(dice)),
        1 => {
            let (list, ..) = LISTS[dice.below(2) as usize];
            set(&raw.buffer, list + 4 * dice.below(9), value(dice));
        }
        2 => {
            let slice = u64::from(FIRST_SLICE) + 1024 * dice.below(20);
            set(&raw.buffer, slice + 4 * dice.below(5), value(dice));
        }
        3 => {
            let slice = FIRST_SLICE + 1024 * dice.below(20) as u32;
            let header = SliceHeader {
                capacity: 1004,
                size: dice.below(1005) as u32,
                start: 0,
                next: value(dice),
                flags: dice.below(4) as u32,
            };
            raw.slices.fill(slice, header, b"");
            raw.outgoing.put(dice.below(6) as u32, slice, dice.below(3) as u32);
        }
        4 => raw.outgoing.put(dice.below(6) as u32, value(dice), value(dice)),
        5 => {
            let body = [0, 0, 0, dice.below(6) as u8, 0, 0, 0, 0, 1, 2, 3];
            let _ = raw.socket.write_all(&message(3, 3, &body));
        }
        6 => {
            let _ = raw.socket.write_all(&message(3, 2, &[0, 0, 0, dice.below(6) as u8]));
        }
        _ => {
            let _ = raw.socket.write_all(&WAKE);
        }
    }
}

#[test]
fn whatever_a_peer_writes_others_are_served() {
    let mut victim = Victim::new();
    for seed in 1..=150 {
        let mut dice = Chance::new(seed);
        let mut raw = Peer::connect(&victim.path);
        for _ in 0..1 + dice.below(60) {
            step(&mut raw, &mut dice);
        }
        if seed % 50 == 0 {
            victim.is_well();
        }
    }
}
