//! How long handlers take: of one call in so many, as more would show in the calls.

use std::cell::Cell;
use std::sync::{LazyLock, Mutex};

use breezeway_os::clock;
use hdrhistogram::Histogram;
use metrics::histogram;

use crate::call::{Call, Handled, Handler};

/// Of how many calls of a thread one is timed. A prime, so that calls which come in a pattern are
/// timed alike.
const ONE_IN: u32 = 61;
/// The most times between two exports: an exporter may take memory for each.
const MOST_NOTED: u64 = 1 << 16;
/// The longest time that is told apart, in ticks: more than 10 minutes at 10 GHz.
const MOST: u64 = 1 << 43;

/// What was timed and not recorded yet, in ticks of the clock.
static TIMES: LazyLock<Mutex<Histogram<u64>>> = LazyLock::new(|| {
    let histogram = Histogram::new_with_bounds(1, MOST, 2).expect("bounds that are in order");
    Mutex::new(histogram)
});

thread_local! {
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// Times a handler, if it is one of those that are timed.
#[doc(hidden)]
#[derive(Debug)]
pub struct HandlerTimer(Option<u64>);

impl HandlerTimer {
    /// A handler begins.
    #[inline]
    #[must_use]
    pub fn start() -> Self {
        let calls = CALLS.get().wrapping_add(1);
        if calls < ONE_IN {
            CALLS.set(calls);
            return Self(None);
        }
        CALLS.set(0);
        Self(Some(clock::ticks()))
    }

    /// It is done.
    #[inline]
    pub fn end(self) {
        if let Some(start) = self.0 {
            note(clock::ticks().wrapping_sub(start));
        }
    }
}

/// Notes a time, if nobody else does at this moment: a call waits for nothing, and a forked child
/// has the lock as it was.
#[cold]
fn note(ticks: u64) {
    if let Ok(mut times) = TIMES.try_lock()
        && times.len() < MOST_NOTED
    {
        times.saturating_record(ticks);
    }
}

/// Gives the recorder what was timed since the last time.
pub(super) fn record() {
    let Ok(mut times) = TIMES.try_lock() else { return };
    let taken = times.clone();
    times.reset();
    drop(times);
    let seconds = histogram!("breezeway_handler_seconds");
    for step in taken.iter_recorded() {
        let nanoseconds = clock::nanoseconds(step.value_iterated_to());
        let count = usize::try_from(step.count_at_value()).unwrap_or(usize::MAX);
        seconds.record_many(nanoseconds as f64 / 1e9, count);
    }
}

/// A server's handler, timed.
pub(crate) struct Timed<H>(pub(crate) H);

impl<H: Handler> Handler for Timed<H> {
    #[inline]
    fn handle(&self, call: Call<'_>) -> Handled {
        let timer = HandlerTimer::start();
        let handled = self.0.handle(call);
        timer.end();
        handled
    }
}
