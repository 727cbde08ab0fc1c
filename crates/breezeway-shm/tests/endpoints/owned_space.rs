//! Owned space, filled by any thread while the session runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

use crate::support::{FIN, OPEN, Pair, Terms, take};
use breezeway_os::{Deadline, WaitPolicy};
use breezeway_shm::layout::MESSAGE;
use breezeway_shm::{
    Body, Endpoint, ForeignBytes, Head, Limits, Message, OwnedSpace, SendError, Waiter, Want,
};
use proptest::prelude::*;

fn head() -> Head {
    Head { kind: MESSAGE, flags: OPEN | FIN, stream: 1, tag: 0, time: 0 }
}

fn content(mark: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (mark * 31 + at * 7) as u8).collect()
}

fn fill(space: &mut OwnedSpace, mark: usize) {
    let bytes = content(mark, space.len());
    if mark.is_multiple_of(2) {
        space.bytes_mut().copy_from_slice(&bytes);
    } else {
        space.write(0, ForeignBytes::stable(&bytes));
    }
}

fn send(endpoint: &mut Endpoint, space: &mut OwnedSpace) {
    endpoint.send(head(), Body::Owned(space)).unwrap();
    endpoint.flush().unwrap();
}

fn receive(endpoint: &mut Endpoint, mark: usize, len: usize) {
    assert!(take(endpoint).unwrap());
    assert!(endpoint.body().to_vec() == content(mark, len), "message {mark} of {len}");
    endpoint.finish().unwrap();
    endpoint.flush().unwrap();
}

fn more_memory(outcome: Result<OwnedSpace, SendError>) -> Want {
    match outcome {
        Err(SendError::NoMemory { until: Some(until), .. }) => until,
        other => panic!("{other:?}"),
    }
}

#[test]
fn spaces_filled_by_threads_are_sent_in_any_order() {
    const LENS: [usize; 6] = [0, 40, 104, 105, 5_000, 200_000];
    let mut pair = Pair::new(Terms::default());
    for round in 0..30 {
        let filling: Vec<_> = LENS
            .iter()
            .enumerate()
            .map(|(index, &len)| {
                let mut space = pair.one.reserve_owned(len).unwrap();
                assert_eq!(space.len(), len);
                thread::spawn(move || {
                    fill(&mut space, round + index);
                    space
                })
            })
            .collect();
        for other in 0..100 {
            pair.one.send(head(), Body::Bytes(&content(other, 700))).unwrap();
            pair.one.flush().unwrap();
            receive(&mut pair.other, other, 700);
        }
        let mut spaces: Vec<_> =
            filling.into_iter().map(|thread| thread.join().unwrap()).enumerate().collect();
        spaces.rotate_left(round % LENS.len());
        for (index, mut space) in spaces {
            send(&mut pair.one, &mut space);
            assert!(space.is_empty() && space.bytes_mut().is_empty());
            receive(&mut pair.other, round + index, LENS[index]);
        }
    }
}

#[test]
fn dropped_space_returns_with_its_number() {
    let terms = Terms { lend_count: 64, ring_capacity: 128, ..Terms::default() };
    let mut pair = Pair::new(terms);
    for _ in 0..50 {
        let mut spaces: Vec<_> = (0..64).map(|_| pair.one.reserve_owned(5_000).unwrap()).collect();
        more_memory(pair.one.reserve_owned(105));
        let there = spaces.split_off(20);
        thread::spawn(move || drop(there)).join().unwrap();
        drop(spaces);
    }
    let spaces: Vec<_> = (0..64).map(|_| pair.one.reserve_owned(105).unwrap()).collect();
    drop(spaces);
    assert!(pair.one.payload_memory().own <= 2 << 20, "it was used again");
}

#[test]
fn the_segment_of_space_that_is_being_filled_is_not_given_back() {
    let terms = Terms { cap: 1 << 20, ..Terms::default() };
    let limits = Limits { shrink_after: Duration::ZERO, ..Limits::new(1 << 20) };
    let mut pair = Pair::with_limits(terms, limits);
    let mut space = pair.one.reserve_owned(400_000).unwrap();
    for _ in 0..2_000 {
        pair.one.send(head(), Body::Bytes(b"x")).unwrap();
        pair.one.flush().unwrap();
        while take(&mut pair.other).unwrap() {
            pair.other.finish().unwrap();
        }
        pair.other.flush().unwrap();
    }
    // As large as the cap: only if all that is there goes first.
    more_memory(pair.one.reserve_owned(1 << 20));
    fill(&mut space, 5);
    send(&mut pair.one, &mut space);
    receive(&mut pair.other, 5, 400_000);
    pair.one.reserve_owned(1 << 20).expect("all is free");
}

#[test]
fn a_full_ring_leaves_the_space_to_the_caller() {
    for len in [50, 1_000] {
        let mut pair = Pair::new(Terms { ring_capacity: 8, ..Terms::default() });
        let mut space = pair.one.reserve_owned(len).unwrap();
        fill(&mut space, 7);
        while pair.one.send(head(), Body::Bytes(b"x")).is_ok() {}
        let refused = pair.one.send(head(), Body::Owned(&mut space));
        assert!(matches!(refused, Err(SendError::Full { .. })), "{refused:?}");
        assert_eq!(space.len(), len);
        while take(&mut pair.other).unwrap() {
            pair.other.finish().unwrap();
        }
        pair.other.flush().unwrap();
        send(&mut pair.one, &mut space);
        receive(&mut pair.other, 7, len);
    }
}

#[test]
#[should_panic(expected = "reserved by another endpoint")]
fn space_of_another_endpoint_is_not_sent() {
    let mut pair = Pair::new(Terms::default());
    let mut space = pair.one.reserve_owned(1_000).unwrap();
    let _ = pair.other.send(head(), Body::Owned(&mut space));
}

#[test]
#[should_panic(expected = "space is sent once")]
fn space_is_not_sent_twice() {
    let mut pair = Pair::new(Terms::default());
    let mut space = pair.one.reserve_owned(1_000).unwrap();
    send(&mut pair.one, &mut space);
    send(&mut pair.one, &mut space);
}

#[test]
fn space_outlives_its_endpoint() {
    let mut pair = Pair::new(Terms::default());
    let mut spaces: Vec<_> =
        [104, 5_000, 3 << 20].map(|len| pair.one.reserve_owned(len).unwrap()).into();
    drop(pair);
    thread::spawn(move || {
        for (mark, space) in spaces.iter_mut().enumerate() {
            fill(space, mark);
            let len = space.len();
            assert!(space.bytes_mut() == content(mark, len));
        }
        drop(spaces);
    })
    .join()
    .unwrap();
}

#[test]
fn memory_waiter_is_woken_by_space_dropped_elsewhere() {
    for policy in [WaitPolicy::Park, WaitPolicy::Adaptive, WaitPolicy::Busy] {
        let mut pair = Pair::new(Terms { lend_count: 64, ..Terms::default() });
        let mut waiter = Waiter::new(policy);
        for _ in 0..20 {
            let spaces: Vec<_> = (0..64).map(|_| pair.one.reserve_owned(105).unwrap()).collect();
            let until = more_memory(pair.one.reserve_owned(105));
            let dropping = thread::spawn(|| drop(spaces));
            waiter.wait(&mut pair.one, until, Deadline::NEVER).unwrap();
            pair.one.reserve_owned(105).unwrap();
            dropping.join().unwrap();
        }
    }
}

#[test]
fn return_waker_wakes_the_sleeper_once() {
    #[derive(Default)]
    struct Count(AtomicU32);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let count = Arc::new(Count::default());
    let mut pair = Pair::new(Terms { lend_count: 64, ..Terms::default() });
    let waker = Waker::from(Arc::clone(&count));
    let mut spaces: Vec<_> = (0..64).map(|_| pair.one.reserve_owned(105).unwrap()).collect();
    let until = more_memory(pair.one.reserve_owned(105));
    assert!(pair.one.prepare_sleep(until, Some(&waker)).unwrap());
    assert_eq!(count.0.load(Ordering::Relaxed), 0);
    spaces.truncate(60);
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
    assert!(pair.one.has(until).unwrap());
    assert!(!pair.one.prepare_sleep(until, Some(&waker)).unwrap(), "some has come back");
}

#[test]
fn own_reservations_are_not_waited_for() {
    let mut pair = Pair::new(Terms { lend_count: 64, ..Terms::default() });
    let mut spaces: Vec<_> = (0..64).map(|_| pair.one.reserve(105).unwrap()).collect();
    while take(&mut pair.other).unwrap() {}
    pair.other.flush().unwrap();
    let refused = pair.one.reserve(105);
    assert!(matches!(refused, Err(SendError::NoMemory { until: None, .. })), "{refused:?}");
    spaces.iter_mut().for_each(|space| pair.one.abandon(space));
}

#[test]
fn truncated_space_returns_the_rest_when_sent() {
    const CAP: usize = 1 << 20;
    for kept in [105, 128, 129, 5_000, CAP - 4_096] {
        let mut pair = Pair::new(Terms { cap: CAP as u64, ..Terms::default() });
        let mut space = pair.one.reserve_owned(CAP).unwrap();
        space.truncate(kept);
        fill(&mut space, 3);
        assert_eq!(space.len(), kept);
        // Not before it is sent: another thread may still fill it.
        let until = more_memory(pair.one.reserve_owned(200));
        send(&mut pair.one, &mut space);
        assert!(pair.one.has(until).unwrap(), "who waits for memory is to try again");
        let rest = CAP - kept.next_multiple_of(128);
        let other = pair.one.reserve_owned(rest).expect("the rest is free");
        more_memory(pair.one.reserve_owned(200));
        receive(&mut pair.other, 3, kept);
        drop(other);
        pair.one.reserve_owned(CAP).expect("all of it is free");
    }
}

#[test]
fn space_truncated_to_inline_returns_all_memory() {
    for kept in [0, 1, 104] {
        let mut pair = Pair::new(Terms { cap: 1 << 20, lend_count: 64, ..Terms::default() });
        let mut space = pair.one.reserve_owned(1 << 20).unwrap();
        space.truncate(kept);
        fill(&mut space, 4);
        send(&mut pair.one, &mut space);
        pair.one.reserve_owned(1 << 20).expect("nothing of it is lent");
        receive(&mut pair.other, 4, kept);
    }
}

#[test]
fn truncating_to_more_changes_nothing() {
    let mut pair = Pair::new(Terms::default());
    for len in [0, 50, 104, 105, 5_000] {
        let mut space = pair.one.reserve_owned(len).unwrap();
        space.truncate(len + 1);
        assert_eq!((space.len(), space.bytes_mut().len()), (len, len));
        let mut space = pair.one.reserve(len).unwrap();
        pair.one.truncate(&mut space, len + 1);
        assert_eq!(space.len(), len);
        pair.one.abandon(&mut space);
    }
}

#[test]
fn truncated_space_keeps_its_written_bytes() {
    const CAP: usize = 1 << 20;
    for (len, kept) in [(104, 0), (104, 50), (105, 0), (105, 104), (CAP, 104), (CAP, 105)] {
        let mut pair = Pair::new(Terms { cap: CAP as u64, ..Terms::default() });
        let mut space = pair.one.reserve(len).unwrap();
        pair.one.fill(&mut space).into_bytes()[..kept].copy_from_slice(&content(9, kept));
        pair.one.truncate(&mut space, kept);
        assert_eq!(space.len(), kept);
        let mut other = pair.one.reserve(CAP - kept.next_multiple_of(128)).expect("the rest");
        pair.one.send(head(), Body::Space(&mut space)).unwrap();
        pair.one.flush().unwrap();
        receive(&mut pair.other, 9, kept);
        pair.one.abandon(&mut other);
        pair.one.reserve_owned(CAP).expect("all of it is free");
    }
}

/// Operations on spaces, by index.
#[derive(Clone, Debug)]
enum Step {
    Reserve(usize),
    Truncate(usize, usize),
    Send(usize),
    Drop(usize),
    /// The receiver drops a message that it holds.
    Release(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![0usize..300, 0usize..200_000];
    prop_oneof![
        3 => len.clone().prop_map(Step::Reserve),
        2 => (any::<usize>(), len).prop_map(|(index, len)| Step::Truncate(index, len)),
        2 => any::<usize>().prop_map(Step::Send),
        1 => any::<usize>().prop_map(Step::Drop),
        1 => any::<usize>().prop_map(Step::Release),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn spaces_never_overlap_and_all_memory_comes_back(
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let mut pair = Pair::new(Terms { cap: 1 << 20, lend_count: 64, ..Terms::default() });
        let mut spaces: Vec<(OwnedSpace, usize)> = Vec::new();
        let mut held: Vec<(Message, usize, usize)> = Vec::new();
        for (mark, step) in steps.into_iter().enumerate() {
            match step {
                Step::Reserve(len) => if let Ok(mut space) = pair.one.reserve_owned(len) {
                    fill(&mut space, mark);
                    spaces.push((space, mark));
                },
                Step::Truncate(index, len) if !spaces.is_empty() => {
                    let index = index % spaces.len();
                    let before = spaces[index].0.len();
                    spaces[index].0.truncate(len);
                    prop_assert_eq!(spaces[index].0.len(), len.min(before));
                }
                Step::Send(index) if !spaces.is_empty() => {
                    let (mut space, mark) = spaces.swap_remove(index % spaces.len());
                    let len = space.len();
                    send(&mut pair.one, &mut space);
                    prop_assert!(take(&mut pair.other).unwrap());
                    held.push((pair.other.detach(), mark, len));
                }
                Step::Drop(index) if !spaces.is_empty() => {
                    spaces.swap_remove(index % spaces.len());
                }
                Step::Release(index) if !held.is_empty() => {
                    held.swap_remove(index % held.len());
                }
                _ => {}
            }
            for (space, mark) in &mut spaces {
                let len = space.len();
                prop_assert!(space.bytes_mut() == &content(*mark, len)[..]);
            }
            for (message, mark, len) in &held {
                prop_assert!(message.bytes().to_vec() == content(*mark, *len));
            }
        }
        drop((spaces, held));
        pair.other.flush().unwrap();
        prop_assert!(pair.one.reserve_owned(1 << 20).is_ok(), "all of it is free");
    }
}
