//! Many callers on one session.

use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{
    Address, Call, CallError, ErrorCode, Incoming, OwnedCall, Server, Session, SessionOptions,
    describe,
};

use super::{PATIENCE, every_policy, pair, serve};

fn refuse_streams(_: u32, stream: breezeway::Stream) {
    stream.reset(ErrorCode::Refused);
}

#[test]
fn each_of_many_threads_gets_the_replies_to_its_own_calls() {
    every_policy(|options| {
        let (shared, server) = pair(options);
        let serving = serve(server, OwnedCall::echo, refuse_streams);
        let callers: Vec<_> = (0..8u64)
            .map(|caller| {
                let shared = shared.clone();
                thread::spawn(move || {
                    for number in 0..200u64 {
                        let len = [8, 40, 104, 105, 5_000][number as usize % 5];
                        let request: Vec<u8> =
                            (caller << 32 | number).to_le_bytes().repeat(len).split_off(7 * len);
                        let reply = shared.call(0, &request).unwrap();
                        assert_eq!(reply.to_vec(), request, "caller {caller}, call {number}");
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.join().unwrap();
        }
        drop(shared);
        serving.join().unwrap();
    });
}

#[test]
fn more_callers_than_calls_in_flight_wait_for_each_other() {
    every_policy(|options| {
        let (shared, server) = pair(&options.clone().ring_capacity(8));
        assert_eq!(shared.max_in_flight(), 4);
        let serving = serve(server, OwnedCall::echo, refuse_streams);
        let callers: Vec<_> = (0..16u8)
            .map(|caller| {
                let shared = shared.clone();
                thread::spawn(move || {
                    for _ in 0..50 {
                        assert_eq!(shared.call(0, &[caller]).unwrap().to_vec(), [caller]);
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.join().unwrap();
        }
        drop(shared);
        serving.join().unwrap();
    });
}

#[test]
fn replies_come_in_any_order_from_any_thread() {
    let (shared, server) = pair(&SessionOptions::new());
    let serving = thread::spawn(move || {
        let mut calls = Vec::new();
        while let Some(incoming) = server.accept().unwrap() {
            let Incoming::Call(call) = incoming else { panic!("a stream") };
            calls.push(call);
            if calls.len() == 3 {
                for call in calls.drain(..).rev() {
                    thread::spawn(move || call.echo()).join().unwrap().unwrap();
                }
            }
        }
    });
    let callers: Vec<_> = (0..3u8)
        .map(|caller| {
            let shared = shared.clone();
            thread::spawn(move || shared.call(0, &[caller]).unwrap().to_vec())
        })
        .collect();
    for (caller, thread) in callers.into_iter().enumerate() {
        assert_eq!(thread.join().unwrap(), [caller as u8]);
    }
    drop(shared);
    serving.join().unwrap();
}

#[test]
fn abandoned_call_is_cancelled_and_late_reply_dropped() {
    every_policy(|options| {
        let (shared, server) = pair(options);
        let (held, holding) = mpsc::channel();
        let serving = thread::spawn(move || {
            while let Some(Incoming::Call(call)) = server.accept().unwrap() {
                if call.method() == 1 { held.send(call).unwrap() } else { drop(call.echo()) }
            }
        });
        let soon = Instant::now() + Duration::from_millis(20);
        let error = shared.request(1).deadline(soon).send(b"slow").unwrap_err();
        assert!(matches!(error, CallError::DeadlinePassed), "{error}");
        let call = holding.recv_timeout(PATIENCE).unwrap();
        let end = Instant::now() + PATIENCE;
        while !call.is_cancelled() {
            assert!(Instant::now() < end, "the cancellation does not come");
            thread::yield_now();
        }
        let _ = call.reply(b"late");
        assert_eq!(shared.call(0, b"next").unwrap().to_vec(), b"next");
        drop(shared);
        serving.join().unwrap();
    });
}

#[test]
fn a_handler_fails_a_call_with_a_code_of_its_own() {
    let (shared, server) = pair(&SessionOptions::new());
    let serving = serve(
        server,
        |call| call.fail(ErrorCode::Application(404), "no such user"),
        refuse_streams,
    );
    match shared.call(0, b"") {
        Err(CallError::Failed { code: ErrorCode::Application(404), reason, .. }) => {
            assert_eq!(reason, "no such user");
        }
        other => panic!("{other:?}"),
    }
    drop(shared);
    serving.join().unwrap();
}

#[test]
fn a_call_that_is_dropped_without_a_reply_fails() {
    let (shared, server) = pair(&SessionOptions::new());
    let serving = serve(server, drop, refuse_streams);
    match shared.call(0, b"") {
        Err(CallError::Failed { code: ErrorCode::Failed, reason, .. }) => {
            assert_eq!(reason, "the server dropped the call without a reply");
        }
        other => panic!("{other:?}"),
    }
    drop(shared);
    serving.join().unwrap();
}

#[test]
fn every_caller_gets_the_sessions_end() {
    let (shared, server) = pair(&SessionOptions::new());
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let shared = shared.clone();
            thread::spawn(move || describe(&shared.call(0, b"never served").unwrap_err()))
        })
        .collect();
    let taken: Vec<_> = (0..4).map(|_| server.accept().unwrap()).collect();
    drop(server);
    // Held calls do not keep a session open.
    for caller in callers {
        assert_eq!(caller.join().unwrap(), "the server closed the session");
    }
    drop(taken);
    assert!(shared.is_ended());
}

#[test]
fn metadata_travels_beside_requests_and_replies() {
    let (shared, server) = pair(&SessionOptions::new());
    let serving = serve(
        server,
        |call| {
            let metadata = call.message().metadata().unwrap_or_default().to_vec();
            let request = call.request().to_vec();
            let _ = call.reply_with_metadata(&request, &metadata);
        },
        refuse_streams,
    );
    for (metadata, request) in
        [(0, 0), (1, 0), (0, 1), (10, 20), (102, 0), (103, 0), (50, 300), (16 * 1024, 100_000)]
    {
        // The reply's metadata must fit as well.
        let (metadata, request) = (vec![1u8; metadata], vec![2u8; request.min(16 * 1024)]);
        let reply = shared.request(0).metadata(&metadata).send(&request).unwrap();
        // An empty block is none.
        let expected = Some(&request[..]).filter(|block| !block.is_empty());
        assert_eq!(reply.metadata(), expected);
        assert_eq!(reply.to_vec(), metadata);
    }
    match shared.request(0).metadata(&[0; 16 * 1024 + 1]).send(b"") {
        Err(CallError::TooMuchMetadata { len: 16_385, limit: 16_384 }) => {}
        other => panic!("{other:?}"),
    }
    drop(shared);
    serving.join().unwrap();
}

#[test]
fn one_way_messages_need_no_reply_and_wait_for_room() {
    every_policy(|options| {
        let (shared, server) = pair(&options.clone().ring_capacity(8));
        let (count, counted) = mpsc::channel();
        let serving = serve(
            server,
            move |call| {
                assert!(call.is_one_way());
                count.send(call.request().u64_le_at(0).unwrap()).unwrap();
            },
            refuse_streams,
        );
        for number in 0..1_000u64 {
            shared.post(0, &number.to_le_bytes()).unwrap();
        }
        for number in 0..1_000 {
            assert_eq!(counted.recv_timeout(PATIENCE).unwrap(), number);
        }
        drop(shared);
        serving.join().unwrap();
    });
}

#[test]
fn handler_sees_its_callers_time_left() {
    let timeout = Duration::from_secs(7);
    let (shared, server) = pair(&SessionOptions::new().call_timeout(Some(timeout)));
    let (seen, sees) = mpsc::channel();
    let serving = thread::spawn(move || {
        while let Some(incoming) = server.accept().unwrap() {
            match incoming {
                Incoming::Call(call) => {
                    seen.send(call.time_left()).unwrap();
                    let _ = call.echo();
                }
                Incoming::Stream(_, stream) => seen.send(stream.time_left()).unwrap(),
            }
        }
    });
    let within = |longest: Duration| {
        let left: Option<Duration> = sees.recv_timeout(PATIENCE).unwrap();
        let left = left.expect("a time");
        assert!(left > Duration::ZERO && left <= longest + longest / 1_000, "{left:?}");
    };
    shared.call(0, b"").unwrap();
    within(timeout);
    let hour = Duration::from_secs(3_600);
    shared.request(0).deadline(Instant::now() + hour).send(b"").unwrap();
    within(hour);
    shared.request(0).timeout(hour).open().unwrap();
    within(hour);
    shared.open(0).unwrap();
    assert_eq!(sees.recv_timeout(PATIENCE).unwrap(), None);
    drop(shared);
    serving.join().unwrap();
}

#[test]
fn a_call_whose_time_is_over_is_cancelled_for_its_handler() {
    let timeout = Some(Duration::from_millis(5));
    let (shared, server) = pair(&SessionOptions::new().call_timeout(timeout));
    let mut cx = Context::from_waker(Waker::noop());
    // No task waits for the reply, so none gives the call up.
    let Poll::Ready(Ok(call)) = shared.poll_start_call(&mut cx, 0, None, b"", timeout) else {
        panic!("there is room")
    };
    let Some(Incoming::Call(served)) = server.accept().unwrap() else { panic!("no call") };
    let end = Instant::now() + PATIENCE;
    while !served.is_cancelled() {
        assert!(Instant::now() < end, "the time is not over");
        thread::yield_now();
    }
    assert_eq!(served.time_left(), Some(Duration::ZERO));
    drop(call);
}

#[test]
fn posts_before_a_channel_is_dropped_arrive_on_a_socket() {
    const LEN: usize = 1 << 20;
    let folder = tempfile::tempdir().unwrap();
    let address: Address =
        format!("unix:{}", folder.path().join("posts.sock").display()).parse().unwrap();
    let server = Server::bind(&address).unwrap();
    let stopper = server.stopper();
    let (count, counted) = mpsc::channel();
    let serving = thread::spawn(move || {
        server.serve(move |call: Call<'_>| {
            count.send(call.request().len())?;
            call.done()
        })
    });
    let shared = Session::connect(&address).unwrap();
    // Far more than the socket holds, without waiting for room.
    let mut cx = Context::from_waker(Waker::noop());
    let mut posted = 0;
    while let Poll::Ready(outcome) = shared.poll_post(&mut cx, 0, None, &[7; LEN]) {
        outcome.unwrap();
        posted += 1;
    }
    drop(shared);
    for _ in 0..posted {
        assert_eq!(counted.recv_timeout(PATIENCE).unwrap(), LEN);
    }
    stopper.stop();
    serving.join().unwrap().unwrap();
}

#[test]
fn reply_beyond_all_memory_fails_with_no_memory() {
    let (shared, server) = pair(&SessionOptions::new().cap(1 << 20));
    let serving = thread::spawn(move || server.serve(|call| call.reply(vec![7; 2 << 20])));
    let error = shared.call(0, b"").map(drop).unwrap_err();
    let is_right = matches!(error, CallError::Failed { code: ErrorCode::NoMemory, .. });
    assert!(is_right, "{error:?}");
    drop(shared);
    serving.join().unwrap().unwrap();
}
