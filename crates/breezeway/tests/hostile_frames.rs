//! Peers that send what no frame may be, over both kinds of socket: written from `docs/abi.md`, section 8, alone.
//!
//! The honest side ends such a session with an error that names the broken rule, or goes on; it never panics, never hangs, takes no memory for what was only announced, and its
//! other sessions never notice. `BREEZEWAY_HOSTILE_SEED` repeats what was done by chance.

mod support;

#[path = "hostile/log.rs"]
#[allow(dead_code, reason = "this file uses a part of it")]
mod log;

use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, ThreadId};
use std::time::Duration;

use breezeway::{
    Address, Call, CallError, Carrier, HandlerError, Replied, ServeError, ServerOptions, Session,
    SessionOptions, Stopper, WaitPolicy,
};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use support::content::{Random, message};
use support::frame::{
    self, CANCEL, ERROR, FIN, Header, LENT, MESSAGE, NO_REPLY, OPEN, SHUTDOWN, greet, request,
    welcome,
};
use support::server::{self, ECHO};
use support::{
    EVERY_POLICY, Folder, PATIENCE, PROMPT, Process, Raw, RawListener, Server, Settings,
    eventually, hear, observe, play, say, wait_for, within,
};

#[test]
#[ignore = "a process that the tests of this file start"]
fn another_process() {
    play(&[("server", server::serve), ("caller", call_with_a_deadline)]);
}

const SOCKETS: [Carrier; 2] = [Carrier::Unix, Carrier::Tcp];
/// The honest side's cap, and what the others say is theirs.
const CAP: usize = 1 << 20;
const LARGE_CAP: u64 = 64 << 20;
/// An honest caller's method that the service answers with the request.
const METHOD: u32 = ECHO;

// ---- the honest server ----

/// An honest server in this process, so that it is heard why it ends sessions, with an honest client that must not notice.
struct Stage {
    address: Address,
    stopper: Stopper,
    server: Option<JoinHandle<Result<(), ServeError>>>,
    /// The thread that serves.
    worker: ThreadId,
    laps: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    bystander: Option<JoinHandle<()>>,
    _folder: Folder,
}

impl Stage {
    fn set(carrier: Carrier, policy: WaitPolicy) -> Self {
        log::keep();
        let folder = Folder::on(carrier);
        let address = folder.address();
        let session =
            SessionOptions::new().wait(policy).cap(CAP as u64).handshake_timeout(PATIENCE);
        let options = ServerOptions::new().session(session);
        let server = breezeway::Server::bind_with(&address, options).unwrap();
        let stopper = server.stopper();
        let worker = Arc::new(OnceLock::new());
        let serving = Arc::clone(&worker);
        let server = std::thread::spawn(move || {
            server.serve(move |call: Call<'_>| -> Result<Replied, HandlerError> {
                serving.get_or_init(|| std::thread::current().id());
                Ok(call.echo()?)
            })
        });
        let (laps, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let bystander = std::thread::spawn({
            let (laps, stop, address) = (Arc::clone(&laps), Arc::clone(&stop), address.clone());
            let options = support::patient().wait(WaitPolicy::Park);
            move || {
                let mut session = Session::connect_with(&address, &options).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    let number = laps.load(Ordering::Relaxed);
                    for len in [0, 100, 5000, 70_000] {
                        let request = message(number, len);
                        assert!(session.call(METHOD, request).unwrap().to_vec() == request);
                    }
                    laps.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        eventually("the honest client is served", || laps.load(Ordering::Relaxed) > 0);
        let worker = *worker.get().expect("a call was served");
        Self {
            address,
            stopper,
            server: Some(server),
            worker,
            laps,
            stop,
            bystander: Some(bystander),
            _folder: folder,
        }
    }

    /// A client by hand that has its session.
    fn peer(&self) -> Raw {
        let mut peer = Raw::connect(&self.address);
        greet(&mut peer, LARGE_CAP);
        peer
    }

    /// Waits until the server says, since `from`, why a session ended.
    #[track_caller]
    fn end_of_session(&self, from: usize) -> String {
        log::wait_for(self.worker, from, PATIENCE, |line| line.message == "session ended")
            .expect("a session ends")
            .error
    }

    /// The honest client is served as before.
    #[track_caller]
    fn goes_on(&self) {
        let seen = self.laps.load(Ordering::Relaxed);
        eventually("the honest client goes on", || self.laps.load(Ordering::Relaxed) > seen + 1);
    }

    /// Ends it: nobody has panicked, and the honest client was served to the end.
    fn close(mut self) {
        self.goes_on();
        self.stop.store(true, Ordering::Relaxed);
        self.bystander.take().unwrap().join().expect("the honest client failed");
        self.stopper.stop();
        let server = self.server.take().unwrap();
        within(PATIENCE, "the server's end", move || server.join().expect("a panic")).unwrap();
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.stopper.stop();
    }
}

/// Reads to the end; gives how many replies came before it.
#[track_caller]
fn replies_to_the_end(peer: &mut Raw) -> usize {
    let mut replies = 0;
    while let Some((header, _)) = frame::next(peer).expect("an end") {
        replies += usize::from(header.kind == MESSAGE);
    }
    replies
}

/// Sends `bytes` behind one good request; the server answers that, ends the session for a reason that contains `rule`, and the honest client does not notice.
#[track_caller]
fn attack(stage: &Stage, bytes: &[u8], rule: &str) {
    let from = log::length();
    let mut peer = stage.peer();
    peer.write_all(&request(1, METHOD, b"good")).unwrap();
    assert_eq!(frame::next(&mut peer).unwrap(), Some((Header::reply(1, 4), b"good".to_vec())));
    // The server may end the session before it has taken all.
    let _ = peer.write_all(bytes);
    assert_eq!(replies_to_the_end(&mut peer), 0, "{rule}: {:02x?}", &bytes[..bytes.len().min(32)]);
    let reason = stage.end_of_session(from);
    assert!(reason.contains(rule), "'{reason}' does not say '{rule}'");
}

/// Each on both kinds of socket.
fn on_each_stage(policy: WaitPolicy, act: impl Fn(&Stage)) {
    for carrier in SOCKETS {
        let stage = Stage::set(carrier, policy);
        act(&stage);
        stage.close();
    }
}

/// A good request's header, with something wrong.
fn header(change: impl FnOnce(&mut Header)) -> Vec<u8> {
    let mut header = Header::request(3, METHOD, 0);
    change(&mut header);
    header.bytes().to_vec()
}

#[test]
fn every_kind_that_a_client_may_not_send_is_a_violation_by_name() {
    on_each_stage(WaitPolicy::Adaptive, |stage| {
        for kind in (0..=255).filter(|kind| ![MESSAGE, CANCEL, SHUTDOWN].contains(kind)) {
            let rule = match kind {
                2 | 4..=8 => "an unexpected ".to_owned(),
                _ => format!("kind {kind} is not defined"),
            };
            attack(stage, &header(|header| header.kind = kind), &rule);
        }
    });
}

#[test]
fn every_flag_that_a_request_may_not_have_is_a_violation_by_name() {
    const DEFINED: u8 = OPEN | FIN | ERROR | NO_REPLY;
    on_each_stage(WaitPolicy::Park, |stage| {
        for flags in (0..=255).filter(|flags| ![OPEN | FIN, OPEN | FIN | NO_REPLY].contains(flags))
        {
            let rule = match flags & !DEFINED {
                0 => format!("a message with flags {flags:#04x} is no request"),
                _ => format!("flags {flags:#04x} are not defined"),
            };
            attack(stage, &header(|header| header.flags = flags), &rule);
        }
    });
}

#[test]
fn a_body_longer_than_the_cap_is_a_violation_before_any_of_it_comes() {
    for policy in EVERY_POLICY {
        on_each_stage(policy, |stage| {
            for len in [CAP as u32 + 1, 2 * CAP as u32, 1 << 31, u32::MAX - 15, u32::MAX] {
                let rule = format!("with {len} bytes; a message has at most {CAP}");
                attack(stage, &header(|header| header.len = len), &rule);
                // Also if some of it comes.
                let some = [header(|header| header.len = len), vec![0; 200_000]].concat();
                attack(stage, &some, &rule);
            }
        });
    }
}

#[test]
fn a_body_as_long_as_the_cap_is_none() {
    on_each_stage(WaitPolicy::Adaptive, |stage| {
        for len in [0, 1, CAP - 1, CAP] {
            let mut peer = stage.peer();
            let body = message(5, len);
            let said = request(1, METHOD, body);
            std::thread::scope(|scope| {
                let mut writing = &peer;
                scope.spawn(move || writing.write_all(&said).unwrap());
            });
            let (reply, echoed) = frame::next(&mut peer).unwrap().expect("a reply");
            assert_eq!(reply, Header::reply(1, len));
            assert!(echoed == body);
        }
    });
}

#[test]
fn a_frame_without_a_message_has_no_body() {
    on_each_stage(WaitPolicy::Adaptive, |stage| {
        for kind in [CANCEL, SHUTDOWN] {
            for len in [1, 8, CAP as u32, u32::MAX] {
                let rule = format!("a frame of kind {kind} with {len} bytes");
                let change = |header: &mut Header| (header.kind, header.len) = (kind, len);
                attack(stage, &header(change), &rule);
            }
        }
    });
}

#[test]
fn a_request_on_a_stream_that_clients_do_not_use_is_a_violation() {
    on_each_stage(WaitPolicy::Park, |stage| {
        for stream in [0, 2, 4, 1 << 31, u32::MAX - 1] {
            let rule = format!("a request on stream {stream}; clients use odd numbers");
            attack(stage, &header(|header| header.stream = stream), &rule);
        }
    });
}

#[test]
fn what_is_reserved_or_belongs_to_nobody_is_not_read() {
    on_each_stage(WaitPolicy::Adaptive, |stage| {
        let mut peer = stage.peer();
        let mut said = Vec::new();
        let cancel = |stream, flags| Header {
            len: 0,
            kind: CANCEL,
            flags,
            reserved: u16::MAX,
            stream,
            tag: u32::MAX,
        };
        for (stream, flags) in [(0, 0), (1, 0xff), (u32::MAX, LENT), (77, 0)] {
            said.extend(cancel(stream, flags).bytes());
        }
        said.extend(header(|header| header.reserved = 0xbeef));
        // A number twice is the client's own affair.
        said.extend(header(|_| ()));
        peer.write_all(&said).unwrap();
        for _ in 0..2 {
            assert_eq!(frame::next(&mut peer).unwrap(), Some((Header::reply(3, 0), Vec::new())));
        }
    });
}

#[test]
fn what_comes_behind_a_shutdown_is_not_looked_at() {
    on_each_stage(WaitPolicy::Adaptive, |stage| {
        for garbage in [vec![0xff; 100_000], request(3, METHOD, b"late"), vec![0], Vec::new()] {
            let from = log::length();
            let mut peer = stage.peer();
            let said = [&request(1, METHOD, b"good")[..], &Header::shutdown().bytes(), &garbage];
            peer.write_all(&said.concat()).unwrap();
            let first = frame::next(&mut peer).unwrap();
            assert_eq!(first, Some((Header::reply(1, 4), b"good".to_vec())));
            assert_eq!(replies_to_the_end(&mut peer), 0);
            let said = log::lines_of(stage.worker, from);
            assert!(said.is_empty(), "{said:?}");
        }
    });
}

#[test]
fn frames_behind_a_violation_are_not_served() {
    on_each_stage(WaitPolicy::Adaptive, |stage| {
        let behind: Vec<u8> = (0..50).flat_map(|_| request(5, METHOD, b"late")).collect();
        attack(stage, &[header(|header| header.kind = 0), behind].concat(), "kind 0");
    });
}

/// Sends bytes with so many descriptors.
fn send_with_descriptors(peer: &Raw, bytes: &[u8], count: usize) {
    let file = tempfile::tempfile().unwrap();
    let descriptors = vec![file.as_fd(); count];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
    let sent = sendmsg(peer, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL);
    assert_eq!(sent, Ok(bytes.len()));
}

#[test]
fn descriptors_behind_the_hello_are_a_violation_and_are_closed() {
    for policy in EVERY_POLICY {
        let stage = Stage::set(Carrier::Unix, policy);
        let open = || observe::descriptors(std::process::id());
        for count in [1, 2, 4, 5, 64] {
            for bytes in [&request(1, METHOD, b"good")[..], &[0]] {
                let from = log::length();
                let mut peer = stage.peer();
                send_with_descriptors(&peer, bytes, count);
                assert_eq!(replies_to_the_end(&mut peer), 0);
                let reason = stage.end_of_session(from);
                assert!(reason.contains("file descriptors where messages travel"), "{reason}");
            }
        }
        stage.goes_on();
        // They are closed on a thread of their own; other tests of this file open some meanwhile.
        eventually("few descriptors are open", || open() < 400);
        stage.close();
    }
}

#[test]
fn a_violation_is_one_also_a_byte_at_a_time() {
    on_each_stage(WaitPolicy::Park, |stage| {
        for bytes in [header(|header| header.kind = 77), header(|header| header.len = u32::MAX)] {
            let from = log::length();
            let mut peer = stage.peer();
            for byte in bytes {
                peer.write_all(&[byte]).unwrap();
            }
            assert_eq!(replies_to_the_end(&mut peer), 0);
            let reason = stage.end_of_session(from);
            assert!(reason.contains("kind"), "{reason}");
        }
    });
}

// ---- memory ----

/// What a server has reserved for sessions stays below this for each that only announces.
const LITTLE: usize = 1 << 20;

#[test]
fn a_header_that_announces_much_takes_no_memory_before_the_body_comes() {
    const PEERS: usize = 40;
    for carrier in SOCKETS {
        let server = Server::on(carrier, Settings::new().with("cap", LARGE_CAP));
        let mut other = server.connect(&SessionOptions::new());
        server::assert_serves(&mut other);
        let before = observe::reserved_memory(server.pid());
        let announced = Header::request(1, ECHO, LARGE_CAP as usize).bytes();
        let mut peers: Vec<_> = (0..PEERS)
            .map(|_| {
                let mut peer = Raw::connect(&server.address());
                greet(&mut peer, LARGE_CAP);
                peer.write_all(&announced).unwrap();
                peer
            })
            .collect();
        // Served by the same thread, behind them.
        server::assert_serves(&mut other);
        let held = observe::reserved_memory(server.pid()).saturating_sub(before);
        assert!(held < PEERS * LITTLE, "{carrier}: {held} bytes for {PEERS} headers");
        // What has come is held, and not much more.
        const COME: usize = 4 << 20;
        peers.truncate(4);
        for peer in &mut peers {
            peer.write_all(&vec![0; COME]).unwrap();
        }
        server::assert_serves(&mut other);
        let held = observe::reserved_memory(server.pid()).saturating_sub(before);
        let most = peers.len() * 3 * COME + PEERS * LITTLE;
        assert!(held < most, "{carrier}: {held} bytes");
    }
}

#[test]
fn a_flood_of_tiny_requests_that_nobody_reads_the_replies_of_takes_no_memory() {
    for carrier in SOCKETS {
        let server = Server::on(carrier, Settings::new());
        let mut other = server.connect(&SessionOptions::new().wait(WaitPolicy::Park));
        server::assert_serves(&mut other);
        let before = observe::reserved_memory(server.pid());
        let mut peers: Vec<_> = (0..8)
            .map(|_| {
                let mut peer = Raw::connect(&server.address());
                greet(&mut peer, LARGE_CAP);
                peer.set_write_timeout(Duration::from_millis(100));
                peer
            })
            .collect();
        let batch: Vec<u8> = (0..5000).flat_map(|_| request(1, ECHO, &[])).collect();
        for peer in &mut peers {
            loop {
                match peer.write_all(&batch) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
        within(PROMPT, "calls of another client", move || server::assert_serves(&mut other));
        let held = observe::reserved_memory(server.pid()).saturating_sub(before);
        assert!(held < peers.len() * LITTLE, "{carrier}: {held} bytes");
        drop(peers);
        server::assert_takes_clients(&server.address());
    }
}

/// The role: calls a server by hand, with a deadline, each time it is told to.
fn call_with_a_deadline(settings: &Settings) {
    let options = server::session_options(settings).cap(LARGE_CAP);
    let mut session = Session::connect_with(&settings.get("address"), &options).unwrap();
    session.set_call_timeout(Some(Duration::from_millis(200)));
    say("connected");
    while hear().is_some() {
        say(match session.call(ECHO, b"hi") {
            Ok(reply) => format!("ok {}", reply.bytes().len()),
            Err(error) => format!("error {error}"),
        });
    }
}

#[test]
fn a_reply_that_is_only_announced_takes_no_memory_of_the_client_and_its_deadline_passes() {
    for carrier in SOCKETS {
        for policy in EVERY_POLICY {
            let folder = Folder::on(carrier);
            let listener = RawListener::bind(&folder.address());
            let settings = Settings::new()
                .with("address", folder.address())
                .with("wait", server::policy_name(policy));
            let mut caller = Process::start("caller", &settings);
            let mut peer = listener.accept().unwrap();
            welcome(&mut peer, LARGE_CAP);
            caller.expect("connected");
            let before = observe::reserved_memory(caller.pid());
            peer.write_all(&Header::reply(1, LARGE_CAP as usize).bytes()).unwrap();
            caller.tell("call");
            assert!(caller.expect("error").contains("deadline"));
            let held = observe::reserved_memory(caller.pid()).saturating_sub(before);
            assert!(held < LITTLE, "{carrier} {policy:?}: {held} bytes");
        }
    }
}

// ---- the honest client ----

/// What a caller is told of a server that answers its call with `answer`.
fn told(
    carrier: Carrier,
    policy: WaitPolicy,
    answer: Vec<u8>,
) -> (Result<Vec<u8>, CallError>, bool) {
    let folder = Folder::on(carrier);
    let listener = RawListener::bind(&folder.address());
    let acting = std::thread::spawn(move || {
        let mut peer = listener.accept().unwrap();
        welcome(&mut peer, LARGE_CAP);
        frame::next(&mut peer).unwrap().expect("the request");
        let _ = peer.write_all(&answer);
        // Until the client has heard: it must find out by itself, not because the other end is gone.
        let _ = frame::next(&mut peer);
    });
    let options = support::patient().wait(policy).cap(CAP as u64);
    let mut session = Session::connect_with(&folder.address(), &options).unwrap();
    let outcome = within(PATIENCE, "the outcome", move || {
        let outcome = session.call(METHOD, b"hi").map(|reply| reply.to_vec());
        let over = session.is_over();
        drop(session);
        (outcome, over)
    });
    within(PATIENCE, "the end", move || acting.join().expect("the attack itself failed"));
    outcome
}

/// A good reply's header, with something wrong.
fn answer(change: impl FnOnce(&mut Header)) -> Vec<u8> {
    let mut header = Header::reply(1, 0);
    change(&mut header);
    header.bytes().to_vec()
}

#[track_caller]
fn is_violation(policy: WaitPolicy, bytes: &[u8], rule: &str) {
    for carrier in SOCKETS {
        let (outcome, over) = told(carrier, policy, bytes.to_vec());
        match outcome {
            Err(CallError::Violation(violation)) => {
                let text = violation.to_string();
                assert!(text.contains(rule), "'{text}' does not say '{rule}'");
            }
            other => panic!("{carrier} {rule}: {other:?}"),
        }
        assert!(over, "{rule}");
    }
}

#[test]
fn every_kind_that_a_server_may_not_send_is_a_violation_by_name() {
    for kind in (0..=20).chain([127, 128, 255]).filter(|kind| ![MESSAGE, SHUTDOWN].contains(kind)) {
        let rule = match kind {
            2..=8 => "an unexpected ".to_owned(),
            _ => format!("kind {kind} is not defined"),
        };
        is_violation(WaitPolicy::Park, &answer(|header| header.kind = kind), &rule);
    }
}

#[test]
fn every_flag_that_a_reply_may_not_have_is_a_violation_by_name() {
    for flags in (0..=255u8).filter(|flags| ![FIN, FIN | ERROR].contains(flags)).step_by(3) {
        let rule = match flags & !(OPEN | FIN | ERROR | NO_REPLY) {
            0 => format!("a message with flags {flags:#04x} is no reply"),
            _ => format!("flags {flags:#04x} are not defined"),
        };
        is_violation(WaitPolicy::Adaptive, &answer(|header| header.flags = flags), &rule);
    }
}

#[test]
fn a_request_is_no_reply() {
    is_violation(WaitPolicy::Park, &request(1, METHOD, b"you serve"), "is no reply");
}

#[test]
fn a_reply_to_a_call_that_is_not_in_flight_is_a_violation() {
    for policy in EVERY_POLICY {
        for stream in [0, 2, 3, 5, u32::MAX] {
            let rule = format!("a reply on stream {stream}, where no call is in flight");
            is_violation(policy, &answer(|header| header.stream = stream), &rule);
        }
    }
}

#[test]
fn a_reply_longer_than_the_cap_is_a_violation_before_any_of_it_comes() {
    for policy in EVERY_POLICY {
        for len in [CAP as u32 + 1, u32::MAX - 15, u32::MAX] {
            let rule = format!("with {len} bytes; a message has at most {CAP}");
            is_violation(policy, &answer(|header| header.len = len), &rule);
        }
    }
    for kind in [CANCEL, SHUTDOWN] {
        let rule = format!("a frame of kind {kind} with 1 bytes");
        let change = |header: &mut Header| (header.kind, header.len) = (kind, 1);
        is_violation(WaitPolicy::Park, &answer(change), &rule);
    }
}

#[test]
fn a_reply_as_long_as_the_cap_is_one() {
    for carrier in SOCKETS {
        for policy in EVERY_POLICY {
            let body = message(3, CAP);
            let (outcome, over) = told(carrier, policy, frame::reply(1, body));
            assert!(outcome.unwrap() == body && !over);
        }
    }
}

#[test]
fn a_farewell_instead_of_a_reply_is_an_orderly_end_whatever_comes_behind_it() {
    for carrier in SOCKETS {
        for behind in [Vec::new(), vec![0xff; 1000]] {
            let farewell = [&Header::shutdown().bytes()[..], &behind].concat();
            let (outcome, over) = told(carrier, WaitPolicy::Adaptive, farewell);
            assert!(matches!(outcome, Err(CallError::Closed)), "{outcome:?}");
            assert!(over);
        }
    }
}

#[test]
fn a_second_reply_to_the_same_call_ends_the_session_at_the_next_use() {
    for carrier in SOCKETS {
        let folder = Folder::on(carrier);
        let listener = RawListener::bind(&folder.address());
        let acting = std::thread::spawn(move || {
            let mut peer = listener.accept().unwrap();
            welcome(&mut peer, LARGE_CAP);
            frame::next(&mut peer).unwrap().expect("the request");
            peer.write_all(&[frame::reply(1, b"once"), frame::reply(1, b"twice")].concat())
                .unwrap();
            while let Ok(Some(_)) = frame::next(&mut peer) {}
        });
        let mut session = Session::connect_with(&folder.address(), &support::patient()).unwrap();
        assert_eq!(session.call(METHOD, b"hi").unwrap().to_vec(), b"once");
        let error = within(PROMPT, "the error", move || {
            session.call(METHOD, b"hi").map(drop).expect_err("a violation")
        });
        assert!(matches!(error, CallError::Violation(_)), "{error:?}");
        within(PROMPT, "the end", move || acting.join().unwrap());
    }
}

#[test]
fn a_reply_with_descriptors_is_a_violation() {
    for policy in EVERY_POLICY {
        for count in [1, 4, 64] {
            let folder = Folder::on(Carrier::Unix);
            let listener = RawListener::bind(&folder.address());
            let acting = std::thread::spawn(move || {
                let mut peer = listener.accept().unwrap();
                welcome(&mut peer, LARGE_CAP);
                frame::next(&mut peer).unwrap().expect("the request");
                send_with_descriptors(&peer, &frame::reply(1, b"here"), count);
                while let Ok(Some(_)) = frame::next(&mut peer) {}
            });
            let options = support::patient().wait(policy);
            let mut session = Session::connect_with(&folder.address(), &options).unwrap();
            let error = within(PROMPT, "the error", move || {
                session.call(METHOD, b"hi").map(drop).expect_err("a violation")
            });
            assert!(error.to_string().contains("file descriptors"), "{error}");
            within(PROMPT, "the end", move || acting.join().unwrap());
        }
    }
}

// ---- by chance ----

fn seed() -> u64 {
    let seed = std::env::var("BREEZEWAY_HOSTILE_SEED").ok().map(|text| text.parse().unwrap());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = seed.unwrap_or(now.as_nanos() as u64);
    println!("BREEZEWAY_HOSTILE_SEED={seed}");
    seed
}

/// A number as attackers like them.
fn odd_number(random: &mut Random, near: u64) -> u64 {
    match random.below(5) {
        0 => 0,
        1 => u64::MAX - random.below(3),
        2 => 1 << random.below(40),
        3 => random.next(),
        _ => near.wrapping_add(random.below(5)).wrapping_sub(2),
    }
}

/// A frame that is nearly right.
fn nearly(random: &mut Random, good: Header) -> Vec<u8> {
    let mut header = good;
    let body = vec![random.next() as u8; random.len(5000)];
    header.len = body.len() as u32;
    if random.below(12) == 0 {
        match random.below(6) {
            0 => header.len = odd_number(random, header.len.into()) as u32,
            1 => header.kind = random.below(12) as u8,
            2 => header.flags ^= 1 << random.below(8),
            3 => header.stream = odd_number(random, header.stream.into()) as u32,
            4 => header.tag = random.next() as u32,
            _ => header.reserved = random.next() as u16,
        }
    }
    let mut bytes = [&header.bytes()[..], &body].concat();
    if random.below(30) == 0 {
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] = random.next() as u8;
    }
    if random.below(30) == 0 {
        bytes.truncate(random.below(bytes.len() as u64) as usize);
    }
    bytes
}

/// Sends frames by chance, in pieces by chance, reading now and then; gives how many.
fn play_at_random(peer: &mut Raw, random: &mut Random, good: impl Fn(u32) -> Header) -> u64 {
    peer.set_read_timeout(Duration::from_millis(1));
    peer.set_write_timeout(Duration::from_millis(100));
    let mut sent = 0;
    for number in 0..random.below(60) as u32 {
        let bytes = nearly(random, good(2 * number + 1));
        let cut = random.below(bytes.len() as u64 + 1) as usize;
        for part in [&bytes[..cut], &bytes[cut..]] {
            // The other side may be gone, or not read while we do not.
            if peer.write_all(part).is_err() {
                return sent;
            }
        }
        sent += 1;
        if random.below(3) == 0 {
            let mut some = vec![0; 20_000];
            if matches!(peer.read(&mut some), Ok(0)) {
                return sent;
            }
        }
    }
    match random.below(4) {
        0 => drop(peer.write_all(&Header::shutdown().bytes())),
        1 => drop(peer.shutdown(Shutdown::Write)),
        _ => {}
    }
    sent
}

#[test]
fn a_server_survives_thousands_of_frames_by_chance() {
    const FRAMES: u64 = 4000;
    let mut random = Random::new(seed());
    for (carrier, policy) in SOCKETS.into_iter().zip([WaitPolicy::Adaptive, WaitPolicy::Park]) {
        let stage = Stage::set(carrier, policy);
        let (mut frames, mut sessions) = (0, 0);
        while frames < FRAMES {
            let mut peer = stage.peer();
            frames +=
                play_at_random(&mut peer, &mut random, |stream| Header::request(stream, 0, 0));
            sessions += 1;
            if sessions % 50 == 0 {
                stage.goes_on();
            }
        }
        println!("{frames} frames in {sessions} sessions over {carrier}");
        stage.close();
    }
}

#[test]
fn a_client_survives_thousands_of_frames_by_chance() {
    const FRAMES: u64 = 3000;
    let mut random = Random::new(seed());
    for carrier in SOCKETS {
        let folder = Folder::on(carrier);
        let listener = RawListener::bind(&folder.address());
        let (mut frames, mut replies) = (0, 0);
        while frames < FRAMES {
            let policy = EVERY_POLICY[random.below(3) as usize];
            let options = support::patient().wait(policy).cap(CAP as u64);
            let address = folder.address();
            let (sender, outcome) = std::sync::mpsc::channel();
            let calling = std::thread::spawn(move || {
                let mut session = Session::connect_with(&address, &options).unwrap();
                session.set_call_timeout(Some(Duration::from_millis(20)));
                let mut replies = 0;
                for number in 0..60 {
                    replies += match number % 3 {
                        0 => u64::from(session.call(METHOD, b"hi").is_ok()),
                        // Errors are what this is about: any but a panic or a hang will do.
                        1 => session.post(METHOD, &[0; 300]).map_or(0, |()| 0),
                        _ => {
                            let _ = session.send(METHOD, b"ho");
                            u64::from(session.receive().is_ok())
                        }
                    };
                    if session.is_over() {
                        break;
                    }
                }
                sender.send(replies).unwrap();
            });
            let mut peer = listener.accept().unwrap();
            welcome(&mut peer, LARGE_CAP);
            frames += play_at_random(&mut peer, &mut random, |stream| Header::reply(stream, 0));
            drop(peer);
            replies += wait_for(&outcome, PATIENCE).expect("it neither panics nor hangs");
            calling.join().expect("it does not panic");
        }
        println!("{frames} frames, {replies} replies over {carrier}");
        assert!(replies > 0, "the attack never let a call through: it shows little");
    }
}
