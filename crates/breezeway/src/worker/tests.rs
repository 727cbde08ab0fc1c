mod hand_over;
mod socket_events;

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use breezeway_adversary::native::layout::{control, flag, kind};
use breezeway_adversary::native::{Entry, Peer, Terms, frame};
use breezeway_adversary::{Connection, Shared, socket};

use breezeway_os::{WaitPolicy, segment};

use super::waiting::ROUNDS_PER_TICK;
use super::*;
use crate::call::{Call, Handled};
use crate::carrier::Notice;
use crate::exclusive_server::ExclusiveServerSession;
use crate::options::SessionOptions;

/// Tokens of the sessions, in the order of their addition.
const CHURNING: usize = 0;
const HONEST: usize = 1;

fn echo(call: Call<'_>) -> Handled {
    let request = call.request().to_vec();
    call.reply(&request)
}

fn worker(options: &SessionOptions) -> Worker {
    let inbox = Arc::new(Inbox::new().unwrap());
    Worker::new(options.waiting(), Hooks::default(), inbox).unwrap()
}

/// Creates a session and its client.
fn session(options: &SessionOptions) -> (ExclusiveServerSession, Peer) {
    session_of(options, Terms::default())
}

/// Creates a session and a client with these terms in its hello.
fn session_of(options: &SessionOptions, terms: Terms) -> (ExclusiveServerSession, Peer) {
    let (client, server) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let serving =
            scope.spawn(|| ExclusiveServerSession::from_socket(server.into(), options).unwrap());
        let peer = Peer::client(client.into(), terms);
        (serving.join().unwrap(), peer)
    })
}

/// Keeps the ring of a client from running empty: adds segments that are retired at once.
fn stay_ahead(peer: &mut Peer, segment: &Shared) {
    while peer.ring.tail - peer.view.load(control::CONSUMED_AT) < 4 {
        let number = (peer.ring.tail / 2) as u32;
        socket::send(&peer.socket, &[1], &[segment.fd.as_fd()]).unwrap();
        peer.publish_silently(&Entry::segment_add(number, 4096));
        peer.publish_silently(&Entry::segment_retire(number));
    }
}

/// Returns true if an armed session with a doorbell is served within `steps` steps of the worker
/// once it is time to listen, while another one has an entry about a segment at each of them.
fn serves_beside_churn(wait: WaitPolicy, steps: u32) -> bool {
    let options = SessionOptions::new().wait(wait);
    let mut worker = worker(&options);
    let (churned, mut churning) = session(&options);
    let (served, mut honest) = session(&options);
    worker.start(churned);
    worker.start(served);
    assert!(worker.arm(HONEST), "nothing was asked of it yet");
    // Removes reports left by the hellos, which must not wake it below.
    worker.listened = clock::ticks();
    worker.sleeper.wait(Some(Duration::ZERO)).unwrap();
    let segment = Shared::fit(4096);
    stay_ahead(&mut churning, &segment);
    honest.publish(&Entry::request(1, 0, b"x"));
    worker.listened = clock::ticks().wrapping_sub(clock::ticks_in(LISTEN_EVERY));
    for _ in 0..steps {
        stay_ahead(&mut churning, &segment);
        worker.step(&echo).unwrap();
        assert!(worker.slots[CHURNING].as_ref().is_some_and(|slot| slot.active), "{wait:?}");
        if honest.view.try_next().is_some() {
            return true;
        }
    }
    false
}

#[test]
fn a_worker_that_can_never_arm_a_session_listens_for_the_others() {
    // Park listens in its first step. The others do with their next reading of the clock.
    for (wait, steps) in [
        (WaitPolicy::Park, 2),
        (WaitPolicy::Adaptive, ROUNDS_PER_TICK + 1),
        (WaitPolicy::Busy, ROUNDS_PER_TICK + 1),
    ] {
        assert!(serves_beside_churn(wait, steps), "{wait:?}: not served in {steps} steps");
    }
}

#[test]
fn no_kind_of_entry_gives_a_session_more_than_its_slice() {
    let one_way = |number| {
        let mut entry = Entry::request(2 * number + 1, 0, b"x");
        entry.flags |= flag::NO_REPLY;
        entry
    };
    let kinds: [(&str, &dyn Fn(u32) -> Entry); 5] = [
        ("requests", &|number| Entry::request(2 * number + 1, 0, b"x")),
        ("one-way messages", &one_way),
        ("cancels", &|number| Entry {
            stream: 2 * number + 1,
            ..Entry::session(kind::CANCEL, 0, &[])
        }),
        ("segments", &|number| Entry::segment_add(number, 4096)),
        ("segments that come and go", &|number| match number % 2 {
            0 => Entry::segment_add(number / 2, 4096),
            _ => Entry::segment_retire(number / 2),
        }),
    ];
    for (name, entry) in kinds {
        let (mut session, mut peer) = session(&SessionOptions::new());
        let segment = Shared::fit(4096);
        for number in 0..8 {
            peer.send_segment(&segment.fd);
            peer.publish_silently(&entry(number));
        }
        for taken in 1..=8 {
            // The peer waits for its progress, so it is notified at once.
            peer.ring.shared.store(control::SPACE_WAKE_AT, taken - 1);
            // A slice that is over when it begins.
            session.serve_some(&echo, 1, &mut Slice::new(0, 0)).unwrap();
            assert_eq!(peer.view.load(control::CONSUMED_AT), taken, "{name}");
        }
    }
}

/// Mapping 64 MiB at once takes as long as 40 slices.
#[test]
fn large_segment_is_mapped_over_many_turns() {
    const LARGE: usize = 32 << 20;
    let options = SessionOptions::new().wait(WaitPolicy::Busy);
    let mut worker = worker(&options);
    let (growing, mut hostile) = session(&options);
    let (served, mut honest) = session(&options);
    worker.start(growing);
    worker.start(served);
    let segment = Shared::fit(LARGE);
    hostile.send_segment(&segment.fd);
    hostile.publish(&Entry::segment_add(0, LARGE as u64));
    hostile.publish(&Entry::request(1, 0, b"behind it"));
    let mut served = 0;
    while hostile.view.try_next().is_none() {
        honest.publish(&Entry::request(2 * served + 1, 0, b"x"));
        // Takes round by round, except a step that listens or ends with news.
        let comes = (0..4).any(|_| {
            worker.step(&echo).unwrap();
            honest.view.try_next().is_some()
        });
        assert!(comes, "after {served} calls beside the segment");
        served += 1;
    }
    assert!(served as usize >= LARGE / segment::PIECE / 4, "{served} calls");
}

/// Request body of the busy session.
const OF_BUSY: &[u8] = b"busy";
const OF_ARMED: &[u8] = b"armed";

/// Returns the order in which requests are served when one of them arrives, on an armed session,
/// while the first of many of a busy session is served and its handler takes longer than a slice.
fn served_beside_slow_handler(wait: WaitPolicy) -> Vec<Vec<u8>> {
    let options = SessionOptions::new().wait(wait);
    let mut worker = worker(&options);
    let (busy, mut busy_peer) = session(&options);
    let (armed, armed_peer) = session(&options);
    worker.start(busy);
    worker.start(armed);
    assert!(worker.arm(1), "nothing was asked of it yet");
    // Removes reports left by the hellos, which must not wake it below.
    worker.sleeper.wait(Some(Duration::ZERO)).unwrap();
    for number in 0..20 {
        busy_peer.publish(&Entry::request(2 * number + 1, 0, OF_BUSY));
    }
    let peer = Mutex::new(armed_peer);
    let served = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&served);
    let handler = move |call: Call<'_>| {
        let mut served = record.lock().unwrap();
        if served.is_empty() {
            peer.lock().unwrap().publish(&Entry::request(1, 0, OF_ARMED));
            let start = clock::ticks();
            while clock::ticks() - start < clock::ticks_in(2 * LISTEN_EVERY) {}
        }
        served.push(call.request().to_vec());
        call.done()
    };
    while served.lock().unwrap().len() < 21 {
        worker.step(&handler).unwrap();
    }
    let served = served.lock().unwrap();
    served.clone()
}

#[test]
fn ringing_session_is_served_after_the_slow_handler() {
    for wait in [WaitPolicy::Busy, WaitPolicy::Adaptive, WaitPolicy::Park] {
        let served = served_beside_slow_handler(wait);
        assert_eq!(served[..2], [OF_BUSY, OF_ARMED], "{wait:?}");
    }
}

#[test]
fn slow_requests_of_active_sessions_are_served_in_turn() {
    let options = SessionOptions::new();
    let mut worker = worker(&options);
    let mut peers = Vec::new();
    for _ in 0..3 {
        let (session, peer) = session(&options);
        worker.start(session);
        peers.push(peer);
    }
    for peer in &mut peers {
        for number in 0..10 {
            peer.publish(&Entry::request(2 * number + 1, 0, b""));
        }
    }
    let served = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&served);
    let handler = move |call: Call<'_>| {
        let start = clock::ticks();
        while clock::ticks() - start < clock::ticks_in(2 * SLICE) {}
        record.lock().unwrap().push(call.session());
        call.done()
    };
    while served.lock().unwrap().len() < 30 {
        worker.step(&handler).unwrap();
    }
    let served = served.lock().unwrap();
    for round in served.chunks(3) {
        let mut sessions = round.to_vec();
        sessions.sort();
        sessions.dedup();
        assert_eq!(sessions.len(), 3, "each once in {round:?}");
    }
}

/// Returns the number of 20 requests that are served if the server is stopped in the third.
fn served_of_those_that_had_come(drain: Duration) -> usize {
    let options = SessionOptions::new();
    let mut worker = worker(&options);
    let (session, mut peer) = session(&options);
    worker.start(session);
    for number in 0..20 {
        peer.publish(&Entry::request(2 * number + 1, 0, b""));
    }
    let inbox = Arc::clone(&worker.inbox);
    let served = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&served);
    let handler = move |call: Call<'_>| {
        if count.fetch_add(1, Ordering::Relaxed) == 2 {
            inbox.stop();
        }
        call.done()
    };
    worker.run(&handler, drain).unwrap();
    served.load(Ordering::Relaxed)
}

/// The message that stops the server before it is replied to.
const STOPS: &[u8] = b"stops";

/// Replies with the request; the one that stops the server does so first.
fn echo_or_stop(inbox: &Arc<Inbox>) -> impl Handler {
    let inbox = Arc::clone(inbox);
    move |call: Call<'_>| {
        if call.request().to_vec() == STOPS {
            inbox.stop();
        }
        echo(call)
    }
}

#[test]
fn call_behind_segment_is_served_within_drain_time() {
    const LARGE: usize = 4 << 20;
    let options = SessionOptions::new();
    let mut worker = worker(&options);
    let (first, mut stopping) = session(&options);
    let (second, mut growing) = session(&options);
    worker.start(first);
    worker.start(second);
    stopping.publish(&Entry::request(1, 0, STOPS));
    let segment = Shared::fit(LARGE);
    growing.send_segment(&segment.fd);
    growing.publish(&Entry::segment_add(0, LARGE as u64));
    growing.publish(&Entry::request(1, 0, b"behind it"));
    let handler = echo_or_stop(&worker.inbox);
    worker.run(&handler, Duration::from_secs(20)).unwrap();
    let kind = growing.view.try_next().map(|seen| seen.kind());
    assert_eq!(kind, Some(kind::MESSAGE), "a reply");
}

#[test]
fn unwritten_replies_do_not_end_the_drain() {
    // With the first call one less than the agreed 32 in flight.
    const CALLS: u32 = 30;
    const LARGE: usize = 400_000;
    let options = SessionOptions::new();
    let mut worker = worker(&options);
    let (client, server) = UnixStream::pair().unwrap();
    let (sender, served) = std::sync::mpsc::channel();
    let mut replies = Vec::new();
    thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let mut peer = Connection::Unix(client);
            frame::greet(&mut peer, 64 << 20);
            let mut all = frame::request(1, 0, STOPS);
            for number in 1..=CALLS {
                all.extend(frame::request(2 * number + 1, 0, b"x"));
            }
            peer.write_all(&all).unwrap();
            // Reads nothing before the socket has no room for the first reply.
            served.recv().unwrap();
            while let Some((header, _)) = frame::next(&mut peer).unwrap() {
                if header.kind == kind::MESSAGE {
                    replies.push(header.stream);
                }
            }
            replies
        });
        let peer = breezeway_os::Peer::of(&server).unwrap();
        let agreed = crate::handshake::accept(
            std::os::fd::OwnedFd::from(server),
            crate::Carrier::Unix,
            &options.for_plain_calls(),
        );
        worker.start(ExclusiveServerSession::new(agreed.unwrap(), peer, options.waiting()));
        let (other, mut behind) = session(&options);
        worker.start(other);
        behind.publish(&Entry::request(1, 0, b"tells"));
        let inbox = Arc::clone(&worker.inbox);
        let handler = move |call: Call<'_>| match &call.request().to_vec()[..] {
            STOPS => {
                inbox.stop();
                echo(call)
            }
            b"tells" => {
                sender.send(()).unwrap();
                echo(call)
            }
            _ => call.reply([7; LARGE]),
        };
        worker.run(&handler, Duration::from_secs(20)).unwrap();
        assert_eq!(reading.join().unwrap().len(), CALLS as usize + 1);
    });
}

#[test]
fn messages_behind_deferred_calls_are_drained() {
    const CAP: usize = 4096;
    /// Number of one-way messages that fill the cap while they are deferred.
    const FULL: usize = CAP.div_ceil(BODY.len());
    const ALL: usize = FULL + 3;
    const BODY: [u8; 100] = [7; 100];
    let options = SessionOptions::new().cap(CAP as u64);
    let mut worker = worker(&options);
    let terms = Terms { payload_cap: CAP as u64, ..Terms::default() };
    let (session, mut peer) = session_of(&options, terms);
    worker.start(session);
    let (sender, deferred) = std::sync::mpsc::channel::<crate::OwnedCall>();
    let inbox = Arc::clone(&worker.inbox);
    let replying = thread::spawn(move || {
        for number in 0..ALL as u32 {
            let mut entry = Entry::request(2 * number + 1, 0, &BODY);
            entry.flags |= flag::NO_REPLY;
            peer.publish(&entry);
            if (number + 1).is_multiple_of(32) {
                peer.wait_consumed(peer.ring.tail);
            }
        }
        // After these, no message is taken before one of them is done.
        let first: Vec<_> = deferred.iter().take(FULL).collect();
        assert!(deferred.try_recv().is_err(), "more than the cap is deferred");
        inbox.stop();
        first.into_iter().chain(deferred.iter()).map(|call| call.done().unwrap()).count()
    });
    let handler = move |call: Call<'_>| {
        let (call, later) = call.defer().unwrap();
        sender.send(call).unwrap();
        Ok(later)
    };
    worker.run(&handler, Duration::from_secs(20)).unwrap();
    drop(handler);
    assert_eq!(replying.join().unwrap(), ALL);
}

#[test]
fn session_arriving_at_the_stop_is_drained() {
    let options = SessionOptions::new();
    let inbox = Arc::new(Inbox::new().unwrap());
    let (first, _idle) = session(&options);
    let (late, mut late_peer) = session(&options);
    late_peer.publish(&Entry::request(1, 0, b"x"));
    let late = Mutex::new(Some(late));
    let delivering = Arc::clone(&inbox);
    let on_start = move |_: crate::SessionId, _: &breezeway_os::Peer| {
        if let Some(late) = late.lock().unwrap().take() {
            delivering.deliver(late);
            delivering.stop();
        }
    };
    let hooks = Hooks { on_start: Some(Arc::new(on_start)), ..Hooks::default() };
    let worker = Worker::new(options.waiting(), hooks, Arc::clone(&inbox)).unwrap();
    inbox.deliver(first);
    worker.run(&echo, Duration::from_secs(20)).unwrap();
    let kind = late_peer.view.try_next().map(|seen| seen.kind());
    assert_eq!(kind, Some(kind::MESSAGE), "a reply");
}

/// Creates a session that takes streams, and its client.
fn shared_session(options: &SessionOptions) -> (ExclusiveServerSession, crate::Session) {
    let options = &options.clone().handshake_timeout(Duration::from_secs(20));
    shared_session_with(options, |socket| crate::Session::from_socket(socket, options).unwrap())
}

/// Creates a session that takes streams, and its client by `connect`.
fn shared_session_with<C>(
    options: &SessionOptions,
    connect: impl FnOnce(OwnedFd) -> C,
) -> (ExclusiveServerSession, C) {
    let (client, server) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let peer = breezeway_os::Peer::of(&server).unwrap();
        let serving = scope.spawn(|| {
            crate::handshake::accept(OwnedFd::from(server), crate::Carrier::Shm, options).unwrap()
        });
        let client = connect(client.into());
        let threads = Arc::new(crate::stream_threads::StreamThreads::new(1, |_, _| Ok(())));
        let agreed = serving.join().unwrap();
        (ExclusiveServerSession::with_streams(agreed, peer, options.waiting(), threads), client)
    })
}

#[test]
fn worker_does_not_wait_for_a_locked_session() {
    let options = SessionOptions::new().wait(WaitPolicy::Busy);
    let mut worker = worker(&options);
    let (rung, channel) = shared_session(&options);
    let (other, mut peer) = session(&options);
    let lock = rung.locked();
    worker.start(rung);
    worker.start(other);
    worker.step(&echo).unwrap();
    thread::scope(|scope| {
        let (sender, is_locked) = std::sync::mpsc::channel();
        let (done, is_done) = std::sync::mpsc::channel();
        let holding = scope.spawn(move || {
            lock(&mut || {
                sender.send(()).unwrap();
                is_done.recv_timeout(Duration::from_secs(10)).is_ok()
            })
        });
        is_locked.recv().unwrap();
        // Its doorbell rings while the lock is held.
        channel.post(0, b"x").unwrap();
        worker.step(&echo).unwrap();
        worker.hear(0, Notice::Readable);
        for _ in 0..8 {
            worker.step(&echo).unwrap();
        }
        peer.publish(&Entry::request(1, 0, b"x"));
        let mut steps = 0;
        while peer.view.try_next().is_none() && steps < 1000 {
            worker.step(&echo).unwrap();
            steps += 1;
        }
        // The worker may have ended.
        let _ = done.send(());
        assert!(holding.join().unwrap(), "no session is served before the lock is released");
    });
}

#[test]
fn call_behind_large_segment_is_refused_after_drain_time() {
    const LARGE: usize = 40 << 20;
    let (mut session, channel) = shared_session(&SessionOptions::new());
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let mut call = match channel.poll_start_call(&mut cx, 0, None, &vec![7; LARGE], None) {
        std::task::Poll::Ready(call) => call.unwrap(),
        std::task::Poll::Pending => panic!("there is room for it"),
    };
    assert_eq!(session.refuse_the_rest(|| ()).calls_refused, 1);
    drop(session);
    // Takes a turn, which takes the refusal, or the end.
    channel.is_going_away();
    let answer = std::future::Future::poll(std::pin::Pin::new(&mut call), &mut cx);
    let std::task::Poll::Ready(Err(error)) = answer else { panic!("{answer:?}") };
    assert!(!error.may_have_run(), "{error}");
}

#[test]
fn a_stop_is_seen_between_two_requests() {
    // Slices may end anywhere; the stop ends all of them.
    assert_eq!(served_of_those_that_had_come(Duration::ZERO), 3);
}

#[test]
fn calls_before_the_stop_are_served_within_drain_time() {
    assert_eq!(served_of_those_that_had_come(Duration::from_secs(20)), 20);
}

/// Creates two workers of a server, the first of them slow not long before, and their guard.
fn guarded(options: &SessionOptions) -> (Guard, Worker, Worker) {
    let mut guard = Guard::new().unwrap();
    let [mut slow, mut free] = [worker(options), worker(options)];
    slow.guarded_by(&mut guard).unwrap();
    free.guarded_by(&mut guard).unwrap();
    let now = clock::ticks();
    slow.watch.as_mut().unwrap().was_slow(&slow.sleeper, now).unwrap();
    (guard, slow, free)
}

#[test]
fn pending_delivery_does_not_postpone_listening() {
    let mut worker = worker(&SessionOptions::new().wait(WaitPolicy::Adaptive));
    worker.listened = 0;
    worker.inbox.flag().announce();
    worker.sleep().unwrap();
    assert_eq!(worker.listened, 0);
}

#[test]
fn session_of_a_blocked_worker_is_served_by_a_free_one() {
    for wait in [WaitPolicy::Busy, WaitPolicy::Adaptive, WaitPolicy::Park] {
        let options = SessionOptions::new().wait(wait);
        let (guard, mut slow, mut free) = guarded(&options);
        let (blocking, mut blocking_peer) = session(&options);
        let (armed, armed_peer) = session(&options);
        slow.start(blocking);
        slow.start(armed);
        assert!(slow.arm(1), "nothing was asked of it yet");
        slow.sleeper.wait(Some(Duration::ZERO)).unwrap();
        slow.listened = clock::ticks();
        blocking_peer.publish(&Entry::request(1, 0, b"blocks until the other is served"));
        let stop = guard.stopper();
        let free_inbox = Arc::clone(&free.inbox);
        thread::scope(|scope| {
            let guarding = scope.spawn(|| guard.run().unwrap());
            let serving = scope.spawn(move || {
                while !free.take_inbox() {
                    free.step(&echo).unwrap();
                }
            });
            let peer = Mutex::new(armed_peer);
            let handler = move |call: Call<'_>| {
                let mut peer = peer.lock().unwrap();
                peer.publish(&Entry::request(1, 0, b"x"));
                let end = Deadline::after(Duration::from_secs(10));
                while peer.view.try_next().is_none() {
                    assert!(!end.has_passed(), "no other worker serves it");
                    thread::yield_now();
                }
                call.done()
            };
            while blocking_peer.view.try_next().is_none() {
                slow.step(&handler).unwrap();
            }
            assert_eq!(free_inbox.sessions(), 1, "{wait:?}: no other worker has served it");
            stop.notify();
            guarding.join().unwrap();
            free_inbox.stop();
            serving.join().unwrap();
        });
    }
}

#[test]
fn a_worker_that_is_gone_has_ended_its_armed_sessions() {
    let options = SessionOptions::new().wait(WaitPolicy::Park);
    let (_guard, mut worker, _free) = guarded(&options);
    let (session, peer) = session(&options);
    worker.start(session);
    assert!(worker.arm(0), "nothing was asked of it yet");
    drop(worker);
    peer.wait_for_end();
}

#[test]
fn sessions_that_stay_active_take_no_lock() {
    let options = SessionOptions::new().wait(WaitPolicy::Busy);
    let mut worker = worker(&options);
    worker.guarded_by(&mut Guard::new().unwrap()).unwrap();
    // Independent of the machine's pauses.
    (worker.times.active, worker.times.slow) = (u64::MAX, u64::MAX);
    let mut peers = Vec::new();
    for _ in 0..2 {
        let (session, peer) = session(&options);
        worker.start(session);
        peers.push(peer);
    }
    let before = crate::wake::locks();
    for number in 0..1_000 {
        for peer in &mut peers {
            peer.publish_silently(&Entry::request(2 * number + 1, 0, b"x"));
        }
        worker.step(&echo).unwrap();
        for peer in &mut peers {
            assert!(peer.view.try_next().is_some(), "served in each round");
            peer.consume();
        }
    }
    assert_eq!(crate::wake::locks() - before, 0);
    assert!(worker.arm(0));
    assert_eq!(crate::wake::locks() - before, 1, "the count counts");
}

#[test]
fn session_with_pending_replies_is_polled_again() {
    const PART: usize = 64 << 10;
    let options = SessionOptions::new().wait(WaitPolicy::Park).cap(4 * PART as u64);
    let (_guard, mut slow, _free) = guarded(&options);
    let (session, channel) = shared_session(&options);
    slow.start(session);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let mut calls = Vec::new();
    for _ in 0..8 {
        match channel.poll_start_call(&mut cx, 0, None, b"x", None) {
            std::task::Poll::Ready(call) => calls.push(call.unwrap()),
            std::task::Poll::Pending => panic!("there is room for it"),
        }
    }
    let handler = |call: Call<'_>| call.reply([7; PART]);
    let end = Deadline::after(Duration::from_secs(10));
    while !slow.arm(0) {
        slow.step(&handler).unwrap();
        assert!(!end.has_passed(), "it is never idle");
    }
    assert!(slow.slots[0].is_some(), "no worker checks it again");
    slow.resume = Deadline::after(Duration::ZERO);
    while slow.active.is_empty() {
        slow.resume_paused();
        assert!(!end.has_passed(), "it is not looked at");
    }
    drop(calls);
}

#[test]
fn messages_of_gone_client_are_counted_after_drain_time() {
    let (mut session, channel) = shared_session(&SessionOptions::new());
    for _ in 0..3 {
        channel.post(0, b"x").unwrap();
    }
    drop(channel);
    assert_eq!(session.refuse_the_rest(|| ()).messages_lost, 3);
}
