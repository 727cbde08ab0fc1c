//! Servers that end: calls in progress are finished, clients are notified, and nothing is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use breezeway::{
    Call, CallError, ExclusiveSession, HandlerError, Replied, ServerOptions, Session,
    SessionOptions, WaitPolicy,
};

use crate::support::carrier::is_absent;
use crate::support::content::message;
use crate::support::server::{
    ECHO, GIVE_GATED, SINK, ask_for, assert_serves, policy_name, sinkable,
};
use crate::support::{
    EVERY_POLICY, Folder, PATIENCE, PROMPT, Server, Settings, eventually, has_socket_file, observe,
    patient, within,
};

#[test]
fn running_call_is_finished_and_next_finds_session_closed() {
    for policy in EVERY_POLICY {
        for len in [10, 100, 100_000] {
            let settings = Settings::new().with("wait", policy_name(policy)).with("gate", false);
            let mut server = Server::start(settings);
            let mut session = server.connect(&SessionOptions::new().wait(policy));
            session.send(GIVE_GATED, &ask_for(3, len)).unwrap();
            server.process.expect("waiting");
            server.process.write_line("open");
            server.process.write_line("stop");
            let mut session = within(PROMPT, "the reply", move || {
                assert!(session.receive().unwrap().to_vec() == message(3, len));
                session
            });
            server.process.expect("served");
            within(PROMPT, "the news", move || {
                let error = session.call(ECHO, b"hi").unwrap_err();
                assert!(matches!(error, CallError::Closed), "{policy:?}: {error:?}");
                assert!(matches!(session.call(ECHO, b"hi").unwrap_err(), CallError::Ended));
            });
            server.process.succeeds();
        }
    }
}

#[test]
fn stop_amid_calls_closes_sessions_after_whole_replies() {
    for policy in [WaitPolicy::Adaptive, WaitPolicy::Park] {
        let settings = Settings::new().with("wait", policy_name(policy)).with("workers", 2);
        let mut server = Server::start(settings);
        let calls = Arc::new(AtomicU64::new(0));
        let callers: Vec<_> = (0..4u64)
            .map(|caller| {
                let mut session = server.connect(&SessionOptions::new().wait(policy));
                let calls = Arc::clone(&calls);
                std::thread::spawn(move || {
                    for number in 0.. {
                        let request = message(caller << 32 | number, (number % 5000) as usize);
                        match session.call(ECHO, request) {
                            Ok(reply) => assert!(reply.to_vec() == request),
                            Err(error) => return error,
                        }
                        calls.fetch_add(1, Ordering::Relaxed);
                    }
                    unreachable!("the server is stopped some day")
                })
            })
            .collect();
        eventually("calls are made", || calls.load(Ordering::Relaxed) > 500);
        server.process.write_line("stop");
        server.process.expect("served");
        for caller in callers {
            let error = within(PROMPT, "the news", move || caller.join().unwrap());
            // The news may come before a reply.
            let is_over = matches!(error, CallError::Closed | CallError::GoingAway);
            assert!(is_over, "{policy:?}: {error:?}");
        }
        assert!(!server.socket().exists());
        server.process.succeeds();
    }
}

#[test]
fn pipelined_calls_before_the_stop_are_answered() {
    let mut server = Server::start(Settings::new().with("gate", false));
    let mut session = server.connect(&SessionOptions::new().wait(WaitPolicy::Park));
    for number in 0..10 {
        session.send(ECHO, message(number, 300)).unwrap();
    }
    session.send(GIVE_GATED, &ask_for(10, 300)).unwrap();
    server.process.expect("waiting");
    server.process.write_line("open");
    server.process.write_line("stop");
    server.process.expect("served");
    server.process.succeeds();
    for number in 0..=10 {
        assert_eq!(session.receive().unwrap().to_vec(), message(number, 300));
    }
    let error = session.call(ECHO, b"hi").unwrap_err();
    assert!(matches!(error, CallError::Closed), "{error:?}");
}

#[test]
fn channel_to_stopping_server_gets_only_its_last_reply() {
    for policy in EVERY_POLICY {
        let settings = Settings::new().with("wait", policy_name(policy)).with("gate", false);
        let settings = settings.with("offload", 2).with("drain", PATIENCE.as_millis());
        let mut server = Server::start(settings);
        let options = SessionOptions::new().wait(policy).handshake_timeout(PATIENCE);
        let shared = Session::connect_with(server.address(), &options).unwrap();
        let last = {
            let shared = shared.clone();
            std::thread::spawn(move || shared.call(GIVE_GATED, &ask_for(3, 5000)))
        };
        server.process.expect("waiting");
        server.process.write_line("stop");
        let shared = within(PATIENCE, "the news", move || {
            loop {
                match shared.call(ECHO, b"hi") {
                    Ok(reply) => assert_eq!(reply.to_vec(), b"hi"),
                    Err(CallError::GoingAway) => return shared,
                    Err(other) => panic!("{policy:?}: {other:?}"),
                }
            }
        });
        server.process.write_line("open");
        let reply = within(PATIENCE, "the last reply", move || last.join().unwrap().unwrap());
        assert!(reply.to_vec() == message(3, 5000));
        server.process.expect("served");
        assert!(shared.call(ECHO, b"hi").is_err());
        server.process.succeeds();
    }
}

#[test]
fn stopping_server_waits_for_a_call_until_drain_time() {
    let settings = Settings::new().with("gate", false).with("offload", 1).with("drain", 50);
    let mut server = Server::start(settings);
    let mut session = server.connect(&SessionOptions::new());
    session.send(GIVE_GATED, &ask_for(3, 10)).unwrap();
    server.process.expect("waiting");
    server.process.write_line("stop");
    let error = within(PROMPT, "the end", move || session.receive().map(drop).unwrap_err());
    assert!(matches!(error, CallError::Closed), "{error:?}");
    // A running handler is not ended, so the server waits for it.
    server.process.write_line("open");
    server.process.expect("served");
    server.process.succeeds();
}

#[test]
fn a_flood_to_a_server_that_stops_ends_with_the_news() {
    for len in [20, 20_000] {
        let server = Server::waiting(WaitPolicy::Adaptive);
        let mut session = server.connect(&SessionOptions::new());
        let flood = std::thread::spawn(move || {
            (0..).find_map(|number| session.post(SINK, &sinkable(1, number, len)).err())
        });
        server.stop();
        let error = within(PROMPT, "the news", move || flood.join().unwrap().unwrap());
        // One-way messages are not answered, so their sender mostly does not read the server's
        // entries, and sees that the server is gone.
        let is_news =
            matches!(error, CallError::GoingAway | CallError::Closed | CallError::PeerDied);
        assert!(is_news, "{len}: {error:?}");
    }
}

#[test]
fn a_server_that_was_stopped_before_it_serves_ends_at_once() {
    let folder = Folder::new();
    let server = breezeway::Server::bind(folder.address()).unwrap();
    let stopper = server.stopper();
    stopper.stop();
    stopper.clone().stop();
    let outcome = within(PROMPT, "the end", move || server.serve(echo));
    assert!(outcome.is_ok(), "{outcome:?}");
    assert!(!folder.socket().exists());
    stopper.stop();
}

fn echo(call: Call<'_>) -> Result<Replied, HandlerError> {
    let bytes = call.request().to_vec();
    call.reply(&bytes)
}

#[test]
fn clients_before_serve_wait_in_the_backlog() {
    let folder = Folder::new();
    let server = breezeway::Server::bind(folder.address()).unwrap();
    let stopper = server.stopper();
    let address = folder.address();
    let client = std::thread::spawn(move || {
        let options = patient();
        let mut session = ExclusiveSession::connect_with(&address, &options).unwrap();
        session.call(ECHO, b"early").unwrap().to_vec()
    });
    let serving = std::thread::spawn(move || server.serve(echo));
    let reply = within(PATIENCE, "the reply", move || client.join().unwrap());
    assert_eq!(reply, b"early");
    stopper.stop();
    within(PROMPT, "the end", move || serving.join().unwrap()).unwrap();
}

#[test]
fn a_server_that_is_dropped_without_serving_removes_its_socket() {
    let folder = Folder::new();
    let server = breezeway::Server::bind(folder.address()).unwrap();
    assert_eq!(folder.socket().exists(), has_socket_file());
    drop(server);
    let error = ExclusiveSession::connect(folder.address()).err().unwrap();
    assert!(is_absent(&error), "{error:?}");
}

#[test]
fn stopped_server_leaves_no_thread_or_segment() {
    // In a process of its own, as the threads of other tests would disturb the count.
    let mut server = Server::waiting(WaitPolicy::Adaptive);
    let threads = observe::threads(server.pid()).len();
    let mut sessions: Vec<_> = (0..5).map(|_| server.connect(&SessionOptions::new())).collect();
    sessions.iter_mut().for_each(assert_serves);
    assert_eq!(observe::threads(server.pid()).len(), threads, "sessions have no threads");
    server.process.write_line("stop");
    server.process.expect("served");
    for mut session in sessions {
        assert!(matches!(session.call(ECHO, b"hi").unwrap_err(), CallError::Closed));
    }
    server.process.succeeds();
}

#[test]
fn policy_panic_does_not_stall_the_server() {
    let folder = Folder::new();
    let panics = Arc::new(AtomicBool::new(true));
    let first = Arc::clone(&panics);
    let options = ServerOptions::new().authorize(move |_| {
        assert!(!first.swap(false, Ordering::Relaxed), "the policy panics, as the test wants");
        Ok(())
    });
    let server = breezeway::Server::bind_with(folder.address(), options).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || server.serve(echo));
    let address = folder.address();
    let refused = within(PATIENCE, "the error", move || {
        ExclusiveSession::connect_with(&address, &patient()).map(drop)
    });
    assert!(refused.is_err(), "a client whose policy panicked is not let in");
    // The server either continues, or ends with an error.
    let address = folder.address();
    let next = within(PATIENCE, "the next client", move || {
        ExclusiveSession::connect_with(&address, &patient()).map(drop)
    });
    if next.is_err() {
        eventually("the server ends", || serving.is_finished());
    }
    stopper.stop();
    // Its panic, if it has passed that on, is its caller's.
    let _ = within(PROMPT, "the end", move || serving.join());
}

/// An error that cannot be put into words.
#[derive(Debug)]
struct Unspeakable;

impl std::fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("the error's words panic, as the test wants")
    }
}

impl std::error::Error for Unspeakable {}

#[test]
fn an_error_whose_words_panic_fails_its_call_and_not_the_server() {
    let folder = Folder::new();
    let server = breezeway::Server::bind(folder.address()).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || {
        server.serve(|call: Call<'_>| match call.method() {
            ECHO => echo(call),
            _ => Err(Unspeakable.into()),
        })
    });
    let mut session = ExclusiveSession::connect_with(folder.address(), &patient()).unwrap();
    let error = within(PROMPT, "the failure", move || session.call(1, b"hi").map(drop));
    assert!(error.is_err());
    let address = folder.address();
    within(PROMPT, "a call of the next client", move || {
        let mut session = ExclusiveSession::connect_with(&address, &patient()).unwrap();
        assert_eq!(session.call(ECHO, b"hi").unwrap().to_vec(), b"hi");
    });
    stopper.stop();
    within(PROMPT, "the end", move || serving.join().unwrap()).unwrap();
}
