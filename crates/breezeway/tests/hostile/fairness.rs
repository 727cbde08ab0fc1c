//! Attempts to keep the honest side from its other work: none of them breaks a rule that ends the
//! session at once.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use breezeway::{
    Address, CallError, ConnectError, ExclusiveServerSession, ExclusiveSession, HandshakeError,
    Server, ServerOptions, WaitPolicy,
};
use breezeway_adversary::native::frame;
use breezeway_adversary::native::layout::control;
use breezeway_adversary::native::{Entry, Hello, Peer, Terms, control_segment, receive_hello};
use breezeway_adversary::stopwatch::Stopwatch;
use breezeway_adversary::{
    Connection, Listener, Shared, journal, slow_to_close, socket, while_flipping,
};
use breezeway_os::open_files_limit;
use rustix::net::sockopt::set_socket_send_buffer_size;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::children::{Child, say};
use super::service::{ECHO, REPLY_OF, Service};
use super::shortage::address;
use super::stage::{Stage, called, impatient, options};
use super::watchdog::{GENEROUS, within};

/// Maximum duration of an honest call beside an attack on a loaded machine with two CPUs: less than
/// a slow close takes here, and than any timeout.
const TOLERABLE: Duration = Duration::from_secs(10);

/// A descriptor that is slow to close, and whether this side was the one that closed it last.
pub(crate) struct Slow {
    pub(crate) fd: OwnedFd,
    left: Sender<()>,
    watching: JoinHandle<Option<TcpStream>>,
}

impl Slow {
    pub(crate) fn new() -> Self {
        let (fd, other) = slow_to_close();
        let (left, is_left) = channel();
        let watching =
            thread::spawn(move || is_left.recv_timeout(QUICK_CLOSE).is_ok().then_some(other));
        Self { fd, left, watching }
    }

    /// Closes this side's copy. Gives the other end, and closing takes its minute until that is
    /// dropped; or nothing, if the server was quicker and so the last copy was this one.
    pub(crate) fn leave(self) -> Option<TcpStream> {
        drop(self.fd);
        // The receiver may be gone if that took long.
        let _ = self.left.send(());
        self.watching.join().unwrap()
    }
}

/// Far more than a close takes that is not slow; one that takes longer is only tried again.
const QUICK_CLOSE: Duration = Duration::from_secs(1);

/// Lets `attack` send something slow to close until the server is the one that closes it last. It
/// returns the wait of an honest client.
fn slowed(attack: impl Fn(&Stage, Slow) -> Option<Duration> + Send + 'static) {
    slowed_on(Stage::set, attack);
}

fn slowed_on(
    stage: impl FnOnce() -> Stage + Send + 'static,
    attack: impl Fn(&Stage, Slow) -> Option<Duration> + Send + 'static,
) {
    within(GENEROUS, move || {
        let stage = stage();
        let longest = loop {
            if let Some(longest) = attack(&stage, Slow::new()) {
                break longest;
            }
        };
        stage.close();
        assert!(longest < TOLERABLE, "an honest client waited {longest:?}");
    });
}

#[test]
fn hello_with_slow_closing_descriptor_delays_no_client() {
    slowed(|stage, slow| {
        let socket = UnixStream::connect(stage.path()).unwrap();
        let hello = Hello::new(&Terms::default());
        socket::send(&socket, &hello.0, &[slow.fd.as_fd()]).unwrap();
        let _other = slow.leave()?;
        Some(another_client(stage))
    });
}

#[test]
fn hello_with_slow_last_descriptor_delays_no_client() {
    slowed(|stage, slow| {
        let socket = UnixStream::connect(stage.path()).unwrap();
        let (pipe, _writer) = std::io::pipe().unwrap();
        let mut fds = [pipe.as_fd(); socket::MAX_DESCRIPTORS];
        fds[socket::MAX_DESCRIPTORS - 1] = slow.fd.as_fd();
        socket::send(&socket, &Hello::new(&Terms::default()).0, &fds).unwrap();
        let _other = slow.leave()?;
        Some(another_client(stage))
    });
}

/// Without `SO_OOBINLINE` a read drops an urgent byte, and with it its descriptors.
#[test]
fn urgent_hello_byte_with_descriptor_delays_no_client() {
    slowed(|stage, slow| {
        let socket = UnixStream::connect(stage.path()).unwrap();
        let first = &Hello::new(&Terms::default()).0[..1];
        socket::send_urgent(&socket, first, &[slow.fd.as_fd()]).unwrap();
        let _other = slow.leave()?;
        Some(another_client(stage))
    });
}

/// A read gives the first of two messages with descriptors, which ends the session.
#[test]
fn unread_descriptors_of_unix_session_delay_no_other() {
    slowed_on(Stage::on_a_socket, |stage, slow| {
        let mut client = Connection::unix(stage.path()).unwrap();
        frame::greet(&mut client, 64 << 20);
        stage.bystander.goes_on();
        stage.bystander.take_longest();
        let (pipe, _writer) = std::io::pipe().unwrap();
        socket::send(&client, &[0], &[pipe.as_fd()]).unwrap();
        // Refused where the server has ended the session by now; then it is sent again.
        socket::send(&client, &[0], &[slow.fd.as_fd()]).ok()?;
        let _other = slow.leave()?;
        while client.read(&mut [0; 64]).is_ok_and(|len| len > 0) {}
        stage.bystander.goes_on();
        Some(stage.bystander.take_longest())
    });
}

#[test]
fn urgent_byte_with_descriptor_delays_no_unix_session() {
    slowed_on(Stage::on_a_socket, |stage, slow| {
        let mut client = Connection::unix(stage.path()).unwrap();
        frame::greet(&mut client, 64 << 20);
        stage.bystander.goes_on();
        stage.bystander.take_longest();
        socket::send_urgent(&client, &[0], &[slow.fd.as_fd()]).unwrap();
        let _other = slow.leave()?;
        while client.read(&mut [0; 64]).is_ok_and(|len| len > 0) {}
        stage.bystander.goes_on();
        Some(stage.bystander.take_longest())
    });
}

#[test]
fn unread_descriptors_from_server_do_not_delay_close() {
    within(GENEROUS, || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.sock");
        let listener = Listener::unix(&path).unwrap();
        let (slow, other) = slow_to_close();
        let serving = thread::spawn(move || {
            let mut client = listener.accept().unwrap();
            frame::welcome(&mut client, 64 << 20);
            socket::send(&client, &[0], &[slow.as_fd()]).unwrap();
            drop(slow);
            client
        });
        let session = ExclusiveSession::connect_with(Address::unix(&path), &options()).unwrap();
        let _client = serving.join().unwrap();
        let start = Instant::now();
        drop(session);
        let took = start.elapsed();
        assert!(took < TOLERABLE, "the end took {took:?}");
        drop(other);
    });
}

#[test]
fn unaccepted_clients_descriptors_do_not_delay_server_end() {
    within(GENEROUS, || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.sock");
        let server = Server::bind(Address::unix(&path)).unwrap();
        let (slow, other) = slow_to_close();
        let client = UnixStream::connect(&path).unwrap();
        socket::send(&client, b"B", &[slow.as_fd()]).unwrap();
        drop(slow);
        let start = Instant::now();
        drop(server);
        let took = start.elapsed();
        assert!(took < TOLERABLE, "the end took {took:?}");
        drop(other);
    });
}

/// Connections of one process that are accepted before it sends anything, and then each get a
/// message with the most descriptors, of which some never finish closing.
#[test]
fn descriptor_flood_keeps_no_honest_client_out() {
    within(GENEROUS, || {
        raise_open_files();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("few.sock");
        let server = Child::ready("server with few numbers", &path);
        let connections = socket::silent_connections(&path, 6);
        // Clients are accepted in their order.
        drop(Child::ready("client at rest", &path));
        server.stop();
        let (pipe, _writer) = std::io::pipe().unwrap();
        let mut others = Vec::new();
        for connection in &connections {
            // As many as are closed at the same time, and one that fills the queue behind them.
            let slow: [OwnedFd; 5] = std::array::from_fn(|_| {
                let (slow, other) = slow_to_close();
                others.push(other);
                slow
            });
            let mut fds = [pipe.as_fd(); socket::MAX_DESCRIPTORS];
            for (index, at) in [0, 1, 2, 3, socket::MAX_DESCRIPTORS - 1].into_iter().enumerate() {
                fds[at] = slow[index].as_fd();
            }
            socket::send(connection, b"B", &fds).unwrap();
        }
        server.go_on();
        for connection in &connections {
            socket::be_patient(connection);
            socket::receive_to_end(connection);
        }
        let _honest = Child::ready("client at rest", &path);
        let open = server.open_files();
        assert!(open < 100, "{open} descriptors are open");
        drop(others);
    });
}

pub(crate) fn server_with_few_numbers(path: &Path) {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(1024), ..limit }).unwrap();
    let options = ServerOptions::new().session(options());
    let server = Server::bind_with(address(path), options).unwrap();
    say("ready");
    server.serve(Service::default()).unwrap();
}

/// Returns the wait of a client that connects now.
fn another_client(stage: &Stage) -> Duration {
    let start = Instant::now();
    ExclusiveSession::connect_with(stage.address(), &options()).unwrap().call(ECHO, b"x").unwrap();
    start.elapsed()
}

#[test]
fn a_segment_that_is_slow_to_close_delays_no_other_session() {
    slowed(|stage, slow| {
        let mut peer = Peer::connect(stage.path(), Terms::default());
        stage.bystander.goes_on();
        stage.bystander.take_longest();
        peer.send_segment(&slow.fd);
        let _other = slow.leave()?;
        peer.publish(&Entry::segment_add(0, 4096));
        peer.wait_for_end();
        stage.bystander.goes_on();
        Some(stage.bystander.take_longest())
    });
}

#[test]
fn unread_descriptors_of_ended_session_delay_no_other() {
    slowed(|stage, slow| {
        let mut peer = Peer::connect(stage.path(), Terms::default());
        peer.call(1, ECHO, b"x");
        stage.bystander.goes_on();
        stage.bystander.take_longest();
        // Nothing makes the server look at its socket before it closes it.
        peer.send_segment(&slow.fd);
        let _other = slow.leave()?;
        peer.publish(&Entry::session(0, 0, &[]));
        peer.wait_for_end();
        stage.bystander.goes_on();
        Some(stage.bystander.take_longest())
    });
}

/// A read that peeks passes over an urgent byte, and one that consumes what was peeked drops it.
#[test]
fn urgent_byte_with_descriptor_delays_no_other_session() {
    slowed(|stage, slow| {
        let peer = Peer::connect(stage.path(), Terms::default());
        stage.bystander.goes_on();
        stage.bystander.take_longest();
        socket::send_urgent(&peer.socket, &[0], &[slow.fd.as_fd()]).unwrap();
        let other = slow.leave();
        // As many as are consumed together; refused where the session has ended by now.
        let _ = socket::send(&peer.socket, &[0; 64], &[]);
        other.as_ref()?;
        peer.wait_for_end();
        stage.bystander.goes_on();
        Some(stage.bystander.take_longest())
    });
}

#[test]
fn unread_descriptors_behind_bad_hello_delay_no_client() {
    slowed(|stage, slow| {
        let socket = UnixStream::connect(stage.path()).unwrap();
        // Together with the byte that makes it no hello, so that the second message is never read.
        socket::send(&socket, &Hello::new(&Terms::default()).with(0, b"X").0, &[]).unwrap();
        // Refused where the server has closed the connection by now; then it is sent again.
        socket::send(&socket, &[1], &[slow.fd.as_fd()]).ok()?;
        let _other = slow.leave()?;
        Some(another_client(stage))
    });
}

#[test]
fn growth_for_unreading_client_delays_no_other_session() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let mut peer = Peer::connect(stage.path(), Terms::default());
        // The server rings for each reply until the socket is full.
        for call in 0..400u32 {
            peer.ring.shared.store(control::DATA_WAKE_AT, peer.view.head);
            peer.publish(&Entry::request(2 * call + 1, ECHO, b"x"));
            while peer.view.try_next().is_none() {
                thread::yield_now();
            }
            peer.ring.shared.store(control::CONSUMED_AT, peer.view.head);
        }
        stage.bystander.goes_on();
        stage.bystander.take_longest();
        peer.publish(&Entry::request(1, REPLY_OF, &100_000u64.to_le_bytes()));
        stage.bystander.goes_on();
        stage.bystander.goes_on();
        let longest = stage.bystander.take_longest();
        stage.close();
        assert!(longest < TOLERABLE, "the honest client waited {longest:?}");
    });
}

/// Adds and retires segments as fast as the peer takes them, until `stop` is set or the
/// session ends.
fn churn(peer: &mut Peer, stop: &AtomicBool) {
    let shared = Shared::fit(4096);
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        // Always ahead, by what may be unannounced.
        while peer.ring.tail - peer.view.load(control::CONSUMED_AT) >= 8 {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            std::hint::spin_loop();
        }
        // All progress is awaited, so that the peer publishes it at once.
        peer.ring.shared.store(control::SPACE_WAKE_AT, peer.view.load(control::CONSUMED_AT));
        if socket::send(&peer.socket, &[1], &[shared.fd.as_fd()]).is_err() {
            if socket::try_receive(&peer.socket, 4096).is_some_and(|received| received.is_end()) {
                return;
            }
            continue;
        }
        peer.publish(&Entry::segment_add(number, 4096));
        peer.publish_silently(&Entry::segment_retire(number));
        number += 1;
        while socket::try_receive(&peer.socket, 4096).is_some_and(|received| !received.is_end()) {}
    }
}

/// On some machines the churn does not stay one entry ahead, so this seldom fails where a worker
/// does not listen. `a_worker_that_can_never_arm_a_session_listens_for_the_others`, a unit test of
/// the worker, shows that step by step.
#[test]
fn endless_segment_entries_starve_no_other_session() {
    for wait in [WaitPolicy::Park, WaitPolicy::Adaptive, WaitPolicy::Busy] {
        within(GENEROUS, move || churn_beside_an_honest_client(wait));
    }
}

fn churn_beside_an_honest_client(wait: WaitPolicy) {
    let stage = Stage::with(ServerOptions::new().session(options().wait(wait)));
    let stop = Arc::new(AtomicBool::new(false));
    let mut peer = Peer::connect(stage.path(), Terms::default());
    stage.bystander.take_longest();
    let churning = thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            churn(&mut peer, &stop);
            peer.ring.tail
        }
    });
    let deadline = Instant::now() + Duration::from_secs(1);
    while Instant::now() < deadline {
        stage.bystander.goes_on();
    }
    stop.store(true, Ordering::Relaxed);
    let entries = churning.join().unwrap();
    let longest = stage.bystander.take_longest();
    eprintln!("{wait:?}: {entries} entries; the honest client waited at most {longest:?}");
    stage.close();
    assert!(longest < TOLERABLE, "{wait:?}: the honest client waited {longest:?}");
}

#[test]
fn endless_segment_entries_delay_no_deadline() {
    within(GENEROUS, || {
        let stop = AtomicBool::new(false);
        let timeout = Duration::from_millis(50);
        let longest = called(
            options().call_timeout(Some(timeout)),
            Terms::default(),
            |peer| churn(peer, &stop),
            |session| {
                let mut longest = Duration::ZERO;
                for _ in 0..10 {
                    // The attack goes on for as long as it takes; this only bounds the test.
                    let start = Instant::now();
                    let outcome = thread::scope(|scope| {
                        let (done, finished) = std::sync::mpsc::channel::<()>();
                        let stop = &stop;
                        scope.spawn(move || {
                            if finished.recv_timeout(2 * TOLERABLE).is_err() {
                                stop.store(true, Ordering::Relaxed);
                            }
                        });
                        let outcome = session.call(ECHO, b"ping").map(drop);
                        let _ = done.send(());
                        outcome
                    });
                    assert!(matches!(outcome, Err(CallError::DeadlinePassed)), "{outcome:?}");
                    longest = longest.max(start.elapsed());
                }
                stop.store(true, Ordering::Relaxed);
                longest
            },
        );
        assert!(
            longest < timeout + TOLERABLE,
            "a call with a deadline of {timeout:?} took {longest:?}"
        );
    });
}

#[test]
fn missing_segment_behind_doorbells_starves_no_session() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let mut peer = Peer::connect(stage.path(), Terms::default());
        let socket = peer.socket.try_clone().unwrap();
        let blocks = [0; 65536];
        let flood = |_| {
            let _ = socket::send(&socket, &blocks, &[]);
        };
        stage.bystander.take_longest();
        while_flipping(&[&flood, &flood], || {
            peer.publish(&Entry::segment_add(0, 4096));
            let deadline = Instant::now() + Duration::from_secs(1);
            while Instant::now() < deadline {
                stage.bystander.goes_on();
            }
        });
        let longest = stage.bystander.take_longest();
        stage.close();
        assert!(longest < TOLERABLE, "the honest client waited {longest:?}");
    });
}

#[test]
fn a_flood_of_silent_connections_keeps_no_honest_client_out() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let stop = Arc::new(AtomicBool::new(false));
        let flooding = thread::spawn({
            let (stop, path) = (Arc::clone(&stop), stage.path().to_owned());
            move || {
                while !stop.load(Ordering::Relaxed) {
                    let kept: Vec<_> = (0..100).map(|_| UnixStream::connect(&path)).collect();
                    drop(kept);
                }
            }
        });
        let options = options();
        let mut failures = Vec::new();
        // Each waits behind those who came before it, which takes as long as the machine needs.
        let (mut honest, start) = (0, Stopwatch::start());
        while honest < 200 && (honest < 10 || !start.passed(Duration::from_secs(10))) {
            honest += 1;
            let outcome = ExclusiveSession::connect_with(stage.address(), &options)
                .map_err(|error| error.to_string())
                .and_then(|mut session| {
                    session.call(ECHO, b"x").map(drop).map_err(|error| error.to_string())
                });
            failures.extend(outcome.err());
        }
        stop.store(true, Ordering::Relaxed);
        flooding.join().unwrap();
        stage.close();
        assert!(
            failures.is_empty(),
            "{} of {honest} honest clients: {}",
            failures.len(),
            failures[0]
        );
    });
}

/// Lets this process have as many open files as it may, for tests with many connections.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

/// More connections than a server keeps without a hello.
const SILENT: usize = 1100;

#[test]
fn a_thousand_silent_connections_keep_no_honest_client_waiting() {
    within(GENEROUS, || {
        raise_open_files();
        let stage = Stage::set();
        let mut silent: VecDeque<_> =
            socket::silent_connections(stage.path(), SILENT).into_iter().collect();
        let mut longest = Laps::start();
        for _ in 0..50 {
            let mut laps = Laps::start();
            let slow = UnixStream::connect(stage.path()).unwrap();
            laps.note("a slow client connected");
            let mut session = ExclusiveSession::connect_with(stage.address(), &options()).unwrap();
            laps.note("an honest one has a session");
            session.call(ECHO, b"x").unwrap();
            laps.note("it was served");
            // Clients are accepted in their order, so the slow one was without its hello when there
            // was no more room, and the oldest of the silent ones had to go instead.
            let mut slow = Peer::client(slow.into(), Terms::default());
            laps.note("the slow one has a session");
            assert_eq!(slow.call(1, ECHO, b"slow"), b"slow");
            laps.note("it was served");
            if laps.total() > longest.total() {
                longest = laps;
            }
            // A client that is pushed out connects again.
            for _ in 0..50 {
                silent.pop_front();
                silent.push_back(UnixStream::connect(stage.path()).unwrap());
            }
        }
        let other = stage.bystander.take_longest();
        stage.close();
        assert!(
            longest.total() < TOLERABLE,
            "honest clients waited, {:?}; the longest call of another took {other:?}",
            longest.happened
        );
    });
}

/// Times of steps, by this process's stopwatch and by the clock.
struct Laps {
    start: (Stopwatch, Instant),
    happened: Vec<(&'static str, Duration, Duration)>,
}

impl Laps {
    fn start() -> Self {
        Self { start: (Stopwatch::start(), Instant::now()), happened: Vec::new() }
    }

    fn note(&mut self, what: &'static str) {
        let (stopwatch, start) = self.start;
        self.happened.push((what, stopwatch.elapsed(), start.elapsed()));
    }

    fn total(&self) -> Duration {
        self.happened.last().map(|&(_, passed, _)| passed).unwrap_or_default()
    }
}

/// Runs in a process of its own, so that no other test enlarges its table.
pub(crate) fn room_for_descriptors(path: &Path) {
    raise_open_files();
    let table = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
        size.trim().parse::<u64>().unwrap()
    };
    // It begins with as many as its parent had.
    let had = table();
    let wanted = (2 * had).min(open_files_limit());
    if wanted > had {
        let options = ServerOptions::new().max_sessions(had as usize);
        let server = Server::bind_with(address(path), options).unwrap();
        assert!(table() >= wanted, "room for {} of {wanted}", table());
        drop(server);
    } else {
        println!("SKIPPED: no process may have more descriptors than {had} here");
    }
    say("has room");
}

/// While the kernel makes the table of descriptors larger, no thread of the process gets one, and
/// on an overloaded machine that has taken seconds.
#[test]
fn server_reserves_descriptor_room_before_clients_come() {
    within(GENEROUS, || {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Child::start("room for descriptors", &folder.path().join("room.sock"));
        assert!(child.says("has room"), "see above");
    });
}

#[test]
fn simultaneous_hellos_stay_within_max_sessions() {
    within(GENEROUS, || {
        let stage = Stage::with(ServerOptions::new().session(options()).max_sessions(3));
        let mut clients: Vec<OwnedFd> = Vec::new();
        for _ in 0..10 {
            clients.push(UnixStream::connect(stage.path()).unwrap().into());
        }
        // All of them are accepted once the last one, of which a byte is wrong, was judged.
        let from = journal::length();
        socket::send(&clients[9], b"X", &[]).unwrap();
        stage.no_session(from);
        let mut sessions = 0;
        for socket in clients.drain(..9) {
            socket::be_patient(&socket);
            let own = control_segment(&Terms::default());
            let _ = socket::send(&socket, &Hello::new(&Terms::default()).0, &[own.fd.as_fd()]);
            let answer = receive_hello(&socket);
            if answer.fds.len() == 1 {
                sessions += 1;
                std::mem::forget(socket);
            } else {
                assert_eq!(
                    answer.bytes[40],
                    breezeway_adversary::native::layout::refusal::BUSY as u8
                );
            }
        }
        stage.close();
        assert_eq!(sessions, 2, "beside the honest client's");
    });
}

/// An honest client's requests in one go, each of which needs a segment of its own, before the
/// server gets to look at one.
fn grow_six_times(session: &mut ExclusiveSession) -> Result<(), CallError> {
    for len in [300_000, 700_000, 1_500_000, 3_100_000, 6_300_000, 13_000_000] {
        session.send(ECHO, &vec![7; len])?;
    }
    Ok(())
}

#[test]
fn honest_client_may_grow_while_server_is_busy() {
    within(GENEROUS, || {
        let (one, other) = UnixStream::pair().unwrap();
        let opening =
            thread::spawn(move || ExclusiveServerSession::from_socket(other.into(), &options()));
        let mut session = ExclusiveSession::from_socket(one.into(), &options()).unwrap();
        let server = opening.join().unwrap().unwrap();
        grow_six_times(&mut session).unwrap();
        let serving = thread::spawn(move || server.serve(&Service::default()));
        for _ in 0..6 {
            let reply = session.receive().expect("an honest client is served");
            assert!(reply.to_vec().iter().all(|&byte| byte == 7));
        }
        drop(session);
        serving.join().unwrap().unwrap();
    });
}

#[test]
fn a_server_that_answers_nothing_at_all_is_given_up() {
    within(GENEROUS, || {
        let (_hostile, honest) = UnixStream::pair().unwrap();
        let outcome = ExclusiveSession::from_socket(honest.into(), &impatient()).map(drop);
        let Err(ConnectError::Handshake(HandshakeError::Timeout(_))) = outcome else {
            panic!("{outcome:?}")
        };
    });
}

#[test]
fn a_small_send_buffer_loses_no_wake_up() {
    within(GENEROUS, || {
        let park = || options().wait(WaitPolicy::Park).call_timeout(Some(socket::PATIENCE));
        let stage = Stage::with(ServerOptions::new().session(park()));
        let socket = UnixStream::connect(stage.path()).unwrap();
        // As with a tiny net.core.wmem_default.
        set_socket_send_buffer_size(&socket, 1).unwrap();
        let mut session = ExclusiveSession::from_socket(socket.into(), &park()).unwrap();
        for _ in 0..300 {
            session.call(ECHO, b"ping").expect("the doorbell rings");
        }
        drop(session);
        stage.close();
    });
}

#[test]
fn many_unreading_clients_delay_server_end_like_one() {
    within(GENEROUS, || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.sock");
        let server = Server::bind(Address::unix(&path)).unwrap();
        let stopper = server.stopper();
        let serving = thread::spawn(move || server.serve(Service::default()));
        let len = 400_000u64.to_le_bytes();
        let clients: Vec<_> = (0..600)
            .map(|_| {
                let mut client = Connection::unix(&path).unwrap();
                frame::greet(&mut client, 64 << 20);
                client.write_all(&frame::request(1, REPLY_OF, &len)).unwrap();
                // The reply does not fit into its socket, and is being written.
                client.read_exact(&mut [0]).unwrap();
                client
            })
            .collect();
        let start = Instant::now();
        stopper.stop();
        serving.join().unwrap().unwrap();
        let took = start.elapsed();
        assert!(took < Duration::from_millis(2500), "600 clients: {took:?}");
        drop(clients);
    });
}
