//! loom models of how a worker is woken, how its armed sessions are taken over, and how threads
//! signal a worker; and of mutants of that which must fail.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p breezeway --profile model --test model --target-dir
//! target/loom`
//!
//! [`WakeFlag`], [`Armed`] and [`Signal`] are the shipped code. The eventfd is a [`Notify`], and
//! the worker's loop takes its steps in the same order. The deliveries are a plain cell behind a
//! lock in the shipped code; here they are an atomic that is only ever read after the flag was
//! taken, as full fences order plain cells more strictly in the checker than the language does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Mutex, Notify};
use loom::thread;

use super::armed::Armed;
use super::flag::WakeFlag;
use super::mutants::without;
use super::signal::Signal;
use super::sync::Site;

struct Shared {
    news: WakeFlag,
    /// Number of things that were left for the worker.
    left: AtomicUsize,
    eventfd: Notify,
}

/// Leaves one thing for the worker.
fn leave(shared: &Shared) {
    shared.left.fetch_add(1, Ordering::Relaxed);
    if shared.news.announce() {
        shared.eventfd.notify();
    }
}

/// Runs the worker until it has found `count` things.
fn work(shared: &Shared, count: usize) {
    let mut found = 0;
    while found < count {
        if shared.news.take() {
            found += shared.left.swap(0, Ordering::Relaxed);
            continue;
        }
        if shared.news.sleep() {
            shared.eventfd.wait();
        }
        shared.news.wake();
    }
}

/// A worker that sleeps whenever it finds nothing finds all that others leave.
fn worker_finds_what(others: usize) {
    let shared = Arc::new(Shared {
        news: WakeFlag::default(),
        left: AtomicUsize::new(0),
        eventfd: Notify::new(),
    });
    let leaving: Vec<_> = (0..others)
        .map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || leave(&shared))
        })
        .collect();
    work(&shared, others);
    for thread in leaving {
        thread.join().unwrap();
    }
}

/// Checks every schedule with at most two preemptions: all schedules would take minutes.
fn bounded(model: fn()) {
    let mut checker = loom::model::Builder::new();
    checker.preemption_bound = Some(2);
    checker.check(model);
}

#[test]
fn model_worker_finds_session_left_by_one_other() {
    loom::model(|| worker_finds_what(1));
}

#[test]
fn model_worker_finds_sessions_left_by_two_others() {
    bounded(|| worker_finds_what(2));
}

/// Asserts that some schedule of the mutant without `site` fails with a message that contains
/// `how`.
fn fails(site: Site, how: &str, model: fn()) {
    let outcome = without(site, || catch_unwind(AssertUnwindSafe(|| bounded(model))));
    let found = outcome.err().unwrap_or_else(|| panic!("{site:?} is not missed"));
    let said = found.downcast_ref::<String>().map(String::as_str);
    let said = said.or_else(|| found.downcast_ref::<&str>().copied()).unwrap_or_default();
    assert!(said.contains(how), "without {site:?}: {said}");
}

#[test]
fn model_without_any_of_its_parts_a_worker_sleeps_for_ever() {
    for (site, others) in [
        (Site::AfterAnnouncing, (|| worker_finds_what(1)) as fn()),
        (Site::AfterFallingAsleep, || worker_finds_what(1)),
        (Site::RecheckBeforeSleeping, || worker_finds_what(1)),
        (Site::ExchangeOfFlag, || worker_finds_what(2)),
    ] {
        fails(site, "deadlock", others);
    }
}

/// A worker with one session, which the guard may give to another worker.
struct Guarded {
    news: WakeFlag,
    /// Number of notices that the guard left for the worker.
    words: AtomicUsize,
    armed: Armed<()>,
    /// Events of the worker's epoll instance, for its first reader.
    rang: AtomicUsize,
    /// Wakes the worker: the epoll instance.
    epoll: Notify,
    /// Requests that arrived and were not served.
    requests: AtomicUsize,
    served: AtomicUsize,
}

/// Runs the client: makes its request and rings.
fn request(guarded: &Guarded) {
    guarded.requests.fetch_add(1, Ordering::Release);
    guarded.rang.fetch_add(1, Ordering::Release);
    guarded.epoll.notify();
}

/// Serves the session for its present owner; returns true if there was a request.
fn serve(guarded: &Guarded) -> bool {
    let requests = guarded.requests.swap(0, Ordering::Acquire);
    guarded.served.fetch_add(requests, Ordering::Relaxed) + requests > 0
}

/// Runs the guard, once, with another worker that is free. If `tells` is set, the guard notifies
/// the worker of events of sessions that it cannot claim.
fn relieve(guarded: &Guarded, tells: bool) {
    if guarded.rang.swap(0, Ordering::Acquire) == 0 {
        return;
    }
    let claimed = guarded.armed.claim(0);
    if claimed.is_some() {
        assert!(serve(guarded), "it rang because of a request, which no other worker can serve");
    }
    // Also after serving: the worker of the model must end.
    if claimed.is_some() || tells {
        guarded.words.fetch_add(1, Ordering::Relaxed);
        if guarded.news.announce() {
            guarded.epoll.notify();
        }
    }
}

/// Runs the worker until the request was served by any thread.
fn work_guarded(guarded: &Guarded) {
    let mut session = Some(());
    loop {
        let told = guarded.news.take() && guarded.words.swap(0, Ordering::Relaxed) > 0;
        let rang = guarded.rang.swap(0, Ordering::Acquire) > 0;
        // Read after the news, which are set if the guard has served the request.
        if guarded.served.load(Ordering::Relaxed) > 0 {
            return;
        }
        if (told || rang) && session.is_none() {
            session = guarded.armed.claim(0);
        }
        if session.is_some() {
            if serve(guarded) {
                continue;
            }
            guarded.armed.put(0, session.take().expect("it is here"));
        }
        if guarded.news.sleep() {
            guarded.epoll.wait();
        }
        guarded.news.wake();
    }
}

fn request_is_served_by_either_worker(tells: bool) {
    let guarded = Arc::new(Guarded {
        news: WakeFlag::default(),
        words: AtomicUsize::new(0),
        armed: Armed::default(),
        rang: AtomicUsize::new(0),
        epoll: Notify::new(),
        requests: AtomicUsize::new(0),
        served: AtomicUsize::new(0),
    });
    let others = [
        thread::spawn({
            let guarded = Arc::clone(&guarded);
            move || request(&guarded)
        }),
        thread::spawn({
            let guarded = Arc::clone(&guarded);
            move || relieve(&guarded, tells)
        }),
    ];
    work_guarded(&guarded);
    for other in others {
        other.join().unwrap();
    }
    assert_eq!(guarded.served.load(Ordering::Relaxed), 1);
}

#[test]
fn model_session_armed_beside_the_guard_is_served() {
    bounded(|| request_is_served_by_either_worker(true));
}

#[test]
fn model_missing_notice_or_recheck_loses_a_request() {
    let silent = || bounded(|| request_is_served_by_either_worker(false));
    let hasty = || bounded(|| request_is_served_by_either_worker(true));
    let outcomes = [
        ("the word", catch_unwind(silent)),
        ("the look", without(Site::RecheckBeforeSleeping, || catch_unwind(hasty))),
        ("a fence", without(Site::AfterFallingAsleep, || catch_unwind(hasty))),
        ("the other", without(Site::AfterAnnouncing, || catch_unwind(hasty))),
    ];
    for (missing, outcome) in outcomes {
        let found = outcome.err().unwrap_or_else(|| panic!("{missing} is not missed"));
        let said = found.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| found.downcast_ref::<&str>().copied()).unwrap_or_default();
        assert!(said.contains("deadlock"), "without {missing}: {said}");
    }
}

/// Changes a session twice from another thread, under its lock, and signals each change to the
/// worker, which clears the signal and then takes the lock; or the other way round.
fn changes_are_seen(clears_first: bool) {
    let session = Arc::new((Mutex::new(0), Signal::default(), Notify::new()));
    let changing = thread::spawn({
        let session = Arc::clone(&session);
        move || {
            for _ in 0..2 {
                *session.0.lock().unwrap() += 1;
                if session.1.give() {
                    session.2.notify();
                }
            }
        }
    });
    let seen = || {
        if clears_first {
            session.1.clear();
        }
        let seen = *session.0.lock().unwrap();
        if !clears_first {
            session.1.clear();
        }
        seen
    };
    while seen() < 2 {
        session.2.wait();
    }
    changing.join().unwrap();
}

#[test]
fn model_every_change_of_signalled_session_is_seen() {
    bounded(|| changes_are_seen(true));
}

#[test]
fn model_signal_cleared_after_the_turn_loses_a_change() {
    let late = || bounded(|| changes_are_seen(false));
    let found = catch_unwind(late).expect_err("it is not missed");
    let said = found.downcast_ref::<String>().map_or("", String::as_str);
    assert!(said.contains("deadlock"), "{said}");
}

/// Lets one thread find something for another, which polls for the signal. (Parking would order
/// both in the checker, whatever the signal does.)
fn found_is_seen() {
    let found = Arc::new((AtomicUsize::new(0), Signal::default()));
    let finding = Arc::clone(&found);
    let finder = thread::spawn(move || {
        finding.0.store(1, Ordering::Relaxed);
        finding.1.give()
    });
    while !found.1.take() {
        thread::yield_now();
    }
    assert_eq!(found.0.load(Ordering::Relaxed), 1, "not seen");
    assert!(finder.join().unwrap(), "the first signal wakes");
}

#[test]
fn model_signalled_worker_sees_the_change() {
    loom::model(found_is_seen);
}

#[test]
fn model_missing_signal_ordering_hides_the_change() {
    for site in [Site::ReleaseOfSignal, Site::AcquireOfSignal] {
        fails(site, "not seen", found_is_seen);
    }
}
