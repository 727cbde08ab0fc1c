//! Hostile sessions by hand, and sessions within the rules that once stopped being served.

use std::os::fd::AsFd;

use breezeway_adversary::native::{Entry, Hello, Peer, Terms, frame};
use breezeway_adversary::{Chance, Connection, Shared, socket};

use crate::server::method;

/// Number of calls on a session with a full socket: each leaves a byte or more there, and a socket
/// holds fewer than 300.
const CALLS: u32 = 600;

/// Sends good segments that are not announced. A session that has ended takes none.
fn send_segments(peer: &Peer, count: u64) {
    let segment = Shared::fit(4096);
    (0..count).for_each(|_| peer.send_segment(&segment.fd));
}

/// Sends this peer's own end of the session socket as a segment, behind `segments` good ones and
/// before `calls` calls.
pub(crate) fn own_end(peer: &mut Peer, segments: u64, calls: u64) {
    send_segments(peer, segments);
    let _ = socket::send(&peer.socket, &[1], &[peer.socket.as_fd()]);
    for call in 0..calls as u32 {
        peer.publish(&Entry::request(2 * call + 1, method::ECHO, b"x"));
    }
}

/// Sends this client's own end of the session socket with a request, behind `calls` others, on a
/// session without shared memory.
pub(crate) fn own_end_with_request(mut peer: Connection, calls: u32) {
    frame::greet(&mut peer, 1 << 20);
    for call in 0..=calls {
        let request = frame::request(2 * call + 1, method::ECHO, b"x");
        let own = [peer.as_fd()];
        let _ = socket::send(&peer, &request, if call == calls { &own[..] } else { &[] });
    }
}

/// Sends this client's own end of the session socket with a hello, in place of a control segment.
pub(crate) fn own_end_with_hello(peer: &Connection) {
    let _ = socket::send(peer, &Hello::new(&Terms::default()).0, &[peer.as_fd()]);
}

/// Sends this server's own end of the session socket as a segment, behind `segments` good ones, in
/// place of the first reply, and dies.
pub(crate) fn own_end_of_server(peer: Connection, segments: u64) {
    let mut peer = Peer::server(peer.into(), Terms::default());
    if peer.next_message().is_some() {
        own_end(&mut peer, segments, 0);
    }
}

/// Sends this server's own end of the session socket with a reply, behind `replies` others, on a
/// session without shared memory, and dies.
pub(crate) fn own_end_with_reply(mut peer: Connection, replies: u64) {
    frame::welcome(&mut peer, 1 << 20);
    for reply in 0..=replies {
        let Ok(Some((header, body))) = frame::next(&mut peer) else { return };
        let own = [peer.as_fd()];
        let fds = if reply == replies { &own[..] } else { &[] };
        let _ = socket::send(&peer, &frame::reply(header.stream, &body), fds);
    }
}

/// Plays [`own_end`] with random numbers.
pub(crate) fn own_end_by_chance(peer: &mut Peer, chance: &mut Chance) {
    let (segments, calls) = (chance.of(&[0, 1, 8, 63, 64]), chance.below(3));
    own_end(peer, segments, calls);
}

/// Sends the own ends of two sessions, each on the other one.
pub(crate) fn crossed_ends(peers: &[Peer; 2]) {
    peers[0].send_segment(&peers[1].socket);
    peers[1].send_segment(&peers[0].socket);
}

/// Ways to fill the session socket of a peer by the rules.
#[derive(Clone, Copy)]
pub(crate) struct Filling {
    /// Segments that are pending during all calls.
    pending: u64,
    /// True if each entry has a doorbell that was not requested.
    rings: bool,
}

impl Filling {
    pub(crate) const ALL: [Self; 4] = [
        Self { pending: 20, rings: false },
        Self { pending: 64, rings: false },
        Self { pending: 0, rings: true },
        Self { pending: 20, rings: true },
    ];

    fn publish(self, peer: &mut Peer, entry: &Entry) {
        peer.publish(entry);
        if self.rings {
            peer.ring_doorbell();
        }
    }

    /// Makes calls one at a time, while `goes_on` returns true.
    ///
    /// # Panics
    ///
    /// Panics if a call is not answered.
    pub(crate) fn call(self, peer: &mut Peer, mut goes_on: impl FnMut() -> bool) {
        send_segments(peer, self.pending);
        for call in (0..CALLS).take_while(|_| goes_on()) {
            let body = call.to_le_bytes();
            self.publish(peer, &Entry::request(2 * call + 1, method::ECHO, &body));
            let reply = peer.next_message().expect("the session ended instead of a reply");
            assert_eq!(reply.body(), body);
        }
    }

    /// Serves calls until the client closes the session.
    pub(crate) fn serve(self, peer: Connection) {
        let mut peer = Peer::server(peer.into(), Terms::default());
        send_segments(&peer, self.pending);
        while let Some(request) = peer.next_message() {
            self.publish(&mut peer, &Entry::reply(request.stream(), request.body()));
        }
    }
}
