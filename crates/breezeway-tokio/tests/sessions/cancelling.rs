//! Futures that are dropped at every point.

use breezeway_tokio::{Incoming, ServerSession, Session, SessionOptions, Stream};

use crate::support::{echo_pair, on_both_runtimes, one_thread, poll_and_drop, soon};

/// More polls than any of the futures here takes on one thread.
const POLLS: usize = 12;

#[test]
fn a_call_may_be_dropped_after_any_number_of_polls() {
    on_both_runtimes(|| async {
        let (session, echo, _folder) = echo_pair(&SessionOptions::new().ring_capacity(8)).await;
        for round in 0..200usize {
            let request = round.to_le_bytes();
            if let Some(reply) = poll_and_drop(session.call(0, &request), round % POLLS).await {
                assert_eq!(reply.unwrap().to_vec(), request);
            }
            // Those that were given up take no room for ever.
            assert_eq!(soon(session.call(0, b"next")).await.unwrap().to_vec(), b"next");
        }
        drop(session);
        echo.stop().await;
    });
}

#[test]
fn a_handler_sees_that_a_call_was_dropped() {
    on_both_runtimes(|| async {
        let (session, server) = Session::pair(&SessionOptions::new()).await.unwrap();
        let calling = tokio::spawn(async move {
            // The session stays open.
            let _ = tokio::time::timeout(
                std::time::Duration::from_millis(20),
                session.call(0, b"given up"),
            )
            .await;
            session
        });
        let Some(Incoming::Call(call)) = soon(server.accept()).await.unwrap() else {
            panic!("no call")
        };
        soon(breezeway_tokio::cancelled(&call)).await;
        drop(calling);
    });
}

/// Returns both ends of a stream with a window of `messages`.
async fn stream_pair(messages: u32) -> (Stream, Stream, (Session, ServerSession)) {
    let options = SessionOptions::new().stream_window(messages, 1 << 20);
    let (session, server) = Session::pair(&options).await.unwrap();
    let one = session.open(0).await.unwrap();
    let Some(Incoming::Stream(_, other)) = soon(server.accept()).await.unwrap() else {
        panic!("no stream")
    };
    (one, other, (session, server))
}

#[test]
fn dropped_send_sent_whole_message_or_nothing() {
    on_both_runtimes(|| async {
        let (mut one, mut other, _session) = stream_pair(2).await;
        let mut sent = Vec::new();
        for round in 0..100usize {
            let message = round.to_le_bytes().repeat(1 + round % 20);
            if let Some(outcome) = poll_and_drop(one.send(&message), round % 4).await {
                outcome.unwrap();
                sent.push(message);
            }
            if round % 3 == 0 && !sent.is_empty() {
                let message = soon(other.receive()).await.unwrap().unwrap();
                assert_eq!(message.to_vec(), sent.remove(0));
            }
        }
        let finishing = tokio::spawn(async move {
            one.finish().await.unwrap();
            one
        });
        for message in sent {
            assert_eq!(soon(other.receive()).await.unwrap().unwrap().to_vec(), message);
        }
        assert!(soon(other.receive()).await.unwrap().is_none());
        drop(soon(finishing).await.unwrap());
    });
}

#[test]
fn a_receive_that_is_dropped_has_received_nothing() {
    on_both_runtimes(|| async {
        let (mut one, mut other, _session) = stream_pair(4).await;
        let sending = tokio::spawn(async move {
            for number in 0..500u64 {
                one.send(&number.to_le_bytes()).await.unwrap();
                if number % 7 == 0 {
                    tokio::task::yield_now().await;
                }
            }
            one
        });
        let mut expected = 0u64;
        for round in 0.. {
            if expected == 500 {
                break;
            }
            if let Some(message) = poll_and_drop(other.receive(), round % POLLS).await {
                let message = message.unwrap().unwrap();
                assert_eq!(message.bytes().u64_le_at(0), Some(expected));
                expected += 1;
            }
        }
        drop(soon(sending).await.unwrap());
    });
}

#[test]
fn an_open_or_accept_may_be_dropped_after_any_number_of_polls() {
    one_thread().block_on(async {
        let (session, server) =
            Session::pair(&SessionOptions::new().ring_capacity(8)).await.unwrap();
        let (mut opened, mut accepted) = (0, 0);
        for round in 0..60 {
            if let Some(stream) = poll_and_drop(session.open(round), round as usize % 4).await {
                // Dropped: the peer sees an open stream that is reset.
                drop(stream.unwrap());
                opened += 1;
            }
            if let Some(incoming) = poll_and_drop(server.accept(), round as usize % 5).await {
                assert!(matches!(incoming.unwrap(), Some(Incoming::Stream(..))));
                accepted += 1;
            }
        }
        while accepted < opened {
            assert!(matches!(soon(server.accept()).await.unwrap(), Some(Incoming::Stream(..))));
            accepted += 1;
        }
        assert!(opened > 20, "{opened}");
        assert!(poll_and_drop(server.accept(), 20).await.is_none());
    });
}

#[test]
fn an_accept_that_is_dropped_again_and_again_loses_nothing() {
    one_thread().block_on(async {
        let (session, server) = Session::pair(&SessionOptions::new()).await.unwrap();
        let mut tick = tokio::time::interval(std::time::Duration::from_micros(1));
        for _ in 0..200 {
            tokio::select! {
                biased;
                _ = server.accept() => panic!("nothing comes"),
                _ = tick.tick() => {}
            }
        }
        let call = tokio::spawn(async move { session.call(0, b"x").await.map(|_| ()) });
        let Some(Incoming::Call(incoming)) = soon(server.accept()).await.unwrap() else {
            panic!("no call")
        };
        let _ = incoming.reply(b"");
        soon(call).await.unwrap().unwrap();
    });
}
