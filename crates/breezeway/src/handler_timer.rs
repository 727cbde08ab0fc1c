//! How long handlers take: of one call in so many, as more would show in the calls.

use std::cell::Cell;

use breezeway_os::clock;
use breezeway_shm::statistics::HandlerTimes;

use crate::call::{Call, Handled, Handler};

/// Of how many calls of a thread one is timed. A prime, so that calls which come in a pattern are
/// timed alike.
pub(crate) const ONE_IN: u32 = 61;

thread_local! {
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// Times a handler, if it is one of those that are timed.
#[doc(hidden)]
#[derive(Debug)]
pub struct HandlerTimer(Option<Running>);

#[derive(Debug)]
struct Running {
    start: u64,
    /// Of the session whose call it is.
    times: Option<HandlerTimes>,
}

impl HandlerTimer {
    /// A handler begins, of a call of the session that has these times.
    #[inline]
    #[must_use]
    pub fn start(times: impl FnOnce() -> Option<HandlerTimes>) -> Self {
        let calls = CALLS.get().wrapping_add(1);
        if calls < ONE_IN {
            CALLS.set(calls);
            return Self(None);
        }
        CALLS.set(0);
        Self(Some(Running { times: times(), start: clock::ticks() }))
    }

    /// It is done.
    #[inline]
    pub fn end(self) {
        if let Some(running) = self.0 {
            running.end();
        }
    }
}

impl Running {
    #[cold]
    fn end(self) {
        let ticks = clock::ticks().wrapping_sub(self.start);
        if let Some(times) = &self.times {
            times.note(clock::nanoseconds(ticks));
        }
        #[cfg(feature = "metrics")]
        crate::metrics::note(ticks);
    }
}

/// A server's handler, timed.
pub(crate) struct Timed<H>(pub(crate) H);

impl<H: Handler> Handler for Timed<H> {
    #[inline(always)]
    fn handle(&self, call: Call<'_>) -> Handled {
        let timer = HandlerTimer::start(|| call.handler_times());
        let handled = self.0.handle(call);
        timer.end();
        handled
    }
}
