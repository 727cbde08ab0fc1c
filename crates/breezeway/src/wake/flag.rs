//! Flags for deliveries to a worker and for its sleep.

use super::sync::{AtomicBool, Ordering, Site, full_fence, removed};

/// Two flags: one announces deliveries from other threads, the other marks the worker's sleep. Each
/// side writes its own flag, makes a full fence, and reads the other's, so that one of them sees it
/// (`model.rs`).
#[derive(Debug)]
pub(crate) struct WakeFlag {
    /// Set once there are deliveries to take.
    pending: AtomicBool,
    /// Set while the worker sleeps, or is about to.
    sleeping: AtomicBool,
}

impl Default for WakeFlag {
    fn default() -> Self {
        Self { pending: AtomicBool::new(false), sleeping: AtomicBool::new(false) }
    }
}

impl WakeFlag {
    /// Announces earlier deliveries; returns true if the worker has to be woken.
    pub(crate) fn announce(&self) -> bool {
        // Release: the delivery precedes the flag. Not a plain store: the worker that takes the
        // flag of two threads at once must see the deliveries of both.
        if removed(Site::ExchangeOfFlag) {
            self.pending.store(true, Ordering::Release);
        } else {
            self.pending.swap(true, Ordering::Release);
        }
        full_fence(Site::AfterAnnouncing);
        self.sleeping.load(Ordering::Relaxed)
    }

    /// Returns true if there are deliveries to take. A hint for a worker that is awake.
    #[inline(always)]
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.load(Ordering::Relaxed)
    }

    /// Clears the flag before the deliveries are taken; returns true if it was set.
    #[inline(always)]
    pub(crate) fn take(&self) -> bool {
        // Acquire: pairs with the release of `announce`.
        self.is_pending() && self.pending.swap(false, Ordering::Acquire)
    }

    /// Notes that the worker is about to sleep; returns true if it may. [`Self::wake`] must follow.
    pub(crate) fn sleep(&self) -> bool {
        self.sleeping.store(true, Ordering::Relaxed);
        full_fence(Site::AfterFallingAsleep);
        removed(Site::RecheckBeforeSleeping) || !self.is_pending()
    }

    /// Notes that the worker is awake.
    pub(crate) fn wake(&self) {
        self.sleeping.store(false, Ordering::Relaxed);
    }
}
