//! Sessions with a peer that ends.

use std::sync::Mutex;
use std::time::Duration;

use breezeway_tokio::{
    Address, CallError, Server, ServerOptions, Session, SessionOptions, StreamError,
};
use tokio::sync::mpsc;

use crate::support::{
    Process, addresses, echo, echo_pair, on_both_runtimes, one_thread, say, soon,
};

#[test]
fn waiting_tasks_see_the_servers_death() {
    let folder = tempfile::tempdir().unwrap();
    for address in addresses(folder.path()) {
        on_both_runtimes(|| async {
            let mut process = Process::start("server", &address);
            let address = process.hear();
            let shared = Session::connect(&address).await.unwrap();
            let mut stream = shared.open(0).await.unwrap();
            soon(stream.send(b"x")).await.unwrap();
            assert!(soon(stream.receive()).await.unwrap().is_some());
            let receiving = tokio::spawn(async move { stream.receive().await.map(|_| ()) });
            let accepting = tokio::spawn({
                let shared = shared.clone();
                async move { shared.accept().await.map(|_| ()) }
            });
            tokio::task::yield_now().await;
            process.kill();
            let ended = soon(receiving).await.unwrap();
            assert!(matches!(ended, Err(StreamError::Session(_))), "{ended:?}");
            assert_eq!(soon(accepting).await.unwrap().unwrap_err().to_string(), "the peer died");
            assert!(shared.is_ended());
            match soon(shared.call(0, b"")).await {
                Err(CallError::NotSent(_)) => {}
                other => panic!("{other:?}"),
            }
        });
    }
}

#[test]
fn waiting_tasks_see_the_server_stop() {
    on_both_runtimes(|| async {
        let (shared, echo, _folder) = echo_pair(&SessionOptions::new()).await;
        let mut stream = shared.open(0).await.unwrap();
        soon(stream.send(b"x")).await.unwrap();
        assert!(soon(stream.receive()).await.unwrap().is_some());
        let accepting = tokio::spawn({
            let shared = shared.clone();
            async move { shared.accept().await.map(|_| ()) }
        });
        tokio::task::yield_now().await;
        // Its handler is awaited, so the stream ends first.
        stream.finish().await.unwrap();
        assert!(soon(stream.receive()).await.unwrap().is_none());
        echo.stop().await;
        let error = soon(accepting).await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), "the server closed the session");
    });
}

/// Connects, forks a child that holds the socket open, and waits to be killed.
pub(crate) fn client_that_forks(address: &Address) {
    let shared = breezeway::Session::connect(address).unwrap();
    shared.call(0, b"x").unwrap();
    // SAFETY: the child calls only what is allowed after a fork of a process with threads.
    let child = unsafe { libc::fork() };
    if child == 0 {
        loop {
            // SAFETY: as above.
            unsafe { libc::pause() };
        }
    }
    say(child);
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn killed_client_is_detected_though_child_holds_socket() {
    let folder = tempfile::tempdir().unwrap();
    let address = &addresses(folder.path())[0];
    one_thread().block_on(async {
        let (ended, mut ends) = mpsc::unbounded_channel();
        let ended = Mutex::new(ended);
        let options = ServerOptions::new().on_session_end(move |_, error| {
            let error = error.map(ToString::to_string);
            ended.lock().unwrap().send(error).unwrap();
        });
        let server = Server::bind_with(address, options).unwrap();
        let stopper = server.stopper();
        let serving = tokio::spawn(server.serve(echo));
        let mut process = tokio::task::spawn_blocking({
            let address = address.clone();
            move || {
                let mut process = Process::start("client that forks", &address);
                let child: i32 = process.hear().parse().unwrap();
                (process, child)
            }
        })
        .await
        .unwrap();
        process.0.kill();
        let error = soon(ends.recv()).await.unwrap();
        assert_eq!(error.as_deref(), Some("the peer died"));
        // SAFETY: the number is that of the child, which no thread has waited for.
        unsafe { libc::kill(process.1, libc::SIGKILL) };
        stopper.stop();
        soon(serving).await.unwrap().unwrap();
    });
}
