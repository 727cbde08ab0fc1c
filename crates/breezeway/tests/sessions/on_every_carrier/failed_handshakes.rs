//! Peers that speak something else: clients of other protocols at our server, and our client at
//! other servers.

use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use breezeway::{
    CallError, ConnectError, ExclusiveSession, HandshakeError, HelloError, SessionOptions,
    WaitPolicy,
};
use breezeway_adversary::native::{Hello, Terms, frame};
use breezeway_adversary::{Connection, socket};

use crate::support::carrier::connections;
use crate::support::content::{Random, message};
use crate::support::server::{ECHO, assert_serves, assert_takes_clients};
use crate::support::{
    Folder, PATIENCE, PROMPT, Server, Settings, Stopwatch, eventually, on_socket, patient, raw,
    within,
};

// ---- first bytes of strangers ----

/// A hello that is right in every field; in shared memory, but for the segment that should come
/// with it.
fn hello() -> Vec<u8> {
    const CAP: u64 = 1 << 20;
    match on_socket() {
        true => frame::hello(64, CAP),
        false => Hello::new(&Terms { payload_cap: CAP, ..Terms::default() }).0,
    }
}

fn hello_with(offset: usize, field: &[u8]) -> Vec<u8> {
    let mut bytes = hello();
    bytes[offset..offset + field.len()].copy_from_slice(field);
    bytes
}

const HTTP: &[u8] =
    b"GET /health HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\r\n";

/// The hello of shmipc's version 2, as its Go client sends it.
fn shmipc_2() -> Vec<u8> {
    let mut bytes = vec![0x00, 0x00, 0x00, 0x43, 0x77, 0x58, 0x02, 0x00, 0x00, 0x1c];
    bytes.extend_from_slice(b"/dev/shm/probe_15515_queue_0");
    bytes.extend_from_slice(&[0x00, 0x1b]);
    bytes.extend_from_slice(b"/dev/shm/probe_15515_buffer");
    assert_eq!(bytes.len(), 67);
    bytes
}

/// The first message of shmipc's version 3.
const SHMIPC_3: &[u8] = &[0x00, 0x00, 0x00, 0x08, 0x77, 0x58, 0x03, 0x04];
/// The beginning of a TLS client hello.
const TLS: &[u8] = &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03];
/// The preface of HTTP/2, as gRPC clients send it.
const HTTP_2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

fn random_bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.next() as u8).collect()
}

// ---- strangers at our server ----

/// A server, and a client that calls it all the time and notes how long the slowest call took.
struct Disturbed {
    server: Server,
    before: (usize, crate::support::observe::Segments),
    calls: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    caller: Option<std::thread::JoinHandle<Duration>>,
}

impl Disturbed {
    fn start() -> Self {
        // The default, which ends silence.
        let server = Server::start(Settings::new().with("handshake", 1000));
        let mut session = server.connect(&SessionOptions::new().wait(WaitPolicy::Park));
        assert_serves(&mut session);
        let before = server.at_rest();
        let (calls, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (counter, stopping) = (Arc::clone(&calls), Arc::clone(&stop));
        let caller = std::thread::spawn(move || {
            let mut slowest = Duration::ZERO;
            while !stopping.load(Ordering::Relaxed) {
                let number = counter.fetch_add(1, Ordering::Relaxed);
                let request = message(number, (number % 5000) as usize);
                let start = Stopwatch::start();
                assert!(session.call(ECHO, request).unwrap().to_vec() == request);
                slowest = slowest.max(start.elapsed());
                // A busy loop would take the time of the other tests on a small machine.
                std::thread::yield_now();
            }
            slowest
        });
        Self { server, before, calls, stop, caller: Some(caller) }
    }

    fn connect(&self) -> Connection {
        raw::connect(&self.server.address())
    }

    /// The undisturbed client went on, no call of it took long, new ones are let in, and nothing of
    /// the strangers is left.
    #[track_caller]
    fn was_not_disturbed(mut self) {
        let seen = self.calls.load(Ordering::Relaxed);
        eventually("the other client goes on", || {
            self.calls.load(Ordering::Relaxed) > seen.max(100) + 10
        });
        let address = self.server.address();
        within(PROMPT, "a new client", move || assert_takes_clients(&address));
        self.server.returns_to(self.before);
        self.stop.store(true, Ordering::Relaxed);
        let slowest = self.caller.take().unwrap().join().unwrap();
        assert!(slowest < PROMPT, "a call took {slowest:?}");
    }
}

impl Drop for Disturbed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(caller) = self.caller.take() {
            // If it failed as well, then because the test has failed.
            let _ = caller.join();
        }
    }
}

/// Reads until the end; gives what came and how long it took. A reset counts as the end.
#[track_caller]
fn read_to_end(mut stranger: &Connection) -> (Vec<u8>, Duration) {
    stranger.set_read_timeout(PATIENCE);
    let start = Stopwatch::start();
    let mut said = Vec::new();
    match stranger.read_to_end(&mut said) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("not disconnected: {error}"),
    }
    (said, start.elapsed())
}

/// Returns the server's answer to a stranger, if any: the status and the reason of its refusal.
fn refusal(said: &[u8]) -> Option<(u32, String)> {
    if said.is_empty() {
        return None;
    }
    assert!(said.starts_with(b"BRZWHELO"), "{said:02x?}");
    let len = usize::from(u16::from_le_bytes([said[10], said[11]]));
    assert_eq!(said.len(), len);
    let status = u32::from_le_bytes(said[40..44].try_into().unwrap());
    Some((status, String::from_utf8(said[64..].to_vec()).unwrap()))
}

#[test]
fn other_protocols_are_disconnected_without_answer() {
    let disturbed = Disturbed::start();
    let other_protocols = [
        HTTP.to_vec(),
        HTTP_2.to_vec(),
        TLS.to_vec(),
        SHMIPC_3.to_vec(),
        shmipc_2(),
        b"\n".to_vec(),
        vec![0],
        vec![0; 5000],
        vec![0xff; 64],
        b"brzwhelo".to_vec(),
        b"BRZWHELP".to_vec(),
        b"BX".to_vec(),
    ];
    let random = (0..50).map(|seed| random_bytes(seed, 1 + (seed as usize * 97) % 5000));
    for said in other_protocols.into_iter().chain(random) {
        let mut stranger = disturbed.connect();
        // The server may be gone already when the rest is written.
        let _ = stranger.write_all(&said);
        let (answer, time) = read_to_end(&stranger);
        assert!(time < PROMPT, "{:02x?}: {time:?}", &said[..said.len().min(16)]);
        assert_eq!(refusal(&answer), None, "{:02x?}", &said[..said.len().min(16)]);
    }
    disturbed.was_not_disturbed();
}

#[test]
fn hellos_that_break_a_rule_are_refused_at_once_with_the_rule() {
    const VERSION: u32 = 1;
    const VIOLATION: u32 = 5;
    let disturbed = Disturbed::start();
    let huge_ring = [&131_072u32.to_le_bytes()[..], &512u32.to_le_bytes()].concat();
    for (said, status, reason) in [
        (hello_with(8, &1u16.to_le_bytes()), VERSION, "version 1"),
        (hello_with(8, &3u16.to_le_bytes()), VERSION, "version 3"),
        (hello_with(8, &0u16.to_le_bytes()), VERSION, "version 0"),
        (hello_with(10, &63u16.to_le_bytes()), VIOLATION, "hello length 63 "),
        (hello_with(10, &4097u16.to_le_bytes()), VIOLATION, "hello length 4097 "),
        (hello_with(10, &0u16.to_le_bytes()), VIOLATION, "hello length 0 "),
        (hello_with(16, &0u32.to_le_bytes()), VIOLATION, "ring capacity 0 "),
        (hello_with(16, &63u32.to_le_bytes()), VIOLATION, "ring capacity 63 "),
        (hello_with(16, &4u32.to_le_bytes()), VIOLATION, "ring capacity 4 "),
        (hello_with(16, &huge_ring), VIOLATION, "ring capacity 131072 "),
        (hello_with(20, &0u32.to_le_bytes()), VIOLATION, "lend count 0 "),
        (hello_with(20, &63u32.to_le_bytes()), VIOLATION, "lend count 63 "),
        (hello_with(20, &2048u32.to_le_bytes()), VIOLATION, "lend count 2048 "),
        (hello_with(24, &1u64.to_le_bytes()), VIOLATION, "control size 1 "),
        (hello_with(24, &u64::MAX.to_le_bytes()), VIOLATION, "control size"),
        (hello_with(32, &0u64.to_le_bytes()), VIOLATION, "payload cap 0 "),
        (hello_with(32, &5000u64.to_le_bytes()), VIOLATION, "payload cap 5000 "),
        (hello_with(40, &3u32.to_le_bytes()), VIOLATION, "refusal"),
        other_carrier(),
    ] {
        let mut stranger = disturbed.connect();
        stranger.write_all(&said).unwrap();
        let (answer, time) = read_to_end(&stranger);
        assert!(time < PROMPT, "{reason}: {time:?}");
        let (found, words) = refusal(&answer).unwrap_or_else(|| panic!("no refusal: {reason}"));
        assert_eq!(found, status, "{words}");
        assert!(words.contains(reason), "{words}");
    }
    disturbed.was_not_disturbed();
}

/// Returns a hello that is right on the other kind of carrier, and its fault here: in shared memory
/// it also lacks a segment.
fn other_carrier() -> (Vec<u8>, u32, &'static str) {
    const CARRIER: u32 = 6;
    const VIOLATION: u32 = 5;
    if on_socket() {
        let with_memory = hello_with(24, &(4096 + 128 * 64u64).to_le_bytes());
        (with_memory, CARRIER, "use the same scheme on both sides")
    } else {
        (hello(), VIOLATION, "one file descriptor")
    }
}

/// Sends bytes with descriptors.
fn send_with(stranger: &Connection, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) {
    assert_eq!(socket::send(stranger, bytes, descriptors), Ok(bytes.len()));
}

/// A memfd as large as the control segment of [`hello`], not sealed.
fn unsealed_memory() -> OwnedFd {
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    let fd = memfd_create(c"stranger", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&fd, 4096 + 128 * 64).unwrap();
    fd
}

#[test]
fn silence_is_ended_by_the_handshake_timeout() {
    let disturbed = Disturbed::start();
    // The timeout counts by the clock on the wall, also while this process stands still.
    let (start, wall) = (Stopwatch::start(), Instant::now());
    let silent: Vec<_> = (0..5).map(|_| disturbed.connect()).collect();
    let mut half_said: Vec<_> = (0..5).map(|_| disturbed.connect()).collect();
    for (index, stranger) in half_said.iter_mut().enumerate() {
        stranger.write_all(&hello()[..[1, 8, 10, 12, 63][index]]).unwrap();
    }
    for stranger in silent.iter().chain(&half_said) {
        let (answer, _) = read_to_end(stranger);
        assert_eq!(refusal(&answer), None);
    }
    let time = start.elapsed();
    assert!(wall.elapsed() >= Duration::from_secs(1), "given up after {:?}", wall.elapsed());
    assert!(time < Duration::from_secs(5), "{time:?}");
    disturbed.was_not_disturbed();
}

#[test]
fn trickling_hello_does_not_extend_handshake_timeout() {
    let disturbed = Disturbed::start();
    let mut stranger = disturbed.connect();
    let start = Stopwatch::start();
    let mut ended = false;
    for byte in hello().iter().cycle() {
        if stranger.write_all(&[*byte]).is_err() {
            ended = true;
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(5), "still connected");
        // 64 bytes at this pace are three times the timeout.
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(ended);
    disturbed.was_not_disturbed();
}

#[test]
fn half_a_hello_and_a_farewell_leave_nothing_behind() {
    let disturbed = Disturbed::start();
    for len in (0..64).chain(0..64) {
        let mut stranger = disturbed.connect();
        stranger.write_all(&hello()[..len]).unwrap();
        if len % 2 == 0 {
            stranger.shutdown(std::net::Shutdown::Write).unwrap();
            let (_, time) = read_to_end(&stranger);
            assert!(time < PROMPT, "{time:?}");
        }
    }
    disturbed.was_not_disturbed();
}

#[test]
fn silent_connections_keep_no_client_out_and_are_ended() {
    let disturbed = Disturbed::start();
    let start = Stopwatch::start();
    let mut silent = Vec::new();
    for number in 0..200 {
        silent.push(disturbed.connect());
        if number % 20 == 0 {
            let address = disturbed.server.address();
            within(PROMPT, "a new client", move || assert_takes_clients(&address));
        }
    }
    for stranger in &silent {
        read_to_end(stranger);
    }
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    disturbed.was_not_disturbed();
}

#[test]
fn waiting_hello_is_not_evicted_by_silent_connections() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    // All of them queue up while the server stands still, the client first.
    server.process.suspend();
    let address = server.address();
    let options = patient();
    let client =
        std::thread::spawn(move || ExclusiveSession::connect_with(&address, &options).map(drop));
    eventually("the client is connected", || connections(&server.address()) > 0);
    let silent: Vec<_> = (0..100).map(|_| raw::connect(&server.address())).collect();
    server.process.resume();
    let outcome = within(PATIENCE, "the client's session", move || client.join().unwrap());
    assert!(outcome.is_ok(), "{:?}", outcome.err());
    drop(silent);
}

#[test]
fn server_without_descriptors_serves_and_recovers() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let mut session = server.connect(&SessionOptions::new());
    // Now it has the memory that it needs.
    assert_serves(&mut session);
    let before = server.at_rest();
    let pid = rustix::process::Pid::from_raw(server.pid() as i32);
    let limit = rustix::process::Rlimit {
        current: Some(before.0 as u64 + 20),
        maximum: Some(before.0 as u64 + 20),
    };
    rustix::process::prlimit(pid, rustix::process::Resource::Nofile, limit).unwrap();
    let strangers: Vec<_> = (0..60).map(|_| raw::connect(&server.address())).collect();
    let mut session = within(PATIENCE, "calls meanwhile", move || {
        for _ in 0..100 {
            assert_serves(&mut session);
        }
        session
    });
    drop(strangers);
    eventually("new clients are let in", || ExclusiveSession::connect(server.address()).is_ok());
    assert_serves(&mut session);
    server.returns_to(before);
}

// ---- our client at other servers ----

/// A server that runs `act` with each connection.
struct OtherServer {
    folder: Folder,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl OtherServer {
    fn start(act: impl Fn(Connection, &mut Vec<Connection>) + Send + 'static) -> Self {
        let folder = Folder::new();
        let listener = raw::listen(&folder.address());
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut kept = Vec::new();
            loop {
                let connection = listener.accept().unwrap();
                if stopping.load(Ordering::Relaxed) {
                    return;
                }
                act(connection, &mut kept);
            }
        });
        Self { folder, stop, thread: Some(thread) }
    }

    /// Returns the error of a client, which must come in time.
    #[track_caller]
    fn error(&self) -> ConnectError {
        let address = self.folder.address();
        within(PROMPT, "the error", move || {
            ExclusiveSession::connect(&address).err().expect("no session")
        })
    }
}

impl Drop for OtherServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes it.
        let _ = raw::try_connect(&self.folder.address());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[track_caller]
fn error_after_answer(answer: Vec<u8>) -> ConnectError {
    let server = OtherServer::start(move |mut connection, kept| {
        // The client may be gone before all is written.
        let _ = connection.write_all(&answer);
        kept.push(connection);
    });
    server.error()
}

#[test]
fn server_of_another_protocol_is_reported() {
    for answer in [
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        b"220 mail.example.org ESMTP\r\n".to_vec(),
        SHMIPC_3.to_vec(),
        vec![0],
        vec![0xff; 100_000],
        random_bytes(1, 10),
        random_bytes(2, 5000),
    ] {
        let error = error_after_answer(answer);
        let is_magic =
            matches!(error, ConnectError::Handshake(HandshakeError::Hello(HelloError::Magic(_))));
        assert!(is_magic, "{error:?}");
        assert!(error.to_string().contains("does not speak Breezeway"), "{error}");
        assert_eq!(error.to_string().lines().count(), 1);
    }
}

#[test]
fn a_server_that_hangs_up_at_once_may_not_speak_breezeway() {
    let server = OtherServer::start(|connection, _| drop(connection));
    for _ in 0..50 {
        let error = server.error();
        assert!(matches!(error, ConnectError::Handshake(HandshakeError::Closed)), "{error:?}");
        assert!(error.to_string().contains("may just have ended, or may not speak"), "{error}");
    }
}

#[test]
fn server_that_hangs_up_on_hello_is_reported_closed() {
    for read in [1, 10, 64, 100] {
        let server = OtherServer::start(move |mut connection, _| {
            let mut hello = vec![0; read];
            let _ = connection.read(&mut hello);
        });
        let error = server.error();
        assert!(matches!(error, ConnectError::Handshake(HandshakeError::Closed)), "{error:?}");
    }
}

#[test]
fn a_silent_server_is_given_up_after_the_handshake_timeout() {
    let server = OtherServer::start(|connection, kept| kept.push(connection));
    let start = Instant::now();
    let error = server.error();
    assert!(start.elapsed() >= Duration::from_secs(1), "{:?}", start.elapsed());
    assert!(matches!(error, ConnectError::Handshake(HandshakeError::Timeout(_))), "{error:?}");
    assert!(error.to_string().contains("does not speak Breezeway"), "{error}");
    let quick = SessionOptions::new().handshake_timeout(Duration::from_millis(20));
    let error = ExclusiveSession::connect_with(server.folder.address(), &quick).err().unwrap();
    assert!(error.to_string().contains("20ms"), "{error}");
}

#[test]
fn half_an_answer_is_given_up_after_the_handshake_timeout() {
    for len in [1, 8, 12, 63] {
        let error = error_after_answer(hello()[..len].to_vec());
        let is_timeout = matches!(error, ConnectError::Handshake(HandshakeError::Timeout(_)));
        assert!(is_timeout, "{len}: {error:?}");
    }
}

#[test]
fn echoing_server_is_not_taken_for_breezeway() {
    // Our own hello comes back, without the descriptor.
    let server = OtherServer::start(|mut connection, kept| {
        let mut hello = [0; 64];
        connection.read_exact(&mut hello).unwrap();
        connection.write_all(&hello).unwrap();
        if on_socket() {
            let mut request = [0; 18];
            connection.read_exact(&mut request).unwrap();
            connection.write_all(&request).unwrap();
        }
        kept.push(connection);
    });
    if on_socket() {
        // In addition, the same terms from both sides make a session: its first call comes back
        // unchanged.
        let mut session =
            ExclusiveSession::connect(server.folder.address()).expect("our own terms");
        let error = session.call(ECHO, b"hi").map(drop).expect_err("a request is not a reply");
        assert!(matches!(error, CallError::Violation(_)), "{error:?}");
        return;
    }
    let error = server.error();
    let is_refused = matches!(error, ConnectError::Handshake(HandshakeError::Descriptors(0)));
    assert!(is_refused, "{error:?}");
}

#[test]
fn a_refusal_with_garbage_for_a_reason_is_still_one_clear_line() {
    let mut answer = hello_with(40, &99u32.to_le_bytes());
    answer[10..12].copy_from_slice(&320u16.to_le_bytes());
    answer.extend_from_slice(&random_bytes(9, 256));
    let error = error_after_answer(answer);
    let text = error.to_string();
    let is_refused =
        matches!(error, ConnectError::Handshake(HandshakeError::Refused { status: 99, .. }));
    assert!(is_refused, "{error:?}");
    assert!(text.contains("status 99"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(!text.chars().any(char::is_control), "{text:?}");
}

#[test]
fn version_mismatch_names_both_versions() {
    for version in [1u16, 3] {
        let error = error_after_answer(hello_with(8, &version.to_le_bytes())).to_string();
        let named = error.contains(&format!("speaks version {version}"))
            && error.contains("this side version 2");
        assert!(named && error.contains("upgrade the older one"), "{error}");
    }
}

/// Only where memory is shared.
mod on_shm {
    use super::*;

    #[test]
    fn an_answer_without_a_segment_is_refused() {
        // A socket has no segments.
        let error = error_after_answer(hello());
        let is_refused = matches!(error, ConnectError::Handshake(HandshakeError::Descriptors(0)));
        assert!(is_refused, "{error:?}");
    }
}

/// Descriptors come over unix sockets only.
mod by_file {
    use super::*;

    #[test]
    fn unsealed_descriptors_are_refused_by_rule_and_closed() {
        let disturbed = Disturbed::start();
        let plain = tempfile::tempfile().unwrap();
        let folder = std::fs::File::open("/").unwrap();
        let device = std::fs::File::open("/dev/zero").unwrap();
        let (pipe, _other_end) = std::io::pipe().unwrap();
        let (socket, _peer) = UnixStream::pair().unwrap();
        let memory = unsealed_memory();
        let unfit = [
            plain.as_fd(),
            folder.as_fd(),
            device.as_fd(),
            pipe.as_fd(),
            socket.as_fd(),
            memory.as_fd(),
        ];
        for descriptor in unfit {
            let stranger = disturbed.connect();
            send_with(&stranger, &hello(), &[descriptor]);
            let (answer, time) = read_to_end(&stranger);
            assert!(time < PROMPT, "{time:?}");
            let (status, reason) = refusal(&answer).expect("a refusal");
            assert_eq!(status, 5, "{reason}");
            let rule = if on_socket() { "none without shared memory" } else { "sealed" };
            assert!(reason.contains(rule), "{reason}");
        }
        disturbed.was_not_disturbed();
    }

    #[test]
    fn several_descriptors_are_refused_and_all_of_them_closed() {
        let disturbed = Disturbed::start();
        let file = tempfile::tempfile().unwrap();
        for count in [2, 3, 8, 9, 64] {
            let stranger = disturbed.connect();
            send_with(&stranger, &hello(), &vec![file.as_fd(); count]);
            let (answer, time) = read_to_end(&stranger);
            assert!(time < PROMPT, "{time:?}");
            let (_, reason) = refusal(&answer).expect("a refusal");
            assert!(reason.contains("one file descriptor"), "{count}: {reason}");
        }
        disturbed.was_not_disturbed();
    }

    #[test]
    fn descriptors_with_garbage_or_split_hello_are_closed() {
        let disturbed = Disturbed::start();
        let file = tempfile::tempfile().unwrap();
        for round in 0..20 {
            let stranger = disturbed.connect();
            if round % 2 == 0 {
                send_with(&stranger, HTTP, &[file.as_fd(); 5]);
            } else {
                send_with(&stranger, &hello()[..10], &[file.as_fd()]);
                send_with(&stranger, &hello()[10..30], &[file.as_fd()]);
            }
            let (_, time) = read_to_end(&stranger);
            assert!(time < PROMPT, "{time:?}");
        }
        // Those that leave in the middle, with unread descriptors.
        for _ in 0..20 {
            let stranger = disturbed.connect();
            send_with(&stranger, &hello()[..10], &[file.as_fd(); 3]);
        }
        disturbed.was_not_disturbed();
    }

    #[test]
    fn an_answer_with_unfit_or_several_descriptors_is_refused() {
        for count in [1, 2, 8, 20] {
            let server = OtherServer::start(move |connection, kept| {
                let file = tempfile::tempfile().unwrap();
                send_with(&connection, &hello(), &vec![file.as_fd(); count]);
                kept.push(connection);
            });
            let error = server.error().to_string();
            let expected =
                if count == 1 && !on_socket() { "sealed" } else { "one file descriptor" };
            assert!(error.contains(expected), "{count}: {error}");
        }
    }
}
