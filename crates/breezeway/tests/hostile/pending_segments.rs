//! Resources beyond memory that a peer makes a server hold; each is accounted to its cause.

use std::os::fd::AsFd;

use breezeway::{ExclusiveSession, WaitPolicy};
use breezeway_adversary::native::layout::socket::MAX_UNANNOUNCED;
use breezeway_adversary::native::{Entry, Peer, Terms};
use breezeway_adversary::stopwatch::eventually;
use breezeway_adversary::{PATIENCE, Shared, socket};

use super::children::Child;
use super::service::ECHO;
use super::shortage::address;
use super::stage::options;
use super::watchdog::{GENEROUS, within};

/// Descriptors that a session takes: its socket, and one that shows its client's exit.
const OF_A_SESSION: usize = 2;

#[test]
fn segments_that_are_not_announced_take_no_descriptor() {
    const PEERS: usize = 10;
    within(GENEROUS, || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accounts.sock");
        // May have 128 open files once it is asked to, far fewer than are sent.
        let child = Child::ready("server without descriptors", &path);
        let options = options().wait(WaitPolicy::Park).call_timeout(Some(PATIENCE));
        let connect = || ExclusiveSession::connect_with(address(&path), &options).unwrap();
        let mut honest = connect();
        assert_eq!(honest.call(ECHO, b"x").unwrap().to_vec(), b"x");
        let before = child.open_files();
        let segment = Shared::fit(4096);
        let mut peers: Vec<_> =
            (0..PEERS).map(|_| Peer::connect(&path, Terms::default())).collect();
        for peer in &mut peers {
            for _ in 0..MAX_UNANNOUNCED {
                socket::send(&peer.socket, &[1], &[segment.fd.as_fd()]).unwrap();
            }
            for call in 0..3 {
                peer.ring_doorbell();
                assert_eq!(peer.call(2 * call + 1, ECHO, b"x"), b"x");
            }
        }
        assert_eq!(honest.call(ECHO, b"x").unwrap().to_vec(), b"x");
        // A server that polls reads a socket once it is about to sleep.
        let received = |child: &Child| child.mapped_segments() >= MAX_UNANNOUNCED * PEERS;
        eventually("they were received", || received(&child));
        // One that is being received is open for a moment.
        let most = before + OF_A_SESSION * PEERS;
        eventually("no descriptor is held", || child.open_files() <= most);
        // Each of them can still be announced.
        for peer in &mut peers {
            for number in 0..MAX_UNANNOUNCED as u32 {
                peer.publish(&Entry::segment_add(number, 4096));
                peer.publish(&Entry::segment_retire(number));
                assert_eq!(peer.call(2 * number + 7, ECHO, b"x"), b"x");
            }
        }
        drop(peers);
        eventually("everything is closed", || child.open_files() <= before);
        assert_eq!(connect().call(ECHO, b"x").unwrap().to_vec(), b"x");
    });
}

#[test]
fn pending_segments_of_one_process_stop_at_its_limit() {
    /// The limit, and pending segments of each session that do not count.
    const MOST: usize = 1024;
    const UNCOUNTED: usize = 4;
    /// Number of messages that each session but the last sends, below its own limit.
    const OF_EACH: usize = 60;
    const PEERS: usize = MOST / (OF_EACH - UNCOUNTED) + 1;
    within(GENEROUS, || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accounts.sock");
        let child = Child::ready("server without descriptors", &path);
        let options = options().wait(WaitPolicy::Park).call_timeout(Some(PATIENCE));
        let mut honest = ExclusiveSession::connect_with(address(&path), &options).unwrap();
        assert_eq!(honest.call(ECHO, b"x").unwrap().to_vec(), b"x");
        let (mapped, open_files) = (child.mapped_segments(), child.open_files());
        let segment = Shared::fit(4096);
        let send = |peer: &Peer| {
            socket::send(&peer.socket, &[1], &[segment.fd.as_fd()]).unwrap();
        };
        let mut peers: Vec<_> =
            (0..PEERS).map(|_| Peer::connect(&path, Terms::default())).collect();
        let mut left = MOST;
        for peer in &mut peers {
            let count = left.min(OF_EACH - UNCOUNTED);
            left -= count;
            (0..count + UNCOUNTED).for_each(|_| send(peer));
            for call in 0..3 {
                peer.ring_doorbell();
                assert_eq!(peer.call(2 * call + 1, ECHO, b"x"), b"x");
            }
        }
        // Two control segments of each.
        let most = mapped + MOST + PEERS * (UNCOUNTED + 2);
        eventually("as many as may be", || child.mapped_segments() >= most);
        // Another session of the same process goes on, with segments.
        let large = vec![5; 300_000];
        assert_eq!(honest.call(ECHO, &large).unwrap().to_vec(), large);
        // One more ends its session. Otherwise the peer's own socket would hide that end.
        for peer in &peers {
            send(peer);
            // Fails once the session has ended.
            let _ = socket::send(&peer.socket, &[1], &[peer.socket.as_fd()]);
        }
        drop(peers);
        // The honest session has some of its own by now.
        eventually("all are unmapped", || child.mapped_segments() <= mapped + 4);
        eventually("all are closed", || child.open_files() <= open_files);
        assert_eq!(honest.call(ECHO, &large).unwrap().to_vec(), large);
    });
}
