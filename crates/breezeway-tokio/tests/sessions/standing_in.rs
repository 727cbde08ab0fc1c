//! Tasks that find what has come before the task that drives their session.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use breezeway_tokio::{SessionOptions, WaitPolicy};

use crate::support::{echo_pair, on_both_runtimes, soon};

#[test]
fn a_call_that_is_not_polled_again_stops_no_other() {
    on_both_runtimes(|| async {
        let options = SessionOptions::new().wait(WaitPolicy::Park);
        let (channel, echo, _folder) = echo_pair(&options).await;
        for round in 0..200u8 {
            // The session sleeps with this call as the one that waits, and so is this task.
            let mut ignored = pin!(channel.call(0, b"ignored"));
            if poll_fn(|cx| Poll::Ready(ignored.as_mut().poll(cx).is_ready())).await {
                // Another worker was as fast.
                continue;
            }
            for _ in 0..round % 4 {
                tokio::task::yield_now().await;
            }
            let another = tokio::spawn({
                let channel = channel.clone();
                async move { channel.call(0, &[round]).await.unwrap().to_vec() }
            });
            assert_eq!(soon(another).await.unwrap(), [round]);
            assert_eq!(soon(channel.call(0, b"own")).await.unwrap().to_vec(), b"own");
            if round % 2 == 0 {
                assert_eq!(soon(ignored).await.unwrap().to_vec(), b"ignored");
            }
        }
        drop(channel);
        echo.stop().await;
    });
}
