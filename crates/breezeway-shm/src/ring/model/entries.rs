//! Publishing and consuming entries.

use loom::thread;

use super::checking::*;
use super::stage::*;
use crate::ring::mutants::Mutant;
use crate::ring::sync::FenceSite;

/// Busy ends: neither makes a full fence.
fn busy_stream<const MESSAGES: u32>() {
    stream_between_busy_ends::<MESSAGES>(false);
}

/// Variant with a sender that claims lines ahead.
fn busy_batch<const MESSAGES: u32>() {
    stream_between_busy_ends::<MESSAGES>(true);
}

fn stream_between_busy_ends<const MESSAGES: u32>(batching: bool) {
    let (mut sender, mut receiver) = session(one_way(2, 2));
    sender.duplex.producer.set_batching(batching);
    let sending = thread::spawn(move || {
        for number in 0..MESSAGES {
            // A slot holds a long and then a short body.
            let (long, short) = (long_body(number), body(number));
            let body = if number < 2 { &long[..] } else { &short };
            while !sender.publish(number, body) {
                thread::yield_now();
            }
        }
    });
    for number in 0..MESSAGES {
        while !receiver.peek() {
            thread::yield_now();
        }
        check(&receiver.entry, number);
        let due = receiver.duplex.consumer.advance();
        assert!(due, "in a ring of two each entry is a quarter");
        receiver.duplex.consumer.publish_progress();
    }
    sending.join().unwrap();
}

#[test]
fn entries_arrive_once_in_order_and_whole() {
    holds(None, busy_stream::<3>);
}

#[test]
fn a_batch_that_claims_lines_ahead_arrives_whole() {
    holds(None, busy_batch::<3>);
}

#[test]
fn batch_claim_before_slots_are_free_tears_an_entry() {
    fails(Mutant::Without(FenceSite::ClaimOfFreeSlots), TORN_ENTRY, None, busy_batch::<3>);
}

#[test]
fn without_the_release_of_the_sequence_an_entry_is_torn() {
    fails(Mutant::Without(FenceSite::SequenceStore), TORN_ENTRY, None, busy_stream::<1>);
}

#[test]
fn without_the_acquire_after_the_sequence_an_entry_is_torn() {
    fails(Mutant::Without(FenceSite::SequenceSeen), TORN_ENTRY, None, busy_stream::<1>);
}

/// They survive here, for the reason that the head of this file gives; the payload model finds
/// both.
#[test]
fn entries_alone_do_not_show_that_consumed_is_ordered() {
    for site in [FenceSite::ConsumedStore, FenceSite::ConsumedSeen] {
        assert!(outcome_without(Mutant::Without(site), None, busy_stream::<3>).is_ok());
    }
}
