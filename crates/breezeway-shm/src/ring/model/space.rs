//! Sleeping for space.

use loom::thread;

use super::checking::*;
use super::stage::*;
use crate::ring::Want;
use crate::ring::mutants::Mutant;
use crate::ring::sync::FenceSite;

/// Both sleep: the sender for space in a ring of one, whose consumer publishes its progress at each
/// entry, the receiver for data.
fn sleeping_sender_with_a_full_ring<const MESSAGES: u32>() {
    let (mut sender, mut receiver) = session(one_way(1, 1));
    let sending = thread::spawn(move || {
        for number in 0..MESSAGES {
            sender.send(number);
        }
    });
    for number in 0..MESSAGES {
        receiver.receive(number);
    }
    sending.join().unwrap();
}

/// The sender sleeps until an entry of three is consumed. The receiver consumes two, a quarter of
/// the ring, and is then busy elsewhere.
fn sleeping_sender_and_a_quarter() {
    let (mut sender, mut receiver) = session(one_way(8, 3));
    for number in 0..3 {
        assert!(sender.publish(number, &body(number)));
    }
    let sending = thread::spawn(move || sender.wait(Want::Consumed(0)));
    for number in 0..2 {
        assert!(receiver.take());
        check(&receiver.entry, number);
    }
    sending.join().unwrap();
}

/// The sender has announced that it sleeps until an entry is consumed. The receiver consumes one of
/// two, less than a quarter, and is then busy elsewhere.
fn sleeping_sender_seen_at_once() {
    let (mut sender, mut receiver) = session(one_way(8, 2));
    assert!(sender.publish(0, &body(0)) && sender.publish(1, &body(1)));
    assert!(sender.prepare_sleep(Want::Consumed(0)));
    let receiving = thread::spawn(move || {
        assert!(receiver.take());
    });
    sender.hears.sleep();
    assert!(sender.has(Want::Consumed(0)));
    receiving.join().unwrap();
}

/// Each message is less than a quarter of the ring, so the sender that sleeps until the first is
/// consumed is woken at once when the receiver sees its intent, else by the receiver that finds the
/// ring drained and goes to sleep itself.
fn sleeping_sender_and_a_drained_ring() {
    let (mut sender, mut receiver) = session(one_way(8, 2));
    let sending = thread::spawn(move || {
        sender.send(0);
        sender.wait(Want::Consumed(0));
        sender.send(1);
    });
    receiver.receive(0);
    receiver.receive(1);
    sending.join().unwrap();
}

/// The receiver consumes less than a quarter of the ring, finds it drained and spins from then on.
fn sleeping_sender_and_a_busy_receiver() {
    let (mut sender, mut receiver) = session(one_way(8, 1));
    let receiving = thread::spawn(move || {
        while !receiver.take() {
            thread::yield_now();
        }
        receiver.prepare_spin();
    });
    sender.send(0);
    sender.wait(Want::Consumed(0));
    receiving.join().unwrap();
}

#[test]
fn a_sender_that_sleeps_for_space_is_woken_by_each_consumption() {
    holds(Some(4), sleeping_sender_with_a_full_ring::<2>);
    holds(Some(3), sleeping_sender_with_a_full_ring::<3>);
}

#[test]
fn a_sender_that_sleeps_for_space_is_woken_by_a_quarter() {
    holds(None, sleeping_sender_and_a_quarter);
}

#[test]
fn a_sender_whose_intent_is_seen_is_woken_at_once() {
    holds(None, sleeping_sender_seen_at_once);
}

#[test]
fn space_sleeper_is_woken_by_receiver_before_sleep() {
    holds(Some(4), sleeping_sender_and_a_drained_ring);
}

#[test]
fn space_sleeper_is_woken_by_receiver_before_spin() {
    holds(None, sleeping_sender_and_a_busy_receiver);
}

#[test]
fn without_the_fence_after_progress_a_sender_sleeps_on() {
    let what = Mutant::Without(FenceSite::AfterPublish);
    fails(what, LOST_WAKE_UP, None, sleeping_sender_with_a_full_ring::<2>);
    fails(what, LOST_WAKE_UP, None, sleeping_sender_and_a_quarter);
}

#[test]
fn without_the_fence_after_its_intent_a_sender_sleeps_on() {
    let what = Mutant::Without(FenceSite::AfterIntent);
    fails(what, LOST_WAKE_UP, None, sleeping_sender_with_a_full_ring::<2>);
    fails(what, LOST_WAKE_UP, None, sleeping_sender_and_a_quarter);
    fails(what, LOST_WAKE_UP, None, sleeping_sender_and_a_drained_ring);
}

#[test]
fn without_another_check_after_its_intent_a_sender_sleeps_on() {
    fails(Mutant::Recheck, LOST_WAKE_UP, None, sleeping_sender_and_a_quarter);
}

#[test]
fn missing_fence_before_intent_load_loses_wake_up() {
    fails(Mutant::SharedFence, LOST_WAKE_UP, None, sleeping_sender_and_a_drained_ring);
}

#[test]
fn missing_progress_before_wait_loses_wake_up() {
    fails(
        Mutant::Without(FenceSite::ProgressBeforeWaiting),
        LOST_WAKE_UP,
        None,
        sleeping_sender_and_a_drained_ring,
    );
    fails(
        Mutant::Without(FenceSite::ProgressBeforeWaiting),
        LOST_WAKE_UP,
        None,
        sleeping_sender_and_a_busy_receiver,
    );
}
