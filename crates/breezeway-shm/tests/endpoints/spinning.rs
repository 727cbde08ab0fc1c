//! Time that a waiter spins before it sleeps, observed by its sleeps.

use std::time::{Duration, Instant};

use crate::support::{FIN, OPEN, Pair, Terms};
use breezeway_os::{Deadline, WaitPolicy, Waiting, cpu};
use breezeway_shm::layout::{DATA_WAKE_AT, MESSAGE, NO_WAKE};
use breezeway_shm::{Body, Head, Waiter, Want};

/// Returns how often an adaptive waiter with this bound sleeps while it waits for a message that is
/// sent once `is_time`, which receives true while the waiter sleeps, returns true.
fn sleeps(spin_bound: Duration, is_time: impl Fn(bool) -> bool + Send) -> u64 {
    let mut pair = Pair::new(Terms::default());
    let mut sender = pair.other;
    let (one, control) = (&mut pair.one, &pair.one_control);
    std::thread::scope(|scope| {
        let sending = scope.spawn(move || {
            while !is_time(control.word(DATA_WAKE_AT) != NO_WAKE) {
                std::thread::yield_now();
            }
            let flags = OPEN | FIN;
            let head = Head { kind: MESSAGE, flags, stream: 1, tag: 0, time: 0 };
            sender.send(head, Body::Bytes(b"late")).unwrap();
            sender.flush().unwrap();
            // Kept until the waiter is done: its end would wake the waiter as well.
            sender
        });
        let mut waiter = Waiter::new(Waiting { policy: WaitPolicy::Adaptive, spin_bound });
        waiter.wait(one, Want::Data, Deadline::NEVER).unwrap();
        drop(sending.join().unwrap());
    });
    pair.one.meter().totals().slept
}

#[test]
fn a_waiter_whose_bound_is_shorter_than_the_wait_sleeps() {
    assert_eq!(sleeps(Duration::ZERO, |sleeps| sleeps), 1);
    assert_eq!(sleeps(Duration::from_micros(100), |sleeps| sleeps), 1);
}

#[test]
fn waiter_with_long_bound_spins_where_spinning_pays() {
    let pays = cpu::spinning_pays();
    let start = Instant::now();
    // Far longer than the usual bound. (A waiter that begins later than that passes as well.)
    let late =
        move |sleeps| if pays { start.elapsed() > Waiting::SPIN_BOUND * 200 } else { sleeps };
    assert_eq!(sleeps(Duration::from_secs(20), late), u64::from(!pays));
}
