//! Calls that are made again on another session: their time goes on.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{Address, ErrorCode, Incoming, OwnedCall, ServerSession, SessionOptions};
use breezeway_tokio::{Client, ClientOptions};

use crate::support::{PATIENCE, on_both_runtimes, soon};

/// A duration that is large enough to change the time in an entry.
const WHILE: Duration = Duration::from_millis(200);

fn accept(listener: &UnixListener) -> ServerSession {
    let (socket, _) = listener.accept().unwrap();
    let options = SessionOptions::new().handshake_timeout(PATIENCE);
    ServerSession::from_socket(OwnedFd::from(socket), &options).unwrap()
}

fn call(server: &ServerSession) -> OwnedCall {
    match server.accept() {
        Ok(Some(Incoming::Call(call))) => call,
        _ => panic!("no call"),
    }
}

/// Returns the caller's time in two entries: of the call at a server that lets some time pass and
/// goes away, and at the next server.
fn said(listener: &UnixListener) -> [Option<Duration>; 2] {
    let first = accept(listener);
    let asked = call(&first);
    let (said, began) = (asked.time_left(), Instant::now());
    while began.elapsed() < WHILE {
        thread::sleep(WHILE);
    }
    first.go_away();
    let _ = asked.fail(ErrorCode::Refused, "it goes away");
    let second = accept(listener);
    let asked = call(&second);
    let said = [said, asked.time_left()];
    let _ = asked.echo();
    said
}

#[test]
fn the_time_of_a_call_that_is_made_again_goes_on() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let serving = tokio::task::spawn_blocking(move || said(&listener));
        let session =
            SessionOptions::new().handshake_timeout(PATIENCE).call_timeout(Some(PATIENCE));
        let address: Address = format!("shm:{}", path.display()).parse().unwrap();
        let options = ClientOptions::new().session(session);
        let client = Client::connect_with(&address, options).await.unwrap();
        assert_eq!(soon(client.call(0, b"again")).await.unwrap().to_vec(), b"again");
        let [first, second] = soon(serving).await.unwrap().map(Option::unwrap);
        assert!(first <= PATIENCE + PATIENCE / 1_000, "{first:?}");
        assert!(second + WHILE / 2 < first, "{first:?}, then {second:?}");
    });
}
