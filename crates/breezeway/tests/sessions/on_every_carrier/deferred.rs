//! Calls that are replied to later, by other threads, in other orders, or never.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

use breezeway::{
    Call, CallError, ErrorCode, ExclusiveServerSession, ExclusiveSession, Handled, Monitor,
    OwnedCall, ReplyError, Server, ServerOptions, Session, SessionOptions, Stopper, WaitPolicy,
};

use super::parent_and_child::in_forked_child;
use crate::support::content::message;
use crate::support::{
    EVERY_POLICY, Folder, PATIENCE, Process, Role, Settings, connect, eventually, observe, patient,
    wait_for, within,
};

/// Roles of the other processes of these tests.
pub(crate) const ROLES: &[(&str, Role)] =
    &[("deferring forker", reply_in_a_forked_child), ("client that waits", call_and_wait)];

/// Defers the call.
const DEFER: u32 = 0;
/// Replies at once, with the request.
const ECHO: u32 = 1;
/// Defers the call once `is_cancelled` returns true.
const UNTIL_CANCELLED: u32 = 2;

/// A server with a handler that gives deferred calls to the test.
struct Deferring {
    folder: Folder,
    stopper: Stopper,
    monitor: Monitor,
    serving: JoinHandle<()>,
    calls: Receiver<OwnedCall>,
}

fn defer_to(sender: &Mutex<Sender<OwnedCall>>, call: Call<'_>) -> Handled {
    match call.method() {
        DEFER => {
            let (call, later) = call.defer()?;
            sender.lock().unwrap().send(call)?;
            Ok(later)
        }
        UNTIL_CANCELLED => {
            let begun = call.time_left();
            eventually("the client waits no longer", || call.is_cancelled());
            assert!(call.time_left() <= begun && begun <= call.patience());
            let (call, later) = call.defer()?;
            sender.lock().unwrap().send(call)?;
            Ok(later)
        }
        _ => call.echo(),
    }
}

impl Deferring {
    fn start(options: ServerOptions) -> Self {
        Self::start_as(options, |server| server)
    }

    /// One whose sessions with channels are shared.
    fn with_streams(options: ServerOptions) -> Self {
        Self::start_as(options, |server| server.on_stream(|_, _| Ok(())))
    }

    fn start_as(options: ServerOptions, kind: impl FnOnce(Server) -> Server) -> Self {
        let folder = Folder::new();
        let server = kind(Server::bind_with(folder.address(), options).unwrap());
        let (stopper, monitor) = (server.stopper(), server.monitor());
        let (sender, calls) = channel();
        let sender = Mutex::new(sender);
        let handler = move |call: Call<'_>| defer_to(&sender, call);
        let serving = std::thread::spawn(move || server.serve(handler).unwrap());
        Self { folder, stopper, monitor, serving, calls }
    }

    /// Replies wait for memory as long as a test may take.
    fn with(options: SessionOptions) -> Self {
        Self::start(ServerOptions::new().session(options).reply_timeout(PATIENCE))
    }

    fn connect(&self, options: SessionOptions) -> ExclusiveSession {
        let options = options.handshake_timeout(PATIENCE);
        ExclusiveSession::connect_with(self.folder.address(), &options).unwrap()
    }

    /// The next deferred call.
    #[track_caller]
    fn next(&self) -> OwnedCall {
        wait_for(&self.calls, PATIENCE).expect("the call comes")
    }

    fn stop(self) {
        self.stopper.stop();
        within(PATIENCE, "the end", move || self.serving.join().unwrap());
    }
}

#[test]
fn deferred_calls_are_answered_in_any_order_by_any_thread() {
    for policy in EVERY_POLICY {
        for len in [10, 100, 100_000] {
            let server = Deferring::with(patient().wait(policy));
            let mut session = server.connect(SessionOptions::new().wait(policy));
            let sent: Vec<_> =
                (0..5).map(|number| session.send(DEFER, message(number, len)).unwrap()).collect();
            let mut calls: Vec<_> = (0..5).map(|_| server.next()).collect();
            let replying = std::thread::spawn(move || {
                while let Some(call) = calls.pop() {
                    assert!(!call.is_one_way() && call.method() == DEFER);
                    let reply = call.request().to_vec();
                    call.reply(reply).unwrap();
                }
            });
            for number in (0..5).rev() {
                let reply = session.receive().unwrap();
                assert_eq!(reply.call(), sent[number]);
                assert!(reply.to_vec() == message(number as u64, len), "{policy:?} {len}");
            }
            replying.join().unwrap();
            drop(session);
            server.stop();
        }
    }
}

#[test]
fn a_worker_serves_other_calls_while_one_is_deferred() {
    let server = Deferring::with(patient().wait(WaitPolicy::Park));
    let mut waiting = server.connect(SessionOptions::new());
    let mut other = server.connect(SessionOptions::new());
    let deferred = waiting.send(DEFER, b"slow").unwrap();
    let call = server.next();
    for number in 0..100 {
        assert!(other.call(ECHO, message(number, 30)).unwrap().to_vec() == message(number, 30));
        let quick = waiting.send(ECHO, message(number, 40)).unwrap();
        let reply = waiting.receive().unwrap();
        assert_eq!(reply.call(), quick);
    }
    call.reply(b"done").unwrap();
    let reply = waiting.receive().unwrap();
    assert_eq!((reply.call(), reply.to_vec()), (deferred, b"done".to_vec()));
    drop(reply);
    server.stop();
}

/// Calls once more than the server's limit of two allows: with all in flight, and again when one
/// was replied to.
fn one_call_more_than_a_server_may_have_in_flight(options: ServerOptions) {
    let server = Deferring::start(options.session(patient()).max_calls_in_flight(2));
    let mut sessions = [connect(&server.folder), connect(&server.folder), connect(&server.folder)];
    let mut calls = Vec::new();
    for session in &mut sessions[..2] {
        session.send(DEFER, b"").unwrap();
        calls.push(server.next());
    }
    let [first, _, third] = &mut sessions;
    let error = third.call(DEFER, b"").map(drop).unwrap_err();
    assert!(matches!(error, CallError::Failed { code: ErrorCode::Overloaded, .. }), "{error:?}");
    assert!(!error.may_have_run(), "{error}");
    let said = "2 calls are in flight; the server's max_calls_in_flight allows no more";
    assert!(error.to_string().contains(said), "{error}");
    assert_eq!(server.monitor.stats().calls_refused, 1);
    calls.remove(0).reply(b"done").unwrap();
    assert_eq!(first.receive().unwrap().to_vec(), b"done");
    third.send(DEFER, b"").unwrap();
    calls.push(server.next());
    drop((calls, sessions));
    server.stop();
}

#[test]
fn call_beyond_max_in_flight_is_refused_and_never_runs() {
    one_call_more_than_a_server_may_have_in_flight(ServerOptions::new());
    one_call_more_than_a_server_may_have_in_flight(ServerOptions::new().offload(1));
}

#[test]
fn dropped_call_fails_with_its_reason() {
    let server = Deferring::with(patient());
    let mut session = connect(&server.folder);
    for _ in 0..3 {
        session.send(DEFER, b"").unwrap();
        drop(server.next());
        match session.receive().map(|reply| reply.to_vec()) {
            Err(CallError::Failed { code: ErrorCode::Failed, reason, .. }) => {
                assert_eq!(reason, "the server dropped the call without a reply");
            }
            other => panic!("{other:?}"),
        }
    }
    session.send(DEFER, b"").unwrap();
    server.next().fail(ErrorCode::Failed, "no such user").unwrap();
    match session.receive().map(|reply| reply.to_vec()) {
        Err(CallError::Failed { code: ErrorCode::Failed, reason, .. }) => {
            assert_eq!(reason, "no such user");
        }
        other => panic!("{other:?}"),
    }
    server.stop();
}

#[test]
fn a_reply_to_a_session_that_has_ended_is_an_error() {
    let (sender, ended) = channel();
    let sender = Mutex::new(sender);
    let options = ServerOptions::new().session(patient());
    let server = Deferring::start(
        options.on_session_end(move |id, _| sender.lock().unwrap().send(id).unwrap()),
    );
    let mut session = connect(&server.folder);
    for _ in 0..2 {
        session.send(DEFER, message(1, 5000)).unwrap();
    }
    let (one, other) = (server.next(), server.next());
    drop(session);
    assert_eq!(wait_for(&ended, PATIENCE).unwrap(), one.session());
    assert!(one.request().to_vec() == message(1, 5000), "a lent body stays behind its session");
    let outcome = one.reply(b"late");
    assert!(matches!(outcome, Err(ReplyError::SessionEnded)), "{outcome:?}");
    drop(other);
    assert_eq!(connect(&server.folder).call(ECHO, b"hello").unwrap().to_vec(), b"hello");
    server.stop();
}

#[test]
fn a_reply_above_the_cap_fails_the_call_by_name() {
    let server = Deferring::with(patient().cap(1 << 20));
    let mut session = connect(&server.folder);
    session.send(DEFER, b"").unwrap();
    let error = server.next().reply(vec![0; (1 << 20) + 1]).unwrap_err();
    assert!(matches!(error, ReplyError::TooLarge { .. }), "{error:?}");
    match session.receive().map(|reply| reply.to_vec()) {
        Err(CallError::Failed { code: ErrorCode::NoMemory, reason, .. }) => {
            assert!(reason.contains("cap of 1048576 bytes"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    server.stop();
}

/// A socket takes replies as long as its client reads, and has no other memory.
mod on_shm {
    use super::*;

    #[test]
    fn a_reply_that_finds_no_memory_waits_until_there_is_some() {
        const CAP: usize = 1 << 20;
        for policy in EVERY_POLICY {
            let server = Deferring::with(patient().wait(policy).cap(CAP as u64));
            let mut session = server.connect(SessionOptions::new().wait(policy));
            let mut sent: Vec<_> =
                (0..4).map(|number| (session.send(DEFER, b"").unwrap(), number)).collect();
            // Each takes most of the memory, which the client has to release before the next.
            // (While as many bytes as the cap wait, no further call is served.)
            let calls: Vec<_> = (0..4).map(|_| server.next()).collect();
            for (number, call) in (0..).zip(calls) {
                call.reply(message(number, CAP * 3 / 4)).unwrap();
            }
            // One that waits for memory may be overtaken by the next.
            while !sent.is_empty() {
                let reply = session.receive().unwrap();
                let answered = sent.iter().position(|&(call, _)| call == reply.call());
                let (_, number) = sent.remove(answered.expect("a call without a reply"));
                assert!(reply.to_vec() == message(number, CAP * 3 / 4), "{policy:?} {number}");
            }
            drop(session);
            server.stop();
        }
    }

    #[test]
    fn failure_without_memory_keeps_code_and_reasons_start() {
        const CAP: usize = 1 << 20;
        const CODE: ErrorCode = ErrorCode::Application(404);
        let server = Deferring::with(patient().cap(CAP as u64));
        let mut session = server.connect(SessionOptions::new());
        for _ in 0..2 {
            session.send(DEFER, b"").unwrap();
        }
        let (first, second) = (server.next(), server.next());
        first.reply(vec![7; CAP]).unwrap();
        // No memory is left for so long a reason, and none is waited for.
        second.fail(CODE, "r".repeat(1000)).unwrap();
        assert_eq!(session.receive().unwrap().to_vec(), [7; CAP]);
        match session.receive().map(|reply| reply.to_vec()) {
            Err(CallError::Failed { code: CODE, reason, .. }) => {
                assert_eq!(reason, "r".repeat(104))
            }
            other => panic!("{other:?}"),
        }
        drop(session);
        server.stop();
    }

    #[test]
    fn a_deferred_reply_waits_for_memory_no_longer_than_its_caller() {
        const CAP: usize = 1 << 20;
        const LEN: usize = CAP * 3 / 4;
        const CALLER: Duration = Duration::from_millis(20);
        let options = ServerOptions::new().session(patient().cap(CAP as u64));
        let server = Deferring::start(options.reply_timeout(Duration::from_secs(3600)));
        let mut session = connect(&server.folder);
        for timeout in [None, Some(CALLER)] {
            session.set_call_timeout(timeout);
            session.send(DEFER, b"").unwrap();
        }
        session.set_call_timeout(None);
        for number in 0..2 {
            server.next().reply(message(number, LEN)).unwrap();
        }
        // Long enough for the caller's time to pass.
        std::thread::sleep(10 * CALLER);
        assert_eq!(session.receive().unwrap().to_vec().len(), LEN);
        match session.receive().map(|reply| reply.to_vec().len()) {
            Err(CallError::Failed { code: ErrorCode::NoMemory, .. }) => {}
            other => panic!("{other:?}"),
        }
        server.stop();
    }

    #[test]
    fn a_reply_that_finds_no_memory_in_its_time_fails_its_call() {
        const CAP: usize = 1 << 20;
        const LEN: usize = CAP * 3 / 4;
        let options = ServerOptions::new().session(patient().cap(CAP as u64));
        let server = Deferring::start(options.reply_timeout(Duration::ZERO));
        let mut session = connect(&server.folder);
        for number in 0..2 {
            session.send(DEFER, b"").unwrap();
            server.next().reply(message(number, LEN)).unwrap();
        }
        // Replies go before requests, so once this one is taken the second reply was tried, while
        // the client holds the first.
        session.send(DEFER, b"").unwrap();
        server.next().reply(b"last").unwrap();
        assert_eq!(session.receive().unwrap().to_vec().len(), LEN);
        match session.receive().map(|reply| reply.to_vec().len()) {
            Err(CallError::Failed { code: ErrorCode::NoMemory, .. }) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(session.receive().unwrap().to_vec(), b"last");
        server.stop();
    }
}

#[test]
fn deferred_one_way_messages_stop_at_1024() {
    const MOST: usize = 1024;
    const ALL: u64 = 1200;
    let server = Deferring::with(patient());
    let mut session = server.connect(SessionOptions::new().ring_capacity(16));
    // One-way messages are not calls in flight, so only this limit bounds them.
    let posting = std::thread::spawn(move || {
        for number in 0..ALL {
            session.post(DEFER, message(number, 20)).unwrap();
        }
        session
    });
    let mut held: Vec<_> = (0..MOST).map(|_| server.next()).collect();
    let mut other = connect(&server.folder);
    for _ in 0..10 {
        assert_eq!(other.call(ECHO, b"x").unwrap().to_vec(), b"x");
    }
    assert!(server.calls.try_recv().is_err(), "{MOST} are held, and one more was taken");
    for number in 0..ALL {
        let call = if held.is_empty() { server.next() } else { held.remove(0) };
        assert!(call.is_one_way() && call.request().to_vec() == message(number, 20));
        call.done().unwrap();
    }
    drop(posting.join().unwrap());
    server.stop();
}

/// The role: makes one call of a plain session or of a shared one, and waits for ever.
fn call_and_wait(settings: &Settings) {
    let address: breezeway::Address = settings.get("address");
    if settings.find::<bool>("shared") == Some(true) {
        Session::connect_with(&address, &patient()).unwrap().call(DEFER, b"").map(drop).unwrap();
    } else {
        ExclusiveSession::connect_with(&address, &patient())
            .unwrap()
            .call(DEFER, b"")
            .map(drop)
            .unwrap();
    }
}

/// The kinds of servers: for plain sessions, for shared ones, and each with calls served elsewhere.
fn for_each_kind(test: impl Fn(Deferring, bool)) {
    for offload in [0, 1] {
        let options = || ServerOptions::new().session(patient()).offload(offload);
        test(Deferring::start(options()), false);
        test(Deferring::with_streams(options()), true);
    }
}

#[test]
fn deferred_call_has_its_clients_time_left() {
    const HOUR: Duration = Duration::from_secs(3600);
    for_each_kind(|server, shared| {
        let waits_at_most = |options: SessionOptions, time: Option<Duration>| {
            let mut plain = None;
            let channel;
            if shared {
                let address = server.folder.address();
                channel = Session::connect_with(&address, &options.handshake_timeout(PATIENCE));
                let channel = channel.unwrap();
                let calling = std::thread::spawn(move || channel.call(DEFER, b"").map(drop));
                let call = server.next();
                check(call, time);
                return calling.join().unwrap().unwrap();
            }
            let session = plain.insert(server.connect(options));
            session.send(DEFER, b"").unwrap();
            check(server.next(), time);
            session.receive().map(drop).unwrap();
        };
        fn check(call: OwnedCall, time: Option<Duration>) {
            let left = call.time_left();
            assert_eq!(left.is_some(), time.is_some());
            // An entry holds the time rounded up.
            assert!(left <= call.patience(), "{left:?}");
            assert!(left.is_none_or(|left| left > HOUR / 2), "{left:?}");
            assert!(!call.is_cancelled());
            call.done().unwrap();
        }
        waits_at_most(SessionOptions::new(), None);
        waits_at_most(SessionOptions::new().call_timeout(Some(HOUR)), Some(HOUR));
        server.stop();
    });
}

#[test]
fn deferred_call_past_deadline_is_cancelled() {
    const BRIEFLY: Duration = Duration::from_millis(20);
    for_each_kind(|server, shared| {
        let options = patient().call_timeout(Some(BRIEFLY));
        let error = if shared {
            Session::connect_with(server.folder.address(), &options).unwrap().call(DEFER, b"")
        } else {
            let mut session = server.connect(options);
            session.call(DEFER, b"").map(|reply| reply.into_message())
        };
        assert!(matches!(error, Err(CallError::DeadlinePassed)), "{error:?}");
        let call = server.next();
        eventually("the time is over", || call.is_cancelled());
        assert!(call.time_left().is_some_and(|left| left < BRIEFLY));
        server.stop();
    });
}

#[test]
fn deferred_call_of_ended_session_is_cancelled() {
    for_each_kind(|server, shared| {
        for is_killed in [false, true] {
            if is_killed {
                let settings = Settings::new().with("address", server.folder.address());
                let settings = settings.with("shared", shared);
                let mut client = Process::start("client that waits", &settings);
                let call = server.next();
                assert!(!call.is_cancelled() && call.time_left().is_none());
                client.kill();
                eventually("the client is gone", || call.is_cancelled());
            } else if shared {
                let channel = Session::connect_with(server.folder.address(), &patient()).unwrap();
                let cx = &mut Context::from_waker(Waker::noop());
                let Poll::Ready(pending) = channel.poll_start_call(cx, DEFER, None, b"", None)
                else {
                    panic!("there is room")
                };
                let call = server.next();
                assert!(!call.is_cancelled());
                drop((channel, pending));
                eventually("the session is over", || call.is_cancelled());
            } else {
                let mut session = server.connect(SessionOptions::new());
                session.send(DEFER, b"").unwrap();
                let call = server.next();
                assert!(!call.is_cancelled());
                drop(session);
                eventually("the session is over", || call.is_cancelled());
            }
        }
        server.stop();
    });
}

#[test]
fn deferred_call_sees_cancel_on_shared_session() {
    for offload in [0, 1] {
        let options = ServerOptions::new().session(patient()).offload(offload);
        let server = Deferring::with_streams(options);
        let channel = Session::connect_with(server.folder.address(), &patient()).unwrap();
        let cx = &mut Context::from_waker(Waker::noop());
        let start = channel.poll_start_call(cx, DEFER, None, b"", None);
        let Poll::Ready(Ok(given_up)) = start else { panic!("there is room") };
        let call = server.next();
        assert!(!call.is_cancelled() && call.time_left().is_none());
        drop(given_up);
        eventually("it is given up", || call.is_cancelled());
        assert_eq!(channel.call(ECHO, b"x").unwrap().to_vec(), b"x");
        server.stop();
    }
}

#[test]
fn a_handler_sees_that_the_time_of_its_client_is_over() {
    const BRIEFLY: Duration = Duration::from_millis(20);
    for_each_kind(|server, shared| {
        let options = patient().call_timeout(Some(BRIEFLY));
        let outcome = if shared {
            let channel = Session::connect_with(server.folder.address(), &options).unwrap();
            channel.call(UNTIL_CANCELLED, b"").map(drop)
        } else {
            server.connect(options).call(UNTIL_CANCELLED, b"").map(drop)
        };
        assert!(matches!(outcome, Err(CallError::DeadlinePassed)), "{outcome:?}");
        let call = server.next();
        eventually("of a deferred call too", || call.is_cancelled());
        server.stop();
    });
}

#[test]
fn deferred_reply_soon_after_the_stop_arrives() {
    let server = Deferring::with(patient());
    let mut session = connect(&server.folder);
    session.send(DEFER, b"").unwrap();
    let call = server.next();
    server.stopper.stop();
    call.reply(b"just in time").unwrap();
    assert_eq!(session.receive().unwrap().to_vec(), b"just in time");
    server.stop();
}

#[test]
fn a_reply_reaches_a_sleeping_client_before_the_handler_returns() {
    let folder = Folder::new();
    let options = ServerOptions::new().session(patient().wait(WaitPolicy::Park));
    let server = Server::bind_with(folder.address(), options).unwrap();
    let stopper = server.stopper();
    let (sender, received) = channel();
    let received = Mutex::new(received);
    let serving = std::thread::spawn(move || {
        server.serve(move |call: Call<'_>| {
            let replied = call.reply(b"at once")?;
            wait_for(&received.lock().unwrap(), PATIENCE).expect("the client has the reply");
            Ok(replied)
        })
    });
    let mut session =
        ExclusiveSession::connect_with(folder.address(), &patient().wait(WaitPolicy::Park))
            .unwrap();
    for _ in 0..10 {
        assert_eq!(session.call(0, b"").unwrap().to_vec(), b"at once");
        sender.send(()).unwrap();
    }
    stopper.stop();
    within(PATIENCE, "the end", move || serving.join().unwrap().unwrap());
}

// ---- sessions that are served on their own ----

/// Serves a session with a thread that defers.
fn served_alone(session: ExclusiveServerSession) -> (JoinHandle<()>, Receiver<OwnedCall>) {
    let (sender, calls) = channel();
    let sender = Mutex::new(sender);
    let handler = move |call: Call<'_>| defer_to(&sender, call);
    (std::thread::spawn(move || session.serve(&handler).unwrap()), calls)
}

/// A reply wakes the server, and the next call is again the last one that it takes.
#[test]
fn session_full_of_deferred_calls_makes_no_system_calls() {
    const WINDOW: Duration = Duration::from_secs(1);
    /// A wake every 10 ms would make a hundred.
    const MAX_SWITCHES: u64 = 20;
    for policy in [WaitPolicy::Park, WaitPolicy::Adaptive] {
        let (mut session, server) = ExclusiveSession::pair(&patient().wait(policy)).unwrap();
        let (sender, threads) = channel();
        let (calls_sender, calls) = channel();
        let serving = std::thread::spawn(move || {
            sender.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            let calls = Mutex::new(calls_sender);
            server.serve(&move |call: Call<'_>| defer_to(&calls, call)).unwrap();
        });
        let thread = wait_for(&threads, PATIENCE).unwrap();
        let defer_one = |session: &mut ExclusiveSession| {
            session.send(DEFER, b"").unwrap();
            wait_for(&calls, PATIENCE).unwrap()
        };
        let most = session.max_in_flight();
        let mut held: Vec<_> = (0..most).map(|_| defer_one(&mut session)).collect();
        held.remove(0).done().unwrap();
        drop(session.receive().unwrap());
        held.push(defer_one(&mut session));
        let before = observe::switches(std::process::id(), thread);
        std::thread::sleep(WINDOW);
        let switches = observe::switches(std::process::id(), thread) - before;
        assert!(switches < MAX_SWITCHES, "{policy:?}: {switches} switches in {WINDOW:?}");
        drop(held);
        drop(session);
        serving.join().unwrap();
    }
}

#[test]
fn a_session_that_is_served_on_its_own_defers_as_well() {
    for policy in EVERY_POLICY {
        let (mut session, server) = ExclusiveSession::pair(&patient().wait(policy)).unwrap();
        let (serving, calls) = served_alone(server);
        let kept: Arc<Mutex<Vec<OwnedCall>>> = Arc::default();
        for number in 0..50 {
            let deferred = session.send(DEFER, message(number, 300)).unwrap();
            let call = wait_for(&calls, PATIENCE).unwrap();
            let quick = session.send(ECHO, b"quick").unwrap();
            let reply = session.receive().unwrap();
            assert_eq!(reply.call(), quick);
            drop(reply);
            kept.lock().unwrap().push(call);
            let kept = Arc::clone(&kept);
            let replying = std::thread::spawn(move || {
                let call = kept.lock().unwrap().pop().unwrap();
                call.echo().unwrap();
            });
            let reply = session.receive().unwrap();
            assert_eq!(reply.call(), deferred);
            assert!(reply.to_vec() == message(number, 300));
            drop(reply);
            replying.join().unwrap();
        }
        drop(session);
        within(PATIENCE, "the end", move || serving.join().unwrap());
    }
}

/// The role: replies to a deferred call in a forked child, which must be refused, and in this
/// process.
fn reply_in_a_forked_child(_: &Settings) {
    let (mut session, server) = ExclusiveSession::pair(&patient()).unwrap();
    let (serving, calls) = served_alone(server);
    for drops in [false, true] {
        session.send(DEFER, b"").unwrap();
        let mut call = Some(wait_for(&calls, PATIENCE).unwrap());
        let child = in_forked_child(|| {
            let call = call.take().unwrap();
            if drops {
                drop(call);
                return 0;
            }
            i32::from(!matches!(call.reply(b"child"), Err(ReplyError::Forked)))
        });
        assert_eq!(child, Ok(0));
        call.take().unwrap().reply(b"parent").unwrap();
        assert_eq!(session.receive().unwrap().to_vec(), b"parent");
    }
    drop(session);
    serving.join().unwrap();
}

#[test]
fn a_forked_child_cannot_reply_and_its_parent_can() {
    Process::start("deferring forker", &Settings::new()).succeeds();
}
