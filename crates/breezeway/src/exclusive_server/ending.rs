//! The end of a session by its server.

use std::sync::Arc;

use breezeway_os::Deadline;
use breezeway_proto::{Head, Time};

use super::ExclusiveServerSession;
use crate::carrier::Body;
use crate::error::CallError;
use crate::link::Flush;
use crate::serving::Place;
use crate::unserved::Unserved;

impl ExclusiveServerSession {
    /// Asks a client that supports the go-away entry to open nothing new here (`docs/abi.md`,
    /// section 1.2). If there is no room for it now, the next call of this method tries again.
    pub(crate) fn say_go_away(&mut self) {
        match &mut self.place {
            Place::Alone(_, ending) => {
                ending.go_away();
                self.transmit();
            }
            place => place.driver().say_go_away(),
        }
    }

    /// Serves the requests that the client has committed, until `end` at most, and then closes the
    /// session. A session that one thread has served becomes shared for that.
    pub(crate) fn drain(&mut self, end: Deadline) {
        if !self.place.is_shared() {
            self.place.share(&self.terms);
        }
        self.place.driver_mut().drain(end);
    }

    /// Returns the requests that a session which is over has left undone.
    pub(crate) fn unserved(&self) -> Unserved {
        match &self.place {
            Place::Alone(..) => Unserved::default(),
            place => place.driver().unserved(),
        }
    }

    /// Records the shutdown of the client of a session that one thread serves alone.
    pub(super) fn peer_closed(&mut self) {
        if let Place::Alone(_, ending) = &mut self.place {
            ending.peer_closed();
        }
    }

    /// Ends a session in order, unless an error has ended it: then its client sees an abrupt end.
    fn say_shutdown_alone(&mut self) {
        if let Place::Alone(_, ending) = &mut self.place
            && ending.close(Arc::new(CallError::ClosedHere), Time::NEVER, 0)
        {
            self.transmit();
        }
    }

    /// Sends the pending entry about the end, if there is room for it.
    fn transmit(&mut self) {
        let Place::Alone(link, ending) = &mut self.place else { return };
        if let Some(kind) = ending.next_transmit()
            && link.send(Head::of_session(kind, 0), Body::Bytes(&[])).is_ok()
        {
            ending.transmitted();
        }
        // The next turn reports a dead peer.
        let _ = link.flush(Flush::All);
    }
}

impl Drop for ExclusiveServerSession {
    fn drop(&mut self) {
        self.say_shutdown_alone();
    }
}

#[cfg(test)]
impl ExclusiveServerSession {
    /// Ends the session past its time to drain, in turns that each follow `prepare`. Returns the
    /// requests that are left undone.
    pub(crate) fn refuse_the_rest(&mut self, mut prepare: impl FnMut()) -> Unserved {
        let handler = |_: crate::call::Call<'_>| panic!("no call is begun");
        self.drain(Deadline::after(std::time::Duration::ZERO));
        prepare();
        while let Ok(progress) = self.serve_some(&handler, 1, &mut crate::slice::Slice::new(0, 0)) {
            if progress == super::Progress::Closed {
                break;
            }
            prepare();
        }
        self.unserved()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::thread;

    use breezeway_adversary::native::layout::kind;
    use breezeway_adversary::native::{Entry, Peer, Terms};

    use super::*;
    use crate::exclusive::ExclusiveSession;
    use crate::options::SessionOptions;
    use crate::worker::Inbox;

    /// Creates a session, and its client with a ring of `ring_capacity` entries.
    fn session(ring_capacity: u32) -> (ExclusiveServerSession, Peer) {
        let (client, server) = UnixStream::pair().unwrap();
        let accepting = thread::spawn(|| {
            ExclusiveServerSession::from_socket(server.into(), &SessionOptions::new())
        });
        let terms = Terms { ring_capacity, ..Terms::default() };
        let peer = Peer::client_with_streams(client.into(), terms, 8);
        (accepting.join().unwrap().unwrap(), peer)
    }

    #[test]
    fn go_away_without_room_is_sent_later_alone_and_shared() {
        for is_shared in [false, true] {
            let (mut server, mut peer) = session(64);
            let reply = Head::of_reply(1);
            while server.place.link_mut().send(reply, Body::Bytes(&[])).is_ok() {}
            server.say_go_away();
            if is_shared {
                server.place.share(&server.terms);
            }
            while let Some(entry) = peer.view.try_next() {
                assert_ne!(entry.kind(), kind::GO_AWAY, "it found room");
            }
            peer.consume();
            if is_shared {
                server.place.driver_mut().turn(1).unwrap();
            } else {
                server.say_go_away();
            }
            assert_eq!(peer.view.try_next().map(|entry| entry.kind()), Some(kind::GO_AWAY));
            assert!(peer.view.try_next().is_none(), "it is sent once");
        }
    }

    #[test]
    fn client_that_cancels_without_end_is_left_after_a_ring() {
        const RING: u64 = 1 << 10;
        // Covers pieces of segments, and a last turn.
        const MORE: u64 = 1 << 12;
        let (mut server, mut peer) = session(RING as u32);
        // A session without a worker takes all turns of its end at once.
        server.join(Arc::new(Inbox::new().unwrap()), 0);
        peer.publish(&Entry::request(1, 0, b"x"));
        let cancel = Entry { stream: 1, ..Entry::session(kind::CANCEL, 0, b"") };
        let rest = server.refuse_the_rest(|| {
            while peer.has_room() {
                peer.publish_silently(&cancel);
            }
        });
        assert_eq!(rest.calls_refused, 1);
        let taken = peer.view.consumed();
        assert!(taken <= RING + MORE, "{taken} entries are taken");
    }

    #[test]
    fn unbegun_calls_are_refused_and_messages_counted() {
        let (mut client, mut server) = ExclusiveSession::pair(&SessionOptions::new()).unwrap();
        let calls = [client.send(1, b"a").unwrap(), client.send(2, &[7; 5000]).unwrap()];
        client.post(3, b"lost").unwrap();
        server.say_go_away();
        server.say_go_away();
        let rest = server.refuse_the_rest(|| ());
        assert_eq!(rest, Unserved { calls_refused: 2, calls_cut: 0, messages_lost: 1 });
        drop(server);
        for call in calls {
            let error = client.receive().map(drop).unwrap_err();
            assert!(!error.may_have_run(), "{error}");
            assert!(matches!(error, CallError::Failed { call: refused, .. } if refused == call));
        }
        assert!(client.is_going_away());
    }
}
