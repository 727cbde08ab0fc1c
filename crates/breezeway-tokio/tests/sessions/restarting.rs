//! Servers under tokio that are restarted: clients move, and calls in flight are finished.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use breezeway_tokio::{
    Address, Client, OwnedCall, ReplyError, ServeError, Server, ServerOptions, Session,
    StreamError, StreamOpener,
};
use tokio::task::JoinHandle;

use crate::support::{PATIENCE, addresses, echo, echo_stream, on_both_runtimes, soon};

struct Generation {
    address: Address,
    stopper: breezeway_tokio::Stopper,
    serving: JoinHandle<Result<(), ServeError>>,
}

impl Generation {
    fn start(address: &Address, folder: &Path, drain: Duration) -> Self {
        let admin = folder.join("admin");
        let options = ServerOptions::new().take_over(true).admin_socket(admin);
        let server = Server::bind_with(address, options.drain_timeout(drain)).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = tokio::spawn(server.serve_streams(echo, echo_stream));
        Self { address, stopper, serving }
    }

    async fn ends(self) {
        soon(self.serving).await.unwrap().unwrap();
    }
}

#[test]
fn clients_move_and_a_stream_under_way_is_finished_where_it_is() {
    on_both_runtimes(|| async {
        for carrier in 0..3 {
            let folder = tempfile::tempdir().unwrap();
            let address = addresses(folder.path()).swap_remove(carrier);
            let mut serving = Generation::start(&address, folder.path(), PATIENCE);
            let client = Client::connect(&serving.address).await.unwrap();
            for round in 0..3u8 {
                let session = client.session().await.unwrap();
                let mut stream = session.open(1).await.unwrap();
                stream.send(&[round]).await.unwrap();
                assert_eq!(soon(stream.receive()).await.unwrap().unwrap().to_vec(), [round]);
                let next = Generation::start(&serving.address, folder.path(), PATIENCE);
                let last = std::mem::replace(&mut serving, next);
                soon(async {
                    while !session.is_going_away() {
                        assert_eq!(client.call(0, b"x").await.unwrap().to_vec(), b"x");
                    }
                })
                .await;
                drop(session);
                assert_eq!(client.call(0, b"there").await.unwrap().to_vec(), b"there");
                stream.send(b"still here").await.unwrap();
                let reply = soon(stream.receive()).await.unwrap().unwrap();
                assert_eq!(reply.to_vec(), b"still here");
                assert!(!last.serving.is_finished());
                drop(stream);
                last.ends().await;
            }
            drop(client);
            serving.stopper.stop();
            serving.ends().await;
        }
    });
}

/// Replies to a call by a stream that the server opens to the client.
async fn notify(call: OwnedCall) -> Result<(), ReplyError> {
    let mut stream = StreamOpener::of(&call).unwrap().open(7).await.unwrap();
    stream.send(&call.request().to_vec()).await.unwrap();
    stream.finish().await.unwrap();
    call.reply(b"")
}

#[test]
fn clone_of_a_client_opens_and_accepts_streams_over_a_restart() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let address = &addresses(folder.path())[0];
        let start = || {
            let admin = folder.path().join("admin");
            let options = ServerOptions::new().take_over(true).admin_socket(admin);
            let options = options.drain_timeout(Duration::from_secs(3600));
            let server = Server::bind_with(address, options).unwrap();
            (server.stopper(), tokio::spawn(server.serve_streams(notify, echo_stream)))
        };
        let (_, first) = start();
        let client = Client::connect(address).await.unwrap();
        let accepting = client.clone();
        let accepting = tokio::spawn(async move {
            let (method, mut stream) = accepting.accept().await.unwrap();
            (method, stream.receive().await.unwrap().unwrap().to_vec())
        });
        let mut old = client.open(1).await.unwrap();
        old.send(b"before").await.unwrap();
        assert_eq!(soon(old.receive()).await.unwrap().unwrap().to_vec(), b"before");

        let (stopper, last) = start();
        soon(async {
            loop {
                let mut probe = client.open(1).await.unwrap();
                if probe.session() != old.session() {
                    break;
                }
                // It ends, so that fewer are open than may be.
                probe.finish().await.unwrap();
                while probe.receive().await.unwrap().is_some() {}
            }
        })
        .await;
        old.send(b"still here").await.unwrap();
        assert_eq!(soon(old.receive()).await.unwrap().unwrap().to_vec(), b"still here");
        drop(old);
        // The task that accepts has left the old session too.
        soon(first).await.unwrap().unwrap();
        client.call(0, b"news").await.unwrap();
        assert_eq!(soon(accepting).await.unwrap(), (7, b"news".to_vec()));
        drop(client);
        stopper.stop();
        soon(last).await.unwrap().unwrap();
    });
}

#[test]
fn under_load_no_call_fails() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let address = &addresses(folder.path())[0];
        let mut serving = Generation::start(address, folder.path(), PATIENCE);
        let client = Arc::new(Client::connect(&serving.address).await.unwrap());
        let over = Arc::new(AtomicBool::new(false));
        let callers: Vec<_> = (0..4u8)
            .map(|caller| {
                let (client, over) = (Arc::clone(&client), Arc::clone(&over));
                tokio::spawn(async move {
                    let mut calls = 0u32;
                    while !over.load(Ordering::Relaxed) {
                        let request = vec![caller; 1 + calls as usize % 9000];
                        assert!(client.call(0, &request).await.unwrap().to_vec() == request);
                        calls += 1;
                    }
                    calls
                })
            })
            .collect();
        for _ in 0..5 {
            let next = Generation::start(address, folder.path(), PATIENCE);
            std::mem::replace(&mut serving, next).ends().await;
        }
        over.store(true, Ordering::Relaxed);
        for caller in callers {
            assert!(soon(caller).await.unwrap() > 0);
        }
        drop(client);
        serving.stopper.stop();
        serving.ends().await;
    });
}

#[test]
fn one_way_message_of_gone_client_is_served_to_its_end() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let address = &addresses(folder.path())[0];
        let options = || {
            let admin = folder.path().join("admin");
            ServerOptions::new().take_over(true).admin_socket(admin).drain_timeout(PATIENCE)
        };
        let (say, mut said) = tokio::sync::mpsc::unbounded_channel();
        let gate = Arc::new(tokio::sync::Semaphore::new(0));
        let handler = {
            let gate = Arc::clone(&gate);
            move |call: OwnedCall| {
                let (say, gate) = (say.clone(), Arc::clone(&gate));
                async move {
                    if !call.is_one_way() {
                        return call.echo();
                    }
                    say.send("begun").unwrap();
                    gate.acquire().await.unwrap().forget();
                    say.send("done").unwrap();
                    Ok(())
                }
            }
        };
        let first = Server::bind_with(address, options()).unwrap();
        let serving = tokio::spawn(first.serve(handler));
        let watching = Session::connect(address).await.unwrap();
        let leaving = Session::connect(address).await.unwrap();
        leaving.post(0, b"x").await.unwrap();
        assert_eq!(soon(said.recv()).await, Some("begun"));
        drop(leaving);
        // The server learns of that in its turn.
        for _ in 0..20 {
            watching.call(0, b"y").await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let last = Generation::start(address, folder.path(), PATIENCE);
        soon(async {
            while !watching.is_going_away() {
                let _ = watching.call(0, b"y").await;
            }
        })
        .await;
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        gate.add_permits(1);
        assert_eq!(soon(said.recv()).await, Some("done"));
        drop(watching);
        soon(serving).await.unwrap().unwrap();
        last.stopper.stop();
        last.ends().await;
    });
}

#[test]
fn stream_past_drain_time_is_cut_with_an_error() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let address = &addresses(folder.path())[0];
        let first = Generation::start(address, folder.path(), Duration::from_millis(30));
        let client = Client::connect(address).await.unwrap();
        let mut stream = client.session().await.unwrap().open(1).await.unwrap();
        stream.send(b"x").await.unwrap();
        soon(stream.receive()).await.unwrap().unwrap();
        let last = Generation::start(address, folder.path(), PATIENCE);
        let error = soon(stream.receive()).await.map(drop).unwrap_err();
        let is_told = matches!(error, StreamError::Session(_) | StreamError::Reset(_));
        assert!(is_told, "{error:?}");
        let stopper = first.stopper.clone();
        first.ends().await;
        assert_eq!(stopper.unserved().calls_cut, 1);
        assert_eq!(client.call(0, b"y").await.unwrap().to_vec(), b"y");
        drop((client, stream));
        last.stopper.stop();
        last.ends().await;
    });
}
