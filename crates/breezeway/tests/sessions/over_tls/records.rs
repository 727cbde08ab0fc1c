//! Records that carry no session, or nothing: other protocols within TLS, records without
//! plaintext, and records for which there is little room.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use breezeway::unstable::connect_foreign;
use breezeway::{
    Address, CallError, Carrier, ExclusiveSession, ForeignConnection, ServerOptions, Tls,
};
use breezeway_adversary::certificates::Valid;
use breezeway_adversary::records::Records;
use rustix::net::sockopt::{
    set_socket_recv_buffer_size, set_socket_send_buffer_size, socket_recv_buffer_size,
    socket_send_buffer_size,
};
use rustls::{ServerConnection, StreamOwned};

use super::{
    Certificates, Echo, SERVER_NAMES, by_hand, by_hand_with, config_by_hand, peer, session,
};
use crate::parent_and_child::in_forked_child;
use crate::support::{
    EVERY_POLICY, PATIENCE, Process, Role, Settings, eventually, patient, say, wait_for, within,
};

/// Roles of the other processes of these tests.
pub(crate) const ROLES: &[(&str, Role)] = &[
    ("forker within tls", use_a_stream_in_a_forked_child),
    ("forking server within tls", serve_a_stream_to_a_forked_child),
    ("server of little room", serve_where_there_is_little_room),
];

// ---- other protocols ----

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A server that gives clients of another protocol to the test.
fn both(all: &Certificates) -> (Echo, Receiver<ForeignConnection>) {
    let (sender, handed_over) = channel();
    let options = ServerOptions::new().session(session(all.server()));
    let options = options.on_foreign_connection(move |connection| {
        sender.send(connection).unwrap();
    });
    (Echo::with(options), handed_over)
}

#[test]
fn another_protocol_within_tls_is_handed_over_with_every_byte() {
    let all = Certificates::new();
    let (echo, handed_over) = both(&all);
    for protocol in [None, Some("h2")] {
        let mut client = by_hand(&all.authority.root(), echo.port(), protocol);
        client.write_all(PREFACE).unwrap();
        let long: Vec<u8> = (0..300_000u32).map(|number| number as u8).collect();
        let sending = {
            let long = long.clone();
            std::thread::spawn(move || {
                client.write_all(&long).unwrap();
                client
            })
        };
        let mut connection = wait_for(&handed_over, PATIENCE).unwrap();
        assert_eq!(connection.first_bytes()[..8], PREFACE[..8]);
        assert_eq!(connection.carrier(), Carrier::Tls);
        let mut read = vec![0; PREFACE.len() + long.len()];
        connection.read_exact(&mut read).unwrap();
        assert_eq!(read, [PREFACE, &long].concat());
        let mut client = sending.join().unwrap();
        let answering = {
            let long = long.clone();
            std::thread::spawn(move || {
                connection.write_all(&long).unwrap();
                connection.shutdown_write().unwrap();
                let mut rest = Vec::new();
                connection.read_to_end(&mut rest).map(|_| rest)
            })
        };
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, long);
        client.write_all(b"bye").unwrap();
        client.conn.send_close_notify();
        client.flush().unwrap();
        assert_eq!(answering.join().unwrap().unwrap(), b"bye");
    }
    echo.serves(all.client());
}

#[test]
fn a_stream_of_bytes_that_ends_without_a_farewell_was_cut() {
    let all = Certificates::new();
    let (echo, handed_over) = both(&all);
    let mut client = by_hand(&all.authority.root(), echo.port(), None);
    client.write_all(PREFACE).unwrap();
    let mut connection = wait_for(&handed_over, PATIENCE).unwrap();
    client.sock.shutdown(Shutdown::Both).unwrap();
    let error = connection.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{error}");
}

/// The role: has a connection of another protocol, and tries to use it in a forked child.
fn use_a_stream_in_a_forked_child(settings: &Settings) {
    let root: PathBuf = settings.get("root");
    let address: Address = settings.get("address");
    let options = session(Tls::new().roots(root).unwrap());
    let connection = connect_foreign(&address.places()[0], &options, b"h2").unwrap();
    let mut kept = Some(connection);
    kept.as_mut().unwrap().write_all(PREFACE).unwrap();
    let outcome = in_forked_child(|| {
        let mut connection = kept.take().unwrap();
        let written = connection.write(b"from the child").is_err();
        let ended = connection.shutdown_write().is_err();
        let read = connection.read(&mut [0; 10]).is_err();
        drop(connection);
        i32::from(!(written && ended && read))
    });
    say(format!("child {outcome:?}"));
    let mut connection = kept.take().expect("taken in the child only");
    connection.write_all(b"from the parent").unwrap();
    connection.shutdown_write().unwrap();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"yes");
    say("went on");
}

#[test]
fn a_forked_child_writes_and_ends_nothing_of_its_parents_stream() {
    let all = Certificates::new();
    let (echo, handed_over) = both(&all);
    let settings =
        Settings::new().with("address", &echo.address).with("root", all.authority.root().display());
    let mut forker = Process::start("forker within tls", &settings);
    let mut connection = wait_for(&handed_over, PATIENCE).unwrap();
    forker.expect("child Ok(0)");
    let mut all_of_it = Vec::new();
    connection.read_to_end(&mut all_of_it).unwrap();
    assert_eq!(all_of_it, [PREFACE, b"from the parent"].concat());
    connection.write_all(b"yes").unwrap();
    connection.shutdown_write().unwrap();
    forker.expect("went on");
}

/// The role: serves a client of another protocol, and forks once it has its connection.
fn serve_a_stream_to_a_forked_child(settings: &Settings) {
    let [chain, key]: [PathBuf; 2] = [settings.get("chain"), settings.get("key")];
    let (sender, handed_over) = channel();
    let options = session(Tls::new().certificate(chain, key).unwrap());
    let options = ServerOptions::new().session(options).on_foreign_connection(move |connection| {
        sender.send(connection).unwrap();
    });
    let echo = Echo::with(options);
    say(format!("port {}", echo.port()));
    let mut kept = wait_for(&handed_over, PATIENCE).ok();
    let outcome = in_forked_child(|| {
        let mut connection = kept.take().unwrap();
        let written = connection.write(b"from the child").is_err();
        let flushed = connection.flush().is_err();
        let ended = connection.shutdown_write().is_err();
        drop(connection);
        i32::from(!(written && flushed && ended))
    });
    say(format!("child {outcome:?}"));
    let mut connection = kept.take().expect("taken in the child only");
    connection.write_all(b"from the parent").unwrap();
    connection.shutdown_write().unwrap();
    let mut rest = Vec::new();
    connection.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, [PREFACE, b"bye"].concat());
    say("went on");
}

#[test]
fn forked_child_encrypts_nothing_for_parents_client() {
    let all = Certificates::new();
    let issued = all.issue(&SERVER_NAMES, Valid::Now);
    let settings =
        Settings::new().with("chain", issued.chain.display()).with("key", issued.key.display());
    let mut forker = Process::start("forking server within tls", &settings);
    let port = forker.expect("port").split(' ').next_back().unwrap().parse().unwrap();
    let mut client = by_hand(&all.authority.root(), port, Some("h2"));
    client.write_all(PREFACE).unwrap();
    forker.expect("child Ok(0)");
    // What the child had encrypted would be a record of the parent's number.
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"from the parent");
    client.write_all(b"bye").unwrap();
    client.conn.send_close_notify();
    client.flush().unwrap();
    forker.expect("went on");
}

// ---- records without plaintext ----

/// A client by hand behind its handshake, with what encrypts its records.
fn encrypting(root: &Path, port: u16) -> (TcpStream, Records) {
    let StreamOwned { mut conn, mut sock } = by_hand(root, port, None);
    while conn.is_handshaking() {
        conn.complete_io(&mut sock).unwrap();
    }
    (sock, Records::new(conn.dangerous_extract_secrets().unwrap()))
}

/// Returns `count` records without a byte in them.
fn empty(records: &mut Records, count: usize) -> Vec<u8> {
    (0..count).flat_map(|_| records.data(b"")).collect()
}

#[test]
fn many_empty_records_end_handshake_and_few_do_not() {
    const HOUR: Duration = Duration::from_secs(3600);
    let all = Certificates::new();
    let (sender, handed_over) = channel();
    // Nothing else ends a handshake here.
    let options = session(all.server()).handshake_timeout(HOUR);
    let options = ServerOptions::new().session(options).on_foreign_connection(move |connection| {
        sender.send(connection).unwrap();
    });
    let echo = Echo::with(options);
    let root = all.authority.root();

    let (mut stream, mut records) = encrypting(&root, echo.port());
    stream.write_all(&empty(&mut records, 30)).unwrap();
    stream.write_all(&records.data(PREFACE)).unwrap();
    let connection = wait_for(&handed_over, PATIENCE).unwrap();
    assert_eq!(connection.first_bytes()[..8], PREFACE[..8]);

    let (mut stream, mut records) = encrypting(&root, echo.port());
    let mut sent = 0;
    while sent < 4 << 20 {
        let many = empty(&mut records, 1000);
        sent += many.len();
        if stream.write_all(&many).is_err() {
            break;
        }
    }
    // Its end, and no silence.
    match stream.read_to_end(&mut Vec::new()) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "behind {sent} bytes"),
    }
    echo.serves(all.client());
}

/// Passes bytes on between a client within TLS and a plain server until a signal, and then sends
/// the client tickets, without end, and reads nothing.
fn with_tickets_without_end(
    config: rustls::ServerConfig,
    port: u16,
) -> (Address, Arc<AtomicBool>, Receiver<()>, JoinHandle<()>) {
    const TURN: Duration = Duration::from_millis(5);
    let told = Arc::new(AtomicBool::new(false));
    let (sender, begun) = channel();
    let is_told = Arc::clone(&told);
    let (address, acting) = peer(move |stream| {
        let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
        for stream in [&stream, &server] {
            stream.set_read_timeout(Some(TURN)).unwrap();
        }
        let connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut client = StreamOwned::new(connection, stream);
        while !is_told.load(Ordering::Relaxed) {
            let mut bytes = [0; 4096];
            if let Ok(count) = client.read(&mut bytes) {
                server.write_all(&bytes[..count]).unwrap();
            }
            if let Ok(count) = server.read(&mut bytes) {
                client.write_all(&bytes[..count]).unwrap();
            }
        }
        let StreamOwned { conn, mut sock } = client;
        let mut records = Records::new(conn.dangerous_extract_secrets().unwrap());
        loop {
            let tickets: Vec<u8> = (0..100).flat_map(|_| records.ticket()).collect();
            if sock.write_all(&tickets).is_err() {
                break;
            }
            let _ = sender.send(());
        }
    });
    (address, told, begun, acting)
}

#[test]
fn deadlines_pass_while_records_without_plaintext_come() {
    let all = Certificates::new();
    let echo = Echo::at("tcp:127.0.0.1:0", ServerOptions::new().session(patient()));
    let mut config = config_by_hand(&all.issue(&SERVER_NAMES, Valid::Now));
    config.enable_secret_extraction = true;
    config.send_tls13_tickets = 0;
    for policy in EVERY_POLICY {
        // Where the caller waits for its reply, and where it waits for room.
        for len in [5, 16 << 20] {
            let (address, told, begun, acting) =
                with_tickets_without_end(config.clone(), echo.port());
            let options = session(all.client()).wait(policy);
            let mut session = ExclusiveSession::connect_with(&address, &options).unwrap();
            assert_eq!(session.call(0, b"hello").unwrap().to_vec(), b"hello");
            told.store(true, Ordering::Relaxed);
            wait_for(&begun, PATIENCE).unwrap();
            within(PATIENCE, "the deadline", move || {
                let deadline = Instant::now() + Duration::from_millis(200);
                let error = session.call_until(0, &vec![7; len], deadline).err();
                assert!(matches!(error, Some(CallError::DeadlinePassed)), "{policy:?}: {error:?}");
            });
            acting.join().unwrap();
        }
    }
}

// ---- little room ----

/// The role: serves at a socket that it is given, and prints the bytes of a client of another
/// protocol.
fn serve_where_there_is_little_room(settings: &Settings) {
    let [chain, key, admin]: [PathBuf; 3] =
        [settings.get("chain"), settings.get("key"), settings.get("admin")];
    let address: String = settings.get("address");
    let (sender, handed_over) = channel();
    let options = session(Tls::new().certificate(chain, key).unwrap());
    let options = ServerOptions::new().session(options).take_over(true).admin_socket(admin);
    let echo = Echo::at(
        &address,
        options.on_foreign_connection(move |connection| sender.send(connection).unwrap()),
    );
    say(format!("port {}", echo.port()));
    let mut connection = wait_for(&handed_over, PATIENCE).unwrap();
    let mut read = vec![0; PREFACE.len()];
    connection.read_exact(&mut read).unwrap();
    say(format!("read {}", read.escape_ascii()));
}

#[test]
fn server_flight_without_room_is_sent_when_there_is() {
    let all = Certificates::new();
    let names: Vec<String> =
        (0..800).map(|number| format!("{number}.{}", ["a"; 30].concat())).collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.push("localhost");
    let issued = all.issue(&names, Valid::Now);
    // An accepted socket has the buffer sizes of its listener.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    set_socket_send_buffer_size(&listener, 1).unwrap();
    let port = listener.local_addr().unwrap().port();
    let settings = Settings::new()
        .with("chain", issued.chain.display())
        .with("key", issued.key.display())
        .with("admin", all.folder.path().join("admin.sock").display())
        .with("address", format!("tls:127.0.0.1:{port}"));
    let room = socket_send_buffer_size(&listener).unwrap();
    let mut server = Process::start_listening("server of little room", &settings, listener);
    assert_eq!(server.expect("port"), port.to_string());
    let StreamOwned { mut conn, mut sock } =
        by_hand_with(&all.authority.root(), port, None, |socket| {
            set_socket_recv_buffer_size(socket, 1).unwrap();
        });
    let room = room + socket_recv_buffer_size(&sock).unwrap();
    let certificate = std::fs::metadata(&issued.chain).unwrap().len() / 4 * 3;
    assert!(certificate > 3 * room as u64, "{room} for {certificate}");
    while conn.wants_write() {
        conn.write_tls(&mut sock).unwrap();
    }
    // As much as there is room for comes, and the rest wants more.
    eventually("the server answers", || rustix::io::ioctl_fionread(&sock).unwrap() > 1000);
    while conn.is_handshaking() {
        conn.complete_io(&mut sock).unwrap();
    }
    let mut client = StreamOwned::new(conn, sock);
    client.write_all(PREFACE).unwrap();
    assert_eq!(server.expect("read"), PREFACE.escape_ascii().to_string());
    server.succeeds();
}

#[test]
fn nonblocking_write_without_room_is_flushed_later() {
    let all = Certificates::new();
    let (echo, handed_over) = both(&all);
    let mut client = by_hand(&all.authority.root(), echo.port(), None);
    client.write_all(PREFACE).unwrap();
    let mut connection = wait_for(&handed_over, PATIENCE).unwrap();
    connection.set_nonblocking(true).unwrap();
    let (piece, mut sent) = (vec![7; 60_000], 0);
    loop {
        match connection.write(&piece) {
            Ok(count) => sent += count,
            Err(error) => break assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }
    assert_eq!(connection.flush().unwrap_err().kind(), ErrorKind::WouldBlock);
    let reading = std::thread::spawn(move || {
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).map(|_| answer.len())
    });
    eventually("there is room for the rest", || connection.flush().is_ok());
    connection.set_nonblocking(false).unwrap();
    connection.shutdown_write().unwrap();
    assert_eq!(reading.join().unwrap().unwrap(), sent);
}
