//! Sessions between two processes: content over the long run, several clients, who may come, who is who, and how a server ends.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use breezeway::{Session, SessionOptions, WaitPolicy};
use support::content::{Random, message};
use support::server::{
    self, ECHO, GIVE_GATED, SINK, WHO, assert_serves, policy_name, sinkable, tally, wish,
};
use support::{
    EVERY_POLICY, Folder, MEBIBYTE, PATIENCE, PROMPT, Process, Server, Settings, eventually, hear,
    observe, play, say, within,
};

#[test]
#[ignore = "a process that the tests of this file start"]
fn another_process() {
    play(&[("server", server::serve)]);
}

// ---- content ----

/// Round trips with small messages of changing lengths, each compared with what was sent.
fn round_trips(session: &mut Session, count: u64) {
    let mut request = [0; 40];
    for number in 0..count {
        let len = 8 + (number % 33) as usize;
        request[..8].copy_from_slice(&number.to_le_bytes());
        request[8..len].copy_from_slice(message(number, len - 8));
        let reply = session.call(ECHO, &request[..len]).unwrap();
        let bytes = reply.bytes();
        assert_eq!(bytes.as_slice(), Some(&request[..len]), "message {number}");
    }
}

#[test]
fn a_hundred_thousand_messages_keep_their_content_and_order() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let mut session = server.connect(&SessionOptions::new());
    let start = Instant::now();
    round_trips(&mut session, 100_000);
    println!("{:?} per round trip", start.elapsed() / 100_000);
}
