//! Hellos that break a rule, from a client to a server and from a server to a client: each is
//! refused by name, in time, and no other session is affected.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread;

use breezeway::unstable::segment_problem;
use breezeway::{
    Carrier, ConnectError, ExclusiveServerSession, ExclusiveSession, HandshakeError, HelloError,
    ServerOptions,
};
use breezeway_adversary::journal;
use breezeway_adversary::memfd::{self, SEALS};
use breezeway_adversary::native::layout::{control, hello, refusal};
use breezeway_adversary::native::{Hello, Peer, Terms, control_segment, receive_hello};
use breezeway_adversary::socket;
use breezeway_os::segment::SegmentError;
use rustix::fs::SealFlags;
use rustix::net::{Shutdown, shutdown};

use super::service::{ECHO, Service};
use super::stage::{Stage, impatient, options};
use super::watchdog::{GENEROUS, within};

type Fault = fn(&HandshakeError) -> bool;

/// A hello with what comes along.
struct Greeting {
    bytes: Vec<u8>,
    fds: Vec<OwnedFd>,
}

impl Greeting {
    fn send(&self, socket: &OwnedFd) {
        let fds: Vec<BorrowedFd<'_>> = self.fds.iter().map(AsFd::as_fd).collect();
        let _ = socket::send(socket, &self.bytes, &fds);
    }
}

/// One way to break a rule.
struct Case {
    name: String,
    make: Box<dyn Fn() -> Greeting>,
    expected: Fault,
    /// The status of the server's refusal; `None` if it sends nothing, as to a foreign protocol.
    answer: Option<u32>,
}

/// A hello with other bytes at an offset, with a fit segment.
fn lying(name: impl Into<String>, at: usize, bytes: &[u8], expected: Fault) -> Case {
    let hello = Hello::new(&Terms::default()).with(at, bytes);
    let make = move || Greeting {
        bytes: hello.0.clone(),
        fds: vec![control_segment(&Terms::default()).fd],
    };
    Case { name: name.into(), make: Box::new(make), expected, answer: Some(refusal::VIOLATION) }
}

/// A true hello with other descriptors than one fit segment.
fn carrying(
    name: impl Into<String>,
    fds: impl Fn() -> Vec<OwnedFd> + 'static,
    expected: Fault,
) -> Case {
    let make = move || Greeting { bytes: Hello::new(&Terms::default()).0, fds: fds() };
    Case { name: name.into(), make: Box::new(make), expected, answer: Some(refusal::VIOLATION) }
}

/// The answer to a client that is refused, or nothing.
fn expect_answer(name: &str, socket: &OwnedFd, expected: Option<u32>, error: &HandshakeError) {
    let answer = receive_hello(socket);
    assert!(answer.fds.is_empty(), "{name}: a refusal with a descriptor");
    let Some(status) = expected else {
        assert!(answer.is_end(), "{name}: {:?}", answer.bytes);
        return;
    };
    let found = &answer.bytes[hello::STATUS_AT..hello::STATUS_AT + 4];
    assert_eq!(found, status.to_le_bytes(), "{name}");
    let reason = error.to_string();
    assert_eq!(String::from_utf8_lossy(&answer.bytes[hello::LEN..]), reason, "{name}");
    assert!(socket::receive(socket, 1).is_end(), "{name}: bytes behind the refusal");
}

fn handshake_error<T>(outcome: Result<T, ConnectError>) -> HandshakeError {
    match outcome {
        Err(ConnectError::Handshake(error)) => error,
        Err(other) => panic!("another error: {other:?}"),
        Ok(_) => panic!("a session"),
    }
}

/// Every case three times: to one accepting end, which returns its error; to a server beside an
/// honest client; and from a server to a client.
fn each(cases: impl FnOnce() -> Vec<Case> + Send + 'static) {
    within(GENEROUS, || {
        let stage = Stage::set();
        for Case { name, make, expected, answer } in cases() {
            let (hostile, honest) = UnixStream::pair().unwrap();
            let hostile = OwnedFd::from(hostile);
            socket::be_patient(&hostile);
            make().send(&hostile);
            let error =
                handshake_error(ExclusiveServerSession::from_socket(honest.into(), &options()));
            assert!(expected(&error), "{name}, accepted: {error:?}");
            expect_answer(&name, &hostile, answer, &error);

            let from = journal::length();
            let hostile = OwnedFd::from(UnixStream::connect(stage.path()).unwrap());
            socket::be_patient(&hostile);
            make().send(&hostile);
            expect_answer(&name, &hostile, answer, &error);
            assert_eq!(stage.no_session(from), error.to_string(), "{name}, served");
            stage.bystander.goes_on();

            let (hostile, honest) = UnixStream::pair().unwrap();
            let hostile = OwnedFd::from(hostile);
            make().send(&hostile);
            let error = handshake_error(ExclusiveSession::from_socket(honest.into(), &options()));
            let is_status = matches!(error, HandshakeError::Refused { .. });
            assert!(is_status || expected(&error), "{name}, connected: {error:?}");
        }
        stage.close();
    });
}

#[test]
fn wrong_magic_is_not_answered() {
    each(|| {
        (0..8)
            .map(|at| {
                let wrong = [hello::MAGIC[at] ^ 0x20];
                let fault: Fault = |error| {
                    matches!(error, HandshakeError::Hello(HelloError::Magic(bytes)) if bytes.len() == 8)
                };
                let case = lying(format!("magic, byte {at}"), hello::MAGIC_AT + at, &wrong, fault);
                Case { answer: None, ..case }
            })
            .collect()
    });
}

#[test]
fn another_version_is_refused_as_such() {
    each(|| {
        [0, 1, 3, 256, u16::MAX]
            .map(|version: u16| {
                let fault: Fault = |error| {
                    matches!(error, HandshakeError::Hello(HelloError::Version(version)) if *version != 2)
                };
                let bytes = version.to_le_bytes();
                let case = lying(format!("version {version}"), hello::VERSION_AT, &bytes, fault);
                Case { answer: Some(refusal::VERSION), ..case }
            })
            .into()
    });
}

#[test]
fn lengths_out_of_range_are_refused() {
    each(|| {
        [0, 1, 63, 4097, 0x8000, u16::MAX]
            .map(|len: u16| {
                let fault: Fault =
                    |error| matches!(error, HandshakeError::Hello(HelloError::Length(_)));
                lying(format!("length {len}"), hello::LENGTH_AT, &len.to_le_bytes(), fault)
            })
            .into()
    });
}

#[test]
fn terms_out_of_range_are_refused() {
    each(|| {
        let mut cases = Vec::new();
        for capacity in [0, 1, 2, 4, 7, 9, 63, 65, 65_535, 65_537, 131_072, 1 << 31, u32::MAX] {
            let fault: Fault =
                |error| matches!(error, HandshakeError::Hello(HelloError::RingCapacity(_)));
            let bytes = u32::to_le_bytes(capacity);
            cases.push(lying(format!("ring {capacity}"), hello::RING_CAPACITY_AT, &bytes, fault));
        }
        for count in [0, 1, 32, 63, 65, 100, 1023, 1025, 1088, 1 << 31, u32::MAX] {
            let fault: Fault =
                |error| matches!(error, HandshakeError::Hello(HelloError::LendCount(_)));
            let bytes = u32::to_le_bytes(count);
            cases.push(lying(format!("{count} lend numbers"), hello::LEND_COUNT_AT, &bytes, fault));
        }
        let size = control::size(64) as u64;
        for size in [1, 4096, size - 1, size + 1, size - 4096, size + 4096, 1 << 63, u64::MAX] {
            let fault: Fault = |error| {
                matches!(
                    error,
                    HandshakeError::Hello(HelloError::ControlSize {
                        capacity: 64,
                        expected: 12288,
                        ..
                    })
                )
            };
            let bytes = size.to_le_bytes();
            cases.push(lying(
                format!("control size {size}"),
                hello::CONTROL_SIZE_AT,
                &bytes,
                fault,
            ));
        }
        for cap in [0, 1, 4095, 4097, (1 << 63) + 1, u64::MAX] {
            let fault: Fault =
                |error| matches!(error, HandshakeError::Hello(HelloError::PayloadCap(_)));
            let bytes = u64::to_le_bytes(cap);
            cases.push(lying(format!("cap {cap}"), hello::PAYLOAD_CAP_AT, &bytes, fault));
        }
        for limit in [65_536, 70_000, u32::MAX] {
            let fault: Fault =
                |error| matches!(error, HandshakeError::Hello(HelloError::MaxMetadata(_)));
            let bytes = u32::to_le_bytes(limit);
            let name = format!("metadata of {limit} bytes");
            cases.push(lying(name, hello::MAX_METADATA_AT, &bytes, fault));
        }
        cases
    });
}

#[test]
fn a_hello_without_shared_memory_is_refused_as_such() {
    each(|| {
        let fault: Fault = |error| matches!(error, HandshakeError::Carrier(Carrier::Shm));
        let case = lying("no control segment", hello::CONTROL_SIZE_AT, &[0; 8], fault);
        vec![Case { answer: Some(refusal::CARRIER), ..case }]
    });
}

#[test]
fn a_client_that_refuses_is_refused() {
    each(|| {
        [1, 2, 5, 6, 1 << 31, u32::MAX]
            .map(|status: u32| {
                let fault: Fault = |error| matches!(error, HandshakeError::ClientRefuses);
                lying(format!("status {status}"), hello::STATUS_AT, &status.to_le_bytes(), fault)
            })
            .into()
    });
}

fn fit() -> OwnedFd {
    control_segment(&Terms::default()).fd
}

#[test]
fn any_number_of_descriptors_but_one_is_refused() {
    each(|| {
        vec![
            carrying("none", Vec::new, |error| matches!(error, HandshakeError::Descriptors(0))),
            carrying(
                "two",
                || vec![fit(), fit()],
                |error| matches!(error, HandshakeError::Descriptors(2)),
            ),
            carrying(
                "eight",
                || (0..8).map(|_| fit()).collect(),
                |error| matches!(error, HandshakeError::Descriptors(2)),
            ),
        ]
    });
}

#[test]
fn sixteen_descriptors_are_refused_by_name() {
    each(|| {
        vec![carrying(
            "sixteen",
            || (0..16).map(|_| fit()).collect(),
            |error| matches!(error, HandshakeError::Descriptors(2)),
        )]
    });
}

/// Returns the problem with the peer's segment.
fn unfit(error: &HandshakeError) -> Option<&SegmentError> {
    let HandshakeError::Segment(error) = error else { return None };
    Some(segment_problem(error))
}

/// Size of a control segment of 64 entries.
const SIZE: usize = 12288;

#[test]
fn unfit_control_segments_are_refused() {
    const UNSEALED: Fault = |error| matches!(unfit(error), Some(SegmentError::NotSealed(_)));
    const OTHER_SIZE: Fault =
        |error| matches!(unfit(error), Some(SegmentError::Size { expected: 12288, .. }));
    fn sealed(fd: OwnedFd, seals: SealFlags) -> OwnedFd {
        memfd::seal(&fd, seals);
        fd
    }
    each(|| {
        vec![
            carrying("a pipe", || vec![std::io::pipe().unwrap().0.into()], UNSEALED),
            carrying("a socket", || vec![UnixStream::pair().unwrap().0.into()], UNSEALED),
            carrying(
                "/dev/null",
                || vec![std::fs::File::open("/dev/null").unwrap().into()],
                UNSEALED,
            ),
            carrying("a file", || vec![tempfile::tempfile().unwrap().into()], UNSEALED),
            carrying("an unsealed memfd", || vec![memfd::backed(SIZE)], UNSEALED),
            carrying(
                "a memfd that can shrink",
                || vec![sealed(memfd::backed(SIZE), SEALS.difference(SealFlags::SHRINK))],
                UNSEALED,
            ),
            carrying(
                "a memfd that can be written",
                || vec![sealed(memfd::backed(SIZE), SEALS.difference(SealFlags::FUTURE_WRITE))],
                UNSEALED,
            ),
            carrying("too small", || vec![sealed(memfd::backed(SIZE - 1), SEALS)], OTHER_SIZE),
            carrying(
                "one page less",
                || vec![sealed(memfd::backed(SIZE - 4096), SEALS)],
                OTHER_SIZE,
            ),
            carrying("too large", || vec![sealed(memfd::backed(SIZE + 1), SEALS)], OTHER_SIZE),
            carrying("empty", || vec![sealed(memfd::sparse(0), SEALS)], OTHER_SIZE),
            carrying(
                "without a page",
                || vec![sealed(memfd::sparse(SIZE), SEALS)],
                |error| {
                    matches!(unfit(error), Some(SegmentError::NotBacked { backed: 0, size: 12288 }))
                },
            ),
            carrying(
                "with a hole",
                || {
                    let fd = memfd::sparse(SIZE);
                    let flags = rustix::fs::FallocateFlags::empty();
                    rustix::fs::fallocate(&fd, flags, 0, SIZE as u64 - 4096).unwrap();
                    vec![sealed(fd, SEALS)]
                },
                |error| matches!(unfit(error), Some(SegmentError::NotBacked { size: 12288, .. })),
            ),
        ]
    });
}

#[test]
fn control_segment_with_hidden_holes_is_refused() {
    each(|| {
        let holes = || vec![memfd::hole_behind_blocks(12288)];
        vec![carrying("holes behind blocks", holes, |error| {
            matches!(unfit(error), Some(SegmentError::NotBacked { .. }))
        })]
    });
}

#[test]
fn a_hello_that_never_ends_is_given_up_in_time() {
    within(GENEROUS, || {
        let complete = Hello::new(&Terms::default());
        let beginnings = [
            Vec::new(),
            complete.0[..1].to_vec(),
            complete.0[..63].to_vec(),
            complete.clone().with(hello::LENGTH_AT, &4096u16.to_le_bytes()).0,
            complete.longest().0[..4095].to_vec(),
        ];
        let stage = Stage::with(ServerOptions::new().session(impatient()));
        let mut silent = Vec::new();
        for bytes in &beginnings {
            let socket = OwnedFd::from(UnixStream::connect(stage.path()).unwrap());
            socket::be_patient(&socket);
            let segment = fit();
            if !bytes.is_empty() {
                socket::send(&socket, bytes, &[segment.as_fd()]).unwrap();
            }
            silent.push(socket);
        }
        for socket in silent {
            assert!(socket::receive(&socket, 1).is_end(), "a half-open client is not answered");
        }
        stage.close();
        thread::scope(|scope| {
            for bytes in &beginnings {
                scope.spawn(|| {
                    let (hostile, honest) = UnixStream::pair().unwrap();
                    let _ = socket::send(&hostile, bytes, &[]);
                    let error = handshake_error(ExclusiveServerSession::from_socket(
                        honest.into(),
                        &impatient(),
                    ));
                    assert!(matches!(error, HandshakeError::Timeout(_)), "{error:?}");
                });
                scope.spawn(|| {
                    let (hostile, honest) = UnixStream::pair().unwrap();
                    let _ = socket::send(&hostile, bytes, &[]);
                    let error =
                        handshake_error(ExclusiveSession::from_socket(honest.into(), &impatient()));
                    assert!(matches!(error, HandshakeError::Timeout(_)), "{error:?}");
                });
            }
        });
    });
}

#[test]
fn a_hello_that_is_broken_off_is_noticed_at_once() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let complete = Hello::new(&Terms::default()).0;
        for len in [0, 1, 8, 63] {
            for half in [false, true] {
                let (hostile, honest) = UnixStream::pair().unwrap();
                break_off(hostile.into(), &complete[..len], half, |_| {
                    let error = handshake_error(ExclusiveServerSession::from_socket(
                        honest.into(),
                        &options(),
                    ));
                    assert!(matches!(error, HandshakeError::Closed), "{error:?}");
                });
                let (hostile, honest) = UnixStream::pair().unwrap();
                break_off(hostile.into(), &complete[..len], half, |_| {
                    let error =
                        handshake_error(ExclusiveSession::from_socket(honest.into(), &options()));
                    assert!(matches!(error, HandshakeError::Closed), "{error:?}");
                });
                let from = journal::length();
                let hostile = UnixStream::connect(stage.path()).unwrap();
                break_off(hostile.into(), &complete[..len], half, |_| {
                    assert_eq!(stage.no_session(from), HandshakeError::Closed.to_string());
                });
                stage.bystander.goes_on();
            }
        }
        stage.close();
    });
}

/// Sends a beginning, then closes the socket or its sending half, and runs `then`.
fn break_off(socket: OwnedFd, bytes: &[u8], half: bool, then: impl FnOnce(Option<&OwnedFd>)) {
    if !bytes.is_empty() {
        socket::send(&socket, bytes, &[]).unwrap();
    }
    if half {
        shutdown(&socket, Shutdown::Write).unwrap();
        then(Some(&socket));
    } else {
        drop(socket);
        then(None);
    }
}

fn unknown_fields(terms: &Terms) -> Hello {
    Hello::new(terms).with_field(0, b"").with_field(7, &[0xff; 99]).with_field(0x8000, b"")
}

#[test]
fn fields_that_break_a_rule_are_refused() {
    each(|| {
        let broken = |name: &str, behind: &[u8], expected: Fault| {
            let hello = unknown_fields(&Terms::default());
            let behind = [&hello.0[hello::LEN..], behind].concat();
            let hello = hello.with_behind(&behind);
            let make = move || Greeting { bytes: hello.0.clone(), fds: vec![fit()] };
            let answer = Some(refusal::VIOLATION);
            Case { name: name.into(), make: Box::new(make), expected, answer }
        };
        vec![
            broken("a field without a length", &[0xff, 0xff], |error| {
                matches!(error, HandshakeError::Hello(HelloError::FieldHead(2)))
            }),
            broken("a field that passes the end", &[0xff, 0xff, 0xff, 0xff, 0], |error| {
                let kind = u16::MAX;
                let expected = HelloError::FieldLength { kind, length: u16::MAX, left: 1 };
                matches!(error, HandshakeError::Hello(error) if *error == expected)
            }),
            broken("a field that comes twice", &[0, 0x80, 0, 0], |error| {
                let expected = HelloError::FieldOrder { kind: 0x8000, before: 0x8000 };
                matches!(error, HandshakeError::Hello(error) if *error == expected)
            }),
        ]
    });
}

#[test]
fn a_strange_but_true_hello_gets_a_session() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let terms = Terms::default();
        let features = Hello::new(&terms).with(hello::FEATURES_AT, &[0xff; 4]);
        // The limit of metadata, of which these are two bytes, is the largest.
        let reserved = Hello::new(&terms).with(hello::RESERVED_AT, &[0xff; 18]);
        let mut hellos = vec![
            ("all features", features, terms),
            ("reserved bytes", reserved, terms),
            ("an unknown field", Hello::new(&terms).with_field(7, &[0xff]), terms),
            ("unknown fields up to the longest hello", unknown_fields(&terms).longest(), terms),
        ];
        for (ring_capacity, lend_count, payload_cap) in
            [(8, 64, 4096), (65_536, 1024, 1 << 40), (64, 512, u64::MAX - 4095)]
        {
            let terms = Terms { ring_capacity, lend_count, payload_cap };
            hellos.push(("extreme terms", Hello::new(&terms), terms));
        }
        for (name, hello, terms) in hellos {
            for piece in [hello.0.len(), 1000, 7, 1] {
                let socket = OwnedFd::from(UnixStream::connect(stage.path()).unwrap());
                socket::be_patient(&socket);
                let own = control_segment(&terms);
                for (index, bytes) in hello.0.chunks(piece).enumerate() {
                    let fds = if index == 0 { &[own.fd.as_fd()][..] } else { &[] };
                    // One byte at a time, the socket fills faster than the server reads.
                    while socket::send(&socket, bytes, fds).is_err() {
                        thread::yield_now();
                    }
                }
                let answer = receive_hello(&socket);
                let mut peer = Peer::agreed(socket, own, terms, answer);
                assert_eq!(peer.call(1, ECHO, b"hello"), b"hello", "{name} by {piece}");
            }
        }
        stage.close();
    });
}

#[test]
fn refusal_reason_reaches_caller_as_printable_text() {
    within(GENEROUS, || {
        let long = "ä".repeat(1000).into_bytes();
        let reasons: [(&[u8], &str); 5] = [
            (b"", ""),
            (b"come back later", "come back later"),
            (b"\x1b[2J\0\r\n", "\\u{1b}[2J\\0\\r\\n"),
            (b"\xff\xfe", "\u{fffd}\u{fffd}"),
            (&long, &"ä".repeat(128)),
        ];
        for status in [1, 2, 3, 4, 5, 6, 77, u32::MAX] {
            for (reason, expected) in reasons {
                for fds in [0, 1] {
                    let (hostile, honest) = UnixStream::pair().unwrap();
                    let segment = fit();
                    let fds = vec![segment.as_fd(); fds];
                    let refusal = Hello::refusing(status, reason);
                    socket::send(&hostile, &refusal.0, &fds).unwrap();
                    let error =
                        handshake_error(ExclusiveSession::from_socket(honest.into(), &options()));
                    let HandshakeError::Refused { status: found, reason: words } = error else {
                        panic!("{error:?}")
                    };
                    assert_eq!((found, &*words), (status, expected));
                }
            }
        }
    });
}

#[test]
fn doorbells_and_segment_behind_hello_are_accepted() {
    within(GENEROUS, || {
        let (hostile, honest) = UnixStream::pair().unwrap();
        let serving = thread::spawn(move || {
            let session = ExclusiveServerSession::from_socket(honest.into(), &options()).unwrap();
            session.serve(&Service::default())
        });
        // The hello, ten doorbells and a segment in one go: the reader of hellos must leave the
        // rest alone.
        let terms = Terms::default();
        let own = control_segment(&terms);
        let mut bytes = Hello::new(&terms).0;
        bytes.extend([0; 10]);
        let socket = OwnedFd::from(hostile);
        socket::be_patient(&socket);
        socket::send(&socket, &bytes, &[own.fd.as_fd()]).unwrap();
        let answer = receive_hello(&socket);
        let mut peer = Peer::agreed(socket, own, terms, answer);
        peer.add_segment(4096);
        assert_eq!(peer.call(1, ECHO, b"hello"), b"hello");
        drop(peer);
        assert!(matches!(serving.join().unwrap(), Err(breezeway::SessionError::PeerDied)));
    });
}

/// A kernel may have been built without huge pages.
mod needs_huge_pages {
    use super::*;

    #[test]
    #[ignore = "needs huge pages: `make needs` runs it where there are"]
    fn a_control_segment_of_huge_pages() {
        each(|| {
            vec![carrying(
                "huge pages",
                || vec![memfd::huge(SIZE)],
                |error| matches!(unfit(error), Some(SegmentError::NotTmpfs(_))),
            )]
        });
    }
}
