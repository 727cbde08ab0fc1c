//! Tasks that find what has come before the task that drives their session.

use std::future::{Future, poll_fn, ready};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use breezeway_tokio::{
    Incoming, Server, ServerOptions, Session, SessionOptions, Stream, WaitPolicy,
};
use tokio::task::yield_now;

use crate::support::{addresses, echo, echo_pair, on_both_runtimes, one_thread, soon};

#[test]
fn a_call_that_is_not_polled_again_stops_no_other() {
    on_both_runtimes(|| async {
        let options = SessionOptions::new().wait(WaitPolicy::Park);
        let (shared, echo, _folder) = echo_pair(&options).await;
        for round in 0..200u8 {
            // The session sleeps with this call as the one that waits, and so is this task.
            let mut ignored = pin!(shared.call(0, b"ignored"));
            if poll_fn(|cx| Poll::Ready(ignored.as_mut().poll(cx).is_ready())).await {
                // Another worker was as fast.
                continue;
            }
            for _ in 0..round % 4 {
                tokio::task::yield_now().await;
            }
            let another = tokio::spawn({
                let shared = shared.clone();
                async move { shared.call(0, &[round]).await.unwrap().to_vec() }
            });
            assert_eq!(soon(another).await.unwrap(), [round]);
            assert_eq!(soon(shared.call(0, b"own")).await.unwrap().to_vec(), b"own");
            if round % 2 == 0 {
                assert_eq!(soon(ignored).await.unwrap().to_vec(), b"ignored");
            }
        }
        drop(shared);
        echo.stop().await;
    });
}

/// Lets other tasks run until drivers sleep that have nothing to do.
async fn let_drivers_sleep() {
    for _ in 0..1_000 {
        yield_now().await;
    }
}

#[test]
fn call_taken_by_stream_reader_is_served() {
    one_thread().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let session = SessionOptions::new().wait(WaitPolicy::Park);
        let options = ServerOptions::new().session(session);
        let server = Server::bind_with(&addresses(folder.path())[0], options).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let (give, mut served) = tokio::sync::mpsc::unbounded_channel();
        let serving = tokio::spawn(server.serve_streams(echo, move |_, stream: Stream| {
            give.send(stream).unwrap();
            ready(())
        }));
        // What it publishes it rings for in its driver's next turn.
        let options = SessionOptions::new().wait(WaitPolicy::Busy);
        let shared = Session::connect_with(&address, &options).await.unwrap();
        let _opened = shared.open(0).await.unwrap();
        let mut stream = soon(served.recv()).await.unwrap();
        for round in 0..20u8 {
            let_drivers_sleep().await;
            let request = [round];
            let mut call = pin!(shared.call(0, &request));
            poll_fn(|cx| {
                assert!(call.as_mut().poll(cx).is_pending());
                assert!(stream.receiver().poll_receive(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            assert_eq!(soon(call).await.unwrap().to_vec(), request);
        }
        drop((stream, shared));
        stopper.stop();
        soon(serving).await.unwrap().unwrap();
    });
}

#[test]
fn a_reader_that_always_finds_something_lets_other_tasks_run() {
    one_thread().block_on(async {
        const MESSAGES: usize = 10_000;
        let options = SessionOptions::new().wait(WaitPolicy::Park).stream_window(1 << 20, 1 << 30);
        let (shared, server) = Session::pair(&options).await.unwrap();
        let mut one = shared.open(0).await.unwrap();
        let Ok(Some(Incoming::Stream(_, mut other))) = soon(server.accept()).await else {
            panic!("no stream")
        };
        let others = Arc::new(AtomicUsize::new(0));
        tokio::spawn({
            let others = Arc::clone(&others);
            async move {
                loop {
                    others.fetch_add(1, Ordering::Relaxed);
                    yield_now().await;
                }
            }
        });
        let_drivers_sleep().await;
        let before = others.load(Ordering::Relaxed);
        for _ in 0..MESSAGES {
            one.send(b"x").await.unwrap();
            assert_eq!(soon(other.receive()).await.unwrap().unwrap().to_vec(), b"x");
        }
        let ran = others.load(Ordering::Relaxed) - before;
        assert!(ran > MESSAGES / 1_000, "{ran} polls of others in {MESSAGES} messages");
    });
}
