//! How long a waiter spins before it sleeps, as its counter of sleeps tells.

mod support;

use std::time::Duration;

use breezeway_shm::{Flags, Head, Kind, WaitPolicy, Waiter, Waiting, Want, cpu};
use support::{Pair, Terms};

/// The counter `sleeps` (section 7 of the ABI).
const SLEEPS: usize = 0x418;

/// How often an adaptive waiter with this bound sleeps while it waits for a message that comes after 20 ms.
fn sleeps(spin_bound: Duration) -> u64 {
    let mut pair = Pair::new(Terms::default());
    let mut sender = pair.other;
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        let flags = Flags::OPEN.with(Flags::FIN);
        sender.publish(Head { kind: Kind::Message, flags, stream: 1, tag: 0 }, b"late").unwrap();
        sender.flush().unwrap();
        sender
    });
    let mut waiter = Waiter::new(Waiting { policy: WaitPolicy::Adaptive, spin_bound });
    waiter.wait(&mut pair.one, Want::Data, None).unwrap();
    drop(thread.join().unwrap());
    pair.one_control.word(SLEEPS)
}

#[test]
fn a_waiter_whose_bound_is_shorter_than_the_wait_sleeps() {
    assert_eq!(sleeps(Duration::ZERO), 1);
    assert_eq!(sleeps(Duration::from_micros(100)), 1);
}

#[test]
fn a_waiter_whose_bound_is_longer_than_the_wait_does_not_sleep_where_spinning_pays() {
    assert_eq!(sleeps(Duration::from_secs(20)), u64::from(!cpu::spinning_pays()));
}
