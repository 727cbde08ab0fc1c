//! Costs of idle sessions, counted in sleeps of the runtime.

use std::time::Duration;

use breezeway_tokio::{Session, SessionOptions, WaitPolicy};

use crate::support::{Echo, addresses, one_thread, soon};

#[test]
fn idle_sessions_let_the_runtime_sleep() {
    for policy in [WaitPolicy::Adaptive, WaitPolicy::Park] {
        let runtime = one_thread();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            for address in addresses(folder.path()) {
                let options = SessionOptions::new().wait(policy);
                let echo = Echo::start(&address, &options);
                let mut sessions = Vec::new();
                for _ in 0..20 {
                    let session = Session::connect_with(&echo.address, &options).await.unwrap();
                    soon(session.call(0, b"x")).await.unwrap();
                    sessions.push(session);
                }
                // Long enough for every spin to be over.
                tokio::time::sleep(Duration::from_millis(50)).await;
                let metrics = runtime.metrics();
                let before = metrics.worker_park_count(0);
                tokio::time::sleep(Duration::from_millis(300)).await;
                let parked = metrics.worker_park_count(0) - before;
                // One sleep, which the timer ends, and its own rounding.
                assert!(parked <= 4, "{parked} sleeps over {address}");
                for session in &sessions {
                    assert_eq!(soon(session.call(0, b"y")).await.unwrap().to_vec(), b"y");
                }
                drop(sessions);
                echo.stop().await;
            }
        });
    }
}
