//! Whether something has come for a worker, and whether it has to be woken for that.

use super::sync::{AtomicBool, Ordering, Site, full_fence, removed};

/// Two flags: what others have left is announced by the one, and the other says that the worker
/// sleeps. Each side writes its own, makes a full fence, and reads the other's, so that one of both
/// sees it (`model.rs`).
#[derive(Debug)]
pub(crate) struct News {
    /// Set once something is there to be taken.
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
    /// Announces what was left before; true if the worker has to be woken.
    pub(crate) fn announce(&self) -> bool {
        // Release: what was left comes before the flag. Not a plain store: who takes the news of
        // two others at once must see what both have left.
        if removed(Site::ExchangeOfFlag) {
            self.there.store(true, Ordering::Release);
        } else {
            self.there.swap(true, Ordering::Release);
        }
        full_fence(Site::AfterAnnouncing);
        self.asleep.load(Ordering::Relaxed)
    }

    /// Whether there is something to take. A hint for a worker that is awake.
    #[inline(always)]
    pub(crate) fn are_there(&self) -> bool {
        self.there.load(Ordering::Relaxed)
    }

    /// Whether something was there; afterwards it is about to be taken.
    #[inline(always)]
    pub(crate) fn take(&self) -> bool {
        // Acquire: as announced.
        self.are_there() && self.there.swap(false, Ordering::Acquire)
    }

    /// The worker is about to sleep; true if it may. [`Self::wake`] must follow.
    pub(crate) fn sleep(&self) -> bool {
        self.asleep.store(true, Ordering::Relaxed);
        full_fence(Site::AfterFallingAsleep);
        removed(Site::RecheckBeforeSleeping) || !self.are_there()
    }

    /// The worker is awake.
    pub(crate) fn wake(&self) {
        self.asleep.store(false, Ordering::Relaxed);
    }
}
