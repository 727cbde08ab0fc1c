//! An announced body takes no memory before its bytes come, and one that finds no memory fails one
//! call.

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use breezeway::{
    Address, CallError, Carrier, ExclusiveSession, Session, SessionOptions, WaitPolicy, describe,
};
use breezeway_adversary::Connection;
use breezeway_adversary::native::frame::{Header, greet, hello, request, welcome};
use breezeway_adversary::native::layout::hello::{LEN, MAX_STREAMS_AT, STREAM_MESSAGES_AT};

use super::{LARGE_CAP, SOCKETS};
use crate::support::server::{self, ECHO, RESERVE};
use crate::support::{
    EVERY_POLICY, Folder, PATIENCE, PROMPT, Process, Server, Settings, Stopwatch, hear, observe,
    raw, say, within,
};

/// Limit of the server's reserved memory per session that only announces a body.
const LITTLE: usize = 1 << 20;

#[test]
fn announced_body_takes_no_memory_before_it_comes() {
    const PEERS: usize = 40;
    for carrier in SOCKETS {
        let server = Server::on(carrier, Settings::new().with("cap", LARGE_CAP));
        let mut other = server.connect(&SessionOptions::new());
        server::assert_serves(&mut other);
        let before = observe::reserved_memory(server.pid());
        let announced = Header::request(1, ECHO, LARGE_CAP as usize).bytes();
        let mut peers: Vec<_> = (0..PEERS)
            .map(|_| {
                let mut peer = raw::connect(&server.address());
                greet(&mut peer, LARGE_CAP);
                peer.write_all(&announced).unwrap();
                peer
            })
            .collect();
        // Served by the same thread, behind them.
        server::assert_serves(&mut other);
        let held = observe::reserved_memory(server.pid()).saturating_sub(before);
        assert!(held < PEERS * LITTLE, "{carrier}: {held} bytes for {PEERS} headers");
        // The server holds the bytes that have come, and not much more.
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
fn unread_replies_to_tiny_requests_take_no_memory() {
    for carrier in SOCKETS {
        let server = Server::on(carrier, Settings::new());
        let mut other = server.connect(&SessionOptions::new().wait(WaitPolicy::Park));
        server::assert_serves(&mut other);
        let before = observe::reserved_memory(server.pid());
        let mut peers: Vec<_> = (0..8)
            .map(|_| {
                let mut peer = raw::connect(&server.address());
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

/// The role: calls a server by hand, with a deadline, at each line of input.
pub(crate) fn call_with_a_deadline(settings: &Settings) {
    let options = server::session_options(settings).cap(LARGE_CAP);
    let mut session =
        ExclusiveSession::connect_with(settings.get::<breezeway::Address>("address"), &options)
            .unwrap();
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
fn announced_reply_takes_no_memory_until_deadline() {
    for carrier in SOCKETS {
        for policy in EVERY_POLICY {
            let folder = Folder::on(carrier);
            let listener = raw::listen(&folder.address());
            let settings = Settings::new()
                .with("address", folder.address())
                .with("wait", server::policy_name(policy));
            let mut caller = Process::start("caller", &settings);
            let mut peer = listener.accept().unwrap();
            welcome(&mut peer, LARGE_CAP);
            caller.expect("connected");
            let before = observe::reserved_memory(caller.pid());
            peer.write_all(&Header::reply(1, LARGE_CAP as usize).bytes()).unwrap();
            caller.write_line("call");
            assert!(caller.expect("error").contains("deadline"));
            let held = observe::reserved_memory(caller.pid()).saturating_sub(before);
            assert!(held < LITTLE, "{carrier} {policy:?}: {held} bytes");
        }
    }
}

/// Address space that a process which is short of memory has beside its own.
const SPARE: u64 = 150 << 20;
/// Bytes of a message that finds no room in that, and of two that do not find it together.
const HUGE: usize = 256 << 20;
const HALF: usize = 100 << 20;
const HUGE_CAP: u64 = 1 << 30;
/// A session's buffer before it grows.
const BUFFER: usize = 64 << 10;

/// A server that is short of memory, whose sessions with clients that take streams are shared.
fn short_server(carrier: Carrier, streams: bool) -> Server {
    let settings = Settings::new().with("cap", HUGE_CAP).with("spare", SPARE);
    Server::on(carrier, settings.with("streams", streams))
}

fn huge_options() -> SessionOptions {
    SessionOptions::new().cap(HUGE_CAP).handshake_timeout(PATIENCE)
}

#[track_caller]
fn names_the_limit(error: &CallError, len: usize) {
    let text = describe(error);
    assert!(text.contains("RLIMIT_AS") && text.contains(&format!("{len} bytes")), "{text}");
}

/// Sends a request as far as the server takes it while it is short of memory for the rest, or all
/// but the last byte, if the server is done with the shortage before.
fn half_a_request(server: &Server, streams: bool) -> Connection {
    let mut peer = raw::connect(&server.address());
    let mut own = hello(64, HUGE_CAP);
    if streams {
        // Messages, bytes and number of streams.
        let windows = [&4u32.to_le_bytes()[..], &1000u64.to_le_bytes(), &2u16.to_le_bytes()];
        own[STREAM_MESSAGES_AT..MAX_STREAMS_AT + 2].copy_from_slice(&windows.concat());
    }
    peer.write_all(&own).unwrap();
    peer.read_exact(&mut [0; LEN]).unwrap();
    // The session's earlier buffer is part of that room.
    let room = observe::free_address_space(server.pid()) + BUFFER;
    peer.set_write_timeout(Duration::from_millis(100));
    peer.write_all(&Header::request(1, ECHO, HUGE).bytes()).unwrap();
    let body = vec![0; HUGE - 1];
    let (mut sent, waiting) = (0, Stopwatch::start());
    while sent < body.len() {
        match peer.write(&body[sent..]) {
            Ok(len) => sent += len,
            Err(error) if error.kind() != ErrorKind::WouldBlock => panic!("{error}"),
            // Each buffer has room for twice of what has come.
            Err(_) if 2 * sent > room => break,
            Err(_) => {}
        }
        assert!(!waiting.passed(PATIENCE), "{sent} bytes were taken");
    }
    peer
}

#[test]
fn dead_client_with_half_a_request_ends_its_session() {
    for carrier in SOCKETS {
        for streams in [false, true] {
            let server = short_server(carrier, streams);
            let before = server.at_rest();
            drop(half_a_request(&server, streams));
            server.returns_to(before);
            server::assert_takes_clients(&server.address());
        }
    }
}

#[test]
fn request_without_room_fails_by_name_and_session_goes_on() {
    for carrier in SOCKETS {
        let server = short_server(carrier, true);
        let mut session =
            ExclusiveSession::connect_with(server.address(), &huge_options()).unwrap();
        let shared = Session::connect_with(server.address(), &huge_options()).unwrap();
        let request = vec![7; HUGE];
        names_the_limit(&session.call(ECHO, &request).map(drop).unwrap_err(), HUGE);
        names_the_limit(&shared.call(ECHO, &request).map(drop).unwrap_err(), HUGE);
        server::assert_serves(&mut session);
        assert_eq!(shared.call(ECHO, b"small").unwrap().to_vec(), b"small");
    }
}

#[test]
fn half_requests_do_not_wait_for_each_other() {
    for carrier in SOCKETS {
        let server = short_server(carrier, false);
        let calls = [(); 2].map(|()| {
            let mut session = server.connect(&huge_options());
            std::thread::spawn(move || {
                let outcome = session.call(ECHO, &vec![7; HALF]).map(drop);
                server::assert_serves(&mut session);
                outcome
            })
        });
        for call in calls {
            let outcome = within(PATIENCE, "both calls", move || call.join().unwrap());
            if let Err(error) = outcome {
                assert!(describe(&error).contains("RLIMIT_AS"), "{error}");
            }
        }
    }
}

/// The role: a client that is short of memory for replies.
pub(crate) fn call_short_of_memory(settings: &Settings) {
    let address: Address = settings.get("address");
    let mut session = ExclusiveSession::connect_with(&address, &huge_options()).unwrap();
    let shared = Session::connect_with(&address, &huge_options()).unwrap();
    let request = (HUGE as u64).to_le_bytes();
    server::assert_serves(&mut session);
    shared.call(ECHO, b"small").unwrap();
    // Its thread is there before the limit.
    let waiting = Stopwatch::start();
    server::limit_address_space(SPARE);
    names_the_limit(&shared.call(RESERVE, &request).map(drop).unwrap_err(), HUGE);
    assert_eq!(shared.call(ECHO, b"small").unwrap().to_vec(), b"small");
    let error = session.call(RESERVE, &request).map(drop).unwrap_err();
    assert!(describe(&error).contains("RLIMIT_AS"), "{error}");
    assert!(error.session_goes_on());
    // Its first calls may fail for the same reply.
    while session.call(ECHO, b"small").map(drop).is_err() {
        assert!(!waiting.passed(PATIENCE), "no call succeeds");
    }
    say("goes on");
}

#[test]
fn reply_without_room_fails_by_name_and_session_goes_on() {
    for carrier in SOCKETS {
        let server = Server::on(carrier, Settings::new().with("cap", HUGE_CAP));
        let settings = Settings::new().with("address", server.address());
        let mut caller = Process::start("short caller", &settings);
        caller.expect("goes on");
    }
}
