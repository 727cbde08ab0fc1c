//! A peer that writes anything anywhere, between any two steps.

use std::io::Write;

use crate::raw::{BUFFER, FIRST_SLICE, LISTS, QUEUE, RawClient, SliceHeader, message, set};
use crate::victim::Victim;

/// The same numbers for the same seed.
struct Dice(u64);

impl Dice {
    /// xorshift64*.
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A value that is likely to matter.
    fn value(&mut self) -> u32 {
        match self.below(8) {
            0 => 0,
            1 => u32::MAX,
            2 => u32::MAX - self.below(64) as u32,
            3 => FIRST_SLICE + 1024 * self.below(511) as u32,
            4 => 1024 * self.below(511) as u32,
            5 => BUFFER as u32 - self.below(64) as u32,
            6 => self.below(32) as u32,
            _ => self.next() as u32,
        }
    }
}

/// One thing that a hostile peer can do; whether its session has ended it does not care.
fn step(raw: &mut RawClient, dice: &mut Dice) {
    match dice.below(8) {
        0 => set(&raw.queue, 4 * dice.below(QUEUE / 4), dice.value()),
        1 => {
            let (list, ..) = LISTS[dice.below(2) as usize];
            set(&raw.buffer, list + 4 * dice.below(9), dice.value());
        }
        2 => {
            let slice = u64::from(FIRST_SLICE) + 1024 * dice.below(20);
            set(&raw.buffer, slice + 4 * dice.below(5), dice.value());
        }
        3 => {
            let slice = FIRST_SLICE + 1024 * dice.below(20) as u32;
            let header = SliceHeader {
                capacity: 1004,
                size: dice.below(1005) as u32,
                start: 0,
                next: dice.value(),
                flags: dice.below(4) as u32,
            };
            raw.fill(slice, header, b"");
            raw.put_quietly(dice.below(6) as u32, slice, dice.below(3) as u32);
        }
        4 => raw.put_quietly(dice.below(6) as u32, dice.value(), dice.value()),
        5 => {
            let body = [0, 0, 0, dice.below(6) as u8, 0, 0, 0, 0, 1, 2, 3];
            let _ = raw.socket.write_all(&message(3, 3, &body));
        }
        6 => {
            let _ = raw.socket.write_all(&message(3, 2, &[0, 0, 0, dice.below(6) as u8]));
        }
        _ => {
            let _ = raw.socket.write_all(&crate::raw::WAKE);
        }
    }
}

#[test]
fn whatever_a_peer_writes_others_are_served() {
    let mut victim = Victim::new();
    for seed in 1..=150 {
        let mut dice = Dice(seed);
        let mut raw = RawClient::connect(&victim.path);
        for _ in 0..1 + dice.below(60) {
            step(&mut raw, &mut dice);
        }
        if seed % 50 == 0 {
            victim.is_well();
        }
    }
}
