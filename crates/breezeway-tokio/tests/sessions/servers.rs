//! What servers allow and how they end.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use breezeway_tokio::{Channel, Server, ServerOptions, SessionOptions};
use tokio::sync::Notify;

use crate::support::{addresses, echo, on_both_runtimes, soon};

#[test]
fn a_client_beyond_max_sessions_is_refused_until_another_leaves() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let options = ServerOptions::new().max_sessions(1);
        let server = Server::bind_with(&addresses(folder.path())[0], options).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = tokio::spawn(server.serve(echo));
        let first = Channel::connect(&address).await.unwrap();
        soon(first.call(0, b"x")).await.unwrap();
        let error = Channel::connect(&address).await.err().unwrap().to_string();
        assert!(error.contains("max_sessions"), "{error}");
        drop(first);
        let second = soon(async {
            loop {
                match Channel::connect(&address).await {
                    Ok(channel) => return channel,
                    Err(_) => tokio::task::yield_now().await,
                }
            }
        });
        let second = second.await;
        assert_eq!(soon(second.call(0, b"y")).await.unwrap().to_vec(), b"y");
        stopper.stop();
        soon(serving).await.unwrap().unwrap();
    });
}

#[test]
fn a_client_that_the_policy_denies_learns_why() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let options = ServerOptions::new().authorize(|_| Err("not today".to_owned()));
        let server = Server::bind_with(&addresses(folder.path())[0], options).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = tokio::spawn(server.serve(echo));
        let error = Channel::connect(&address).await.err().unwrap().to_string();
        assert!(error.contains("not today"), "{error}");
        stopper.stop();
        soon(serving).await.unwrap().unwrap();
    });
}

#[test]
fn clients_that_say_nothing_hold_up_nobody_and_are_given_up() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let patience = Duration::from_millis(300);
        let session = SessionOptions::new().handshake_timeout(patience);
        let options = ServerOptions::new().session(session);
        let server = Server::bind_with(&addresses(folder.path())[0], options).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = tokio::spawn(server.serve(echo));
        let silent: Vec<_> =
            (0..100).map(|_| UnixStream::connect(folder.path().join("shm")).unwrap()).collect();
        let channel = soon(Channel::connect(&address)).await.unwrap();
        assert_eq!(soon(channel.call(0, b"x")).await.unwrap().to_vec(), b"x");
        let closed = tokio::task::spawn_blocking(move || {
            for mut socket in silent {
                socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                assert_eq!(socket.read(&mut [0; 8]).unwrap(), 0, "given up");
            }
        });
        soon(closed).await.unwrap();
        stopper.stop();
        soon(serving).await.unwrap().unwrap();
    });
}

#[test]
fn stopping_waits_for_handlers_that_run_and_removes_the_socket_file() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::bind(&addresses(folder.path())[0]).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let (running, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let done = Arc::new(AtomicUsize::new(0));
        let serving = tokio::spawn(server.serve({
            let (running, go_on, done) = (running.clone(), go_on.clone(), done.clone());
            move |call| {
                let (running, go_on, done) = (running.clone(), go_on.clone(), done.clone());
                async move {
                    running.notify_one();
                    go_on.notified().await;
                    done.fetch_add(1, Ordering::Relaxed);
                    call.reply(b"finished");
                }
            }
        }));
        let channel = Channel::connect(&address).await.unwrap();
        let calling = tokio::spawn(async move { channel.call(0, b"").await.unwrap().to_vec() });
        soon(running.notified()).await;
        stopper.stop();
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        assert!(!serving.is_finished());
        go_on.notify_one();
        assert_eq!(soon(calling).await.unwrap(), b"finished");
        soon(serving).await.unwrap().unwrap();
        assert_eq!(done.load(Ordering::Relaxed), 1);
        assert!(!folder.path().join("shm").exists());
    });
}

#[test]
fn stopping_does_not_wait_for_handlers_whose_client_is_gone() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::bind(&addresses(folder.path())[0]).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let running = Arc::new(Notify::new());
        let serving = tokio::spawn(server.serve({
            let running = Arc::clone(&running);
            move |call| {
                let running = Arc::clone(&running);
                async move {
                    running.notify_one();
                    std::future::pending::<()>().await;
                    drop(call);
                }
            }
        }));
        for stops_first in [false, true] {
            let channel = Channel::connect(&address).await.unwrap();
            channel.post(0, b"for ever").await.unwrap();
            soon(running.notified()).await;
            if stops_first {
                stopper.stop();
                tokio::task::yield_now().await;
                assert!(!serving.is_finished());
            }
        }
        soon(serving).await.unwrap().unwrap();
    });
}
