//! Single events of a session's socket behind which something else has arrived than doorbells.

use rustix::net::{Shutdown, shutdown};

use super::*;

/// Numbers of doorbell bytes that one event reports.
const DOORBELLS: [usize; 4] = [1, 7, 8, 600];

/// Returns a worker with an armed session without pending events, alone or one that takes streams,
/// and its client.
fn armed(wait: WaitPolicy, takes_streams: bool) -> (Worker, Peer) {
    let options = SessionOptions::new().wait(wait);
    let mut worker = worker(&options);
    let connect = |socket| Peer::client_with_streams(socket, Terms::default(), 8);
    let (session, peer) =
        if takes_streams { shared_session_with(&options, connect) } else { session(&options) };
    worker.start(session);
    assert!(worker.arm(0), "nothing was asked of it yet");
    worker.sleeper.wait(Some(Duration::ZERO)).unwrap();
    (worker, peer)
}

/// Handles the pending events once, and takes some turns. Returns true if the session lasts.
fn lasts(worker: &mut Worker) -> bool {
    worker.now = clock::ticks();
    worker.listened = worker.now.wrapping_sub(clock::ticks_in(LISTEN_EVERY));
    worker.listen_if_due().unwrap();
    for _ in 0..4 {
        worker.round(&echo).unwrap();
    }
    worker.slots[0].is_some()
}

/// Runs `test` with each worker whose client has rung and that has not taken the event.
fn with_each(test: impl Fn(&mut Worker, Peer)) {
    for wait in [WaitPolicy::Park, WaitPolicy::Adaptive, WaitPolicy::Busy] {
        for takes_streams in [false, true] {
            for doorbells in DOORBELLS {
                let (mut worker, peer) = armed(wait, takes_streams);
                socket::send(&peer.socket, &vec![0; doorbells], &[]).unwrap();
                println!("{wait:?}, streams {takes_streams}, {doorbells} doorbells");
                test(&mut worker, peer);
            }
        }
    }
}

#[test]
fn doorbells_alone_end_no_session() {
    with_each(|worker, mut peer| {
        assert!(lasts(worker));
        for _ in 0..20 {
            peer.ring_doorbell();
            assert!(lasts(worker));
        }
        peer.publish(&Entry::request(1, 0, b"x"));
        peer.ring_doorbell();
        assert!(lasts(worker));
        assert!(peer.view.try_next().is_some(), "served");
    });
}

#[test]
fn end_behind_doorbells_is_seen_without_another_event() {
    with_each(|worker, peer| {
        drop(peer);
        assert!(!lasts(worker));
    });
    with_each(|worker, peer| {
        shutdown(&peer.socket, Shutdown::Write).unwrap();
        assert!(!lasts(worker));
    });
}

#[test]
fn end_after_doorbells_is_seen_by_its_own_event() {
    with_each(|worker, peer| {
        assert!(lasts(worker));
        drop(peer);
        assert!(!lasts(worker));
    });
}

#[test]
fn own_end_behind_doorbells_is_refused_without_another_event() {
    with_each(|worker, peer| {
        peer.send_segment(&peer.socket);
        assert!(!lasts(worker));
    });
}

/// A read ends in front of an urgent byte.
#[test]
fn urgent_own_end_behind_doorbells_is_refused_without_another_event() {
    with_each(|worker, peer| {
        socket::send_urgent(&peer.socket, &[1], &[peer.socket.as_fd()]).unwrap();
        assert!(!lasts(worker));
    });
}

#[test]
fn segments_among_doorbells_are_read_with_one_event() {
    with_each(|worker, peer| {
        let segment = Shared::fit(4096);
        for _ in 0..3 {
            peer.send_segment(&segment.fd);
            peer.ring_doorbell();
        }
        peer.send_segment(&peer.socket);
        assert!(!lasts(worker), "the last one is not read");
    });
}
