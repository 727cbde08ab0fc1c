//! Sleeping for data.

use loom::thread;

use super::checking::*;
use super::stage::*;
use crate::ring::Want;
use crate::ring::mutants::Mutant;
use crate::ring::sync::FenceSite;

/// The receiver sleeps for each of two messages, which are flushed one by one.
fn sleeping_receiver() {
    stream_to_sleeping_receiver::<2>(one_way(2, 2));
}

/// Variant with a byte on the socket that no wait has caused.
fn sleeping_receiver_with_a_stale_byte() {
    stream_to_sleeping_receiver::<2>(Setting { stale_bytes: 1, ..one_way(2, 2) });
}

/// Variant with a receiver that reads the socket empty before every intent.
fn sleeping_receiver_that_drains() {
    stream_to_sleeping_receiver::<2>(Setting { reads_always: true, ..one_way(2, 2) });
}

fn stream_to_sleeping_receiver<const MESSAGES: u32>(setting: Setting) {
    let (mut sender, mut receiver) = session(setting);
    let sending = thread::spawn(move || {
        for number in 0..MESSAGES {
            assert!(sender.publish(number, &body(number)));
            sender.flush();
        }
    });
    for number in 0..MESSAGES {
        receiver.receive(number);
    }
    sending.join().unwrap();
}

/// The receiver sleeps while two messages are published in one batch.
fn sleeping_receiver_of_a_batch() {
    let (mut sender, mut receiver) = session(one_way(2, 2));
    let sending = thread::spawn(move || {
        assert!(sender.publish(0, &body(0)));
        assert!(sender.publish(1, &body(1)));
        sender.flush();
    });
    receiver.receive(0);
    receiver.receive(1);
    sending.join().unwrap();
}

#[test]
fn a_receiver_that_sleeps_is_woken_by_every_message() {
    holds(None, sleeping_receiver);
}

#[test]
fn a_receiver_that_sleeps_is_woken_by_a_batch() {
    holds(None, sleeping_receiver_of_a_batch);
}

#[test]
fn stale_doorbell_loses_no_wake_up() {
    holds(Some(5), sleeping_receiver_with_a_stale_byte);
}

#[test]
fn receiver_that_reads_the_socket_before_its_intent_is_woken() {
    holds(None, sleeping_receiver_that_drains);
}

#[test]
fn without_the_fence_after_a_publication_a_receiver_sleeps_on() {
    fails(Mutant::Without(FenceSite::AfterPublish), LOST_WAKE_UP, None, sleeping_receiver);
    fails(
        Mutant::Without(FenceSite::AfterPublish),
        LOST_WAKE_UP,
        None,
        sleeping_receiver_of_a_batch,
    );
}

#[test]
fn without_the_fence_after_its_intent_a_receiver_sleeps_on() {
    fails(Mutant::Without(FenceSite::AfterIntent), LOST_WAKE_UP, None, sleeping_receiver);
    fails(
        Mutant::Without(FenceSite::AfterIntent),
        LOST_WAKE_UP,
        None,
        sleeping_receiver_of_a_batch,
    );
}

#[test]
fn without_another_check_after_its_intent_a_receiver_sleeps_on() {
    fails(Mutant::Recheck, LOST_WAKE_UP, None, sleeping_receiver);
}

#[test]
fn read_before_intent_loses_wake_up() {
    fails(Mutant::ReadBeforeIntent, LOST_WAKE_UP, None, sleeping_receiver_that_drains);
}

/// The receiver waits in an edge-triggered epoll, which does not read the bytes. Each intent can
/// leave one, and the socket has room for no other.
fn receiver_in_a_sleeper() {
    const BEFORE: u32 = 2;
    let setting = Setting { room: 1, ..one_way(1, 1) };
    let (mut sender, mut receiver) = session(setting);
    for number in 0..BEFORE {
        // Each time the entry is committed just after the intent, so that it leaves a byte and
        // leads to no sleep.
        let sleepy = receiver.prepare_sleep_while(Want::Data, || sender.send(number));
        assert!(!sleepy && receiver.take());
        // The thread sleeps for other sessions and so gets the event of this byte.
        receiver.sleep_until_event();
    }
    let sending = thread::spawn(move || {
        sender.send(BEFORE);
        sender
    });
    receiver.wait_for_edge(Want::Data);
    assert!(receiver.take());
    check(&receiver.entry, BEFORE);
    drop(sending.join().unwrap());
}

/// Variant with a sender that also rings without an intent, until the socket is full.
fn receiver_in_a_sleeper_of_a_sender_that_rings_unasked() {
    let setting = Setting { room: 1, ..one_way(1, 1) };
    let (mut sender, mut receiver) = session(setting);
    let sending = thread::spawn(move || {
        sender.rings.ring();
        sender.send(0);
        sender
    });
    receiver.wait_for_edge(Want::Data);
    assert!(receiver.take());
    check(&receiver.entry, 0);
    drop(sending.join().unwrap());
}

#[test]
fn an_edge_triggered_sleeper_is_woken_although_bytes_lie_unread() {
    holds(None, receiver_in_a_sleeper);
}

#[test]
fn edge_triggered_sleeper_is_woken_by_sender_that_rings_unasked() {
    holds(None, receiver_in_a_sleeper_of_a_sender_that_rings_unasked);
}

#[test]
fn edge_triggered_sleeper_that_reads_nothing_sleeps_on() {
    fails(Mutant::ReadAfterEvent, LOST_WAKE_UP, None, receiver_in_a_sleeper);
    fails(
        Mutant::ReadAfterEvent,
        LOST_WAKE_UP,
        None,
        receiver_in_a_sleeper_of_a_sender_that_rings_unasked,
    );
}
