//! Processes that are killed, at named steps and at random moments: the survivor hears of it, gets
//! what was committed before, and keeps nothing.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use breezeway::{
    CallError, ConnectError, ExclusiveSession, HandshakeError, SessionOptions, TlsError, WaitPolicy,
};
use rustix::process::Signal;

use crate::support::carrier::connections;
use crate::support::content::{Random, message};
use crate::support::server::{
    self, ECHO, GIVE_GATED, HANG, SINK, ask_for, assert_serves, assert_takes_clients, policy_name,
    sinkable, tally,
};
use crate::support::{
    EVERY_POLICY, MEBIBYTE, PROMPT, Process, Role, Server, Settings, eventually, has_socket_file,
    hear, observe, on_socket, patient, say, stands_still, within,
};

/// Roles of the other processes of these tests.
pub(crate) const ROLES: &[(&str, Role)] =
    &[("victim", stop_at_a_step), ("traveller", call_without_end), ("survivor", outlive_servers)];

// ---- the client is killed ----

/// The role: a client that, at a line of input, goes up to the step of its settings, prints that,
/// and waits for its end.
fn stop_at_a_step(settings: &Settings) {
    let mut session = ExclusiveSession::connect_with(
        settings.get::<breezeway::Address>("address"),
        &server::session_options(settings),
    )
    .unwrap();
    let step: String = settings.get("step");
    say("connected");
    hear();
    let reached = || {
        say("reached");
        hear();
    };
    match step.as_str() {
        "connected" => reached(),
        "reserved" => {
            let _space = session.reserve(100_000).unwrap();
            reached();
        }
        "half filled" => {
            let mut space = session.reserve(100_000).unwrap();
            space.bytes_mut()[..50_000].fill(1);
            reached();
        }
        "filled" => {
            let mut space = session.reserve(100_000).unwrap();
            space.write(0, message(1, 100_000));
            reached();
        }
        // In shared memory without the doorbell: the server does not know of them unless it looks.
        // On a socket they have not left this process.
        "committed" => {
            let mut batch = session.batch();
            for number in 0..5 {
                batch
                    .post(SINK, &sinkable(7, number, if number % 2 == 0 { 10 } else { 5000 }))
                    .unwrap();
            }
            reached();
        }
        "committed and reserved" => {
            for number in 0..5 {
                session.post(SINK, &sinkable(7, number, 200)).unwrap();
            }
            let mut space = session.reserve(100_000).unwrap();
            space.bytes_mut()[..50_000].fill(1);
            reached();
        }
        "rung" => {
            for number in 0..5 {
                session.post(SINK, &sinkable(7, number, 200)).unwrap();
            }
            reached();
        }
        "replies pending" => {
            for number in 0..20 {
                session.send(ECHO, message(number, 10_000)).unwrap();
            }
            reached();
        }
        "reply lent" => {
            let reply = session.call(ECHO, message(1, 100_000)).unwrap();
            reached();
            drop(reply);
        }
        "being served" => {
            session.send(GIVE_GATED, &ask_for(1, 100_000)).unwrap();
            reached();
        }
        other => panic!("step {other}"),
    }
}

/// A client that has connected and will go as far as `step`.
fn victim_before(step: &str, server: &Server, policy: WaitPolicy) -> Process {
    let settings = Settings::new()
        .with("address", server.address())
        .with("step", step)
        .with("wait", policy_name(policy));
    let mut victim = Process::start("victim", &settings);
    victim.expect("connected");
    victim
}

/// A client that has come to `step`.
fn victim_at(step: &str, server: &Server, policy: WaitPolicy) -> Process {
    let mut victim = victim_before(step, server, policy);
    victim.write_line("go");
    victim.expect("reached");
    victim
}

const STEPS: [&str; 10] = [
    "connected",
    "reserved",
    "half filled",
    "filled",
    "committed",
    "committed and reserved",
    "rung",
    "replies pending",
    "reply lent",
    "being served",
];

#[test]
fn client_killed_at_any_step_leaves_nothing_in_server() {
    for policy in EVERY_POLICY {
        let mut server =
            Server::start(Settings::new().with("wait", policy_name(policy)).with("gate", false));
        let options = SessionOptions::new().wait(WaitPolicy::Park);
        let mut other = server.connect(&options);
        assert_serves(&mut other);
        let before = server.at_rest();
        for step in STEPS {
            // Messages that are sunk, and the call that is being served, must get past the gate.
            server.process.write_line(if step == "being served" { "shut" } else { "open" });
            let mut victim = victim_at(step, &server, policy);
            if step == "being served" {
                server.process.expect("waiting");
            }
            victim.kill();
            server.open_gate();
            server.returns_to(before);
            assert_serves(&mut other);
            assert_takes_clients(&server.address());
            server.returns_to(before);
        }
    }
}

/// The steps after which five messages are the server's. A batch that was not flushed is committed
/// in shared memory only.
fn steps_with_five_messages() -> &'static [&'static str] {
    let all = &["committed and reserved", "rung", "committed"];
    if on_socket() { &all[..2] } else { all }
}

#[test]
fn messages_committed_before_clients_death_are_served() {
    for policy in EVERY_POLICY {
        for step in steps_with_five_messages() {
            let server = Server::waiting(policy);
            let mut victim = victim_at(step, &server, policy);
            victim.kill();
            let mut other = server.connect(&SessionOptions::new());
            let what = format!("the messages are served under {policy:?} after '{step}'");
            eventually(&what, || tally(&mut other)[0] == 5);
            assert_eq!(tally(&mut other), [5, 0, 0], "{step}");
        }
    }
}

#[test]
fn committed_messages_of_dead_client_are_served() {
    for policy in EVERY_POLICY {
        for step in steps_with_five_messages() {
            let server = Server::waiting(policy);
            let mut victim = victim_before(step, &server, policy);
            server.process.suspend();
            victim.write_line("go");
            victim.expect("reached");
            victim.kill();
            server.process.resume();
            let mut other = server.connect(&SessionOptions::new());
            let what = format!("the messages are served under {policy:?} after '{step}'");
            eventually(&what, || tally(&mut other)[0] == 5);
            assert_eq!(tally(&mut other), [5, 0, 0], "{step}");
        }
    }
}

#[test]
fn uncommitted_messages_of_dead_client_are_not_served() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let before = server.at_rest();
    let mut steps = vec!["reserved", "half filled", "filled"];
    if on_socket() {
        steps.push("committed");
    }
    for step in steps {
        victim_at(step, &server, WaitPolicy::Adaptive).kill();
    }
    server.returns_to(before);
    assert_eq!(tally(&mut server.connect(&SessionOptions::new())), [0, 0, 0]);
}

#[test]
fn client_death_does_not_disturb_its_handler() {
    let mut server = Server::start(Settings::new().with("gate", false));
    let mut victim = victim_at("being served", &server, WaitPolicy::Adaptive);
    server.process.expect("waiting");
    victim.kill();
    server.open_gate();
    assert_takes_clients(&server.address());
}

#[test]
fn a_client_that_is_suspended_delays_no_other_and_goes_on_later() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let suspended = victim_at("replies pending", &server, WaitPolicy::Adaptive);
    suspended.suspend();
    let mut other = server.connect(&SessionOptions::new());
    within(PROMPT, "calls of the other client", move || assert_serves(&mut other));
    suspended.resume();
    suspended.succeeds();
}

/// The role: calls with all kinds of messages until it is killed.
fn call_without_end(settings: &Settings) {
    let mut random = Random::new(settings.get("seed"));
    say("starts");
    loop {
        let policy = EVERY_POLICY[random.below(3) as usize];
        let options = patient().wait(policy).cap(MEBIBYTE as u64);
        let Ok(mut session) =
            ExclusiveSession::connect_with(settings.get::<breezeway::Address>("address"), &options)
        else {
            continue;
        };
        for number in 0..random.below(200) {
            let request = message(number, random.len(100_000));
            let outcome = match random.below(4) {
                0 => session.post(ECHO, request),
                1 => session.send(ECHO, request).and_then(|_| {
                    session.send(ECHO, request)?;
                    drop(session.receive()?);
                    drop(session.receive()?);
                    Ok(())
                }),
                2 => session.reserve(request.len()).and_then(|mut space| {
                    space.bytes_mut().copy_from_slice(request);
                    if number % 3 == 0 { Ok(()) } else { space.call(ECHO).map(drop) }
                }),
                _ => session.call(ECHO, request).map(drop),
            };
            outcome.expect("the server stays up");
        }
    }
}

#[test]
fn clients_killed_at_random_leave_nothing_behind() {
    let server = Server::start(Settings::new().with("cap", MEBIBYTE));
    let mut other = server.connect(&SessionOptions::new().wait(WaitPolicy::Park));
    assert_serves(&mut other);
    let before = server.at_rest();
    let mut random = Random::new(11);
    let mut killed = 0;
    while killed < 200 {
        let settings =
            || Settings::new().with("address", server.address()).with("seed", killed + 1);
        let mut victims = [(); 3].map(|()| Process::start("traveller", &settings()));
        victims.iter_mut().for_each(|victim| {
            victim.expect("starts");
        });
        for victim in &victims {
            // Not to wait for anything: to kill at a random moment.
            std::thread::sleep(Duration::from_micros(random.below(8000)));
            victim.signal(Signal::KILL);
            killed += 1;
        }
        assert_serves(&mut other);
    }
    server.returns_to(before);
    assert_takes_clients(&server.address());
    drop(other);
    server.stop();
}

// ---- the server is killed ----

/// Kills the server once a call hangs in its handler, and gives what the caller heard and when.
fn killed_while_it_serves(policy: WaitPolicy, how: u64, len: usize) -> (CallError, Duration) {
    let mut server = Server::waiting(policy);
    let mut session = server.connect(&SessionOptions::new().wait(policy));
    let caller = std::thread::spawn(move || {
        let mut request = how.to_le_bytes().to_vec();
        request.resize(len, 0);
        let error = session.call(HANG, &request).expect_err("nobody answers");
        let heard = Instant::now();
        assert!(session.is_ended());
        let next = session.call(ECHO, b"and now?").expect_err("the session is over");
        assert!(matches!(next, CallError::Ended), "{next:?}");
        (error, heard)
    });
    server.process.expect("hanging");
    let killed = Instant::now();
    server.process.signal(Signal::KILL);
    within(PROMPT, "the caller hears of the death", move || {
        let (error, heard) = caller.join().unwrap();
        (error, heard.saturating_duration_since(killed))
    })
}

#[test]
fn server_death_ends_a_running_call_at_once() {
    let mut times = Vec::new();
    for policy in EVERY_POLICY {
        for how in 0..4 {
            for len in [8, 100_000] {
                let (error, time) = killed_while_it_serves(policy, how, len);
                assert!(matches!(error, CallError::PeerDied), "{policy:?} {how} {len}: {error:?}");
                times.push(time);
            }
        }
    }
    times.sort();
    println!("heard after {:?} (median), {:?} (longest)", times[times.len() / 2], times.last());
}

#[test]
fn committed_replies_arrive_before_servers_death() {
    for policy in EVERY_POLICY {
        // A server on a socket serves no further call while large replies are unread.
        let lens: &[usize] = if on_socket() { &[10, 100, 5000] } else { &[10, 100, 5000, 100_000] };
        for &len in lens {
            let mut server = Server::waiting(policy);
            let mut session = server.connect(&SessionOptions::new().wait(policy));
            for number in 0..5 {
                session.send(ECHO, message(number, len)).unwrap();
            }
            session.send(HANG, &2u64.to_le_bytes()).unwrap();
            server.process.expect("hanging");
            server.process.kill();
            within(PROMPT, "replies and the news", move || {
                for number in 0..5 {
                    let reply = session.receive().unwrap();
                    assert!(reply.to_vec() == message(number, len), "{policy:?} {len}");
                }
                let error = session.receive().unwrap_err();
                assert!(matches!(error, CallError::PeerDied), "{error:?}");
            });
        }
    }
}

#[test]
fn a_reply_that_is_held_stays_readable_after_the_servers_death() {
    for len in [10, 100_000] {
        let mut server = Server::waiting(WaitPolicy::Park);
        let mut session = server.connect(&SessionOptions::new());
        let request = message(4, len);
        let reply = session.call(ECHO, request).unwrap();
        server.process.kill();
        assert!(reply.to_vec() == request);
        drop(reply);
        let error = session.call(ECHO, request).unwrap_err();
        assert!(matches!(error, CallError::PeerDied), "{error:?}");
    }
}

#[test]
fn every_use_of_dead_servers_session_reports_the_death() {
    type Use = fn(&mut ExclusiveSession) -> Result<(), CallError>;
    let uses: [Use; 4] = [
        |session| session.call(ECHO, b"small").map(drop),
        |session| session.call(ECHO, message(1, 50_000)).map(drop),
        |session| session.send(ECHO, b"small").and_then(|_| session.receive().map(drop)),
        |session| session.reserve(MEBIBYTE)?.call(ECHO).map(drop),
    ];
    for policy in EVERY_POLICY {
        for (number, used) in uses.into_iter().enumerate() {
            let mut server = Server::waiting(policy);
            let mut session = server.connect(&SessionOptions::new().wait(policy));
            assert_serves(&mut session);
            server.process.kill();
            let what = format!("the news by use {number} under {policy:?}");
            let error = within(PROMPT, &what, move || used(&mut session).unwrap_err());
            assert!(matches!(error, CallError::PeerDied), "{what}: {error:?}");
        }
    }
}

#[test]
fn one_way_messages_to_dead_server_fail_before_half_ring() {
    const RING: usize = 256;
    for policy in EVERY_POLICY {
        for batched in [false, true] {
            let mut server = Server::waiting(policy);
            let options = SessionOptions::new().wait(policy).ring_capacity(RING as u32);
            let mut session = server.connect(&options);
            assert_serves(&mut session);
            // Some that it took, so that its progress stands anywhere.
            for number in 0..100 {
                session.post(SINK, &sinkable(1, number, 20)).unwrap();
            }
            server.process.kill();
            let mut posted = 0;
            let error = loop {
                let message = sinkable(1, 100 + posted as u64, 20);
                let outcome = match batched {
                    true => session.batch().post(SINK, &message),
                    false => session.post(SINK, &message),
                };
                match outcome {
                    Ok(()) => posted += 1,
                    Err(error) => break error,
                }
                assert!(posted <= RING / 2, "{policy:?}: {posted} messages to nobody");
            };
            let is_death = matches!(error, CallError::PeerDied | CallError::Ended);
            assert!(is_death, "{policy:?}: {error:?}");
            println!("{policy:?}: {posted} messages");
        }
    }
}

#[test]
fn first_one_way_message_to_dead_sleeping_server_fails() {
    for policy in [WaitPolicy::Park, WaitPolicy::Adaptive] {
        let mut server = Server::waiting(policy);
        let mut session = server.connect(&SessionOptions::new());
        assert_serves(&mut session);
        // It sleeps once it has taken this one and rests.
        server.at_rest();
        server.process.kill();
        // A socket notices when the peer's answer to the first message has come.
        let least = usize::from(!has_socket_file());
        let error = (0..=least).find_map(|_| session.post(SINK, &sinkable(1, 0, 20)).err());
        assert!(matches!(error, Some(CallError::PeerDied)), "{policy:?}: {error:?}");
    }
}

#[test]
fn a_flood_to_a_server_that_dies_ends_with_the_news() {
    for policy in EVERY_POLICY {
        for len in [20, 20_000] {
            let mut server = Server::start(
                Settings::new().with("wait", policy_name(policy)).with("gate", false),
            );
            let mut session = server.connect(&SessionOptions::new().wait(policy));
            let sent = Arc::new(AtomicU64::new(0));
            let counter = Arc::clone(&sent);
            let flood = std::thread::spawn(move || {
                (0..).find_map(|number| {
                    let outcome = session.post(SINK, &sinkable(1, number, len));
                    counter.fetch_add(1, Ordering::Relaxed);
                    outcome.err()
                })
            });
            // The ring is full, or the memory: the flood waits for a server that waits for the
            // gate.
            stands_still("the flood waits", &sent);
            if flood.is_finished() {
                panic!("{policy:?} {len}: {:?} before the death", flood.join().unwrap());
            }
            server.process.kill();
            let error = within(PROMPT, "the news", move || flood.join().unwrap().unwrap());
            assert!(matches!(error, CallError::PeerDied), "{policy:?} {len}: {error:?}");
        }
    }
}

#[test]
fn a_server_that_dies_during_the_handshake_is_reported_at_once() {
    let mut server = Server::waiting(WaitPolicy::Adaptive);
    server.process.suspend();
    let address = server.address();
    let options = SessionOptions::new().handshake_timeout(Duration::from_secs(30));
    let client =
        std::thread::spawn(move || ExclusiveSession::connect_with(&address, &options).err());
    eventually("the client waits", || connections(&server.address()) > 0);
    server.process.kill();
    let error = within(PROMPT, "the news", move || client.join().unwrap().unwrap());
    assert!(is_closed(&error), "{error:?}");
}

/// Returns true if the server closed the connection during the handshake.
fn is_closed(error: &ConnectError) -> bool {
    use HandshakeError::{Closed, Tls};
    matches!(error, ConnectError::Handshake(Closed | Tls(TlsError::Closed)))
}

/// The role: at each line connects, calls until the server dies, and prints the number of deaths.
/// Any other error fails it.
fn outlive_servers(settings: &Settings) {
    let mut random = Random::new(5);
    let mut deaths = 0;
    let address: breezeway::Address = settings.get("address");
    say("ready");
    while hear().is_some() {
        let policy = EVERY_POLICY[random.below(3) as usize];
        let options = patient().wait(policy).cap(MEBIBYTE as u64);
        let error = match ExclusiveSession::connect_with(&address, &options) {
            Ok(mut session) => call_until_an_error(&mut session, &mut random),
            // It died before there was a session.
            Err(
                ConnectError::NoSocket(_)
                | ConnectError::NotListening(_)
                | ConnectError::Refused(_),
            ) => CallError::PeerDied,
            Err(error) if is_closed(&error) => CallError::PeerDied,
            Err(other) => panic!("{other:?}"),
        };
        assert!(matches!(error, CallError::PeerDied), "{policy:?}: {error:?}");
        deaths += 1;
        say(format!("outlived {deaths}"));
    }
}

fn call_until_an_error(session: &mut ExclusiveSession, random: &mut Random) -> CallError {
    for number in 0.. {
        let request = message(number, random.len(100_000));
        let outcome = match random.below(3) {
            0 => session.post(ECHO, request),
            1 => session.call(ECHO, request).map(|reply| {
                assert!(reply.to_vec() == request);
            }),
            _ => (|| {
                session.send(ECHO, request)?;
                session.send(ECHO, request)?;
                for _ in 0..2 {
                    assert!(session.receive()?.to_vec() == request);
                }
                Ok(())
            })(),
        };
        if let Err(error) = outcome {
            return error;
        }
    }
    unreachable!("the server dies some day")
}

#[test]
fn client_keeps_nothing_of_randomly_killed_servers() {
    const TIME: Duration = Duration::from_secs(5);
    let first = Server::start(Settings::new().with("cap", MEBIBYTE));
    let folder = Arc::clone(&first.folder);
    let mut survivor =
        Process::start("survivor", &Settings::new().with("address", folder.address()));
    survivor.expect("ready");
    let mut server = Some(first);
    let mut before = None;
    let mut random = Random::new(17);
    let (start, mut killed) = (Instant::now(), 0);
    while start.elapsed() < TIME || killed < 50 {
        let policy = policy_name(EVERY_POLICY[random.below(3) as usize]);
        let settings = Settings::new().with("cap", MEBIBYTE).with("wait", policy);
        let mut current =
            server.take().unwrap_or_else(|| Server::start_in(Arc::clone(&folder), settings));
        survivor.write_line("connect");
        std::thread::sleep(Duration::from_micros(random.below(12_000)));
        current.process.kill();
        killed += 1;
        assert_eq!(survivor.expect("outlived"), killed.to_string());
        let held = (observe::descriptors(survivor.pid()), observe::segments(survivor.pid()));
        assert_eq!(held, *before.get_or_insert(held), "after {killed} deaths");
    }
    println!("{killed} servers killed");
    assert_eq!(before.map(|(_, segments)| segments), Some(observe::Segments::default()));
    survivor.succeeds();
}

// ---- closed in order ----

#[test]
fn orderly_end_is_distinct_from_death() {
    for policy in EVERY_POLICY {
        let server = Server::waiting(policy);
        let mut session = server.connect(&SessionOptions::new().wait(policy));
        assert_serves(&mut session);
        server.stop();
        let error = within(PROMPT, "the news", move || session.call(ECHO, b"hi").unwrap_err());
        assert!(matches!(error, CallError::Closed), "{policy:?}: {error:?}");
    }
}

#[test]
fn server_end_during_a_wait_is_orderly() {
    for policy in EVERY_POLICY {
        let mut server =
            Server::start(Settings::new().with("wait", policy_name(policy)).with("gate", false));
        let options = SessionOptions::new().wait(policy);
        let mut busy = server.connect(&options);
        busy.send(GIVE_GATED, &ask_for(3, 500)).unwrap();
        server.process.expect("waiting");
        let mut waiting = server.connect(&options);
        let caller = std::thread::spawn(move || waiting.call(ECHO, b"hi").map(drop));
        server.process.write_line("open");
        server.process.write_line("stop");
        server.process.expect("served");
        let reply = busy.receive().unwrap();
        assert_eq!(reply.to_vec(), message(3, 500), "a call in progress is finished");
        drop(reply);
        assert!(matches!(busy.call(ECHO, b"hi").unwrap_err(), CallError::Closed));
        // The worker may have taken it before the stop.
        let outcome = within(PROMPT, "the news", move || caller.join().unwrap());
        assert!(matches!(outcome, Ok(()) | Err(CallError::Closed)), "{outcome:?}");
    }
}

/// Only where memory is shared.
mod on_shm {
    use super::*;

    #[test]
    fn cut_connection_is_noticed_at_any_moment() {
        // A session over a given socket is in shared memory.
        for policy in EVERY_POLICY {
            let server = Server::waiting(policy);
            let before = server.at_rest();
            // Kept to the end, because a dropped session publishes its end in its memory.
            let mut kept = Vec::new();
            for number in 0..300 {
                let socket = UnixStream::connect(server.socket()).unwrap();
                let cut = socket.try_clone().unwrap();
                let mut session =
                    ExclusiveSession::from_socket(socket.into(), &SessionOptions::new()).unwrap();
                assert_eq!(session.call(ECHO, message(number, 50)).unwrap().bytes().len(), 50);
                for _ in 0..number % 100 {
                    std::hint::spin_loop();
                }
                cut.shutdown(Shutdown::Both).unwrap();
                kept.push(session);
            }
            server.returns_to(before);
        }
    }
}
