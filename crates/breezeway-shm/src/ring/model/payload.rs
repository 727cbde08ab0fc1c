//! Accesses that the orderings of entries and progress keep apart, checked on a plain cell.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use super::checking::*;
use super::stage::*;
use crate::ring::Want;
use crate::ring::mutants::Mutant;
use crate::ring::sync::FenceSite;

/// Plain cells, one per slot, that only the sender writes: payload when it is lent, and in place of
/// the slot itself when it is used again.
struct Payload(Vec<UnsafeCell<u32>>);

// SAFETY: not sound by itself; the model has to show that no access races, and loom checks it at
// each access.
unsafe impl Sync for Payload {}
// SAFETY: the cells hold plain numbers.
unsafe impl Send for Payload {}

impl Payload {
    fn write(&self, slot: usize, value: u32) {
        // SAFETY: loom fails the model unless every other access happens before or after this one.
        self.0[slot].with_mut(|cell| unsafe { *cell = value });
    }

    fn read(&self, slot: usize) -> u32 {
        // SAFETY: loom fails the model unless every write happens before or after this read.
        self.0[slot].with(|cell| unsafe { *cell })
    }
}

/// Busy ends without a full fence. A cell is written before its entry is published, read before
/// that is consumed, and written again afterwards.
fn payload() {
    let (mut sender, mut receiver) = session(one_way(1, 1));
    let lent = Arc::new(Payload(vec![UnsafeCell::new(0)]));
    let borrowed = Arc::clone(&lent);
    let sending = thread::spawn(move || {
        for number in 0..3 {
            while !sender.has(Want::Consumed(u64::from(number).wrapping_sub(1))) && number > 0 {
                thread::yield_now();
            }
            lent.write(0, number + 7);
            assert!(sender.publish(number, &body(number)));
        }
    });
    for number in 0..3 {
        while !receiver.peek() {
            thread::yield_now();
        }
        assert_eq!(borrowed.read(0), number + 7);
        assert!(receiver.duplex.consumer.advance());
        receiver.duplex.consumer.publish_progress();
    }
    sending.join().unwrap();
}

#[test]
fn payload_is_whole_until_consumed() {
    holds(None, payload);
}

#[test]
fn missing_release_of_sequence_is_a_data_race() {
    fails(Mutant::Without(FenceSite::SequenceStore), DATA_RACE, None, payload);
}

#[test]
fn missing_acquire_of_sequence_is_a_data_race() {
    fails(Mutant::Without(FenceSite::SequenceSeen), DATA_RACE, None, payload);
}

#[test]
fn missing_release_of_consumed_is_a_data_race() {
    fails(Mutant::Without(FenceSite::ConsumedStore), DATA_RACE, None, payload);
}

#[test]
fn missing_acquire_of_consumed_is_a_data_race() {
    fails(Mutant::Without(FenceSite::ConsumedSeen), DATA_RACE, None, payload);
}
