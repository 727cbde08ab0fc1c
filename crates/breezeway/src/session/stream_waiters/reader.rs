//! The task that reads a stream. Usually one task sends and waits for the answer, over and over, so
//! its waker is kept from one wait to the next, and it detects without the session's lock that
//! nothing has come yet.

#[cfg(test)]
mod model;

use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Context;

/// Number of streams for which it can be known without the lock that there is nothing to be read.
const STREAMS: usize = 256;

/// Streams without unread messages; the last registered task is woken when that changes. Written
/// under the session's lock, for the first few streams.
pub(in super::super) struct QuietStreams([AtomicBool; STREAMS]);

impl Default for QuietStreams {
    fn default() -> Self {
        Self([const { AtomicBool::new(false) }; STREAMS])
    }
}

impl QuietStreams {
    /// Returns true if the task that was registered last need not ask. The state may have changed
    /// since; then the task is woken after the change, so that it asks again.
    #[inline]
    pub(in super::super) fn contains(&self, index: usize) -> bool {
        // Acquire: a task that waits because of this has seen all that was before.
        self.0.get(index).is_some_and(|quiet| quiet.load(Ordering::Acquire))
    }

    #[inline]
    pub(super) fn set(&self, index: usize) {
        if let Some(quiet) = self.0.get(index) {
            quiet.store(true, Ordering::Release);
        }
    }

    /// Clears the mark of a stream. Comes before the waker is woken, which makes it visible to the
    /// task that it wakes.
    #[inline]
    pub(super) fn clear(&self, index: usize) {
        if let Some(quiet) = self.0.get(index) {
            quiet.store(false, Ordering::Release);
        }
    }
}

/// State of the task that reads a stream, kept by the stream's receiving half.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in super::super) struct Waiting {
    /// The task that was registered last.
    task: Option<TaskId>,
    /// True if it has received something since.
    received: bool,
}

/// The addresses of a task's waker, which distinguish it from others as long as it lives, as
/// [`Waker::will_wake`](std::task::Waker::will_wake) does.
type TaskId = [usize; 2];

/// Returns the task that polls.
#[inline]
pub(in super::super) fn task_of(cx: &Context<'_>) -> TaskId {
    let waker = cx.waker();
    [waker.data().addr(), std::ptr::from_ref(waker.vtable()).addr()]
}

impl Waiting {
    /// Returns true if a task waits on a quiet stream without asking: once between two messages,
    /// because a task that asks may have a turn to take.
    ///
    /// While a stream is quiet, the registered waker lives, so no other task has its addresses.
    #[inline]
    pub(in super::super) fn need_not_ask(
        &mut self,
        task: impl FnOnce() -> TaskId,
        is_quiet: impl FnOnce() -> bool,
    ) -> bool {
        let need_not = self.received && self.task == Some(task()) && is_quiet();
        self.received &= !need_not;
        need_not
    }

    /// Records that a task has asked, and waits now, or has received something. (The task is only
    /// computed where it is needed: a waker was usually just stored word by word, and a load of
    /// both words waits for that.)
    #[inline]
    pub(in super::super) fn has_asked(&mut self, task: impl FnOnce() -> TaskId, received: bool) {
        self.received = received;
        if !received {
            self.task = Some(task());
        }
    }
}

/// The registration of a reader that a waker stems from.
#[derive(Clone, Copy)]
pub(in super::super) struct Registration {
    pub(super) index: usize,
    pub(super) number: u64,
}

/// The reader of one stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reader<W> {
    /// Waker of the reader. It stays while the reader does not wait, but is absent from when it is
    /// due until it was woken.
    waker: Option<W>,
    is_waiting: bool,
    /// Number of the registration: a waker is given back to its own registration only, so that no
    /// task is woken in the place of one that registered later.
    registration: u64,
}

impl<W> Default for Reader<W> {
    fn default() -> Self {
        Self { waker: None, is_waiting: false, registration: 0 }
    }
}

impl<W> Reader<W> {
    /// Starts a wait if the reader is the known one. Returns false if it is not.
    #[inline]
    pub(super) fn wait_again(&mut self, is_same: impl FnOnce(&W) -> bool) -> bool {
        let is_known = self.waker.as_ref().is_some_and(is_same);
        self.is_waiting |= is_known;
        is_known
    }

    /// Starts a wait of another reader. Returns the one before.
    pub(super) fn wait(&mut self, waker: W, registration: u64) -> Option<W> {
        (self.is_waiting, self.registration) = (true, registration);
        self.waker.replace(waker)
    }

    /// Ends the wait if the reader is this one. Returns true if it is.
    pub(super) fn withdraw(&mut self, is_same: impl FnOnce(&W) -> bool) -> bool {
        let is_known = self.waker.as_ref().is_some_and(is_same);
        self.is_waiting &= !is_known;
        is_known
    }

    /// Takes the waiting reader with its registration, and ends its wait.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(u64, W)> {
        if !std::mem::take(&mut self.is_waiting) {
            return None;
        }
        Some((self.registration, self.waker.take()?))
    }

    /// Keeps a waker that was taken, or returns it if there is another registration by now.
    pub(super) fn give_back(&mut self, waker: W, registration: u64) -> Option<W> {
        if self.registration != registration || self.waker.is_some() {
            return Some(waker);
        }
        self.waker = Some(waker);
        None
    }

    pub(super) fn into_waker(self) -> Option<W> {
        self.waker
    }
}
