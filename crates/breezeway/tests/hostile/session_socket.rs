//! The socket misused: rung without end, half closed, closed at any moment.

use std::sync::Arc;

use breezeway::{CallError, ServerOptions, SessionError, WaitPolicy};
use breezeway_adversary::native::{Entry, Peer, Terms};
use breezeway_adversary::{journal, socket, while_flipping};
use rustix::net::{Shutdown, shutdown};

use super::service::ECHO;
use super::stage::{Stage, called, options, served};
use super::watchdog::{GENEROUS, within};

#[test]
fn endless_doorbells_delay_no_other_session() {
    within(GENEROUS, || {
        for wait in [WaitPolicy::Adaptive, WaitPolicy::Park] {
            let stage = Stage::with(ServerOptions::new().session(options().wait(wait)));
            let mut peer = Peer::connect(stage.path(), Terms::default());
            let socket = Arc::new(peer.socket.try_clone().unwrap());
            let storm = |_| {
                let _ = socket::send(&*socket, &[0], &[]);
            };
            let from = journal::length();
            while_flipping(&[&storm, &storm], || {
                for call in 0..50 {
                    // A call may stay unserved: bytes without an intent may keep back one that has
                    // an intent.
                    peer.publish_silently(&Entry::request(2 * call + 1, ECHO, b"x"));
                    stage.bystander.goes_on();
                }
            });
            drop((peer, socket));
            assert_eq!(stage.end_of_session(from), SessionError::PeerDied.to_string());
            stage.close();
        }
    });
}

#[test]
fn a_server_that_rings_without_end_delays_no_deadline() {
    within(GENEROUS, || {
        for wait in [WaitPolicy::Busy, WaitPolicy::Adaptive, WaitPolicy::Park] {
            let timeout = std::time::Duration::from_millis(50);
            let options = options().wait(wait).call_timeout(Some(timeout));
            called(
                options,
                Terms::default(),
                |peer| {
                    let blocks = [0; 4096];
                    let socket = peer.socket.try_clone().unwrap();
                    let storm = |_| {
                        let _ = socket::send(&socket, &blocks, &[]);
                    };
                    while_flipping(&[&storm], || {
                        while !socket::receive(&peer.socket, 4096).is_end() {}
                    });
                },
                |session| {
                    for _ in 0..5 {
                        let outcome = session.call(ECHO, b"ping").map(drop);
                        assert!(matches!(outcome, Err(CallError::DeadlinePassed)), "{outcome:?}");
                    }
                },
            );
        }
    });
}

#[test]
fn committed_requests_are_served_before_the_end() {
    within(GENEROUS, || {
        for how in [Shutdown::Write, Shutdown::Both] {
            let attack = |peer: &mut Peer| {
                for call in 0..5 {
                    peer.publish_silently(&Entry::request(2 * call + 1, ECHO, b"x"));
                }
                shutdown(&peer.socket, how).unwrap();
                for call in 0..5 {
                    let reply = poll(peer);
                    assert_eq!(reply.stream(), 2 * call + 1);
                }
            };
            let outcome = served(options(), Terms::default(), attack);
            assert!(matches!(outcome, Err(SessionError::PeerDied)), "{outcome:?}");
            let stage = Stage::set();
            stage.attack(Terms::default(), &[&SessionError::PeerDied.to_string()], attack);
            stage.close();
        }
    });
}

/// The next entry, without a look at the socket.
fn poll(peer: &mut Peer) -> breezeway_adversary::native::Seen {
    let deadline = std::time::Instant::now() + socket::PATIENCE;
    loop {
        if let Some(seen) = peer.view.try_next() {
            return seen;
        }
        assert!(std::time::Instant::now() < deadline, "not served");
        std::thread::yield_now();
    }
}

#[test]
fn client_with_closed_read_half_is_served() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let mut peer = Peer::connect(stage.path(), Terms::default());
        shutdown(&peer.socket, Shutdown::Read).unwrap();
        for call in 0..500 {
            peer.ring
                .shared
                .store(breezeway_adversary::native::layout::control::DATA_WAKE_AT, peer.view.head);
            peer.publish(&Entry::request(2 * call + 1, ECHO, b"x"));
            assert_eq!(poll(&mut peer).stream(), 2 * call + 1);
            peer.consume();
        }
        stage.close();
    });
}

#[test]
fn committed_reply_is_received_before_the_end() {
    within(GENEROUS, || {
        for wait in [WaitPolicy::Busy, WaitPolicy::Adaptive, WaitPolicy::Park] {
            for how in [Shutdown::Write, Shutdown::Both] {
                called(
                    options().wait(wait),
                    Terms::default(),
                    |peer| {
                        let request = peer.next_message().unwrap();
                        peer.publish_silently(&Entry::reply(request.stream(), b"last words"));
                        shutdown(&peer.socket, how).unwrap();
                    },
                    |session| {
                        assert_eq!(session.call(ECHO, b"ping").unwrap().to_vec(), b"last words");
                        let outcome = session.call(ECHO, b"ping").map(drop);
                        assert!(matches!(outcome, Err(CallError::PeerDied)), "{outcome:?}");
                        assert!(session.is_ended());
                    },
                );
            }
        }
    });
}

/// Connects, does `last` and goes; the server must notice, as it has nothing else to do with that
/// session ever again.
fn goes_after(last: impl Fn(&mut Peer)) {
    let stage = Stage::set();
    for _ in 0..20 {
        let from = journal::length();
        let mut peer = Peer::connect(stage.path(), Terms::default());
        // Asleep by then: the honest client keeps the worker busy, so that a quiet session is set
        // aside.
        peer.call(1, ECHO, b"x");
        stage.bystander.goes_on();
        last(&mut peer);
        drop(peer);
        stage.end_of_session(from);
    }
    stage.close();
}

#[test]
fn the_end_is_noticed_in_a_quiet_session() {
    within(GENEROUS, || goes_after(|_| {}));
}

#[test]
fn the_end_is_noticed_behind_doorbell_bytes() {
    within(GENEROUS, || goes_after(|peer| (0..200).for_each(|_| peer.ring_doorbell())));
}

#[test]
fn the_end_is_noticed_behind_any_number_of_doorbell_bytes() {
    within(GENEROUS, || {
        goes_after(|peer| {
            let _ = socket::send(&peer.socket, &[0; 100_000], &[]);
        });
    });
}

#[test]
fn the_end_is_noticed_behind_a_bad_byte() {
    within(GENEROUS, || {
        goes_after(|peer| {
            let _ = socket::send(&peer.socket, &[7], &[]);
        });
    });
}

#[test]
fn failed_sessions_do_not_flood_the_log() {
    within(GENEROUS, || {
        let stage = Stage::set();
        for _ in 0..40 {
            let from = journal::length();
            let mut peer = Peer::connect(stage.path(), Terms::default());
            peer.publish(&Entry::session(0, 0, &[]));
            stage.end_of_session(from);
        }
        let lines = stage.worker_lines();
        let warnings = lines.iter().filter(|line| line.level == tracing::Level::WARN).count();
        let ends = lines.iter().filter(|line| line.message == "session ended").count();
        // Ten in ten seconds, of which a loaded machine may take a few times as many.
        assert!((10..=30).contains(&warnings), "{warnings} warnings");
        assert_eq!(ends, 40, "each can be seen at the level DEBUG");
        stage.close();
    });
}
