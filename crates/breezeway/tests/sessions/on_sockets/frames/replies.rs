//! A server's frames that no client may take.

use std::io::Write;
use std::sync::mpsc::channel;
use std::time::Duration;

use breezeway::{CallError, Carrier, ExclusiveSession, WaitPolicy, describe};
use breezeway_adversary::native::frame::{self, Header, request, welcome};
use breezeway_adversary::native::layout::flag::{ERROR, FIN, LENT};
use breezeway_adversary::native::layout::kind::{CANCEL, GO_AWAY, MESSAGE, SHUTDOWN};

use super::{CAP, LARGE_CAP, METHOD, SOCKETS, send_with_descriptors};
use crate::support::content::message;
use crate::support::{self, EVERY_POLICY, Folder, PATIENCE, PROMPT, raw, within};

/// Returns the caller's error at a server that answers its call with `answer`.
fn told(
    carrier: Carrier,
    policy: WaitPolicy,
    answer: Vec<u8>,
) -> (Result<Vec<u8>, CallError>, bool) {
    let folder = Folder::on(carrier);
    let listener = raw::listen(&folder.address());
    let acting = std::thread::spawn(move || {
        let mut peer = listener.accept().unwrap();
        welcome(&mut peer, LARGE_CAP);
        frame::next(&mut peer).unwrap().expect("the request");
        let _ = peer.write_all(&answer);
        // Until the client has read it: the client must find the violation without an end of the
        // connection.
        let _ = frame::next(&mut peer);
    });
    let options = support::patient().wait(policy).cap(CAP as u64);
    let mut session = ExclusiveSession::connect_with(folder.address(), &options).unwrap();
    let outcome = within(PATIENCE, "the outcome", move || {
        let outcome = session.call(METHOD, b"hi").map(|reply| reply.to_vec());
        let over = session.is_ended();
        drop(session);
        (outcome, over)
    });
    within(PATIENCE, "the end", move || acting.join().expect("the attack itself failed"));
    outcome
}

/// A good reply's header, with something wrong.
fn answer(change: impl FnOnce(&mut Header)) -> Vec<u8> {
    let mut header = Header::reply(1, 0);
    change(&mut header);
    header.bytes().to_vec()
}

#[track_caller]
fn is_violation(policy: WaitPolicy, bytes: &[u8], rule: &str) {
    for carrier in SOCKETS {
        let (outcome, over) = told(carrier, policy, bytes.to_vec());
        match outcome {
            Err(CallError::Violation(violation)) => {
                let text = violation.to_string();
                assert!(text.contains(rule), "'{text}' does not say '{rule}'");
            }
            other => panic!("{carrier} {rule}: {other:?}"),
        }
        assert!(over, "{rule}");
    }
}

#[test]
fn every_kind_that_a_server_may_not_send_is_a_violation_by_name() {
    let may_be_sent = [MESSAGE, GO_AWAY, SHUTDOWN];
    for kind in (0..=20).chain([127, 128, 255]).filter(|kind| !may_be_sent.contains(kind)) {
        let rule = match kind {
            4 => "a frame of kind 4".to_owned(),
            2..=8 => "an unexpected ".to_owned(),
            _ => format!("kind {kind} is not defined"),
        };
        // On 0, as a reset of any other stream is ignored.
        let stream = u32::from(kind != 2);
        let bytes = answer(|header| (header.kind, header.stream) = (kind, stream));
        is_violation(WaitPolicy::Park, &bytes, &rule);
    }
}

#[test]
fn a_server_goes_away_once() {
    let twice = answer(|header| header.kind = GO_AWAY).repeat(2);
    is_violation(WaitPolicy::Park, &twice, "an unexpected ");
}

#[test]
fn every_flag_that_a_reply_may_not_have_is_a_violation_by_name() {
    for flags in (0..=255u8).filter(|flags| ![FIN, FIN | ERROR].contains(flags)).step_by(3) {
        let rule = if flags & LENT == 0 {
            format!("a message with flags {flags:#04x} is not a reply")
        } else {
            format!("flags {flags:#04x} do not belong")
        };
        is_violation(WaitPolicy::Adaptive, &answer(|header| header.flags = flags), &rule);
    }
}

#[test]
fn a_request_is_no_reply() {
    is_violation(WaitPolicy::Park, &request(1, METHOD, b"you serve"), "is not a reply");
}

#[test]
fn a_reply_to_a_call_that_is_not_in_flight_is_a_violation() {
    for policy in EVERY_POLICY {
        for stream in [0, 2, 3, 5, u32::MAX] {
            let rule = format!("a reply on stream {stream}, where no call is in flight");
            is_violation(policy, &answer(|header| header.stream = stream), &rule);
        }
    }
}

#[test]
fn reply_above_cap_is_a_violation_before_it_comes() {
    for policy in EVERY_POLICY {
        for len in [CAP as u32 + 1, u32::MAX - 15, u32::MAX] {
            let rule = format!("with {len} bytes; a message has at most {CAP}");
            is_violation(policy, &answer(|header| header.len = len), &rule);
        }
    }
    for kind in [CANCEL, SHUTDOWN] {
        let rule = format!("a frame of kind {kind} with 1 bytes");
        let change = |header: &mut Header| (header.kind, header.len) = (kind, 1);
        is_violation(WaitPolicy::Park, &answer(change), &rule);
    }
}

#[test]
fn a_reply_as_long_as_the_cap_is_one() {
    for carrier in SOCKETS {
        for policy in EVERY_POLICY {
            let body = message(3, CAP);
            let (outcome, over) = told(carrier, policy, frame::reply(1, body));
            assert!(outcome.unwrap() == body && !over);
        }
    }
}

#[test]
fn shutdown_instead_of_reply_is_an_orderly_end() {
    for carrier in SOCKETS {
        for behind in [Vec::new(), vec![0xff; 1000]] {
            let farewell = [&Header::shutdown().bytes()[..], &behind].concat();
            let (outcome, over) = told(carrier, WaitPolicy::Adaptive, farewell);
            assert!(matches!(outcome, Err(CallError::Closed)), "{outcome:?}");
            assert!(over);
        }
    }
}

#[test]
fn second_reply_to_a_call_ends_session_at_next_use() {
    for carrier in SOCKETS {
        let folder = Folder::on(carrier);
        let listener = raw::listen(&folder.address());
        let acting = std::thread::spawn(move || {
            let mut peer = listener.accept().unwrap();
            welcome(&mut peer, LARGE_CAP);
            frame::next(&mut peer).unwrap().expect("the request");
            peer.write_all(&[frame::reply(1, b"once"), frame::reply(1, b"twice")].concat())
                .unwrap();
            while let Ok(Some(_)) = frame::next(&mut peer) {}
        });
        let mut session =
            ExclusiveSession::connect_with(folder.address(), &support::patient()).unwrap();
        assert_eq!(session.call(METHOD, b"hi").unwrap().to_vec(), b"once");
        let error = within(PROMPT, "the error", move || {
            session.call(METHOD, b"hi").map(drop).expect_err("a violation")
        });
        assert!(matches!(error, CallError::Violation(_)), "{error:?}");
        within(PROMPT, "the end", move || acting.join().unwrap());
    }
}

#[test]
fn a_reply_with_descriptors_is_a_violation() {
    for policy in EVERY_POLICY {
        for count in [1, 4, 64] {
            let folder = Folder::on(Carrier::Unix);
            let listener = raw::listen(&folder.address());
            let acting = std::thread::spawn(move || {
                let mut peer = listener.accept().unwrap();
                welcome(&mut peer, LARGE_CAP);
                frame::next(&mut peer).unwrap().expect("the request");
                send_with_descriptors(&peer, &frame::reply(1, b"here"), count);
                while let Ok(Some(_)) = frame::next(&mut peer) {}
            });
            let options = support::patient().wait(policy);
            let mut session = ExclusiveSession::connect_with(folder.address(), &options).unwrap();
            let error = within(PROMPT, "the error", move || {
                session.call(METHOD, b"hi").map(drop).expect_err("a violation")
            });
            assert!(describe(&error).contains("file descriptors"), "{error}");
            within(PROMPT, "the end", move || acting.join().unwrap());
        }
    }
}

/// Plays a server that sends `frames` at once and reads nothing until the client, which runs `act`
/// with its session, is done with it.
fn told_by_a_server_that_reads_nothing<T: Send + 'static>(
    carrier: Carrier,
    cap: u64,
    frames: Vec<u8>,
    act: impl FnOnce(&mut ExclusiveSession) -> T + Send + 'static,
) -> T {
    let folder = Folder::on(carrier);
    let listener = raw::listen(&folder.address());
    let (done, is_done) = channel::<()>();
    let acting = std::thread::spawn(move || {
        let mut peer = listener.accept().unwrap();
        welcome(&mut peer, cap);
        peer.write_all(&frames).unwrap();
        // Sends no more than that, and closes when the client is done.
        let _ = is_done.recv();
    });
    let options = support::patient().wait(WaitPolicy::Park).cap(CAP as u64);
    let mut session = ExclusiveSession::connect_with(folder.address(), &options).unwrap();
    let outcome = within(PATIENCE, "the outcome", move || act(&mut session));
    drop(done);
    within(PATIENCE, "the end", move || acting.join().expect("the attack itself failed"));
    outcome
}

#[test]
fn posts_without_waiting_are_sent_when_session_drops() {
    for carrier in SOCKETS {
        let folder = Folder::on(carrier);
        let listener = raw::listen(&folder.address());
        let (dropping, is_dropped) = channel::<()>();
        let reading = std::thread::spawn(move || {
            let mut peer = listener.accept().unwrap();
            welcome(&mut peer, LARGE_CAP);
            let _ = is_dropped.recv();
            let mut kinds = Vec::new();
            while let Some((header, _)) = frame::next(&mut peer).unwrap() {
                kinds.push(header.kind);
            }
            kinds
        });
        let mut session =
            ExclusiveSession::connect_with(folder.address(), &support::patient()).unwrap();
        let mut posted = 0;
        while session.try_post(METHOD, &[7; 30_000]).is_ok() {
            posted += 1;
        }
        dropping.send(()).unwrap();
        drop(session);
        let kinds = within(PATIENCE, "the end", move || reading.join().unwrap());
        let messages = kinds.iter().filter(|kind| **kind == MESSAGE).count();
        assert_eq!((messages, kinds.last()), (posted, Some(&SHUTDOWN)), "{carrier}");
    }
}

#[test]
fn ended_server_with_unread_frames_blocks_no_sender() {
    const SMALL_CAP: u64 = 4096;
    // More than a client lets lie unread while it waits for room.
    let behind = vec![0; 2 * SMALL_CAP as usize + (64 << 10) + 1000];
    for carrier in SOCKETS {
        for kind in [SHUTDOWN, CANCEL] {
            let first = answer(|header| (header.kind, header.flags, header.stream) = (kind, 0, 0));
            let frames = [&first[..], &behind].concat();
            let post = |session: &mut ExclusiveSession| {
                session.set_call_timeout(Some(Duration::from_millis(100)));
                loop {
                    match session.post(METHOD, &[0; 4000]) {
                        Ok(()) | Err(CallError::DeadlinePassed) => {}
                        Err(error) => return error,
                    }
                }
            };
            let error = told_by_a_server_that_reads_nothing(carrier, SMALL_CAP, frames, post);
            let is_right = match kind {
                SHUTDOWN => matches!(error, CallError::Closed),
                _ => matches!(error, CallError::Violation(_)),
            };
            assert!(is_right, "{carrier}, kind {kind}: {error:?}");
        }
    }
}

#[test]
fn server_death_is_seen_when_all_calls_are_given_up() {
    for carrier in SOCKETS {
        let folder = Folder::on(carrier);
        let listener = raw::listen(&folder.address());
        let accepting = std::thread::spawn(move || {
            let mut peer = listener.accept().unwrap();
            welcome(&mut peer, LARGE_CAP);
            peer
        });
        let options = support::patient().ring_capacity(8);
        let mut session = ExclusiveSession::connect_with(folder.address(), &options).unwrap();
        let peer = accepting.join().unwrap();
        session.set_call_timeout(Some(Duration::from_millis(1)));
        for _ in 0..session.max_in_flight() {
            let error = session.call(METHOD, b"hi").map(drop).unwrap_err();
            assert!(matches!(error, CallError::DeadlinePassed), "{error:?}");
        }
        let error = session.call(METHOD, b"hi").map(drop).unwrap_err();
        assert!(matches!(error, CallError::TooManyInFlight(4)), "{error:?}");
        // Its own end, whatever has not been read.
        peer.shutdown(std::net::Shutdown::Both).unwrap();
        let error = session.call(METHOD, b"hi").map(drop).unwrap_err();
        assert!(matches!(error, CallError::PeerDied), "{carrier}: {error:?}");
        assert!(session.is_ended());
    }
}
