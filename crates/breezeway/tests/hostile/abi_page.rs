//! Sentences of `docs/abi.md`, one test each, for what a peer in another language must know and no
//! other file here tests.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Instant;

use breezeway::unstable::broken_rule;
use breezeway::{
    CallError, CallViolation, ConnectError, ExclusiveServerSession, ExclusiveSession,
    HandshakeError, HelloError, ServerOptions, SessionError, Violation, WaitPolicy,
};
use breezeway_adversary::native::layout::{control, entry, flag, hello, kind, refusal};
use breezeway_adversary::native::{
    Descriptor, Entry, Hello, Peer, Seen, Terms, control_segment, receive_hello,
};
use breezeway_adversary::{Mapping, PATIENCE, Shared, socket};
use breezeway_shm::Violation as MemoryViolation;
use rustix::net::{Shutdown, shutdown};

use super::progress::poll_message;
use super::service::{ECHO, REPLY_OF};
use super::stage::{Stage, called, options, served};
use super::watchdog::{GENEROUS, within};

/// Status of a hello.
fn status(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[hello::STATUS_AT..][..4].try_into().unwrap())
}

/// Returns the outcome of an honest server for a client that begins with `begin`, and its answer.
fn welcomed(
    begin: impl FnOnce(&OwnedFd),
) -> (Result<ExclusiveServerSession, ConnectError>, socket::Received) {
    let (hostile, honest) = UnixStream::pair().unwrap();
    let serving =
        thread::spawn(move || ExclusiveServerSession::from_socket(honest.into(), &options()));
    let hostile = OwnedFd::from(hostile);
    socket::be_patient(&hostile);
    begin(&hostile);
    let answer = receive_hello(&hostile);
    (serving.join().unwrap(), answer)
}

fn one_way(body: &[u8]) -> Entry {
    Entry { flags: flag::OPEN | flag::FIN | flag::NO_REPLY, ..Entry::request(1, ECHO, body) }
}

/// The next entry of the honest side, polled without a read of the socket.
fn spin_for_entry(peer: &mut Peer) -> Seen {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = peer.view.try_next() {
            return seen;
        }
        assert!(Instant::now() < deadline, "no entry comes");
        thread::yield_now();
    }
}

/// Reads the socket to its end; how many bytes came.
fn bytes_until_end(socket: &OwnedFd) -> usize {
    let reads = std::iter::repeat_with(|| socket::receive(socket, 4096).bytes.len());
    reads.take_while(|&len| len > 0).sum()
}

// ---- section 1: closing ----

#[test]
fn requests_before_the_end_are_answered() {
    within(GENEROUS, || {
        for in_order in [true, false] {
            let outcome = served(options(), Terms::default(), |peer| {
                for stream in [1, 3, 5] {
                    peer.publish_silently(&Entry::request(stream, ECHO, b"last"));
                }
                if in_order {
                    peer.publish_silently(&Entry::session(kind::SHUTDOWN, 0, &[]));
                }
                shutdown(&peer.socket, Shutdown::Both).unwrap();
                for stream in [1, 3, 5] {
                    let reply = spin_for_entry(peer);
                    assert_eq!((reply.stream(), reply.body()), (stream, &b"last"[..]));
                }
            });
            match outcome {
                Ok(()) => assert!(in_order),
                Err(SessionError::PeerDied) => assert!(!in_order),
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn closing_server_leaves_unconsumed_requests_unanswered() {
    within(GENEROUS, || {
        let (hostile, honest) = UnixStream::pair().unwrap();
        let serving =
            thread::spawn(move || ExclusiveServerSession::from_socket(honest.into(), &options()));
        let mut peer = Peer::client(hostile.into(), Terms::default());
        let session = serving.join().unwrap().unwrap();
        peer.publish(&Entry::request(1, ECHO, b"too late"));
        drop(session);
        peer.wait_for_end();
        assert_eq!(peer.view.try_next().map(|seen| seen.kind()), Some(kind::SHUTDOWN));
        assert!(peer.view.try_next().is_none());
        assert_eq!(peer.view.load(control::CONSUMED_AT), 0);
    });
}

#[test]
fn the_shutdown_entry_is_there_before_the_end_of_file() {
    within(GENEROUS, || {
        let attack = |peer: &mut Peer| {
            peer.wait_for_end();
            assert_eq!(peer.view.try_next().map(|seen| seen.kind()), Some(kind::SHUTDOWN));
        };
        called(options(), Terms::default(), attack, |_| {});
    });
}

#[test]
fn closing_ends_session_despite_forked_childs_socket() {
    within(GENEROUS, || {
        let (hostile, honest) = UnixStream::pair().unwrap();
        let _heir = honest.try_clone().unwrap();
        let serving =
            thread::spawn(move || ExclusiveServerSession::from_socket(honest.into(), &options()));
        let peer = Peer::client(hostile.into(), Terms::default());
        drop(serving.join().unwrap().unwrap());
        peer.wait_for_end();

        let (hostile, honest) = UnixStream::pair().unwrap();
        let _heir = honest.try_clone().unwrap();
        let calling =
            thread::spawn(move || ExclusiveSession::from_socket(honest.into(), &options()));
        let peer = Peer::server(hostile.into(), Terms::default());
        drop(calling.join().unwrap().unwrap());
        peer.wait_for_end();
    });
}

#[test]
fn violation_ends_without_a_shutdown_entry() {
    within(GENEROUS, || {
        let assert_no_farewell = |peer: &mut Peer| {
            peer.publish(&Entry::session(kind::DEADLINE, 0, &[]));
            peer.wait_for_end();
            assert!(peer.view.try_next().is_none(), "an entry after the violation");
        };
        let outcome = served(options(), Terms::default(), assert_no_farewell);
        assert!(matches!(outcome, Err(SessionError::Violation(Violation::Call(_)))), "{outcome:?}");
        let error = called(
            options(),
            Terms::default(),
            |peer| {
                assert!(peer.next_message().is_some());
                assert_no_farewell(peer);
            },
            |session| session.call(ECHO, b"ping").map(drop).unwrap_err(),
        );
        assert!(matches!(error, CallError::Violation(Violation::Call(_))), "{error:?}");
    });
}

// ---- section 2: the hello ----

#[test]
fn payload_cap_is_a_non_zero_multiple_of_4096() {
    within(GENEROUS, || {
        for (payload_cap, fits) in
            [(0, false), (1, false), (4095, false), (4096, true), (4097, false), (8192, true)]
        {
            let terms = Terms { payload_cap, ..Terms::default() };
            let own = control_segment(&terms);
            let (outcome, answer) = welcomed(|socket| {
                socket::send(socket, &Hello::new(&terms).0, &[own.fd.as_fd()]).unwrap();
            });
            let found = outcome.map(drop);
            match (&found, fits) {
                (Ok(()), true) => assert_eq!(status(&answer.bytes), 0),
                (
                    Err(ConnectError::Handshake(HandshakeError::Hello(HelloError::PayloadCap(
                        cap,
                    )))),
                    false,
                ) => {
                    assert_eq!((*cap, status(&answer.bytes)), (payload_cap, refusal::VIOLATION));
                }
                _ => panic!("{payload_cap}: {found:?}"),
            }
        }
    });
}

#[test]
fn hello_descriptor_is_taken_with_any_of_its_bytes() {
    within(GENEROUS, || {
        for at in [0, 1, 31, 63] {
            let terms = Terms::default();
            let own = control_segment(&terms);
            let bytes = Hello::new(&terms).0;
            let (outcome, answer) = welcomed(|socket| {
                if at > 0 {
                    socket::send(socket, &bytes[..at], &[]).unwrap();
                }
                socket::send(socket, &bytes[at..], &[own.fd.as_fd()]).unwrap();
            });
            assert!(outcome.is_ok(), "{at}: {:?}", outcome.err());
            assert_eq!((status(&answer.bytes), answer.fds.len()), (0, 1));
        }
    });
}

#[test]
fn of_a_refusal_only_length_status_and_reason_are_read() {
    within(GENEROUS, || {
        let (hostile, honest) = UnixStream::pair().unwrap();
        let garbage = Hello::refusing(3, b"come back")
            .with(hello::VERSION_AT, &77u16.to_le_bytes())
            .with(hello::RING_CAPACITY_AT, &[0xff; 24]);
        socket::send(&hostile, &garbage.0, &[]).unwrap();
        let error = ExclusiveSession::from_socket(honest.into(), &options()).err();
        let Some(ConnectError::Handshake(HandshakeError::Refused { status, reason })) = error
        else {
            panic!("{error:?}")
        };
        assert_eq!((status, &*reason), (3, "come back"));
    });
}

#[test]
fn a_refusal_may_come_before_the_hello_was_sent() {
    within(GENEROUS, || {
        // The server has closed already when the client tries to send its hello.
        let (hostile, honest) = UnixStream::pair().unwrap();
        socket::send(&hostile, &Hello::refusing(2, b"not you").0, &[]).unwrap();
        drop(hostile);
        let error = ExclusiveSession::from_socket(honest.into(), &options()).err();
        let Some(ConnectError::Handshake(HandshakeError::Refused { status, .. })) = error else {
            panic!("{error:?}")
        };
        assert_eq!(status, 2);
        // And a server with as many sessions as it may have refuses further clients.
        let stage = Stage::with(ServerOptions::new().session(options()).max_sessions(1));
        let silent = OwnedFd::from(UnixStream::connect(stage.path()).unwrap());
        socket::be_patient(&silent);
        assert_eq!(status_of_refusal(&silent), refusal::BUSY);
        stage.close();
    });
}

fn status_of_refusal(socket: &OwnedFd) -> u32 {
    let answer = receive_hello(socket);
    assert_eq!(answer.fds.len(), 0);
    assert_eq!(bytes_until_end(socket), 0);
    status(&answer.bytes)
}

#[test]
fn one_way_messages_do_not_count_as_calls_in_flight() {
    within(GENEROUS, || {
        let outcome = served(options(), Terms::default(), |peer| {
            // The client's `consumed` stays 0, because the server sends no entry.
            for _ in 0..300 {
                peer.wait_consumed(peer.ring.tail.saturating_sub(60));
                peer.publish(&one_way(b"x"));
            }
            assert_eq!(peer.call(3, ECHO, b"still here"), b"still here");
            peer.publish(&Entry::session(kind::SHUTDOWN, 0, &[]));
        });
        assert!(outcome.is_ok(), "{outcome:?}");
        called(
            options(),
            Terms::default(),
            |peer| peer.wait_for_end(),
            |session| {
                assert_eq!(session.max_in_flight(), 32);
                for _ in 0..32 {
                    session.send(ECHO, b"x").unwrap();
                }
                let error = session.send(ECHO, b"x").unwrap_err();
                assert!(matches!(error, CallError::TooManyInFlight(32)), "{error:?}");
                session.post(ECHO, b"x").unwrap();
            },
        );
    });
}

// ---- section 3: segments ----

#[test]
fn initial_wake_words_are_idle_and_the_rest_is_zero() {
    within(GENEROUS, || {
        let (hostile, honest) = UnixStream::pair().unwrap();
        let calling = thread::spawn(move || {
            ExclusiveSession::from_socket(honest.into(), &options()).map(drop)
        });
        let offer = receive_hello(&hostile);
        let view = Mapping::foreign(&offer.fds[0]);
        assert_eq!(view.load(control::DATA_WAKE_AT), u64::MAX);
        assert_eq!(view.load(control::SPACE_WAKE_AT), u64::MAX);
        assert_eq!(view.load(control::CONSUMED_AT), 0);
        assert_eq!(view.load(control::RELEASE_WAKE_AT), 0);
        let released = control::RELEASED_AT..control::RELEASED_AT + control::RELEASED_LEN;
        assert!(view.read(released).iter().all(|&byte| byte == 0));
        assert!(view.read(control::RING_AT..view.len()).iter().all(|&byte| byte == 0));
        drop(hostile);
        assert!(calling.join().unwrap().is_err());
    });
}

#[test]
fn zero_wake_words_cost_one_doorbell_each() {
    within(GENEROUS, || {
        let terms = Terms::default();
        let (hostile, honest) = UnixStream::pair().unwrap();
        let serving = thread::spawn(move || {
            let session = ExclusiveServerSession::from_socket(honest.into(), &options()).unwrap();
            session.serve(&super::service::Service::default())
        });
        let socket = OwnedFd::from(hostile);
        socket::be_patient(&socket);
        let own = control_segment(&terms);
        own.store(control::DATA_WAKE_AT, 0);
        own.store(control::SPACE_WAKE_AT, 0);
        socket::send(&socket, &Hello::new(&terms).0, &[own.fd.as_fd()]).unwrap();
        let answer = receive_hello(&socket);
        let mut peer = Peer::agreed(socket, own, terms, answer);
        for stream in [1, 3] {
            peer.publish(&Entry::request(stream, ECHO, b"x"));
            assert_eq!(spin_for_entry(&mut peer).stream(), stream);
        }
        peer.publish(&Entry::session(kind::SHUTDOWN, 0, &[]));
        assert_eq!(bytes_until_end(&peer.socket), 2);
        assert!(serving.join().unwrap().is_ok());
    });
}

#[test]
fn lend_number_n_has_bit_n_mod_8_of_byte_n_div_8() {
    within(GENEROUS, || {
        let outcome = served(options(), Terms::default(), |peer| {
            peer.add_segment(4096);
            for lend in [3, 70, 511] {
                let whole = Descriptor { segment: 0, lend, offset: 0, len: 4096 };
                peer.publish(&one_way(&[]).lending(whole));
            }
            let released = control::RELEASED_AT..control::RELEASED_AT + control::RELEASED_LEN;
            let mut expected = [0; control::RELEASED_LEN];
            (expected[0], expected[8], expected[63]) = (1 << 3, 1 << 6, 1 << 7);
            // Releases do not count as progress: they come on their own, and the watchdog is
            // patient.
            while peer.view.read(released.clone()) != expected {
                thread::yield_now();
            }
            peer.publish(&Entry::session(kind::SHUTDOWN, 0, &[]));
        });
        assert!(outcome.is_ok(), "{outcome:?}");
    });
}

#[test]
fn a_payload_segment_has_any_size_from_one_byte_on() {
    within(GENEROUS, || {
        let outcome = served(options(), Terms::default(), |peer| {
            for (number, size) in [1, 4095, 4096, 4097, 70_001].into_iter().enumerate() {
                let segment = peer.add_segment(size);
                let content: Vec<u8> = (0..size).map(|at| at as u8 ^ 0x5a).collect();
                segment.write(0, &content);
                let stream = 2 * number as u32 + 1;
                let whole =
                    Descriptor { segment: number as u32, lend: 0, offset: 0, len: size as u64 };
                peer.publish(&Entry::request(stream, ECHO, &[]).lending(whole));
                let reply = peer.next_message().expect("a reply");
                assert_eq!(peer.bytes(&reply), content);
                if let Some(descriptor) = reply.descriptor() {
                    peer.release(descriptor.lend);
                }
            }
            peer.publish(&Entry::session(kind::SHUTDOWN, 0, &[]));
        });
        assert!(outcome.is_ok(), "{outcome:?}");
    });
}

#[test]
fn shared_control_segment_mixes_only_its_two_sessions() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let mut first = Peer::connect(stage.path(), Terms::default());
        assert_eq!(first.call(1, ECHO, b"once"), b"once");
        let second = OwnedFd::from(UnixStream::connect(stage.path()).unwrap());
        socket::be_patient(&second);
        socket::send(&second, &Hello::new(&first.terms).0, &[first.ring.shared.fd.as_fd()])
            .unwrap();
        let answer = receive_hello(&second);
        let view = Mapping::foreign(&answer.fds[0]);
        // The request is committed in this session, too, and answered once more.
        socket::send(&second, &[0], &[]).unwrap();
        let deadline = Instant::now() + PATIENCE;
        while view.load(control::RING_AT) != 1 {
            assert!(Instant::now() < deadline, "not served");
            thread::yield_now();
        }
        let reply = Seen(view.read(control::RING_AT..control::RING_AT + entry::SIZE));
        assert_eq!((reply.stream(), reply.body()), (1, &b"once"[..]));
        stage.close();
    });
}

// ---- section 4: entries ----

#[test]
fn the_stream_number_is_read_in_messages_only() {
    within(GENEROUS, || {
        for stream in [0, 2, 7, u32::MAX] {
            let outcome = served(options(), Terms::default(), |peer| {
                let on_stream = |entry: Entry| Entry { stream, ..entry };
                peer.publish(&on_stream(Entry::session(kind::CANCEL, 0, &[])));
                let segment = Shared::fit(4096);
                peer.send_segment(&segment.fd);
                peer.publish(&on_stream(Entry::segment_add(0, 4096)));
                peer.publish(&on_stream(Entry::segment_retire(0)));
                assert_eq!(peer.call(1, ECHO, b"x"), b"x");
                peer.publish(&on_stream(Entry::session(kind::SHUTDOWN, 0, &[])));
            });
            assert!(outcome.is_ok(), "{outcome:?}");
        }
    });
}

#[test]
fn a_cancel_from_a_server_is_a_violation() {
    within(GENEROUS, || {
        let error = called(
            options(),
            Terms::default(),
            |peer| {
                let stream = peer.next_message().expect("a request").stream();
                peer.publish(&Entry { stream, ..Entry::session(kind::CANCEL, 0, &[]) });
            },
            |session| session.call(ECHO, b"ping").map(drop).unwrap_err(),
        );
        let CallError::Violation(Violation::Call(CallViolation::Unexpected(found))) = error else {
            panic!("{error:?}")
        };
        assert_eq!(found as u8, kind::CANCEL);
    });
}

/// Has the honest server lend a reply, and gives its lend number.
fn borrow_a_reply(peer: &mut Peer) -> u32 {
    peer.publish(&Entry::request(1, REPLY_OF, &5_000u64.to_le_bytes()));
    assert_eq!(poll_message(peer).map(|seen| seen.kind()), Some(kind::SEGMENT_ADD));
    poll_message(peer).and_then(|seen| seen.descriptor()).expect("a lent reply").lend
}

#[track_caller]
fn assert_release_refused(outcome: Result<(), SessionError>) {
    let Err(SessionError::Violation(Violation::Memory(violation))) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(matches!(broken_rule(&violation), MemoryViolation::Release(_)), "{violation:?}");
}

#[test]
fn released_counts_in_entries_of_every_kind() {
    within(GENEROUS, || {
        type Telling = fn(&mut Peer) -> Entry;
        let entries: [Telling; 4] = [
            |_| one_way(b"x"),
            |_| Entry::session(kind::CANCEL, 0, &[]),
            |peer| {
                peer.send_segment(&Shared::fit(4096).fd);
                Entry::segment_add(0, 4096)
            },
            |peer| {
                peer.add_segment(4096);
                Entry::segment_retire(0)
            },
        ];
        for telling in entries {
            // Released by that entry, the number is not lent any more when the next one names it.
            assert_release_refused(served(options(), Terms::default(), |peer| {
                let released = borrow_a_reply(peer) as u16 + 1;
                let entry = telling(peer);
                peer.publish(&Entry { released, ..entry });
                assert_eq!(peer.call(5, ECHO, b"fine so far"), b"fine so far");
                peer.publish(&Entry { released, ..Entry::request(7, ECHO, b"x") });
            }));
        }
        // Behind a shutdown nothing is read: that its own number is read shows by a wrong one.
        assert_release_refused(served(options(), Terms::default(), |peer| {
            peer.publish(&Entry { released: 1, ..Entry::session(kind::SHUTDOWN, 0, &[]) });
        }));
    });
}

// ---- section 5: waking ----

/// Returns the number of doorbell bytes for a client that stores these intents and then makes
/// `calls` calls, one after the other.
fn doorbells(data_wake: u64, space_wake: u64, calls: u32) -> usize {
    let mut bytes = 0;
    let outcome = served(options().wait(WaitPolicy::Park), Terms::default(), |peer| {
        peer.ring.shared.store(control::DATA_WAKE_AT, data_wake);
        peer.ring.shared.store(control::SPACE_WAKE_AT, space_wake);
        for call in 0..calls {
            peer.publish(&Entry::request(2 * call + 1, ECHO, b"x"));
            spin_for_entry(peer);
        }
        peer.publish(&Entry::session(kind::SHUTDOWN, 0, &[]));
        bytes = bytes_until_end(&peer.socket);
    });
    assert!(outcome.is_ok(), "{outcome:?}");
    bytes
}

#[test]
fn space_wake_is_the_value_that_consumed_has_to_pass() {
    within(GENEROUS, || {
        // Behind the requests comes the shutdown entry, which is consumed like them.
        for (space_wake, calls, expected) in [
            (0, 1, 1),
            (1, 1, 1),
            (2, 1, 0),
            (1, 2, 1),
            (2, 2, 1),
            (3, 2, 0),
            (2, 3, 1),
            (control::NO_WAKE, 3, 0),
        ] {
            let found = doorbells(control::NO_WAKE, space_wake, calls);
            assert_eq!(found, expected, "space_wake {space_wake}, {calls} calls");
        }
    });
}

#[test]
fn data_wake_is_the_position_of_the_entry_awaited() {
    within(GENEROUS, || {
        // Behind the replies comes nothing: the client's shutdown is not answered by another.
        for (data_wake, calls, expected) in [(0, 1, 1), (1, 2, 1), (2, 1, 0), (3, 2, 0), (2, 2, 0)]
        {
            let found = doorbells(data_wake, control::NO_WAKE, calls);
            assert_eq!(found, expected, "data_wake {data_wake}, {calls} calls");
        }
    });
}
