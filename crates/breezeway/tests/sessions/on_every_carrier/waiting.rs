//! Waiting for space, for replies, and for nothing at all: rings and memory that run full, the most
//! calls in flight, and sessions that idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use breezeway::{CallError, ExclusiveSession, SessionOptions, WaitPolicy};

use crate::support::content::{Random, message};
use crate::support::server::{
    self, ECHO, GIVE, GIVE_GATED, RESERVE, SINK, ask_for, assert_serves, policy_name, sinkable,
    tally,
};
use crate::support::{
    EVERY_POLICY, PATIENCE, Process, Role, Server, Settings, eventually, hear, observe, on_socket,
    say, stands_still, within,
};

/// Roles of the other processes of these tests.
pub(crate) const ROLES: &[(&str, Role)] = &[("idler", idle)];

const SMALLEST_RING: u32 = 8;
/// Bytes that a connection's buffers hold at most, by far: what both kernels' ends take (tcp(7):
/// `tcp_wmem`, `tcp_rmem`), and both processes.
const MOST_IN_SOCKETS: u64 = 64 << 20;

// ---- the ring runs full ----

/// Floods a server that makes pauses, so that the ring is full, and drained, again and again.
fn flood_arrives_whole(policy: WaitPolicy, ring: u32, cap: u64, count: u64, most: usize) {
    let settings = Settings::new()
        .with("wait", policy_name(policy))
        .with("ring", ring)
        .with("cap", cap)
        .with("pause_every", 97);
    let server = Server::start(settings);
    let options = SessionOptions::new().wait(policy).ring_capacity(ring).cap(cap);
    let mut session = server.connect(&options);
    let mut random = Random::new(count);
    within(PATIENCE, "the flood", move || {
        for number in 0..count {
            session.post(SINK, &sinkable(1, number, random.len(most))).unwrap();
            // Once in a while both sides are asleep: this one has nothing to do, that one nothing
            // to serve.
            if number % 1000 == 999 {
                assert_eq!(tally(&mut session), [number + 1, 0, 0]);
            }
        }
        assert_eq!(tally(&mut session), [count, 0, 0]);
    });
}

#[test]
fn a_flood_through_the_smallest_ring_loses_and_reorders_nothing() {
    for policy in [WaitPolicy::Park, WaitPolicy::Adaptive] {
        flood_arrives_whole(policy, SMALLEST_RING, 1 << 20, 20_000, 80);
    }
    flood_arrives_whole(WaitPolicy::Busy, SMALLEST_RING, 1 << 20, 3000, 80);
}

#[test]
fn flood_beyond_the_cap_arrives_whole_and_in_order() {
    const CAP: u64 = 256 * 1024;
    for policy in [WaitPolicy::Park, WaitPolicy::Adaptive] {
        flood_arrives_whole(policy, 64, CAP, 3000, 100_000);
        flood_arrives_whole(policy, SMALLEST_RING, CAP, 2000, 200_000);
    }
    flood_arrives_whole(WaitPolicy::Busy, 64, CAP, 500, 100_000);
}

#[test]
fn flood_beyond_lend_numbers_arrives_whole_and_in_order() {
    // More entries than lend numbers (512), each with a payload of its own.
    for policy in [WaitPolicy::Park, WaitPolicy::Adaptive] {
        flood_arrives_whole(policy, 2048, 64 << 20, 10_000, 300);
    }
}

#[test]
fn messages_as_large_as_the_cap_wait_for_each_other() {
    const CAP: usize = 256 * 1024;
    for policy in EVERY_POLICY {
        let server =
            Server::start(Settings::new().with("wait", policy_name(policy)).with("cap", CAP));
        let options = SessionOptions::new().wait(policy).cap(CAP as u64);
        let mut session = server.connect(&options);
        within(PATIENCE, "messages at the cap", move || {
            for number in 0..100 {
                session.post(SINK, &sinkable(1, number, CAP - 16)).unwrap();
            }
            assert_eq!(tally(&mut session), [100, 0, 0]);
        });
    }
}

#[test]
fn sender_sleeps_on_full_ring_until_there_is_room() {
    for policy in [WaitPolicy::Park, WaitPolicy::Adaptive] {
        for len in [20, 60_000] {
            let settings = Settings::new()
                .with("wait", policy_name(policy))
                .with("gate", false)
                .with("cap", 256 * 1024);
            let mut server = Server::start(settings);
            let options =
                SessionOptions::new().wait(policy).ring_capacity(SMALLEST_RING).cap(256 * 1024);
            let mut session = server.connect(&options);
            let (sent, enough) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
            let (counter, stop) = (Arc::clone(&sent), Arc::clone(&enough));
            let sender = std::thread::spawn(move || {
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    session.post(SINK, &sinkable(1, number, len)).unwrap();
                    number += 1;
                    counter.store(number, Ordering::Relaxed);
                }
                (session, number)
            });
            stands_still("the sender waits", &sent);
            let sent_at_first = sent.load(Ordering::Relaxed);
            let most =
                if on_socket() { MOST_IN_SOCKETS / len as u64 } else { SMALLEST_RING.into() };
            assert!(sent_at_first <= most, "{sent_at_first} messages of {len} bytes fit");
            eventually("the server sleeps", || observe::sleeps(server.pid()));
            server.open_gate();
            eventually("the sender goes on", || sent.load(Ordering::Relaxed) > sent_at_first);
            enough.store(true, Ordering::Relaxed);
            let (mut session, sent) = within(PATIENCE, "the rest", move || sender.join().unwrap());
            assert_eq!(tally(&mut session), [sent, 0, 0]);
        }
    }
}

#[test]
fn deadline_on_full_ring_loses_no_accepted_message() {
    const FAILED: u64 = 5;
    const LATER: u64 = 100;
    for policy in EVERY_POLICY {
        for len in [20, 60_000] {
            let settings = Settings::new().with("wait", policy_name(policy)).with("gate", false);
            let mut server = Server::start(settings.with("cap", 256 * 1024));
            let options = SessionOptions::new()
                .wait(policy)
                .cap(256 * 1024)
                .call_timeout(Some(Duration::from_millis(30)));
            let mut session = server.connect(&options);
            let (mut session, first, accepted) =
                within(PATIENCE, "posts with a deadline", move || {
                    let mut number = 0;
                    let error = loop {
                        match session.post(SINK, &sinkable(1, number, len)) {
                            Ok(()) => number += 1,
                            Err(error) => break error,
                        }
                    };
                    let is_deadline = matches!(error, CallError::DeadlinePassed);
                    assert!(is_deadline, "{policy:?} {len}: {error:?}");
                    assert!(!session.is_ended());
                    let mut accepted = number;
                    for again in 1..FAILED {
                        let outcome = session.post(SINK, &sinkable(1, number + again, len));
                        // Tried again, it fails again, unless the kernel has found more memory for
                        // the connection.
                        assert!(outcome.is_err() || on_socket());
                        accepted += u64::from(outcome.is_ok());
                    }
                    (session, number, accepted)
                });
            server.open_gate();
            session.set_call_timeout(None);
            for number in first + FAILED..first + FAILED + LATER {
                session.post(SINK, &sinkable(1, number, len)).unwrap();
            }
            let accepted = accepted + LATER;
            let [count, gaps, corrupt] = tally(&mut session);
            assert_eq!(corrupt, 0);
            if on_socket() {
                // Those that failed may have gone out in part before the deadline passed, and then
                // the rest follows.
                let tried = first + FAILED + LATER;
                assert!((accepted..=tried).contains(&count), "{accepted} <= {count} <= {tried}");
                assert!(gaps <= FAILED, "{gaps} gaps");
            } else {
                assert_eq!((count, gaps), (accepted, 1));
            }
        }
    }
}

// ---- calls in flight ----

#[test]
fn leaked_reply_is_released_by_next_session_use() {
    let server = Server::start(Settings::new().with("cap", 1 << 20));
    let mut session = server.connect(&SessionOptions::new());
    for number in 0..100 {
        std::mem::forget(session.call(ECHO, message(number, 100_000)).unwrap());
        match number % 3 {
            0 => session.post(ECHO, b"one way").unwrap(),
            1 => {
                session.send(ECHO, message(number, 50)).unwrap();
                std::mem::forget(session.receive().unwrap());
            }
            _ => session.batch().post(ECHO, b"one way").unwrap(),
        }
    }
    assert_serves(&mut session);
}

#[test]
fn call_beyond_ring_limit_is_refused() {
    for (ring, most) in [(8, 4), (16, 8), (64, 32)] {
        for policy in EVERY_POLICY {
            let server = Server::start(Settings::new().with("wait", policy_name(policy)));
            let options = SessionOptions::new().wait(policy).ring_capacity(ring);
            let mut session = server.connect(&options);
            assert_eq!(session.max_in_flight(), most);
            for round in 0..3 {
                for number in 0..most {
                    session.send(ECHO, message(round * 100 + number as u64, 50)).unwrap();
                }
                let in_batch = session.batch().send(ECHO, b"one more").unwrap_err();
                let errors = [
                    in_batch,
                    session.send(ECHO, b"one more").unwrap_err(),
                    session.send(ECHO, message(1, 5000)).unwrap_err(),
                    session.reserve(5000).unwrap().send(ECHO).unwrap_err(),
                ];
                for error in errors {
                    let is_refused = matches!(error, CallError::TooManyInFlight(n) if n == most);
                    assert!(is_refused, "{error:?}");
                    assert!(error.to_string().contains("ring_capacity"), "{error}");
                }
                assert_eq!(session.in_flight(), most);
                // A plain call would have to wait behind all of them.
                let error = session.call(ECHO, b"plain").unwrap_err();
                assert!(matches!(error, CallError::RepliesPending(n) if n == most), "{error:?}");
                // One-way messages need no room for a reply.
                session.post(ECHO, b"one way").unwrap();
                for number in 0..most {
                    let reply = session.receive().unwrap();
                    assert_eq!(reply.to_vec(), message(round * 100 + number as u64, 50));
                }
                let error = session.receive().unwrap_err();
                assert!(matches!(error, CallError::NothingInFlight), "{error:?}");
            }
            assert_serves(&mut session);
        }
    }
}

#[test]
fn a_received_reply_makes_room_for_one_more_call() {
    let server = Server::waiting(WaitPolicy::Park);
    let mut session =
        server.connect(&SessionOptions::new().wait(WaitPolicy::Park).ring_capacity(8));
    let most = session.max_in_flight() as u64;
    for number in 0..most {
        session.send(ECHO, message(number, 200)).unwrap();
    }
    for number in most..500 {
        assert!(session.send(ECHO, b"too many").is_err());
        assert_eq!(session.receive().unwrap().to_vec(), message(number - most, 200));
        session.send(ECHO, message(number, 200)).unwrap();
    }
}

#[test]
fn replies_beyond_cap_wait_and_arrive_in_order() {
    const CAP: usize = 256 * 1024;
    let server = Server::start(Settings::new().with("cap", CAP));
    let mut session = server.connect(&SessionOptions::new().cap(CAP as u64));
    for round in 0..20 {
        // Two fit.
        for number in 0..4 {
            session.send(GIVE, &ask_for(number, 100_000)).unwrap();
        }
        for number in 0..4 {
            let reply = session.receive().unwrap();
            assert!(reply.to_vec() == message(number, 100_000), "round {round}");
        }
        assert!(session.call(GIVE, &ask_for(9, CAP)).unwrap().to_vec() == message(9, CAP));
    }
}

#[test]
fn replies_made_in_place_wait_for_memory_as_well() {
    const CAP: usize = 256 * 1024;
    let server = Server::start(Settings::new().with("cap", CAP));
    let mut session = server.connect(&SessionOptions::new().cap(CAP as u64));
    for _ in 0..20 {
        for _ in 0..4 {
            session.send(RESERVE, &100_000u64.to_le_bytes()).unwrap();
        }
        for _ in 0..4 {
            assert_eq!(session.receive().unwrap().to_vec().len(), 100_000);
        }
    }
}

/// Returns the outcome of a reply that finds no memory before its time is over: the server's time,
/// or the time that the client waits.
fn late_reply(reply_timeout: Duration, call_timeout: Option<Duration>) -> Result<(), CallError> {
    const CAP: usize = 256 * 1024;
    const LEN: usize = CAP * 3 / 4;
    let settings = Settings::new().with("cap", CAP).with("reply", reply_timeout.as_millis());
    let server = Server::start(settings);
    let mut session = server.connect(&SessionOptions::new().cap(CAP as u64));
    session.send(GIVE, &ask_for(1, LEN)).unwrap();
    session.set_call_timeout(call_timeout);
    session.send(GIVE, &ask_for(2, LEN)).unwrap();
    session.set_call_timeout(None);
    // Long enough for either time to pass.
    std::thread::sleep(Duration::from_millis(300));
    assert!(session.receive().unwrap().to_vec() == message(1, LEN));
    session.receive().map(|reply| assert!(reply.to_vec() == message(2, LEN)))
}

#[test]
fn reply_wait_for_memory_ends_at_either_timeout() {
    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(3600);
    for (reply_timeout, call_timeout) in [(SHORT, None), (LONG, Some(SHORT))] {
        // On a busy machine the server may take the second request too late for it to wait.
        let mut outcomes = (0..10).map(|_| late_reply(reply_timeout, call_timeout));
        match outcomes.find(|outcome| outcome.is_err() || on_socket()) {
            Some(Err(CallError::Failed {
                code: breezeway::ErrorCode::NoMemory, reason, ..
            })) => {
                assert!(reason.contains("raise the cap"), "{reason}");
            }
            // Its bytes are on their way whatever the client does.
            Some(Ok(())) if on_socket() => {}
            other => panic!("{reply_timeout:?}, {call_timeout:?}: {other:?}"),
        }
    }
    assert!(late_reply(LONG, None).is_ok());
    assert!(late_reply(LONG, Some(LONG)).is_ok());
}

// ---- idle ----

/// The role: a session that was used and then is not.
fn idle(settings: &Settings) {
    let options = server::session_options(settings);
    let mut session =
        ExclusiveSession::connect_with(settings.get::<breezeway::Address>("address"), &options)
            .unwrap();
    assert_serves(&mut session);
    say("idle");
    while let Some(line) = hear() {
        match line.as_str() {
            "wait" => {
                let call = session.send(GIVE_GATED, &ask_for(1, 10)).unwrap();
                say("waits");
                assert_eq!(session.receive().unwrap().call(), call);
                say("idle");
            }
            _ => {
                assert_serves(&mut session);
                say("idle");
            }
        }
    }
}

/// Asserts that processes use no CPU time and make no system call that lets others run, for a
/// second.
#[track_caller]
fn do_nothing(processes: &[u32]) {
    const WATCHED: Duration = Duration::from_secs(1);
    let all = || processes.iter().map(|pid| observe::activity(*pid)).collect::<Vec<_>>();
    // From the end of the last work on, spinning may last a moment.
    let mut seen = all();
    let mut same = 0;
    eventually("they fall idle", || {
        let now = all();
        same = if now == seen { same + 1 } else { 0 };
        seen = now;
        same == 50
    });
    std::thread::sleep(WATCHED);
    assert_eq!(all(), seen, "CPU time or switches of idle processes");
}

#[test]
fn idle_sessions_use_no_cpu_time_and_make_no_system_calls() {
    for policy in [WaitPolicy::Park, WaitPolicy::Adaptive] {
        let settings = Settings::new().with("wait", policy_name(policy));
        let server = Server::start(settings.clone().with("workers", 2));
        let settings = settings.with("address", server.address());
        let mut idlers = [(); 3].map(|()| Process::start("idler", &settings));
        idlers.iter_mut().for_each(|idler| {
            idler.expect("idle");
        });
        let mut all: Vec<_> = idlers.iter().map(Process::pid).collect();
        all.push(server.pid());
        do_nothing(&all);
        for idler in &mut idlers {
            idler.write_line("work");
            idler.expect("idle");
        }
    }
}

#[test]
fn a_caller_that_waits_for_a_slow_handler_uses_no_cpu_time() {
    for policy in [WaitPolicy::Park, WaitPolicy::Adaptive] {
        let settings = Settings::new().with("wait", policy_name(policy)).with("gate", false);
        let mut server = Server::start(settings);
        let settings = Settings::new().with("wait", policy_name(policy));
        let mut caller = Process::start("idler", &settings.with("address", server.address()));
        caller.expect("idle");
        caller.write_line("wait");
        server.process.expect("waiting");
        caller.expect("waits");
        do_nothing(&[caller.pid(), server.pid()]);
        server.open_gate();
        caller.expect("idle");
    }
}

#[test]
fn a_server_without_sessions_sleeps_under_every_policy() {
    for policy in EVERY_POLICY {
        let server =
            Server::start(Settings::new().with("wait", policy_name(policy)).with("workers", 2));
        let before = server.at_rest();
        // Also after it had some.
        assert_serves(&mut server.connect(&SessionOptions::new()));
        server.returns_to(before);
        do_nothing(&[server.pid()]);
    }
}

#[test]
fn busy_server_serves_every_armed_session() {
    let server = Server::waiting(WaitPolicy::Busy);
    let mut sessions: Vec<_> =
        (0..5).map(|_| server.connect(&SessionOptions::new().wait(WaitPolicy::Park))).collect();
    for _ in 0..20 {
        // Each has to be woken, and the rest to be armed.
        sessions.iter_mut().for_each(assert_serves);
    }
    sessions.truncate(1);
    assert_serves(&mut sessions[0]);
}

/// Only where memory is shared.
mod on_shm {
    use super::*;

    #[test]
    fn a_sender_may_grow_far_ahead_of_a_server_that_is_blocked() {
        // A socket holds a few hundred kilobytes.
        // Every segment up to the cap is on its way before the server has taken the first message.
        for policy in [WaitPolicy::Park, WaitPolicy::Adaptive] {
            let settings = Settings::new().with("wait", policy_name(policy)).with("gate", false);
            let mut server = Server::start(settings);
            let mut session =
                server.connect(&SessionOptions::new().wait(policy).ring_capacity(1024));
            for number in 0..300 {
                session.post(SINK, &sinkable(1, number, 200_000)).unwrap();
            }
            server.open_gate();
            assert_eq!(tally(&mut session), [300, 0, 0]);
        }
    }

    #[test]
    fn large_replies_of_all_calls_need_no_reading_client() {
        // A server on a socket serves no further call while large replies are unread.
        // The server serves all of them while the client does nothing: it never waits for a client.
        for policy in EVERY_POLICY {
            let mut server = Server::start(Settings::new().with("wait", policy_name(policy)));
            let mut session = server.connect(&SessionOptions::new().wait(policy));
            let most = session.max_in_flight();
            for number in 0..most - 1 {
                session.send(GIVE, &ask_for(number as u64, 20_000)).unwrap();
            }
            session.send(GIVE_GATED, &ask_for(most as u64, 20_000)).unwrap();
            server.process.expect("waiting");
            for number in 0..most - 1 {
                assert!(session.receive().unwrap().to_vec() == message(number as u64, 20_000));
            }
            assert!(session.receive().unwrap().to_vec() == message(most as u64, 20_000));
        }
    }
}
