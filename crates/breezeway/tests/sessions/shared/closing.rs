//! A thread ends the waits of others, and a deadline those of its own.

use std::error::Error;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{
    CallError, Incoming, OwnedCall, ServerSession, Session, SessionError, SessionOptions,
    WaitPolicy, describe,
};

use super::{PATIENCE, every_policy, pair};

/// Result of a wait that ended.
type Ended = Result<String, &'static str>;

fn said<T, E: Error + 'static>(outcome: Result<T, E>) -> Ended {
    outcome.map_or_else(|error| Ok(describe(&error)), |_| Err("it gave something"))
}

/// Each of these runs on a thread of its own, and gives how its wait ended.
fn waits_of_a_client(shared: &Session) -> Vec<Box<dyn FnOnce() -> Ended + Send>> {
    let [calling, accepting, reserving] = [0, 1, 2].map(|_| shared.clone());
    let all = shared.reserve(shared.cap()).unwrap();
    let mut receiving = shared.open(0).unwrap();
    let mut sending = shared.open(0).unwrap();
    vec![
        Box::new(move || said(calling.call(0, b"never served"))),
        Box::new(move || said(accepting.accept())),
        Box::new(move || {
            let outcome = said(reserving.reserve(reserving.cap()));
            drop(all);
            outcome
        }),
        Box::new(move || said(receiving.receive())),
        Box::new(move || {
            loop {
                if let Err(error) = sending.send(b"never read") {
                    return Ok(describe(&error));
                }
            }
        }),
    ]
}

fn waits_of_a_server(server: &ServerSession) -> Vec<Box<dyn FnOnce() -> Ended + Send>> {
    let [accepting, serving] = [0, 1].map(|_| server.clone());
    let mut stream = server.open(0).unwrap();
    vec![
        Box::new(move || match accepting.accept() {
            Ok(None) => Ok("this side has closed the session".to_owned()),
            _ => Err("it is not the end"),
        }),
        Box::new(move || match serving.serve(OwnedCall::echo) {
            Ok(()) => Ok("this side has closed the session".to_owned()),
            Err(_) => Err("it is not the end"),
        }),
        Box::new(move || said(stream.receive())),
    ]
}

/// Begins the waits, leaves them some time to sleep or not, and ends them.
fn end(waits: Vec<Box<dyn FnOnce() -> Ended + Send>>, spins: u32, close: impl FnOnce()) {
    let (done, outcomes) = mpsc::channel();
    let number = waits.len();
    for (which, wait) in waits.into_iter().enumerate() {
        let done = done.clone();
        thread::spawn(move || done.send((which, wait())).unwrap());
    }
    for _ in 0..spins {
        std::hint::spin_loop();
    }
    close();
    for _ in 0..number {
        let (which, outcome) = outcomes.recv_timeout(PATIENCE).expect("a wait does not end");
        let said = outcome.unwrap_or_else(|error| panic!("wait {which}: {error}"));
        assert!(said.contains("this side has closed the session"), "wait {which}: {said}");
    }
}

#[test]
fn closing_ends_every_wait_of_a_client_and_of_a_server() {
    for round in 0..60 {
        every_policy(|options| {
            let options = options.clone().stream_window(4, 1 << 20).cap(1 << 20);
            // The peer has no driver.
            let (shared, _server) = pair(&options);
            end(waits_of_a_client(&shared), round * 1_000, || shared.close());
            let (_channel, server) = pair(&options);
            end(waits_of_a_server(&server), round * 1_000, || server.close());
        });
    }
}

#[test]
fn a_thread_that_sleeps_in_the_kernel_is_woken_by_the_end() {
    let options = SessionOptions::new().wait(WaitPolicy::Park).stream_window(4, 1 << 20);
    let (shared, _server) = pair(&options.clone().cap(1 << 20));
    let sleeper = shared.clone();
    end(waits_of_a_client(&shared), 0, move || {
        // By then all of them sleep, if a machine is not very busy; if not, nothing else is tested.
        thread::sleep(Duration::from_millis(50));
        sleeper.close();
    });
}

#[test]
fn closed_session_is_over_and_closes_only_once() {
    let (shared, server) = pair(&SessionOptions::new());
    shared.post(0, b"before").unwrap();
    let other = shared.clone();
    shared.close();
    other.close();
    assert!(other.is_ended() && other.is_going_away());
    let refused = other.call(0, b"").unwrap_err();
    assert!(matches!(refused, CallError::NotSent(_)) && !refused.may_have_run(), "{refused}");
    assert!(describe(&refused).contains("this side has closed the session"), "{refused}");
    // The messages from before the end come first, and the end is in order.
    let Some(Incoming::Call(call)) = server.accept().unwrap() else { panic!("no message") };
    assert_eq!(call.request().to_vec(), b"before");
    assert!(server.accept().unwrap().is_none());
    drop((shared, other));
}

#[test]
fn replies_before_servers_close_arrive_and_rest_fail() {
    every_policy(|options| {
        let (shared, server) = pair(options);
        let calling: Vec<_> = (0..2u8)
            .map(|number| {
                let shared = shared.clone();
                thread::spawn(move || shared.call(0, &[number]).map(|reply| reply.to_vec()))
            })
            .collect();
        let mut calls: Vec<_> = (0..2)
            .map(|_| match server.accept().unwrap() {
                Some(Incoming::Call(call)) => call,
                _ => panic!("no call"),
            })
            .collect();
        calls.sort_by_key(|call| call.request().to_vec());
        let _ = calls.remove(0).echo();
        server.close();
        assert!(calls[0].is_cancelled());
        let _ = calls.remove(0).reply(b"nobody gets it");
        let mut outcomes = calling.into_iter().map(|thread| thread.join().unwrap());
        assert_eq!(outcomes.next().unwrap().unwrap(), [0]);
        let error = outcomes.next().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "the server closed the session");
    });
}

#[test]
fn closing_after_the_peers_end_keeps_the_reason() {
    let (shared, server) = pair(&SessionOptions::new());
    drop(server);
    while !shared.is_ended() {
        let _ = shared.call(0, b"");
    }
    shared.close();
    let refused = describe(&shared.call(0, b"").unwrap_err());
    assert!(refused.contains("the server closed the session"), "{refused}");
}

#[test]
fn every_wait_may_be_given_a_deadline() {
    every_policy(|options| {
        let options = options.clone().cap(1 << 20).stream_window(1, 1 << 20).ring_capacity(8);
        let (shared, server) = pair(&options);
        let space = || shared.request(0).deadline(soon()).reserve(10).unwrap();
        let mut stream = shared.request(0).deadline(soon()).open().unwrap();
        let mut served = loop {
            match server.accept_until(soon()) {
                Ok(Some(Incoming::Stream(_, stream))) => break stream,
                Ok(_) => panic!("no stream"),
                Err(SessionError::DeadlinePassed) => {}
                Err(error) => panic!("{error}"),
            }
        };
        stream.sender().send_space_until(space(), soon()).unwrap();
        assert_eq!(served.receive().unwrap().unwrap().len(), 10);
        stream.sender().send_space_until(space(), soon()).unwrap();
        // The ring of a session without a driver at the other side is full.
        let (full, _server) = pair(&options);
        while full.request(0).deadline(soon()).post_space(full.reserve(1).unwrap()).is_ok() {}
        let all = shared.request(0).deadline(soon()).reserve(shared.cap()).unwrap();
        let its_own = stream.sender().reserve_until(105, soon()).unwrap();
        let (passed, kept) = ("deadline passed", "kept for other streams");
        let table = [
            ("accept", said(shared.accept_until(soon())), passed),
            ("accept of a server", said(server.accept_until(soon())), passed),
            (
                "post space",
                said(full.request(0).deadline(soon()).post_space(full.reserve(1).unwrap())),
                passed,
            ),
            ("open", said(full.request(0).deadline(soon()).open()), passed),
            ("reserve", said(shared.request(0).deadline(soon()).reserve(105)), kept),
            ("reserve for a stream", said(stream.sender().reserve_until(105, soon())), kept),
            ("send", said(stream.sender().send_until(b"", soon())), passed),
            ("send space", said(stream.sender().send_space_until(space(), soon())), passed),
            ("call space", said(shared.request(0).deadline(soon()).send_space(space())), passed),
            ("receive", said(stream.receiver().receive_until(soon())), passed),
        ];
        for (what, outcome, text) in table {
            let said = outcome.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(said.contains(text), "{what}: {said}");
        }
        drop((all, its_own, stream));
    });
}

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(5)
}
