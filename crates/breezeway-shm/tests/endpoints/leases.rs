//! Messages that are kept: in any order, by any thread, past any end of the session.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::support::{FIN, OPEN, Pair, Terms, take};
use breezeway_os::{Deadline, WaitPolicy};
use breezeway_shm::layout::MESSAGE;
use breezeway_shm::{
    Body, Endpoint, Head, Limits, Message, SendError, Shortage, WaitError, Waiter, Want,
};

/// The fields `release_wake` and `released` of a control segment.
const RELEASE_WAKE: usize = 0x118;
const RELEASED: usize = 0x180;

fn head() -> Head {
    Head { kind: MESSAGE, flags: OPEN | FIN, stream: 1, tag: 0, time: 0 }
}

fn content(mark: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (mark * 31 + at * 7) as u8).collect()
}

fn send(endpoint: &mut Endpoint, mark: usize, len: usize) -> Result<(), SendError> {
    endpoint.send(head(), Body::Bytes(&content(mark, len)))?;
    endpoint.flush()?;
    Ok(())
}

/// Takes the next message and keeps it.
fn keep(endpoint: &mut Endpoint) -> Message {
    assert!(take(endpoint).unwrap());
    endpoint.detach()
}

/// Sends `count` messages of `len` bytes and keeps them.
fn kept(pair: &mut Pair, count: usize, len: usize) -> Vec<Message> {
    let one_by_one = (0..count).map(|mark| {
        send(&mut pair.one, mark, len).unwrap();
        keep(&mut pair.other)
    });
    one_by_one.collect()
}

/// Returns the number of payloads that can be lent now; all are given back.
fn free_numbers(endpoint: &mut Endpoint) -> usize {
    let mut spaces = Vec::new();
    while let Ok(space) = endpoint.reserve(105) {
        spaces.push(space);
    }
    for space in &mut spaces {
        endpoint.abandon(space);
    }
    spaces.len()
}

#[test]
fn kept_messages_end_in_any_order() {
    const COUNT: usize = 5;
    for mut order in 0..120 {
        let mut pair = Pair::new(Terms { lend_count: 64, ..Terms::default() });
        let mut messages: Vec<_> = kept(&mut pair, COUNT, 5_000).into_iter().enumerate().collect();
        for left in (1..=COUNT).rev() {
            messages.remove(order % left);
            order /= left;
            for (mark, message) in &messages {
                assert!(message.to_vec() == content(*mark, 5_000), "message {mark}");
            }
            assert_eq!(free_numbers(&mut pair.one), 64 - messages.len());
        }
    }
}

#[test]
fn kept_messages_end_on_other_threads_at_the_same_time() {
    const THREADS: usize = 8;
    let mut pair = Pair::new(Terms { lend_count: 64, ring_capacity: 128, ..Terms::default() });
    for _ in 0..200 {
        // Neighbouring bits of one word on different threads.
        let messages = kept(&mut pair, 64, 200);
        assert_eq!(free_numbers(&mut pair.one), 0);
        let mut shares: Vec<Vec<_>> = (0..THREADS).map(|_| Vec::new()).collect();
        for (index, message) in messages.into_iter().enumerate() {
            shares[index % THREADS].push((index, message));
        }
        thread::scope(|scope| {
            for share in shares {
                scope.spawn(move || {
                    for (mark, message) in share {
                        assert!(message.to_vec() == content(mark, 200));
                    }
                });
            }
        });
        assert_eq!(free_numbers(&mut pair.one), 64);
        // Releases by bits publish no entry.
        assert_eq!(pair.other.published(), 0);
    }
}

#[test]
fn kept_message_is_unchanged_while_ring_wraps_ten_times() {
    const CAPACITY: u32 = 16;
    for kept_len in [0, 1, 40, 104, 105, 70_000] {
        for other_len in [3, 104, 105, 20_000] {
            let mut pair = Pair::new(Terms { ring_capacity: CAPACITY, ..Terms::default() });
            send(&mut pair.one, 1, kept_len).unwrap();
            let message = keep(&mut pair.other);
            assert_eq!(message.is_lent(), kept_len > 104);
            for other in 0..10 * CAPACITY as usize {
                send(&mut pair.one, other, other_len).unwrap();
                assert!(take(&mut pair.other).unwrap());
                assert!(pair.other.body().to_vec() == content(other, other_len));
                pair.other.finish().unwrap();
                // The last release is shown without an entry of this side.
                pair.other.flush().unwrap();
                assert!(message.to_vec() == content(1, kept_len), "{kept_len}, {other_len}");
            }
        }
    }
}

#[test]
fn the_ring_advances_while_messages_are_kept_or_current() {
    let mut pair = Pair::new(Terms { ring_capacity: 8, ..Terms::default() });
    send(&mut pair.one, 0, 50).unwrap();
    assert!(take(&mut pair.other).unwrap());
    pair.other.flush().unwrap();
    pair.one.refresh().unwrap();
    assert_eq!(pair.one.known_consumed(), 1, "consumed when it was copied");
    assert!(pair.other.body().to_vec() == content(0, 50));
    pair.other.finish().unwrap();
    let kept: Vec<_> = (0..1000)
        .map(|mark| {
            send(&mut pair.one, mark, 104).unwrap();
            keep(&mut pair.other)
        })
        .collect();
    for (mark, message) in kept.iter().enumerate() {
        assert_eq!(message.bytes().as_slice(), Some(&*content(mark, 104)));
    }
}

#[test]
fn a_detached_message_has_ended_as_the_current_one() {
    let mut pair = Pair::new(Terms::default());
    send(&mut pair.one, 0, 5_000).unwrap();
    send(&mut pair.one, 1, 5_000).unwrap();
    let first = keep(&mut pair.other);
    assert!(!pair.other.has_current() && pair.other.body().is_empty());
    pair.other.finish().unwrap();
    pair.other.release();
    pair.other.flush().unwrap();
    assert_eq!(pair.other_control.word(RELEASED), 0, "it is not released by that");
    let second = keep(&mut pair.other);
    assert!(first.to_vec() == content(0, 5_000) && second.to_vec() == content(1, 5_000));
    drop(second);
    assert_eq!(pair.other_control.word(RELEASED), 0b10);
    drop(first);
    assert_eq!(pair.other_control.word(RELEASED), 0b11);
}

#[test]
fn a_message_that_was_released_before_is_detached_empty() {
    let mut pair = Pair::new(Terms::default());
    send(&mut pair.one, 0, 5_000).unwrap();
    assert!(take(&mut pair.other).unwrap());
    pair.other.release();
    let message = pair.other.detach();
    assert!(message.is_empty() && !message.is_lent());
}

#[test]
#[should_panic(expected = "no current message")]
fn without_a_current_message_there_is_nothing_to_detach() {
    let _ = Pair::new(Terms::default()).one.detach();
}

#[test]
fn a_message_can_be_narrowed_and_is_released_as_a_whole() {
    for len in [100, 1_000] {
        let mut pair = Pair::new(Terms::default());
        send(&mut pair.one, 3, len).unwrap();
        let whole = content(3, len);
        let mut message = keep(&mut pair.other);
        message.skip(10);
        assert!(message.to_vec() == whole[10..]);
        message.narrow(5..=44);
        assert!(message.to_vec() == whole[15..55]);
        assert_eq!(message.len(), 40);
        message.narrow(..);
        message.skip(40);
        assert!(message.is_empty() && message.bytes().is_empty());
        assert_eq!(free_numbers(&mut pair.one), 512 - usize::from(len > 104));
        drop(message);
        assert_eq!(free_numbers(&mut pair.one), 512);
    }
}

#[test]
#[should_panic(expected = "range 41..40 of 40 bytes")]
fn a_message_is_not_widened_again() {
    let mut message = Message::from(content(0, 50));
    message.skip(10);
    message.skip(41);
}

#[test]
fn kept_messages_outlive_the_session_in_any_order() {
    for len in [104, 5_000, 3 << 20] {
        for sender_first in [true, false] {
            let mut pair = Pair::new(Terms::default());
            let messages = kept(&mut pair, 3, len);
            let Pair { one, mut other, other_control, .. } = pair;
            if sender_first {
                drop(one);
                other.drain().unwrap();
                assert!(other.is_closed());
                drop(other);
            } else {
                drop(other);
                drop(one);
            }
            thread::spawn(move || {
                for (mark, message) in messages.iter().enumerate() {
                    assert!(message.to_vec() == content(mark, len), "{len}");
                }
                drop(messages);
            })
            .join()
            .unwrap();
            let bits = if len > 104 { 0b111 } else { 0 };
            assert_eq!(other_control.word(RELEASED), bits, "each was released once");
        }
    }
}

#[test]
fn session_end_is_seen_while_messages_are_kept() {
    let mut pair = Pair::new(Terms::default());
    let messages = kept(&mut pair, 2, 5_000);
    drop(pair.other);
    pair.one.drain().unwrap();
    assert!(pair.one.is_closed());
    drop(messages);
}

#[test]
fn messages_of_a_trusted_peer_are_slices() {
    let mut pair = Pair::new(Terms::default());
    // SAFETY: the peer is this test, which writes no lent payload.
    pair.other.trust(unsafe { breezeway_os::TrustedPeer::assume() });
    let messages = kept(&mut pair, 3, 5_000);
    for (mark, message) in messages.iter().enumerate() {
        assert_eq!(message.bytes().as_slice(), Some(&*content(mark, 5_000)));
    }
}

/// Returns a sender that has lent all its numbers, as messages that the receiver keeps.
fn exhausted() -> (Pair, Vec<Message>, Want) {
    let mut pair = Pair::new(Terms { lend_count: 64, ring_capacity: 128, ..Terms::default() });
    let messages = kept(&mut pair, 64, 200);
    let refused = send(&mut pair.one, 0, 200);
    let Err(SendError::NoMemory { shortage: Shortage::Numbers(64), until, .. }) = refused else {
        panic!("{refused:?}")
    };
    (pair, messages, until.expect("the peer can release"))
}

#[test]
fn memory_waiter_is_woken_by_release_on_another_thread() {
    for policy in [WaitPolicy::Park, WaitPolicy::Adaptive, WaitPolicy::Busy] {
        let (pair, messages, mut until) = exhausted();
        let Pair { mut one, other, .. } = pair;
        let (send_sign, sign) = channel();
        let releasing = thread::spawn(move || {
            for message in messages {
                // One for each message that the sender could send.
                sign.recv().unwrap();
                drop(message);
            }
            other
        });
        let mut waiter = Waiter::new(policy);
        for mark in 0..64 {
            send_sign.send(()).unwrap();
            loop {
                waiter.wait(&mut one, until, Deadline::NEVER).unwrap();
                match send(&mut one, mark, 200) {
                    Ok(()) => break,
                    Err(SendError::NoMemory { until: Some(again), .. }) => until = again,
                    Err(error) => panic!("{error}"),
                }
            }
        }
        let mut other = releasing.join().unwrap();
        for mark in 0..64 {
            assert!(take(&mut other).unwrap());
            assert!(other.body().to_vec() == content(mark, 200));
            other.finish().unwrap();
        }
    }
}

#[test]
fn a_wait_for_memory_is_rung_for_once_and_others_are_not() {
    let (mut pair, mut messages, stale) = exhausted();
    messages.pop();
    send(&mut pair.one, 0, 200).unwrap();
    assert!(pair.one.has(stale).unwrap(), "something has come back since");
    let Err(SendError::NoMemory { until: Some(until), .. }) = send(&mut pair.one, 0, 200) else {
        panic!("all numbers are lent")
    };
    assert!(pair.one.prepare_sleep(until, None).unwrap());
    assert_eq!(pair.one.meter().totals().slept, 1);
    assert_ne!(pair.one_control.word(RELEASE_WAKE), 0);
    thread::spawn(move || messages.truncate(10)).join().unwrap();
    assert!(pair.one.has(until).unwrap());
    let unread = rustix::io::ioctl_fionread(pair.one.socket()).unwrap();
    assert_eq!(unread, 1, "the release before was not waited for, and this wait is rung for once");
    pair.one.sleep(Deadline::NEVER).unwrap();
    send(&mut pair.one, 0, 200).unwrap();
}

#[test]
fn memory_waiter_is_woken_by_peers_end_or_deadline() {
    let (pair, messages, until) = exhausted();
    let Pair { mut one, other, .. } = pair;
    let mut waiter = Waiter::new(WaitPolicy::Park);
    let soon = Deadline::after(Duration::from_millis(10));
    let outcome = waiter.wait(&mut one, until, soon);
    assert!(matches!(outcome, Err(WaitError::DeadlinePassed)), "{outcome:?}");
    let ending = thread::spawn(|| drop(other));
    let outcome = waiter.wait(&mut one, until, Deadline::NEVER);
    assert!(matches!(outcome, Err(WaitError::Closed)), "{outcome:?}");
    ending.join().unwrap();
    drop(messages);
}

#[test]
fn memory_waiter_is_woken_by_an_entry() {
    let (pair, messages, until) = exhausted();
    let Pair { mut one, mut other, .. } = pair;
    let answering = thread::spawn(move || {
        send(&mut other, 7, 10).unwrap();
        other
    });
    Waiter::new(WaitPolicy::Park).wait(&mut one, until, Deadline::NEVER).unwrap();
    assert!(one.take().unwrap());
    assert!(one.body().to_vec() == content(7, 10));
    drop((answering.join().unwrap(), messages));
}

#[test]
fn incidentally_collected_release_ends_memory_wait() {
    let terms = Terms { ring_capacity: 128, ..Terms::default() };
    let limits = Limits { first_segment: 1, shrink_after: Duration::ZERO, ..Limits::new(1 << 20) };
    let mut pair = Pair::with_limits(terms, limits);
    let messages = kept(&mut pair, 2, 300_000);
    let Err(SendError::NoMemory { until: Some(until), .. }) = send(&mut pair.one, 0, 600_000)
    else {
        panic!("there is no room for it")
    };
    assert!(pair.one.prepare_sleep(until, None).unwrap());
    drop(messages);
    // Checks for segments that it no longer needs, and so collects releases.
    for _ in 0..100 {
        pair.one.flush().unwrap();
    }
    assert!(pair.one.has(until).unwrap());
    assert!(!pair.one.prepare_sleep(until, None).unwrap(), "asleep though memory is there");
}

#[test]
fn hidden_release_is_published_to_a_waiting_peer() {
    let mut pair = Pair::new(Terms { lend_count: 64, ring_capacity: 128, ..Terms::default() });
    let messages = kept(&mut pair, 63, 200);
    send(&mut pair.one, 63, 200).unwrap();
    assert!(take(&mut pair.other).unwrap());
    let Err(SendError::NoMemory { until: Some(until), .. }) = send(&mut pair.one, 0, 200) else {
        panic!("all numbers are lent")
    };
    assert!(pair.one.prepare_sleep(until, None).unwrap());
    pair.other.finish().unwrap();
    assert_eq!(pair.other.meter().totals().doorbells, 1);
    pair.one.sleep(Deadline::NEVER).unwrap();
    send(&mut pair.one, 0, 200).unwrap();
    drop(messages);
}
