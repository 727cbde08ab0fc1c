//! What `docs/abi.md` has of calls and streams, played by hand against servers under tokio.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use breezeway_adversary::native::layout::{flag, kind};
use breezeway_adversary::native::{Entry, Peer, Seen, Terms};
use breezeway_tokio::{OwnedCall, ReplyError, Server, ServerOptions, SessionOptions, Stream};
use tokio::task::spawn_blocking;

use crate::support::{PATIENCE, addresses, echo, echo_pair, echo_stream, on_both_runtimes, soon};

#[test]
fn echo_of_the_cap_is_served() {
    const CAP: usize = 64 << 20;
    on_both_runtimes(|| async {
        let options = SessionOptions::new().cap(CAP as u64);
        let (shared, echo, _folder) = echo_pair(&options).await;
        assert_eq!(shared.cap(), CAP);
        let request = vec![7; CAP];
        let reply = soon(shared.call(0, &request)).await.unwrap();
        assert!(reply.to_vec() == request);
        drop((reply, shared));
        echo.stop().await;
    });
}

/// Replies with 5,000 bytes to method 1, and to others with the request.
async fn short_or_long(call: OwnedCall) -> Result<(), ReplyError> {
    if call.method() == 1 { call.reply([7; 5_000]) } else { call.echo() }
}

/// The next message, of a side that may have closed its end of the socket.
fn poll_message(peer: &mut Peer) -> Option<Seen> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        match peer.view.try_next() {
            Some(seen) if seen.kind() == kind::MESSAGE => return Some(seen),
            Some(_) => {}
            None => std::thread::yield_now(),
        }
    }
    None
}

/// Commits calls and a shutdown, and counts the replies that are committed.
fn replies_behind_a_shutdown(mut peer: Peer, method: u32, closes: bool) -> u32 {
    const CALLS: u32 = 20;
    for call in 0..CALLS {
        peer.publish_silently(&Entry::request(
            2 * call + 1,
            method,
            &u64::from(call).to_le_bytes(),
        ));
    }
    peer.publish(&Entry::session(kind::SHUTDOWN, 0, &[]));
    if closes {
        let socket = UnixStream::from(peer.socket.try_clone().unwrap());
        socket.shutdown(Shutdown::Both).unwrap();
    }
    (0..CALLS).take_while(|_| poll_message(&mut peer).is_some()).count() as u32
}

#[test]
fn calls_before_a_shutdown_get_their_replies() {
    on_both_runtimes(|| async {
        for (method, closes) in [(0, false), (0, true), (1, false), (1, true)] {
            let folder = tempfile::tempdir().unwrap();
            let address = &addresses(folder.path())[0];
            let server = Server::bind_with(address, ServerOptions::new()).unwrap();
            let stopper = server.stopper();
            let serving = tokio::spawn(server.serve(short_or_long));
            let path = folder.path().join("shm");
            let attack = move || {
                let peer = Peer::connect(&path, Terms::default());
                replies_behind_a_shutdown(peer, method, closes)
            };
            let replies = spawn_blocking(attack).await.unwrap();
            assert_eq!(replies, 20, "method {method}, closes: {closes}");
            stopper.stop();
            soon(serving).await.unwrap().unwrap();
        }
    });
}

/// Drops a stream once the client has ended it.
async fn read_to_end(_: u32, mut stream: Stream) {
    while let Ok(Some(_)) = stream.receive().await {}
}

/// Returns the server's entries on a stream with these entries of the client: flags, and the bodies
/// of messages.
async fn answers<F: Future<Output = ()> + Send + 'static>(
    handler: fn(u32, Stream) -> F,
    entries: &'static [(u8, &'static [u8])],
) -> Vec<(u8, u8, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::bind_with(&addresses(folder.path())[0], ServerOptions::new()).unwrap();
    let stopper = server.stopper();
    let serving = tokio::spawn(server.serve_streams(echo, handler));
    let path = folder.path().join("shm");
    let play = move || {
        let mut peer = Peer::connect_with_streams(&path, Terms::default(), 8);
        for &(flags, body) in entries {
            peer.publish(&Entry { flags, ..Entry::request(1, 0, body) });
        }
        let mut answers = Vec::new();
        while answers
            .last()
            .is_none_or(|&(kind, flags, _)| kind != kind::RESET && flags & flag::FIN == 0)
        {
            let seen = peer.next_entry().expect("the session goes on");
            peer.consume();
            if [kind::MESSAGE, kind::RESET].contains(&seen.kind()) {
                answers.push((seen.kind(), seen.flags(), seen.body().to_vec()));
            }
        }
        answers
    };
    let answers = soon(spawn_blocking(play)).await.unwrap();
    stopper.stop();
    soon(serving).await.unwrap().unwrap();
    answers
}

const OPENS: u8 = flag::OPEN | flag::STREAM;

#[test]
fn stream_opened_without_a_message_echoes_none() {
    on_both_runtimes(|| async {
        let entries: &[(u8, &[u8])] = &[
            (OPENS | flag::METADATA | flag::EMPTY, b"\x01\x00m"),
            (0, b"x"),
            (flag::FIN | flag::EMPTY, b""),
        ];
        let answers = answers(echo_stream, entries).await;
        let bodies: Vec<_> =
            answers.iter().filter(|(_, flags, _)| flags & flag::EMPTY == 0).collect();
        assert_eq!(bodies, [&(kind::MESSAGE, 0, b"x".to_vec())], "{answers:?}");
    });
}

/// Entries of a client on streams that it ends: behind a message, with it, and without any.
const ENDED: [&[(u8, &[u8])]; 3] = [
    &[(OPENS, b"x"), (flag::FIN | flag::EMPTY, b"")],
    &[(OPENS | flag::FIN, b"x")],
    &[(OPENS | flag::FIN | flag::EMPTY | flag::METADATA, b"\x01\x00m")],
];

#[test]
fn stream_that_the_client_ended_gets_fin() {
    on_both_runtimes(|| async {
        for entries in ENDED {
            for answers in
                [answers(echo_stream, entries).await, answers(read_to_end, entries).await]
            {
                let (kind, flags, _) = answers.last().unwrap();
                assert!(*kind == kind::MESSAGE && flags & flag::FIN != 0, "{answers:?}");
            }
        }
    });
}
