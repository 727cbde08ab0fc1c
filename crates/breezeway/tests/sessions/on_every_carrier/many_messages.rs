//! Content over the long run, between two processes: nothing lost, nothing reordered, nothing
//! changed, and memory that stays within its caps.

use std::time::Instant;

use breezeway::{CallError, ErrorCode, ExclusiveSession, SessionOptions, WaitPolicy};

use crate::support::content::{Random, message};
use crate::support::server::{
    self, ECHO, GIVE, SINK, ask_for, assert_serves, policy_name, sinkable, tally,
};
use crate::support::{
    EVERY_POLICY, MEBIBYTE, PATIENCE, Process, Role, Server, Settings, hear, observe, on_socket,
    say, within,
};

/// Roles of the other processes of these tests.
pub(crate) const ROLES: &[(&str, Role)] = &[("wanderer", wander)];

/// Round trips with small messages of changing lengths, each compared with what was sent.
fn round_trips(session: &mut ExclusiveSession, count: u64) {
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

fn count_of_messages_keeps_content_and_order(count: u64) {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let mut session = server.connect(&SessionOptions::new());
    let start = Instant::now();
    round_trips(&mut session, count);
    println!("{count} round trips in {:?}", start.elapsed());
}

#[test]
fn very_many_messages_keep_their_content_and_order() {
    count_of_messages_keeps_content_and_order(20_000);
}

#[test]
#[ignore = "a minute, longer on a busy machine; run it with: cargo test --release -p breezeway \
    --test sessions -- --ignored ten_million"]
fn ten_million_messages_keep_their_content_and_order() {
    count_of_messages_keeps_content_and_order(10_000_000);
}

#[test]
fn pipelined_calls_are_answered_in_order_with_their_own_content() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let mut session = server.connect(&SessionOptions::new().ring_capacity(64));
    let depth = session.max_in_flight() as u64;
    assert_eq!(depth, 32);
    let mut random = Random::new(3);
    let lens: Vec<_> = (0..20_000).map(|_| random.len(2000)).collect();
    let content = |number: usize| message(number as u64, lens[number]);
    let mut calls = std::collections::VecDeque::new();
    let mut received = 0;
    for number in 0..lens.len() {
        if calls.len() as u64 == depth {
            let reply = session.receive().unwrap();
            assert_eq!(Some(reply.call()), calls.pop_front());
            assert_eq!(reply.to_vec(), content(received));
            received += 1;
        }
        calls.push_back(session.send(ECHO, content(number)).unwrap());
        assert_eq!(session.in_flight(), calls.len());
    }
    while let Some(call) = calls.pop_front() {
        let reply = session.receive().unwrap();
        assert_eq!(reply.call(), call);
        assert_eq!(reply.to_vec(), content(received));
        received += 1;
    }
    assert_eq!((received, session.in_flight()), (lens.len(), 0));
}

#[test]
fn flushed_and_dropped_batches_arrive_complete() {
    for policy in EVERY_POLICY {
        let server = Server::waiting(policy);
        let mut session = server.connect(&SessionOptions::new().wait(policy));
        let mut number = 0;
        for round in 0..50 {
            let mut batch = session.batch();
            for _ in 0..100 {
                batch.post(SINK, &sinkable(1, number, 30)).unwrap();
                number += 1;
            }
            if round % 2 == 0 { batch.flush().unwrap() } else { drop(batch) }
        }
        assert_eq!(tally(&mut session), [number, 0, 0]);
    }
}

#[test]
fn calls_sent_in_a_batch_are_all_answered() {
    let server = Server::waiting(WaitPolicy::Park);
    let mut session = server.connect(&SessionOptions::new().wait(WaitPolicy::Park));
    let mut batch = session.batch();
    let calls: Vec<_> =
        (0..10).map(|number| batch.send(ECHO, message(number, 200)).unwrap()).collect();
    batch.flush().unwrap();
    for (number, call) in calls.into_iter().enumerate() {
        let reply = session.receive().unwrap();
        assert_eq!(reply.call(), call);
        assert_eq!(reply.to_vec(), message(number as u64, 200));
    }
}

// ---- growth ----

/// Most messages are small, some as large as the cap allows: all parts of the growing and shrinking
/// of segments come about.
fn wandering_len(random: &mut Random) -> usize {
    match random.below(100) {
        0 => random.below(MEBIBYTE as u64 + 1) as usize,
        1..10 => random.below(50_000) as usize,
        _ => random.len(4000),
    }
}

/// The role: calls with messages of all sizes, and pauses to be looked at.
fn wander(settings: &Settings) {
    let options = server::session_options(settings);
    let mut session =
        ExclusiveSession::connect_with(settings.get::<breezeway::Address>("address"), &options)
            .unwrap();
    let mut random = Random::new(settings.get("seed"));
    let (rounds, messages): (u64, u64) = (settings.get("rounds"), settings.get("messages"));
    say("connected");
    for round in 0..rounds {
        for number in 0..messages / rounds {
            let number = round * messages + number;
            let len = wandering_len(&mut random);
            if random.below(2) == 0 {
                let request = message(number, len);
                let reply = session.call(ECHO, request).unwrap();
                // Comparing all of them would take most of the time; a few bytes distinguish a
                // message from every other.
                let (first, last) = (len.min(64), len.saturating_sub(64));
                assert_eq!(reply.bytes().len(), len);
                assert_eq!(reply.bytes().slice(..first).to_vec(), request[..first]);
                assert_eq!(reply.bytes().slice(last..).to_vec(), request[last..]);
            } else {
                let reply = session.call(GIVE, &ask_for(number, len)).unwrap();
                assert!(reply.to_vec() == message(number, len));
            }
        }
        say("round");
        hear();
    }
}

#[test]
fn memory_stays_within_caps_over_mixed_sizes() {
    const ROUNDS: usize = 20;
    let server = Server::start(Settings::new().with("cap", MEBIBYTE));
    let settings = Settings::new()
        .with("address", server.address())
        .with("cap", MEBIBYTE)
        .with("seed", 42)
        .with("rounds", ROUNDS)
        .with("messages", 20_000);
    let mut client = Process::start("wanderer", &settings);
    client.expect("connected");
    let control = observe::segments(client.pid());
    assert_eq!(control.count, if on_socket() { 0 } else { 2 });
    let mut private = Vec::new();
    for _ in 0..ROUNDS {
        client.expect("round");
        for pid in [client.pid(), server.pid()] {
            let segments = observe::segments(pid);
            let most = if on_socket() { 0 } else { control.bytes + 2 * MEBIBYTE };
            assert!(segments.bytes <= most, "{segments:?}");
        }
        private.push([client.pid(), server.pid()].map(observe::private_memory));
        client.write_line("on");
    }
    client.succeeds();
    // The private memory of each process does not grow with the number of messages. (On a socket it
    // holds a message each way, and gives that back after a while without use.)
    let slack = if on_socket() { 4 * MEBIBYTE } else { MEBIBYTE };
    let (early, late) = (private[ROUNDS / 4], private[ROUNDS - 1]);
    for (early, late) in early.into_iter().zip(late) {
        assert!(late <= early + slack, "{private:?}");
    }
    server.stop();
}

/// Lengths each of which is just too large for the segments that hold the ones before it, and last
/// the cap, which needs the room of all.
fn lens_that_need_every_segment(cap: usize) -> Vec<usize> {
    const FIRST_SEGMENT: usize = 64 * 1024;
    const PAGE: usize = 4096;
    let (mut lens, mut segment) = (vec![1000], FIRST_SEGMENT);
    while segment < cap / 2 {
        lens.push(segment + 1);
        let next = 2 * (segment + PAGE);
        // Larger ones may have whole huge pages.
        segment = if next > MEBIBYTE / 2 { next.next_multiple_of(2 * MEBIBYTE) } else { next };
    }
    lens.push(cap);
    lens
}

/// Calls until there is memory for the reply: the server cannot wait for its client, but each call
/// gives it room to go on.
fn call_until_there_is_memory(session: &mut ExclusiveSession, request: &[u8]) -> Vec<u8> {
    const TRIES: usize = 20;
    for _ in 0..TRIES {
        match session.call(ECHO, request) {
            Ok(reply) => return reply.to_vec(),
            Err(CallError::Failed { code: ErrorCode::NoMemory, .. }) => {}
            Err(other) => panic!("{} bytes: {other:?}", request.len()),
        }
    }
    panic!("no memory for {} bytes after {TRIES} calls", request.len());
}

#[test]
fn the_smallest_rings_suffice_to_use_all_memory_of_a_large_cap() {
    const LARGE_CAP: usize = 64 << 20;
    for policy in [WaitPolicy::Adaptive, WaitPolicy::Park] {
        let server =
            Server::start(Settings::new().with("wait", policy_name(policy)).with("ring", 8));
        let mut session = server.connect(&SessionOptions::new().wait(policy).ring_capacity(8));
        let mut session = within(PATIENCE, "messages of growing sizes", move || {
            for len in lens_that_need_every_segment(LARGE_CAP) {
                let bytes = vec![7; len];
                assert!(call_until_there_is_memory(&mut session, &bytes) == bytes, "{len} bytes");
            }
            session
        });
        assert_serves(&mut session);
    }
}

#[test]
fn idle_session_holds_at_most_256_kib_per_direction() {
    const SESSIONS: usize = 20;
    let server = Server::waiting(WaitPolicy::Park);
    let held = || observe::segments(server.pid()).bytes + observe::private_memory(server.pid());
    // The first one lets the server take what it needs once.
    let mut sessions = vec![server.connect(&SessionOptions::new())];
    sessions[0].call(ECHO, b"small").unwrap();
    let before = held();
    for _ in 0..SESSIONS {
        let mut session = server.connect(&SessionOptions::new());
        session.call(ECHO, b"small").unwrap();
        sessions.push(session);
    }
    let each = (held() - before) / SESSIONS;
    assert!(each <= 2 * 256 * 1024, "{each} bytes each");
}

/// Only where memory is shared.
mod on_shm {
    use super::*;

    #[test]
    fn regrown_session_stays_within_its_caps() {
        // It counts segments.
        let server = Server::start(Settings::new().with("cap", MEBIBYTE));
        let options = SessionOptions::new().cap(MEBIBYTE as u64);
        let mut session = server.connect(&options);
        let idle = observe::segments(server.pid());
        for _ in 0..20 {
            for len in [1000, 300_000, MEBIBYTE, 200, 600_000, 500_000, MEBIBYTE - 5000] {
                let request = message(len as u64, len);
                assert!(session.call(ECHO, request).unwrap().to_vec() == request);
                let grown = observe::segments(server.pid());
                assert!(grown.bytes <= idle.bytes + 2 * MEBIBYTE, "{grown:?}");
            }
        }
    }
}
