use std::fs::File;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;

use breezeway_adversary::certificates::{Authority, Valid};
use breezeway_adversary::interception::{Which, with_faults};
use breezeway_adversary::stopwatch::eventually;
use rustix::net::sockopt::set_socket_send_buffer_size;
use rustls::StreamOwned;
use rustls::server::{ServerConfig, ServerSessionMemoryCache};
use tempfile::TempDir;

use std::time::Duration;

use super::*;
use crate::carrier::tls::SESSION;

const PATIENCE: Duration = Duration::from_secs(10);

/// Certificates of both sides: those of a client and of a server, and the configuration of a
/// server driven by hand.
struct Sides {
    client: Tls,
    server: Tls,
    by_hand: ServerConfig,
    _folder: TempDir,
}

impl Sides {
    fn new() -> Self {
        Self::of(&["localhost"])
    }

    fn of(names: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(folder.path());
        let issued = authority.issue(names, Valid::Now);
        let server = Tls::new().certificate(&issued.chain, &issued.key).unwrap();
        let by_hand = Arc::unwrap_or_clone(Tls::server(Some(&server)).unwrap());
        let client = Tls::new().roots(authority.root()).unwrap();
        Self { client, server, by_hand, _folder: folder }
    }

    fn connect(&self, socket: UnixStream) -> TlsSocket {
        let deadline = Deadline::after(PATIENCE);
        TlsSocket::connect(socket.into(), "localhost", Some(&self.client), SESSION, deadline)
            .unwrap()
    }

    fn by_hand(&self, socket: UnixStream) -> ByHand {
        let connection = ServerConnection::new(Arc::new(self.by_hand.clone())).unwrap();
        StreamOwned::new(connection, socket)
    }

    /// Connects a client and a server driven by hand.
    fn connected(&self) -> (TlsSocket, ByHand) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut server = self.by_hand(theirs);
        let serving = std::thread::spawn(move || {
            while server.conn.is_handshaking() {
                server.conn.complete_io(&mut server.sock).unwrap();
            }
            server
        });
        let client = self.connect(ours);
        (client, serving.join().unwrap())
    }
}

type ByHand = StreamOwned<ServerConnection, UnixStream>;

#[test]
fn a_read_ends_where_records_without_plaintext_come() {
    let mut sides = Sides::new();
    // More bytes than all the reads below take.
    sides.by_hand.session_storage = ServerSessionMemoryCache::new(1);
    sides.by_hand.send_tls13_tickets = 5000;
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut server = sides.by_hand(theirs);
    // Serves until the client ends.
    let serving = std::thread::spawn(move || drop(server.read(&mut [0])));
    let mut client = sides.connect(ours);
    let room = &mut [0; 10];
    for _ in 0..8 {
        match client.read(room, true).unwrap() {
            Read::NoPlaintext(len) => assert!(len <= FIRST_ROOM, "{len} before it is known"),
            other => panic!("{other:?}"),
        }
    }
    drop(client);
    serving.join().unwrap();
}

/// Fills a socket, and returns the number of bytes.
fn fill(socket: &UnixStream) -> usize {
    socket.set_nonblocking(true).unwrap();
    let mut filled = 0;
    for piece in [4096, 1] {
        while let Ok(written) = (&*socket).write(&vec![0; piece]) {
            filled += written;
        }
    }
    socket.set_nonblocking(false).unwrap();
    filled
}

#[test]
fn client_handshake_waits_for_socket_room() {
    let sides = Sides::new();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let filled = fill(&ours);
    let mut server = sides.by_hand(theirs.try_clone().unwrap());
    std::thread::scope(|scope| {
        let (sender, thread) = channel();
        let connecting = scope.spawn(move || {
            sender.send(rustix::thread::gettid()).unwrap();
            sides.connect(ours)
        });
        let thread = thread.recv().unwrap().as_raw_nonzero();
        eventually("it sleeps until there is room", || {
            let state = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
            state.unwrap().rsplit(')').next().unwrap().starts_with(" S")
        });
        theirs.read_exact(&mut vec![0; filled]).unwrap();
        server.write_all(b"welcome").unwrap();
        let mut client = connecting.join().unwrap();
        let room = &mut [0; 7];
        while client.read(room, true).unwrap() != (Read::Bytes { len: 7, more: true }) {}
        assert_eq!(room, b"welcome");
    });
}

#[test]
fn partly_written_flight_continues_in_next_turns() {
    let names: Vec<String> =
        (0..800).map(|number| format!("{number}.{}", ["a"; 30].concat())).collect();
    let sides = Sides::of(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    set_socket_send_buffer_size(&ours, 1).unwrap();
    let mut server = TlsSocket::accept(ours.into(), Some(&sides.server)).unwrap();
    let config = Tls::client(Some(&sides.client)).unwrap();
    let name = ServerName::try_from(names[0].clone()).unwrap();
    let mut client = ClientConnection::new(config, name).unwrap();
    client.write_tls(&mut theirs).unwrap();
    assert!(!server.shake().unwrap());
    assert!(server.has_unwritten(), "the certificate alone has more than the socket holds");
    let mut turns = 0;
    while client.is_handshaking() {
        if client.wants_write() {
            client.write_tls(&mut theirs).unwrap();
        } else {
            assert_ne!(client.read_tls(&mut (&theirs).take(1000)).unwrap(), 0);
            client.process_new_packets().unwrap();
        }
        server.shake().unwrap();
        turns += 1;
        assert!(turns < 1000, "each turn takes some");
    }
    while client.wants_write() {
        client.write_tls(&mut theirs).unwrap();
    }
    assert!(server.shake().unwrap());
    assert!(!server.has_unwritten());
}

#[test]
fn bytes_before_an_error_are_read_first() {
    // An invalid record, behind a valid one.
    let (mut client, mut server) = Sides::new().connected();
    server.write_all(b"hello").unwrap();
    server.conn.writer().write_all(b"spoiled").unwrap();
    let mut record = Vec::new();
    server.conn.write_tls(&mut record).unwrap();
    *record.last_mut().unwrap() ^= 1;
    server.sock.write_all(&record).unwrap();
    let room = &mut [0; 100];
    let read = client.read(room, true).unwrap();
    assert_eq!((read, &room[..5]), (Read::Bytes { len: 5, more: true }, &b"hello"[..]));
    assert!(client.has_buffered(), "the socket does not report the error");
    let failed = client.read(room, true);
    assert!(matches!(failed, Err(LinkError::Tls(TlsError::Protocol(_)))), "{failed:?}");

    // A socket that fails, behind bytes that were decrypted.
    let (mut client, mut server) = Sides::new().connected();
    server.write_all(b"hello").unwrap();
    let read = client.read(&mut room[..1], true).unwrap();
    assert_eq!(read, Read::Bytes { len: 1, more: true });
    client.socket = File::open("/dev/null").unwrap().into();
    let read = client.read(room, true).unwrap();
    assert_eq!((read, &room[..4]), (Read::Bytes { len: 4, more: true }, &b"ello"[..]));
    assert!(client.has_buffered(), "the error is kept");
    let failed = client.read(room, true);
    assert!(matches!(failed, Err(LinkError::Io(Errno::NOTSOCK))), "{failed:?}");

    // An end.
    let (mut client, mut server) = Sides::new().connected();
    server.write_all(b"hello").unwrap();
    drop(server);
    let read = client.read(room, true).unwrap();
    let Read::Bytes { len: 5, .. } = read else { panic!("{read:?}") };
    assert_eq!(client.read(room, true).unwrap(), Read::End);
}

#[test]
fn known_peer_is_read_in_larger_pieces_without_loss() {
    let (mut client, mut server) = Sides::new().connected();
    let sent: Vec<u8> = (0..40_000u32).map(|number| (number / 7) as u8).collect();
    // All of it is in the socket before any is read.
    server.write_all(&sent).unwrap();
    let mut came: Vec<u8> = Vec::new();
    let mut read = |client: &mut TlsSocket| {
        let mut room = vec![0; ROOM];
        match client.read(&mut room, true).unwrap() {
            Read::Bytes { len, .. } => came.extend(&room[..len]),
            Read::NoPlaintext(_) => {}
            other => panic!("{other:?}"),
        }
        (client.received.len(), came.len())
    };
    let (room, before) = read(&mut client);
    assert_eq!(room, FIRST_ROOM);
    assert!(before <= FIRST_ROOM, "{before}");
    client.read_in_bulk();
    let (room, after) = read(&mut client);
    assert_eq!(room, ROOM);
    assert_eq!(after, sent.len(), "all the rest by one system call");
    assert!(came == sent, "in order");
}

#[test]
fn kernel_shortage_of_a_call_is_retried() {
    let (mut client, mut server) = Sides::new().connected();
    server.write_all(b"hello").unwrap();
    // The first of each.
    let mut failed = Vec::new();
    let calls = [libc::SYS_recvfrom, libc::SYS_sendto];
    let outcome = with_faults(
        &calls.map(|call| (call, Which::All)),
        |call| {
            let is_first = !failed.contains(&call.number);
            failed.extend(is_first.then_some(call.number));
            is_first.then_some(Errno::NOMEM)
        },
        || (client.write(&[IoSlice::new(b"hi")]), client.read(&mut [0; 5], true)),
    );
    let (written, read) = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return println!("SKIPPED: no system calls can be intercepted: {error}"),
    };
    assert_eq!(written, Ok(Write::Bytes(2)));
    assert!(matches!(read, Ok(Read::Bytes { len: 5, .. })), "{read:?}");
    assert_eq!(failed.len(), calls.len(), "{failed:?}");
}
