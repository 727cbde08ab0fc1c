//! A thread that waits to be woken.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};

use breezeway_os::Deadline;

/// Parks one thread.
pub(super) struct Parker {
    thread: Thread,
    notified: AtomicBool,
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Release: what was found comes before. The thread is unparked once for many wake-ups.
        if !self.notified.swap(true, Ordering::Release) {
            self.thread.unpark();
        }
    }
}

impl Parker {
    /// This thread's.
    pub(super) fn current() -> (Arc<Self>, Waker) {
        thread_local! {
            static PARKER: RefCell<Option<(Arc<Parker>, Waker)>> = const { RefCell::new(None) };
        }
        PARKER.with_borrow_mut(|parker| {
            let (parker, waker) = parker.get_or_insert_with(|| {
                let thread = thread::current();
                let parker = Arc::new(Self { thread, notified: AtomicBool::new(false) });
                let waker = Waker::from(Arc::clone(&parker));
                (parker, waker)
            });
            (Arc::clone(parker), waker.clone())
        })
    }

    /// Waits until somebody wakes this thread, or until the deadline.
    pub(super) fn park(&self, deadline: Deadline) {
        while !self.notified.swap(false, Ordering::Acquire) {
            match deadline.time_left() {
                None => thread::park(),
                Some(left) if left.is_zero() => return,
                Some(left) => thread::park_timeout(left),
            }
        }
    }
}
