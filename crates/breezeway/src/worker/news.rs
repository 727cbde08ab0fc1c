//! Flags for deliveries to a worker and for its sleep.

use super::sync::{AtomicBool, Ordering, Site, full_fence, removed};

/// Two flags: one announces deliveries from other threads, the other marks the worker's sleep. Each
/// side writes its own flag, makes a full fence, and reads the other's, so that one of them sees it
/// (`model.rs`).
#[derive(Debug)]
pub(crate) struct News {
    /// Set once there are deliveries to take.
    there: AtomicBool,
    /// Set while the worker sleeps, or is about to.
    asleep: AtomicBool,
}

impl Default for News {
    fn default() -> Self {
        Self { there: AtomicBool::new(false), asleep: AtomicBool::new(false) }
    }
}

impl News {
    /// Announces earlier deliveries; returns true if the worker has to be woken.
    pub(crate) fn announce(&self) -> bool {
        // Release: the delivery precedes the flag. Not a plain store: the worker that takes the
        // news of two threads at once must see the deliveries of both.
        if removed(Site::ExchangeOfFlag) {
            self.there.store(true, Ordering::Release);
        } else {
            self.there.swap(true, Ordering::Release);
        }
        full_fence(Site::AfterAnnouncing);
        self.asleep.load(Ordering::Relaxed)
    }

    /// Returns true if there are deliveries to take. A hint for a worker that is awake.
    #[inline(always)]
    pub(crate) fn are_there(&self) -> bool {
        self.there.load(Ordering::Relaxed)
    }

    /// Clears the flag before the deliveries are taken; returns true if it was set.
    #[inline(always)]
    pub(crate) fn take(&self) -> bool {
        // Acquire: pairs with the release of `announce`.
        self.are_there() && self.there.swap(false, Ordering::Acquire)
    }

    /// Notes that the worker is about to sleep; returns true if it may. [`Self::wake`] must follow.
    pub(crate) fn sleep(&self) -> bool {
        self.asleep.store(true, Ordering::Relaxed);
        full_fence(Site::AfterFallingAsleep);
        removed(Site::RecheckBeforeSleeping) || !self.are_there()
    }

    /// Notes that the worker is awake.
    pub(crate) fn wake(&self) {
        self.asleep.store(false, Ordering::Relaxed);
    }
}
