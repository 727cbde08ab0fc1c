//! Replies that find no room, turn by turn.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use breezeway_adversary::socket::PATIENCE;
use breezeway_os::{Deadline, clock};
use breezeway_proto::connection::{Attempt, Lack};
use breezeway_proto::{ErrorCode, Head, Time};

use crate::carrier::Carrier;
use crate::error::CallError;
use crate::link::OwnedBody;
use crate::message::Message;
use crate::options::SessionOptions;
use crate::session::ending::tests::{pair, start};
use crate::session::state::State;
use crate::session::{Incoming, OwnedCall, PendingCall, ServerSession, Session};

const CAP: usize = 256 << 10;
const PART: usize = 64 << 10;
const LONG: Duration = Duration::from_secs(3600);
/// Number of calls, more than find room.
const CALLS: usize = 64;

/// Returns a session on which replies wait for memory for `patience`.
fn session(carrier: Carrier, patience: Duration) -> (Session, ServerSession) {
    let (session, server) = pair(carrier, &SessionOptions::new().cap(CAP as u64));
    server
        .handle
        .shared
        .with(|state| state.connection.backlog.set_patience(clock::ticks_in(patience)));
    (session, server)
}

/// Accepts a call, if one is there.
fn accept(server: &ServerSession) -> Option<OwnedCall> {
    server.handle.shared.turn(|_, _| ());
    match server.try_accept() {
        Some(Incoming::Call(call)) => Some(call),
        Some(Incoming::Stream(..)) => panic!("no stream was opened"),
        None => None,
    }
}

/// Replies to the calls that are accepted; returns their number.
fn serve(server: &ServerSession) -> usize {
    std::iter::from_fn(|| accept(server).map(|call| call.reply(vec![7; PART]))).count()
}

fn head() -> Head {
    Head::of_reply(1)
}

fn owed(server: &ServerSession) -> usize {
    server.handle.shared.with(|state| state.connection.backlog.bytes())
}

/// Returns the result of a call, if it is over.
fn poll(session: &Session, call: &mut PendingCall) -> Option<Result<Message, CallError>> {
    session.handle.shared.turn(|_, _| ());
    match Pin::new(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    }
}

#[test]
fn while_as_much_as_the_cap_waits_no_further_call_is_begun() {
    for carrier in [Carrier::Shm, Carrier::Unix] {
        let (session, server) = session(carrier, LONG);
        let calls: Vec<_> = (0..CALLS).map(|_| start(&session, b"x")).collect();
        let begun = serve(&server);
        assert!(begun < CALLS, "{carrier}: all were begun");
        let most = server.cap() + PART;
        assert!((most - PART..most).contains(&owed(&server)), "{carrier}: {}", owed(&server));
        assert_eq!(serve(&server), 0, "{carrier}: another one was begun");
        // Each reply that is taken makes room for more.
        let began = Instant::now();
        let mut served = begun;
        for mut call in calls {
            let reply = loop {
                served += serve(&server);
                assert!(owed(&server) < most);
                if let Some(reply) = poll(&session, &mut call) {
                    break reply;
                }
                assert!(began.elapsed() < PATIENCE, "{carrier}: {served} were served");
                thread::yield_now();
            };
            assert!(reply.unwrap().to_vec() == [7; PART], "{carrier}");
        }
        assert_eq!((served, owed(&server)), (CALLS, 0), "{carrier}");
    }
}

#[test]
fn reply_without_memory_in_time_fails_only_its_call() {
    let (session, server) = session(Carrier::Shm, Duration::ZERO);
    let mut calls: Vec<_> = (0..8).map(|_| start(&session, b"x")).collect();
    assert!(serve(&server) > 0);
    let (mut kept, mut failed) = (Vec::new(), 0);
    while let Some(mut call) = calls.pop() {
        serve(&server);
        match poll(&session, &mut call) {
            Some(Ok(reply)) => kept.push(reply),
            Some(Err(CallError::Failed { code: ErrorCode::NoMemory, reason, .. })) => {
                assert!(reason.contains("no payload memory for the reply"), "{reason}");
                failed += 1;
            }
            Some(Err(error)) => panic!("{error}"),
            None => calls.insert(0, call),
        }
    }
    assert!(!kept.is_empty() && failed > 0, "{} were kept, {failed} failed", kept.len());
    assert_eq!(owed(&server), 0);
    kept.clear();
    let mut call = start(&session, b"x");
    serve(&server);
    assert!(poll(&session, &mut call).unwrap().unwrap().to_vec() == [7; PART]);
}

#[test]
fn a_reply_that_finds_no_room_waits_no_longer_than_its_caller() {
    for carrier in [Carrier::Shm, Carrier::Unix] {
        let (session, server) = session(carrier, LONG);
        let mut cx = Context::from_waker(Waker::noop());
        let soon = Some(Duration::from_millis(5));
        // Like a client that hangs, this one takes no reply, and cancels no call.
        let mut calls = Vec::new();
        for _ in 0..CALLS {
            match session.poll_start_call(&mut cx, 0, None, b"x", soon) {
                Poll::Ready(Ok(call)) => calls.push(call),
                _ => panic!("there is room for it"),
            }
        }
        serve(&server);
        let began = Instant::now();
        while owed(&server) > CALLS * 128 {
            serve(&server);
            assert!(began.elapsed() < PATIENCE, "{carrier}: {} are kept", owed(&server));
            thread::yield_now();
        }
        drop(calls);
    }
}

/// Returns a client and a server that has received a message large enough to be copied in pieces.
fn with_large_message() -> (Session, ServerSession, Message) {
    let (session, server) = pair(Carrier::Shm, &SessionOptions::new().cap(64 << 20));
    let mut call = start(&session, b"x");
    let _ = accept(&server).unwrap().reply(vec![7; 5 << 20]);
    let began = Instant::now();
    // The segment is mapped in several turns.
    let message = loop {
        if let Some(reply) = poll(&session, &mut call) {
            break reply.unwrap();
        }
        assert!(began.elapsed() < PATIENCE, "no reply");
        thread::yield_now();
    };
    (session, server, message)
}

/// Keeps a copy of the received message, to be made in turns.
fn keep_copy(state: &mut State, message: &mut Message, until: Deadline) {
    let body = OwnedBody::in_pieces(Carrier::Shm, message).unwrap();
    state.has_driver = true;
    state.keep(head(), body, Lack::Copy, until);
}

#[test]
fn late_reply_is_not_copied_to_its_end() {
    let (session, _server, mut message) = with_large_message();
    session.handle.shared.with(|state| {
        keep_copy(state, &mut message, Deadline::after(Duration::ZERO));
        assert!(state.send_backlog().unwrap());
        let backlog = &state.connection.backlog;
        assert_eq!((backlog.len(), backlog.bytes()), (0, 0), "it goes on");
    });
}

#[test]
fn copy_that_found_memory_waits_for_none() {
    let (session, _server, mut message) = with_large_message();
    session.handle.shared.with(|state| {
        state.connection.backlog.set_patience(clock::ticks_in(LONG));
        keep_copy(state, &mut message, Deadline::NEVER);
        // As after a shortage.
        state.connection.backlog.begin_pass();
        let now = Time::from_ticks(clock::ticks());
        state.connection.backlog.attempted(Attempt::NoMemory(""), now);
        let mut passes = 0;
        while state.connection.backlog.poll_timeout() != Time::NEVER {
            assert!(state.send_backlog().unwrap());
            passes += 1;
        }
        assert!(passes > 1, "there was memory at once");
        assert!(state.connection.backlog.is_copying(), "it waits to the end");
    });
}

#[test]
fn driver_sleeps_no_longer_than_a_reply_may_wait() {
    let (session, server) = session(Carrier::Shm, Duration::from_secs(60));
    let sleep = || {
        let until = server.handle.shared.turn(|state, _| {
            let until = state.prepare_sleep();
            state.driver.is_awake = true;
            until
        });
        until.expect("there is nothing to do").time_left()
    };
    assert_eq!(sleep(), None, "nothing was asked");
    let calls: Vec<_> = (0..8).map(|_| start(&session, b"x")).collect();
    assert!(serve(&server) > 0);
    let left = sleep();
    assert!(left.is_some_and(|left| left <= Duration::from_secs(60)), "{left:?}");
    drop(calls);
}

#[test]
fn calls_before_clients_end_are_served_behind_backlog() {
    let (session, server) = session(Carrier::Shm, LONG);
    let calls: Vec<_> = (0..CALLS).map(|_| start(&session, b"x")).collect();
    let begun = serve(&server);
    assert!(begun < CALLS, "all were begun");
    session.handle.shared.with(State::close);
    let (mut served, began) = (begun, Instant::now());
    // Until the client has taken no reply for too long.
    while served < CALLS {
        served += serve(&server);
        assert!(began.elapsed() < PATIENCE, "{served} of {CALLS} are served");
    }
    drop(calls);
}

/// Counter of wake-ups.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Makes the session count the wake-ups of its driver.
fn count_wakes(server: &ServerSession) -> Arc<Woken> {
    let woken = Arc::new(Woken::default());
    server.handle.shared.with(|state| state.set_driver(&Waker::from(Arc::clone(&woken))));
    woken
}

/// Lets the driver sleep, unless there is something to do.
fn sleep(server: &ServerSession) -> bool {
    let asleep = server.handle.shared.turn(|state, _| state.prepare_sleep().is_some());
    server.handle.shared.with(|state| state.driver.is_awake = false);
    asleep
}

#[test]
fn driver_asleep_for_room_is_woken_for_an_earlier_limit() {
    let (session, server) = session(Carrier::Unix, LONG);
    let woken = count_wakes(&server);
    let mut cx = Context::from_waker(Waker::noop());
    let limited = session.poll_start_call(&mut cx, 0, None, b"x", Some(LONG));
    let calls: Vec<_> = (0..CALLS).map(|_| start(&session, b"x")).collect();
    let mut accepted: Vec<_> = std::iter::from_fn(|| accept(&server)).collect();
    assert_eq!(accepted.len(), 1 + CALLS);
    let (earlier, unlimited) = (accepted.remove(0), accepted.pop().unwrap());
    for call in accepted {
        let _ = call.reply(vec![7; PART]);
    }
    assert!(owed(&server) > 0 && sleep(&server));
    for (call, wakes) in [(unlimited, 0), (earlier, 1)] {
        let before = woken.0.load(Ordering::Relaxed);
        let _ = call.reply(b"x");
        assert_eq!(woken.0.load(Ordering::Relaxed) - before, wakes);
    }
    drop((limited, calls));
}

#[test]
fn driver_of_flooded_session_is_woken_for_a_reply() {
    const LARGE: usize = 4 << 20;
    let (session, server) = pair(Carrier::Unix, &SessionOptions::new().max_streams(0));
    let woken = count_wakes(&server);
    let [mut first, _second] = [start(&session, b"x"), start(&session, b"x")];
    let [first_call, second_call] = [accept(&server).unwrap(), accept(&server).unwrap()];
    // The driver sleeps until the socket has room.
    let _ = first_call.reply(vec![7; LARGE]);
    assert!(sleep(&server));
    while poll(&session, &mut first).is_none() {
        server.handle.shared.turn(|_, _| ());
    }
    // Then it sleeps until one of these was served.
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..2_000 {
        assert!(matches!(session.poll_post(&mut cx, 0, None, b"x"), Poll::Ready(Ok(()))));
    }
    let began = Instant::now();
    while !server.handle.shared.turn(|state, _| state.connection.is_flooded()) {
        session.handle.shared.turn(|_, _| ());
        assert!(began.elapsed() < PATIENCE, "it is not flooded");
    }
    assert!(sleep(&server));
    let before = woken.0.load(Ordering::Relaxed);
    let _ = second_call.reply(vec![7; LARGE]);
    assert!(woken.0.load(Ordering::Relaxed) > before, "no task watches the socket for room");
}
