//! Servers that break the rules, with an honest client.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use breezeway_adversary::shmipc::Peer;
use breezeway_adversary::shmipc::handshake::read_to_end;
use breezeway_adversary::shmipc::message::message;
use breezeway_shmipc::{
    Address, Client, ClientOptions, SessionEnd, SessionOptions, StreamError, Trust, Violation,
};

fn options() -> ClientOptions {
    let session = SessionOptions::new().handshake_timeout(Duration::from_secs(20));
    ClientOptions::new(Trust::SameUser).session(session).buffer_size(1 << 20).slices([(1004, 100)])
}

/// Returns a client's outcome against a server that does this with its connection.
fn against(
    options: ClientOptions,
    serve: impl FnOnce(&mut UnixStream) + Send,
) -> Result<Client, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sock");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&mut listener.accept().unwrap().0));
        let client = Client::connect(&Address::Unix(path.clone()), options);
        // For a client that failed before it connected: otherwise the server would wait for ever.
        drop(UnixStream::connect(&path));
        client.map_err(|error| error.to_string())
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
fn silent_server_fails_at_handshake_timeout() {
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

#[test]
fn memory_that_a_client_offers_is_not_inherited_over_exec() {
    let error = against(options(), |socket| {
        read(socket, 8);
        socket.write_all(&message(3, 4, &[])).unwrap();
        // It has made the regions, and holds their descriptors until it may hand them over.
        read(socket, 12);
        let inheritable = memfds().into_iter().filter(|(_, flags)| flags & CLOEXEC == 0);
        let (held, inheritable) = (memfds().len(), inheritable.count());
        assert!(held >= 2 && inheritable == 0, "{inheritable} of {held}");
    });
    assert!(error.is_err());
}

#[test]
fn a_server_whose_reply_lies_in_no_slice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sock");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::scope(|scope| {
        let served = scope.spawn(|| {
            let mut peer = Peer::server(listener.accept().unwrap().0);
            let [stream, offset, status] = peer.take();
            assert_eq!((peer.slices.payload(offset), status), (b"hello".to_vec(), 0));
            peer.put(stream, offset + 1, 0);
            peer.wait_for_end();
            offset
        });
        let client = Client::connect(&Address::Unix(path.clone()), options()).unwrap();
        let mut stream = client.open().unwrap();
        stream.write_all(b"hello").unwrap();
        let error = stream.peek().err().unwrap();
        let offset = served.join().unwrap();
        let wanted = Violation::NoSlice(offset + 1);
        assert!(
            matches!(&error, StreamError::Session(SessionEnd::Violation(rule)) if *rule == wanted),
            "{error}"
        );
    });
}

/// O_CLOEXEC, in fdinfo's form.
const CLOEXEC: u32 = 0o2_000_000;

/// Returns the memfds of clients in this process, and the flags of each.
fn memfds() -> Vec<(std::path::PathBuf, u32)> {
    let names = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let flags = |name: std::ffi::OsString| {
        let target = std::fs::read_link(std::path::Path::new("/proc/self/fd").join(&name)).ok()?;
        let is_ours = target.to_string_lossy().starts_with("/memfd:shmipc/");
        // Other tests close theirs at the same time.
        let path = std::path::Path::new("/proc/self/fdinfo").join(&name);
        let info = std::fs::read_to_string(path).ok().filter(|_| is_ours)?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
        Some((target, u32::from_str_radix(flags.trim(), 8).unwrap()))
    };
    names.filter_map(|entry| flags(entry.file_name())).collect()
}
