//! What a peer can make a server hold, beyond memory: each is accounted to who causes it.

use std::os::fd::AsFd;

use breezeway::{Session, WaitPolicy};
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
        let connect = || Session::connect_with(&address(&path), &options).unwrap();
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
        let now = child.open_files();
        assert!(now <= before + OF_A_SESSION * PEERS, "{before} descriptors, then {now}");
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
