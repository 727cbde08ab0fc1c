//! Parking of a thread until it is woken.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};

use breezeway_os::Deadline;

use crate::wake::Signal;

/// A parker of one thread.
pub(super) struct Parker {
    thread: Thread,
    signal: Signal,
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The thread is unparked once for many wake-ups.
        if self.signal.give() {
            self.thread.unpark();
        }
    }
}

impl Parker {
    /// Runs `work` with this thread's parker and its waker.
    pub(super) fn with_current<R>(work: impl FnOnce(&Self, &Waker) -> R) -> R {
        thread_local! {
            static PARKER: (Arc<Parker>, Waker) = {
                let thread = thread::current();
                let parker = Arc::new(Parker { thread, signal: Signal::default() });
                let waker = Waker::from(Arc::clone(&parker));
                (parker, waker)
            };
        }
        PARKER.with(|(parker, waker)| work(parker, waker))
    }

    /// Waits until this thread is woken, or until the deadline.
    pub(super) fn park(&self, deadline: Deadline) {
        while !self.signal.take() {
            match deadline.time_left() {
                None => thread::park(),
                Some(left) if left.is_zero() => return,
                Some(left) => thread::park_timeout(left),
            }
        }
    }
}
