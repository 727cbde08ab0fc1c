//! Sessions that drain, on every carrier.

use std::future::Future;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use breezeway_adversary::socket::PATIENCE;
use breezeway_os::WaitPolicy;
use breezeway_proto::{ErrorCode, Flags, Head, Kind};

use crate::carrier::{Body, Carrier};
use crate::connect;
use crate::error::{CallError, StreamError};
use crate::handshake;
use crate::message::Message;
use crate::options::SessionOptions;
use crate::session::state::State;
use crate::session::{Driving, Incoming, OwnedCall, PendingCall, ServerSession, Session};
use crate::unserved::Unserved;

const CARRIERS: [Carrier; 3] = [Carrier::Shm, Carrier::Unix, Carrier::Tcp];

fn sockets(carrier: Carrier) -> (OwnedFd, OwnedFd) {
    if carrier == Carrier::Tcp {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        return (client.into(), listener.accept().unwrap().0.into());
    }
    let (one, other) = UnixStream::pair().unwrap();
    (one.into(), other.into())
}

pub(in crate::session) fn pair(
    carrier: Carrier,
    options: &SessionOptions,
) -> (Session, ServerSession) {
    let (client, server) = sockets(carrier);
    let options = &options.clone().handshake_timeout(PATIENCE);
    let accepting = thread::spawn({
        let options = options.clone();
        move || {
            let peer = connect::peer(&server, carrier).unwrap();
            let agreed = handshake::accept(server, carrier, &options).unwrap();
            ServerSession::new(agreed, peer, &options, Driving::ByCallers)
        }
    });
    let peer = connect::peer(&client, carrier).unwrap();
    let channel = Session::negotiate(client, peer, carrier, options, Driving::ByCallers).unwrap();
    (channel, accepting.join().unwrap())
}

fn on_every_carrier(test: impl Fn(Session, ServerSession)) {
    for carrier in CARRIERS {
        let (channel, server) = pair(carrier, &SessionOptions::new());
        test(channel, server);
    }
}

/// Commits a call. No task waits for its reply yet.
pub(in crate::session) fn start(channel: &Session, request: &[u8]) -> PendingCall {
    let mut cx = Context::from_waker(Waker::noop());
    match channel.poll_start_call(&mut cx, 0, None, request, None) {
        Poll::Ready(Ok(call)) => call,
        _ => panic!("it does not start"),
    }
}

fn post(channel: &Session) {
    let mut cx = Context::from_waker(Waker::noop());
    assert!(matches!(channel.poll_post(&mut cx, 0, None, b"x"), Poll::Ready(Ok(()))));
}

/// Returns the reply to a call, and takes the turns itself.
fn reply(channel: &Session, mut call: PendingCall) -> Result<Message, CallError> {
    let start = Instant::now();
    loop {
        channel.handle.shared.turn(|_, _| ());
        let mut cx = Context::from_waker(Waker::noop());
        if let Poll::Ready(reply) = Pin::new(&mut call).poll(&mut cx) {
            return reply;
        }
        assert!(start.elapsed() < PATIENCE, "no reply");
        thread::yield_now();
    }
}

/// Waits until `arrivals` arrivals are there, as TCP may take its time. On other carriers sent
/// entries can be taken at once, and are left in place.
fn await_arrivals(server: &ServerSession, arrivals: usize) {
    let start = Instant::now();
    while server.carrier() == Carrier::Tcp
        && server.handle.shared.turn(|state, _| state.connection.arrivals.len() < arrivals)
    {
        assert!(start.elapsed() < PATIENCE, "they do not come");
        thread::yield_now();
    }
}

fn accept_call(server: &ServerSession) -> OwnedCall {
    match server.accept().unwrap() {
        Some(Incoming::Call(call)) => call,
        _ => panic!("no call"),
    }
}

fn is_refused(reply: Result<Message, CallError>) -> bool {
    match reply {
        Err(error @ CallError::Failed { code: ErrorCode::Refused, .. }) => !error.may_have_run(),
        _ => false,
    }
}

#[test]
fn committed_requests_are_served_and_none_begun() {
    on_every_carrier(|channel, server| {
        let calls: Vec<_> = (0..50u8).map(|number| start(&channel, &[number])).collect();
        post(&channel);
        await_arrivals(&server, 51);
        server.drain(PATIENCE);
        let (mut served, mut messages) = (0, 0);
        while let Some(incoming) = server.accept().unwrap() {
            let Incoming::Call(call) = incoming else { panic!("no call") };
            if call.is_one_way() {
                messages += 1;
            } else {
                served += 1;
                let _ = call.echo();
            }
        }
        assert_eq!((served, messages), (50, 1));
        assert_eq!(server.unserved(), Unserved::default());
        for (number, call) in calls.into_iter().enumerate() {
            assert_eq!(reply(&channel, call).unwrap().to_vec(), [number as u8]);
        }
        assert!(channel.is_going_away());
        assert!(matches!(channel.call(0, b"new"), Err(CallError::GoingAway)));
        drop(server);
    });
}

#[test]
fn calls_that_are_served_elsewhere_are_awaited() {
    on_every_carrier(|channel, server| {
        let call = start(&channel, b"x");
        let held = accept_call(&server);
        server.drain(2 * PATIENCE);
        let start = Instant::now();
        let draining = thread::spawn(move || {
            let rest = server.accept().unwrap();
            assert!(rest.is_none());
            server.unserved()
        });
        let replying = thread::spawn(move || held.echo());
        assert_eq!(reply(&channel, call).unwrap().to_vec(), b"x");
        replying.join().unwrap().unwrap();
        assert_eq!(draining.join().unwrap(), Unserved::default());
        assert!(start.elapsed() < PATIENCE, "the end went unnoticed");
    });
}

#[test]
fn a_reply_that_finds_no_room_is_awaited() {
    // Length larger than all buffers of a socket, and so large that memory has room for one.
    const LEN: usize = 16 << 20;
    for carrier in CARRIERS {
        let (channel, server) = pair(carrier, &SessionOptions::new().cap(3 * LEN as u64 / 2));
        let calls = [(); 2].map(|()| start(&channel, b""));
        for _ in 0..2 {
            let _ = accept_call(&server).reply(vec![7; LEN]);
        }
        server.drain(PATIENCE);
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..10 {
            server.handle.shared.turn(|_, _| ());
            assert!(server.poll_accept(&mut cx).is_pending(), "{carrier:?}");
        }
        let draining = thread::spawn(move || {
            assert!(server.accept().unwrap().is_none());
            assert_eq!(server.unserved(), Unserved::default());
        });
        for call in calls {
            // The message before was dropped: there is room.
            assert!(reply(&channel, call).unwrap().to_vec() == vec![7; LEN]);
        }
        // Releases travel with a sent entry, or a wait.
        while !draining.is_finished() {
            channel.handle.shared.turn(|_, _| ());
            thread::yield_now();
        }
        draining.join().unwrap();
    }
}

#[test]
fn calls_unbegun_after_drain_time_are_refused() {
    on_every_carrier(|channel, server| {
        let calls = [(); 3].map(|()| start(&channel, b"x"));
        let held = accept_call(&server);
        post(&channel);
        let stream = channel.open(1).unwrap();
        let late = start(&channel, b"late");
        server.drain(Duration::ZERO);
        assert!(server.accept().unwrap().is_none());
        // Entries in the ring that were not taken are taken by a turn.
        let start = Instant::now();
        let everything = Unserved { calls_refused: 3, calls_cut: 1, messages_lost: 1 };
        while server.unserved() != everything {
            server.handle.shared.turn(|_, _| ());
            assert!(start.elapsed() < PATIENCE, "{:?}", server.unserved());
        }
        assert!(server.accept().unwrap().is_none());
        let [first, second, third] = calls;
        for call in [second, third, late] {
            assert!(is_refused(reply(&channel, call)));
        }
        let reset = stream.split().1.receive_until(Instant::now() + PATIENCE);
        assert!(reset.is_err());
        drop(server);
        let error = reply(&channel, first).unwrap_err();
        assert!(error.may_have_run(), "{error}");
        drop(held);
    });
}

#[test]
fn a_call_behind_the_end_of_the_drain_never_runs() {
    on_every_carrier(|channel, server| {
        server.drain(PATIENCE);
        assert!(server.accept().unwrap().is_none());
        // The client takes no turn before, and so has not received the go-away.
        let call = start(&channel, b"x");
        let start = Instant::now();
        while server.carrier() == Carrier::Tcp && server.unserved().calls_refused == 0 {
            server.handle.shared.turn(|_, _| ());
            assert!(start.elapsed() < PATIENCE, "it does not come");
        }
        drop(server);
        let error = reply(&channel, call).unwrap_err();
        assert!(is_refused(Err(error)));
    });
}

#[test]
fn session_dropped_while_draining_refuses_unbegun_calls() {
    on_every_carrier(|channel, server| {
        let calls = [(); 3].map(|()| start(&channel, b"x"));
        await_arrivals(&server, 3);
        server.drain(PATIENCE);
        drop(server);
        for call in calls {
            assert!(is_refused(reply(&channel, call)));
        }
    });
}

#[test]
fn threads_that_accept_learn_of_the_drain_and_of_its_end() {
    for policy in [WaitPolicy::Park, WaitPolicy::Adaptive] {
        for carrier in CARRIERS {
            let (channel, server) = pair(carrier, &SessionOptions::new().wait(policy));
            let call = start(&channel, b"held");
            let held = accept_call(&server);
            let accepting = [(); 3].map(|()| {
                let server = server.clone();
                thread::spawn(move || assert!(server.accept().unwrap().is_none()))
            });
            // Some of them sleep by then.
            thread::sleep(Duration::from_millis(5));
            server.drain(Duration::from_millis(20));
            for thread in accepting {
                thread.join().unwrap();
            }
            assert_eq!(server.unserved().calls_cut, 1);
            // A reply still gets through as long as the session is there.
            let _ = held.echo();
            assert_eq!(reply(&channel, call).unwrap().to_vec(), b"held");
        }
    }
}

#[test]
fn a_stream_that_goes_on_is_awaited_to_its_end() {
    on_every_carrier(|channel, server| {
        let mut stream = channel.open(4).unwrap();
        let Some(Incoming::Stream(4, mut served)) = server.accept().unwrap() else {
            panic!("no stream")
        };
        server.drain(2 * PATIENCE);
        let start = Instant::now();
        let draining = thread::spawn(move || {
            assert!(server.accept().unwrap().is_none());
            assert_eq!(server.unserved(), Unserved::default());
        });
        let serving = thread::spawn(move || {
            while let Some(message) = served.receive().unwrap() {
                served.send(&message.to_vec()).unwrap();
            }
            served.finish().unwrap();
        });
        for round in 0..20u8 {
            stream.send(&[round]).unwrap();
            assert_eq!(stream.receive().unwrap().unwrap().to_vec(), [round]);
        }
        stream.finish().unwrap();
        assert!(stream.receive().unwrap().is_none());
        serving.join().unwrap();
        draining.join().unwrap();
        assert!(start.elapsed() < PATIENCE, "the end went unnoticed");
    });
}

#[test]
fn a_drain_can_be_shortened_and_not_lengthened() {
    on_every_carrier(|channel, server| {
        let _call = start(&channel, b"x");
        let _held = accept_call(&server);
        server.drain(PATIENCE);
        let accepting = thread::spawn({
            let server = server.clone();
            move || assert!(server.accept().unwrap().is_none())
        });
        server.drain(Duration::from_millis(5));
        server.drain(PATIENCE);
        accepting.join().unwrap();
        assert!(server.handle.shared.with(|state| state.connection.ending.has_drained()));
    });
}

#[test]
fn go_away_keeps_an_awake_driver_from_sleep_until_it_is_sent() {
    for drains in [false, true] {
        on_every_carrier(|channel, server| {
            let shared = &server.handle.shared;
            // The driver has taken its last turn before the go-away, and sleeps behind it.
            shared.turn(|state, _| state.driver.is_awake = true);
            if drains {
                server.drain(PATIENCE)
            } else {
                server.go_away()
            }
            assert_eq!(shared.with(State::prepare_sleep), None);
            shared.turn(|state, _| assert!(state.prepare_sleep().is_some()));
            let start = Instant::now();
            while !channel.is_going_away() {
                assert!(start.elapsed() < PATIENCE, "it gets no go-away");
                thread::yield_now();
            }
        });
    }
}

#[test]
fn dropped_stream_keeps_an_awake_driver_from_sleep_until_its_reset_is_sent() {
    on_every_carrier(|channel, server| {
        let stream = channel.open(1).unwrap();
        let Some(Incoming::Stream(1, served)) = server.accept().unwrap() else {
            panic!("no stream")
        };
        let shared = &server.handle.shared;
        // The driver has taken its last turn before the reset, and sleeps behind it.
        shared.turn(|state, _| state.driver.is_awake = true);
        drop(served);
        assert_eq!(shared.with(State::prepare_sleep), None);
        shared.turn(|state, _| assert!(state.prepare_sleep().is_some()));
        let reset = stream.split().1.receive_until(Instant::now() + PATIENCE);
        assert!(matches!(reset, Err(StreamError::Reset(_))), "{reset:?}");
    });
}

#[test]
fn messages_of_a_client_that_left_are_served() {
    on_every_carrier(|channel, server| {
        for _ in 0..3 {
            post(&channel);
        }
        drop(channel);
        let start = Instant::now();
        while server.handle.shared.turn(|state, _| !state.is_ended()) {
            assert!(start.elapsed() < PATIENCE, "the end does not come");
            thread::yield_now();
        }
        server.drain(PATIENCE);
        for _ in 0..3 {
            assert!(accept_call(&server).is_one_way());
        }
        assert!(server.accept().unwrap().is_none());
        assert_eq!(server.unserved(), Unserved::default());
    });
}

#[test]
fn stream_of_a_session_that_is_over_sends_no_reset() {
    let (channel, server) = pair(Carrier::Shm, &SessionOptions::new());
    let _stream = channel.open(1).unwrap();
    let Some(Incoming::Stream(1, stream)) = server.accept().unwrap() else { panic!("no stream") };
    server.close();
    drop(stream);
    server.go_away();
    server.drain(Duration::ZERO);
    let entries = channel.handle.shared.with(|state| {
        let mut entries = Vec::new();
        while state.link.take().unwrap() {
            entries.push(state.link.head().kind);
            state.link.finish().unwrap();
        }
        entries
    });
    assert_eq!(entries, [Kind::Shutdown as u8]);
}

#[test]
fn sleeping_accept_ends_when_drain_is_shortened() {
    for carrier in CARRIERS {
        let options = SessionOptions::new().wait(WaitPolicy::Park);
        let (channel, server) = pair(carrier, &options);
        let _call = start(&channel, b"x");
        let _held = accept_call(&server);
        server.drain(10 * PATIENCE);
        let accepting = thread::spawn({
            let server = server.clone();
            move || assert!(server.accept().unwrap().is_none())
        });
        // Waits until the thread sleeps, as far as that can be observed. A thread that does not
        // sleep receives the end anyway.
        thread::sleep(Duration::from_millis(50));
        // Not over at once: that would wake it.
        server.drain(Duration::from_millis(100));
        let start = Instant::now();
        while !accepting.is_finished() {
            assert!(start.elapsed() < PATIENCE, "{carrier:?}: it sleeps on");
            thread::yield_now();
        }
        accepting.join().unwrap();
    }
}

#[test]
fn client_that_takes_no_replies_ends_its_session() {
    for drains in [false, true] {
        // A client's end over TCP is never full: it reads received bytes before it writes.
        for carrier in [Carrier::Shm, Carrier::Unix] {
            let (channel, server) = pair(carrier, &SessionOptions::new());
            if drains {
                server.drain(Duration::ZERO);
            }
            let limit = server.handle.shared.max_in_flight;
            let (mut number, mut most) = (1, 0);
            let start = Instant::now();
            let end = loop {
                // Unlike any client of this library, it does not check how many are in flight.
                channel.handle.shared.with(|state| {
                    let flags = Flags::OPEN.with(Flags::FIN);
                    let head = Head { kind: Kind::Message, flags, stream: number, tag: 0, time: 0 };
                    state.has_new_room().unwrap();
                    if state.link.send(head, Body::Bytes(&[7; 100])).is_ok() {
                        (number, state.unflushed) = (number + 2, true);
                    }
                });
                server.handle.shared.turn(|_, _| ());
                let mut cx = Context::from_waker(Waker::noop());
                while let Poll::Ready(Ok(Some(Incoming::Call(call)))) = server.poll_accept(&mut cx)
                {
                    let _ = call.echo();
                }
                let state =
                    |state: &mut State| (state.connection.backlog.len(), state.check().err());
                let (kept, end) = server.handle.shared.with(state);
                most = most.max(kept);
                if let Some(end) = end {
                    break end;
                }
                assert!(start.elapsed() < PATIENCE, "{number}, {most} are kept");
            };
            assert!(matches!(end, CallError::EndedBy(_)), "{end}");
            assert!(most <= limit, "{most} are kept");
        }
    }
}
