//! A fast producer and a consumer that cannot keep up: the producer goes at the consumer's pace,
//! and neither holds more after a while than at first. `make slow` takes minutes of it.

use std::time::{Duration, Instant};

use breezeway::ExclusiveSession;

use crate::support::content::Random;
use crate::support::server::{self, SINK, session_options, sinkable, tally};
use crate::support::{MEBIBYTE, Process, Role, Server, Settings, hear, observe, patient, say};

/// Roles of the other processes of these tests.
pub(crate) const ROLES: &[(&str, Role)] = &[("producer", produce)];

/// Messages between two pauses of the consumer, of a millisecond each.
const PER_PAUSE: u64 = 20;
/// Messages that may be on their way: the window of one-way messages, and what is in a socket.
const ON_THEIR_WAY: u64 = 4096;

/// The role: sends one-way messages of all sizes for a time; prints a line after a part of that,
/// and their number at the end.
fn produce(settings: &Settings) {
    let address: breezeway::Address = settings.get("address");
    let mut session = ExclusiveSession::connect_with(&address, &session_options(settings)).unwrap();
    let time = Duration::from_millis(settings.get("milliseconds"));
    let (start, mut random, mut sent) = (Instant::now(), Random::new(7), 0);
    let mut post_until = |end: Duration| {
        while start.elapsed() < end || sent < 2 * ON_THEIR_WAY {
            let len = random.len(20_000);
            session.post(SINK, &sinkable(1, sent, len)).unwrap();
            sent += 1;
        }
        sent
    };
    post_until(time / 4);
    say("warm");
    hear();
    let sent = post_until(time);
    say(format!("sent {sent} {}", start.elapsed().as_millis()));
    hear();
}

/// Bytes that a process has for itself, and in segments.
fn held(pid: u32) -> usize {
    observe::reserved_memory(pid) + observe::segments(pid).bytes
}

#[test]
fn fast_producer_keeps_slow_consumers_pace_and_memory() {
    let seconds = std::env::var("SLOW_SECONDS").map_or(1, |seconds| seconds.parse().unwrap());
    let settings = Settings::new().with("pause_every", PER_PAUSE).with("cap", 8 * MEBIBYTE);
    let server = Server::start(settings);
    let before = server.at_rest();
    let settings = Settings::new().with("address", server.address()).with("cap", 8 * MEBIBYTE);
    let mut producer = Process::start("producer", &settings.with("milliseconds", 1000 * seconds));
    let patience = Duration::from_secs(60 + 4 * seconds);
    producer.expect_within("warm", patience);
    let both = [server.pid(), producer.pid()];
    let warm = both.map(held);
    producer.write_line("go on");
    let sent = producer.expect_within("sent", patience);
    let late = both.map(held);
    let (sent, took) = sent.split_once(' ').unwrap();
    let [sent, took] = [sent, took].map(|number| number.parse::<u64>().unwrap());
    assert!(sent <= PER_PAUSE * took + ON_THEIR_WAY, "{sent} messages in {took} ms: no wait");
    for (warm, late) in warm.into_iter().zip(late) {
        assert!(late <= warm + 8 * MEBIBYTE, "{warm} bytes were held, and later {late}");
    }
    println!("{sent} messages in {took} ms; held {warm:?} bytes, later {late:?}");
    // The reply comes behind all of them.
    let mut other = ExclusiveSession::connect_with(server.address(), &patient()).unwrap();
    server::assert_serves(&mut other);
    producer.write_line("go");
    producer.succeeds();
    crate::support::eventually("everything has come", || tally(&mut other)[0] == sent);
    assert_eq!(tally(&mut other), [sent, 0, 0]);
    drop(other);
    server.returns_to(before);
}
