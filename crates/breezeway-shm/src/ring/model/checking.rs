//! Running a model, and a mutant of it that must fail.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Once};

use loom::model::Builder;

use crate::ring::mutants::{self, Mutant};

/// Runs every schedule of `model` with at most so many preemptions; `None`: every schedule.
pub(crate) fn holds(preemptions: Option<usize>, model: fn()) {
    let schedules = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let count = Arc::clone(&schedules);
    let mut checker = Builder::new();
    checker.preemption_bound = preemptions;
    checker.check(move || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        model();
    });
    println!("{} schedules", schedules.load(std::sync::atomic::Ordering::Relaxed));
}

thread_local! {
    static PANIC_EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Checks that some schedule of the mutant without `what` fails with a message that contains `how`.
pub(crate) fn fails(what: Mutant, how: &str, preemptions: Option<usize>, model: fn()) {
    let found = outcome_without(what, preemptions, model)
        .err()
        .unwrap_or_else(|| panic!("the model does not notice that {what:?} is missing"));
    let said = found
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| found.downcast_ref::<&str>().copied())
        .unwrap_or_default();
    println!("without {what:?}: {said}");
    assert!(said.contains(how), "without {what:?} expected `{how}`, but: {said}");
}

pub(super) fn outcome_without(
    what: Mutant,
    preemptions: Option<usize>,
    model: fn(),
) -> Result<(), Box<dyn Any + Send>> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !PANIC_EXPECTED.get() {
                report(info);
            }
        }));
    });
    PANIC_EXPECTED.set(true);
    let outcome = mutants::without(what, || {
        panic::catch_unwind(AssertUnwindSafe(|| holds(preemptions, model)))
    });
    PANIC_EXPECTED.set(false);
    outcome
}

/// Message of loom when all threads wait: a sleeping end was not woken.
pub(super) const LOST_WAKE_UP: &str = "deadlock";
/// Message of loom for a plain cell that is read and written without order.
pub(super) const DATA_RACE: &str = "Causality violation";
/// Message of [`check`] for an entry that differs from the one sent.
pub(super) const TORN_ENTRY: &str = "torn entry";
