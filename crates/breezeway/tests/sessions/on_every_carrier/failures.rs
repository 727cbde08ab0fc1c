//! Calls that fail: handlers that panic, err or take too long. The session goes on, and nothing is
//! left of the failure.

use std::time::{Duration, Instant};

use breezeway::{CallError, ErrorCode, ExclusiveSession, SessionOptions, WaitPolicy};

use crate::support::content::message;
use crate::support::server::{
    CHANGE_MIND, ECHO, FAIL, GIVE, GIVE_GATED, PANIC, ask_for, assert_serves, assert_takes_clients,
    policy_name,
};
use crate::support::{
    EVERY_POLICY, PATIENCE, PROMPT, Server, Settings, Stopwatch, on_socket, within,
};

/// Returns the code and the reason of a failed call.
#[track_caller]
fn failure<T: std::fmt::Debug>(outcome: Result<T, CallError>) -> (ErrorCode, String) {
    match outcome {
        Err(error @ CallError::Failed { .. }) => {
            assert!(error.session_goes_on());
            let CallError::Failed { code, reason, .. } = error else { unreachable!() };
            (code, reason)
        }
        other => panic!("{other:?}"),
    }
}

// ---- panics ----

#[test]
fn handler_panic_fails_its_call_despite_reserved_reply() {
    for policy in EVERY_POLICY {
        let server = Server::waiting(policy);
        let mut session = server.connect(&SessionOptions::new().wait(policy));
        for (how, words) in [
            (0u64, "at once"),
            (1, "with a small reply reserved"),
            (2, "with a large reply reserved"),
        ] {
            for len in [8, 104, 105, 50_000] {
                let mut request = how.to_le_bytes().to_vec();
                request.resize(len, 0);
                let (code, reason) = failure(session.call(PANIC, &request));
                assert_eq!(code, ErrorCode::Panicked);
                assert!(reason.contains("panicked") && reason.contains(words), "{reason}");
                assert_serves(&mut session);
            }
        }
        assert_takes_clients(&server.address());
    }
}

#[test]
fn panic_after_the_reply_does_not_change_it() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let mut session = server.connect(&SessionOptions::new());
    for _ in 0..20 {
        let reply = session.call(PANIC, &3u64.to_le_bytes()).unwrap();
        assert_eq!(reply.to_vec(), b"sent before the panic");
        drop(reply);
        assert_serves(&mut session);
    }
}

#[test]
fn a_panic_over_a_one_way_message_stays_the_servers_own() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let mut session = server.connect(&SessionOptions::new());
    for how in 0..4u64 {
        session.post(PANIC, &how.to_le_bytes()).unwrap();
    }
    assert_serves(&mut session);
    assert_takes_clients(&server.address());
}

#[test]
fn panics_with_reserved_replies_leak_no_memory() {
    // Each reserves 100,000 bytes: two of them would use up the cap.
    const CAP: u64 = 256 * 1024;
    let server = Server::start(Settings::new().with("cap", CAP));
    let mut session = server.connect(&SessionOptions::new().cap(CAP));
    for _ in 0..100 {
        let (code, _) = failure(session.call(PANIC, &2u64.to_le_bytes()));
        assert_eq!(code, ErrorCode::Panicked);
    }
    let (_, reason) = failure(session.call(CHANGE_MIND, &[]));
    assert!(reason.contains("on second thoughts"), "{reason}");
    let whole = session.call(GIVE, &ask_for(1, CAP as usize)).unwrap().to_vec();
    assert!(whole == message(1, CAP as usize));
}

#[test]
fn a_panic_in_the_middle_of_pipelined_calls_fails_one_of_them() {
    let server = Server::waiting(WaitPolicy::Park);
    let mut session = server.connect(&SessionOptions::new().wait(WaitPolicy::Park));
    for round in 0..50 {
        for number in 0..10u64 {
            if number == round % 10 {
                session.send(PANIC, &(number % 3).to_le_bytes()).unwrap();
            } else {
                session.send(ECHO, message(number, 300)).unwrap();
            }
        }
        for number in 0..10u64 {
            let outcome = session.receive();
            if number == round % 10 {
                assert_eq!(failure(outcome).0, ErrorCode::Panicked);
            } else {
                assert_eq!(outcome.unwrap().to_vec(), message(number, 300));
            }
        }
    }
}

// ---- errors ----

#[test]
fn a_handlers_error_reaches_the_caller_in_its_own_words() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let mut session = server.connect(&SessionOptions::new());
    for len in [0, 1, 39, 40, 41, 103, 104, 105, 106, 500, 1023, 1024] {
        let words = "x".repeat(len);
        let (code, reason) = failure(session.call(FAIL, words.as_bytes()));
        assert_eq!((code, reason.as_str()), (ErrorCode::Failed, words.as_str()));
        assert_serves(&mut session);
    }
}

#[test]
fn a_very_long_error_is_cut_at_a_character() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let mut session = server.connect(&SessionOptions::new());
    for shift in 0..4 {
        for unit in ["ü", "€", "😀", "x"] {
            let words = "x".repeat(shift) + &unit.repeat(5000 / unit.len());
            let (code, reason) = failure(session.call(FAIL, words.as_bytes()));
            assert_eq!(code, ErrorCode::Failed);
            assert!(words.starts_with(&reason), "{reason}");
            assert!((1021..=1024).contains(&reason.len()), "{} bytes", reason.len());
        }
        assert_serves(&mut session);
    }
}

#[test]
fn error_reason_without_memory_is_cut_to_an_entry() {
    const CAP: u64 = 256 * 1024;
    let mut server = Server::start(Settings::new().with("cap", CAP));
    let mut session = server.connect(&SessionOptions::new().cap(CAP));
    let words = "ö".repeat(500);
    // The first reply, unread, takes all memory.
    session.send(GIVE, &ask_for(1, CAP as usize)).unwrap();
    session.send(FAIL, words.as_bytes()).unwrap();
    session.send(GIVE_GATED, &ask_for(2, 50)).unwrap();
    server.process.expect("waiting");
    assert_eq!(session.receive().unwrap().bytes().len(), CAP as usize);
    let (code, reason) = failure(session.receive());
    assert_eq!(code, ErrorCode::Failed);
    let expected = if on_socket() { words.len() } else { 104 };
    assert!(words.starts_with(&reason) && reason.len() == expected, "{reason}");
    assert_eq!(session.receive().unwrap().to_vec(), message(2, 50));
}

#[test]
fn an_error_that_is_no_text_of_the_callers_is_the_handlers_own() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let mut session = server.connect(&SessionOptions::new());
    let (code, reason) = failure(session.call(FAIL, &[0xff, 0xfe]));
    assert_eq!(code, ErrorCode::Failed);
    assert!(reason.contains("utf-8"), "{reason}");
    let (_, reason) = failure(session.call(u32::MAX, &[]));
    assert!(reason.contains("no method 4294967295"), "{reason}");
    assert_serves(&mut session);
}

#[test]
fn an_error_over_a_one_way_message_is_not_mistaken_for_a_reply() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let mut session = server.connect(&SessionOptions::new());
    for len in [10, 1000] {
        session.post(FAIL, "nobody hears this ".repeat(len).as_bytes()).unwrap();
        assert_serves(&mut session);
    }
}

#[test]
fn pipelined_calls_fail_each_for_itself() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let mut session = server.connect(&SessionOptions::new());
    for round in 0..100u64 {
        let words = format!("failure {round} {}", "y".repeat(round as usize * 10));
        session.send(ECHO, message(round, 200)).unwrap();
        session.send(FAIL, words.as_bytes()).unwrap();
        session.send(ECHO, message(round + 1, 50)).unwrap();
        assert_eq!(session.receive().unwrap().to_vec(), message(round, 200));
        let (_, reason) = failure(session.receive());
        assert!(words.starts_with(&reason) && reason.len() >= words.len().min(1021), "{reason}");
        assert_eq!(session.receive().unwrap().to_vec(), message(round + 1, 50));
    }
}

// ---- deadlines ----

const SHORT: Duration = Duration::from_millis(20);

fn gated(policy: WaitPolicy, cap: u64) -> Server {
    Server::start(
        Settings::new().with("wait", policy_name(policy)).with("gate", false).with("cap", cap),
    )
}

fn is_deadline<T>(outcome: Result<T, CallError>) -> bool {
    matches!(outcome, Err(CallError::DeadlinePassed))
}

#[test]
fn call_past_its_deadline_fails_and_session_survives() {
    for policy in EVERY_POLICY {
        for len in [10, 100, 100_000] {
            let mut server = gated(policy, 1 << 20);
            let mut session = server.connect(&SessionOptions::new().wait(policy));
            session.set_call_timeout(Some(SHORT));
            let mut session = within(PROMPT, "the deadline", move || {
                let start = Instant::now();
                assert!(is_deadline(session.call(GIVE_GATED, &ask_for(1, len))));
                assert!(start.elapsed() >= SHORT, "{:?}", start.elapsed());
                assert!(!session.is_ended());
                assert_eq!(session.in_flight(), 0);
                // It waits behind the first.
                assert!(is_deadline(session.call(ECHO, b"too late as well")));
                let until = Instant::now() + SHORT;
                assert!(is_deadline(session.call_until(ECHO, b"and this", until)));
                session
            });
            server.process.expect("waiting");
            server.open_gate();
            session.set_call_timeout(None);
            // Late replies are not taken for this one's.
            for number in 10..20 {
                let reply = session.call(ECHO, message(number, 1000)).unwrap();
                assert_eq!(reply.to_vec(), message(number, 1000), "{policy:?} {len}");
            }
        }
    }
}

#[test]
fn a_deadline_that_has_passed_already_fails_the_call_at_once() {
    let server = Server::waiting(WaitPolicy::Park);
    for policy in EVERY_POLICY {
        let mut session = server.connect(&SessionOptions::new().wait(policy));
        let past = Instant::now();
        let outcome = session.call_until(ECHO, b"too late", past).map(drop);
        // It may have been served in no time.
        assert!(outcome.is_ok() || is_deadline(outcome));
        assert_serves(&mut session);
    }
}

#[test]
fn a_deadline_far_away_is_no_hindrance() {
    let server = Server::waiting(WaitPolicy::Park);
    for policy in EVERY_POLICY {
        let mut session = server.connect(&SessionOptions::new().wait(policy));
        for timeout in [Duration::from_secs(3600), Duration::from_secs(1 << 33), Duration::MAX] {
            session.set_call_timeout(Some(timeout));
            assert_serves(&mut session);
        }
    }
}

#[test]
fn late_replies_give_their_memory_back() {
    // Each reply takes most of the memory.
    const CAP: u64 = 256 * 1024;
    const LEN: usize = 150_000;
    for policy in EVERY_POLICY {
        let mut server = gated(policy, CAP);
        let mut session = server.connect(&SessionOptions::new().wait(policy).cap(CAP));
        for number in 0..10u64 {
            server.process.write_line("shut");
            session.set_call_timeout(Some(SHORT));
            // Until the gate is really shut, replies may come in time.
            while let Ok(reply) = session.call(GIVE_GATED, &ask_for(number, LEN)) {
                server.process.expect("waiting");
                assert!(reply.to_vec() == message(number, LEN));
            }
            server.process.expect("waiting");
            server.open_gate();
            session.set_call_timeout(None);
            let reply = session.call(GIVE, &ask_for(number + 100, LEN)).map(|reply| reply.to_vec());
            match reply {
                Ok(bytes) => assert!(bytes == message(number + 100, LEN)),
                // Both replies are in flight: this one's memory is still lent for the late one.
                Err(CallError::Failed { code: ErrorCode::NoMemory, .. }) => {}
                Err(other) => panic!("{other:?}"),
            }
            assert!(
                session.call(GIVE, &ask_for(7, CAP as usize)).unwrap().to_vec()
                    == message(7, CAP as usize)
            );
        }
    }
}

#[test]
fn requests_whose_deadline_passed_give_their_memory_back() {
    const CAP: u64 = 256 * 1024;
    let mut server = gated(WaitPolicy::Adaptive, CAP);
    let mut session = server.connect(&SessionOptions::new().cap(CAP));
    session.set_call_timeout(Some(SHORT));
    let mut requests = ask_for(1, 10);
    requests.resize(200_000, 0);
    assert!(is_deadline(session.call(GIVE_GATED, &requests)));
    // No room for another one: its deadline passes before it is sent.
    assert!(is_deadline(session.call(ECHO, message(1, 200_000))));
    server.open_gate();
    session.set_call_timeout(None);
    let whole = message(2, CAP as usize);
    let session = within(PATIENCE, "the call after it", move || {
        assert!(session.call(ECHO, whole).unwrap().to_vec() == whole);
        session
    });
    drop(session);
}

#[test]
fn pipelined_calls_that_are_given_up_are_not_answered_later() {
    let mut server = gated(WaitPolicy::Adaptive, 1 << 20);
    let mut session = server.connect(&SessionOptions::new());
    session.set_call_timeout(Some(SHORT));
    session.send(GIVE_GATED, &ask_for(1, 100)).unwrap();
    for number in 0..10 {
        session.send(ECHO, message(number, 100)).unwrap();
    }
    assert!(is_deadline(session.receive()));
    assert_eq!(session.in_flight(), 0);
    assert!(matches!(session.receive().unwrap_err(), CallError::NothingInFlight));
    server.open_gate();
    session.set_call_timeout(None);
    assert_serves(&mut session);
}

/// As many calls as may be in flight, all given up.
fn give_up_all(session: &mut ExclusiveSession) {
    session.set_call_timeout(Some(Duration::from_millis(1)));
    for _ in 0..session.max_in_flight() {
        let outcome = session.call(GIVE_GATED, &ask_for(1, 10)).map(drop);
        assert!(is_deadline(outcome));
    }
    let outcome = session.call(ECHO, b"one more").map(drop);
    assert!(matches!(outcome, Err(CallError::TooManyInFlight(_))), "{outcome:?}");
    session.set_call_timeout(None);
}

#[test]
fn late_replies_free_places_for_new_calls() {
    for policy in EVERY_POLICY {
        let mut server = gated(policy, 1 << 20);
        let mut session = server.connect(&SessionOptions::new().wait(policy).ring_capacity(8));
        give_up_all(&mut session);
        server.open_gate();
        // All late replies come in a moment; from then on there is room.
        let (outcome, _session) = within(PATIENCE, "room", move || {
            let start = Stopwatch::start();
            loop {
                match session.call(ECHO, b"anew").map(|reply| reply.to_vec()) {
                    Err(CallError::TooManyInFlight(_)) if !start.passed(PROMPT) => {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    outcome => return (outcome, session),
                }
            }
        });
        assert_eq!(outcome.map_err(|error| error.to_string()), Ok(b"anew".to_vec()), "{policy:?}");
    }
}

// ---- which call, and whether it ran ----

#[test]
fn failed_pipelined_call_names_its_number() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let mut session = server.connect(&SessionOptions::new());
    let mut expected = Vec::new();
    for number in 0..20u64 {
        let method = if number % 3 == 0 { FAIL } else { ECHO };
        expected.push((session.send(method, &number.to_le_bytes()).unwrap(), method));
    }
    for (sent, method) in expected {
        match session.receive() {
            Ok(reply) => assert_eq!((reply.call(), method), (sent, ECHO)),
            Err(error) => {
                assert!(error.may_have_run());
                let CallError::Failed { call, .. } = error else { panic!("{error}") };
                assert_eq!((call, method), (sent, FAIL));
            }
        }
    }
}

#[test]
fn oversized_call_cannot_have_run() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let mut session = server.connect(&SessionOptions::new().cap(4096));
    let error = session.call(ECHO, &[0; 5_000]).map(drop).unwrap_err();
    assert!(matches!(error, CallError::TooLarge { .. }), "{error}");
    assert!(!error.may_have_run());
}

#[test]
fn a_reply_is_received_without_waiting_once_it_is_there() {
    for policy in EVERY_POLICY {
        let server = Server::waiting(policy);
        let mut session = server.connect(&SessionOptions::new().wait(policy));
        let nothing = session.try_receive().map(|reply| reply.is_some());
        assert!(matches!(nothing, Err(CallError::NothingInFlight)), "{nothing:?}");
        let sent = session.send(ECHO, b"later").unwrap();
        let stopwatch = Stopwatch::start();
        loop {
            if let Some(reply) = session.try_receive().unwrap() {
                assert_eq!((reply.call(), reply.to_vec()), (sent, b"later".to_vec()));
                break;
            }
            assert!(stopwatch.elapsed() < PATIENCE, "no reply");
            std::thread::yield_now();
        }
        assert_serves(&mut session);
    }
}
