//! Timing of handlers: of one call in many, as the timing of more would slow calls down.

#[cfg(feature = "metrics")]
mod export;

use std::cell::Cell;

use breezeway_os::clock;
use breezeway_shm::statistics::HandlerTimes;

use crate::session::OwnedCall;

#[cfg(feature = "metrics")]
pub(crate) use export::record;

/// Interval, in calls of a thread, at which one is timed. A prime, so that calls in a pattern are
/// timed alike.
pub(crate) const ONE_IN: u32 = 61;

thread_local! {
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// Times a handler, if its call is one of the timed ones.
#[derive(Debug)]
pub struct HandlerTimer(Option<Running>);

#[derive(Debug)]
struct Running {
    start: u64,
    /// Times of the call's session.
    times: Option<HandlerTimes>,
}

impl HandlerTimer {
    /// Starts the handler of a call.
    #[inline]
    #[must_use]
    pub fn of(call: &OwnedCall) -> Self {
        Self::start(|| call.handler_times())
    }

    /// Starts a handler of a call of the session with these times.
    #[inline]
    pub(crate) fn start(times: impl FnOnce() -> Option<HandlerTimes>) -> Self {
        let calls = CALLS.get().wrapping_add(1);
        if calls < ONE_IN {
            CALLS.set(calls);
            return Self(None);
        }
        CALLS.set(0);
        Self(Some(Running { times: times(), start: clock::ticks() }))
    }

    /// Ends the handler.
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
        export::note(ticks);
    }
}
