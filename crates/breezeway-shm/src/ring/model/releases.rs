//! Releases of payload: by leases on other threads, by the receiving thread, by entries; and the
//! sender that sleeps for them.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::checking::*;
use super::stage::*;
use crate::ring::Want;
use crate::ring::mutants::Mutant;
use crate::ring::release::is_unleased;
use crate::ring::sync::FenceSite;

/// A segment of the sender with one payload.
#[derive(Default)]
struct Segment(UnsafeCell<u32>);

// SAFETY: not sound by itself; the models have to show that no access races, and loom checks it at
// each access.
unsafe impl Sync for Segment {}
// SAFETY: the cell holds a plain number.
unsafe impl Send for Segment {}

impl Segment {
    fn read(&self) -> u32 {
        // SAFETY: loom fails the model unless every write happens before or after this.
        self.0.with(|cell| unsafe { *cell })
    }

    fn write(&self, value: u32) {
        // SAFETY: loom fails the model unless every other access happens before or after this
        // write.
        self.0.with_mut(|cell| unsafe { *cell = value });
    }
}

/// Spawns a thread that ends a lease of the receiver's.
fn end_elsewhere(receiver: &End, lend: u16, held: Arc<Segment>) -> thread::JoinHandle<()> {
    let releases = std::sync::Arc::clone(&receiver.duplex.releases);
    let bell = std::sync::Arc::clone(&receiver.rings);
    thread::spawn(move || {
        if releases.end_lease(held, lend) {
            bell.ring();
        }
    })
}

/// The sender sleeps until each of the payloads that are lent has come back, which as many threads
/// release.
fn sleeping_sender<const LEASES: u16>() {
    let (mut sender, receiver) = session(one_way(1, 1));
    (0..LEASES).for_each(|lend| sender.duplex.lent.lend(lend));
    let ending: Vec<_> = (0..LEASES)
        .map(|lend| end_elsewhere(&receiver, lend, Arc::new(Segment::default())))
        .collect();
    sender.obtain(LEASES.into());
    ending.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Variant with a receiver whose own thread ends one lease, and then waits itself.
fn sleeping_sender_and_a_receiver_that_waits() {
    let (mut sender, mut receiver) = session(one_way(8, 1));
    sender.duplex.lent.lend(0);
    let receiving = thread::spawn(move || {
        receiver.release(0);
        receiver.receive(0);
    });
    sender.obtain(1);
    sender.send(0);
    receiving.join().unwrap();
}

/// The receiver's thread ends two leases, one of which it may hide, while a third is ended on
/// another thread; then it flushes.
fn sleeping_sender_and_a_receiver_that_flushes() {
    let (mut sender, mut receiver) = session(one_way(8, 1));
    (0..3).for_each(|lend| sender.duplex.lent.lend(lend));
    let ending = end_elsewhere(&receiver, 2, Arc::new(Segment::default()));
    let receiving = thread::spawn(move || {
        receiver.release(0);
        receiver.release(1);
        receiver.flush();
    });
    sender.obtain(3);
    receiving.join().unwrap();
    ending.join().unwrap();
}

/// A sender that sleeps for memory is woken as well by an entry, which may carry a release.
fn sleeping_sender_and_an_entry() {
    let (mut sender, mut receiver) = session(Setting { slots: [1, 1], ..one_way(8, 1) });
    sender.duplex.lent.lend(0);
    let receiving = thread::spawn(move || receiver.send(0));
    sender.wait(Want::Memory { consumed: 0, back: 0 });
    assert!(sender.take());
    check(&sender.entry, 0);
    receiving.join().unwrap();
}

/// Progress wakes it too, because it may need that to add a segment.
fn sleeping_sender_and_progress() {
    let (mut sender, mut receiver) = session(one_way(1, 1));
    sender.duplex.lent.lend(0);
    assert!(sender.publish(0, &body(0)));
    let receiving = thread::spawn(move || assert!(receiver.take()));
    sender.wait(Want::Memory { consumed: 0, back: 0 });
    assert!(sender.has(Want::Consumed(0)));
    receiving.join().unwrap();
}

/// A lease is read on another thread, and its memory written again once it has come back. The
/// sender makes no full fence.
fn memory_that_comes_back() {
    let (mut sender, receiver) = session(one_way(1, 1));
    // The reference count that keeps the memory alive must not be what orders its use.
    let memory = std::sync::Arc::new(Segment::default());
    sender.duplex.lent.lend(0);
    let lease = std::sync::Arc::clone(&memory);
    let releases = std::sync::Arc::clone(&receiver.duplex.releases);
    let ending = thread::spawn(move || {
        assert_eq!(lease.read(), 0);
        releases.end_lease(Arc::new(()), 0);
    });
    while sender.collect() == 0 {
        thread::yield_now();
    }
    memory.write(1);
    ending.join().unwrap();
}

/// The sender retires a segment as soon as the payload in it has come back from the thread that has
/// the lease. The receiver, when it meets the entry, finds no lease and unmaps it.
fn retired_segment() {
    let (mut sender, mut receiver) = session(one_way(8, 1));
    sender.duplex.lent.lend(0);
    let segment = Arc::new(Segment::default());
    let ending = end_elsewhere(&receiver, 0, Arc::clone(&segment));
    let sending = thread::spawn(move || {
        while sender.collect() == 0 {
            thread::yield_now();
        }
        assert!(sender.publish(0, &body(0)));
    });
    while !receiver.take() {
        thread::yield_now();
    }
    assert!(is_unleased(&segment), "{HONEST_PEER_ACCUSED}");
    segment.write(1);
    sending.join().unwrap();
    ending.join().unwrap();
}

const HONEST_PEER_ACCUSED: &str = "a lease is left in a segment that was retired by the rules";

#[test]
fn memory_sleeper_is_woken_by_release_of_any_thread() {
    holds(None, sleeping_sender::<1>);
    holds(Some(3), sleeping_sender::<2>);
}

#[test]
fn memory_sleeper_is_woken_by_wait_or_flush() {
    holds(None, sleeping_sender_and_a_receiver_that_waits);
    holds(Some(2), sleeping_sender_and_a_receiver_that_flushes);
}

#[test]
fn memory_sleeper_is_woken_by_entry_and_progress() {
    holds(None, sleeping_sender_and_an_entry);
    holds(None, sleeping_sender_and_progress);
}

#[test]
fn memory_is_written_again_only_after_it_was_read() {
    holds(None, memory_that_comes_back);
}

#[test]
fn a_segment_is_retired_only_after_its_leases_have_ended() {
    holds(None, retired_segment);
}

#[test]
fn without_the_fence_after_a_flip_a_sender_sleeps_on() {
    fails(Mutant::Without(FenceSite::AfterFlip), LOST_WAKE_UP, None, sleeping_sender::<1>);
}

#[test]
fn without_the_fence_after_its_intent_a_sender_sleeps_on() {
    let what = Mutant::Without(FenceSite::AfterIntent);
    fails(what, LOST_WAKE_UP, None, sleeping_sender::<1>);
    fails(what, LOST_WAKE_UP, None, sleeping_sender_and_an_entry);
    fails(what, LOST_WAKE_UP, None, sleeping_sender_and_progress);
}

#[test]
fn without_another_check_after_its_intent_a_sender_sleeps_on() {
    fails(Mutant::Recheck, LOST_WAKE_UP, None, sleeping_sender::<1>);
}

#[test]
fn intent_load_before_flip_loses_wake_up() {
    let what = Mutant::Without(FenceSite::IntentAfterFlip);
    fails(what, LOST_WAKE_UP, None, sleeping_sender::<1>);
}

#[test]
fn without_a_number_for_each_wait_the_second_is_not_rung_for() {
    let what = Mutant::Without(FenceSite::NumberOfEachWait);
    fails(what, LOST_WAKE_UP, Some(3), sleeping_sender::<2>);
}

#[test]
fn two_threads_that_flip_by_a_load_and_a_store_lose_a_release() {
    let what = Mutant::Without(FenceSite::FlipOfOneBit);
    fails(what, LOST_WAKE_UP, Some(3), sleeping_sender::<2>);
}

#[test]
fn missing_hidden_release_before_wait_loses_wake_up() {
    let what = Mutant::Without(FenceSite::HiddenRelease);
    fails(what, LOST_WAKE_UP, None, sleeping_sender_and_a_receiver_that_waits);
}

#[test]
fn missing_fence_of_flush_loses_wake_up() {
    let what = Mutant::Without(FenceSite::AfterPublish);
    fails(what, LOST_WAKE_UP, Some(2), sleeping_sender_and_a_receiver_that_flushes);
}

#[test]
fn missing_release_of_flip_is_a_data_race() {
    fails(Mutant::Without(FenceSite::FlipStore), DATA_RACE, None, memory_that_comes_back);
}

#[test]
fn missing_acquire_of_flip_is_a_data_race() {
    fails(Mutant::Without(FenceSite::FlipSeen), DATA_RACE, None, memory_that_comes_back);
}

#[test]
fn flip_before_lease_end_accuses_an_honest_peer() {
    let what = Mutant::Without(FenceSite::LeaseBeforeFlip);
    fails(what, HONEST_PEER_ACCUSED, None, retired_segment);
}
