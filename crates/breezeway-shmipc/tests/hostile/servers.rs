//! Servers that break the rules, towards a client of ours.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use breezeway_shmipc::{Address, Client, ClientOptions, SessionOptions, Trust};

use crate::raw::{message, read_to_end};

fn options() -> ClientOptions {
    let session = SessionOptions::new().handshake_timeout(Duration::from_secs(20));
    ClientOptions::new(Trust::SameUser).session(session).buffer_size(1 << 20).slices([(1004, 100)])
}

/// A client's outcome against a server that does this with its connection.
fn against(
    options: ClientOptions,
    serve: impl FnOnce(&mut UnixStream) + Send,
) -> Result<Client, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sock");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&mut listener.accept().unwrap().0));
        Client::connect(&Address::Unix(path.clone()), options).map_err(|error| error.to_string())
    })
}

fn read(socket: &mut UnixStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    socket.read_exact(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_server_that_closes_at_once() {
    let error = against(options(), |_| {}).err().unwrap();
    assert!(error.contains("closed the connection"), "{error}");
}

#[test]
fn a_server_that_says_nothing() {
    let short = SessionOptions::new().handshake_timeout(Duration::from_millis(30));
    let error = against(options().session(short), |socket| {
        read_to_end(socket);
    });
    let error = error.err().unwrap();
    assert!(error.contains("in time"), "{error}");
}

#[test]
fn a_server_with_another_version() {
    for (version, accepted) in [(2, false), (3, true), (7, true)] {
        let error = against(options(), |socket| {
            assert_eq!(read(socket, 8), message(3, 4, &[]));
            socket.write_all(&message(version, 4, &[])).unwrap();
        });
        let error = error.err().unwrap();
        assert_eq!(error.contains("protocol version"), !accepted, "{error}");
    }
}

#[test]
fn a_server_that_speaks_something_else() {
    let error = against(options(), |socket| {
        read(socket, 8);
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n").unwrap();
    });
    let error = error.err().unwrap();
    assert!(error.contains("magic"), "{error}");
}

#[test]
fn a_server_that_answers_in_the_wrong_order() {
    let error = against(options(), |socket| {
        read(socket, 8);
        socket.write_all(&message(3, 6, &[])).unwrap();
    });
    let error = error.err().unwrap();
    assert!(error.contains("type 6"), "{error}");
}
