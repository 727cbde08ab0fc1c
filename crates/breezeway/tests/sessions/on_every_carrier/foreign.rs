//! Clients of another protocol at a server that knows what to do with them.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use breezeway::{
    Address, Call, ConnectError, ExclusiveSession, ForeignConnection, HandshakeError, Server,
    ServerOptions, SessionListener, Stopper,
};
use breezeway_adversary::{Connection, socket};
use rustix::process::{Resource, getrlimit};

use crate::support::{
    Folder, PATIENCE, PROMPT, Stopwatch, carrier, eventually, has_socket_file, patient, raw,
    wait_for, within,
};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A server whose handler of foreign connections gives them to the test.
struct Both {
    folder: Folder,
    handed_over: Receiver<ForeignConnection>,
    stopper: Stopper,
    serving: Option<JoinHandle<()>>,
}

impl Both {
    fn start(options: ServerOptions) -> Self {
        let (sender, handed_over) = channel();
        let options = options.on_foreign_connection(move |connection| {
            assert_ne!(connection.first_bytes(), b"panic at", "as the test wants it");
            sender.send(connection).unwrap();
        });
        Self::with(options, handed_over)
    }

    fn with(options: ServerOptions, handed_over: Receiver<ForeignConnection>) -> Self {
        let folder = Folder::new();
        let server = Server::bind_with(folder.address(), options).unwrap();
        let stopper = server.stopper();
        let serve = move || server.serve(|call: Call<'_>| call.reply(b"")).unwrap();
        Self { folder, handed_over, stopper, serving: Some(std::thread::spawn(serve)) }
    }

    fn address(&self) -> Address {
        self.folder.address()
    }

    fn connect(&self) -> Connection {
        raw::connect(&self.address())
    }

    #[track_caller]
    fn next(&self) -> ForeignConnection {
        wait_for(&self.handed_over, PATIENCE).expect("a connection is handed over")
    }

    /// A new client is served, in time.
    #[track_caller]
    fn serves(&self) {
        let address = self.address();
        within(PATIENCE, "a client", move || {
            let mut session = ExclusiveSession::connect_with(&address, &patient()).unwrap();
            assert!(session.call(0, b"").unwrap().to_vec().is_empty());
        });
    }
}

impl Drop for Both {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(serving) = self.serving.take() {
            let ended = serving.join();
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

/// Returns options with a handshake timeout, in which an honest client is sure to send something.
fn with_timeout(timeout: Duration) -> ServerOptions {
    ServerOptions::new().session(patient().handshake_timeout(timeout))
}

#[track_caller]
fn is_closed(mut client: &Connection) {
    client.set_read_timeout(PATIENCE);
    let mut said = Vec::new();
    match client.read_to_end(&mut said) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
    assert_eq!(said, b"", "nothing is said to it in words of another protocol");
}

#[test]
fn the_handler_gets_all_bytes_however_they_come() {
    let both = Both::start(with_timeout(PATIENCE));
    // None, the first that differs, fewer than eight, eight, more.
    for first in [1, 3, 7, 8, 9, PREFACE.len()] {
        let mut client = both.connect();
        client.write_all(&PREFACE[..first]).unwrap();
        both.serves();
        client.write_all(&PREFACE[first..]).unwrap();
        let mut connection = both.next();
        assert_eq!(connection.first_bytes()[..8], PREFACE[..8]);
        assert_eq!(connection.carrier(), carrier());
        assert_eq!(connection.peer().remote.is_some(), !has_socket_file());
        let mut read = [0; PREFACE.len()];
        // Not all of the first bytes at once.
        connection.read_exact(&mut read[..5]).unwrap();
        assert_eq!(connection.first_bytes()[..3], PREFACE[5..8]);
        connection.read_exact(&mut read[5..]).unwrap();
        assert_eq!(read, PREFACE);
        assert_eq!(connection.first_bytes(), b"");

        connection.write_all(b"hello").unwrap();
        connection.shutdown_write().unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "hello");
        client.write_all(b"bye").unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        connection.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"bye");
    }
}

#[test]
fn prefix_that_differs_from_hello_is_handed_over() {
    let both = Both::start(with_timeout(PATIENCE));
    for first in 0..8 {
        let mut said = *b"BRZWHELO";
        said[first] ^= 1;
        let mut client = both.connect();
        for byte in said {
            client.write_all(&[byte]).unwrap();
        }
        assert_eq!(both.next().first_bytes(), said);
    }
}

#[test]
fn stopping_or_closing_short_prefix_is_not_handed_over() {
    let timeout = Duration::from_millis(500);
    let both = Both::start(with_timeout(timeout));
    // The timeout counts by the clock on the wall, also while this process stands still.
    let start = Instant::now();
    let mut clients: Vec<_> = (1..8).map(|_| both.connect()).collect();
    for (len, client) in (1..).zip(&mut clients) {
        client.write_all(&PREFACE[..len]).unwrap();
    }
    for client in &clients {
        is_closed(client);
    }
    assert!(start.elapsed() >= timeout, "given up after {:?}", start.elapsed());
    let mut leaving = both.connect();
    leaving.write_all(&PREFACE[..7]).unwrap();
    leaving.shutdown(std::net::Shutdown::Write).unwrap();
    is_closed(&leaving);
    assert!(both.handed_over.try_recv().is_err());
    both.serves();
}

#[test]
fn silent_client_outlives_the_handshake_timeout() {
    let both = Both::start(with_timeout(Duration::from_millis(200)));
    let (mut silent, mut late) = (both.connect(), both.connect());
    // The time of this one, which connects after them, ends after theirs would.
    let mut slow = both.connect();
    slow.write_all(&PREFACE[..1]).unwrap();
    is_closed(&slow);
    let _ = late.write_all(&PREFACE[..7]);
    is_closed(&late);
    silent.write_all(PREFACE).unwrap();
    let mut connection = both.next();
    connection.write_all(b"hello").unwrap();
    connection.shutdown_write().unwrap();
    let mut answer = String::new();
    silent.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "hello");
    let idle = both.connect();
    drop(both);
    is_closed(&idle);
}

#[test]
fn bytes_that_trickle_in_do_not_extend_the_handshake_timeout() {
    let both = Both::start(with_timeout(Duration::from_millis(400)));
    let mut client = both.connect();
    let start = Stopwatch::start();
    for byte in &PREFACE[..7] {
        // The server may have given up already, on a slow machine.
        let _ = client.write_all(&[*byte]);
        std::thread::sleep(Duration::from_millis(20));
    }
    is_closed(&client);
    assert!(start.elapsed() < PATIENCE);
    assert!(both.handed_over.try_recv().is_err());
}

#[test]
fn without_a_handler_the_first_byte_that_differs_is_the_end() {
    let (_, nobody) = channel();
    let both = Both::with(with_timeout(PATIENCE), nobody);
    for len in [1, 8, PREFACE.len()] {
        let mut client = both.connect();
        client.write_all(&PREFACE[..len]).unwrap();
        let start = Stopwatch::start();
        is_closed(&client);
        assert!(start.elapsed() < PROMPT, "{:?}", start.elapsed());
    }
    both.serves();
}

#[test]
fn half_open_flood_evicts_oldest_and_blocks_no_client() {
    const MORE: usize = 40;
    let both = Both::start(with_timeout(PATIENCE));
    let open_files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let room = usize::try_from(open_files / 4).unwrap().min(1024);
    let mut flood = Vec::new();
    for number in 0..room + MORE {
        let mut client = both.connect();
        // The server may have pushed it out already.
        let _ = client.write_all(&PREFACE[..number % 8]);
        flood.push(client);
        if number.is_multiple_of(100) {
            both.serves();
            let mut honest = both.connect();
            honest.write_all(PREFACE).unwrap();
            assert_eq!(both.next().first_bytes()[..8], PREFACE[..8]);
        }
    }
    both.serves();
    flood[..MORE].iter().for_each(is_closed);
    assert!(both.handed_over.try_recv().is_err());
    drop(both);
    flood.iter().for_each(is_closed);
}

#[test]
fn handler_panic_closes_only_its_connection() {
    let both = Both::start(with_timeout(PATIENCE));
    for _ in 0..3 {
        let mut client = both.connect();
        client.write_all(b"panic at").unwrap();
        is_closed(&client);
        let mut next = both.connect();
        next.write_all(PREFACE).unwrap();
        assert_eq!(both.next().first_bytes()[..8], PREFACE[..8]);
        both.serves();
    }
}

#[test]
fn foreign_connections_count_as_sessions_until_they_are_dropped() {
    let both = Both::start(with_timeout(PATIENCE).max_sessions(2));
    let mut clients = Vec::new();
    let mut connections = Vec::new();
    for _ in 0..2 {
        let mut client = both.connect();
        client.write_all(PREFACE).unwrap();
        clients.push(client);
        connections.push(both.next());
    }
    let error = ExclusiveSession::connect_with(both.address(), &patient()).err().unwrap();
    assert!(
        matches!(&error, ConnectError::Handshake(HandshakeError::Refused { status: 3, .. })),
        "{error}"
    );
    // A copy of the descriptor does not keep the connection open.
    let copy = connections[0].as_fd().try_clone_to_owned().unwrap();
    drop(connections.pop());
    drop(connections.pop());
    clients.iter().for_each(is_closed);
    drop(copy);
    both.serves();
}

#[test]
fn the_policy_holds_for_foreign_clients_too() {
    let options = with_timeout(PATIENCE).authorize(|_| Err("not today".to_owned()));
    let both = Both::start(options);
    let mut client = both.connect();
    // The refusal may be there before it is written.
    let _ = client.write_all(PREFACE);
    client.set_read_timeout(PATIENCE);
    let mut said = Vec::new();
    let _ = client.read_to_end(&mut said);
    assert!(both.handed_over.try_recv().is_err());
}

#[test]
fn descriptors_on_foreign_connection_are_refused() {
    if !has_socket_file() {
        return; // TCP carries none.
    }
    let both = Both::start(with_timeout(PATIENCE));
    let client = both.connect();
    let (reader, writer) = std::io::pipe().unwrap();
    assert_eq!(socket::send(&client, PREFACE, &[writer.as_fd()]), Ok(PREFACE.len()));
    is_closed(&client);

    let mut client = both.connect();
    client.write_all(PREFACE).unwrap();
    let mut connection = both.next();
    connection.read_exact(&mut [0; PREFACE.len()]).unwrap();
    assert_eq!(socket::send(&client, b"x", &[writer.as_fd()]), Ok(1));
    let error = connection.read_exact(&mut [0; 1]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{error}");
    drop(writer);
    // The pipe ends once no process holds its other end.
    within(PATIENCE, "the end of the pipe", move || {
        let mut reader = reader;
        assert_eq!(reader.read(&mut [0; 1]).unwrap(), 0);
    });
}

#[test]
fn a_session_listener_hands_over_as_well() {
    let folder = Folder::new();
    let (sender, handed_over) = channel();
    let options = with_timeout(PATIENCE)
        .max_sessions(1)
        .on_foreign_connection(move |connection| sender.send(connection).unwrap());
    let mut listener = SessionListener::bind(folder.address(), options).unwrap();
    let mut client = raw::connect(&folder.address());
    client.write_all(&PREFACE[..3]).unwrap();
    assert!(listener.accept().unwrap().is_none());
    client.write_all(&PREFACE[3..]).unwrap();
    let mut connection = None;
    eventually("it is handed over", || {
        assert!(listener.accept().unwrap().is_none());
        connection = handed_over.try_recv().ok();
        connection.is_some()
    });
    let address = folder.address();
    let refused =
        std::thread::spawn(move || ExclusiveSession::connect_with(&address, &patient()).err());
    eventually("the next one is refused", || {
        assert!(listener.accept().unwrap().is_none());
        refused.is_finished()
    });
    assert!(refused.join().unwrap().unwrap().to_string().contains("max_sessions"));
    connection.unwrap().write_all(b"still here").unwrap();
    let mut answer = [0; 10];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"still here");
}

#[test]
fn nonblocking_read_of_silent_client_would_block() {
    let both = Both::start(with_timeout(PATIENCE));
    let mut client = both.connect();
    client.write_all(&PREFACE[..8]).unwrap();
    let mut connection = both.next();
    connection.set_nonblocking(true).unwrap();
    connection.read_exact(&mut [0; 8]).unwrap();
    let error = connection.read(&mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
}
