//! Calls that are being served when their client's shutdown comes (`docs/abi.md`, section 1.1),
//! played by hand over shared memory.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{
    Address, Call, Incoming, OwnedCall, Server, ServerOptions, ServerSession, SessionOptions,
    StreamError,
};
use breezeway_adversary::native::layout::{flag, kind};
use breezeway_adversary::native::{Entry, Peer, Terms};

use super::PATIENCE;
use super::waiters::Task;

const CALLS: u32 = 20;
const LENGTHS: [usize; 2] = [8, 5_000];
const OPENS: u8 = flag::OPEN | flag::STREAM;

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "not yet: {what}");
        thread::yield_now();
    }
}

fn shutdown(peer: &mut Peer) {
    peer.publish(&Entry::session(kind::SHUTDOWN, 0, &[]));
}

fn close(peer: &Peer) {
    let socket = UnixStream::from(peer.socket.try_clone().unwrap());
    socket.shutdown(Shutdown::Both).unwrap();
}

/// Commits calls and a shutdown.
fn ask_and_shut_down(peer: &mut Peer) {
    for call in 0..CALLS {
        peer.publish(&Entry::request(2 * call + 1, 0, b"x"));
    }
    shutdown(peer);
}

/// Waits for a reply to each call, also of a peer that has closed its end of the socket.
fn take_replies(peer: &mut Peer) {
    let mut replies = 0;
    eventually("a reply to each call", || {
        let Some(seen) = peer.view.try_next() else { return false };
        assert_ne!(seen.kind(), kind::SHUTDOWN, "the client's own is not answered");
        replies += u32::from(seen.kind() == kind::MESSAGE);
        replies == CALLS
    });
}

fn accept_calls(server: &ServerSession) -> Vec<OwnedCall> {
    let mut calls = Vec::new();
    while let Some(incoming) = server.accept().unwrap() {
        let Incoming::Call(call) = incoming else { panic!("no call") };
        calls.push(call);
    }
    calls
}

/// A client played by hand, and the end of its server that callers drive.
fn by_callers(options: &SessionOptions) -> (Peer, ServerSession) {
    let (client, server) = UnixStream::pair().unwrap();
    let options = options.clone();
    let accepting = thread::spawn(move || ServerSession::from_socket(server.into(), &options));
    let peer = Peer::client(client.into(), Terms::default());
    (peer, accepting.join().unwrap().unwrap())
}

#[test]
fn calls_of_callers_get_replies_behind_a_shutdown() {
    for (len, closes) in LENGTHS.into_iter().flat_map(|len| [(len, false), (len, true)]) {
        let (mut peer, server) = by_callers(&SessionOptions::new());
        ask_and_shut_down(&mut peer);
        if closes {
            close(&peer);
        }
        let calls = accept_calls(&server);
        assert_eq!(calls.len(), CALLS as usize);
        assert!(calls.iter().all(|call| !call.is_cancelled()), "a shutdown cancels nothing");
        drop(server);
        for call in calls {
            let _ = call.reply(vec![7; len]);
        }
        take_replies(&mut peer);
    }
}

#[test]
fn session_ends_behind_the_last_reply() {
    let (mut peer, server) = by_callers(&SessionOptions::new());
    ask_and_shut_down(&mut peer);
    let mut calls = accept_calls(&server);
    drop(server);
    let last = calls.pop().unwrap();
    drop(calls);
    let is_failed = |flags| flags == flag::FIN | flag::ERROR;
    for _ in 1..CALLS {
        assert!(is_failed(peer.next_message().unwrap().flags()), "a call was dropped");
    }
    let _ = last.echo();
    assert_eq!(peer.next_message().unwrap().flags(), flag::FIN);
    assert!(peer.next_entry().is_none(), "nothing is behind the last reply");
}

#[test]
fn stream_behind_a_shutdown_fails_and_sends_nothing() {
    let (client, server) = UnixStream::pair().unwrap();
    let options = SessionOptions::new();
    let accepting = thread::spawn(move || ServerSession::from_socket(server.into(), &options));
    let mut peer = Peer::client_with_streams(client.into(), Terms::default(), 8);
    let server = accepting.join().unwrap().unwrap();
    peer.publish(&Entry { flags: OPENS, ..Entry::request(1, 0, b"first") });
    peer.publish(&Entry::request(3, 0, b"x"));
    shutdown(&mut peer);
    let Some(Incoming::Stream(_, mut stream)) = server.accept().unwrap() else { panic!("none") };
    let Some(Incoming::Call(call)) = server.accept().unwrap() else { panic!("none") };
    assert!(server.accept().unwrap().is_none());
    assert_eq!(stream.receive().unwrap().unwrap().to_vec(), b"first");
    assert!(matches!(stream.receive(), Err(StreamError::Session(_))));
    assert!(matches!(stream.send(b"x"), Err(StreamError::Session(_))));
    assert!(stream.sender().is_reset());
    drop(stream);
    assert!(server.open(0).is_err(), "nothing new is begun");
    let _ = call.echo();
    assert_eq!(peer.next_message().unwrap().stream(), 3);
    drop(server);
    assert!(peer.next_entry().is_none());
}

#[test]
fn drain_awaits_calls_served_behind_a_shutdown() {
    let (mut peer, server) = by_callers(&SessionOptions::new());
    ask_and_shut_down(&mut peer);
    let calls = accept_calls(&server);
    server.drain(PATIENCE);
    let draining = thread::spawn(move || {
        assert!(server.accept().unwrap().is_none());
        server.unserved()
    });
    for call in calls {
        assert!(!draining.is_finished(), "a call is still served");
        let _ = call.echo();
    }
    assert_eq!(draining.join().unwrap().calls_cut, 0);
    take_replies(&mut peer);
}

#[test]
fn drain_behind_a_shutdown_ends_with_the_driver() {
    let (client, server) = UnixStream::pair().unwrap();
    let options = SessionOptions::new();
    let accepting =
        thread::spawn(move || ServerSession::from_socket_driven(server.into(), &options));
    let mut peer = Peer::client(client.into(), Terms::default());
    let (server, mut driver) = accepting.join().unwrap().unwrap();
    ask_and_shut_down(&mut peer);
    let mut calls = Vec::new();
    eventually("all calls", || {
        driver.turn();
        while let Some(Incoming::Call(call)) = server.try_accept() {
            calls.push(call);
        }
        calls.len() == CALLS as usize
    });
    eventually("the shutdown is read", || {
        driver.turn();
        peer.view.consumed() == u64::from(CALLS) + 1
    });
    server.drain(10 * PATIENCE);
    let (task, waker) = Task::new();
    let mut cx = Context::from_waker(&waker);
    assert!(server.poll_accept(&mut cx).is_pending(), "the calls are served");
    let before = task.wakes();
    drop(driver);
    assert!(task.wakes() > before, "the task learns of the end");
    assert!(matches!(server.poll_accept(&mut cx), Poll::Ready(Ok(None))));
    for call in calls {
        let _ = call.echo();
    }
    take_replies(&mut peer);
}

#[test]
fn client_that_takes_no_replies_holds_no_session() {
    // As much as finds no room.
    const LEN: usize = 64 << 10;
    let options = SessionOptions::new().cap(2 * LEN as u64);
    let (mut peer, server) = by_callers(&options);
    // So that memory is not what ends the wait.
    let server = server.reply_timeout(10 * PATIENCE);
    ask_and_shut_down(&mut peer);
    let start = Instant::now();
    let mut calls = 0;
    while let Some(Incoming::Call(call)) = server.accept().unwrap() {
        let _ = call.reply(vec![7; LEN]);
        calls += 1;
    }
    assert_eq!(calls, CALLS, "all is served");
    drop(server);
    assert!(start.elapsed() < PATIENCE / 2);
    eventually("the end", || peer.next_entry().is_none());
}

#[test]
fn client_that_takes_replies_slowly_gets_all_of_them() {
    // As much as finds no room, taken at a pace that needs more time than an idle client gets.
    const LEN: usize = 64 << 10;
    const PACE: Duration = Duration::from_millis(100);
    let (mut peer, server) = by_callers(&SessionOptions::new().cap(2 * LEN as u64));
    let server = server.reply_timeout(10 * PATIENCE);
    ask_and_shut_down(&mut peer);
    for call in accept_calls(&server) {
        let _ = call.reply(vec![7; LEN]);
    }
    let dropping = thread::spawn(move || drop(server));
    for reply in 0..CALLS {
        thread::sleep(PACE);
        let Some(seen) = peer.next_message() else { panic!("{reply} replies of {CALLS}") };
        assert_eq!(peer.bytes(&seen).len(), LEN);
        peer.release(seen.descriptor().unwrap().lend);
    }
    dropping.join().unwrap();
}

/// Lets a worker defer calls behind which their client shuts down, and then reply.
fn reply_by_worker(connect: fn(&Path) -> Peer, len: usize, closes: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shm");
    let address: Address = format!("shm:{}", path.display()).parse().unwrap();
    let server = Server::bind_with(&address, ServerOptions::new().workers(1)).unwrap();
    let server = server.on_stream(|_, _| Ok(()));
    let (stopper, monitor) = (server.stopper(), server.monitor());
    let deferred = Arc::new(Mutex::new(Vec::<OwnedCall>::new()));
    let deferring = Arc::clone(&deferred);
    let serving = thread::spawn(move || {
        server.serve(move |call: Call<'_>| {
            let (later, replied) = call.defer()?;
            deferring.lock().unwrap().push(later);
            Ok(replied)
        })
    });
    let mut peer = connect(&path);
    ask_and_shut_down(&mut peer);
    eventually("the shutdown is read", || peer.view.consumed() == u64::from(CALLS) + 1);
    eventually("all calls are begun", || deferred.lock().unwrap().len() == CALLS as usize);
    if closes {
        close(&peer);
        let is_cancelled = |calls: &Vec<OwnedCall>| calls.iter().all(OwnedCall::is_cancelled);
        eventually("the client is gone", || is_cancelled(&deferred.lock().unwrap()));
    }
    for call in std::mem::take(&mut *deferred.lock().unwrap()) {
        assert_eq!(call.is_cancelled(), closes);
        let _ = call.reply(vec![7; len]);
    }
    take_replies(&mut peer);
    eventually("the session ends", || monitor.stats().sessions.is_empty());
    stopper.stop();
    serving.join().unwrap().unwrap();
}

#[test]
fn calls_of_a_worker_get_replies_behind_a_shutdown() {
    let connects: [fn(&Path) -> Peer; 2] = [
        |path| Peer::connect(path, Terms::default()),
        |path| Peer::connect_with_streams(path, Terms::default(), 8),
    ];
    for (connect, len) in connects.into_iter().flat_map(|one| LENGTHS.map(|len| (one, len))) {
        reply_by_worker(connect, len, false);
        reply_by_worker(connect, len, true);
    }
}
