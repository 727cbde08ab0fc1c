//! Streams: order, ends, resets, back-pressure.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{
    ErrorCode, Incoming, OwnedCall, SessionOptions, Stream, StreamError, TrySendError, WaitPolicy,
};
use breezeway_shm::statistics::WaitsFor;

use super::{PATIENCE, every_policy, pair, serve};
use crate::support::eventually;

/// Sends back what comes, until the client ends the stream or lets go of it.
fn echo(_: u32, mut stream: Stream) {
    match echo_all(&mut stream) {
        Ok(()) | Err(StreamError::Reset(ErrorCode::Cancelled)) => {}
        Err(error) => panic!("{error}"),
    }
}

fn echo_all(stream: &mut Stream) -> Result<(), StreamError> {
    while let Some(message) = stream.receive()? {
        stream.send(&message.to_vec())?;
    }
    stream.finish()
}

#[test]
fn messages_keep_their_order_and_their_boundaries() {
    every_policy(|options| {
        let (session, server) = pair(options);
        let serving = serve(server, OwnedCall::echo, echo);
        let (mut send, mut receive) = session.open(3).unwrap().split();
        let lens = [0, 1, 40, 41, 104, 105, 4_096, 300_000, 0, 7];
        let sender = thread::spawn(move || {
            for (index, len) in lens.into_iter().cycle().take(300).enumerate() {
                send.send(&vec![index as u8; len]).unwrap();
            }
            send.finish().unwrap();
        });
        for (index, len) in lens.into_iter().cycle().take(300).enumerate() {
            let message = receive.receive().unwrap().expect("more is to come");
            assert_eq!(message.to_vec(), vec![index as u8; len], "message {index}");
        }
        assert!(receive.receive().unwrap().is_none());
        sender.join().unwrap();
        drop((receive, session));
        serving.join().unwrap();
    });
}

#[test]
fn many_streams_of_one_session_go_on_at_the_same_time() {
    every_policy(|options| {
        let (session, server) = pair(options);
        let serving = serve(server, OwnedCall::echo, echo);
        let threads: Vec<_> = (0..20u32)
            .map(|number| {
                let session = session.clone();
                thread::spawn(move || {
                    let mut stream = session.open(0).unwrap();
                    for round in 0..100u32 {
                        let message = [number.to_le_bytes(), round.to_le_bytes()].concat();
                        stream.send(&message).unwrap();
                        assert_eq!(stream.receive().unwrap().unwrap().to_vec(), message);
                    }
                    stream.finish().unwrap();
                    assert!(stream.receive().unwrap().is_none());
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        drop(session);
        serving.join().unwrap();
    });
}

#[test]
fn unread_stream_stops_only_itself() {
    every_policy(|options| {
        let options = options.clone().stream_window(4, 1_000);
        let (session, server) = pair(&options);
        let (held, holding) = mpsc::channel();
        let serving = serve(server, OwnedCall::echo, move |method, stream| {
            if method == 1 { held.send(stream).unwrap() } else { echo(method, stream) }
        });
        let mut stuck = session.open(1).unwrap();
        let soon = Instant::now() + Duration::from_millis(50);
        let mut sent = 0u8;
        let refused = loop {
            match stuck.sender().send_until(&[sent], soon) {
                Ok(()) => sent += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, StreamError::DeadlinePassed(None)), "{refused}");
        assert_eq!(sent, 4, "as many as its window takes");
        let mut other = session.open(0).unwrap();
        for number in 0..30 {
            other.send(&[number]).unwrap();
            assert_eq!(other.receive().unwrap().unwrap().to_vec(), [number]);
            assert_eq!(session.call(0, &[number]).unwrap().to_vec(), [number]);
        }
        let mut reader = holding.recv_timeout(PATIENCE).unwrap();
        // The opening came without a message.
        for number in 0..sent {
            assert_eq!(reader.receive().unwrap().unwrap().to_vec(), [number]);
        }
        stuck.send(&[99]).unwrap();
        assert_eq!(reader.receive().unwrap().unwrap().to_vec(), [99]);
        drop((reader, stuck, other, session));
        serving.join().unwrap();
    });
}

#[test]
fn try_send_and_try_receive_do_not_wait() {
    every_policy(|options| {
        let (session, server) = pair(&options.clone().stream_window(4, 1_000));
        let (held, holding) = mpsc::channel();
        let serving = serve(server, OwnedCall::echo, move |_, stream| held.send(stream).unwrap());
        let mut one = session.open(0).unwrap();
        let mut other = holding.recv_timeout(PATIENCE).unwrap();
        assert!(other.receiver().try_receive().is_pending(), "nothing was sent");
        let sent = (0..100).take_while(|&number| one.sender().try_send(&[number]).is_ok()).count();
        assert_eq!(sent, 4, "as many as the window takes");
        let Err(TrySendError::Full(message)) = one.sender().try_send(vec![99]) else {
            panic!("sent")
        };
        assert_eq!(message, [99], "and nothing was sent");
        for number in 0..4 {
            assert_eq!(next(&mut other).unwrap().unwrap().to_vec(), [number]);
        }
        assert!(other.receiver().try_receive().is_pending(), "what found no room was not sent");
        eventually("the window is given back", || one.sender().try_send(&[4]).is_ok());
        assert_eq!(next(&mut other).unwrap().unwrap().to_vec(), [4]);
        one.finish().unwrap();
        assert!(matches!(
            one.sender().try_send(&[5]),
            Err(TrySendError::Failed(StreamError::Finished))
        ));
        assert!(next(&mut other).unwrap().is_none(), "the end");
        other.reset(ErrorCode::Application(3));
        let Err(StreamError::Reset(code)) = next(&mut one) else { panic!("no reset") };
        assert_eq!(code, ErrorCode::Application(3));
        drop((one, session));
        serving.join().unwrap();
    });
}

/// Returns the next message, by repeated tries.
fn next(stream: &mut Stream) -> Result<Option<breezeway::Message>, StreamError> {
    let start = Instant::now();
    loop {
        match stream.receiver().try_receive() {
            Poll::Ready(received) => return received,
            Poll::Pending => assert!(start.elapsed() < PATIENCE, "nothing comes"),
        }
        thread::yield_now();
    }
}

#[test]
fn try_send_on_ended_session_fails() {
    let (session, server) = pair(&SessionOptions::new());
    let mut stream = session.open(0).unwrap();
    drop(server);
    let Err(error) = next(&mut stream) else { panic!("something was received") };
    assert!(matches!(error, StreamError::Session(_)), "{error}");
    let error = stream.sender().try_send(b"x").unwrap_err();
    assert!(matches!(error, TrySendError::Failed(StreamError::Session(_))), "{error}");
}

#[test]
fn a_reset_is_seen_by_the_other_side_with_its_code() {
    let (session, server) = pair(&SessionOptions::new());
    let (seen, sees) = mpsc::channel();
    let serving = serve(server, OwnedCall::echo, move |_, mut stream| {
        seen.send(stream.receive().map(|message| message.is_some())).unwrap();
    });
    session.open(0).unwrap().reset(ErrorCode::Application(9));
    match sees.recv_timeout(PATIENCE).unwrap() {
        Err(StreamError::Reset(ErrorCode::Application(9))) => {}
        other => panic!("{other:?}"),
    }
    // Dropped, and not finished.
    drop(session.open(0).unwrap());
    match sees.recv_timeout(PATIENCE).unwrap() {
        Err(StreamError::Reset(ErrorCode::Cancelled)) => {}
        other => panic!("{other:?}"),
    }
    drop(session);
    serving.join().unwrap();
}

#[test]
fn refused_stream_is_reset_as_refused() {
    let (session, server) = pair(&SessionOptions::new());
    let serving = thread::spawn(move || server.serve(OwnedCall::echo));
    let mut stream = session.open(0).unwrap();
    match stream.receive() {
        Err(StreamError::Reset(ErrorCode::Refused)) => {}
        other => panic!("{other:?}"),
    }
    drop((stream, session));
    serving.join().unwrap().unwrap();
}

#[test]
fn a_server_opens_streams_to_its_client() {
    every_policy(|options| {
        let (session, server) = pair(options);
        let serving = thread::spawn(move || {
            let mut stream = server.request(5).metadata(b"news").open().unwrap();
            for number in 0..100u8 {
                stream.send(&[number]).unwrap();
            }
            stream.finish().unwrap();
            assert!(stream.receive().unwrap().is_none());
        });
        let (method, mut stream) = session.accept().unwrap();
        assert_eq!(method, 5);
        let opening = stream.receive().unwrap().unwrap();
        assert_eq!((opening.metadata(), opening.is_message()), (Some(&b"news"[..]), false));
        for number in 0..100u8 {
            assert_eq!(stream.receive().unwrap().unwrap().to_vec(), [number]);
        }
        assert!(stream.receive().unwrap().is_none());
        stream.finish().unwrap();
        serving.join().unwrap();
    });
}

#[test]
fn headers_and_trailers_come_with_and_without_messages() {
    let (session, server) = pair(&SessionOptions::new());
    let serving = serve(server, OwnedCall::echo, |_, mut stream| {
        let opening = stream.receive().unwrap().unwrap();
        assert_eq!((opening.metadata(), opening.is_message()), (Some(&b"head"[..]), false));
        let last = stream.receive().unwrap().unwrap();
        assert_eq!((last.metadata(), last.to_vec()), (Some(&b"tail"[..]), b"".to_vec()));
        assert!(last.is_message(), "a message of 0 bytes is one");
        assert!(stream.receive().unwrap().is_none());
        let sender = stream.sender();
        sender.send_metadata(b"answer", Some(b"first")).unwrap();
        let error = sender.send_metadata(b"again", None).unwrap_err();
        assert!(matches!(error, StreamError::MetadataInTheMiddle), "{error}");
        sender.finish_with(None, Some(b"status")).unwrap();
        assert!(matches!(sender.send(b"more"), Err(StreamError::Finished)));
    });
    let mut stream = session.request(0).metadata(b"head").open().unwrap();
    stream.sender().finish_with(Some(b""), Some(b"tail")).unwrap();
    let first = stream.receive().unwrap().unwrap();
    assert_eq!((first.metadata(), first.to_vec()), (Some(&b"answer"[..]), b"first".to_vec()));
    let status = stream.receive().unwrap().unwrap();
    assert_eq!((status.metadata(), status.is_message()), (Some(&b"status"[..]), false));
    assert!(stream.receive().unwrap().is_none());
    drop((stream, session));
    serving.join().unwrap();
}

#[test]
fn open_streams_stop_at_max_streams() {
    let (session, server) = pair(&SessionOptions::new().max_streams(3));
    let serving = serve(server, OwnedCall::echo, echo);
    let mut streams: Vec<_> = (0..3).map(|_| session.open(0).unwrap()).collect();
    assert!(matches!(session.open(0), Err(StreamError::TooMany(3))));
    let mut first = streams.remove(0);
    first.finish().unwrap();
    assert!(first.receive().unwrap().is_none());
    streams.push(session.open(0).unwrap());
    drop((first, streams, session));
    serving.join().unwrap();
}

#[test]
fn streams_learn_of_the_end_of_the_session() {
    let (session, server) = pair(&SessionOptions::new());
    let mut stream = session.open(0).unwrap();
    let Some(Incoming::Stream(0, mut served)) = server.accept().unwrap() else { panic!("a call") };
    served.send(b"last words").unwrap();
    drop(server);
    // The message from before is still received.
    assert_eq!(stream.receive().unwrap().unwrap().to_vec(), b"last words");
    assert!(matches!(stream.receive(), Err(StreamError::Session(_))));
    assert!(matches!(served.send(b"more"), Err(StreamError::Session(_))));
}

#[test]
fn one_stream_that_keeps_all_it_may_stops_no_other() {
    every_policy(|options| {
        // A share of 64 KiB / 4 / 8 = 2 KiB.
        let options = options.clone().cap(64 << 10).max_streams(4).stream_window(1_000, 1 << 30);
        let (session, server) = pair(&options);
        let (held, holding) = mpsc::channel();
        let serving = serve(server, OwnedCall::echo, move |method, mut stream| {
            if method == 1 {
                // Keeps every message, and replies with their number at the end.
                let mut kept = Vec::new();
                while let Ok(Some(message)) = stream.receive() {
                    kept.push(message);
                    held.send(kept.len()).unwrap();
                }
            } else {
                echo(method, stream);
            }
        });
        let mut hog = session.open(1).unwrap();
        let mut sent = 0;
        let soon = || Instant::now() + Duration::from_millis(50);
        let refused = loop {
            match hog.sender().send_until(&[0; 2_048], soon()) {
                Ok(()) => sent += 1,
                Err(error) => break error.to_string(),
            }
        };
        assert!(sent >= 16, "{sent} messages of 2 KiB fit into 48 KiB, fragments aside");
        for part in ["deadline passed", "a quarter of the cap divided by max_streams", "raise the"]
        {
            assert!(refused.contains(part), "{refused}");
        }
        for _ in 0..sent {
            holding.recv_timeout(PATIENCE).unwrap();
        }
        let mut others: Vec<_> = (0..3).map(|_| session.open(0).unwrap()).collect();
        for round in 0..20u8 {
            for stream in &mut others {
                for len in [8, 104, 2_048] {
                    let message = vec![round; len];
                    stream.sender().send_until(&message, Instant::now() + PATIENCE).unwrap();
                    let reply = stream.receiver().receive_until(Instant::now() + PATIENCE);
                    assert_eq!(reply.unwrap().unwrap().to_vec(), message);
                }
            }
        }
        // Small calls go on as well.
        assert_eq!(session.call(0, &[7; 104]).unwrap().to_vec(), [7; 104]);
        drop((others, hog, session));
        serving.join().unwrap();
    });
}

/// Sends until nothing more fits, and only once the peer has done the same reads, and sends
/// as much again.
fn flood(stream: Stream, full: &Barrier) {
    const MORE: u32 = 100;
    let message = |number: u32| number.to_le_bytes().repeat(500);
    let (mut send, mut receive) = stream.split();
    let mut sent = 0;
    let soon = || Instant::now() + Duration::from_millis(50);
    while send.send_until(&message(sent), soon()).is_ok() {
        sent += 1;
    }
    full.wait();
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in sent..sent + MORE {
                send.send_until(&message(number), Instant::now() + PATIENCE).unwrap();
            }
            send.finish().unwrap();
        });
        let mut received = 0;
        while let Some(next) = receive.receive_until(Instant::now() + PATIENCE).unwrap() {
            assert_eq!(next.to_vec(), message(received));
            received += 1;
        }
        assert!(received > MORE, "{received} messages");
    });
}

/// A waker that sends to a session.
struct Told(mpsc::Sender<()>);

impl Wake for Told {
    fn wake(self: Arc<Self>) {
        // The test may be over.
        let _ = self.0.send(());
    }
}

#[test]
fn failed_send_does_not_hide_release_from_sleeper() {
    for policy in [WaitPolicy::Park, WaitPolicy::Adaptive] {
        let options = SessionOptions::new().wait(policy).cap(32 << 10);
        let (session, server) = pair(&options.stream_window(10_000, 1 << 30));
        let (mut send, mut receive) = session.open(0).unwrap().split();
        let leading = thread::spawn(move || receive.receive_until(Instant::now() + 2 * PATIENCE));
        let message = [7; 2_000];
        let mut nobody = Context::from_waker(Waker::noop());
        send.send(&message).unwrap();
        let Some(Incoming::Stream(0, mut served)) = server.accept().unwrap() else {
            panic!("a stream")
        };
        let mut kept = vec![served.receive().unwrap().unwrap()];
        while send.poll_send(&mut nobody, &message).is_ready() {
            kept.push(served.receive().unwrap().unwrap());
        }
        eventually("the other thread sleeps for memory", || {
            assert!(send.poll_send(&mut nobody, &message).is_pending());
            session.stats().totals.waits_for == WaitsFor::Memory as u64
        });
        let (told, woken) = mpsc::channel();
        let waker = Waker::from(Arc::new(Told(told)));
        assert!(send.poll_send(&mut Context::from_waker(&waker), &message).is_pending());
        drop(kept);
        woken.recv_timeout(PATIENCE).expect("memory is back");
        assert!(send.poll_send(&mut nobody, &message).is_ready());
        assert_eq!(served.receive().unwrap().unwrap().to_vec(), message);
        served.finish().unwrap();
        assert!(leading.join().unwrap().unwrap().is_none());
    }
}

#[test]
fn mutually_full_sides_continue_once_they_read() {
    // Memory is what is full, and then slots.
    for (cap, ring) in [(32 << 10, 256), (1 << 20, 16)] {
        every_policy(|options| {
            let options = options.clone().cap(cap).ring_capacity(ring);
            let (session, server) = pair(&options.stream_window(10_000, 1 << 30));
            let full = Arc::new(Barrier::new(2));
            let serving = serve(server, OwnedCall::echo, {
                let full = Arc::clone(&full);
                move |_, stream| flood(stream, &full)
            });
            let stream = session.open(0).unwrap();
            let calling = thread::spawn({
                let session = session.clone();
                move || {
                    for _ in 0..100 {
                        // Its request and its reply need a slot among all that.
                        assert_eq!(session.call(0, &[7; 104]).unwrap().to_vec(), [7; 104]);
                    }
                }
            });
            flood(stream, &full);
            calling.join().unwrap();
            // After a reply the ring has room for the shutdown entry. (A full one would leave the
            // server with the end of file, which reads as a death.)
            session.call(0, b"last").unwrap();
            drop(session);
            serving.join().unwrap();
        });
    }
}

#[test]
fn two_hundred_streams_go_on_against_the_smallest_cap() {
    let options = SessionOptions::new().cap(1);
    let (session, server) = pair(&options);
    let (echoed, echoes) = mpsc::channel();
    let serving = serve(server, OwnedCall::echo, move |_, mut stream| {
        // 104 bytes need no memory; 1,000 share one page with 199 others.
        while let Ok(Some(message)) = stream.receive() {
            let message = message.to_vec();
            stream.send(&message).unwrap();
        }
        echoed.send(()).unwrap();
    });
    let mut streams: Vec<_> = (0..200).map(|_| session.open(0).unwrap()).collect();
    for round in 0..10u8 {
        for len in [104, 1_000] {
            for stream in &mut streams {
                let message = vec![round; len];
                stream.sender().send_until(&message, Instant::now() + PATIENCE).unwrap();
                let reply = stream.receiver().receive_until(Instant::now() + PATIENCE);
                assert_eq!(reply.unwrap().unwrap().to_vec(), message);
            }
        }
    }
    for stream in &mut streams {
        stream.finish().unwrap();
    }
    for _ in 0..200 {
        echoes.recv_timeout(PATIENCE).unwrap();
    }
    drop((streams, session));
    serving.join().unwrap();
}

#[test]
fn a_stream_that_asks_once_takes_one_entry_each_way() {
    every_policy(|options| {
        let (session, server) = pair(&options.clone().service(2));
        assert_eq!((session.service(), server.service()), (2, 2));
        let mut cx = Context::from_waker(Waker::noop());
        let opened =
            session.poll_open_with(&mut cx, 9, Some(b"head"), Some(b"question"), true, None);
        let Poll::Ready(Ok(mut stream)) = opened else { panic!("there is room") };
        let Some(Incoming::Stream(9, mut served)) = server.accept().unwrap() else {
            panic!("a stream")
        };
        assert_eq!((served.peer(), served.carrier()), (server.peer(), server.carrier()));
        let question = served.receive().unwrap().expect("it came with the opening");
        assert_eq!(question.metadata(), Some(&b"head"[..]));
        assert_eq!(question.to_vec(), b"question");
        assert!(served.receive().unwrap().is_none(), "it was the last");
        served.sender().finish_with(Some(b"answer"), Some(b"tail")).unwrap();
        let answer = stream.receive().unwrap().expect("an answer");
        assert_eq!((answer.metadata(), answer.to_vec()), (Some(&b"tail"[..]), b"answer".to_vec()));
        assert!(stream.receive().unwrap().is_none());
        assert!(matches!(stream.send(b"more"), Err(StreamError::Finished)));
    });
}

#[test]
fn idle_sender_sees_reset_and_session_end() {
    every_policy(|options| {
        let (session, server) = pair(options);
        let mut cx = Context::from_waker(Waker::noop());
        let streams = [session.open(0).unwrap(), session.open(0).unwrap()];
        let [reset, mut kept] = streams;
        let mut served = Vec::new();
        for _ in 0..2 {
            let Some(Incoming::Stream(_, stream)) = server.accept().unwrap() else { panic!() };
            served.push(stream);
        }
        assert!(served[0].sender().poll_reset(&mut cx).is_pending());
        reset.reset(ErrorCode::Application(7));
        session.open(0).unwrap();
        server.accept().unwrap();
        let outcome = served[0].sender().poll_reset(&mut cx);
        let Poll::Ready(StreamError::Reset(code)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(code, ErrorCode::Application(7));
        assert!(served[1].sender().poll_reset(&mut cx).is_pending());
        assert!(kept.sender().poll_reset(&mut cx).is_pending());
        drop((kept, session));
        while server.accept().unwrap().is_some() {}
        let outcome = served[1].sender().poll_reset(&mut cx);
        assert!(matches!(outcome, Poll::Ready(_)), "{outcome:?}");
    });
}

/// A waker that sets a flag.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn reset_waiter_is_woken_after_a_failed_send() {
    every_policy(|options| {
        let (session, server) = pair(&options.clone().stream_window(1, 1_000));
        let mut stream = session.open(0).unwrap();
        let Some(Incoming::Stream(_, served)) = server.accept().unwrap() else { panic!() };
        stream.sender().try_send(b"x").unwrap();
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&woken));
        assert!(stream.sender().poll_reset(&mut Context::from_waker(&waker)).is_pending());
        assert!(
            stream.sender().try_send(b"y").is_err_and(|error| error.is_full()),
            "its window is used up"
        );
        assert!(!woken.0.load(Ordering::Acquire), "nobody takes its place");
        served.reset(ErrorCode::Application(7));
        eventually("the reset has come", || stream.receiver().try_receive().is_ready());
        assert!(woken.0.load(Ordering::Acquire));
    });
}

#[test]
fn opening_with_message_waits_for_a_free_stream() {
    every_policy(|options| {
        let (session, server) = pair(&options.clone().max_streams(1));
        let serving = serve(server, OwnedCall::echo, echo);
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&woken));
        let mut cx = Context::from_waker(&waker);
        let mut first = session.open(0).unwrap();
        let waiting = session.poll_open_with(&mut cx, 0, None, Some(b"two"), true, None);
        assert!(waiting.is_pending());
        assert!(!woken.0.load(Ordering::Acquire));
        first.finish().unwrap();
        assert!(first.receive().unwrap().is_none());
        assert!(woken.0.load(Ordering::Acquire), "the only stream has ended");
        let opened = session.poll_open_with(&mut cx, 0, None, Some(b"two"), true, None);
        let Poll::Ready(Ok(mut second)) = opened else { panic!("there is a place") };
        assert_eq!(second.receive().unwrap().unwrap().to_vec(), b"two");
        drop((first, second, session));
        serving.join().unwrap();
    });
}
