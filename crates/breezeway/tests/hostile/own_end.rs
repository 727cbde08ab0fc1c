//! A peer that sends its own end of the session socket as a "segment": a side that keeps it never
//! sees the end of the connection.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread;

use breezeway::unstable::broken_rule;
use breezeway::{
    Call, CallError, ExclusiveServerSession, ExclusiveSession, ServerOptions, Session,
    SessionOptions, Violation, WaitPolicy, describe,
};
use breezeway_adversary::native::{Entry, Peer, Terms};
use breezeway_adversary::stopwatch::eventually;
use breezeway_adversary::{Shared, journal, socket};
use breezeway_os::segment::SegmentError;
use breezeway_shm::Violation as MemoryViolation;

use super::service::ECHO;
use super::stage::{Stage, broken, options};
use super::watchdog::{GENEROUS, within};

const POLICIES: [WaitPolicy; 3] = [WaitPolicy::Park, WaitPolicy::Adaptive, WaitPolicy::Busy];

/// Good segments before the peer's own end: none, as many as were once held, and the most.
const BEFORE: [usize; 3] = [0, 8, 64];

/// Sends so many segments that are not announced, and then the peer's own end.
fn send_own_end_behind(peer: &Peer, segments: usize) {
    let segment = Shared::fit(4096);
    for _ in 0..segments {
        socket::send(&peer.socket, &[1], &[segment.fd.as_fd()]).unwrap();
    }
    socket::send(&peer.socket, &[1], &[peer.socket.as_fd()]).unwrap();
}

/// Serves one call with that, and dies.
fn server_that_sends_its_own_end(hostile: UnixStream, segments: usize) {
    let mut peer = Peer::server(hostile.into(), Terms::default());
    peer.next_message().unwrap();
    send_own_end_behind(&peer, segments);
}

fn is_refused(outcome: &Result<(), CallError>) -> bool {
    let violation = match outcome {
        Err(CallError::EndedBy(error)) => error,
        Err(error) => error,
        Ok(()) => return false,
    };
    let CallError::Violation(Violation::Memory(violation)) = violation else { return false };
    matches!(broken_rule(violation), MemoryViolation::Segment(SegmentError::NotSealed(0)))
}

fn with_each_server(
    connect: impl Fn(UnixStream, &SessionOptions) -> Box<dyn FnOnce() -> Result<(), CallError>>,
) {
    for wait in POLICIES {
        for segments in BEFORE {
            let (hostile, honest) = UnixStream::pair().unwrap();
            let server = thread::spawn(move || server_that_sends_its_own_end(hostile, segments));
            let outcome = connect(honest, &options().wait(wait))();
            assert!(is_refused(&outcome), "{wait:?}, behind {segments}: {outcome:?}");
            server.join().unwrap();
        }
    }
}

#[test]
fn session_whose_server_sends_its_own_end_and_dies_fails() {
    within(GENEROUS, || {
        with_each_server(|socket, options| {
            let mut session = ExclusiveSession::from_socket(socket.into(), options).unwrap();
            Box::new(move || session.call(ECHO, b"ping").map(drop))
        });
    });
}

#[test]
fn channel_whose_server_sends_its_own_end_and_dies_fails() {
    within(GENEROUS, || {
        with_each_server(|socket, options| {
            let shared = Session::from_socket(socket.into(), options).unwrap();
            Box::new(move || shared.call(ECHO, b"ping").map(drop))
        });
    });
}

/// The server lives on, and so does the shared.
#[test]
fn channel_shuts_socket_of_server_that_sends_its_own_end() {
    within(GENEROUS, || {
        for wait in POLICIES {
            let (hostile, honest) = UnixStream::pair().unwrap();
            let server = thread::spawn(move || {
                let mut peer = Peer::server(hostile.into(), Terms::default());
                peer.next_message().unwrap();
                send_own_end_behind(&peer, 0);
                peer.wait_for_end();
            });
            let shared = Session::from_socket(honest.into(), &options().wait(wait)).unwrap();
            let outcome = shared.call(ECHO, b"ping").map(drop);
            assert!(is_refused(&outcome), "{wait:?}: {outcome:?}");
            server.join().expect("the socket is shut down");
            drop(shared);
        }
    });
}

/// The client makes as many calls as may be in flight, and all are deferred.
#[test]
fn session_full_of_deferred_calls_refuses_own_end() {
    const RING: u32 = 8;
    const MAX_IN_FLIGHT: usize = RING as usize / 2;
    within(GENEROUS, || {
        for wait in POLICIES {
            let (hostile, honest) = UnixStream::pair().unwrap();
            let held = Arc::new(Mutex::new(Vec::new()));
            let holding = Arc::clone(&held);
            let serving = thread::spawn(move || {
                let options = options().ring_capacity(RING).wait(wait);
                let session = ExclusiveServerSession::from_socket(honest.into(), &options).unwrap();
                session.serve(&move |call: Call<'_>| {
                    let (call, later) = call.defer()?;
                    holding.lock().unwrap().push(call);
                    Ok(later)
                })
            });
            let terms = Terms { ring_capacity: RING, ..Terms::default() };
            let mut peer = Peer::client(hostile.into(), terms);
            for call in 0..MAX_IN_FLIGHT as u32 {
                peer.publish(&Entry::request(2 * call + 1, ECHO, b"x"));
            }
            eventually("all are held", || held.lock().unwrap().len() == MAX_IN_FLIGHT);
            send_own_end_behind(&peer, 0);
            drop(peer);
            let reason = describe(&serving.join().unwrap().unwrap_err());
            let refused = MemoryViolation::from(SegmentError::NotSealed(0));
            assert_eq!(reason, broken(refused), "{wait:?}");
        }
    });
}

#[test]
fn server_ends_session_of_client_that_sends_its_own_end() {
    within(GENEROUS, || {
        for wait in POLICIES {
            let session = options().wait(wait);
            let stage = Stage::with(ServerOptions::new().session(session));
            for segments in BEFORE {
                for calls in 0..3 {
                    let from = journal::length();
                    let mut peer = Peer::connect(stage.path(), Terms::default());
                    send_own_end_behind(&peer, segments);
                    for call in 0..calls {
                        // Whether they are served depends on what the server reads first.
                        peer.publish(&Entry::request(2 * call + 1, ECHO, b"x"));
                    }
                    drop(peer);
                    // The process lives on, and no other client comes.
                    let reason = stage.end_of_session(from);
                    let refused = MemoryViolation::from(SegmentError::NotSealed(0));
                    assert_eq!(reason, broken(refused));
                }
            }
            stage.close();
        }
    });
}

/// Each session's socket lies in the other's: neither end is ever the last one.
#[test]
fn sessions_that_send_each_others_ends_are_ended() {
    within(GENEROUS, || {
        for wait in POLICIES {
            let stage = Stage::with(ServerOptions::new().session(options().wait(wait)));
            let ended = || {
                let lines = stage.worker_lines();
                lines.iter().filter(|line| line.message == "session ended").count()
            };
            let peers = [(); 2].map(|()| Peer::connect(stage.path(), Terms::default()));
            for (one, other) in [(0, 1), (1, 0)] {
                peers[one].send_segment(&peers[other].socket);
            }
            drop(peers);
            eventually("both end", || ended() == 2);
            stage.close();
        }
    });
}
