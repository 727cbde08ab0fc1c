//! Space that is reserved from a shared session, filled by any thread, and sent or dropped later.

use std::collections::VecDeque;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{
    CallError, Driver, ErrorCode, Incoming, Message, Next, OwnedCall, OwnedSpace, ReplyError,
    ServerOptions, ServerSession, Session, SessionListener, SessionOptions, Stream, StreamError,
    WaitPolicy,
};
use proptest::prelude::*;

use super::{PATIENCE, every_policy, pair, serve};

const LENS: [usize; 7] = [0, 40, 104, 105, 5_000, 64 << 10, 700_000];

fn content(mark: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (mark * 31 + at * 7) as u8).collect()
}

/// Fills space by another thread.
fn filled(mut space: OwnedSpace, mark: usize) -> OwnedSpace {
    let filling = thread::spawn(move || {
        let bytes = content(mark, space.len());
        if mark.is_multiple_of(2) {
            space.bytes_mut().copy_from_slice(&bytes);
        } else {
            space.write(0, &bytes);
        }
        space
    });
    filling.join().unwrap()
}

fn echo_in_space(call: OwnedCall) {
    let mut space = call.reserve(call.request().len()).unwrap();
    call.request().copy_to(space.bytes_mut());
    let _ = call.reply_space(space);
}

fn echo_stream(_: u32, mut stream: Stream) {
    while let Ok(Some(message)) = stream.receive() {
        let mut space = stream.reserve(message.len() + 10).unwrap();
        message.bytes().copy_to(&mut space.bytes_mut()[..message.len()]);
        space.truncate(message.len());
        drop(message);
        stream.send_space(space).unwrap();
    }
}

fn reset(_: u32, stream: Stream) {
    stream.reset(ErrorCode::Refused);
}

/// Runs `test` with a shared to a server on a socket.
fn on_socket(address: &str, test: impl FnOnce(Session)) {
    let mut listener =
        SessionListener::bind(address, ServerOptions::new().session(SessionOptions::new()))
            .unwrap();
    let address = listener.address();
    let serving = thread::spawn(move || {
        let (server, mut driver) = loop {
            match listener.accept().unwrap() {
                Some(session) => break session,
                None => thread::yield_now(),
            }
        };
        let handling = serve(server, echo_in_space, echo_stream);
        while driver.advance(Waker::noop()) != Next::End {
            thread::yield_now();
        }
        drop(driver);
        handling.join().unwrap();
    });
    test(Session::connect(&address).unwrap());
    serving.join().unwrap();
}

/// Replies with the same metadata and message, both from space.
fn echo_with_metadata(call: OwnedCall) {
    let metadata = call.message().metadata().unwrap_or_default().to_vec();
    let mut space = call.reserve_with_metadata(&metadata, call.request().len()).unwrap();
    call.request().copy_to(space.bytes_mut());
    let _ = call.reply_space(space);
}

/// The first message, its metadata behind it as the last.
fn finish_with_metadata(_: u32, mut stream: Stream) {
    let message = stream.receive().unwrap().expect("a message");
    let metadata = message.metadata().expect("metadata").to_vec();
    let mut space = stream.sender().reserve_with_metadata(&metadata, message.len()).unwrap();
    message.bytes().copy_to(space.bytes_mut());
    stream.sender().finish_with_space(space).unwrap();
    // Until the client has finished as well.
    assert!(stream.receive().unwrap().is_none());
}

#[test]
fn metadata_travels_with_space_in_calls_and_streams() {
    every_policy(|options| {
        let (shared, server) = pair(options);
        let serving = serve(server, echo_with_metadata, finish_with_metadata);
        for (mark, len) in LENS.into_iter().enumerate() {
            for metadata in [&b""[..], b"m", &[7; 102], &[8; 16 << 10]] {
                let space = shared.request(0).metadata(metadata).reserve(len).unwrap();
                assert_eq!(space.len(), len);
                let reply = shared.request(0).send_space(filled(space, mark)).unwrap();
                assert!(reply.to_vec() == content(mark, len), "a call of {len} bytes");
                assert_eq!(reply.metadata().unwrap_or_default(), metadata);
            }
            let mut stream = shared.open(0).unwrap();
            let metadata = content(mark, 1 + mark);
            let space = stream.sender().reserve_with_metadata(&metadata, len + 10).unwrap();
            let mut space = filled(space, mark);
            space.truncate(len);
            let expected = content(mark, len + 10)[..len].to_vec();
            // The opening entry was the first, so this is to be the last.
            stream.sender().finish_with_space(space).unwrap();
            let message = stream.receive().unwrap().expect("an answer");
            assert!(message.to_vec() == expected, "a message of {len} bytes");
            assert_eq!(message.metadata(), Some(&metadata[..]));
            assert!(stream.receive().unwrap().is_none());
        }
        drop(shared);
        serving.join().unwrap();
    });
}

#[test]
fn oversized_metadata_gets_no_space() {
    let (shared, server) = pair(&SessionOptions::new().max_metadata(100));
    let serving = serve(server, echo_with_metadata, finish_with_metadata);
    match shared.request(0).metadata(&[0; 101]).reserve(10) {
        Err(CallError::TooMuchMetadata { len: 101, limit: 100 }) => {}
        other => panic!("{other:?}"),
    }
    match shared.request(0).metadata(&[0; 100]).reserve(shared.cap()) {
        Err(CallError::TooLarge { len, .. }) => assert_eq!(len, shared.cap() + 102),
        other => panic!("{other:?}"),
    }
    // In the middle of a direction there is none; the space stays, and can be sent as the last.
    let mut stream = shared.open(0).unwrap();
    let mut space = stream.sender().reserve_with_metadata(b"meta", 5).unwrap();
    space.write(0, b"space");
    let mut cx = Context::from_waker(Waker::noop());
    let refused = stream.sender().poll_space(&mut cx, &mut space, false);
    assert!(matches!(refused, Poll::Ready(Err(StreamError::MetadataInTheMiddle))));
    assert_eq!(space.len(), 5);
    stream.sender().finish_with_space(space).unwrap();
    let message = stream.receive().unwrap().expect("an answer");
    assert_eq!((message.to_vec(), message.metadata()), (b"space".to_vec(), Some(&b"meta"[..])));
    drop((stream, shared));
    serving.join().unwrap();
}

fn calls_streams_and_replies_from_space(shared: Session) {
    let mut stream = shared.open(0).unwrap();
    for (mark, len) in LENS.into_iter().enumerate() {
        let space = filled(shared.reserve(len).unwrap(), mark);
        let reply = shared.request(0).send_space(space).unwrap();
        assert!(reply.to_vec() == content(mark, len), "a call of {len} bytes");
        drop(reply);
        let space = filled(stream.reserve(len).unwrap(), mark);
        stream.send_space(space).unwrap();
        let message = stream.receive().unwrap().expect("an echo");
        assert!(message.to_vec() == content(mark, len), "a message of {len} bytes");
    }
}

#[test]
fn calls_replies_and_messages_of_streams_are_sent_from_space() {
    every_policy(|options| {
        let (shared, server) = pair(options);
        let serving = serve(server, echo_in_space, echo_stream);
        calls_streams_and_replies_from_space(shared);
        serving.join().unwrap();
    });
    let folder = tempfile::tempdir().unwrap();
    let unix = format!("unix:{}", folder.path().join("spaces.sock").display());
    on_socket(&unix, calls_streams_and_replies_from_space);
    on_socket("tcp:127.0.0.1:0", calls_streams_and_replies_from_space);
}

#[test]
fn truncated_space_arrives_and_frees_the_rest() {
    every_policy(|options| {
        let (shared, server) = pair(&options.clone().cap(1 << 20));
        let serving = serve(server, echo_in_space, reset);
        let cap = shared.cap();
        for kept in [0, 1, 104, 105, 5_000, cap - 1, cap, cap + 1] {
            let mut space = shared.reserve(cap).unwrap();
            space.truncate(kept);
            let kept = kept.min(cap);
            assert_eq!(space.len(), kept);
            let reply = shared.request(0).send_space(filled(space, kept)).unwrap();
            assert!(reply.to_vec() == content(kept, kept), "{kept} bytes");
        }
        drop(shared);
        serving.join().unwrap();
    });
}

#[test]
fn space_that_is_dropped_is_there_for_the_next() {
    let (shared, _server) = pair(&SessionOptions::new().cap(1 << 20));
    for _ in 0..50 {
        let mut spaces = Vec::new();
        let refused = loop {
            match shared.try_reserve(100_000) {
                Ok(space) => spaces.push(space),
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, CallError::NoMemory { len: 100_000, .. }), "{refused}");
        assert_eq!(spaces.len(), 10, "what the cap has room for");
        let there = spaces.split_off(3);
        thread::spawn(move || drop(there)).join().unwrap();
    }
}

#[test]
fn memory_waiter_is_woken_by_space_dropped_elsewhere() {
    every_policy(|options| {
        let options = options.clone().cap(1 << 20).call_timeout(Some(PATIENCE));
        let (shared, server) = pair(&options);
        let serving = serve(server, OwnedCall::echo, reset);
        for round in 0..30 {
            let space = shared.reserve(shared.cap()).unwrap();
            let (waiting, waits) = mpsc::channel();
            let other = shared.clone();
            let waiter = thread::spawn(move || {
                waiting.send(()).unwrap();
                other.reserve(other.cap()).unwrap().len()
            });
            waits.recv().unwrap();
            // Some of the waiters sleep by then.
            thread::sleep(Duration::from_micros(round * 100));
            drop(space);
            assert_eq!(waiter.join().unwrap(), shared.cap());
        }
        drop(shared);
        serving.join().unwrap();
    });
}

#[test]
fn memory_waiter_is_woken_by_released_or_cut_message() {
    every_policy(|options| {
        let options = options.clone().cap(1 << 20).call_timeout(Some(PATIENCE));
        let (shared, server) = pair(&options);
        let (held, holding) = mpsc::channel();
        let serving = serve(server, move |call| held.send(call.into_message()).unwrap(), reset);
        for kept in [shared.cap(), 10] {
            let mut space = shared.reserve(shared.cap()).unwrap();
            space.truncate(kept);
            let other = shared.clone();
            let waiter = thread::spawn(move || other.reserve(other.cap()).unwrap().len());
            thread::sleep(Duration::from_millis(5));
            shared.request(0).post_space(space).unwrap();
            // A message that fits into its entry holds nothing.
            let message: Message = holding.recv_timeout(PATIENCE).unwrap();
            if kept > 104 {
                assert!(!waiter.is_finished(), "it is lent");
            }
            assert_eq!(message.len(), kept);
            drop(message);
            assert_eq!(waiter.join().unwrap(), shared.cap());
        }
        drop(shared);
        serving.join().unwrap();
    });
}

#[test]
fn a_wait_for_memory_ends_with_the_call_timeout() {
    let timeout = Some(Duration::from_millis(20));
    let (shared, _server) = pair(&SessionOptions::new().cap(1 << 20).call_timeout(timeout));
    let _all = shared.reserve(shared.cap()).unwrap();
    let refused = shared.reserve(105).unwrap_err();
    assert!(matches!(refused, CallError::DeadlinePassed), "{refused}");
    shared.reserve(104).expect("that needs none");
}

#[test]
fn another_session_refuses_the_space_and_both_go_on() {
    let options = SessionOptions::new();
    let (one, one_server) = pair(&options);
    let (other, other_server) = pair(&options);
    let elsewhere = other.clone();
    let (replied, outcomes) = mpsc::channel();
    let serving = [
        serve(one_server, OwnedCall::echo, echo_stream),
        serve(
            other_server,
            move |call| replied.send(call.reply_space(elsewhere.reserve(1_000).unwrap())).unwrap(),
            echo_stream,
        ),
    ];
    for len in [10, 1_000] {
        let refused = other.request(0).send_space(one.reserve(len).unwrap()).unwrap_err();
        assert!(matches!(refused, CallError::SpaceOfAnotherSession), "{refused}");
        assert!(refused.session_goes_on() && !refused.may_have_run());
        let refused = other.request(0).post_space(one.reserve(len).unwrap()).unwrap_err();
        assert!(matches!(refused, CallError::SpaceOfAnotherSession), "{refused}");
        let mut stream = other.open(0).unwrap();
        match stream.send_space(one.reserve(len).unwrap()) {
            Err(StreamError::Session(CallError::SpaceOfAnotherSession)) => {}
            other => panic!("{other:?}"),
        }
        stream.send(b"on").unwrap();
        assert_eq!(stream.receive().unwrap().unwrap().to_vec(), b"on");
        one.request(0).send_space(one.reserve(len).unwrap()).unwrap();
    }
    // The client's space is not the server's, although both are of one session.
    match other.call(0, b"") {
        Err(CallError::Failed { code: ErrorCode::Failed, reason, .. }) => {
            assert!(reason.contains("another session"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    let outcome = outcomes.recv().unwrap();
    assert!(matches!(outcome, Err(ReplyError::SpaceOfAnotherSession)), "{outcome:?}");
    drop((one, other));
    // The handler holds a copy of the second shared, and so goes with its server.
    drop(serving);
}

#[test]
fn space_outlives_its_session_and_is_only_dropped_then() {
    for len in [10, 5_000] {
        let (shared, server) = pair(&SessionOptions::new());
        let mut stream = shared.open(0).unwrap();
        let [first, second, third] = [0, 1, 2].map(|_| shared.reserve(len).unwrap());
        drop(server);
        while !shared.is_ended() {
            let _ = shared.call(0, b"");
        }
        match shared.request(0).send_space(filled(first, 1)) {
            Err(CallError::NotSent(_)) => {}
            other => panic!("{other:?}"),
        }
        match stream.send_space(filled(second, 2)) {
            Err(StreamError::Session(CallError::EndedBy(_))) => {}
            other => panic!("{other:?}"),
        }
        assert!(matches!(shared.reserve(len), Err(CallError::EndedBy(_))));
        drop((shared, stream));
        drop(filled(third, 3));
    }
}

#[test]
fn space_that_never_fits_is_refused_with_the_limit() {
    let too_large = |shared: &Session| {
        let cap = shared.cap();
        let refused =
            [shared.reserve(cap + 1), shared.try_reserve(usize::MAX), shared.reserve(cap * 4)];
        for (refused, expected) in refused.into_iter().zip([cap + 1, usize::MAX, cap * 4]) {
            match refused {
                Err(CallError::TooLarge { len, cap: limit }) => {
                    assert_eq!((len, limit), (expected, cap));
                }
                other => panic!("{other:?}"),
            }
        }
        shared.reserve(cap).expect("as much as it says");
    };
    let (shared, _server) = pair(&SessionOptions::new().cap(1 << 20));
    too_large(&shared);
    on_socket("tcp:127.0.0.1:0", |shared| too_large(&shared));
}

#[test]
fn space_counts_against_the_window_with_the_bytes_that_are_sent() {
    let options = SessionOptions::new().stream_window(100, 1_000);
    let (shared, server) = pair(&options);
    let mut stream = shared.open(0).unwrap();
    let Some(Incoming::Stream(_, mut served)) = server.accept().unwrap() else { panic!("a call") };
    let mut cx = Context::from_waker(Waker::noop());
    let mut sent = 0;
    let (mut space, mark) = loop {
        let mut space = stream.reserve(900).unwrap();
        space.truncate(250);
        let mut space = filled(space, sent);
        match stream.sender().poll_space(&mut cx, &mut space, false) {
            Poll::Ready(outcome) => outcome.unwrap(),
            Poll::Pending => break (space, sent),
        }
        assert_eq!((space.len(), space.bytes_mut().len()), (0, 0), "it was sent");
        sent += 1;
    };
    assert_eq!((sent, space.len()), (4, 250));
    for mark in 0..sent {
        assert!(served.receive().unwrap().unwrap().to_vec() == content(mark, 250));
    }
    // The window comes back with half of it.
    let end = Instant::now() + PATIENCE;
    while stream.sender().poll_space(&mut cx, &mut space, true).is_pending() {
        assert!(Instant::now() < end, "no window");
        // This thread has to take turns.
        let _ = stream.receiver().receive_until(Instant::now() + Duration::from_millis(1));
    }
    assert!(served.receive().unwrap().unwrap().to_vec() == content(mark, 250));
    assert!(served.receive().unwrap().is_none(), "it was the last");
}

#[test]
fn a_stream_that_reserves_all_it_may_stops_no_other() {
    let (shared, server) = pair(&SessionOptions::new().cap(1 << 20).max_streams(8));
    let serving = serve(server, OwnedCall::echo, |_, mut stream| {
        while let Ok(Some(message)) = stream.receive() {
            stream.send(&message.to_vec()).unwrap();
        }
    });
    let mut greedy = shared.open(0).unwrap();
    let mut spaces = Vec::new();
    let refused = loop {
        match greedy.sender().try_reserve(10_000) {
            Ok(space) => spaces.push(space),
            Err(error) => break error,
        }
    };
    assert!(refused.to_string().contains("kept for"), "{refused}");
    // A quarter of the cap is kept beside it for the streams of both sides.
    let share = (1 << 20) / 4 / 16;
    let mut others: Vec<_> = (0..4).map(|_| shared.open(0).unwrap()).collect();
    for (mark, other) in others.iter_mut().enumerate() {
        let space = filled(other.reserve(share).unwrap(), mark);
        other.send_space(space).unwrap();
        assert!(other.receive().unwrap().unwrap().to_vec() == content(mark, share));
    }
    // Space that one stream reserves may be sent by another.
    let space = filled(spaces.pop().unwrap(), 9);
    others[0].send_space(space).unwrap();
    assert!(others[0].receive().unwrap().unwrap().to_vec() == content(9, 10_000));
    drop((greedy, others, spaces, shared));
    serving.join().unwrap();
}

#[test]
fn second_send_of_space_panics_and_session_survives() {
    let (shared, server) = pair(&SessionOptions::new());
    let serving = serve(server, OwnedCall::echo, reset);
    let mut cx = Context::from_waker(Waker::noop());
    for len in [10, 1_000] {
        let mut space = shared.reserve(len).unwrap();
        assert!(shared.poll_post_space(&mut cx, 0, &mut space).is_ready());
        let twice =
            catch_unwind(AssertUnwindSafe(|| shared.poll_post_space(&mut cx, 0, &mut space)));
        assert!(twice.is_err());
        assert_eq!(shared.call(0, b"on").unwrap().to_vec(), b"on");
    }
    drop(shared);
    serving.join().unwrap();
}

/// Returns both ends, driven by the test alone.
fn driven(options: &SessionOptions) -> ((Session, Driver), (ServerSession, Driver)) {
    let (one, other) = UnixStream::pair().unwrap();
    let options = options.clone().handshake_timeout(PATIENCE);
    let server_options = options.clone();
    let server =
        thread::spawn(move || ServerSession::from_socket_driven(other.into(), &server_options));
    let client = Session::from_socket_driven(one.into(), &options).unwrap();
    (client, server.join().unwrap().unwrap())
}

/// Notes that it was woken.
#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns true if the driver soon has nothing to do, while `poll` runs before each of its turns.
fn sleeps_while(driver: &mut Driver, mut poll: impl FnMut()) -> bool {
    (0..10).any(|_| {
        poll();
        matches!(driver.next(Waker::noop()), Next::Sleep { .. })
    })
}

#[test]
fn returned_space_without_waiter_lets_driver_sleep() {
    let ((shared, mut driver), _server) = driven(&SessionOptions::new().ring_capacity(8));
    let space = shared.reserve(5_000).unwrap();
    let mut cx = Context::from_waker(Waker::noop());
    while shared.poll_post(&mut cx, 0, None, b"x").is_ready() {}
    drop(space);
    let sleeps = sleeps_while(&mut driver, || {
        // It waits for slots, of which none has come.
        assert!(shared.poll_post(&mut cx, 0, None, b"x").is_pending());
    });
    assert!(sleeps, "it finds room again and again");
}

#[test]
fn space_returned_during_a_turn_wakes_its_waiter() {
    let options = SessionOptions::new().cap(1 << 20).wait(WaitPolicy::Busy);
    let ((shared, mut driver), _server) = driven(&options);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                driver.turn();
            }
        });
        let lost = (0..3_000).find(|round| {
            let space = shared.reserve(shared.cap()).unwrap();
            let flag = Arc::new(Flag::default());
            let waker = Waker::from(Arc::clone(&flag));
            let mut cx = Context::from_waker(&waker);
            assert!(shared.poll_reserve(&mut cx, &[], shared.cap()).is_pending());
            // At any place of a turn.
            (0..round % 500).for_each(|_| std::hint::spin_loop());
            let start = Instant::now();
            drop(space);
            while !flag.0.load(Ordering::Relaxed) {
                if start.elapsed() > PATIENCE {
                    return true;
                }
                std::hint::spin_loop();
            }
            false
        });
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(lost, None, "nobody woke the waiter of this round");
    });
}

#[test]
fn truncation_wakes_memory_waiter_without_the_peer() {
    for kept in [10, 5_000] {
        let ((shared, mut driver), _server) = driven(&SessionOptions::new().cap(1 << 20));
        let mut space = shared.reserve(shared.cap()).unwrap();
        let flag = Arc::new(Flag::default());
        let waker = Waker::from(Arc::clone(&flag));
        let mut cx = Context::from_waker(&waker);
        assert!(shared.poll_reserve(&mut cx, &[], 100_000).is_pending());
        assert!(sleeps_while(&mut driver, || {
            assert!(shared.poll_reserve(&mut cx, &[], 100_000).is_pending());
        }));
        flag.0.store(false, Ordering::Relaxed);
        space.truncate(kept);
        shared.request(0).post_space(space).unwrap();
        assert!(flag.0.load(Ordering::Relaxed), "{kept} bytes were kept");
        assert!(matches!(shared.poll_reserve(&mut cx, &[], 100_000), Poll::Ready(Ok(_))));
    }
}

#[test]
fn space_that_finds_no_slot_waits_as_it_is() {
    let ((shared, _driver), (server, mut server_driver)) =
        driven(&SessionOptions::new().ring_capacity(8));
    let mut cx = Context::from_waker(Waker::noop());
    let mut spaces: Vec<_> =
        [50, 2_000].iter().map(|&len| filled(shared.reserve(len).unwrap(), len)).collect();
    while shared.poll_post(&mut cx, 0, None, b"x").is_ready() {}
    for space in &mut spaces {
        assert!(shared.poll_post_space(&mut cx, 0, space).is_pending());
    }
    server_driver.turn();
    let waiting = std::iter::from_fn(|| server.try_accept()).count();
    assert!(waiting > 0);
    for space in &mut spaces {
        assert!(matches!(shared.poll_post_space(&mut cx, 0, space), Poll::Ready(Ok(()))));
    }
    server_driver.turn();
    for len in [50, 2_000] {
        let Some(Incoming::Call(call)) = server.try_accept() else { panic!("no message") };
        assert!(call.request().to_vec() == content(len, len));
    }
}

/// The next step; indices are taken modulo the number of things.
#[derive(Clone, Debug)]
enum Step {
    /// Reserve, for a stream or the session, fill and cut.
    Reserve {
        by: usize,
        len: usize,
        kept: usize,
    },
    /// Send a space on a stream.
    Send {
        stream: usize,
        space: usize,
    },
    Drop(usize),
    /// The peer takes a message and keeps it.
    Receive(usize),
    /// The peer lets go of a message.
    Release(usize),
    /// Both sides take a turn.
    Turn,
}

fn step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![0usize..300, 0usize..120_000];
    let any_index = any::<usize>;
    prop_oneof![
        3 => (any_index(), len, prop_oneof![Just(usize::MAX), 0usize..10_000])
            .prop_map(|(by, len, kept)| Step::Reserve { by, len, kept }),
        3 => (any_index(), any_index()).prop_map(|(stream, space)| Step::Send { stream, space }),
        1 => any_index().prop_map(Step::Drop),
        2 => any_index().prop_map(Step::Receive),
        2 => any_index().prop_map(Step::Release),
        3 => Just(Step::Turn),
    ]
}

const STREAMS: usize = 3;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn streams_carry_spaces_and_all_memory_returns(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let options = SessionOptions::new().cap(1 << 20).max_streams(8).stream_window(4, 200_000);
        let ((shared, mut driver), (server, mut server_driver)) = driven(&options);
        let mut cx = Context::from_waker(Waker::noop());
        let mut streams: Vec<Stream> =
            (0..STREAMS).map(|_| shared.open(0).unwrap()).collect();
        server_driver.turn();
        let mut served: Vec<Stream> = (0..STREAMS)
            .map(|_| match server.try_accept() {
                Some(Incoming::Stream(_, stream)) => stream,
                _ => panic!("no stream"),
            })
            .collect();
        // The model: the messages in flight on each stream, by mark and length.
        let mut under_way: [VecDeque<(usize, usize)>; STREAMS] = Default::default();
        let mut spaces: Vec<(OwnedSpace, usize)> = Vec::new();
        let mut held: Vec<(Message, usize, usize)> = Vec::new();
        for (mark, step) in steps.into_iter().enumerate() {
            match step {
                Step::Reserve { by, len, kept } => {
                    let reserved = match streams.get_mut(by % (STREAMS + 1)) {
                        Some(stream) => stream.sender().try_reserve(len),
                        None => shared.try_reserve(len),
                    };
                    if let Ok(mut space) = reserved {
                        space.truncate(kept);
                        let len = space.len();
                        space.bytes_mut().copy_from_slice(&content(mark, len));
                        spaces.push((space, mark));
                    }
                }
                Step::Send { stream, space } if !spaces.is_empty() => {
                    let (index, stream) = (space % spaces.len(), stream % STREAMS);
                    let (space, mark) = &mut spaces[index];
                    let (mark, len) = (*mark, space.len());
                    match streams[stream].sender().poll_space(&mut cx, space, false) {
                        Poll::Ready(sent) => {
                            sent.unwrap();
                            under_way[stream].push_back((mark, len));
                            spaces.swap_remove(index);
                        }
                        Poll::Pending => prop_assert_eq!(space.len(), len),
                    }
                }
                Step::Drop(index) if !spaces.is_empty() => {
                    spaces.swap_remove(index % spaces.len());
                }
                Step::Receive(stream) => {
                    let stream = stream % STREAMS;
                    if let Poll::Ready(message) = served[stream].receiver().poll_receive(&mut cx) {
                        let message = message.unwrap().expect("no end");
                        let (mark, len) = under_way[stream].pop_front().expect("it was sent");
                        held.push((message, mark, len));
                    }
                }
                Step::Release(index) if !held.is_empty() => {
                    held.swap_remove(index % held.len());
                }
                _ => {
                    driver.turn();
                    server_driver.turn();
                }
            }
            for (space, mark) in &mut spaces {
                let len = space.len();
                prop_assert!(space.bytes_mut() == &content(*mark, len)[..], "space {}", mark);
            }
            for (message, mark, len) in &held {
                prop_assert!(message.to_vec() == content(*mark, *len), "message {}", mark);
            }
        }
        while server_driver.turn() {}
        for (stream, under_way) in served.iter_mut().zip(under_way) {
            for (mark, len) in under_way {
                let Poll::Ready(message) = stream.receiver().poll_receive(&mut cx) else {
                    panic!("message {mark} is lost")
                };
                prop_assert!(message.unwrap().unwrap().to_vec() == content(mark, len));
            }
        }
        drop((spaces, held));
        server_driver.turn();
        driver.turn();
        prop_assert!(shared.try_reserve(shared.cap()).is_ok(), "all of it is free");
    }
}
