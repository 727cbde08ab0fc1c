//! Messages with pauses between them, in which every driver sleeps, and bursts after them.

use std::time::Duration;

use breezeway_tokio::{Session, SessionOptions, WaitPolicy};

use crate::support::{Echo, addresses, on_both_runtimes, soon};

/// Longer than any session here polls.
const PAUSE: Duration = Duration::from_millis(2);

#[test]
fn rare_messages_and_bursts_are_answered() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        for (address, policy) in addresses(folder.path()).iter().zip([
            WaitPolicy::Adaptive,
            WaitPolicy::Adaptive,
            WaitPolicy::Park,
        ]) {
            let options = SessionOptions::new().wait(policy);
            let echo = Echo::start(address, &options);
            let session = Session::connect_with(&echo.address, &options).await.unwrap();
            let mut stream = session.open(0).await.unwrap();
            let mut waiting = session.open(0).await.unwrap();
            for round in 0..60u32 {
                tokio::time::sleep(PAUSE).await;
                let burst = if round % 10 == 9 { 40 } else { 1 };
                for number in 0..burst {
                    let message = [round, number].map(u32::to_le_bytes).concat();
                    soon(stream.send(&message)).await.unwrap();
                    let reply = soon(stream.receive()).await.unwrap().unwrap();
                    assert_eq!(reply.to_vec(), message);
                    assert_eq!(soon(session.call(0, &message)).await.unwrap().to_vec(), message);
                }
            }
            // One that was idle all the time is served as well.
            soon(waiting.send(b"now")).await.unwrap();
            assert_eq!(soon(waiting.receive()).await.unwrap().unwrap().to_vec(), b"now");
            drop((stream, waiting, session));
            echo.stop().await;
        }
    });
}

#[test]
fn calls_of_many_tasks_after_a_pause_are_all_answered() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let options = SessionOptions::new();
        let echo = Echo::start(&addresses(folder.path())[0], &options);
        let session = Session::connect_with(&echo.address, &options).await.unwrap();
        for _ in 0..30 {
            tokio::time::sleep(PAUSE).await;
            let calls: Vec<_> = (0..20u8)
                .map(|number| {
                    let session = session.clone();
                    tokio::spawn(async move {
                        // More than are polled for at once, in two sizes.
                        let request = vec![number; 1 + 300 * usize::from(number % 2)];
                        let reply = session.call(0, &request).await.unwrap();
                        assert_eq!(reply.to_vec(), request);
                    })
                })
                .collect();
            for call in calls {
                soon(call).await.unwrap();
            }
        }
        drop(session);
        echo.stop().await;
    });
}
