//! What servers allow and how they end.

use std::future::{Future, ready};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use breezeway::PendingCall;
use breezeway_tokio::{
    Address, CallError, ErrorCode, Incoming, Message, OwnedCall, Server, ServerOptions, Session,
    SessionOptions, Stream, TrustedPeer, Unserved,
};
use tokio::sync::{Notify, Semaphore};
use tokio::task::{spawn_blocking, yield_now};

use crate::support::{PATIENCE, addresses, echo, on_both_runtimes, soon};

#[test]
fn a_client_beyond_max_sessions_is_refused_until_another_leaves() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let options = ServerOptions::new().max_sessions(1);
        let server = Server::bind_with(&addresses(folder.path())[0], options).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = tokio::spawn(server.serve(echo));
        let first = Session::connect(&address).await.unwrap();
        soon(first.call(0, b"x")).await.unwrap();
        let error = Session::connect(&address).await.err().unwrap().to_string();
        assert!(error.contains("max_sessions"), "{error}");
        drop(first);
        let second = soon(async {
            loop {
                match Session::connect(&address).await {
                    Ok(shared) => return shared,
                    Err(_) => tokio::task::yield_now().await,
                }
            }
        });
        let second = second.await;
        assert_eq!(soon(second.call(0, b"y")).await.unwrap().to_vec(), b"y");
        stopper.stop();
        soon(serving).await.unwrap().unwrap();
    });
}

#[test]
fn a_policy_decides_whose_requests_are_slices() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        for address in addresses(folder.path()) {
            let on_socket = !address.to_string().starts_with("shm:");
            // A message over a socket can be read as a slice without trust.
            for (trusts, slices) in [(true, true), (false, on_socket)] {
                let session = SessionOptions::new().trust(move |peer| {
                    assert!(peer.is_same_user() || peer.remote.is_some());
                    // SAFETY: the client is this test, which uses the safe API alone.
                    trusts.then(|| unsafe { TrustedPeer::assume() })
                });
                let options = ServerOptions::new().session(session);
                let server = Server::bind_with(&address, options).unwrap();
                let (address, stopper) = (server.address(), server.stopper());
                let is_slice = |message: &Message| [u8::from(message.bytes().as_slice().is_some())];
                let call = move |call: OwnedCall| {
                    let said = is_slice(call.message());
                    let _ = call.reply(said);
                    ready(())
                };
                let stream = move |_, mut stream: Stream| async move {
                    let message = stream.receive().await.unwrap().unwrap();
                    stream.send(&is_slice(&message)).await.unwrap();
                    stream.finish().await.unwrap();
                };
                let serving = tokio::spawn(server.serve_streams(call, stream));
                let shared = Session::connect(&address).await.unwrap();
                let reply = soon(shared.call(0, &[7; 10_000])).await.unwrap().to_vec();
                assert_eq!(reply, [u8::from(slices)], "{address}, trusts: {trusts}");
                let mut stream = soon(shared.open(0)).await.unwrap();
                soon(stream.send(&[7; 10_000])).await.unwrap();
                let reply = soon(stream.receive()).await.unwrap().unwrap().to_vec();
                assert_eq!(reply, [u8::from(slices)], "{address}, a stream, trusts: {trusts}");
                stopper.stop();
                soon(serving).await.unwrap().unwrap();
            }
        }
    });
}

#[test]
fn call_beyond_max_calls_in_flight_is_refused() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let options = ServerOptions::new().max_calls_in_flight(1);
        let server = Server::bind_with(&addresses(folder.path())[0], options).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let (running, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let serving = tokio::spawn(server.serve({
            let (running, go_on) = (running.clone(), go_on.clone());
            move |call| {
                let (running, go_on) = (running.clone(), go_on.clone());
                async move {
                    // A call counts once its handler has waited for something.
                    yield_now().await;
                    running.notify_one();
                    go_on.notified().await;
                    let _ = call.reply(b"done");
                }
            }
        }));
        let [one, other] = [(); 2].map(|()| Session::connect(&address));
        let (one, other) = (one.await.unwrap(), other.await.unwrap());
        let waiting = tokio::spawn(async move { one.call(0, b"").await.map(|it| it.to_vec()) });
        soon(running.notified()).await;
        let error = soon(other.call(0, b"")).await.map(drop).unwrap_err();
        assert!(matches!(error, CallError::Failed { code: ErrorCode::Overloaded, .. }));
        assert!(error.to_string().contains("max_calls_in_flight"), "{error}");
        go_on.notify_one();
        assert_eq!(soon(waiting).await.unwrap().unwrap(), b"done");
        go_on.notify_one();
        // The first one counts until its handler has returned, a moment after its reply.
        let reply = loop {
            match soon(other.call(0, b"")).await {
                Err(CallError::Failed { code: ErrorCode::Overloaded, .. }) => yield_now().await,
                outcome => break outcome.unwrap().to_vec(),
            }
        };
        assert_eq!(reply, b"done");
        stopper.stop();
        soon(serving).await.unwrap().unwrap();
    });
}

#[test]
fn waiting_one_way_handlers_are_bounded_beside_calls() {
    const MESSAGES: usize = 4_000;
    const MOST: usize = 1_024;
    on_both_runtimes(|| async {
        for carrier in 0..3 {
            let folder = tempfile::tempdir().unwrap();
            let options = ServerOptions::new().max_calls_in_flight(8);
            let server = Server::bind_with(&addresses(folder.path())[carrier], options).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let gate = Arc::new(Semaphore::new(0));
            let begun = Arc::new(AtomicUsize::new(0));
            let serving = tokio::spawn(server.serve({
                let (gate, begun) = (Arc::clone(&gate), Arc::clone(&begun));
                move |call| {
                    let (gate, begun) = (Arc::clone(&gate), Arc::clone(&begun));
                    async move {
                        if !call.is_one_way() {
                            return call.echo();
                        }
                        begun.fetch_add(1, Ordering::Relaxed);
                        gate.acquire().await.unwrap().forget();
                        Ok(())
                    }
                }
            }));
            let flooding = Session::connect(&address).await.unwrap();
            let other = Session::connect(&address).await.unwrap();
            let posting = tokio::spawn(async move {
                for _ in 0..MESSAGES {
                    flooding.post(1, b"waits").await.unwrap();
                }
                flooding
            });
            soon(async {
                while begun.load(Ordering::Relaxed) < MOST {
                    yield_now().await;
                }
            })
            .await;
            for _ in 0..200 {
                assert_eq!(soon(other.call(0, b"x")).await.unwrap().to_vec(), b"x");
            }
            assert_eq!(begun.load(Ordering::Relaxed), MOST);
            assert!(!posting.is_finished(), "who posts has to wait");
            gate.add_permits(MESSAGES);
            let flooding = soon(posting).await.unwrap();
            assert_eq!(soon(flooding.call(0, b"y")).await.unwrap().to_vec(), b"y");
            assert_eq!(begun.load(Ordering::Relaxed), MESSAGES);
            stopper.stop();
            soon(serving).await.unwrap().unwrap();
        }
    });
}

/// A handler that counts what it has begun, and ends nothing of it.
fn waits_for_ever(
    begun: &Arc<AtomicUsize>,
) -> impl Fn(OwnedCall) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync + use<> {
    let begun = Arc::clone(begun);
    move |call| {
        begun.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            std::future::pending::<()>().await;
            drop(call);
        })
    }
}

#[test]
fn waiting_one_way_bytes_stop_at_cap_and_one_message() {
    on_both_runtimes(|| async {
        // In shared memory a client lends its own, and has the cap of it.
        for carrier in 1..3 {
            let folder = tempfile::tempdir().unwrap();
            let session = SessionOptions::new().cap(64 << 10);
            let options = ServerOptions::new().session(session);
            let server = Server::bind_with(&addresses(folder.path())[carrier], options).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let begun = Arc::new(AtomicUsize::new(0));
            let serving = tokio::spawn(server.serve(waits_for_ever(&begun)));
            let shared = Session::connect(&address).await.unwrap();
            let posting = tokio::spawn(async move {
                loop {
                    shared.post(0, &[0; 30 << 10]).await.unwrap();
                }
            });
            let begins = soon(async {
                while begun.load(Ordering::Relaxed) < 3 {
                    yield_now().await;
                }
                for _ in 0..1_000 {
                    yield_now().await;
                }
                begun.load(Ordering::Relaxed)
            });
            assert_eq!(begins.await, 3);
            // The client leaves.
            posting.abort();
            stopper.stop();
            soon(serving).await.unwrap().unwrap();
        }
    });
}

#[test]
fn untaken_one_way_messages_do_not_block_stopping() {
    on_both_runtimes(|| async {
        for leaves_first in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let options = ServerOptions::new().drain_timeout(Duration::from_millis(20));
            let server = Server::bind_with(&addresses(folder.path())[0], options).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let begun = Arc::new(AtomicUsize::new(0));
            let serving = tokio::spawn(server.serve(waits_for_ever(&begun)));
            // A client without streams has no window: what the server does not take lies in the
            // ring.
            let posting = spawn_blocking(move || {
                let mut session = breezeway::ExclusiveSession::connect(&address).unwrap();
                for _ in 0..1_200 {
                    session.post(1, b"waits").unwrap();
                }
                session
            });
            let session = soon(posting).await.unwrap();
            soon(async {
                while begun.load(Ordering::Relaxed) < 1_024 {
                    yield_now().await;
                }
            })
            .await;
            let session = (!leaves_first).then_some(session);
            stopper.stop();
            for _ in 0..1_000 {
                yield_now().await;
            }
            // Handlers that run are awaited while their client is there.
            drop(session);
            soon(serving).await.unwrap().unwrap();
        }
    });
}

#[test]
fn denied_client_gets_the_policys_reason() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let options = ServerOptions::new().authorize(|_| Err("not today".to_owned()));
        let server = Server::bind_with(&addresses(folder.path())[0], options).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = tokio::spawn(server.serve(echo));
        let error = Session::connect(&address).await.err().unwrap().to_string();
        assert!(error.contains("not today"), "{error}");
        stopper.stop();
        soon(serving).await.unwrap().unwrap();
    });
}

#[test]
fn silent_clients_delay_no_other_and_time_out() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let patience = Duration::from_millis(300);
        let session = SessionOptions::new().handshake_timeout(patience);
        let options = ServerOptions::new().session(session);
        let server = Server::bind_with(&addresses(folder.path())[0], options).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = tokio::spawn(server.serve(echo));
        let silent: Vec<_> =
            (0..100).map(|_| UnixStream::connect(folder.path().join("shm")).unwrap()).collect();
        let shared = soon(Session::connect(&address)).await.unwrap();
        assert_eq!(soon(shared.call(0, b"x")).await.unwrap().to_vec(), b"x");
        let closed = tokio::task::spawn_blocking(move || {
            for mut socket in silent {
                socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                assert_eq!(socket.read(&mut [0; 8]).unwrap(), 0, "given up");
            }
        });
        soon(closed).await.unwrap();
        stopper.stop();
        soon(serving).await.unwrap().unwrap();
    });
}

#[test]
fn stopping_awaits_handlers_and_removes_socket_file() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::bind(&addresses(folder.path())[0]).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let (running, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let done = Arc::new(AtomicUsize::new(0));
        let serving = tokio::spawn(server.serve({
            let (running, go_on, done) = (running.clone(), go_on.clone(), done.clone());
            move |call| {
                let (running, go_on, done) = (running.clone(), go_on.clone(), done.clone());
                async move {
                    running.notify_one();
                    go_on.notified().await;
                    done.fetch_add(1, Ordering::Relaxed);
                    let _ = call.reply(b"finished");
                }
            }
        }));
        let shared = Session::connect(&address).await.unwrap();
        let calling = tokio::spawn(async move { shared.call(0, b"").await.unwrap().to_vec() });
        soon(running.notified()).await;
        stopper.stop();
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        assert!(!serving.is_finished());
        go_on.notify_one();
        assert_eq!(soon(calling).await.unwrap(), b"finished");
        soon(serving).await.unwrap().unwrap();
        assert_eq!(done.load(Ordering::Relaxed), 1);
        assert!(!folder.path().join("shm").exists());
    });
}

#[test]
fn stopping_does_not_wait_for_handlers_whose_client_is_gone() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::bind(&addresses(folder.path())[0]).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let running = Arc::new(Notify::new());
        let serving = tokio::spawn(server.serve({
            let running = Arc::clone(&running);
            move |call| {
                let running = Arc::clone(&running);
                async move {
                    running.notify_one();
                    std::future::pending::<()>().await;
                    drop(call);
                }
            }
        }));
        for stops_first in [false, true] {
            let shared = Session::connect(&address).await.unwrap();
            shared.post(0, b"for ever").await.unwrap();
            soon(running.notified()).await;
            if stops_first {
                stopper.stop();
                tokio::task::yield_now().await;
                assert!(!serving.is_finished());
            }
        }
        soon(serving).await.unwrap().unwrap();
    });
}

#[test]
fn stop_with_held_messages_of_a_gone_client_ends_at_once() {
    /// As many handlers of one-way messages as a session may have.
    const MESSAGES: usize = 1024;
    on_both_runtimes(|| async {
        for stops_first in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let options = ServerOptions::new().drain_timeout(100 * PATIENCE);
            let server = Server::bind_with(&addresses(folder.path())[0], options).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let begun = Arc::new(Semaphore::new(0));
            let serving = tokio::spawn(server.serve({
                let begun = Arc::clone(&begun);
                move |call| {
                    begun.add_permits(1);
                    async move {
                        std::future::pending::<()>().await;
                        drop(call);
                    }
                }
            }));
            let shared = Session::connect(&address).await.unwrap();
            for _ in 0..MESSAGES {
                soon(shared.post(0, b"for ever")).await.unwrap();
            }
            let _ = soon(begun.acquire_many(MESSAGES as u32)).await.unwrap();
            if stops_first {
                stopper.stop();
                yield_now().await;
            }
            drop(shared);
            stopper.stop();
            soon(serving).await.unwrap().unwrap();
        }
    });
}

/// A client without a driver: what it sends is out at once, over shared memory and unix sockets.
pub(crate) async fn connect(address: &Address) -> breezeway::Session {
    let address = address.clone();
    let connecting = spawn_blocking(move || breezeway::Session::connect(&address).unwrap());
    let shared = soon(connecting).await.unwrap();
    let calling = shared.clone();
    soon(spawn_blocking(move || calling.call(0, b"there").unwrap())).await.unwrap();
    shared
}

/// Sends calls, and gives what awaits their replies.
pub(crate) fn commit(
    shared: &breezeway::Session,
    calls: u8,
) -> impl FnOnce() -> Vec<Result<Message, CallError>> + use<> {
    let shared = shared.clone();
    let start = |number| {
        let mut cx = Context::from_waker(Waker::noop());
        match shared.poll_start_call(&mut cx, 0, None, &[number], None) {
            Poll::Ready(Ok(call)) => call,
            _ => panic!("it does not start"),
        }
    };
    let calls: Vec<_> = (0..calls).map(start).collect();
    let reply = move |mut call: PendingCall| {
        let start = Instant::now();
        loop {
            // Takes a turn.
            shared.is_going_away();
            let mut cx = Context::from_waker(Waker::noop());
            if let Poll::Ready(reply) = Pin::new(&mut call).poll(&mut cx) {
                return reply;
            }
            assert!(start.elapsed() < PATIENCE, "no reply");
            std::thread::yield_now();
        }
    };
    move || calls.into_iter().map(reply).collect()
}

#[test]
fn stopping_serves_earlier_requests() {
    on_both_runtimes(|| async {
        for carrier in 0..2 {
            let folder = tempfile::tempdir().unwrap();
            let options = ServerOptions::new().drain_timeout(PATIENCE);
            let server = Server::bind_with(&addresses(folder.path())[carrier], options).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let serving = tokio::spawn(server.serve(echo));
            let shared = connect(&address).await;
            let replies = commit(&shared, 100);
            stopper.stop();
            let replies = soon(spawn_blocking(replies)).await.unwrap();
            for (number, reply) in replies.into_iter().enumerate() {
                assert_eq!(reply.unwrap().to_vec(), [number as u8]);
            }
            soon(serving).await.unwrap().unwrap();
            assert_eq!(stopper.unserved(), Unserved::default());
            assert!(shared.is_going_away());
            let late = soon(spawn_blocking(move || shared.call(0, b"late"))).await.unwrap();
            assert!(!late.unwrap_err().may_have_run());
        }
    });
}

#[test]
fn past_the_time_to_drain_calls_are_refused_and_counted() {
    on_both_runtimes(|| async {
        for carrier in 0..2 {
            let folder = tempfile::tempdir().unwrap();
            let options = ServerOptions::new().drain_timeout(Duration::ZERO);
            let server = Server::bind_with(&addresses(folder.path())[carrier], options).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let serving = tokio::spawn(server.serve(echo));
            let shared = connect(&address).await;
            let replies = commit(&shared, 100);
            stopper.stop();
            let mut refused = 0;
            for reply in soon(spawn_blocking(replies)).await.unwrap() {
                match reply {
                    Ok(_) => {}
                    Err(error @ CallError::Failed { code: ErrorCode::Refused, .. }) => {
                        assert!(!error.may_have_run());
                        refused += 1;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            soon(serving).await.unwrap().unwrap();
            assert_eq!(stopper.unserved().calls_refused, refused);
        }
    });
}

#[test]
fn draining_channel_accepts_until_empty_or_timeout() {
    on_both_runtimes(|| async {
        for in_time in [true, false] {
            let (shared, server) = Session::pair(&SessionOptions::new()).await.unwrap();
            let call = tokio::spawn(async move { shared.call(0, b"held").await });
            let Ok(Some(Incoming::Call(held))) = soon(server.accept()).await else { panic!() };
            // It may wait already when the session begins to drain.
            let accepting = tokio::spawn({
                let server = server.clone();
                async move { assert!(server.accept().await.unwrap().is_none()) }
            });
            tokio::task::yield_now().await;
            server.drain(if in_time { 2 * PATIENCE } else { Duration::from_millis(20) });
            if in_time {
                let _ = held.echo();
                soon(accepting).await.unwrap();
                assert_eq!(server.unserved(), Unserved::default());
                assert_eq!(soon(call).await.unwrap().unwrap().to_vec(), b"held");
            } else {
                soon(accepting).await.unwrap();
                assert_eq!(server.unserved().calls_cut, 1);
                drop((held, server));
                // The reply reports that the handler dropped the call, or the end came first.
                assert!(soon(call).await.unwrap().is_err());
            }
        }
    });
}
