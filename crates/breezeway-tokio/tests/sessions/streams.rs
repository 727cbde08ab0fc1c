//! Streams of many tasks, and unread streams.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use breezeway_tokio::{
    ErrorCode, Incoming, Server, ServerOptions, Session, SessionOptions, StreamError, TrySendError,
};
use tokio::sync::Semaphore;

use crate::support::{
    addresses, echo, echo_pair, echo_stream, on_both_runtimes, poll_and_drop, soon,
};

#[test]
fn two_hundred_streams_share_the_smallest_ring() {
    on_both_runtimes(|| async {
        let options = SessionOptions::new().ring_capacity(8);
        let (shared, echo, _folder) = echo_pair(&options).await;
        let tasks: Vec<_> = (0..200u64)
            .map(|task| {
                let shared = shared.clone();
                tokio::spawn(async move {
                    let mut stream = shared.open(0).await.unwrap();
                    for round in 0..30u64 {
                        let message = [task.to_le_bytes(), round.to_le_bytes()].concat();
                        stream.send(&message).await.unwrap();
                        let reply = stream.receive().await.unwrap().unwrap();
                        assert_eq!(reply.to_vec(), message);
                    }
                    stream.finish().await.unwrap();
                    assert!(stream.receive().await.unwrap().is_none());
                })
            })
            .collect();
        for task in tasks {
            soon(task).await.unwrap();
        }
        drop(shared);
        echo.stop().await;
    });
}

#[test]
fn unread_stream_stops_only_itself() {
    on_both_runtimes(|| async {
        let options = SessionOptions::new().stream_window(3, 1_000);
        let (shared, server) = Session::pair(&options).await.unwrap();
        let mut stuck = shared.open(0).await.unwrap();
        let Some(Incoming::Stream(_, mut unread)) = soon(server.accept()).await.unwrap() else {
            panic!("no stream")
        };
        let mut other = shared.open(0).await.unwrap();
        let Some(Incoming::Stream(_, mut read)) = soon(server.accept()).await.unwrap() else {
            panic!("no stream")
        };
        for number in 0..3u8 {
            soon(stuck.send(&[number])).await.unwrap();
        }
        assert!(poll_and_drop(stuck.send(&[99]), 50).await.is_none(), "its window is used up");
        for number in 0..100u8 {
            soon(other.send(&[number])).await.unwrap();
            assert_eq!(soon(read.receive()).await.unwrap().unwrap().to_vec(), [number]);
        }
        let sending = tokio::spawn(async move {
            stuck.send(&[3]).await.unwrap();
            stuck
        });
        for number in 0..4u8 {
            assert_eq!(soon(unread.receive()).await.unwrap().unwrap().to_vec(), [number]);
        }
        drop(soon(sending).await.unwrap());
    });
}

#[test]
fn try_send_and_try_receive_do_not_wait() {
    on_both_runtimes(|| async {
        let options = SessionOptions::new().stream_window(3, 1_000);
        let (shared, server) = Session::pair(&options).await.unwrap();
        let mut one = shared.open(0).await.unwrap();
        let Some(Incoming::Stream(_, mut other)) = soon(server.accept()).await.unwrap() else {
            panic!("no stream")
        };
        assert!(other.receiver().try_receive().is_pending(), "nothing was sent");
        for number in 0..3u8 {
            one.sender().try_send(&[number]).unwrap();
        }
        assert!(
            one.sender().try_send(&[99]).is_err_and(|error| error.is_full()),
            "its window is used up"
        );
        for number in 0..3u8 {
            let received = soon(async {
                loop {
                    match other.receiver().try_receive() {
                        Poll::Ready(received) => break received,
                        Poll::Pending => tokio::task::yield_now().await,
                    }
                }
            });
            assert_eq!(received.await.unwrap().unwrap().to_vec(), [number]);
        }
        assert!(other.receiver().try_receive().is_pending(), "what found no room was not sent");
        one.finish().await.unwrap();
        assert!(matches!(
            one.sender().try_send(&[5]),
            Err(TrySendError::Failed(StreamError::Finished))
        ));
    });
}

#[test]
fn reset_ends_waits_on_either_side() {
    on_both_runtimes(|| async {
        let (shared, server) = Session::pair(&SessionOptions::new()).await.unwrap();
        let mut stream = shared.open(0).await.unwrap();
        let Some(Incoming::Stream(_, other)) = soon(server.accept()).await.unwrap() else {
            panic!("no stream")
        };
        let receiving = tokio::spawn(async move { stream.receive().await.map(|_| ()) });
        tokio::task::yield_now().await;
        other.reset(ErrorCode::Application(5));
        match soon(receiving).await.unwrap() {
            Err(StreamError::Reset(ErrorCode::Application(5))) => {}
            other => panic!("{other:?}"),
        }
        drop(shared);
    });
}

#[test]
fn a_receiving_half_is_a_stream_of_messages() {
    on_both_runtimes(|| async {
        let (shared, echo, _folder) = echo_pair(&SessionOptions::new()).await;
        let (mut send, mut receive) = shared.open(0).await.unwrap().split();
        let sending = tokio::spawn(async move {
            for number in 0..50u8 {
                send.send(&[number]).await.unwrap();
            }
            send.finish().await.unwrap();
        });
        let mut received = Vec::new();
        while let Some(message) =
            std::future::poll_fn(|cx| futures_core::Stream::poll_next(Pin::new(&mut receive), cx))
                .await
        {
            received.extend(message.unwrap().to_vec());
        }
        assert_eq!(received, (0..50).collect::<Vec<u8>>());
        soon(sending).await.unwrap();
        drop((receive, shared));
        echo.stop().await;
    });
}

#[test]
fn a_server_opens_streams_to_its_client() {
    on_both_runtimes(|| async {
        let (shared, server) = Session::pair(&SessionOptions::new()).await.unwrap();
        let mut stream = server.request(9).metadata(b"about it").open().await.unwrap();
        stream.send(b"news").await.unwrap();
        let (method, mut news) = soon(shared.accept()).await.unwrap();
        assert_eq!(method, 9);
        let opening = soon(news.receive()).await.unwrap().unwrap();
        assert_eq!(opening.metadata(), Some(&b"about it"[..]));
        assert_eq!(soon(news.receive()).await.unwrap().unwrap().to_vec(), b"news");
    });
}

#[test]
fn handlers_of_streams_that_are_reset_at_once_are_bounded() {
    const MOST: usize = 4;
    on_both_runtimes(|| async {
        for carrier in 0..3 {
            let folder = tempfile::tempdir().unwrap();
            let session = SessionOptions::new().max_streams(MOST as u16);
            let options = ServerOptions::new().session(session);
            let server = Server::bind_with(&addresses(folder.path())[carrier], options).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let gate = Arc::new(Semaphore::new(0));
            let begun = Arc::new(AtomicUsize::new(0));
            let handler = {
                let (gate, begun) = (Arc::clone(&gate), Arc::clone(&begun));
                move |method, stream| {
                    let (gate, begun) = (Arc::clone(&gate), Arc::clone(&begun));
                    async move {
                        begun.fetch_add(1, Ordering::Relaxed);
                        let _ended = gate.acquire().await.unwrap();
                        echo_stream(method, stream).await;
                    }
                }
            };
            let serving = tokio::spawn(server.serve_streams(echo, handler));
            let shared = Session::connect(&address).await.unwrap();
            // A stream counts as open until the server has answered its reset.
            for _ in 0..25 * MOST {
                drop(soon(shared.open(1)).await.unwrap());
                soon(shared.call(0, b"x")).await.unwrap();
            }
            assert_eq!(begun.load(Ordering::Relaxed), 2 * MOST);
            let mut refused = soon(shared.open(1)).await.unwrap();
            let error = soon(refused.receive()).await.unwrap_err();
            assert!(matches!(error, StreamError::Reset(ErrorCode::Overloaded)), "{error}");
            drop(refused);
            // Once they have ended others are served.
            gate.add_permits(1);
            soon(async {
                loop {
                    let mut stream = shared.open(1).await.unwrap();
                    if stream.send(b"y").await.is_ok() && stream.receive().await.is_ok() {
                        return;
                    }
                    drop(stream);
                    shared.call(0, b"x").await.unwrap();
                }
            })
            .await;
            drop(shared);
            stopper.stop();
            soon(serving).await.unwrap().unwrap();
        }
    });
}
