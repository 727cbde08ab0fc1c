//! Calls of many tasks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use breezeway_tokio::{
    CallError, ErrorCode, Incoming, OwnedCall, Server, Session, SessionOptions, Stream,
    StreamError, Unserved, WaitPolicy,
};
use tokio::sync::Notify;

use crate::support::{Echo, Process, addresses, echo_pair, on_both_runtimes, one_thread, soon};

#[test]
fn calls_and_streams_reach_another_process_by_every_carrier() {
    let folder = tempfile::tempdir().unwrap();
    for address in addresses(folder.path()) {
        let mut process = Process::start("server", &address);
        let address = process.hear();
        one_thread().block_on(async {
            let session = Session::connect(&address).await.unwrap();
            let mut stream = session.open(0).await.unwrap();
            for len in [0, 1, 40, 104, 105, 5_000, 300_000] {
                let message: Vec<u8> = (0..len).map(|index| index as u8).collect();
                assert_eq!(soon(session.call(7, &message)).await.unwrap().to_vec(), message);
                soon(stream.send(&message)).await.unwrap();
                let reply = soon(stream.receive()).await.unwrap().unwrap();
                assert_eq!(reply.to_vec(), message, "over {address}");
            }
            stream.finish().await.unwrap();
            assert!(soon(stream.receive()).await.unwrap().is_none());
        });
    }
}

#[test]
fn each_of_many_tasks_gets_the_replies_to_its_own_calls() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        for address in addresses(folder.path()) {
            // Fewer calls in flight than tasks: some wait for room.
            let options = SessionOptions::new().ring_capacity(64);
            let echo = Echo::start(&address, &options);
            let session = Session::connect_with(&echo.address, &options).await.unwrap();
            let tasks: Vec<_> = (0..300u64)
                .map(|task| {
                    let session = session.clone();
                    tokio::spawn(async move {
                        for round in 0..10u64 {
                            let request = [task.to_le_bytes(), round.to_le_bytes()].concat();
                            let request = request.repeat(1 + 10 * (round as usize % 3));
                            let reply = session.call(0, &request).await.unwrap();
                            assert_eq!(reply.to_vec(), request);
                        }
                    })
                })
                .collect();
            for task in tasks {
                soon(task).await.unwrap();
            }
            drop(session);
            echo.stop().await;
        }
    });
}

#[test]
fn a_handler_that_waits_holds_up_no_other() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::bind(&addresses(folder.path())[0]).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let second_came = Arc::new(Notify::new());
        let serving = tokio::spawn(server.serve(move |call| {
            let second_came = Arc::clone(&second_came);
            async move {
                match call.method() {
                    1 => second_came.notified().await,
                    _ => second_came.notify_one(),
                }
                let _ = call.echo();
            }
        }));
        let session = Session::connect(&address).await.unwrap();
        let first = tokio::spawn({
            let session = session.clone();
            async move { session.call(1, b"first").await.unwrap().to_vec() }
        });
        // It is not answered before the second has come.
        tokio::task::yield_now().await;
        assert_eq!(soon(session.call(2, b"second")).await.unwrap().to_vec(), b"second");
        assert_eq!(soon(first).await.unwrap(), b"first");
        stopper.stop();
        soon(serving).await.unwrap().unwrap();
    });
}

#[test]
fn a_handler_that_panics_fails_its_call_and_no_other() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::bind(&addresses(folder.path())[0]).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = tokio::spawn(server.serve(|call| async move {
            match call.method() {
                0 => call.echo(),
                1 => panic!("at once"),
                2 => {
                    tokio::task::yield_now().await;
                    panic!("later, with {} bytes", call.request().len());
                }
                _ => call.fail(ErrorCode::Application(4), "as asked"),
            }
        }));
        let session = Session::connect(&address).await.unwrap();
        for method in [1, 2, 1] {
            match soon(session.call(method, b"")).await {
                Err(CallError::Failed { code: ErrorCode::Failed, .. }) => {}
                other => panic!("{other:?}"),
            }
            assert_eq!(soon(session.call(0, b"next")).await.unwrap().to_vec(), b"next");
        }
        match soon(session.call(3, b"")).await {
            Err(CallError::Failed { code: ErrorCode::Application(4), .. }) => {}
            other => panic!("{other:?}"),
        }
        stopper.stop();
        soon(serving).await.unwrap().unwrap();
    });
}

#[test]
fn panic_before_handler_future_fails_only_its_call() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::bind(&addresses(folder.path())[0]).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let call = |call: OwnedCall| {
            assert!(call.method() == 0, "at once");
            async move { call.echo() }
        };
        let stream = |method: u32, stream: Stream| {
            assert!(method == 0, "at once");
            async move { drop(stream) }
        };
        let serving = tokio::spawn(server.serve_streams(call, stream));
        let session = Session::connect(&address).await.unwrap();
        let held = soon(session.open(0)).await.unwrap();
        for _ in 0..2 {
            match soon(session.call(1, b"")).await {
                Err(CallError::Failed { code: ErrorCode::Failed, .. }) => {}
                other => panic!("{other:?}"),
            }
            let mut reset = soon(session.open(1)).await.unwrap();
            match soon(reset.receive()).await {
                Err(StreamError::Reset(ErrorCode::Panicked)) => {}
                other => panic!("{other:?}"),
            }
            assert_eq!(soon(session.call(0, b"next")).await.unwrap().to_vec(), b"next");
        }
        drop(held);
        stopper.stop();
        soon(serving).await.unwrap().unwrap();
        assert_eq!(stopper.unserved(), Unserved::default());
    });
}

#[test]
fn a_deadline_ends_a_call_and_not_the_session() {
    on_both_runtimes(|| async {
        let (session, server) = Session::pair(&SessionOptions::new()).await.unwrap();
        let near = Instant::now() + Duration::from_millis(20);
        match soon(session.request(0).deadline(near).send(b"")).await {
            Err(CallError::DeadlinePassed) => {}
            other => panic!("{other:?}"),
        }
        let Some(Incoming::Call(call)) = soon(server.accept()).await.unwrap() else {
            panic!("no call")
        };
        soon(breezeway_tokio::cancelled(&call)).await;
        let _ = call.reply(b"late");
        let served = async {
            let Some(Incoming::Call(call)) = server.accept().await.unwrap() else {
                panic!("no call")
            };
            let _ = call.echo();
        };
        let (reply, ()) = tokio::join!(session.call(0, b"next"), served);
        assert_eq!(reply.unwrap().to_vec(), b"next");
    });
}

#[test]
fn one_way_messages_wait_for_room_and_all_arrive() {
    on_both_runtimes(|| async {
        let options = SessionOptions::new().ring_capacity(8);
        let (session, server) = Session::pair(&options).await.unwrap();
        let posting = tokio::spawn(async move {
            for number in 0..3_000u64 {
                session.post(0, &number.to_le_bytes()).await.unwrap();
            }
            session
        });
        for number in 0..3_000u64 {
            let Some(Incoming::Call(call)) = soon(server.accept()).await.unwrap() else {
                panic!("no message")
            };
            assert_eq!(call.request().u64_le_at(0), Some(number));
        }
        drop(soon(posting).await.unwrap());
        assert!(soon(server.accept()).await.unwrap().is_none());
    });
}

#[test]
fn every_wait_policy_serves_and_lets_other_tasks_run() {
    on_both_runtimes(|| async {
        for policy in [WaitPolicy::Busy, WaitPolicy::Adaptive, WaitPolicy::Park] {
            let (session, echo, _folder) = echo_pair(&SessionOptions::new().wait(policy)).await;
            // Two drivers that never sleep under this policy give way after each turn.
            for _ in 0..1_000 {
                tokio::task::yield_now().await;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert_eq!(soon(session.call(0, b"x")).await.unwrap().to_vec(), b"x");
            drop(session);
            echo.stop().await;
        }
    });
}

#[test]
fn a_timeout_longer_than_any_instant_is_none() {
    on_both_runtimes(|| async {
        let options = SessionOptions::new().call_timeout(Some(Duration::MAX));
        let (session, echo, _folder) = echo_pair(&options).await;
        assert_eq!(soon(session.call(0, b"x")).await.unwrap().to_vec(), b"x");
        drop(session);
        echo.stop().await;
    });
}

#[test]
fn one_way_message_without_room_ends_at_its_deadline() {
    on_both_runtimes(|| async {
        let options = SessionOptions::new().call_timeout(Some(Duration::from_millis(20)));
        let (session, _server) = Session::pair(&options).await.unwrap();
        let failing = async {
            loop {
                if let Err(error) = session.post(0, b"x").await {
                    break error;
                }
            }
        };
        let failed = soon(failing).await;
        assert!(matches!(failed, CallError::DeadlinePassed), "{failed}");
        // However long the session would wait.
        let (session, _server) = Session::pair(&SessionOptions::new()).await.unwrap();
        let failing = async {
            loop {
                let deadline = Instant::now() + Duration::from_millis(20);
                if let Err(error) = session.request(0).deadline(deadline).post(b"x").await {
                    break error;
                }
            }
        };
        let failed = soon(failing).await;
        assert!(matches!(failed, CallError::DeadlinePassed), "{failed}");
    });
}
