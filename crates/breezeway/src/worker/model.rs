//! loom models of how a worker is woken, and of mutants of that which must fail.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p breezeway --profile model --lib --target-dir target/loom
//! model`
//!
//! [`News`] is the shipped code. The eventfd is a [`Notify`], and the worker's loop takes its steps
//! in the same order. What is left is a plain cell behind a lock in the shipped code; here it is an
//! atomic that is only ever read after the news were taken, as full fences order plain cells more
//! strictly in the checker than the language does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use loom::sync::Notify;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::mutants::without;
use super::news::News;
use super::sync::Site;

struct Shared {
    news: News,
    /// Things that were left for the worker.
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

/// The worker, until it has found `count` things.
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
        news: News::default(),
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

/// Every schedule with at most two preemptions: all of them would take minutes.
fn bounded(model: fn()) {
    let mut checker = loom::model::Builder::new();
    checker.preemption_bound = Some(2);
    checker.check(model);
}

#[test]
fn model_a_worker_hears_of_what_one_other_leaves() {
    loom::model(|| worker_finds_what(1));
}

#[test]
fn model_a_worker_hears_of_what_two_others_leave() {
    bounded(|| worker_finds_what(2));
}

#[test]
fn model_without_any_of_its_parts_a_worker_sleeps_for_ever() {
    for (site, others) in [
        (Site::AfterAnnouncing, (|| worker_finds_what(1)) as fn()),
        (Site::AfterFallingAsleep, || worker_finds_what(1)),
        (Site::RecheckBeforeSleeping, || worker_finds_what(1)),
        (Site::ExchangeOfFlag, || worker_finds_what(2)),
    ] {
        let outcome = without(site, || catch_unwind(AssertUnwindSafe(|| bounded(others))));
        let found = outcome.err().unwrap_or_else(|| panic!("{site:?} is not missed"));
        let said = found.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| found.downcast_ref::<&str>().copied()).unwrap_or_default();
        assert!(said.contains("deadlock"), "without {site:?}: {said}");
    }
}
