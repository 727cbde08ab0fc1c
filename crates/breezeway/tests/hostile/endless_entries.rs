//! Servers that always have another entry, while a client drops calls: it takes as many entries as
//! a ring holds, and no more.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use breezeway::{CallError, ExclusiveSession, WaitPolicy};
use breezeway_adversary::native::layout::control;
use breezeway_adversary::native::{Entry, Peer, Terms};
use breezeway_adversary::{Shared, socket};

use super::service::ECHO;
use super::stage::{called, options};
use super::watchdog::{GENEROUS, within};

/// Entries that the server's ring holds.
const CAPACITY: u64 = 64;
/// Entries that are seen to be taken by a sweep at most. It takes a ring of them, and four times as
/// many as there are pieces in which segments are mapped (64 of the cap's 64 MiB, and one more for
/// each of 64 segments), however many more come. The watch sees progress a little late.
const MOST: u64 = 2 * CAPACITY + 4 * (64 + 64);

/// Watch of the client's `consumed`, as the server sees it, until it is stopped.
#[derive(Default)]
struct Watch {
    stop: AtomicBool,
    consumed: AtomicU64,
}

impl Watch {
    /// Notes the client's progress; true if the attack is to end.
    fn ends(&self, peer: &Peer) -> bool {
        self.consumed.store(peer.view.load(control::CONSUMED_AT), Ordering::Relaxed);
        self.stop.load(Ordering::Relaxed)
    }

    /// Entries that the client consumes while it does this.
    fn count(
        &self,
        session: &mut ExclusiveSession,
        action: impl FnOnce(&mut ExclusiveSession),
    ) -> u64 {
        let before = self.consumed.load(Ordering::Relaxed);
        action(session);
        self.consumed.load(Ordering::Relaxed) - before
    }
}

/// Adds and retires segments as fast as the client takes them.
fn churn(peer: &mut Peer, watch: &Watch) {
    let shared = Shared::fit(4096);
    let mut number = 0;
    loop {
        // Ahead by more than the quarter of a ring that the client may keep to itself.
        while peer.ring.tail - peer.view.load(control::CONSUMED_AT) >= 24 {
            if watch.ends(peer) {
                return;
            }
            std::hint::spin_loop();
        }
        if watch.ends(peer) {
            return;
        }
        if socket::send(&peer.socket, &[1], &[shared.fd.as_fd()]).is_ok() {
            peer.publish(&Entry::segment_add(number, 4096));
            peer.publish_silently(&Entry::segment_retire(number));
            number += 1;
        }
        while socket::try_receive(&peer.socket, 4096).is_some_and(|received| !received.is_end()) {}
    }
}

#[test]
fn refused_call_takes_few_entries_of_churning_server() {
    within(GENEROUS, || {
        let watch = Watch::default();
        let terms = Terms { ring_capacity: CAPACITY as u32, ..Terms::default() };
        called(
            options().wait(WaitPolicy::Busy).call_timeout(Some(Duration::from_millis(2))),
            terms,
            |peer| churn(peer, &watch),
            |session| {
                for _ in 0..session.max_in_flight() {
                    let outcome = session.call(ECHO, b"never answered").map(drop);
                    assert!(matches!(outcome, Err(CallError::DeadlinePassed)), "{outcome:?}");
                }
                // For a while, as both must run at the same time.
                let start = Instant::now();
                while start.elapsed() < Duration::from_secs(1) {
                    let taken = watch.count(session, |session| {
                        let outcome = session.call(ECHO, b"one too many").map(drop);
                        let is_refused = matches!(outcome, Err(CallError::TooManyInFlight(_)));
                        assert!(is_refused, "{outcome:?}");
                    });
                    // The watch sees progress a little late.
                    assert!(taken <= MOST, "a refused call took {taken} entries");
                }
                watch.stop.store(true, Ordering::Relaxed);
            },
        );
    });
}

/// Lets a client find out that its server has closed the socket, while that commits replies as fast
/// as they are taken; gives how many were taken.
fn taken_after_the_end() -> u64 {
    let watch = Watch::default();
    let terms = Terms { ring_capacity: CAPACITY as u32, ..Terms::default() };
    called(
        options().wait(WaitPolicy::Busy),
        terms,
        |peer| {
            // The client's ring is full, and nothing is consumed any more.
            while peer.view.try_next().is_none_or(|_| peer.view.head < CAPACITY) {
                std::thread::yield_now();
            }
            let reply = Entry::reply(1, b"that nobody asked for");
            let socket = peer.socket.try_clone().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !watch.ends(peer) {
                        while peer.ring.tail - peer.view.load(control::CONSUMED_AT) < CAPACITY {
                            peer.publish_silently(&reply);
                        }
                    }
                    watch.ends(peer);
                });
                rustix::net::shutdown(&socket, rustix::net::Shutdown::Both).unwrap();
            });
        },
        |session| {
            let error = (0..2 * CAPACITY).find_map(|_| session.post(ECHO, b"x").err());
            assert!(matches!(error, Some(CallError::PeerDied)), "{error:?}");
            watch.stop.store(true, Ordering::Relaxed);
        },
    );
    watch.consumed.into_inner()
}

#[test]
fn few_entries_are_taken_after_the_servers_end() {
    within(GENEROUS, || {
        // For a while, as both must run at the same time.
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(1) {
            let taken = taken_after_the_end();
            assert!(taken <= MOST, "{taken} entries were taken after the end");
        }
    });
}
