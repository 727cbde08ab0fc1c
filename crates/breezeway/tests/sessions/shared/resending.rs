//! Calls that are made again on another session: their time goes on.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{
    Carrier, Client, ClientOptions, ErrorCode, Incoming, OwnedCall, Pool, ServerSession,
    SessionOptions,
};

use crate::support::{Folder, PATIENCE};

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

fn of_a_client(make: impl FnOnce(&Folder, ClientOptions)) {
    let folder = Folder::on(Carrier::Shm);
    let listener = UnixListener::bind(folder.socket()).unwrap();
    let session = SessionOptions::new().handshake_timeout(PATIENCE).call_timeout(Some(PATIENCE));
    let said = thread::scope(|scope| {
        let serving = scope.spawn(|| said(&listener));
        make(&folder, ClientOptions::new().session(session));
        serving.join().unwrap()
    });
    let [first, second] = said.map(Option::unwrap);
    assert!(first <= PATIENCE + PATIENCE / 1_000, "{first:?}");
    assert!(second + WHILE / 2 < first, "{first:?}, then {second:?}");
}

#[test]
fn the_time_of_a_call_that_a_shared_session_makes_again_goes_on() {
    of_a_client(|folder, options| {
        let client = Client::connect_with(folder.address(), options).unwrap();
        assert_eq!(client.call(0, b"again").unwrap().to_vec(), b"again");
    });
}

#[test]
fn the_time_of_a_call_that_a_pool_makes_again_goes_on() {
    of_a_client(|folder, options| {
        let client = Pool::connect_with(folder.address(), options).unwrap();
        assert_eq!(client.call(0, b"again").unwrap().to_vec(), b"again");
    });
}
