//! Peers that keep to the rules and fill the session socket: with doorbells that are not asked for,
//! and with segments that are announced late.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;

use breezeway::{
    ExclusiveServerSession, ExclusiveSession, ServerOptions, Session, SessionOptions, WaitPolicy,
};
use breezeway_adversary::native::layout::kind;
use breezeway_adversary::native::{Entry, Peer, Terms};
use breezeway_adversary::{PATIENCE, Shared, socket};

use super::service::{ECHO, Service};
use super::stage::{Stage, options};
use super::watchdog::{GENEROUS, within};

/// More than a socket holds bytes, and than an honest side leaves unread.
const CALLS: u32 = 600;

/// Bytes that fill the socket.
#[derive(Clone, Copy, Debug)]
struct Filling {
    /// Segments that are pending during all calls.
    pending: u32,
    /// True if each entry has a doorbell, wanted or not.
    rings: bool,
}

const FILLINGS: [Filling; 4] = [
    Filling { pending: 20, rings: false },
    Filling { pending: 64, rings: false },
    Filling { pending: 0, rings: true },
    Filling { pending: 20, rings: true },
];

impl Filling {
    fn begin(self, peer: &Peer) {
        let segment = Shared::fit(4096);
        for _ in 0..self.pending {
            socket::send(&peer.socket, &[1], &[segment.fd.as_fd()]).unwrap();
        }
    }

    fn publish(self, peer: &mut Peer, entry: &Entry) {
        peer.publish(entry);
        if self.rings {
            peer.ring_doorbell();
        }
    }

    /// Calls, one at a time and some at once, and uses the pending segments at last.
    fn call(self, peer: &mut Peer) {
        self.begin(peer);
        let mut number = 0;
        while number < CALLS {
            let burst = if number % 100 == 0 { 10 } else { 1 };
            for call in number..number + burst {
                self.publish(peer, &Entry::request(2 * call + 1, ECHO, &call.to_le_bytes()));
            }
            for call in number..number + burst {
                let reply = peer.next_message().expect("a reply");
                assert_eq!(reply.body(), call.to_le_bytes());
            }
            number += burst;
        }
        for segment in 0..self.pending {
            self.publish(peer, &Entry::segment_add(segment, 4096));
            self.publish(peer, &Entry::request(2 * segment + 1, ECHO, b"x"));
            assert_eq!(peer.next_message().expect("a reply").body(), b"x");
        }
    }

    /// Serves as many calls of an honest client.
    fn serve(self, peer: &mut Peer) {
        self.begin(peer);
        while let Some(request) = peer.next_message() {
            self.publish(peer, &Entry::reply(request.stream(), request.body()));
        }
    }
}

fn with_each(test: impl Fn(Filling, SessionOptions) + Send + 'static) {
    within(4 * GENEROUS, move || {
        for wait in [WaitPolicy::Park, WaitPolicy::Adaptive, WaitPolicy::Busy] {
            for filling in FILLINGS {
                test(filling, options().wait(wait).call_timeout(Some(PATIENCE)));
            }
        }
    });
}

#[test]
fn server_with_workers_serves_client_that_fills_its_socket() {
    with_each(|filling, options| {
        let stage = Stage::with(ServerOptions::new().session(options));
        let mut peer = Peer::connect(stage.path(), Terms::default());
        filling.call(&mut peer);
        drop(peer);
        stage.close();
    });
}

#[test]
fn shared_session_of_worker_serves_client_that_fills_its_socket() {
    with_each(|filling, options| {
        let stage = Stage::with(ServerOptions::new().session(options));
        let mut peer = Peer::connect_with_streams(stage.path(), Terms::default(), 8);
        filling.call(&mut peer);
        drop(peer);
        stage.close();
    });
}

#[test]
fn single_session_serves_client_that_fills_its_socket() {
    with_each(|filling, options| {
        let (hostile, honest) = UnixStream::pair().unwrap();
        let serving = thread::spawn(move || {
            let session = ExclusiveServerSession::from_socket(honest.into(), &options).unwrap();
            session.serve(&Service::default())
        });
        let mut peer = Peer::client(hostile.into(), Terms::default());
        filling.call(&mut peer);
        peer.publish(&Entry::session(kind::SHUTDOWN, 0, &[]));
        drop(peer);
        serving.join().unwrap().unwrap();
    });
}

/// An honest client's calls of a server that fills its socket.
fn with_each_server(call: impl Fn(UnixStream, &SessionOptions) + Send + 'static) {
    with_each(move |filling, options| {
        let (hostile, honest) = UnixStream::pair().unwrap();
        let serving = thread::spawn(move || {
            let mut peer = Peer::server(hostile.into(), Terms::default());
            filling.serve(&mut peer);
        });
        call(honest, &options);
        serving.join().unwrap();
    });
}

#[test]
fn session_calls_server_that_fills_its_socket() {
    with_each_server(|socket, options| {
        let mut session = ExclusiveSession::from_socket(socket.into(), options).unwrap();
        for call in 0..CALLS {
            let request = call.to_le_bytes();
            assert_eq!(session.call(ECHO, &request).unwrap().to_vec(), request);
        }
    });
}

#[test]
fn channel_calls_server_that_fills_its_socket() {
    with_each_server(|socket, options| {
        let shared = Arc::new(Session::from_socket(socket.into(), options).unwrap());
        thread::scope(|scope| {
            for caller in 0..2 {
                let shared = Arc::clone(&shared);
                scope.spawn(move || {
                    for call in 0..CALLS / 2 {
                        let request = [caller, call].map(u32::to_le_bytes).concat();
                        assert_eq!(shared.call(ECHO, &request).unwrap().to_vec(), request);
                    }
                });
            }
        });
    });
}
