//! Payload memory between two processes over time: steady traffic takes no more of it and makes no
//! page faults, and what is no longer needed is given back whole.

use std::collections::VecDeque;
use std::os::unix::net::UnixStream;

use breezeway::{CallError, ExclusiveSession, PayloadMemory, SessionOptions, describe};

use crate::support::content::{Random, noise};
use crate::support::server::{self, ECHO, assert_serves, session_options};
use crate::support::{
    MEBIBYTE, Process, Role, Server, Settings, Stopwatch, eventually, hear, observe, say,
};

/// Roles of the other processes of these tests.
pub(crate) const ROLES: &[(&str, Role)] = &[("steady", steady), ("back and forth", back_and_forth)];

// ---- steady traffic ----

/// The longest message of steady traffic.
const LONGEST: usize = 4 * MEBIBYTE;
/// Messages start at so many different places of the noise, 64 bytes apart.
const STARTS: u64 = 1009;
/// Calls in flight when pipelined.
const DEPTH: usize = 16;

/// Most messages are small, and some are of several mebibytes: about 10 KB on average.
fn steady_len(random: &mut Random) -> usize {
    let most = match random.below(1000) {
        0 => LONGEST,
        1..10 => MEBIBYTE,
        10..100 => 64 * 1024,
        100..400 => 4096,
        _ => 104,
    };
    random.below(most as u64 + 1) as usize
}

/// A client that echoes messages of random lengths, and compares them, without taking memory of its
/// own.
struct Steady {
    session: ExclusiveSession,
    random: Random,
    noise: Vec<u8>,
    received: Vec<u8>,
    flying: VecDeque<(usize, usize)>,
}

impl Steady {
    fn new(settings: &Settings) -> Self {
        let address: breezeway::Address = settings.get("address");
        let session = ExclusiveSession::connect_with(&address, &session_options(settings)).unwrap();
        let mut random = Random::new(settings.get("seed"));
        let words = (LONGEST + 64 * STARTS as usize) / 8;
        let noise = noise(&mut random, words);
        let (received, flying) = (vec![1; LONGEST], VecDeque::with_capacity(DEPTH + 1));
        Self { session, random, noise, received, flying }
    }

    fn send(&mut self, len: usize) {
        let start = 64 * self.random.below(STARTS) as usize;
        self.session.send(ECHO, &self.noise[start..][..len]).unwrap();
        self.flying.push_back((start, len));
    }

    fn receive(&mut self) {
        let (start, len) = self.flying.pop_front().expect("a call is in flight");
        let reply = self.session.receive().unwrap();
        assert_eq!(reply.bytes().len(), len);
        let received = &mut self.received[..len];
        reply.bytes().copy_to(received);
        assert!(*received == self.noise[start..][..len], "{len} bytes differ");
    }

    /// Echoes so many messages, `depth` in flight.
    fn echo(&mut self, count: u64, depth: usize) {
        for _ in 0..count {
            if self.flying.len() == depth {
                self.receive();
            }
            let len = steady_len(&mut self.random);
            self.send(len);
        }
        while !self.flying.is_empty() {
            self.receive();
        }
    }

    /// Everything in flight at once that ever may be.
    fn fill_up(&mut self) {
        for _ in 0..DEPTH / 2 {
            self.send(LONGEST);
        }
        while !self.flying.is_empty() {
            self.receive();
        }
    }
}

/// The role: warms up, prints that, and does one round at each line.
fn steady(settings: &Settings) {
    let (count, depth): (u64, usize) = (settings.get("messages"), settings.get("depth"));
    let mut steady = Steady::new(settings);
    if depth > 1 {
        steady.fill_up();
    }
    steady.echo(20_000, depth);
    say("warm");
    while hear().is_some() {
        steady.echo(count, depth);
        let PayloadMemory { own, own_added, peers, peers_added, .. } =
            steady.session.payload_memory();
        say(format!("round {own} {own_added} {peers} {peers_added}"));
    }
}

/// Resources of client and server that must not grow.
#[derive(Clone, Copy, Debug)]
struct Taken {
    /// Segments that each has ever added.
    added: [u64; 2],
    /// Bytes of each one's segments.
    bytes: [u64; 2],
    page_faults: [u64; 2],
}

/// Lets the client do a round.
fn round(client: &mut Process, server: &Server) -> Taken {
    client.write_line("on");
    let said = client.expect_within("round", PLENTY);
    let said: Vec<u64> = said.split(' ').map(|number| number.parse().unwrap()).collect();
    let page_faults = [client.pid(), server.pid()].map(observe::page_faults);
    Taken { added: [said[1], said[3]], bytes: [said[0], said[2]], page_faults }
}

fn steady_traffic_takes_nothing_more(count: u64) {
    // A busy machine may take a page away and give it back, and a peer that a hypervisor has moved
    // far away brings a segment for messages to go around in: so not every round needs to be free
    // of faults and of growth.
    const TRIES: usize = 3;
    for depth in [1, DEPTH] {
        let server = Server::start(Settings::new());
        let settings = Settings::new()
            .with("address", server.address())
            .with("seed", depth)
            .with("messages", count)
            .with("depth", depth);
        let mut client = Process::start("steady", &settings);
        client.expect_within("warm", PLENTY);
        let start = Stopwatch::start();
        let first = round(&mut client, &server);
        let mut before = first;
        let is_steady = (0..TRIES).any(|_| {
            let now = round(&mut client, &server);
            println!("{depth} in flight, {count} messages: {before:?}, then {now:?}");
            let most = first.added.map(|added| added + 1);
            assert!(now.added[0] <= most[0] && now.added[1] <= most[1], "more segments each time");
            let before = std::mem::replace(&mut before, now);
            let grew = now.bytes[0] > before.bytes[0] || now.bytes[1] > before.bytes[1];
            !grew && (now.added, now.page_faults) == (before.added, before.page_faults)
        });
        println!("{depth} in flight: {:?}", start.elapsed());
        assert!(is_steady, "page faults or more segments in every round, at last {before:?}");
        client.succeeds();
        server.stop();
    }
}

#[test]
fn steady_random_sizes_cause_no_faults_or_growth() {
    steady_traffic_takes_nothing_more(5_000);
}

#[test]
#[ignore = "about a minute; run it with: make soak"]
fn million_random_sizes_cause_no_faults_or_growth() {
    steady_traffic_takes_nothing_more(1_000_000);
}

/// A million messages take their time.
const PLENTY: std::time::Duration = std::time::Duration::from_secs(900);

// ---- back and forth ----

/// Size of the first segment.
const FIRST: usize = 64 * 1024;

/// The role: at each line grows and shrinks once, and prints how many segments both sides have
/// added so far.
fn back_and_forth(settings: &Settings) {
    let options = session_options(settings);
    let mut session =
        ExclusiveSession::connect_with(settings.get::<breezeway::Address>("address"), &options)
            .unwrap();
    let large = vec![7; MEBIBYTE];
    say("connected");
    while hear().is_some() {
        for _ in 0..6 {
            session.send(ECHO, &large).unwrap();
        }
        for _ in 0..6 {
            assert!(session.receive().unwrap().to_vec() == large);
        }
        let mut memory = session.payload_memory();
        let start = Stopwatch::start();
        while (memory.own, memory.peers) != (FIRST as u64, FIRST as u64) {
            assert!(!start.passed(crate::support::PATIENCE), "{memory:?}");
            // So small that the first segment does.
            assert_eq!(session.call(ECHO, &large[..200]).unwrap().bytes().len(), 200);
            memory = session.payload_memory();
        }
        say(format!("round {} {}", memory.own_added, memory.peers_added));
    }
}

#[test]
fn repeated_growth_and_shrinking_leak_nothing() {
    const ROUNDS: u32 = 40;
    let settings = Settings::new().with("shrink", 1);
    let server = Server::start(settings.clone());
    let mut client = Process::start("back and forth", &settings.with("address", server.address()));
    client.expect("connected");
    let mut round = || {
        client.write_line("on");
        let added = client.expect("round");
        let added: Vec<u32> = added.split(' ').map(|count| count.parse().unwrap()).collect();
        let pids = [client.pid(), server.pid()];
        // The server drops the segment that the client has retired last when it takes the entry for
        // that.
        let counts = || pids.map(|pid| observe::segments(pid).count);
        eventually("only rings and first segments are left", || counts() == [4, 4]);
        (added, pids.map(observe::descriptors), pids.map(observe::segments))
    };
    let (added, descriptors, segments) = round();
    for number in 1..=ROUNDS {
        let (added_now, descriptors_now, segments_now) = round();
        assert_eq!((descriptors_now, segments_now), (descriptors, segments), "round {number}");
        for (before, now) in added.iter().zip(&added_now) {
            assert!(*now >= before + number, "{added:?} {added_now:?}");
        }
    }
    client.succeeds();
    server.stop();
}

#[test]
fn prefaulted_memory_serves_the_first_messages() {
    const READY: usize = MEBIBYTE / 4;
    let server = Server::start(Settings::new().with("prefault", READY));
    let mut session = server.connect(&SessionOptions::new().prefault(READY as u64));
    let memory = session.payload_memory();
    assert_eq!((memory.own, memory.own_added), (READY as u64, 1), "before the first message");
    let bytes = vec![3; READY];
    for _ in 0..3 {
        assert_eq!(session.call(ECHO, &bytes).unwrap().bytes().to_vec(), bytes);
        let memory = session.payload_memory();
        assert_eq!((memory.own, memory.own_added), (READY as u64, 1));
        assert_eq!((memory.peers, memory.peers_added), (READY as u64, 1));
    }
    // A side that has nothing ready takes memory as it needs it.
    let mut plain = server.connect(&SessionOptions::new());
    assert_eq!(plain.payload_memory().own, 0);
    assert_eq!(plain.call(ECHO, &bytes[..200]).unwrap().bytes().len(), 200);
    let memory = plain.payload_memory();
    assert_eq!((memory.own, memory.peers), (FIRST as u64, READY as u64));
}

#[test]
fn silent_clients_cost_one_control_segment() {
    let server = Server::start(Settings::new());
    let mapped = || observe::segments(server.pid()).count;
    assert_eq!(mapped(), 0);
    let silent: Vec<_> = (0..20).map(|_| UnixStream::connect(server.socket()).unwrap()).collect();
    eventually("one is made", || mapped() == 1);
    let mut session = server.connect(&SessionOptions::new());
    assert_eq!(mapped(), 2, "both sides' control segments: it took the one that was there");
    assert_serves(&mut session);
    drop((silent, session));
    eventually("none is left", || mapped() == 0);
    let silent = UnixStream::connect(server.socket()).unwrap();
    eventually("one is made", || mapped() == 1);
    drop(silent);
    eventually("none is left although nobody took it", || mapped() == 0);
    server.stop();
}

#[test]
fn ready_memory_is_bounded_by_cap_and_first_segment() {
    let cap = 64 * 1024;
    let server = Server::start(Settings::new().with("cap", cap).with("prefault", 4 * MEBIBYTE));
    // This side had made it for a larger cap than the server allows.
    let mut session = server.connect(&SessionOptions::new().prefault(4 << 20));
    assert_eq!(session.call(ECHO, &vec![1; cap]).unwrap().bytes().len(), cap);
    let memory = session.payload_memory();
    assert_eq!((memory.own, memory.peers), (cap as u64, cap as u64));
    assert_eq!((memory.own_added, memory.peers_added), (1, 1));
    let session = server.connect(&SessionOptions::new().prefault(1));
    assert_eq!(session.payload_memory().own, FIRST as u64);
}

#[test]
fn session_opens_without_room_for_ready_memory() {
    let settings = Settings::new().with("prefault", MEBIBYTE).with("memory", MEBIBYTE / 2);
    let server = Server::start(settings);
    let mut session = server.connect(&SessionOptions::new());
    assert_eq!(session.call(ECHO, &[1; 104]).unwrap().bytes().len(), 104);
    assert_eq!(session.call(ECHO, &vec![1; MEBIBYTE / 4]).unwrap().bytes().len(), MEBIBYTE / 4);
    let error = describe(&session.call(ECHO, &vec![1; MEBIBYTE]).unwrap_err());
    assert!(error.contains("max_memory"), "{error}");
    assert_eq!(session.call(ECHO, &[1; 104]).unwrap().bytes().len(), 104);
}

#[test]
fn mapped_memory_stays_within_memory_budget() {
    const CAP: usize = 3 * MEBIBYTE;
    let server = Server::start(Settings::new().with("cap", CAP));
    let options = SessionOptions::new().cap(CAP as u64);
    let mut session = server.connect(&options);
    let bytes = vec![1; CAP];
    let mut random = Random::new(5);
    for _ in 0..300 {
        let len = random.below(CAP as u64 + 1) as usize;
        assert_eq!(session.call(ECHO, &bytes[..len]).unwrap().bytes().len(), len);
        // Retired segments are unmapped by a thread of their own, a moment later.
        let mapped = || observe::segments(server.pid()).bytes as u64;
        eventually("no more is mapped", || mapped() <= options.memory_budget());
    }
    assert_eq!(session.call(ECHO, &bytes).unwrap().bytes().len(), CAP);
}

#[test]
fn unreleased_payload_stops_at_cap_with_named_limit() {
    let mut server = Server::start(Settings::new().with("cap", MEBIBYTE).with("gate", false));
    let timeout = std::time::Duration::from_millis(200);
    let options = SessionOptions::new().cap(MEBIBYTE as u64).call_timeout(Some(timeout));
    let mut session = server.connect(&options);
    let bytes = vec![1; 100_000];
    let error = loop {
        // The first one waits at the gate, so that none is ever released.
        match session.post(server::SINK, &bytes) {
            Ok(()) => assert!(session.payload_memory().own <= MEBIBYTE as u64),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, CallError::DeadlinePassed), "it waits for the server: {error:?}");
    assert!(session.payload_memory().own <= MEBIBYTE as u64);
    server.open_gate();
    session.set_call_timeout(Some(crate::support::PATIENCE));
    assert_serves(&mut session);
    let too_long = session.call(ECHO, &vec![1; MEBIBYTE + 1]).unwrap_err();
    assert!(matches!(too_long, CallError::TooLarge { .. }), "{too_long:?}");
    assert!(too_long.to_string().contains("raise the cap"), "{too_long}");
}
