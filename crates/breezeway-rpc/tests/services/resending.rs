//! Calls that are repeated on another session: their time continues.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{Address, ErrorCode, Incoming, OwnedCall, ServerSession, SessionOptions};
use breezeway_rpc::CallOptions;
use breezeway_tokio::{Client, ClientOptions};

use crate::shop::{AsyncShopClient, ShopClient};

/// Time limit for events that must come, and of a call.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time long enough that two times which differ by it differ in an entry too.
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

/// Returns the caller's remaining time as sent when a server takes its call, lets some time pass
/// and goes away, and when the next one takes it.
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
    let _ = asked.fail(ErrorCode::Failed, "enough is known");
    said
}

/// Calls with a client at an address; what comes of the call does not matter.
fn of_a_client(call: impl FnOnce(Address, CallOptions)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let serving = thread::spawn(move || said(&listener));
    let address = format!("shm:{}", path.display()).parse().unwrap();
    call(address, CallOptions::new().timeout(PATIENCE));
    let [first, second] = serving.join().unwrap().map(Option::unwrap);
    assert!(first <= PATIENCE + PATIENCE / 1_000, "{first:?}");
    assert!(second + WHILE / 2 < first, "{first:?}, then {second:?}");
}

fn options() -> ClientOptions {
    ClientOptions::new().session(SessionOptions::new().handshake_timeout(PATIENCE))
}

#[test]
fn the_time_of_an_awaited_call_that_is_made_again_goes_on() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    of_a_client(|address, with| {
        runtime.block_on(async {
            let client = Client::connect_with(&address, options()).await.unwrap();
            let client = AsyncShopClient::new(client);
            assert!(client.with(with).echo("again".to_owned()).await.is_err());
        });
    });
}

#[test]
fn the_time_of_a_call_that_is_made_again_goes_on() {
    of_a_client(|address, with| {
        let client = breezeway::Client::connect_with(&address, options()).unwrap();
        let client = ShopClient::new(client);
        assert!(client.with(with).echo("again".to_owned()).is_err());
    });
}
