//! Sessions whose callers take their turns.

use std::os::unix::net::UnixStream;
use std::thread;

use breezeway_adversary::native::{Peer, Terms};

use crate::carrier::Notice;
use crate::options::SessionOptions;
use crate::session::Session;

#[test]
fn glance_after_an_old_event_sees_the_end() {
    let (hostile, honest) = UnixStream::pair().unwrap();
    let serving = thread::spawn(move || Peer::server(hostile.into(), Terms::default()));
    let session = Session::from_socket(honest.into(), &SessionOptions::new()).unwrap();
    let peer = serving.join().unwrap();
    peer.ring_doorbell();
    session.handle.shared.with(|state| state.notice(Notice::Bytes));
    drop(peer);
    // The first glance reads the socket, and the next one ends the session.
    assert!((0..2).any(|_| session.is_going_away()));
}
