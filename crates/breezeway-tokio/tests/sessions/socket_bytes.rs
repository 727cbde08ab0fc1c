//! Peers by hand that misuse the session socket, or fill it within the rules.

use breezeway::describe;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Mutex;

use breezeway_adversary::native::layout::{control, kind};
use breezeway_adversary::native::{Entry, Peer, Terms};
use breezeway_adversary::{Shared, socket};
use breezeway_tokio::{Server, ServerOptions, Session, SessionOptions, WaitPolicy};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::support::{PATIENCE, addresses, echo, echo_stream, on_both_runtimes, soon};

const POLICIES: [WaitPolicy; 3] = [WaitPolicy::Park, WaitPolicy::Adaptive, WaitPolicy::Busy];

/// Sends good segments that are not announced.
fn send_segments(peer: &Peer, count: u32) {
    let segment = Shared::fit(4096);
    for _ in 0..count {
        socket::send(&peer.socket, &[1], &[segment.fd.as_fd()]).unwrap();
    }
}

/// Sends good segments, and then this peer's own end of the connection.
fn send_own_end_behind(peer: &Peer, segments: u32) {
    send_segments(peer, segments);
    socket::send(&peer.socket, &[1], &[peer.socket.as_fd()]).unwrap();
}

/// A server that echoes, and reports how sessions end.
struct Watched {
    ends: mpsc::UnboundedReceiver<String>,
    stopper: breezeway_tokio::Stopper,
    serving: tokio::task::JoinHandle<Result<(), breezeway_tokio::ServeError>>,
    folder: tempfile::TempDir,
}

impl Watched {
    fn start(wait: WaitPolicy) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (ended, ends) = mpsc::unbounded_channel();
        let ended = Mutex::new(ended);
        let session = SessionOptions::new().wait(wait).handshake_timeout(PATIENCE);
        let options = ServerOptions::new().session(session).on_session_end(move |_, error| {
            let error = error.map_or("no error".to_owned(), |error| breezeway::describe(error));
            let _ = ended.lock().unwrap().send(error);
        });
        let server = Server::bind_with(&addresses(folder.path())[0], options).unwrap();
        let stopper = server.stopper();
        let serving = tokio::spawn(server.serve_streams(echo, echo_stream));
        Self { ends, stopper, serving, folder }
    }

    /// Runs a hostile client on a thread of its own.
    async fn attack<T: Send + 'static>(
        &self,
        attack: impl FnOnce(&Path) -> T + Send + 'static,
    ) -> T {
        let path = self.folder.path().join("shm");
        soon(spawn_blocking(move || attack(&path))).await.unwrap()
    }

    async fn stop(self) {
        self.stopper.stop();
        soon(self.serving).await.unwrap().unwrap();
    }
}

#[test]
fn server_ends_session_of_client_that_sends_its_own_end() {
    on_both_runtimes(|| async {
        for wait in POLICIES {
            let mut server = Watched::start(wait);
            for segments in [0, 8, 64] {
                for calls in 0..3 {
                    server
                        .attack(move |path| {
                            let mut peer = Peer::connect(path, Terms::default());
                            send_own_end_behind(&peer, segments);
                            for call in 0..calls {
                                peer.publish(&Entry::request(2 * call + 1, 0, b"x"));
                            }
                        })
                        .await;
                    // The process lives on, and no other client comes.
                    let error = soon(server.ends.recv()).await.unwrap();
                    assert!(error.contains("not sealed"), "{wait:?}, {segments}: {error}");
                }
            }
            server.stop().await;
        }
    });
}

#[test]
fn sessions_that_send_each_others_ends_are_ended() {
    on_both_runtimes(|| async {
        for wait in POLICIES {
            let mut server = Watched::start(wait);
            server
                .attack(|path| {
                    let peers = [(); 2].map(|()| Peer::connect(path, Terms::default()));
                    peers[0].send_segment(&peers[1].socket);
                    peers[1].send_segment(&peers[0].socket);
                })
                .await;
            for _ in 0..2 {
                let error = soon(server.ends.recv()).await.unwrap();
                assert!(error.contains("not sealed"), "{wait:?}: {error}");
            }
            server.stop().await;
        }
    });
}

#[test]
fn call_of_server_that_sends_its_own_end_and_dies_fails() {
    on_both_runtimes(|| async {
        for wait in POLICIES {
            for segments in [0, 8, 64] {
                let (hostile, honest) = UnixStream::pair().unwrap();
                let serving = spawn_blocking(move || {
                    let mut peer = Peer::server(hostile.into(), Terms::default());
                    peer.next_message().unwrap();
                    send_own_end_behind(&peer, segments);
                });
                let options = SessionOptions::new().wait(wait).handshake_timeout(PATIENCE);
                let shared = soon(Session::from_socket(honest.into(), &options)).await.unwrap();
                let error = describe(&soon(shared.call(0, b"x")).await.map(drop).unwrap_err());
                assert!(error.contains("not sealed"), "{wait:?}, {segments}: {error}");
                soon(serving).await.unwrap();
            }
        }
    });
}

/// Lets a server ring for a caller that sleeps, and do `last` before a runtime of one thread takes
/// the event. Returns the error of the call.
async fn error_behind_doorbell(wait: WaitPolicy, last: fn(Peer) -> Option<Peer>) -> String {
    let (hostile, honest) = UnixStream::pair().unwrap();
    let serving = spawn_blocking(|| Peer::server(hostile.into(), Terms::default()));
    let options = SessionOptions::new().wait(wait).handshake_timeout(PATIENCE);
    let session = soon(Session::from_socket(honest.into(), &options)).await.unwrap();
    let mut peer = soon(serving).await.unwrap();
    let call = tokio::spawn(async move { describe(&session.call(0, b"x").await.unwrap_err()) });
    // Asked for until the driver sleeps.
    let peer = soon(spawn_blocking(move || {
        peer.next_message().unwrap();
        while peer.view.load(control::DATA_WAKE_AT) != peer.ring.tail {
            std::thread::yield_now();
        }
        peer
    }))
    .await
    .unwrap();
    peer.ring_doorbell();
    let _peer = last(peer);
    soon(call).await.unwrap()
}

#[test]
fn one_event_reports_doorbell_and_end() {
    on_both_runtimes(|| async {
        for wait in [WaitPolicy::Park, WaitPolicy::Adaptive] {
            let error = error_behind_doorbell(wait, |_| None).await;
            assert!(error.contains("died"), "{wait:?}: {error}");
        }
    });
}

#[test]
fn one_event_reports_doorbell_and_urgent_byte() {
    on_both_runtimes(|| async {
        for wait in [WaitPolicy::Park, WaitPolicy::Adaptive] {
            let error = error_behind_doorbell(wait, |peer| {
                socket::send_urgent(&peer.socket, &[1], &[peer.socket.as_fd()]).unwrap();
                Some(peer)
            });
            let error = error.await;
            assert!(error.contains("not sealed"), "{wait:?}: {error}");
        }
    });
}

/// More than a socket holds bytes, and than an honest side leaves unread.
const CALLS: u32 = 600;

/// Pending segments, and whether each entry has a doorbell that is not asked for.
const FILLINGS: [(u32, bool); 4] = [(20, false), (64, false), (0, true), (20, true)];

fn publish(peer: &mut Peer, entry: &Entry, rings: bool) {
    peer.publish(entry);
    if rings {
        peer.ring_doorbell();
    }
}

#[test]
fn server_serves_client_that_fills_its_socket() {
    on_both_runtimes(|| async {
        for wait in POLICIES {
            for (pending, rings) in FILLINGS {
                let mut server = Watched::start(wait);
                server
                    .attack(move |path| {
                        let mut peer = Peer::connect(path, Terms::default());
                        send_segments(&peer, pending);
                        for call in 0..CALLS {
                            let request = Entry::request(2 * call + 1, 0, &call.to_le_bytes());
                            publish(&mut peer, &request, rings);
                            let reply = peer.next_message().expect("a reply");
                            assert_eq!(reply.body(), call.to_le_bytes());
                        }
                        for segment in 0..pending {
                            publish(&mut peer, &Entry::segment_add(segment, 4096), rings);
                            assert_eq!(peer.call(2 * segment + 1, 0, b"x"), b"x");
                        }
                        peer.publish(&Entry::session(kind::SHUTDOWN, 0, &[]));
                    })
                    .await;
                assert_eq!(soon(server.ends.recv()).await.unwrap(), "no error");
                server.stop().await;
            }
        }
    });
}

#[test]
fn client_calls_server_that_fills_its_socket() {
    on_both_runtimes(|| async {
        for wait in POLICIES {
            for (pending, rings) in FILLINGS {
                let (hostile, honest) = UnixStream::pair().unwrap();
                let serving = spawn_blocking(move || {
                    let mut peer = Peer::server(hostile.into(), Terms::default());
                    send_segments(&peer, pending);
                    while let Some(request) = peer.next_message() {
                        let reply = Entry::reply(request.stream(), request.body());
                        publish(&mut peer, &reply, rings);
                    }
                });
                let options = SessionOptions::new().wait(wait).handshake_timeout(PATIENCE);
                let shared = soon(Session::from_socket(honest.into(), &options)).await.unwrap();
                for call in 0..CALLS {
                    let reply = soon(shared.call(0, &call.to_le_bytes())).await.unwrap();
                    assert_eq!(reply.to_vec(), call.to_le_bytes());
                }
                drop(shared);
                soon(serving).await.unwrap();
            }
        }
    });
}
