//! Both ends send and sleep.

use loom::thread;

use super::checking::*;
use super::stage::*;
use crate::ring::Want;
use crate::ring::mutants::Mutant;
use crate::ring::sync::FenceSite;

const fn both_ways(capacity: u32, slots: usize) -> Setting {
    Setting { slots: [slots; 2], ..one_way(capacity, slots) }
}

/// Two calls: each side sleeps until the other's message comes, and progress travels with the next
/// publication.
fn calls() {
    let (mut client, mut server) = session(both_ways(8, 2));
    let serving = thread::spawn(move || {
        for number in 0..2 {
            server.receive(number);
            server.send(number);
        }
    });
    for number in 0..2 {
        client.send(number);
        client.receive(number);
    }
    serving.join().unwrap();
}

/// Both sides send through rings of one and take the other's messages whenever there is one; with
/// nothing to do they sleep for both, and read the socket empty before each intent.
fn crossing_streams<const THERE: u32, const BACK: u32>() {
    let setting = Setting { reads_always: true, ..both_ways(1, 1) };
    let (mut one, mut other) = session(setting);
    let running = thread::spawn(move || exchange(&mut other, BACK, THERE));
    exchange(&mut one, THERE, BACK);
    running.join().unwrap();
}

fn exchange(end: &mut End, to_send: u32, to_receive: u32) {
    let (mut sent, mut received) = (0, 0);
    while sent < to_send || received < to_receive {
        if sent < to_send && end.publish(sent, &body(sent)) {
            sent += 1;
            end.flush();
        } else if received < to_receive && end.take() {
            check(&end.entry, received);
            received += 1;
        } else if sent == to_send {
            end.wait(Want::Data);
        } else {
            let consumed = end.duplex.producer.known_consumed();
            end.wait_for_either(Want::Consumed(consumed), Want::Data);
        }
    }
}

#[test]
fn calls_between_sleeping_sides_are_answered() {
    holds(Some(3), calls);
}

#[test]
fn two_sides_with_full_rings_wake_each_other() {
    holds(Some(2), crossing_streams::<2, 2>);
    holds(Some(3), crossing_streams::<2, 1>);
}

#[test]
fn without_the_fence_after_a_publication_a_call_hangs() {
    fails(Mutant::Without(FenceSite::AfterPublish), LOST_WAKE_UP, None, calls);
}

#[test]
fn without_the_fence_after_an_intent_a_call_hangs() {
    fails(Mutant::Without(FenceSite::AfterIntent), LOST_WAKE_UP, None, calls);
}

#[test]
fn missing_recheck_of_first_want_loses_wake_up() {
    fails(Mutant::RecheckOfFirst, LOST_WAKE_UP, Some(2), crossing_streams::<2, 2>);
}
