//! Time that a waiter spins before it sleeps, observed by its sleeps.

use std::time::{Duration, Instant};

use crate::support::{FIN, OPEN, Pair, Terms};
use breezeway_os::{Deadline, WaitPolicy, Waiting, cpu};
use breezeway_shm::layout::{DATA_WAKE_AT, MESSAGE, NO_WAKE, SPACE_WAKE_AT};
use breezeway_shm::{Body, Head, SendError, WaitError, Waiter, Want};

const REQUEST: Head = Head { kind: MESSAGE, flags: OPEN | FIN, stream: 1, tag: 0, time: 0 };

/// Returns how often a waiter with this policy and bound sleeps while it waits for a message that
/// is sent once `is_time`, which receives true while the waiter sleeps, returns true.
fn sleeps(waiting: Waiting, is_time: impl Fn(bool) -> bool + Send) -> u64 {
    let mut pair = Pair::new(Terms::default());
    let mut sender = pair.other;
    let (one, control) = (&mut pair.one, &pair.one_control);
    std::thread::scope(|scope| {
        let sending = scope.spawn(move || {
            while !is_time(control.word(DATA_WAKE_AT) != NO_WAKE) {
                std::thread::yield_now();
            }
            sender.send(REQUEST, Body::Bytes(b"late")).unwrap();
            sender.flush().unwrap();
            // Kept until the waiter is done: its end would wake the waiter as well.
            sender
        });
        Waiter::new(waiting).wait(one, Want::Data, Deadline::NEVER).unwrap();
        drop(sending.join().unwrap());
    });
    pair.one.meter().totals().slept
}

/// Returns how often a waiter sleeps, as [`sleeps`] does, while it waits for a slot of a full ring
/// that the peer empties.
fn sleeps_for_a_slot(waiting: Waiting, is_time: impl Fn(bool) -> bool + Send) -> u64 {
    let mut pair = Pair::new(Terms::default());
    let mut receiver = pair.other;
    let (one, control) = (&mut pair.one, &pair.one_control);
    let until = loop {
        match one.send(REQUEST, Body::Bytes(b"")) {
            Ok(()) => {}
            Err(SendError::Full { until, .. }) => break until,
            Err(error) => panic!("{error}"),
        }
    };
    std::thread::scope(|scope| {
        let receiving = scope.spawn(move || {
            while !is_time(control.word(SPACE_WAKE_AT) != NO_WAKE) {
                std::thread::yield_now();
            }
            while receiver.take().unwrap() {
                receiver.finish().unwrap();
            }
            receiver.flush().unwrap();
            receiver
        });
        Waiter::new(waiting).wait(one, until, Deadline::NEVER).unwrap();
        drop(receiving.join().unwrap());
    });
    pair.one.meter().totals().slept
}

/// A bound that no test reaches.
const LONG: Duration = Duration::from_secs(20);

/// Returns true long after a spin of the usual bound, or, where spinning does not pay, once the
/// waiter sleeps. (A waiter that begins later than that passes as well.)
fn is_late() -> impl Fn(bool) -> bool + Send {
    let (pays, start) = (cpu::spinning_pays(), Instant::now());
    move |sleeps| if pays { start.elapsed() > Waiting::SPIN_BOUND * 200 } else { sleeps }
}

fn adaptive(spin_bound: Duration) -> Waiting {
    Waiting { policy: WaitPolicy::Adaptive, spin_bound }
}

#[test]
fn a_waiter_whose_bound_is_shorter_than_the_wait_sleeps() {
    assert_eq!(sleeps(adaptive(Duration::ZERO), |sleeps| sleeps), 1);
    assert_eq!(sleeps(adaptive(Duration::from_micros(100)), |sleeps| sleeps), 1);
}

#[test]
fn waiter_with_long_bound_spins_where_spinning_pays() {
    assert_eq!(sleeps(adaptive(LONG), is_late()), u64::from(!cpu::spinning_pays()));
}

#[test]
fn parked_waiter_spins_for_slots_and_for_nothing_else() {
    let park = |spin_bound| Waiting { policy: WaitPolicy::Park, spin_bound };
    assert_eq!(sleeps(park(LONG), |sleeps| sleeps), 1);
    assert_eq!(sleeps_for_a_slot(park(LONG), is_late()), u64::from(!cpu::spinning_pays()));
    assert_eq!(sleeps_for_a_slot(park(Duration::ZERO), |sleeps| sleeps), 1);
}

#[test]
fn waits_for_slots_that_end_by_their_deadline_stop_spinning() {
    let mut pair = Pair::new(Terms::default());
    let one = &mut pair.one;
    let until = loop {
        match one.send(REQUEST, Body::Bytes(b"")) {
            Ok(()) => {}
            Err(SendError::Full { until, .. }) => break until,
            Err(error) => panic!("{error}"),
        }
    };
    let mut waiter = Waiter::new(Waiting { policy: WaitPolicy::Park, spin_bound: LONG });
    for _ in 0..40 {
        let deadline = Deadline::from(Some(Duration::from_millis(1)));
        assert!(matches!(waiter.wait(one, until, deadline), Err(WaitError::DeadlinePassed)));
    }
    assert!(one.meter().totals().slept > 0);
}
