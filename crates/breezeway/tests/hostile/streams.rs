//! Rules of streams, broken by a client of a shared session, and floods that break none.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;

use breezeway::{
    CallViolation, Incoming, MetadataError, ServerSession, Session, SessionError, SessionOptions,
    StreamViolation, Violation, Window, describe,
};
use breezeway_adversary::native::layout::{flag, hello, kind};
use breezeway_adversary::native::{
    Descriptor, Entry, Hello, Peer, Terms, control_segment, receive_hello,
};
use breezeway_adversary::{Shared, socket};
use breezeway_proto::Kind;

use super::stage::options;
use super::watchdog::{GENEROUS, within};

const OPEN: u8 = flag::OPEN | flag::STREAM;

fn message(flags: u8, stream: u32, body: &[u8]) -> Entry {
    Entry { flags, ..Entry::reply(stream, body) }
}

/// A server that takes two streams and windows of three messages and 100 bytes, and reads none.
fn terms() -> SessionOptions {
    options().max_streams(2).stream_window(3, 100).max_metadata(16)
}

/// Returns the error of a server's session with a client that sends these entries.
fn served(attack: impl FnOnce(&mut Peer) + Send) -> SessionError {
    let (hostile, honest) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let serving = scope.spawn(move || {
            let server = ServerSession::from_socket(honest.into(), &terms()).unwrap();
            let mut kept = Vec::new();
            loop {
                match server.accept() {
                    Ok(Some(Incoming::Call(call))) => drop(call.echo()),
                    Ok(Some(incoming)) => kept.push(incoming),
                    Ok(None) => panic!("an end in order"),
                    Err(error) => return error,
                }
            }
        });
        let mut peer = Peer::client(hostile.into(), Terms::default());
        attack(&mut peer);
        let error = serving.join().unwrap();
        peer.wait_for_end();
        error
    })
}

/// Returns the error of a client that makes one call and gets this entry.
fn called(entry: &Entry) -> String {
    let (hostile, honest) = UnixStream::pair().unwrap();
    let calling = thread::spawn(move || {
        let session = Session::from_socket(honest.into(), &terms()).unwrap();
        describe(&session.call(0, b"ping").map(drop).unwrap_err())
    });
    let mut peer = Peer::server(hostile.into(), Terms::default());
    assert!(peer.next_message().is_some());
    peer.publish(entry);
    calling.join().unwrap()
}

#[test]
fn a_body_of_another_length_than_its_kind_has_ends_the_session() {
    within(GENEROUS, || {
        let body_of =
            |number, len| Entry { stream: 1, ..Entry::session(number, 1, &[0; 9][..len]) };
        let cases = [
            (kind::RESET, 1, Kind::Reset),
            (kind::CANCEL, 8, Kind::Cancel),
            (kind::WINDOW, 7, Kind::Window),
            (kind::WINDOW, 9, Kind::Window),
            (kind::SHUTDOWN, 1, Kind::Shutdown),
        ];
        for (number, len, kind) in cases {
            let entries = [message(OPEN, 1, b"x"), body_of(number, len)];
            let error = served(|peer| entries.iter().for_each(|entry| peer.publish(entry)));
            let expected = CallViolation::BodyLength { kind, len };
            assert!(describe(&error).contains(&expected.to_string()), "{kind:?}: {error}");
        }
    });
}

#[test]
fn kinds_undefined_or_reserved_end_a_shared_session() {
    within(GENEROUS, || {
        for (number, expected) in [
            (0, CallViolation::Kind(0)),
            (kind::DEADLINE, CallViolation::Unexpected(Kind::Deadline)),
            (10, CallViolation::Kind(10)),
            (u8::MAX, CallViolation::Kind(u8::MAX)),
        ] {
            let entry = Entry { stream: 1, ..Entry::session(number, 1, b"12345678") };
            for error in [describe(&served(|peer| peer.publish(&entry))), called(&entry)] {
                assert!(error.contains(&expected.to_string()), "{number}: {error}");
            }
        }
    });
}

#[track_caller]
fn breaks(expected: &StreamViolation, entries: &[Entry]) {
    let error = served(|peer| entries.iter().for_each(|entry| peer.publish(entry)));
    let found = match &error {
        SessionError::Violation(Violation::Stream(violation)) => violation.clone(),
        SessionError::EndedBy(_) => {
            assert!(describe(&error).contains(&expected.to_string()), "{error}");
            return;
        }
        other => panic!("expected {expected:?}: {other:?}"),
    };
    assert_eq!(&found, expected);
}

#[test]
fn each_stream_violation_ends_session_by_name() {
    within(GENEROUS, || {
        let open = |number| message(OPEN, number, &[]);
        let window = |messages: u32, body: &[u8]| Entry {
            stream: 1,
            ..Entry::session(kind::WINDOW, messages, body)
        };
        let reset = |number| Entry { stream: number, ..Entry::session(kind::RESET, 5, &[]) };
        for number in [0, 2, u32::MAX - 1] {
            breaks(&StreamViolation::Number(number), &[open(number)]);
        }
        breaks(&StreamViolation::Number(1), &[open(1), open(1)]);
        breaks(&StreamViolation::TooMany(2), &[open(1), open(3), open(5)]);
        for number in [0, 1, 2, 7] {
            breaks(&StreamViolation::NotOpen(number), &[message(0, number, b"x")]);
        }
        breaks(&StreamViolation::NotOpen(0), &[reset(0)]);
        let last = message(OPEN | flag::FIN, 1, b"x");
        breaks(&StreamViolation::AfterEnd(1), &[last.clone(), message(0, 1, b"y")]);
        breaks(&StreamViolation::AfterEnd(1), &[last, message(flag::FIN, 1, b"y")]);
        let byte = message(0, 1, b"x");
        let past = [open(1), byte.clone(), byte.clone(), byte.clone()];
        breaks(&StreamViolation::WindowExceeded, &past);
        let long = [message(OPEN, 1, &[0; 100]), byte.clone()];
        breaks(&StreamViolation::WindowExceeded, &long);
        // Also where the sum with what is there already is past the number's end.
        for (messages, bytes) in
            [(1, 0), (0, 1), (u32::MAX, 0), (0, u64::MAX), (u32::MAX, u64::MAX)]
        {
            let given = Window { messages, bytes };
            let overflow = [open(1), window(messages, &bytes.to_le_bytes())];
            breaks(&StreamViolation::WindowOverflow(given), &overflow);
        }
        let empty = message(flag::EMPTY, 1, &[]);
        breaks(&StreamViolation::Flags(flag::EMPTY), &[open(1), empty]);
        let metadata = |body: &[u8]| [message(OPEN | flag::METADATA, 1, body)];
        breaks(&MetadataError::NoLength(1).into(), &metadata(&[1]));
        let behind = MetadataError::BehindTheEnd { metadata: 9, body: 3 };
        breaks(&behind.into(), &metadata(&[9, 0, 0]));
        let long = MetadataError::TooLong { len: 17, limit: 16 };
        breaks(&long.into(), &metadata(&[&[17, 0][..], &[0; 20]].concat()));
    });
}

#[test]
fn flags_that_do_not_belong_together_end_the_session() {
    within(GENEROUS, || {
        for flags in [flag::STREAM, flag::ERROR, OPEN | flag::ERROR, OPEN | flag::NO_REPLY] {
            let error = served(|peer| peer.publish(&message(flags, 1, &[])));
            assert!(describe(&error).contains(&CallViolation::Flags(flags).to_string()), "{error}");
        }
    });
}

#[test]
fn an_entry_that_lends_and_has_no_message_ends_the_session() {
    within(GENEROUS, || {
        let flags = OPEN | flag::EMPTY | flag::LENT;
        let error = served(|peer| {
            peer.send_segment(&Shared::fit(4096).fd);
            peer.publish(&Entry::segment_add(0, 4096));
            let lent = Descriptor { segment: 0, lend: 0, offset: 0, len: 200 };
            peer.publish(&Entry { flags, ..message(flags, 1, &[]).lending(lent) });
        });
        let expected = CallViolation::Flags(flags).to_string();
        assert!(describe(&error).contains(&expected), "{error}");
    });
}

#[test]
fn opening_and_resetting_without_end_stops_no_call() {
    within(GENEROUS, || {
        let error = served(|peer| {
            for round in 0..5_000u32 {
                let stream = 4 * round + 1;
                peer.publish(&message(OPEN | flag::FIN | flag::EMPTY, stream, &[]));
                let reset = Entry { stream, ..Entry::session(kind::RESET, 5, &[]) };
                peer.publish(&reset);
                // Its answer frees the number, and the place among those that are allowed.
                let answer = peer.next_entry().unwrap();
                peer.consume();
                assert_eq!((answer.kind(), answer.stream()), (kind::RESET, stream));
                if round % 500 == 0 {
                    assert_eq!(peer.call(stream + 2, 0, b"still here"), b"still here");
                }
            }
            peer.publish(&Entry::session(99, 0, &[]));
        });
        assert!(describe(&error).contains("99"), "{error}");
    });
}

#[test]
fn finished_and_reset_streams_count_until_they_are_read() {
    within(GENEROUS, || {
        let error = served(|peer| {
            for stream in [1, 5] {
                peer.publish(&message(OPEN | flag::FIN, stream, b"kept"));
                peer.publish(&Entry { stream, ..Entry::session(kind::RESET, 5, &[]) });
                // An answer to the reset would come before this reply.
                assert_eq!(peer.call(stream + 2, 0, b"still here"), b"still here");
            }
            peer.publish(&message(OPEN | flag::FIN, 9, b"one too many"));
        });
        let expected = StreamViolation::TooMany(2).to_string();
        assert!(describe(&error).contains(&expected), "{error}");
    });
}

#[test]
fn servers_violation_names_the_rule() {
    within(GENEROUS, || {
        for (entry, rule) in [
            (message(OPEN, 1, &[]), StreamViolation::Number(1)),
            (message(0, 8, &[]), StreamViolation::NotOpen(8)),
        ] {
            let error = called(&entry);
            assert!(error.contains(&rule.to_string()), "{error}");
        }
    });
}

#[test]
fn streams_without_a_window_are_refused_by_a_client() {
    within(GENEROUS, || {
        for (messages, bytes) in [(0, 1 << 20), (3, 0), (0, 0)] {
            let (hostile, honest) = UnixStream::pair().unwrap();
            let opening = thread::spawn(|| Session::from_socket(honest.into(), &options()));
            receive_hello(&hostile);
            let terms = Terms::default();
            let own = control_segment(&terms);
            let hello = Hello::new(&terms)
                .with(hello::MAX_STREAMS_AT, &2u16.to_le_bytes())
                .with(hello::STREAM_MESSAGES_AT, &u32::to_le_bytes(messages))
                .with(hello::STREAM_BYTES_AT, &u64::to_le_bytes(bytes));
            socket::send(&hostile, &hello.0, &[own.fd.as_fd()]).unwrap();
            let error = opening.join().unwrap().map(drop).unwrap_err().to_string();
            let expected = format!("2 streams with a window of {messages} messages and {bytes}");
            assert!(error.contains(&expected), "{error}");
        }
    });
}
