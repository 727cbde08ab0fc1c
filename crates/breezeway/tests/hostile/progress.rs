//! Lies about progress: `consumed`, release bits and intents, still and oscillating.

use std::thread;
use std::time::{Duration, Instant};

use breezeway::unstable::broken_rule;
use breezeway::{CallError, SessionError, Violation, WaitPolicy};
use breezeway_adversary::native::layout::{control, flag};
use breezeway_adversary::native::{Entry, Peer, Seen, Terms};
use breezeway_adversary::{PATIENCE, socket, while_flipping};
use breezeway_shm::Violation as MemoryViolation;

use super::service::{ECHO, REPLY_OF};
use super::stage::{Stage, called, options, served};
use super::watchdog::{GENEROUS, within};

/// Waits for the honest side's next message without sleeping, as its doorbell may not be wanted
/// where the intent is a lie. `None` at the end of the session.
pub(crate) fn poll_message(peer: &mut Peer) -> Option<Seen> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = peer.view.try_next() {
            return Some(seen);
        }
        match socket::try_receive(&peer.socket, 4096) {
            Some(received) if received.is_end() => return peer.view.try_next(),
            _ => thread::yield_now(),
        }
        assert!(Instant::now() < deadline, "the honest side does not answer");
    }
}

/// Fills the honest server's ring with replies, without a change of `consumed`.
fn fill_reply_ring(peer: &mut Peer, calls: u32) {
    for call in 0..calls {
        peer.publish(&Entry::request(2 * call + 1, ECHO, b"x"));
        if poll_message(peer).is_none() {
            return;
        }
    }
}

#[test]
fn progress_past_the_published_ends_the_session() {
    within(GENEROUS, || {
        let stage = Stage::set();
        for lie in [65, 128, 1 << 32, 1 << 63, u64::MAX] {
            let attack = |peer: &mut Peer| {
                peer.ring.shared.store(control::CONSUMED_AT, lie);
                fill_reply_ring(peer, 65);
            };
            let outcome = served(options(), Terms::default(), attack);
            let Err(SessionError::Violation(Violation::Memory(violation))) = outcome else {
                panic!("{lie}: {outcome:?}")
            };
            assert!(
                matches!(broken_rule(&violation), MemoryViolation::Consumed { found, consumed: 0, published: 64 } if *found == lie),
                "{violation:?}"
            );
            stage.attack_memory(Terms::default(), violation, attack);
        }
        stage.close();
    });
}

#[test]
fn progress_that_goes_back_ends_the_session() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let attack = |peer: &mut Peer| {
            peer.ring.shared.store(control::CONSUMED_AT, 40);
            fill_reply_ring(peer, 70);
            peer.ring.shared.store(control::CONSUMED_AT, 39);
            fill_reply_ring(peer, 40);
        };
        let outcome = served(options(), Terms::default(), attack);
        let Err(SessionError::Violation(Violation::Memory(violation))) = outcome else {
            panic!("{outcome:?}")
        };
        assert!(
            matches!(
                broken_rule(&violation),
                MemoryViolation::Consumed { found: 39, consumed: 40, published: 104 }
            ),
            "{violation:?}"
        );
        stage.attack_memory(Terms::default(), violation, attack);
        stage.close();
    });
}

#[test]
fn false_progress_of_server_ends_the_session() {
    within(GENEROUS, || {
        for lie in [65, 1 << 32, u64::MAX] {
            let outcome = called(
                options(),
                Terms::default(),
                |peer| {
                    peer.ring.shared.store(control::CONSUMED_AT, lie);
                    peer.ring_doorbell();
                },
                |session| (0..100).try_for_each(|_| session.post(ECHO, b"x")),
            );
            let Err(CallError::Violation(Violation::Memory(violation))) = outcome else {
                panic!("{lie}: {outcome:?}")
            };
            assert!(
                matches!(broken_rule(&violation), MemoryViolation::Consumed { found, consumed: 0, .. } if *found == lie),
                "{violation:?}"
            );
        }
    });
}

#[test]
fn post_to_unconsuming_server_ends_at_deadline() {
    within(GENEROUS, || {
        let timeout = Some(std::time::Duration::from_millis(100));
        for wait in [WaitPolicy::Busy, WaitPolicy::Adaptive, WaitPolicy::Park] {
            let outcome = called(
                options().wait(wait).call_timeout(timeout),
                Terms::default(),
                |_| {},
                |session| {
                    let outcome = (0..100).try_for_each(|_| session.post(ECHO, b"x"));
                    assert!(!session.is_ended());
                    outcome
                },
            );
            assert!(matches!(outcome, Err(CallError::DeadlinePassed)), "{outcome:?}");
        }
    });
}

#[test]
fn oscillating_progress_ends_the_session_or_nothing() {
    within(GENEROUS, || {
        let stage = Stage::set();
        for attempt in 0..4u64 {
            let mut peer = Peer::connect(stage.path(), Terms::default());
            let own = std::sync::Arc::clone(&peer.ring.shared);
            let lies = [0, 1, 63, 64, 65 + attempt, u64::MAX, 1 << 40];
            let flip = |round: u64| {
                own.store(control::CONSUMED_AT, lies[round as usize % lies.len()]);
            };
            while_flipping(&[&flip], || fill_reply_ring(&mut peer, 300));
            stage.bystander.goes_on();
        }
        stage.close();
    });
}

#[test]
fn false_release_bits_harm_only_their_writer() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let mut peer = Peer::connect(stage.path(), Terms::default());
        let own = std::sync::Arc::clone(&peer.ring.shared);
        let flip = |round: u64| {
            let word = round as usize % (control::RELEASED_LEN / 8);
            own.store(control::RELEASED_AT + 8 * word, round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        };
        let mut foreign = 0;
        while_flipping(&[&flip], || {
            for call in 0..400u32 {
                let len = [200u64, 5_000, 70_000, 300_000][call as usize % 4];
                peer.publish(&Entry::request(2 * call + 1, REPLY_OF, &len.to_le_bytes()));
                let seen = peer.next_message().expect("no rule was broken");
                assert_eq!(seen.stream(), 2 * call + 1);
                foreign += usize::from(seen.flags() & flag::LENT != 0);
            }
        });
        assert!(foreign > 300, "most replies were lent: {foreign}");
        assert_eq!(peer.call(1, ECHO, b"still here"), b"still here");
        stage.close();
        // And towards a client, which gets the memory of its requests back too early, and too
        // often.
        called(
            options(),
            Terms::default(),
            |peer| {
                let own = std::sync::Arc::clone(&peer.ring.shared);
                let flip = |round: u64| {
                    let word = round as usize % (control::RELEASED_LEN / 8);
                    own.store(
                        control::RELEASED_AT + 8 * word,
                        !own.load(control::RELEASED_AT + 8 * word),
                    );
                };
                while_flipping(&[&flip], || {
                    while let Some(request) = peer.next_message() {
                        peer.publish(&Entry::reply(request.stream(), b"done"));
                    }
                });
            },
            |session| {
                let request = vec![7; 300_000];
                for call in 0..300 {
                    let len = [200, 5_000, 70_000, 300_000][call % 4];
                    let reply = session.call(ECHO, &request[..len]).unwrap();
                    assert_eq!(reply.to_vec(), b"done");
                }
            },
        );
    });
}

#[test]
fn memory_returns_by_release_bit_or_entry_only() {
    within(GENEROUS, || {
        // Room for one request of this size at a time.
        const LEN: usize = 200_000;
        called(
            options().cap(256 * 1024),
            Terms::default(),
            |peer| {
                for round in 0..20u8 {
                    let kept = peer.next_message().unwrap();
                    let lend = kept.descriptor().expect("lent").lend;
                    peer.publish(&Entry::reply(kept.stream(), b"kept"));
                    // The client has this reply, and tried to send as much again.
                    let small = peer.next_message().unwrap();
                    assert_eq!(small.descriptor(), None, "the memory was still lent");
                    assert!(peer.bytes(&kept).iter().all(|&byte| byte == round), "and written");
                    let mut reply = Entry::reply(small.stream(), b"released");
                    if round % 3 == 0 {
                        reply.released = lend as u16 + 1;
                    } else {
                        peer.release(lend);
                    }
                    peer.publish(&reply);
                }
            },
            |session| {
                for round in 0..20 {
                    assert_eq!(session.call(ECHO, &[round; LEN]).unwrap().to_vec(), b"kept");
                    // It waits for a release, which does not come.
                    session.set_call_timeout(Some(Duration::from_millis(20)));
                    let outcome = session.call(ECHO, &[0xff; LEN]).map(drop);
                    assert!(matches!(outcome, Err(CallError::DeadlinePassed)), "{outcome:?}");
                    session.set_call_timeout(None);
                    assert_eq!(session.call(ECHO, b"small").unwrap().to_vec(), b"released");
                }
            },
        );
    });
}

#[test]
fn doubly_released_number_ends_the_session() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let attack = |peer: &mut Peer| {
            peer.publish(&Entry::request(1, REPLY_OF, &5_000u64.to_le_bytes()));
            let lent = poll_message(peer).expect("the segment");
            assert_eq!(lent.kind(), breezeway_adversary::native::layout::kind::SEGMENT_ADD);
            let lent = poll_message(peer).expect("the reply").descriptor().unwrap().lend;
            let telling = Entry { released: lent as u16 + 1, ..Entry::request(3, ECHO, b"x") };
            peer.publish(&telling);
            peer.publish(&telling);
        };
        let outcome = served(options(), Terms::default(), attack);
        let Err(SessionError::Violation(Violation::Memory(violation))) = outcome else {
            panic!("{outcome:?}")
        };
        assert!(matches!(broken_rule(&violation), MemoryViolation::Release(_)), "{violation:?}");
        stage.attack_memory(Terms::default(), violation, attack);
        stage.close();
    });
}

#[test]
fn false_sleep_intents_delay_no_other_session() {
    within(GENEROUS, || {
        for wait in [WaitPolicy::Adaptive, WaitPolicy::Park] {
            let stage = Stage::with(breezeway::ServerOptions::new().session(options().wait(wait)));
            let mut peer = Peer::connect(stage.path(), Terms::default());
            let own = std::sync::Arc::clone(&peer.ring.shared);
            let data = |round: u64| own.store(control::DATA_WAKE_AT, round % 2048);
            let space = |round: u64| own.store(control::SPACE_WAKE_AT, round % 2048);
            while_flipping(&[&data, &space], || {
                for call in 0..1_000u32 {
                    peer.publish(&Entry::request(2 * call + 1, ECHO, b"x"));
                    let seen = poll_message(&mut peer).expect("no rule was broken");
                    assert_eq!(seen.stream(), 2 * call + 1);
                    peer.ring.shared.store(control::CONSUMED_AT, peer.view.head);
                }
            });
            stage.close();
        }
    });
}

#[test]
fn a_peer_that_never_reads_its_socket_is_served_all_the_same() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let mut peer = Peer::connect(stage.path(), Terms::default());
        // Awaiting every entry and all progress, it is rung until the socket is full, and beyond.
        for call in 0..2_000u32 {
            peer.ring.shared.store(control::DATA_WAKE_AT, peer.view.head);
            peer.ring.shared.store(control::SPACE_WAKE_AT, peer.ring.tail);
            peer.publish(&Entry::request(2 * call + 1, ECHO, b"x"));
            let deadline = Instant::now() + PATIENCE;
            let seen = loop {
                if let Some(seen) = peer.view.try_next() {
                    break seen;
                }
                assert!(Instant::now() < deadline, "not served");
                thread::yield_now();
            };
            assert_eq!(seen.stream(), 2 * call + 1);
            peer.ring.shared.store(control::CONSUMED_AT, peer.view.head);
        }
        stage.close();
        // The same towards a client.
        called(
            options(),
            Terms::default(),
            |peer| {
                for _ in 0..1_000 {
                    let seen = loop {
                        peer.ring.shared.store(control::DATA_WAKE_AT, peer.view.head);
                        match peer.view.try_next() {
                            Some(seen) => break seen,
                            None => thread::yield_now(),
                        }
                    };
                    peer.ring.shared.store(control::CONSUMED_AT, peer.view.head);
                    peer.publish(&Entry::reply(seen.stream(), b"x"));
                }
            },
            |session| {
                for _ in 0..1_000 {
                    assert_eq!(session.call(ECHO, b"ping").unwrap().to_vec(), b"x");
                }
            },
        );
    });
}
