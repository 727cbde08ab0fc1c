//! Streams between tasks.

use std::time::Duration;

use breezeway_shmipc::asynchronous::{Client, Server, Session, Stream};
use breezeway_shmipc::{
    Address, ClientOptions, ServerOptions, SessionEnd, SessionOptions, StreamError, Trust,
    WhenExhausted,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(20);

fn client_options(session: SessionOptions) -> ClientOptions {
    let small = ClientOptions::new(Trust::SameUser).buffer_size(1 << 20);
    small.slices([(1004, 50), (4076, 50)]).session(session)
}

fn pair(session: SessionOptions) -> (Session, Session) {
    let server = ServerOptions::new(Trust::SameUser);
    let (client, server) =
        breezeway_shmipc::Session::pair(&client_options(session), &server).unwrap();
    (Session::new(client).unwrap(), Session::new(server).unwrap())
}

/// Returns the result of `future`, within the time limit of a test.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("in time")
}

async fn serve_echo(session: Session) {
    while let Ok(stream) = session.accept().await {
        tokio::spawn(echo(stream));
    }
}

async fn echo(mut stream: Stream) -> Result<(), StreamError> {
    while let Some(bytes) = stream.peek().await? {
        let bytes = bytes.to_vec();
        stream.send(&bytes).await?;
        stream.release(bytes.len());
    }
    Ok(())
}

async fn assert_echo(stream: &mut Stream, len: usize) {
    let sent: Vec<u8> = (0..len).map(|at| (at * 7) as u8).collect();
    let mut received = vec![0; len];
    soon(stream.write_all(&sent)).await.unwrap();
    soon(stream.read_exact(&mut received)).await.unwrap();
    assert!(received == sent, "{len} bytes");
}

#[tokio::test]
async fn every_size_comes_back_in_one_thread() {
    let (client, server) = pair(SessionOptions::new());
    tokio::spawn(serve_echo(server));
    let mut stream = client.open().unwrap();
    for len in [1, 1004, 1005, 20_000, 300_000] {
        assert_echo(&mut stream, len).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_get_their_own_replies() {
    let (client, server) = pair(SessionOptions::new());
    tokio::spawn(serve_echo(server));
    let tasks: Vec<_> = (0..199)
        .map(|number| {
            let mut stream = client.open().unwrap();
            tokio::spawn(async move {
                for round in 0..20 {
                    assert_echo(&mut stream, 1 + (number * 97 + round * 31) % 3000).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn waiting_task_receives_the_end() {
    let (client, server) = pair(SessionOptions::new());
    let mut stream = client.open().unwrap();
    soon(stream.send(b"x")).await.unwrap();
    let mut served = soon(server.accept()).await.unwrap();
    soon(served.peek()).await.unwrap();
    served.release(1);
    let waiting = tokio::spawn(async move { served.peek().await.map(|peeked| peeked.is_none()) });
    stream.close();
    assert!(soon(waiting).await.unwrap().unwrap());
    let waiting = tokio::spawn(async move { server.accept().await.map(drop) });
    client.get().close();
    let ended = soon(waiting).await.unwrap();
    assert!(matches!(ended, Err(StreamError::Session(SessionEnd::PeerGone))));
}

#[tokio::test]
async fn a_wait_that_is_given_up_loses_nothing() {
    let (client, server) = pair(SessionOptions::new());
    let mut stream = client.open().unwrap();
    soon(stream.send(b"a")).await.unwrap();
    let mut served = soon(server.accept()).await.unwrap();
    let mut byte = [0];
    soon(served.read_exact(&mut byte)).await.unwrap();
    assert!(timeout(Duration::from_millis(1), served.peek()).await.is_err());
    soon(stream.send(b"b")).await.unwrap();
    soon(served.read_exact(&mut byte)).await.unwrap();
    assert_eq!(&byte, b"b");
}

#[tokio::test]
async fn a_sender_waits_for_room_and_goes_on() {
    for choice in [WhenExhausted::Wait, WhenExhausted::UseSocket] {
        let (client, server) = pair(SessionOptions::new().when_exhausted(choice));
        let mut stream = client.open().unwrap();
        let sending = tokio::spawn(async move { stream.send(&vec![7; 3_000_000]).await });
        let mut served = soon(server.accept()).await.unwrap();
        let mut received = vec![0; 3_000_000];
        soon(served.read_exact(&mut received)).await.unwrap();
        assert!(received.iter().all(|&byte| byte == 7));
        soon(sending).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn clients_and_servers_find_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let address = Address::Unix(folder.path().join("sock"));
    let server = Server::bind(&address, ServerOptions::new(Trust::SameUser)).unwrap();
    let stopper = server.get().stopper();
    let serving = tokio::spawn(async move {
        while let Some(session) = server.accept().await {
            tokio::spawn(serve_echo(session));
        }
    });
    let client = Client::connect(&address, client_options(SessionOptions::new())).await.unwrap();
    assert_echo(&mut soon(client.open()).await.unwrap(), 5000).await;
    stopper.stop();
    soon(serving).await.unwrap();
}

/// Accepts streams and does nothing with them, until stopped.
fn start_silent(address: &Address) -> (breezeway_shmipc::Stopper, tokio::task::JoinHandle<()>) {
    let server = Server::bind(address, ServerOptions::new(Trust::SameUser)).unwrap();
    let stopper = server.get().stopper();
    let serving = tokio::spawn(async move {
        while server.accept().await.is_some() {}
        server.get().close_sessions();
    });
    (stopper, serving)
}

/// Returns a client after it has noticed that its server is gone.
async fn without_a_server(address: &Address, connect_timeout: Duration) -> Client {
    let (stopper, serving) = start_silent(address);
    let options = client_options(SessionOptions::new()).connect_timeout(connect_timeout);
    let client = Client::connect(address, options).await.unwrap();
    stopper.stop();
    soon(serving).await.unwrap();
    while !client.get().sessions().is_empty() {
        soon(tokio::task::yield_now()).await;
    }
    client
}

#[test]
fn streams_waiting_for_a_server_take_no_threads() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().max_blocking_threads(2).build().unwrap().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let address = Address::Unix(folder.path().join("sock"));
        let client = without_a_server(&address, 3 * PATIENCE).await;
        for _ in 0..3 {
            let given_up = timeout(Duration::from_millis(1), client.open()).await;
            assert!(given_up.is_err(), "there is no server");
        }
        soon(tokio::task::spawn_blocking(|| ())).await.unwrap();
        let waiting = tokio::spawn({
            let client = client.clone();
            async move { client.open().await.map(drop) }
        });
        tokio::task::yield_now().await;
        let (stopper, serving) = start_silent(&address);
        soon(waiting).await.unwrap().unwrap();
        stopper.stop();
        soon(serving).await.unwrap();
    });
}

#[tokio::test]
async fn stream_without_server_in_time_names_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let address = Address::Unix(folder.path().join("sock"));
    let client = without_a_server(&address, Duration::from_millis(50)).await;
    let Err(error) = soon(client.open()).await else { panic!("there is no server") };
    assert!(error.to_string().contains("no session within 50ms"), "{error}");
}

#[tokio::test]
async fn no_wake_up_is_lost_between_the_driver_and_the_keeper() {
    let folder = tempfile::tempdir().unwrap();
    let address = Address::Unix(folder.path().join("sock"));
    let options = ServerOptions::new(Trust::SameUser);
    let server = breezeway_shmipc::Server::bind(&address, options).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || {
        server.serve(|stream| {
            let (reader, writer) = stream.halves();
            writer.forward(reader).map(|_| ())
        });
    });
    let client = Client::connect(&address, client_options(SessionOptions::new())).await.unwrap();
    let mut tasks = Vec::new();
    for _ in 0..199 {
        let mut stream = soon(client.open()).await.unwrap();
        tasks.push(tokio::spawn(async move {
            for _ in 0..200 {
                assert_echo(&mut stream, 64).await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    stopper.stop();
    serving.join().unwrap();
}

#[tokio::test]
async fn reservation_is_filled_in_place_and_committed() {
    let (client, server) = pair(SessionOptions::new());
    let mut stream = client.open().unwrap();
    let mut reserved = stream.reserve(20_000).await.unwrap();
    let sent: Vec<u8> = (0..20_000u32).map(|at| at as u8).collect();
    assert!(reserved.capacity() >= 20_000);
    assert_eq!(reserved.write(&sent), 20_000);
    soon(reserved.commit()).await.unwrap();
    let mut served = soon(server.accept()).await.unwrap();
    assert_eq!(soon(served.peek_at_least(20_000)).await.unwrap().unwrap().to_vec(), sent);
    served.release(20_000);
    drop(stream.reserve(20_000).await.unwrap());
    let most = 900_000;
    assert_eq!(soon(stream.reserve(most)).await.unwrap().filled(), 0, "all came back");
    assert!(matches!(
        soon(served.peek_at_least(usize::MAX)).await.err(),
        Some(StreamError::TooLarge { .. })
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reservations_wait_for_memory_and_for_the_queue() {
    let session = SessionOptions::new().when_exhausted(WhenExhausted::Wait);
    let (client, server) = pair(session);
    let mut stream = client.open().unwrap();
    let sender = tokio::spawn(async move {
        for number in 0..50 {
            let mut reserved = stream.reserve(100_000).await?;
            reserved.write(&[number; 100_000]);
            reserved.commit().await?;
        }
        Ok::<_, StreamError>(())
    });
    let mut served = soon(server.accept()).await.unwrap();
    for number in 0..50 {
        let mut bytes = vec![0; 100_000];
        soon(served.read_exact(&mut bytes)).await.unwrap();
        assert!(bytes == [number; 100_000]);
    }
    soon(sender).await.unwrap().unwrap();
    assert_eq!(client.get().statistics().streams_over_socket, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn halves_are_used_by_two_tasks_and_one_direction_is_shut_down() {
    let (client, server) = pair(SessionOptions::new());
    let served = server.clone();
    tokio::spawn(serve_echo(server));
    let (mut reader, mut writer) = client.open().unwrap().split();
    assert_eq!(reader.session().get().statistics().streams, 1);
    let sending = tokio::spawn(async move {
        for _ in 0..100 {
            writer.write_all(&[7; 10_000]).await?;
        }
        Ok::<_, std::io::Error>(writer)
    });
    let mut bytes = vec![0; 1_000_000];
    soon(reader.read_exact(&mut bytes)).await.unwrap();
    assert!(bytes.iter().all(|&byte| byte == 7));
    let mut writer = soon(sending).await.unwrap().unwrap();
    AsyncWriteExt::shutdown(&mut writer).await.unwrap();
    assert!(matches!(writer.send(b"more").await, Err(StreamError::Closed)));
    // The echo sees the end, and closes.
    while served.get().statistics().streams > 0 {
        soon(tokio::task::yield_now()).await;
    }
}

#[tokio::test]
async fn flushed_bytes_arrive_after_session_close() {
    // More than there is memory for goes over the socket at once.
    let (client, server) = pair(SessionOptions::new().patience(Duration::ZERO));
    let mut stream = client.open().unwrap();
    let reading = tokio::spawn(async move {
        let mut received = Vec::new();
        // It fails at the end of the session.
        let _ = server.accept().await.unwrap().read_to_end(&mut received).await;
        received.len()
    });
    let sent = vec![7; 4 << 20];
    soon(stream.write_all(&sent)).await.unwrap();
    soon(stream.flush()).await.unwrap();
    stream.session().get().close();
    assert_eq!(soon(reading).await.unwrap(), sent.len());
}
