//! A client's frames that no server may take.

use std::io::Write;

use breezeway::{Carrier, WaitPolicy};
use breezeway_adversary::Connection;
use breezeway_adversary::journal;
use breezeway_adversary::native::frame::{self, Header, request};
use breezeway_adversary::native::layout::flag::{FIN, LENT, NO_REPLY, OPEN};
use breezeway_adversary::native::layout::kind::{CANCEL, MESSAGE, SHUTDOWN};

use super::stage::{Stage, on_each_stage};
use super::{CAP, METHOD, send_with_descriptors};
use crate::support::content::message;
use crate::support::{EVERY_POLICY, eventually, observe};

/// Reads to the end; gives how many replies came before it.
#[track_caller]
fn replies_to_the_end(peer: &mut Connection) -> usize {
    let mut replies = 0;
    while let Some((header, _)) = frame::next(peer).expect("an end") {
        replies += usize::from(header.kind == MESSAGE);
    }
    replies
}

/// Sends `bytes` behind one good request; the server answers that, ends the session for a reason
/// that contains `rule`, and the honest client does not notice.
#[track_caller]
fn attack(stage: &Stage, bytes: &[u8], rule: &str) {
    let from = journal::length();
    let mut peer = stage.peer();
    peer.write_all(&request(1, METHOD, b"good")).unwrap();
    assert_eq!(frame::next(&mut peer).unwrap(), Some((Header::reply(1, 4), b"good".to_vec())));
    // The server may end the session before it has taken all.
    let _ = peer.write_all(bytes);
    assert_eq!(replies_to_the_end(&mut peer), 0, "{rule}: {:02x?}", &bytes[..bytes.len().min(32)]);
    let reason = stage.end_of_session(from);
    assert!(reason.contains(rule), "'{reason}' does not say '{rule}'");
}

/// A good request's header, with something wrong.
fn header(change: impl FnOnce(&mut Header)) -> Vec<u8> {
    let mut header = Header::request(3, METHOD, 0);
    change(&mut header);
    header.bytes().to_vec()
}

#[test]
fn calls_past_the_most_in_flight_are_no_violation_on_a_socket() {
    on_each_stage(WaitPolicy::Adaptive, |stage| {
        let mut peer = stage.peer();
        // Far more than half of the largest ring that a server makes for its client.
        let streams = (1..2000).step_by(2);
        let all: Vec<u8> =
            streams.clone().flat_map(|stream| request(stream, METHOD, b"x")).collect();
        peer.write_all(&all).unwrap();
        for stream in streams {
            let reply = (Header::reply(stream, 1), b"x".to_vec());
            assert_eq!(frame::next(&mut peer).unwrap(), Some(reply));
        }
    });
}

#[test]
fn every_kind_that_a_client_may_not_send_is_a_violation_by_name() {
    on_each_stage(WaitPolicy::Adaptive, |stage| {
        for kind in (0..=255).filter(|kind| ![MESSAGE, CANCEL, SHUTDOWN].contains(kind)) {
            let rule = match kind {
                4 => "a frame of kind 4 with 0 bytes".to_owned(),
                2 | 5..=8 => "an unexpected ".to_owned(),
                _ => format!("kind {kind} is not defined"),
            };
            // On 0, as a reset of any other stream is ignored.
            let stream = u32::from(kind != 2);
            let bytes = header(|header| (header.kind, header.stream) = (kind, stream));
            attack(stage, &bytes, &rule);
        }
    });
}

#[test]
fn invalid_request_flags_are_violations_by_name() {
    on_each_stage(WaitPolicy::Park, |stage| {
        for flags in (0..=255).filter(|flags| ![OPEN | FIN, OPEN | FIN | NO_REPLY].contains(flags))
        {
            let rule = if flags & LENT == 0 {
                format!("a message with flags {flags:#04x} is not a request")
            } else {
                format!("flags {flags:#04x}")
            };
            attack(stage, &header(|header| header.flags = flags), &rule);
        }
    });
}

#[test]
fn body_above_cap_is_a_violation_before_it_comes() {
    for policy in EVERY_POLICY {
        on_each_stage(policy, |stage| {
            for len in [CAP as u32 + 1, 2 * CAP as u32, 1 << 31, u32::MAX - 15, u32::MAX] {
                let rule = format!("with {len} bytes; a message has at most {CAP}");
                attack(stage, &header(|header| header.len = len), &rule);
                // Also if some of it comes.
                let some = [header(|header| header.len = len), vec![0; 200_000]].concat();
                attack(stage, &some, &rule);
            }
        });
    }
}

#[test]
fn a_body_as_long_as_the_cap_is_none() {
    on_each_stage(WaitPolicy::Adaptive, |stage| {
        for len in [0, 1, CAP - 1, CAP] {
            let mut peer = stage.peer();
            let body = message(5, len);
            let said = request(1, METHOD, body);
            std::thread::scope(|scope| {
                let mut writing = &peer;
                scope.spawn(move || writing.write_all(&said).unwrap());
            });
            let (reply, echoed) = frame::next(&mut peer).unwrap().expect("a reply");
            assert_eq!(reply, Header::reply(1, len));
            assert!(echoed == body);
        }
    });
}

#[test]
fn a_frame_without_a_message_has_no_body() {
    on_each_stage(WaitPolicy::Adaptive, |stage| {
        for kind in [CANCEL, SHUTDOWN] {
            for len in [1, 8, CAP as u32, u32::MAX] {
                let rule = format!("a frame of kind {kind} with {len} bytes");
                let change = |header: &mut Header| (header.kind, header.len) = (kind, len);
                attack(stage, &header(change), &rule);
            }
        }
    });
}

#[test]
fn a_request_on_a_stream_that_clients_do_not_use_is_a_violation() {
    on_each_stage(WaitPolicy::Park, |stage| {
        for stream in [0, 2, 4, 1 << 31, u32::MAX - 1] {
            let rule = format!("a request on stream {stream}; clients use odd numbers");
            attack(stage, &header(|header| header.stream = stream), &rule);
        }
    });
}

#[test]
fn reserved_fields_and_unknown_cancels_are_ignored() {
    on_each_stage(WaitPolicy::Adaptive, |stage| {
        let mut peer = stage.peer();
        let mut said = Vec::new();
        let cancel = |stream, flags| Header {
            len: 0,
            kind: CANCEL,
            flags,
            time: u16::MAX,
            stream,
            tag: u32::MAX,
        };
        for (stream, flags) in [(0, 0), (1, 0xff), (u32::MAX, LENT), (77, 0)] {
            said.extend(cancel(stream, flags).bytes());
        }
        said.extend(header(|header| header.time = 0xbeef));
        // A number twice is the client's own affair.
        said.extend(header(|_| ()));
        peer.write_all(&said).unwrap();
        for _ in 0..2 {
            assert_eq!(frame::next(&mut peer).unwrap(), Some((Header::reply(3, 0), Vec::new())));
        }
    });
}

#[test]
fn bytes_behind_a_shutdown_are_ignored() {
    on_each_stage(WaitPolicy::Adaptive, |stage| {
        for garbage in [vec![0xff; 100_000], request(3, METHOD, b"late"), vec![0], Vec::new()] {
            let from = journal::length();
            let mut peer = stage.peer();
            let said = [&request(1, METHOD, b"good")[..], &Header::shutdown().bytes(), &garbage];
            peer.write_all(&said.concat()).unwrap();
            let first = frame::next(&mut peer).unwrap();
            assert_eq!(first, Some((Header::reply(1, 4), b"good".to_vec())));
            assert_eq!(replies_to_the_end(&mut peer), 0);
            let said = journal::lines_of(stage.worker, from);
            assert!(said.iter().all(|line| line.error.is_empty()), "{said:?}");
        }
    });
}

#[test]
fn frames_behind_a_violation_are_not_served() {
    on_each_stage(WaitPolicy::Adaptive, |stage| {
        let behind: Vec<u8> = (0..50).flat_map(|_| request(5, METHOD, b"late")).collect();
        attack(stage, &[header(|header| header.kind = 0), behind].concat(), "kind 0");
    });
}

#[test]
fn descriptors_behind_the_hello_are_a_violation_and_are_closed() {
    for policy in EVERY_POLICY {
        let stage = Stage::set(Carrier::Unix, policy);
        let open = || observe::descriptors(std::process::id());
        for count in [1, 2, 4, 5, 64] {
            for bytes in [&request(1, METHOD, b"good")[..], &[0]] {
                let from = journal::length();
                let mut peer = stage.peer();
                send_with_descriptors(&peer, bytes, count);
                assert_eq!(replies_to_the_end(&mut peer), 0);
                let reason = stage.end_of_session(from);
                assert!(reason.contains("file descriptors where messages travel"), "{reason}");
            }
        }
        stage.goes_on();
        // They are closed on a thread of their own, while other tests open some.
        eventually("few descriptors are open", || open() < 400);
        stage.close();
    }
}

#[test]
fn a_violation_is_one_also_a_byte_at_a_time() {
    on_each_stage(WaitPolicy::Park, |stage| {
        for bytes in [header(|header| header.kind = 77), header(|header| header.len = u32::MAX)] {
            let from = journal::length();
            let mut peer = stage.peer();
            for byte in bytes {
                peer.write_all(&[byte]).unwrap();
            }
            assert_eq!(replies_to_the_end(&mut peer), 0);
            let reason = stage.end_of_session(from);
            assert!(reason.contains("kind"), "{reason}");
        }
    });
}
