//! The client that threads share: its sessions, what becomes of them, and servers that come and go
//! behind it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use breezeway::{CallError, ClientError, ClientOptions, Pool, SessionOptions, WaitPolicy};
use breezeway_adversary::interception::{Stopped, Which, with_faults};

use crate::support::carrier::{connections, is_absent, is_left_over};
use crate::support::content::{Random, message};
use crate::support::server::{ECHO, FAIL, GIVE, GIVE_GATED, TALLY, ask_for, policy_name};
use crate::support::{
    EVERY_POLICY, Folder, MEBIBYTE, PATIENCE, PROMPT, Server, Settings, eventually, on_socket,
    within,
};

fn client(server: &Server, sessions: usize) -> Pool {
    client_waiting(server, sessions, WaitPolicy::Adaptive)
}

fn client_waiting(server: &Server, sessions: usize, policy: WaitPolicy) -> Pool {
    let session =
        SessionOptions::new().wait(policy).cap(MEBIBYTE as u64).handshake_timeout(PATIENCE);
    let options = ClientOptions::new().max_sessions(sessions).session(session);
    Pool::connect_with(server.address(), options).unwrap()
}

#[track_caller]
fn assert_calls(client: &Pool) {
    let reply = client.call(ECHO, b"hi").expect("the server is there");
    assert_eq!(reply.to_vec(), b"hi");
}

#[test]
fn eight_threads_share_three_sessions() {
    for policy in EVERY_POLICY {
        // A fourth session would be refused.
        let settings = Settings::new().with("sessions", 3).with("cap", MEBIBYTE).with("workers", 2);
        let server = Server::start(settings.with("wait", policy_name(policy)));
        let client = Arc::new(client_waiting(&server, 3, policy));
        let threads: Vec<_> = (0..8u64)
            .map(|thread| {
                let client = Arc::clone(&client);
                std::thread::spawn(move || {
                    let mut random = Random::new(thread);
                    for number in 0..50 {
                        let request = message(thread * 1000 + number, random.len(30_000));
                        let reply = client.call(ECHO, request).unwrap();
                        assert!(reply.to_vec() == request, "thread {thread}, call {number}");
                    }
                })
            })
            .collect();
        within(PATIENCE, "all calls", move || {
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        assert_calls(&client);
    }
}

#[test]
fn mixed_sizes_keep_content_across_threads() {
    const THREADS: u64 = 8;
    const MESSAGES: u64 = 20_000;
    let server = Server::start(Settings::new().with("cap", MEBIBYTE).with("workers", 2));
    let client = Arc::new(client(&server, 3));
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let client = Arc::clone(&client);
            std::thread::spawn(move || {
                let mut random = Random::new(100 + thread);
                for number in 0..MESSAGES / THREADS {
                    let most = if number % 500 == 0 { MEBIBYTE } else { 3000 };
                    let (number, len) = (thread << 32 | number, random.len(most));
                    let reply = client.call(GIVE, &ask_for(number, len)).unwrap();
                    assert!(reply.to_vec() == message(number, len));
                }
            })
        })
        .collect();
    within(PATIENCE * 2, "all calls", move || {
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    server.stop();
}

#[test]
fn taking_a_session_and_giving_it_back_takes_no_system_call() {
    const TIMES: usize = 10_000;
    let server = Server::start(Settings::new().with("cap", MEBIBYTE));
    let client = client(&server, 1);
    let every: Vec<_> = (0..512).map(|number| (number, Which::All)).collect();
    let (is_counting, mut counts) = (AtomicBool::new(false), BTreeMap::<_, usize>::new());
    let count = |call: &Stopped| {
        if is_counting.load(Ordering::SeqCst) {
            *counts.entry(call.number).or_default() += 1;
        }
        None
    };
    let milliseconds = with_faults(&every, count, || {
        drop(client.session().unwrap());
        // The first spin of a process reads the quota of its CPU time.
        let _ = breezeway_os::cpu::spinning_pays();
        let start = Instant::now();
        is_counting.store(true, Ordering::SeqCst);
        // The count counts.
        std::thread::yield_now();
        for _ in 0..TIMES {
            drop(client.session().unwrap());
        }
        is_counting.store(false, Ordering::SeqCst);
        start.elapsed().as_millis() as usize
    });
    let milliseconds = match milliseconds {
        Ok(milliseconds) => milliseconds,
        Err(error) => return println!("SKIPPED: no system calls can be intercepted: {error}"),
    };
    assert_eq!(counts.remove(&libc::SYS_sched_yield), Some(1));
    // No thread waits, and none is woken.
    assert_eq!(counts.remove(&libc::SYS_futex), None, "in {TIMES}");
    // Without the kernel's page for it the clock is a call.
    counts.remove(&libc::SYS_clock_gettime);
    // Once a millisecond the kernel is asked whether the server is still there.
    let others: usize = counts.values().sum();
    assert!(others <= 2 * (milliseconds + 1), "{counts:?} in {milliseconds} ms");
}

#[test]
fn one_more_caller_than_sessions_waits_for_a_session() {
    // A second session would be refused.
    let settings = Settings::new().with("gate", false).with("workers", 2).with("sessions", 1);
    let mut server = Server::start(settings);
    let client = Arc::new(client(&server, 1));
    let first = {
        let client = Arc::clone(&client);
        std::thread::spawn(move || client.call(GIVE_GATED, &ask_for(1, 500)).unwrap().to_vec())
    };
    server.process.expect("waiting");
    let second = {
        let client = Arc::clone(&client);
        std::thread::spawn(move || client.call(ECHO, b"second").unwrap().to_vec())
    };
    server.open_gate();
    let (first, second) =
        within(PATIENCE, "both", move || (first.join().unwrap(), second.join().unwrap()));
    assert_eq!((first.as_slice(), second.as_slice()), (message(1, 500), &b"second"[..]));
}

#[test]
fn a_reply_keeps_its_session_until_it_is_dropped() {
    let server = Server::start(Settings::new().with("sessions", 2).with("cap", MEBIBYTE));
    let client = client(&server, 2);
    let request = message(1, 200_000);
    let first = client.call(ECHO, request).unwrap();
    let second = client.call(ECHO, &request[1..]).unwrap();
    assert!(first.to_vec() == request && second.to_vec() == request[1..]);
    drop(first);
    let third = client.call(ECHO, &request[2..]).unwrap();
    assert!(second.to_vec() == request[1..] && third.to_vec() == request[2..]);
}

#[test]
fn a_failed_call_does_not_cost_a_session() {
    let server = Server::start(Settings::new().with("sessions", 1).with("cap", MEBIBYTE));
    let client = client(&server, 1);
    for _ in 0..20 {
        let error = client.call(FAIL, b"no luck").err().unwrap();
        let is_failed = matches!(&error, ClientError::Call(CallError::Failed { .. }));
        assert!(is_failed, "{error:?}");
        let error = client.call(ECHO, message(1, MEBIBYTE + 1)).err().unwrap();
        assert!(matches!(error, ClientError::Call(CallError::TooLarge { .. })), "{error:?}");
        assert_calls(&client);
    }
}

#[test]
fn a_session_with_replies_to_come_does_not_return_to_the_pool() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let before = server.at_rest();
    let client = client(&server, 1);
    for number in 0..20 {
        let mut session = client.session().unwrap();
        session.send(ECHO, message(number, 100)).unwrap();
        session.send(ECHO, message(number + 1, 100)).unwrap();
        if number % 2 == 0 {
            assert_eq!(session.receive().unwrap().to_vec(), message(number, 100));
        }
        drop(session);
        // Its reply is not taken for this one's.
        assert_eq!(client.call(ECHO, b"mine").unwrap().to_vec(), b"mine");
    }
    drop(client);
    server.returns_to(before);
}

#[test]
fn calls_that_were_given_up_do_not_spoil_the_pool() {
    let mut server = Server::start(Settings::new().with("gate", false));
    let session =
        SessionOptions::new().ring_capacity(8).call_timeout(Some(Duration::from_millis(10)));
    let options = ClientOptions::new().max_sessions(1).session(session);
    let client = Pool::connect_with(server.address(), options).unwrap();
    for _ in 0..10 {
        assert!(client.call(GIVE_GATED, &ask_for(1, 10)).is_err());
    }
    server.open_gate();
    // The server answers everything in a moment; then calls must succeed again.
    eventually("calls succeed again", || client.call(ECHO, b"hi").is_ok());
}

/// A client with a short call timeout, on a server that keeps gated calls for ever.
fn hasty(server: &Server, sessions: usize) -> Pool {
    let session = SessionOptions::new()
        .handshake_timeout(PATIENCE)
        .call_timeout(Some(Duration::from_millis(50)));
    let options = ClientOptions::new().max_sessions(sessions).session(session);
    Pool::connect_with(server.address(), options).unwrap()
}

#[track_caller]
fn give_up_a_call(client: &Pool) {
    let error = client.call(GIVE_GATED, &ask_for(1, 10)).err().expect("the gate is closed");
    assert!(matches!(error, ClientError::Call(CallError::DeadlinePassed)), "{error:?}");
}

#[test]
fn session_with_pending_reply_is_handed_out_last() {
    let server = Server::start(Settings::new().with("gate", false).with("workers", 2));
    let client = hasty(&server, 2);
    give_up_a_call(&client);
    // Its worker is in the gated call; the session that is opened instead gets the other one.
    eventually("another session serves", || client.call(ECHO, b"hi").is_ok());
    let open = connections(&server.address());
    for _ in 0..20 {
        eventually("and again", || client.call(ECHO, b"hi").is_ok());
    }
    assert_eq!((open, connections(&server.address())), (2, 2));
}

#[test]
fn session_with_overdue_reply_is_replaced() {
    let server = Server::start(Settings::new().with("gate", false).with("workers", 2));
    let client = hasty(&server, 1);
    give_up_a_call(&client);
    eventually("a session that serves", || client.call(ECHO, b"hi").is_ok());
}

#[test]
fn session_with_pending_reply_is_used_without_another() {
    let mut server = Server::start(Settings::new().with("gate", false).with("sessions", 1));
    let client = hasty(&server, 2);
    for _ in 0..30 {
        give_up_a_call(&client);
    }
    server.open_gate();
    eventually("calls succeed again", || client.call(ECHO, b"hi").is_ok());
}

#[test]
fn absent_server_is_noticed_at_each_call() {
    let folder = Folder::new();
    assert!(Pool::connect(folder.address()).err().is_some_and(|error| is_absent(&error)));
    let mut server = Server::waiting(WaitPolicy::Adaptive);
    let client = client(&server, 2);
    assert_calls(&client);
    server.process.kill();
    // The session that was used a moment ago may be used without being asked.
    let error = client.call(ECHO, b"hi").err().unwrap();
    match error {
        ClientError::Call(CallError::PeerDied) => {}
        ClientError::Connect(error) => assert!(is_left_over(&error), "{error:?}"),
        other => panic!("{other:?}"),
    }
    for _ in 0..5 {
        let error = client.call(ECHO, b"hi").err().unwrap();
        let ClientError::Connect(error) = error else { panic!("{error:?}") };
        assert!(is_left_over(&error), "{error:?}");
    }
}

#[test]
fn a_call_after_a_restart_finds_the_new_server() {
    for orderly in [true, false] {
        let folder = Arc::new(Folder::new());
        let mut server = Server::start_in(Arc::clone(&folder), Settings::new());
        let client = client(&server, 4);
        for _ in 0..5 {
            assert_calls(&client);
            if orderly {
                server.stop();
            } else {
                server.process.kill();
            }
            server = Server::start_in(Arc::clone(&folder), Settings::new());
            // Starting a server takes longer than a session is trusted without being asked.
            assert_calls(&client);
        }
    }
}

#[test]
fn each_restart_costs_at_most_one_call_per_session() {
    const SESSIONS: usize = 3;
    const RESTARTS: usize = 5;
    let folder = Arc::new(Folder::new());
    let mut server = Server::start_in(Arc::clone(&folder), Settings::new().with("workers", 2));
    let client = Arc::new(client(&server, SESSIONS));
    let stop = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..6u64)
        .map(|thread| {
            let (client, stop) = (Arc::clone(&client), Arc::clone(&stop));
            std::thread::spawn(move || {
                let mut lost = 0;
                for number in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let request = message(thread << 32 | number, (number % 700) as usize);
                    match client.call(ECHO, request) {
                        Ok(reply) => assert_eq!(reply.to_vec(), request),
                        Err(ClientError::Call(CallError::PeerDied)) => lost += 1,
                        Err(ClientError::Connect(_)) => std::thread::yield_now(),
                        Err(other) => panic!("{other:?}"),
                    }
                }
                lost
            })
        })
        .collect();
    for _ in 0..RESTARTS {
        server.process.kill();
        server = Server::start_in(Arc::clone(&folder), Settings::new().with("workers", 2));
        eventually("it is used", || connections(&server.address()) > 0);
    }
    stop.store(true, Ordering::Relaxed);
    let lost = within(PATIENCE, "the threads' end", move || {
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
    });
    assert!(lost <= SESSIONS * RESTARTS, "{lost} calls were lost");
}

#[test]
fn refused_session_does_not_shrink_the_pool() {
    let server = Server::start(Settings::new().with("sessions", 1));
    let client = client(&server, 3);
    for _ in 0..10 {
        let held = client.session().unwrap();
        let error = client.session().err().unwrap().to_string();
        assert!(error.contains("max_sessions"), "{error}");
        drop(held);
        assert_calls(&client);
    }
}

#[test]
fn sessions_open_on_demand_and_close_with_client() {
    let server = Server::waiting(WaitPolicy::Park);
    let before = server.at_rest();
    let client = client(&server, 8);
    for _ in 0..50 {
        assert_calls(&client);
    }
    let one = server.at_rest();
    if !on_socket() {
        assert_eq!(one.1.count - before.1.count, 2, "one session has two control segments");
    }
    let descriptors = one.0 - before.0;
    assert!(descriptors > 0);
    let held: Vec<_> = (0..8).map(|_| client.session().unwrap()).collect();
    let eight = server.at_rest();
    assert_eq!(eight.1.count - before.1.count, 8 * (one.1.count - before.1.count));
    assert_eq!(eight.0 - before.0, 8 * descriptors);
    drop(held);
    let _reply = client.call(TALLY, &[]).unwrap().to_vec();
    drop(client);
    server.returns_to(before);
}

#[test]
fn waiters_for_session_of_dead_server_fail_promptly() {
    let mut server = Server::start(Settings::new().with("gate", false));
    let client = Arc::new(client(&server, 1));
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let client = Arc::clone(&client);
            std::thread::spawn(move || client.call(GIVE_GATED, &ask_for(1, 10)).map(drop))
        })
        .collect();
    server.process.expect("waiting");
    server.process.kill();
    let outcomes: Vec<_> = within(PROMPT, "the news", move || {
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    assert!(outcomes.iter().all(Result::is_err), "{outcomes:?}");
}

/// Returns the time in the entry of a call that has waited for a session for a while.
fn time_left_after_a_wait(client: &Pool) -> Duration {
    let held = client.session().unwrap();
    std::thread::scope(|scope| {
        let (begins, has_begun) = std::sync::mpsc::channel();
        let calling = scope.spawn(move || {
            begins.send(Instant::now()).unwrap();
            client.call(0, b"").unwrap().to_vec()
        });
        let start = has_begun.recv().unwrap();
        while start.elapsed() < Duration::from_millis(300) {
            std::thread::yield_now();
        }
        drop(held);
        let micros = calling.join().unwrap().try_into().unwrap();
        Duration::from_micros(u64::from_le_bytes(micros))
    })
}

#[test]
fn call_after_waiting_has_only_its_remaining_time() {
    let folder = Folder::new();
    let server = breezeway::Server::bind(folder.address()).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || {
        server.serve(|call: breezeway::Call<'_>| {
            let micros = call.patience().expect("it has a timeout").as_micros() as u64;
            call.reply(micros.to_le_bytes())
        })
    });
    let session = SessionOptions::new().call_timeout(Some(PATIENCE)).handshake_timeout(PATIENCE);
    let options = ClientOptions::new().max_sessions(1).session(session);
    let client = Pool::connect_with(folder.address(), options).unwrap();
    // A machine that is too busy may begin the wait late.
    eventually("a call has less time", || {
        time_left_after_a_wait(&client) < PATIENCE - Duration::from_millis(100)
    });
    drop(client);
    stopper.stop();
    serving.join().unwrap().unwrap();
}

/// Lengths of replies that are private copies, and that the server lends.
const KEPT: [usize; 4] = [0, 40, 5_000, 100_000];

#[test]
fn kept_replies_outlive_calls_and_session() {
    let server = Server::start(Settings::new().with("cap", MEBIBYTE));
    let mut session = server.connect(&SessionOptions::new().cap(MEBIBYTE as u64));
    let requests = || (0..40u64).map(|number| message(number, KEPT[number as usize % 4] / 10));
    let kept: Vec<_> = requests()
        .map(|request| {
            let reply = session.call(ECHO, request).unwrap().into_message();
            assert_eq!(session.call(ECHO, b"next").unwrap().to_vec(), b"next");
            reply
        })
        .collect();
    // Several in flight, of which each is taken out.
    let sent: Vec<_> =
        KEPT.iter().map(|len| session.send(ECHO, message(7, *len)).unwrap()).collect();
    for (call, len) in sent.into_iter().zip(KEPT) {
        let reply = session.receive().unwrap();
        assert_eq!(reply.call(), call);
        assert!(reply.into_message().to_vec() == message(7, len));
    }
    // They last longer than the session, and are dropped in any order.
    drop(session);
    let expected: Vec<_> = requests().collect();
    let reading = std::thread::spawn(move || {
        for (reply, expected) in kept.into_iter().zip(expected).rev() {
            assert!(reply.to_vec() == expected);
        }
    });
    reading.join().unwrap();
    server.stop();
}

#[test]
fn memory_of_replies_that_were_kept_comes_back() {
    let server = Server::start(Settings::new().with("cap", MEBIBYTE));
    let mut session = server.connect(&SessionOptions::new().cap(MEBIBYTE as u64));
    // Ten times the cap.
    for number in 0..100 {
        let request = message(number, KEPT[3]);
        let reply = session.call(ECHO, request).unwrap().into_message();
        let reading = std::thread::spawn(move || assert!(reply.to_vec() == request));
        reading.join().unwrap();
    }
    drop(session);
    server.stop();
}

#[test]
fn a_reply_that_is_kept_gives_its_session_back() {
    let server = Server::start(Settings::new().with("sessions", 1).with("cap", MEBIBYTE));
    // With one session for all, the next call would wait for the reply that holds it.
    let client = client(&server, 1);
    let kept: Vec<_> = (0..4)
        .map(|number| {
            let request = message(number, KEPT[number as usize]);
            client.call(ECHO, request).unwrap().into_message()
        })
        .collect();
    assert_calls(&client);
    drop(client);
    for (number, reply) in kept.iter().enumerate() {
        assert!(reply.to_vec() == message(number as u64, KEPT[number]));
    }
    server.stop();
}
