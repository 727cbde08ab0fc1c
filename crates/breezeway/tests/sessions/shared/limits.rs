//! Messages that are not taken up, messages that never fit, and the waits of others.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{
    Call, CallError, Carrier, ErrorCode, Incoming, OwnedCall, ReceiveHalf, Server, ServerOptions,
    ServerSession, Session, SessionOptions, StreamError, WaitPolicy,
};

use super::{PATIENCE, every_policy, pair, serve};
use crate::support::server::Gate;
use crate::support::{Folder, eventually, patient, within};

/// A waker that does nothing, and whose copies can be counted.
struct Counted;

impl Wake for Counted {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn repeated_polls_are_registered_once() {
    let (shared, server) = pair(&SessionOptions::new().stream_window(1_000_000, 1 << 40));
    let counted = Arc::new(Counted);
    let waker = Waker::from(Arc::clone(&counted));
    let mut cx = Context::from_waker(&waker);
    let before = Arc::strong_count(&counted);
    for _ in 0..1_000 {
        assert!(server.poll_accept(&mut cx).is_pending());
    }
    assert!(Arc::strong_count(&counted) <= before + 1, "for what comes");
    let before = Arc::strong_count(&counted);
    let mut room = 0;
    while let Poll::Ready(outcome) = shared.poll_post(&mut cx, 0, None, &[0]) {
        outcome.unwrap();
        room += 1;
    }
    assert!(room > 0);
    for _ in 0..1_000 {
        assert!(shared.poll_post(&mut cx, 0, None, &[0]).is_pending());
    }
    assert!(Arc::strong_count(&counted) <= before + 1, "for room");
}

#[test]
fn a_message_that_never_fits_is_refused_with_the_limit() {
    let options = SessionOptions::new().cap(1 << 20);
    let (shared, server) = pair(&options);
    let serving = serve(
        server,
        |call| {
            let len = call.message().bytes().u32_le_at(0).unwrap() as usize;
            let _ = call.reply(vec![7; len]);
        },
        |_, stream| stream.reset(ErrorCode::Refused),
    );
    let cap = shared.cap();
    let request = |len: usize| {
        let mut request = vec![0; cap.max(4)];
        request[..4].copy_from_slice(&(len as u32).to_le_bytes());
        request
    };
    let deadline = || Instant::now() + PATIENCE;
    let reply = shared.request(0).deadline(deadline()).send(&request(cap)).unwrap();
    assert_eq!(reply.len(), cap, "as much as it says, both ways");
    drop(reply);
    match shared.request(0).deadline(deadline()).send(&vec![0; cap + 1]) {
        Err(CallError::TooLarge { len, cap: limit }) => assert_eq!((len, limit), (cap + 1, cap)),
        other => panic!("{other:?}"),
    }
    // A reply that never fits fails its call, and no other.
    match shared.request(0).deadline(deadline()).send(&request(cap + 1)[..4]) {
        Err(CallError::Failed { .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(shared.request(0).deadline(deadline()).send(&request(9)[..4]).unwrap().len(), 9);
    let mut stream = shared.open(0).unwrap();
    match stream.sender().send_until(&vec![0; cap + 1], deadline()) {
        Err(StreamError::Session(CallError::TooLarge { .. }) | StreamError::Reset(_)) => {}
        other => panic!("{other:?}"),
    }
    drop((stream, shared));
    serving.join().unwrap();
}

#[test]
fn streams_reset_before_accept_are_not_kept() {
    let (shared, server) = pair(&SessionOptions::new().max_streams(4));
    let opener = server.clone();
    let serving = thread::spawn(move || server.serve(OwnedCall::echo));
    for round in 0..1_500 {
        // The numbers are free once the client has answered the resets, in front of a reply.
        drop(opener.open(round).unwrap());
        if round % 4 == 3 {
            let deadline = Instant::now() + PATIENCE;
            assert_eq!(shared.request(0).deadline(deadline).send(b"x").unwrap().to_vec(), b"x");
            assert_eq!(shared.request(0).deadline(deadline).send(b"x").unwrap().to_vec(), b"x");
        }
    }
    let mut waiting = 0;
    let mut cx = Context::from_waker(Waker::noop());
    while let Poll::Ready(accepted) = shared.poll_accept(&mut cx) {
        accepted.unwrap();
        waiting += 1;
    }
    assert!(waiting <= 8, "{waiting} streams were kept");
    drop((opener, shared));
    serving.join().unwrap().unwrap();
}

#[test]
fn reset_by_another_thread_wakes_the_receiver() {
    for policy in [WaitPolicy::Adaptive, WaitPolicy::Park] {
        // No driver runs the server, so nothing comes from there.
        let (shared, _server) = pair(&SessionOptions::new().wait(policy));
        for _ in 0..20 {
            let (mut send, mut receive) = shared.open(0).unwrap().split();
            let (done, receives) = mpsc::channel();
            let receiver = thread::spawn(move || {
                let outcome = receive.receive_until(Instant::now() + 2 * PATIENCE);
                done.send((outcome, receive)).unwrap();
            });
            // Some of the receivers sleep by then.
            thread::sleep(Duration::from_millis(5));
            send.reset(ErrorCode::Application(3));
            let outcome: (_, ReceiveHalf) = receives.recv_timeout(PATIENCE).unwrap();
            match outcome.0 {
                Err(StreamError::Reset(ErrorCode::Application(3))) => {}
                other => panic!("{other:?}"),
            }
            receiver.join().unwrap();
        }
    }
}

#[test]
fn the_end_of_a_session_reaches_a_thread_that_is_about_to_sleep() {
    for round in 0..300 {
        let options = SessionOptions::new().wait(WaitPolicy::Park);
        let (shared, server) = pair(&options);
        let _stream = shared.open(0).unwrap();
        let Some(Incoming::Stream(_, mut served)) = server.accept().unwrap() else {
            panic!("a call")
        };
        let (done, ends) = mpsc::channel();
        let receiver = thread::spawn(move || done.send(served.receive().is_err()).unwrap());
        for _ in 0..round * 20 {
            std::hint::spin_loop();
        }
        drop(server);
        assert!(ends.recv_timeout(PATIENCE).unwrap());
        receiver.join().unwrap();
    }
}

#[test]
fn a_reply_that_lacks_memory_holds_up_no_other() {
    every_policy(|options| {
        let (shared, server) = pair(&options.clone().cap(64 << 10));
        let serving = serve(
            server.reply_timeout(Duration::from_secs(3600)),
            |call| {
                let len = call.request().u64_le_at(0).unwrap();
                let _ = call.reply(vec![7; len as usize]);
            },
            |_, stream| drop(stream),
        );
        let large = 40u64 << 10;
        let kept = shared.call(0, &large.to_le_bytes()).unwrap();
        let waiting = {
            let shared = shared.clone();
            thread::spawn(move || shared.call(0, &large.to_le_bytes()).unwrap().len())
        };
        let end = Instant::now() + PATIENCE;
        // The reply waits for memory for a second.
        for len in (0..105u64).step_by(8) {
            let reply = shared.request(0).deadline(end).send(&len.to_le_bytes()).unwrap();
            assert_eq!(reply.len() as u64, len);
        }
        assert!(!waiting.is_finished(), "there is no memory for it");
        drop(kept);
        assert_eq!(waiting.join().unwrap() as u64, large);
        drop(shared);
        serving.join().unwrap();
    });
}

#[test]
fn untaken_one_way_messages_stop_their_sender_and_arrive() {
    every_policy(|options| {
        let (shared, server) = pair(&options.clone().ring_capacity(8));
        let hasty = shared.clone();
        let sending = thread::spawn(move || {
            let mut sent = 0u64;
            let mut cx = Context::from_waker(Waker::noop());
            let end = Instant::now() + Duration::from_millis(100);
            while Instant::now() < end {
                match hasty.poll_post(&mut cx, 0, None, &sent.to_le_bytes()) {
                    Poll::Ready(outcome) => outcome.unwrap(),
                    Poll::Pending => {
                        thread::yield_now();
                        continue;
                    }
                }
                sent += 1;
            }
            sent
        });
        // A reader drives the server's end, and takes none of them.
        let mut driven = server.open(1).unwrap();
        let drives = thread::spawn(move || driven.receive().map(|_| ()));
        let sent = sending.join().unwrap();
        for number in 0..sent {
            let Some(Incoming::Call(call)) = server.accept().unwrap() else { panic!("no message") };
            assert_eq!(call.request().u64_le_at(0), Some(number));
        }
        drop((shared, server));
        assert!(drives.join().unwrap().is_err());
    });
}

/// A waker whose last copy, when it is dropped, uses the stream that it waits for.
struct UsesStream(std::sync::Mutex<Option<ReceiveHalf>>);

impl Wake for UsesStream {
    fn wake(self: Arc<Self>) {}
}

impl Drop for UsesStream {
    fn drop(&mut self) {
        // As a task does that owns the other half and goes with its last waker.
        drop(self.0.lock().unwrap().take());
    }
}

#[test]
fn replaced_waker_may_take_the_lock_when_dropped() {
    let (shared, _server) = pair(&SessionOptions::new());
    let (done, ends) = mpsc::channel();
    thread::spawn(move || {
        let mut first = shared.open(0).unwrap();
        let (_send, receive) = shared.open(0).unwrap().split();
        let owner = Waker::from(Arc::new(UsesStream(std::sync::Mutex::new(Some(receive)))));
        drop(_send);
        assert!(first.receiver().poll_receive(&mut Context::from_waker(&owner)).is_pending());
        drop(owner);
        // The stream holds the last copy now, and gets another.
        let mut cx = Context::from_waker(Waker::noop());
        assert!(first.receiver().poll_receive(&mut cx).is_pending());
        done.send(()).unwrap();
    });
    ends.recv_timeout(PATIENCE).expect("no deadlock");
}

#[test]
fn untaken_one_way_messages_stop_no_stream_or_call() {
    every_policy(|options| {
        let (shared, server) = pair(options);
        let mut stream = shared.open(0).unwrap();
        let Some(Incoming::Stream(_, mut served)) = server.accept().unwrap() else {
            panic!("no stream")
        };
        let echoing = thread::spawn(move || {
            while let Ok(Some(message)) = served.receive() {
                served.send(&message.to_vec()).unwrap();
            }
        });
        let mut cx = Context::from_waker(Waker::noop());
        let end = Instant::now() + PATIENCE;
        let mut sent = 0u64;
        let mut stuck = 0;
        // Until none has gone out for so many round trips: it is the window that is full.
        while stuck < 100 {
            assert!(Instant::now() < end, "{sent} one-way messages and no end");
            match shared.poll_post(&mut cx, 0, None, &sent.to_le_bytes()) {
                Poll::Ready(outcome) => {
                    outcome.unwrap();
                    sent += 1;
                    stuck = 0;
                    continue;
                }
                Poll::Pending => stuck += 1,
            }
            stream.sender().send_until(b"on", end).unwrap();
            let message = stream.receiver().receive_until(end).expect("the stream goes on");
            assert_eq!(message.unwrap().to_vec(), b"on");
        }
        assert_eq!(sent, 1_024);
        // A call goes by them as well, to be taken up behind them.
        let calling = {
            let shared = shared.clone();
            thread::spawn(move || shared.request(0).deadline(end).send(b"x").unwrap().to_vec())
        };
        for number in 0..sent {
            let Some(Incoming::Call(call)) = server.accept().unwrap() else { panic!("no message") };
            assert_eq!(call.request().u64_le_at(0), Some(number));
            assert!(call.is_one_way());
        }
        let Some(Incoming::Call(call)) = server.accept().unwrap() else { panic!("no call") };
        let _ = call.echo();
        assert_eq!(calling.join().unwrap(), b"x");
        shared.post(0, b"there is room again").unwrap();
        drop((stream, shared));
        echoing.join().unwrap();
    });
}

#[test]
fn replies_without_room_are_sent_before_a_session_closes() {
    every_policy(|options| {
        let (shared, server) = pair(&options.clone().cap(64 << 10));
        let large = 40u64 << 10;
        let kept = {
            let calling = {
                let shared = shared.clone();
                thread::spawn(move || shared.call(0, &[]).unwrap())
            };
            let Some(Incoming::Call(call)) = server.accept().unwrap() else { panic!("no call") };
            let _ = call.reply(vec![1; large as usize]);
            calling.join().unwrap()
        };
        let waiting = {
            let shared = shared.clone();
            thread::spawn(move || shared.call(0, &[]).map(|reply| reply.to_vec()))
        };
        let Some(Incoming::Call(call)) = server.accept().unwrap() else { panic!("no call") };
        let _ = call.reply(vec![2; large as usize]);
        let releasing = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            drop(kept);
        });
        let start = Instant::now();
        drop(server);
        assert!(start.elapsed() < Duration::from_millis(900), "it waits for no more than that");
        assert_eq!(waiting.join().unwrap().expect("the reply came first"), vec![2; large as usize]);
        releasing.join().unwrap();
    });
}

#[test]
fn closing_waits_a_bounded_time_for_room() {
    for policy in [WaitPolicy::Adaptive, WaitPolicy::Park, WaitPolicy::Busy] {
        let options = SessionOptions::new().wait(policy).cap(64 << 10);
        let (shared, server) = pair(&options);
        let calling: Vec<_> = (0..3)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || shared.call(0, &[]))
            })
            .collect();
        for _ in 0..3 {
            let Some(Incoming::Call(call)) = server.accept().unwrap() else { panic!("no call") };
            let _ = call.reply(vec![7; 40 << 10]);
        }
        let (done, closes) = mpsc::channel();
        // The client's replies are kept by its threads until they are joined.
        thread::spawn(move || {
            drop(server);
            done.send(()).unwrap();
        });
        closes.recv_timeout(PATIENCE).expect("it closes");
        let outcomes: Vec<_> = calling.into_iter().map(|thread| thread.join().unwrap()).collect();
        let answered = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(answered, 1, "memory for one: {outcomes:?}");
        for error in outcomes.into_iter().filter_map(Result::err) {
            // A reply waits as long for memory.
            let said_so = matches!(error, CallError::Failed { code: ErrorCode::NoMemory, .. });
            assert!(said_so || error.to_string() == "the server closed the session", "{error}");
        }
    }
}

#[test]
fn flooded_server_is_woken_for_its_pending_reply() {
    const PART: usize = 256 << 10;
    let options = SessionOptions::new().wait(WaitPolicy::Park).cap(4 * PART as u64);
    let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
    let accepting = thread::spawn({
        let options = options.clone().handshake_timeout(PATIENCE);
        move || ServerSession::from_socket(other.into(), &options).unwrap()
    });
    let patient = options.handshake_timeout(PATIENCE);
    let mut session = breezeway::ExclusiveSession::from_socket(one.into(), &patient).unwrap();
    let server = accepting.join().unwrap();
    let serving = thread::spawn(move || {
        server.serve(|call| {
            if !call.is_one_way() {
                let space = call.reserve(PART).unwrap();
                let _ = call.reply_space(space);
            }
        })
    });
    let calls = 8;
    for _ in 0..calls {
        session.send(0, b"").unwrap();
    }
    // More than are taken before they are served, and no more than the ring has room for then.
    for _ in 0..1_050 {
        session.post(0, b"x").unwrap();
    }
    let received = within(PATIENCE, "the replies", move || {
        for _ in 0..calls {
            assert_eq!(session.receive().unwrap().bytes().len(), PART);
        }
        calls
    });
    assert_eq!(received, calls);
    serving.join().unwrap().unwrap();
}

#[test]
fn waiting_one_way_messages_are_bounded() {
    for offload in [0, 1] {
        let folder = Folder::on(Carrier::Shm);
        let options = ServerOptions::new().offload(offload);
        let server = Server::bind_with(folder.address(), options).unwrap();
        let server = server.on_stream(|_, _| Ok(()));
        let stopper = server.stopper();
        let gate = Arc::new(Gate::default());
        let served = Arc::new(AtomicUsize::new(0));
        let (until, count) = (Arc::clone(&gate), Arc::clone(&served));
        let (defer, deferred) = mpsc::channel::<OwnedCall>();
        let serving = thread::spawn(move || {
            server.serve(move |call: Call<'_>| {
                if offload > 0 {
                    until.pass();
                    count.fetch_add(1, Ordering::Relaxed);
                    return call.done();
                }
                let (call, later) = call.defer()?;
                let _ = defer.send(call);
                Ok(later)
            })
        });
        let shared = Session::connect_with(folder.address(), &patient()).unwrap();
        const WINDOW: usize = 1024;
        let mut posted = 0;
        let mut last = Instant::now();
        // Unserved messages give nothing back.
        while posted <= 2 * WINDOW && last.elapsed() < Duration::from_millis(300) {
            if shared.try_post(0, b"x").is_ok() {
                (posted, last) = (posted + 1, Instant::now());
            } else {
                thread::yield_now();
            }
        }
        assert!(posted <= WINDOW, "offload {offload}: {posted} messages, and more");
        gate.set(true);
        let count = Arc::clone(&served);
        let replying = thread::spawn(move || {
            for call in deferred {
                call.done().unwrap();
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        // As many again, now that they are served.
        for _ in 0..2 * WINDOW {
            shared.post(0, b"x").unwrap();
        }
        eventually("all of them are served", || {
            served.load(Ordering::Relaxed) == posted + 2 * WINDOW
        });
        drop(shared);
        stopper.stop();
        within(PATIENCE, "the end", move || serving.join().unwrap()).unwrap();
        replying.join().unwrap();
    }
}

#[test]
fn unread_flood_on_a_small_ring_stops_no_other() {
    const MESSAGES: u32 = 500;
    every_policy(|options| {
        // Nothing of the ring is kept for the others: the thread that drives takes what comes out
        // of it.
        let options = options.clone().ring_capacity(8).stream_window(MESSAGES, 1 << 40);
        let (shared, server) = pair(&options);
        let (held, holding) = mpsc::channel();
        let serving = serve(server, OwnedCall::echo, move |method, mut stream| {
            if method == 1 {
                return held.send(stream).unwrap();
            }
            while let Ok(Some(message)) = stream.receive() {
                stream.send(&message.to_vec()).unwrap();
            }
        });
        let end = Instant::now() + PATIENCE;
        let mut flood = shared.open(1).unwrap();
        let flooding = thread::spawn(move || {
            for number in 0..MESSAGES {
                flood.sender().send_until(&number.to_le_bytes(), end).unwrap();
            }
            flood
        });
        let mut other = shared.open(0).unwrap();
        let mut rounds = 0u64;
        while rounds < 100 || !flooding.is_finished() {
            let message = rounds.to_le_bytes();
            other.sender().send_until(&message, end).unwrap();
            let echoed = other.receiver().receive_until(end).unwrap().unwrap();
            assert_eq!(echoed.to_vec(), message);
            assert_eq!(shared.request(0).deadline(end).send(&message).unwrap().to_vec(), message);
            rounds += 1;
        }
        let _flood = flooding.join().unwrap();
        let mut unread = holding.recv_timeout(PATIENCE).unwrap();
        for number in 0..MESSAGES {
            let message = unread.receiver().receive_until(end).unwrap().unwrap();
            assert_eq!(message.bytes().u32_le_at(0), Some(number));
        }
        drop((other, unread, _flood, shared));
        serving.join().unwrap();
    });
}
