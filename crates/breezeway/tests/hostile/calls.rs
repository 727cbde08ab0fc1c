//! Rules of calls, broken by a client against a server, and by a server against a client.

use breezeway::{CallError, CallViolation, SessionError, Violation, describe};
use breezeway_adversary::Shared;
use breezeway_adversary::journal;
use breezeway_adversary::native::layout::{control, flag, kind};
use breezeway_adversary::native::{Descriptor, Entry, Peer, Terms};
use breezeway_proto::Kind;

use super::service::ECHO;
use super::stage::{Stage, called, options, served};
use super::watchdog::{GENEROUS, within};

/// Breaks a rule as a client: of one served session, which returns its error, and of a server
/// beside an honest client.
fn as_client(stage: &Stage, expected: &CallViolation, attack: impl Fn(&mut Peer)) {
    let outcome = served(options(), Terms::default(), &attack);
    let Err(SessionError::Violation(Violation::Call(violation))) = &outcome else {
        panic!("expected {expected:?}: {outcome:?}")
    };
    assert_eq!(violation, expected);
    let text = describe(&outcome.unwrap_err());
    stage.attack(Terms::default(), &[&text], &attack);
}

/// Breaks a rule as a server, towards a client that makes one call.
fn as_server(expected: &CallViolation, attack: impl Fn(&mut Peer) + Send) {
    let outcome = called(options(), Terms::default(), attack, |session| {
        session.call(ECHO, b"ping").map(drop)
    });
    let Err(CallError::Violation(Violation::Call(violation))) = &outcome else {
        panic!("expected {expected:?}: {outcome:?}")
    };
    assert_eq!(violation, expected);
}

/// A message with any flags; with `LENT` it has a descriptor that is in order.
fn flagged(peer: &mut Peer, flags: u8) {
    let mut entry = Entry::request(1, ECHO, b"12345678");
    if flags & flag::LENT != 0 {
        peer.add_segment(4096);
        entry = entry.lending(Descriptor { segment: 0, lend: 0, offset: 0, len: 100 });
    }
    peer.publish(&Entry { flags, ..entry });
}

#[test]
fn flags_that_make_no_request_end_the_session() {
    within(GENEROUS, || {
        let stage = Stage::set();
        for flags in 0..=u8::MAX {
            let expected = if flags & !(flag::LENT | flag::NO_REPLY) != flag::OPEN | flag::FIN {
                CallViolation::NotARequest(flags)
            } else {
                continue;
            };
            as_client(&stage, &expected, |peer| flagged(peer, flags));
        }
        stage.close();
    });
}

#[test]
fn flags_that_make_no_reply_end_the_session() {
    within(GENEROUS, || {
        for flags in 0..=u8::MAX {
            let expected = if flags & !(flag::LENT | flag::ERROR) != flag::FIN {
                CallViolation::NotAReply(flags)
            } else {
                continue;
            };
            as_server(&expected, |peer| flagged(peer, flags));
        }
    });
}

#[test]
fn kinds_that_are_undefined_or_reserved_end_the_session() {
    within(GENEROUS, || {
        let stage = Stage::set();
        for number in 0..=u8::MAX {
            let expected = match number {
                kind::DEADLINE => CallViolation::Unexpected(Kind::Deadline),
                1..=kind::SHUTDOWN => continue,
                _ => CallViolation::Kind(number),
            };
            let attack = |peer: &mut Peer| peer.publish(&Entry::session(number, 1, b"12345678"));
            as_client(&stage, &expected, attack);
            as_server(&expected, attack);
        }
        stage.close();
    });
}

#[test]
fn the_reserved_kinds_are_those_of_the_page() {
    assert_eq!(kind::DEADLINE, 5);
}

#[test]
fn bodies_of_entries_that_have_none_end_a_plain_session() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let cases = [
            (kind::RESET, Kind::Reset, 1),
            (kind::CANCEL, Kind::Cancel, 8),
            (kind::WINDOW, Kind::Window, 7),
            (kind::SHUTDOWN, Kind::Shutdown, 1),
        ];
        for (number, kind, len) in cases {
            let entry = Entry { stream: 1, ..Entry::session(number, 1, &[0; 8][..len]) };
            let expected = CallViolation::BodyLength { kind, len };
            as_client(&stage, &expected, |peer| peer.publish(&entry));
            if kind != Kind::Cancel {
                as_server(&expected, |peer| peer.publish(&entry));
            }
        }
        stage.close();
    });
}

#[test]
fn resets_and_windows_of_unknown_streams_are_ignored() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let mut peer = Peer::connect(stage.path(), Terms::default());
        for stream in [1, 2, u32::MAX] {
            peer.publish(&Entry { stream, ..Entry::session(kind::RESET, 5, &[]) });
            peer.publish(&Entry { stream, ..Entry::session(kind::WINDOW, 9, &[9; 8]) });
            assert_eq!(peer.call(1, ECHO, b"x"), b"x");
        }
        stage.close();
    });
}

#[test]
fn entries_of_streams_end_a_session_whose_hello_takes_none() {
    within(GENEROUS, || {
        let stage = Stage::set();
        // A server may send one go-away entry.
        let kinds = [(2, Kind::Reset, 1), (4, Kind::Window, 1), (8, Kind::GoAway, 2)];
        for (number, kind, too_many) in kinds {
            let body = if kind == Kind::Window { &b"12345678"[..] } else { &[] };
            as_client(&stage, &CallViolation::Unexpected(kind), |peer| {
                peer.publish(&Entry::session(number, 1, body));
            });
            as_server(&CallViolation::Unexpected(kind), |peer| {
                for _ in 0..too_many {
                    peer.publish(&Entry::session(number, 1, body));
                }
            });
        }
        stage.close();
    });
}

#[test]
fn flags_of_an_entry_that_is_no_message_are_not_read() {
    within(GENEROUS, || {
        for flags in [flag::LENT, flag::DEFINED, 0x20, 0xff] {
            let outcome = served(options(), Terms::default(), |peer| {
                let flagged = |entry| Entry { flags, ..entry };
                peer.send_segment(&Shared::fit(4096).fd);
                peer.publish(&flagged(Entry::segment_add(0, 4096)));
                peer.publish(&flagged(Entry::segment_retire(0)));
                peer.publish(&flagged(Entry::session(kind::CANCEL, 0, &[])));
                assert_eq!(peer.call(1, ECHO, b"x"), b"x");
                peer.publish(&flagged(Entry::session(kind::SHUTDOWN, 0, &[])));
            });
            assert!(outcome.is_ok(), "flags {flags:#x}: {outcome:?}");
        }
    });
}

#[test]
fn even_stream_numbers_end_the_session() {
    within(GENEROUS, || {
        let stage = Stage::set();
        for stream in [0, 2, 4, 1 << 31, u32::MAX - 1] {
            as_client(&stage, &CallViolation::StreamNumber(stream), |peer| {
                peer.publish(&Entry::request(stream, ECHO, b"x"));
            });
        }
        stage.close();
    });
}

#[test]
fn odd_stream_numbers_in_any_order_are_served() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let mut peer = Peer::connect(stage.path(), Terms::default());
        for stream in [7, 7, 1, u32::MAX, u32::MAX, 3, 1] {
            assert_eq!(peer.call(stream, ECHO, b"x"), b"x");
        }
        // The same number twice in flight: two replies, in order.
        peer.publish_silently(&Entry::request(5, ECHO, b"first"));
        peer.publish(&Entry::request(5, ECHO, b"second"));
        for expected in [&b"first"[..], b"second"] {
            let seen = peer.next_message().unwrap();
            assert_eq!((seen.stream(), seen.body()), (5, expected));
        }
        stage.close();
    });
}

#[test]
fn replies_to_nothing_end_the_session() {
    within(GENEROUS, || {
        for stream in [0, 2, 3, 5, 1 << 31, u32::MAX] {
            as_server(&CallViolation::UnexpectedReply(stream), |peer| {
                peer.publish(&Entry::reply(stream, b"x"));
            });
        }
    });
}

#[test]
fn a_second_reply_ends_the_session() {
    within(GENEROUS, || {
        let outcome = called(
            options(),
            Terms::default(),
            |peer| {
                let stream = peer.next_message().unwrap().stream();
                peer.publish_silently(&Entry::reply(stream, b"once"));
                peer.publish(&Entry::reply(stream, b"twice"));
            },
            |session| {
                assert_eq!(session.call(ECHO, b"ping").unwrap().to_vec(), b"once");
                session.call(ECHO, b"ping").map(drop)
            },
        );
        let Err(CallError::Violation(Violation::Call(violation))) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(violation, CallViolation::UnexpectedReply(1));
    });
}

#[test]
fn a_reply_to_a_message_that_wants_none_ends_the_session() {
    within(GENEROUS, || {
        let outcome = called(
            options(),
            Terms::default(),
            |peer| {
                let posted = peer.next_message().unwrap();
                assert_ne!(posted.flags() & flag::NO_REPLY, 0);
                peer.publish(&Entry::reply(posted.stream(), b"unwanted"));
            },
            |session| {
                session.post(ECHO, b"no reply").unwrap();
                session.call(ECHO, b"ping").map(drop)
            },
        );
        let Err(CallError::Violation(Violation::Call(violation))) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(violation, CallViolation::UnexpectedReply(1));
    });
}

#[test]
fn failures_with_any_code_and_reason_fail_only_their_call() {
    within(GENEROUS, || {
        let codes = [0, 1, 2, 3, 4, 5, 1 << 31, u32::MAX];
        called(
            options(),
            Terms::default(),
            move |peer| {
                for code in codes {
                    let stream = peer.next_message().unwrap().stream();
                    let reply = Entry::reply(stream, b"\xff\x00words");
                    let flags = flag::FIN | flag::ERROR;
                    peer.publish(&Entry { flags, tag: code, ..reply });
                }
                // And one whose words lie in shared memory, and are many.
                let words = peer.add_segment(1 << 20);
                words.fill(0..1 << 20, b'w');
                let stream = peer.next_message().unwrap().stream();
                let reply = Entry::reply(stream, &[]);
                let flags = flag::FIN | flag::ERROR;
                let whole = Descriptor { segment: 0, lend: 0, offset: 0, len: 1 << 20 };
                peer.publish(&Entry { flags, tag: 1, ..reply }.lending(whole));
            },
            |session| {
                for _ in codes {
                    let error = session.call(ECHO, b"ping").map(drop).unwrap_err();
                    // The error's text is on one line; `reason` holds the original text.
                    let text = "the server failed the call: \u{fffd}\\0words";
                    assert_eq!(error.to_string(), text);
                    let CallError::Failed { reason, .. } = error else { panic!("{error:?}") };
                    assert_eq!(reason, "\u{fffd}\0words");
                }
                let outcome = session.call(ECHO, b"ping").map(drop);
                let Err(CallError::Failed { reason, .. }) = outcome else { panic!("{outcome:?}") };
                assert!(reason.len() <= 1024 && reason.bytes().all(|byte| byte == b'w'));
                assert!(!session.is_ended());
            },
        );
    });
}

#[test]
fn cancelling_anything_is_ignored_by_a_server_and_ends_a_client() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let mut peer = Peer::connect(stage.path(), Terms::default());
        for stream in [0, 1, 2, u32::MAX] {
            let cancel = Entry { stream, ..Entry::session(kind::CANCEL, 9, &[]) };
            for _ in 0..100 {
                peer.publish_silently(&cancel);
                if peer.ring.tail.is_multiple_of(32) {
                    peer.ring_doorbell();
                    peer.wait_consumed(peer.ring.tail - 32);
                }
            }
            assert_eq!(peer.call(1, ECHO, b"x"), b"x");
        }
        stage.close();
        let expected = CallViolation::Unexpected(breezeway_proto::Kind::Cancel);
        as_server(&expected, |peer| peer.publish(&Entry::session(kind::CANCEL, 0, &[])));
    });
}

#[test]
fn entries_behind_a_shutdown_are_ignored() {
    within(GENEROUS, || {
        let garbage = |peer: &mut Peer| {
            peer.publish_silently(&Entry::session(kind::SHUTDOWN, 0, &[]));
            peer.publish(&Entry::session(0, 0, &[]));
        };
        assert!(served(options(), Terms::default(), garbage).is_ok());
        let outcome = called(options(), Terms::default(), garbage, |session| {
            let outcome = session.call(ECHO, b"ping").map(drop);
            assert!(session.is_ended());
            outcome
        });
        assert!(matches!(outcome, Err(CallError::Closed)), "{outcome:?}");
        let stage = Stage::set();
        let mut peer = Peer::connect(stage.path(), Terms::default());
        garbage(&mut peer);
        peer.wait_for_end();
        stage.close();
    });
}

/// Calls and calls without saying that a reply was consumed.
fn never_consume(peer: &mut Peer) {
    for call in 0..65 {
        peer.publish(&Entry::request(2 * call + 1, ECHO, b"x"));
        // Half the ring at most: the last request has to be seen, not waited for.
        if peer.ring.tail >= 32 {
            peer.wait_consumed(peer.ring.tail - 31);
        }
    }
}

#[test]
fn more_calls_in_flight_than_both_rings_hold_end_the_session() {
    within(GENEROUS, || {
        let stage = Stage::set();
        as_client(&stage, &CallViolation::TooManyCalls(64), never_consume);
        stage.close();
    });
}

#[test]
fn unreleased_replies_exhaust_only_their_own_session() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let mut peer =
            Peer::connect(stage.path(), Terms { payload_cap: 1 << 20, ..Terms::default() });
        let from = journal::length();
        let mut failures = 0;
        // Each reply without room fails after a second.
        for call in 0..12u32 {
            peer.publish(&Entry::request(
                2 * call + 1,
                super::service::REPLY_OF,
                &100_000u64.to_le_bytes(),
            ));
            let seen = peer.next_message().unwrap();
            if seen.flags() & flag::ERROR != 0 {
                assert_eq!(seen.tag(), 3, "no memory for the reply");
                failures += 1;
            }
        }
        assert!(failures >= 2, "a cap of 1 MiB holds ten replies of 100,000 bytes");
        // One of them is released by its bit: there is room for one more.
        peer.release(4);
        assert_eq!(
            peer.call(99, super::service::REPLY_OF, &100_000u64.to_le_bytes()).len(),
            100_000
        );
        assert_eq!(peer.call(101, ECHO, b"still here"), b"still here");
        assert!(peer.view.load(control::CONSUMED_AT) > 0);
        drop(peer);
        assert_eq!(stage.end_of_session(from), SessionError::PeerDied.to_string());
        stage.close();
    });
}
