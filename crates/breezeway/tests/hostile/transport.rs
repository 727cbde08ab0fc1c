//! Rules of the transport, broken one at a time, by a client against a server, and by a server
//! against a client: the error names the rule.

use std::os::fd::AsFd;

use breezeway::unstable::broken_rule;
use breezeway::{CallError, SessionError, Violation, WaitPolicy};
use breezeway_adversary::memfd::{self, SEALS};
use breezeway_adversary::native::layout::{control, entry, flag, kind, socket as byte};
use breezeway_adversary::native::{Descriptor, Entry, Peer, Terms};
use breezeway_adversary::{Shared, socket};
use breezeway_os::segment::SegmentError;
use breezeway_shm::Violation as MemoryViolation;

use super::service::ECHO;
use super::stage::{Stage, broken, called, options, served};
use super::watchdog::{GENEROUS, within};

type Attack = Box<dyn Fn(&mut Peer) + Send + Sync>;
type Expected = Box<dyn Fn(&MemoryViolation) -> bool>;

/// One broken rule.
struct Case {
    name: String,
    terms: Terms,
    attack: Attack,
    expected: Expected,
}

fn case(
    name: impl Into<String>,
    attack: impl Fn(&mut Peer) + Send + Sync + 'static,
    expected: impl Fn(&MemoryViolation) -> bool + 'static,
) -> Case {
    let (attack, expected) = (Box::new(attack), Box::new(expected));
    Case { name: name.into(), terms: Terms::default(), attack, expected }
}

impl Case {
    fn with_terms(self, terms: Terms) -> Self {
        Self { terms, ..self }
    }
}

/// Every case three times: as the client of one served session, which returns its error; as a
/// client of a server beside an honest client; as the server of a client.
fn each(cases: impl FnOnce() -> Vec<Case> + Send + 'static) {
    within(GENEROUS, || {
        let stage = Stage::set();
        for Case { name, terms, attack, expected } in cases() {
            let outcome = served(options(), terms, &attack);
            let Err(SessionError::Violation(Violation::Memory(violation))) = outcome else {
                panic!("{name}, served: {outcome:?}")
            };
            assert!(expected(broken_rule(&violation)), "{name}, served: {violation:?}");
            stage.attack_memory(terms, violation, &attack);
            let outcome = called(options(), terms, &attack, |session| {
                let outcome = session.call(ECHO, b"ping").map(drop);
                assert!(session.is_ended(), "{name}, called");
                assert!(matches!(session.call(ECHO, b"more"), Err(CallError::Ended)));
                outcome
            });
            let Err(CallError::Violation(Violation::Memory(violation))) = outcome else {
                panic!("{name}, called: {outcome:?}")
            };
            assert!(expected(broken_rule(&violation)), "{name}, called: {violation:?}");
        }
        stage.close();
    });
}

fn small_ring() -> Terms {
    Terms { ring_capacity: 8, ..Terms::default() }
}

#[test]
fn wrong_sequence_words_end_the_session() {
    each(|| {
        let mut cases: Vec<Case> =
            [2, 3, 64, 65, 66, 129, 1 << 32, 1 << 63, u64::MAX, u64::MAX - 1, 0x0123_4567_89ab_cdef]
                .map(|found| {
                    case(
                        format!("sequence {found:#x} at the first entry"),
                        move |peer| {
                            peer.ring.write(0, &Entry::request(1, ECHO, b"x"));
                            peer.ring.commit(0, found);
                            peer.ring_doorbell();
                        },
                        move |violation| {
                            matches!(violation, MemoryViolation::Sequence { position: 0, found: seen } if *seen == found)
                        },
                    )
                })
                .into();
        // On the second lap the previous value is 1, so even the zero of the first lap is wrong.
        for found in [0, 2, 8, 10, 17, u64::MAX] {
            let lapped = case(
                format!("sequence {found} on the second lap"),
                move |peer| {
                    for number in 0..4 {
                        peer.add_segment(4096);
                        peer.publish(&Entry::segment_retire(number));
                    }
                    peer.wait_consumed(8);
                    peer.ring.commit(8, found);
                    peer.ring_doorbell();
                },
                move |violation| matches!(violation, MemoryViolation::Sequence { position: 8, found: seen } if *seen == found),
            );
            cases.push(lapped.with_terms(small_ring()));
        }
        cases
    });
}

#[test]
fn inline_lengths_past_the_entry_end_the_session() {
    each(|| {
        [105, 106, 128, 255, 256, 4096, 0x7fff, 0x8000, 0xffff]
            .map(|len| {
                let entry = Entry { len, ..Entry::request(1, ECHO, &[7; entry::BODY_MAX]) };
                case(
                    format!("inline length {len}"),
                    move |peer| peer.publish(&entry),
                    move |violation| {
                        matches!(violation, MemoryViolation::InlineLength { position: 0, len: seen } if *seen == usize::from(len))
                    },
                )
            })
            .into()
    });
}

/// A message with a descriptor, after a segment of two pages was added.
fn lending(descriptor: Descriptor) -> impl Fn(&mut Peer) + Send + Sync + 'static {
    move |peer| {
        peer.add_segment(8192);
        peer.publish(&Entry::request(1, ECHO, &[]).lending(descriptor));
    }
}

#[test]
fn invalid_payload_descriptors_end_the_session() {
    each(|| {
        let fit = Descriptor { segment: 0, lend: 0, offset: 0, len: 8192 };
        let mut cases = Vec::new();
        for segment in [1, 2, 64, u32::MAX] {
            cases.push(case(
                format!("segment {segment}"),
                lending(Descriptor { segment, ..fit }),
                move |violation| matches!(violation, MemoryViolation::UnknownSegment(seen) if *seen == segment),
            ));
        }
        // Our side's hello offers 512 lend numbers.
        for lend in [512, 513, 1024, 0xffff, 0x1_0000, u32::MAX] {
            cases.push(case(
                format!("lend number {lend}"),
                lending(Descriptor { lend, ..fit }),
                move |violation| {
                    matches!(violation, MemoryViolation::LendNumber { lend: seen, count: 512 } if *seen == lend)
                },
            ));
        }
        for (offset, len) in [
            (0, 0),
            (8192, 0),
            (0, 8193),
            (1, 8192),
            (8192, 1),
            (8191, 2),
            (u64::MAX, 1),
            (u64::MAX, 2),
            (1, u64::MAX),
            (2, u64::MAX),
            (u64::MAX, u64::MAX),
            (1 << 63, 1 << 63),
            (1 << 32, 1),
            (0, 1 << 32),
            (0, (1 << 32) + 1),
        ] {
            cases.push(case(
                format!("{len} bytes at {offset}"),
                lending(Descriptor { offset, len, ..fit }),
                move |violation| {
                    let MemoryViolation::Descriptor { offset: at, len: bytes, size: 8192 } =
                        violation
                    else {
                        return false;
                    };
                    (*at, *bytes) == (offset, len)
                },
            ));
        }
        for len in [0, 1, 8, 23, 25, 40, 41, 104] {
            let mut entry = Entry::request(1, ECHO, &[]).lending(fit);
            entry.len = len;
            cases.push(case(
                format!("a descriptor of {len} bytes"),
                move |peer| {
                    peer.add_segment(8192);
                    peer.publish(&entry);
                },
                move |violation| {
                    let MemoryViolation::BodyLength { found, expected: 24 } = violation else {
                        return false;
                    };
                    *found == usize::from(len)
                },
            ));
        }
        cases
    });
}

#[test]
fn released_numbers_that_are_not_lent_end_the_session() {
    each(|| {
        [1, 2, 64, 511, 512, 513, 1024, 0x8000, u16::MAX]
            .map(|released| {
                let entry = Entry { released, ..Entry::request(1, ECHO, b"x") };
                case(
                    format!("released {released}"),
                    move |peer| peer.publish(&entry),
                    move |violation| matches!(violation, MemoryViolation::Release(seen) if *seen == released - 1),
                )
            })
            .into()
    });
}

/// Announces a segment, so that the receiver looks at its socket.
fn announce(peer: &mut Peer, number: u32, size: u64) {
    peer.publish(&Entry::segment_add(number, size));
}

#[test]
fn wrong_segment_number_size_or_descriptor_ends_session() {
    each(|| {
        let mut cases = Vec::new();
        for number in [1, 2, u32::MAX] {
            cases.push(case(
                format!("first segment {number}"),
                move |peer| {
                    peer.send_segment(&Shared::fit(4096).fd);
                    announce(peer, number, 4096);
                },
                move |violation| {
                    matches!(violation, MemoryViolation::SegmentNumber { found, expected: 0 } if *found == number)
                },
            ));
        }
        cases.push(case(
            "a number used again",
            |peer| {
                peer.add_segment(4096);
                peer.publish(&Entry::segment_retire(0));
                peer.send_segment(&Shared::fit(4096).fd);
                announce(peer, 0, 4096);
            },
            |violation| {
                matches!(violation, MemoryViolation::SegmentNumber { found: 0, expected: 1 })
            },
        ));
        for (found, size) in [(4096, 8192), (8192, 4096), (4096, 4097), (8192, 8191)] {
            cases.push(case(
                format!("{found} bytes announced as {size}"),
                move |peer| {
                    peer.send_segment(&Shared::fit(found).fd);
                    announce(peer, 0, size);
                },
                move |violation| {
                    let MemoryViolation::Segment(SegmentError::Size { found: is, expected }) =
                        violation
                    else {
                        return false;
                    };
                    (*is, *expected) == (found as u64, size)
                },
            ));
        }
        const CAP: u64 = 64 << 20;
        for size in [CAP + 1, CAP + 4096, 1 << 40, 1 << 63, u64::MAX] {
            cases.push(case(
                format!("a segment of {size} bytes"),
                move |peer| {
                    peer.send_segment(&Shared::fit(4096).fd);
                    announce(peer, 0, size);
                },
                move |violation| {
                    matches!(violation, MemoryViolation::SegmentSum { size: seen, cap: CAP } if *seen == size)
                },
            ));
        }
        cases.push(case(
            "no descriptor",
            |peer| announce(peer, 0, 4096),
            |violation| matches!(violation, MemoryViolation::SegmentMissing),
        ));
        cases.push(case(
            "one descriptor for two",
            |peer| {
                peer.add_segment(4096);
                announce(peer, 1, 4096);
            },
            |violation| matches!(violation, MemoryViolation::SegmentMissing),
        ));
        cases
    });
}

#[test]
fn wrong_length_of_segment_entry_ends_the_session() {
    each(|| {
        let wrong_length = |found: u16, expected: usize| {
            move |violation: &MemoryViolation| {
                let MemoryViolation::BodyLength { found: is, expected: wanted } = violation else {
                    return false;
                };
                (*is, *wanted) == (usize::from(found), expected)
            }
        };
        let mut cases = Vec::new();
        for len in [0, 7, 9, 24, 104] {
            cases.push(case(
                format!("segment add with {len} bytes"),
                move |peer| {
                    peer.send_segment(&Shared::fit(4096).fd);
                    peer.publish(&Entry { len, ..Entry::segment_add(0, 4096) });
                },
                wrong_length(len, 8),
            ));
        }
        for len in [1, 8, 104] {
            cases.push(case(
                format!("segment retire with {len} bytes"),
                move |peer| {
                    peer.add_segment(4096);
                    peer.publish(&Entry { len, ..Entry::segment_retire(0) });
                },
                wrong_length(len, 0),
            ));
        }
        cases
    });
}

#[test]
fn an_empty_segment_ends_the_session() {
    each(|| {
        vec![case(
            "no bytes",
            |peer| {
                let empty = memfd::sparse(0);
                memfd::seal(&empty, SEALS);
                peer.send_segment(&empty);
                announce(peer, 0, 0);
            },
            |violation| matches!(violation, MemoryViolation::Segment(_)),
        )]
    });
}

#[test]
fn segments_past_the_cap_or_count_end_the_session() {
    each(|| {
        let capped = Terms { payload_cap: 16384, ..Terms::default() };
        let sum = case(
            "five pages under a cap of four",
            |peer| {
                for number in 0..5 {
                    peer.add_segment(4096);
                    peer.wait_consumed(number + 1);
                }
            },
            |violation| matches!(violation, MemoryViolation::SegmentSum { size: 4096, cap: 16384 }),
        );
        let count = case(
            "one segment more than 64",
            |peer| {
                for number in 0..65 {
                    peer.add_segment(4096);
                    if number < 64 {
                        peer.wait_consumed(number + 1);
                    }
                }
            },
            |violation| matches!(violation, MemoryViolation::SegmentCount(64)),
        );
        let sum = Case {
            attack: Box::new(|peer| {
                for number in 0..5 {
                    peer.add_segment(4096);
                    if number < 4 {
                        peer.wait_consumed(number + 1);
                    }
                }
            }),
            ..sum
        };
        vec![sum.with_terms(capped), count]
    });
}

#[test]
fn retiring_unknown_segment_ends_the_session() {
    each(|| {
        let unknown = |number: u32| move |violation: &MemoryViolation| matches!(violation, MemoryViolation::UnknownSegment(seen) if *seen == number);
        let mut cases: Vec<Case> = [0, 1, u32::MAX]
            .map(|number| {
                let attack = move |peer: &mut Peer| peer.publish(&Entry::segment_retire(number));
                case(format!("segment {number}"), attack, unknown(number))
            })
            .into();
        cases.push(case(
            "twice",
            |peer| {
                peer.add_segment(4096);
                peer.publish(&Entry::segment_retire(0));
                peer.publish(&Entry::segment_retire(0));
            },
            unknown(0),
        ));
        cases.push(case(
            "and then lending from it",
            |peer| {
                peer.add_segment(4096);
                peer.publish(&Entry::segment_retire(0));
                let descriptor = Descriptor { segment: 0, lend: 0, offset: 0, len: 4096 };
                peer.publish(&Entry::request(1, ECHO, &[]).lending(descriptor));
            },
            unknown(0),
        ));
        cases
    });
}

type Make = fn() -> std::os::fd::OwnedFd;
type Expect = fn(&SegmentError) -> bool;

#[test]
fn unfit_segments_end_the_session() {
    use rustix::fs::SealFlags;
    const UNSEALED: Expect = |error| matches!(error, SegmentError::NotSealed(0));
    let unfit: [(&str, Make, Expect); 12] = [
        ("a pipe", || std::io::pipe().unwrap().0.into(), UNSEALED),
        ("a socket", || std::os::unix::net::UnixStream::pair().unwrap().0.into(), UNSEALED),
        ("/dev/null", || std::fs::File::open("/dev/null").unwrap().into(), UNSEALED),
        ("a folder", || std::fs::File::open("/").unwrap().into(), UNSEALED),
        ("a file", || tempfile::tempfile().unwrap().into(), UNSEALED),
        ("an unsealed memfd", || memfd::backed(4096), UNSEALED),
        ("a memfd by its path only", || path_only(&memfd_with(SEALS)), UNSEALED),
        (
            "a memfd that can shrink",
            || memfd_with(SEALS.difference(SealFlags::SHRINK)),
            |error| matches!(error, SegmentError::NotSealed(_)),
        ),
        (
            "a memfd that can be written",
            || memfd_with(SEALS.difference(SealFlags::FUTURE_WRITE)),
            |error| matches!(error, SegmentError::NotSealed(_)),
        ),
        (
            "a memfd without a page",
            || sealed(memfd::sparse(4096)),
            |error| matches!(error, SegmentError::NotBacked { backed: 0, size: 4096 }),
        ),
        (
            "too small",
            || memfd_of(1),
            |error| matches!(error, SegmentError::Size { found: 1, expected: 4096 }),
        ),
        (
            "too large",
            || memfd_of(8192),
            |error| matches!(error, SegmentError::Size { found: 8192, expected: 4096 }),
        ),
    ];
    each(move || {
        unfit.into_iter().map(|(name, make, expect)| unfit_segment(name, make, expect)).collect()
    });
}

/// A segment that the receiver must not take.
fn unfit_segment(name: &str, make: Make, expect: Expect) -> Case {
    case(
        name,
        move |peer| {
            peer.send_segment(make());
            announce(peer, 0, 4096);
        },
        move |violation| matches!(violation, MemoryViolation::Segment(error) if expect(error)),
    )
}

fn sealed(fd: std::os::fd::OwnedFd) -> std::os::fd::OwnedFd {
    memfd::seal(&fd, SEALS);
    fd
}

fn memfd_of(size: usize) -> std::os::fd::OwnedFd {
    sealed(memfd::backed(size))
}

fn memfd_with(seals: rustix::fs::SealFlags) -> std::os::fd::OwnedFd {
    let fd = memfd::backed(4096);
    memfd::seal(&fd, seals);
    fd
}

/// Opens the same file with `O_PATH`.
fn path_only(fd: &std::os::fd::OwnedFd) -> std::os::fd::OwnedFd {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
    rustix::fs::open(path, flags, rustix::fs::Mode::empty()).unwrap()
}

#[test]
fn segment_with_hidden_holes_ends_the_session() {
    each(|| {
        vec![case(
            "holes behind blocks",
            |peer| {
                peer.send_segment(memfd::hole_behind_blocks(8192));
                announce(peer, 0, 8192);
                // Accepted, it would be read.
                let descriptor = Descriptor { segment: 0, lend: 0, offset: 0, len: 8192 };
                peer.publish(&Entry::request(1, ECHO, &[]).lending(descriptor));
                peer.publish(&Entry::session(kind::SHUTDOWN, 0, &[]));
            },
            |violation| {
                matches!(
                    violation,
                    MemoryViolation::Segment(SegmentError::NotBacked { size: 8192, .. })
                )
            },
        )]
    });
}

/// Sends bytes with descriptors, then makes the honest side look at its socket.
fn on_the_socket(bytes: Vec<u8>, descriptors: usize) -> impl Fn(&mut Peer) + Send + Sync + 'static {
    move |peer| {
        let shared = Shared::fit(4096);
        let fds = vec![shared.fd.as_fd(); descriptors];
        let _ = socket::send(&peer.socket, &bytes, &fds);
        announce(peer, 0, 4096);
    }
}

#[test]
fn stray_socket_bytes_and_descriptors_end_the_session() {
    each(|| {
        let mut cases: Vec<Case> = [2, 3, 7, b'G', 0x7f, 0x80, 0xff]
            .map(|byte| {
                case(
                    format!("byte {byte:#04x}"),
                    on_the_socket(vec![byte], 0),
                    move |violation| matches!(violation, MemoryViolation::SocketByte(seen) if *seen == byte),
                )
            })
            .into();
        for bytes in [vec![0, 0, 5], vec![5, 0, 0], vec![0, 5, 1]] {
            cases.push(case(format!("{bytes:?}"), on_the_socket(bytes, 0), |violation| {
                matches!(violation, MemoryViolation::SocketByte(5))
            }));
        }
        for (bytes, descriptors) in [
            (vec![byte::DOORBELL], 1),
            (vec![byte::DOORBELL], 3),
            (vec![byte::SEGMENT], 2),
            (vec![byte::SEGMENT], 8),
            (vec![0, 0, 0], 1),
        ] {
            cases.push(case(
                format!("{bytes:?} with {descriptors} descriptors"),
                on_the_socket(bytes, descriptors),
                |violation| matches!(violation, MemoryViolation::UnwantedDescriptors),
            ));
        }
        cases.push(case(
            "two segment bytes with one descriptor",
            on_the_socket(vec![byte::SEGMENT, byte::SEGMENT], 1),
            |violation| matches!(violation, MemoryViolation::SocketByte(byte::SEGMENT)),
        ));
        cases.push(case(
            "a doorbell with two descriptors behind a good segment",
            |peer| {
                peer.add_segment(4096);
                let other = Shared::fit(4096);
                let fds = [other.fd.as_fd(), other.fd.as_fd()];
                let _ = socket::send(&peer.socket, &[byte::DOORBELL], &fds);
                announce(peer, 1, 4096);
            },
            |violation| matches!(violation, MemoryViolation::UnwantedDescriptors),
        ));
        cases
    });
}

#[test]
fn sixteen_descriptors_end_the_session_by_name() {
    each(|| {
        vec![case("16 descriptors", on_the_socket(vec![byte::SEGMENT], 16), |violation| {
            matches!(violation, MemoryViolation::UnwantedDescriptors)
        })]
    });
}

#[test]
fn a_segment_byte_without_a_descriptor_ends_the_session() {
    within(GENEROUS, || {
        let attack = |peer: &mut Peer| {
            let _ = socket::send(&peer.socket, &[byte::SEGMENT], &[]);
        };
        let park = || options().wait(WaitPolicy::Park);
        let Err(SessionError::Violation(Violation::Memory(violation))) =
            served(park(), Terms::default(), attack)
        else {
            panic!("served")
        };
        assert!(
            matches!(broken_rule(&violation), MemoryViolation::UnwantedDescriptors),
            "{violation:?}"
        );
        let Err(CallError::Violation(Violation::Memory(violation))) =
            called(park(), Terms::default(), attack, |session| {
                session.call(ECHO, b"ping").map(drop)
            })
        else {
            panic!("called")
        };
        assert!(
            matches!(broken_rule(&violation), MemoryViolation::UnwantedDescriptors),
            "{violation:?}"
        );
        // A worker reads the socket only when it must. The doorbell behind the byte may make that
        // byte wrong in another way.
        let stage = Stage::set();
        let expected =
            [MemoryViolation::UnwantedDescriptors, MemoryViolation::SocketByte(byte::SEGMENT)]
                .map(broken);
        stage.attack(Terms::default(), &expected.each_ref().map(|text| &**text), |peer| {
            attack(peer);
            announce(peer, 0, 4096);
        });
        stage.close();
    });
}

#[test]
fn as_many_unannounced_segments_as_allowed_are_fine() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let terms = Terms { ring_capacity: 128, ..Terms::default() };
        let mut peer = Peer::connect(stage.path(), terms);
        let shared = Shared::fit(4096);
        for _ in 0..byte::MAX_UNANNOUNCED {
            peer.send_segment(&shared.fd);
        }
        for number in 0..byte::MAX_UNANNOUNCED as u32 {
            announce(&mut peer, number, 4096);
        }
        assert_eq!(peer.call(1, ECHO, b"still here"), b"still here");
        stage.close();
    });
}

#[test]
fn reserved_fields_may_hold_any_bytes() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let mut peer = Peer::connect(stage.path(), Terms::default());
        // The words for tools, everything reserved below the ring, and the reserved bytes of an
        // entry.
        for range in [0x000..0x080, 0x088..0x100, 0x118..0x180, 0x200..0x400, 0x440..0x1000] {
            peer.ring.shared.fill(range, 0xee);
        }
        for call in 0..200 {
            let mut entry = Entry::request(2 * call + 1, ECHO, b"x");
            entry.body = vec![b'x'; entry::BODY_MAX];
            peer.ring.write(peer.ring.tail, &entry);
            let slot = peer.ring.slot(peer.ring.tail);
            peer.ring.shared.write(slot + 22, &[0xee; 2]);
            peer.ring.commit(peer.ring.tail, peer.ring.tail + 1);
            peer.ring.tail += 1;
            peer.ring_doorbell();
            let seen = peer.next_message().expect("a reply");
            assert_eq!(
                (seen.stream(), seen.flags(), seen.body()),
                (2 * call + 1, flag::FIN, &b"x"[..])
            );
        }
        assert!(peer.view.load(control::CONSUMED_AT) > 0);
        stage.close();
    });
}

/// A kernel may have been built without huge pages.
mod needs_huge_pages {
    use super::*;

    #[test]
    #[ignore = "needs huge pages: `make needs` runs it where there are"]
    fn a_payload_segment_of_huge_pages() {
        each(|| {
            let not_tmpfs: Expect = |error| matches!(error, SegmentError::NotTmpfs(_));
            vec![unfit_segment("huge pages", || memfd::huge(4096), not_tmpfs)]
        });
    }
}
