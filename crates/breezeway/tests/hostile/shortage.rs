//! An honest side that is short of something itself, in a process of its own: its sessions go on.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::time::Instant;

use breezeway::unstable::broken_rule;
use breezeway::{
    Address, Call, CallError, ConnectError, ExclusiveServerSession, ExclusiveSession, HandlerError,
    HandshakeError, Replied, Server, ServerOptions, Session, Violation, WaitPolicy, describe,
};
use breezeway_adversary::native::layout::socket::{MAX_UNANNOUNCED, SEGMENT};
use breezeway_adversary::native::layout::{control, flag, kind};
use breezeway_adversary::native::{Descriptor, Entry, Hello, Peer, Terms, control_segment};
use breezeway_adversary::stopwatch::eventually;
use breezeway_adversary::{PATIENCE, socket};
use breezeway_shm::Violation as MemoryViolation;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::children::{Child, say};
use super::service::{ECHO, REPLY_OF};
use super::stage::{Stage, called, options};
use super::watchdog::{GENEROUS, within};

/// Methods of the server that is short of descriptors.
const EXHAUST: u32 = 7;
const FREE: u32 = 8;
/// A method with a reply that takes a segment, and a request that takes none.
const GROWN: u32 = 9;
const GROWN_BYTES: usize = 3_000;

/// Descriptors that leave no other, until they are dropped.
fn exhaust() -> Vec<File> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(128), ..limit }).unwrap();
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

pub(crate) fn address(path: &Path) -> Address {
    format!("shm:{}", path.display()).parse().unwrap()
}

fn listen() -> (tempfile::TempDir, std::path::PathBuf, UnixListener) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shortage.sock");
    let listener = UnixListener::bind(&path).unwrap();
    (folder, path, listener)
}

/// Replies to the next request with payload.
fn reply_lent(peer: &mut Peer, segment: u32, len: u64) {
    let request = peer.next_message().expect("a request");
    let descriptor = Descriptor { segment, lend: 0, offset: 0, len };
    peer.publish(&Entry::reply(request.stream(), &[]).lending(descriptor));
}

pub(crate) fn client_without_descriptors(path: &Path) {
    for wait in [WaitPolicy::Park, WaitPolicy::Adaptive, WaitPolicy::Busy] {
        let mut session =
            ExclusiveSession::connect_with(address(path), &options().wait(wait)).unwrap();
        assert_eq!(session.call(ECHO, b"x").unwrap().to_vec(), b"small");
        let taken = exhaust();
        let error = session.call(ECHO, b"x").map(drop).unwrap_err();
        assert!(matches!(error, CallError::Shortage(_)), "{error:?}");
        assert!(describe(&error).contains("ulimit -n"), "{error}");
        assert!(error.session_goes_on() && !session.is_ended());
        drop(taken);
        assert_eq!(session.call(ECHO, b"x").unwrap().to_vec(), vec![7; 4096]);
    }
    say("went on");
}

#[test]
fn client_without_descriptor_recovers_when_one_is_free() {
    within(GENEROUS, || {
        let (_folder, path, listener) = listen();
        let mut child = Child::start("client without descriptors", &path);
        for _ in 0..3 {
            let mut peer = Peer::server(listener.accept().unwrap().0.into(), Terms::default());
            let request = peer.next_message().unwrap();
            peer.publish(&Entry::reply(request.stream(), b"small"));
            let request = peer.next_message().unwrap();
            let segment = peer.add_segment(4096);
            segment.fill(0..4096, 7);
            let descriptor = Descriptor { segment: 0, lend: 0, offset: 0, len: 4096 };
            peer.publish(&Entry::reply(request.stream(), &[]).lending(descriptor));
            reply_lent(&mut peer, 0, 4096);
            peer.next_message();
        }
        assert!(child.says("went on"), "see above");
    });
}

pub(crate) fn server_without_descriptors(path: &Path) {
    let taken = Mutex::new(Vec::new());
    let handler = move |call: Call<'_>| -> Result<Replied, HandlerError> {
        match call.method() {
            EXHAUST => *taken.lock().unwrap() = exhaust(),
            FREE => taken.lock().unwrap().clear(),
            _ => {}
        }
        let len = if call.method() == GROWN { GROWN_BYTES } else { call.request().len() };
        let mut space = call.reserve(len)?;
        space.write_request(0);
        space.commit()
    };
    let session = options().wait(WaitPolicy::Park);
    let server = Server::bind_with(address(path), ServerOptions::new().session(session)).unwrap();
    // So that clients which take streams have sessions of another kind.
    let server = server.on_stream(|_, _| Ok(()));
    say("ready");
    server.serve(handler).unwrap();
}

#[test]
fn server_without_descriptor_serves_others_and_recovers() {
    within(GENEROUS, || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shortage.sock");
        let _child = Child::ready("server without descriptors", &path);
        let connect = || {
            let options = options().call_timeout(Some(PATIENCE));
            ExclusiveSession::connect_with(address(&path), &options).unwrap()
        };
        let (mut waiting, mut other) = (connect(), connect());
        other.call(EXHAUST, &[]).unwrap();
        let large = vec![5; 300_000];
        waiting.send(ECHO, &large).unwrap();
        for _ in 0..100 {
            assert_eq!(other.call(ECHO, b"small").unwrap().to_vec(), b"small");
        }
        other.call(FREE, &[]).unwrap();
        assert_eq!(waiting.receive().unwrap().to_vec(), large);
        assert_eq!(other.call(ECHO, b"small").unwrap().to_vec(), b"small");
    });
}

/// No event reports a free descriptor, so the call does not wait for one.
#[test]
fn reply_without_descriptor_fails_by_name() {
    within(GENEROUS, || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shortage.sock");
        let _child = Child::ready("server without descriptors", &path);
        let options = options().call_timeout(Some(PATIENCE));
        let mut other = ExclusiveSession::connect_with(address(&path), &options).unwrap();
        let mut plain = ExclusiveSession::connect_with(address(&path), &options).unwrap();
        let channel = Session::connect_with(address(&path), &options).unwrap();
        assert_eq!(plain.call(ECHO, b"small").unwrap().to_vec(), b"small");
        assert_eq!(channel.call(ECHO, b"small").unwrap().to_vec(), b"small");
        other.call(EXHAUST, &[]).unwrap();
        // The reason is within the entry, because a longer one would also need memory.
        let error = describe(&plain.call(GROWN, b"small").map(drop).unwrap_err());
        assert!(error.contains("ulimit -n") && !error.contains("cap"), "{error}");
        assert_eq!(plain.call(ECHO, b"small").unwrap().to_vec(), b"small");
        let error = channel.call(GROWN, b"small").map(drop).unwrap_err();
        assert!(describe(&error).contains("ulimit -n"), "{error}");
        assert_eq!(channel.call(ECHO, b"small").unwrap().to_vec(), b"small");
        other.call(FREE, &[]).unwrap();
        assert_eq!(channel.call(GROWN, b"small").unwrap().len(), GROWN_BYTES);
    });
}

#[test]
fn client_death_in_shortage_frees_its_descriptors() {
    within(GENEROUS, || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shortage.sock");
        let child = Child::ready("server without descriptors", &path);
        let options = options().call_timeout(Some(PATIENCE));
        let mut other = ExclusiveSession::connect_with(address(&path), &options).unwrap();
        let mut dying = Peer::connect(&path, Terms::default());
        assert_eq!(dying.call(1, ECHO, b"x"), b"x");
        other.call(EXHAUST, &[]).unwrap();
        let exhausted = child.open_files();
        dying.add_segment(4096);
        // After these the server has come to the segment.
        for _ in 0..100 {
            other.call(ECHO, b"small").unwrap();
        }
        assert_eq!(child.open_files(), exhausted);
        drop(dying);
        eventually("the end of the session", || child.open_files() < exhausted);
        assert_eq!(other.call(ECHO, b"small").unwrap().to_vec(), b"small");
    });
}

pub(crate) fn serving_without_descriptors() {
    let (hostile, honest) = UnixStream::pair().unwrap();
    let attacking = std::thread::spawn(|| {
        let mut peer = Peer::client(hostile.into(), Terms::default());
        let segment = breezeway_adversary::Shared::fit(4096);
        assert_eq!(peer.call(1, EXHAUST, &[]), []);
        peer.send_segment(&segment.fd);
        peer.publish(&Entry::segment_add(0, 4096));
    });
    let session = ExclusiveServerSession::from_socket(honest.into(), &options()).unwrap();
    let outcome = session.serve(&|call: Call<'_>| -> Result<Replied, HandlerError> {
        // Not by taking them all: the attacker is of this process, and gives its own back.
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(1), ..limit }).unwrap();
        call.reply(b"")
    });
    attacking.join().unwrap();
    let error = describe(&outcome.unwrap_err());
    assert!(error.contains("ulimit -n"), "{error}");
    say("ended");
}

#[test]
fn session_ends_with_its_client_during_a_shortage() {
    within(GENEROUS, || {
        let mut child = Child::start("serving without descriptors", "".as_ref());
        assert!(child.says("ended"), "see above");
    });
}

pub(crate) fn exit_watch_without_descriptors() {
    let (one, _other) = UnixStream::pair().unwrap();
    let taken = exhaust();
    let outcome = breezeway_os::exit_descriptor(&one);
    drop(taken);
    assert_eq!(outcome.unwrap_err().raw_os_error(), Some(libc::EMFILE));
    say("seen");
}

#[test]
fn shortage_is_not_taken_for_missing_exit_descriptors() {
    within(GENEROUS, || {
        let mut child = Child::start("exit watch without descriptors", "".as_ref());
        assert!(child.says("seen"), "see above");
    });
}

/// Returns the refusals of a peer's hello with three descriptors, by a receiver with room for no
/// descriptor, for one, and so on.
fn refused_with_few_numbers<T>(
    accept: impl Fn(OwnedFd) -> Result<T, ConnectError>,
) -> Vec<HandshakeError> {
    let open_files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let refused = |free| {
        let before = open_files();
        let (hostile, honest) = UnixStream::pair().unwrap();
        let control = control_segment(&Terms::default());
        let hello = Hello::new(&Terms::default());
        socket::send(&hostile, &hello.0, &[control.fd.as_fd(); 3]).unwrap();
        let mut taken = exhaust();
        taken.truncate(taken.len() - free);
        let error = match accept(honest.into()) {
            Err(ConnectError::Handshake(error)) => error,
            Err(other) => panic!("another error: {other:?}"),
            Ok(_) => panic!("a session"),
        };
        drop((taken, hostile, control));
        // A connection that could not be emptied for want of numbers is closed by another thread.
        eventually("the end of the connection", || open_files() == before);
        error
    };
    (0..8).map(refused).collect()
}

pub(crate) fn hellos_with_few_numbers() {
    let options = options();
    let served =
        refused_with_few_numbers(|socket| ExclusiveServerSession::from_socket(socket, &options));
    let called = refused_with_few_numbers(|socket| ExclusiveSession::from_socket(socket, &options));
    for errors in [served, called] {
        let is_broken = |error: &_| matches!(error, HandshakeError::Descriptors(2));
        let first = errors.iter().position(is_broken).expect("refused for what it is");
        let (short, broken) = errors.split_at(first);
        let is_short =
            |error: &_| matches!(error, HandshakeError::OpenFiles | HandshakeError::Segment(_));
        assert!(!short.is_empty() && short.iter().all(is_short), "{errors:?}");
        // With a number for one, it is known that there are more.
        assert!(broken.iter().all(is_broken), "{errors:?}");
    }
    say("refused");
}

/// A hello comes with one descriptor. A receiver with room for the first of several is not short of
/// descriptors for a peer that keeps the rule.
#[test]
fn hello_with_partly_received_descriptors_is_refused() {
    within(GENEROUS, || {
        let mut child = Child::start("hellos with few numbers", "".as_ref());
        assert!(child.says("refused"), "see above");
    });
}

pub(crate) fn session_with_one_number() {
    for wait in [WaitPolicy::Park, WaitPolicy::Adaptive, WaitPolicy::Busy] {
        let (exhausted, is_exhausted) = mpsc::channel();
        let (agreed, is_agreed) = mpsc::channel();
        let options = options().wait(wait).call_timeout(Some(PATIENCE));
        // Its own number is not free before the end.
        let segment = breezeway_adversary::Shared::fit(4096);
        let fds = [segment.fd.as_fd(); 2];
        let attack = move |peer: &mut Peer| {
            agreed.send(()).unwrap();
            is_exhausted.recv().unwrap();
            socket::send(&peer.socket, &[SEGMENT], &fds).unwrap();
            peer.publish(&Entry::segment_add(0, 4096));
        };
        let outcome = called(options, Terms::default(), attack, |session| {
            is_agreed.recv().unwrap();
            let mut taken = exhaust();
            taken.pop();
            exhausted.send(()).unwrap();
            session.call(ECHO, b"x").map(drop)
        });
        let Err(CallError::Violation(Violation::Memory(violation))) = outcome else {
            panic!("{wait:?}: {outcome:?}")
        };
        assert!(
            matches!(broken_rule(&violation), MemoryViolation::UnwantedDescriptors),
            "{violation:?}"
        );
    }
    say("ended");
}

/// As above: a message brings one segment.
#[test]
fn message_with_partly_received_descriptors_ends_session() {
    within(GENEROUS, || {
        let mut child = Child::start("session with one number", "".as_ref());
        assert!(child.says("ended"), "see above");
    });
}

pub(crate) fn client_short_of_memory(path: &Path) {
    let mut session = ExclusiveSession::connect_with(address(path), &options()).unwrap();
    let mut request = vec![0; 10_000_000];
    request[0] = 4;
    let now = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = now.split(' ').next().unwrap().parse().unwrap();
    let current = Some(pages * 4096 + 14_000_000);
    setrlimit(Resource::As, Rlimit { current, maximum: None }).unwrap();
    assert_eq!(session.call(REPLY_OF, &request).unwrap().to_vec().len(), 4);
    // One that does not fit in any case is an error for the call.
    let outcome = session.reserve(30_000_000).map(drop);
    let Err(CallError::Segment(error)) = outcome else { panic!("{outcome:?}") };
    assert!(error.is_shortage(), "{error}");
    assert_eq!(session.call(ECHO, b"small").unwrap().to_vec(), b"small");
    say("sent");
}

#[test]
fn a_segment_is_as_small_as_the_message_where_memory_is_short() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let mut child = Child::start("client short of memory", stage.path());
        assert!(child.says("sent"), "see above");
        stage.close();
    });
}

#[test]
fn announced_segments_do_not_end_a_client_that_reads_ahead() {
    within(GENEROUS, || {
        let (announced, all_announced) = mpsc::channel();
        let (posted, all_posted) = mpsc::channel();
        // Half a ring: after a quarter of it that was not consumed, a post checks whether the
        // server is gone. That empties the socket and takes no entry. (A sleep reads one segment
        // at a time.)
        let posts = 32;
        let terms = Terms { ring_capacity: 256, ..Terms::default() };
        called(
            options(),
            terms,
            move |peer| {
                for _ in 0..MAX_UNANNOUNCED {
                    peer.add_segment(4096);
                }
                announced.send(()).unwrap();
                all_posted.recv().unwrap();
                for _ in 0..posts {
                    assert_eq!(peer.next_message().unwrap().body(), b"post");
                }
                let request = peer.next_message().unwrap();
                peer.publish(&Entry::reply(request.stream(), b"done"));
            },
            // Both own their ends of the channels, so that one that fails ends the other.
            move |session| {
                all_announced.recv().unwrap();
                for _ in 0..posts {
                    session.post(ECHO, b"post").unwrap();
                }
                posted.send(()).unwrap();
                assert_eq!(session.call(ECHO, b"x").unwrap().to_vec(), b"done");
            },
        );
    });
}

#[test]
fn client_with_full_socket_gets_error_for_new_segment() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let mut peer = Peer::connect(stage.path(), Terms::default());
        // The server rings for each reply until the socket is full.
        for call in 0..2000u32 {
            peer.ring.shared.store(control::DATA_WAKE_AT, peer.view.head);
            peer.publish(&Entry::request(2 * call + 1, ECHO, b"x"));
            while peer.view.try_next().is_none() {
                std::thread::yield_now();
            }
            peer.ring.shared.store(control::CONSUMED_AT, peer.view.head);
        }
        peer.publish(&Entry::request(1, REPLY_OF, &100_000u64.to_le_bytes()));
        let deadline = Instant::now() + PATIENCE;
        let failed = loop {
            if let Some(seen) = peer.view.try_next() {
                break seen;
            }
            assert!(Instant::now() < deadline, "no answer");
            std::thread::yield_now();
        };
        assert_eq!((failed.kind(), failed.flags()), (kind::MESSAGE, flag::FIN | flag::ERROR));
        assert_eq!(failed.tag(), 3, "no memory for the reply");
        peer.ring.shared.store(control::CONSUMED_AT, peer.view.head);
        while socket::try_receive(&peer.socket, 4096).is_some() {}
        assert_eq!(peer.call(3, ECHO, b"goes on"), b"goes on");
        stage.close();
    });
}
