//! A peer that sends its own end of the session socket as a "segment": whoever keeps that never
//! sees the end of the connection.

use std::os::unix::net::UnixStream;
use std::thread;

use breezeway::{
    CallError, MemoryViolation, SegmentError, ServerOptions, Session, SessionError, Violation,
    WaitPolicy,
};
use breezeway_adversary::journal;
use breezeway_adversary::native::{Entry, Peer, Terms};

use super::service::ECHO;
use super::stage::{Stage, options};
use super::watchdog::{GENEROUS, within};

#[test]
fn a_client_is_not_kept_by_a_server_that_sends_its_own_end_and_dies() {
    within(GENEROUS, || {
        for wait in [WaitPolicy::Park, WaitPolicy::Adaptive, WaitPolicy::Busy] {
            let (hostile, honest) = UnixStream::pair().unwrap();
            let server = thread::spawn(move || {
                let mut peer = Peer::server(hostile.into(), Terms::default());
                peer.next_message().unwrap();
                peer.send_segment(&peer.socket);
            });
            let mut session = Session::from_socket(honest.into(), &options().wait(wait)).unwrap();
            let outcome = session.call(ECHO, b"ping").map(drop);
            let Err(CallError::Violation(Violation::Memory(MemoryViolation::Segment(
                SegmentError::NotSealed(0),
            )))) = outcome
            else {
                panic!("{outcome:?}")
            };
            server.join().unwrap();
        }
    });
}

#[test]
fn a_server_keeps_no_session_of_a_client_that_sent_its_own_end_and_closed() {
    within(GENEROUS, || {
        for wait in [WaitPolicy::Park, WaitPolicy::Adaptive, WaitPolicy::Busy] {
            let session = options().wait(wait);
            let stage = Stage::with(ServerOptions::new().session(session));
            for with_a_call in [false, true] {
                let from = journal::length();
                let mut peer = Peer::connect(stage.path(), Terms::default());
                peer.send_segment(&peer.socket);
                if with_a_call {
                    // Whether it is served depends on what the server reads first.
                    peer.publish(&Entry::request(1, ECHO, b"x"));
                }
                drop(peer);
                // What is left of such a session is found when others come, at the latest: who
                // comes before its doorbell is heard does not count.
                let reason = stage.end_of_session_while(from, || {
                    drop(Session::connect_with(&stage.address(), &options()).unwrap());
                });
                let refused = SegmentError::NotSealed(0);
                assert_eq!(
                    reason,
                    SessionError::Violation(MemoryViolation::from(refused).into()).to_string()
                );
            }
            stage.close();
        }
    });
}
