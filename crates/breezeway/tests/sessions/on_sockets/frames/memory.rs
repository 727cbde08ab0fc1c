//! What is only announced takes no memory.

use std::io::{ErrorKind, Write};
use std::time::Duration;

use breezeway::{Session, SessionOptions, WaitPolicy};
use breezeway_adversary::native::frame::{Header, greet, request, welcome};

use super::{LARGE_CAP, SOCKETS};
use crate::support::server::{self, ECHO};
use crate::support::{
    EVERY_POLICY, Folder, PROMPT, Process, Server, Settings, hear, observe, raw, say, within,
};

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

/// The role: calls a server by hand, with a deadline, each time it is told to.
pub(crate) fn call_with_a_deadline(settings: &Settings) {
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
