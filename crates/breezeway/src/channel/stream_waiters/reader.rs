//! The task that reads a stream. Mostly one task sends and waits for the answer, over and over, so
//! its waker is kept from one wait to the next, and it learns without the session's lock that
//! nothing has come yet.

#[cfg(test)]
mod model;

use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Context;

/// Streams of which it can be known without the lock that there is nothing to be read.
const STREAMS: usize = 256;

/// Of which streams nothing can be read, and the task that was registered last is woken when that
/// changes. Written under the session's lock, for the first few streams.
pub(in super::super) struct QuietStreams([AtomicBool; STREAMS]);

impl Default for QuietStreams {
    fn default() -> Self {
        Self([const { AtomicBool::new(false) }; STREAMS])
    }
}

impl QuietStreams {
    /// Whether the task that was registered last need not ask. It may have changed since, and then
    /// the task is woken after the change, so that it asks again.
    #[inline]
    pub(in super::super) fn contains(&self, index: usize) -> bool {
        // Acquire: a task that is told to wait has seen all that was before.
        self.0.get(index).is_some_and(|quiet| quiet.load(Ordering::Acquire))
    }

    #[inline]
    pub(super) fn set(&self, index: usize) {
        if let Some(quiet) = self.0.get(index) {
            quiet.store(true, Ordering::Release);
        }
    }

    /// Comes before the waker is woken, which makes it visible to the task that it wakes.
    #[inline]
    pub(super) fn clear(&self, index: usize) {
        if let Some(quiet) = self.0.get(index) {
            quiet.store(false, Ordering::Release);
        }
    }
}

/// What a stream's receiving half knows of the task that reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in super::super) struct Waiting {
    /// The task that was registered last.
    task: Option<TaskId>,
    /// Whether it has received something since.
    received: bool,
}

/// The addresses of a task's waker, which tell it from others as long as it lives: as
/// [`Waker::will_wake`](std::task::Waker::will_wake) does.
type TaskId = [usize; 2];

/// The task that polls.
#[inline]
pub(in super::super) fn task_of(cx: &Context<'_>) -> TaskId {
    let waker = cx.waker();
    [waker.data().addr(), std::ptr::from_ref(waker.vtable()).addr()]
}

impl Waiting {
    /// Whether a task waits, on a stream that is quiet, without asking: once between two messages,
    /// as who asks may have a turn to take.
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

    /// A task has asked, and waits now, or has received something. (Who it is is only asked where
    /// that is needed: a waker was mostly just stored word by word, and a load of both words waits
    /// for that.)
    #[inline]
    pub(in super::super) fn has_asked(&mut self, task: impl FnOnce() -> TaskId, received: bool) {
        self.received = received;
        if !received {
            self.task = Some(task());
        }
    }
}

/// Which registration of a reader a waker stems from.
#[derive(Clone, Copy)]
pub(in super::super) struct Registration {
    pub(super) index: usize,
    pub(super) number: u64,
}

/// The reader of one stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reader<W> {
    /// Whom to wake. Stays while it does not wait, but not from when it is due until it was woken.
    waker: Option<W>,
    is_waiting: bool,
    /// Which one it is: a waker is given back to its own registration only, so that nobody is
    /// woken in the place of who registered later.
    registration: u64,
}

impl<W> Default for Reader<W> {
    fn default() -> Self {
        Self { waker: None, is_waiting: false, registration: 0 }
    }
}

impl<W> Reader<W> {
    /// Waits from now on, if it is the one that is known; false if not.
    #[inline]
    pub(super) fn wait_again(&mut self, is_same: impl FnOnce(&W) -> bool) -> bool {
        let is_known = self.waker.as_ref().is_some_and(is_same);
        self.is_waiting |= is_known;
        is_known
    }

    /// Another reader waits from now on. Gives the one before.
    pub(super) fn wait(&mut self, waker: W, registration: u64) -> Option<W> {
        (self.is_waiting, self.registration) = (true, registration);
        self.waker.replace(waker)
    }

    /// No longer waits, if it is this one.
    pub(super) fn withdraw(&mut self, is_same: impl FnOnce(&W) -> bool) -> bool {
        let is_known = self.waker.as_ref().is_some_and(is_same);
        self.is_waiting &= !is_known;
        is_known
    }

    /// Who waits, with its registration; from now on nobody does.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(u64, W)> {
        if !std::mem::take(&mut self.is_waiting) {
            return None;
        }
        Some((self.registration, self.waker.take()?))
    }

    /// Keeps a waker that was taken, unless there is another registration by now; gives it back
    /// then.
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
