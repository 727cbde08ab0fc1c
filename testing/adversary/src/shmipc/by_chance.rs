//! Sessions by chance: anything is written anywhere, between any two steps.

use std::io::Write;

use super::buffers::{FIRST_SLICE, LISTS, SliceHeader};
use super::message::{WAKE, message};
use super::region::set;
use super::{Peer, buffers, queue};
use crate::Chance;

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
fn step(peer: &mut Peer, dice: &mut Chance) {
    match dice.below(8) {
        0 => set(&peer.queue, 4 * dice.below(queue::SIZE / 4), value(dice)),
        1 => {
            let (list, ..) = LISTS[dice.below(2) as usize];
            set(&peer.buffer, list + 4 * dice.below(9), value(dice));
        }
        2 => {
            let slice = u64::from(FIRST_SLICE) + 1024 * dice.below(20);
            set(&peer.buffer, slice + 4 * dice.below(5), value(dice));
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
            peer.slices.fill(slice, header, b"");
            peer.outgoing.put(dice.below(6) as u32, slice, dice.below(3) as u32);
        }
        4 => peer.outgoing.put(dice.below(6) as u32, value(dice), value(dice)),
        5 => {
            let body = [0, 0, 0, dice.below(6) as u8, 0, 0, 0, 0, 1, 2, 3];
            let _ = peer.socket.write_all(&message(3, 3, &body));
        }
        6 => {
            let _ = peer.socket.write_all(&message(3, 2, &[0, 0, 0, dice.below(6) as u8]));
        }
        _ => {
            let _ = peer.socket.write_all(&WAKE);
        }
    }
}

/// Plays a random session of at most `most` steps.
pub fn attack_for(peer: &mut Peer, dice: &mut Chance, most: u64) {
    for _ in 0..(1 + dice.below(60)).min(most) {
        step(peer, dice);
    }
}
