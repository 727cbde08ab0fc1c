//! That something was found for somebody, said once for many times.

use super::sync::{AtomicBool, Ordering, Site, removed};

/// Set by whoever has found something, until the other side hears of it.
#[derive(Debug)]
pub(crate) struct Signal(AtomicBool);

impl Default for Signal {
    fn default() -> Self {
        Self(AtomicBool::new(false))
    }
}

impl Signal {
    /// Gives it; whether the other side has to be woken for it.
    #[inline]
    pub(crate) fn give(&self) -> bool {
        // Release: what was found comes before.
        let order =
            if removed(Site::ReleaseOfSignal) { Ordering::Relaxed } else { Ordering::Release };
        !self.0.swap(true, order)
    }

    /// Hears of it, if it was given; what was found before can be seen.
    #[inline]
    pub(crate) fn take(&self) -> bool {
        let order =
            if removed(Site::AcquireOfSignal) { Ordering::Relaxed } else { Ordering::Acquire };
        self.0.swap(false, order)
    }

    /// The next one wakes again. For who polls next, under the lock that whoever gives it had
    /// before.
    #[inline]
    pub(crate) fn clear(&self) {
        // Relaxed: if the other side had the lock first, this side sees what it found; else that
        // lock orders this store before its signal.
        self.0.store(false, Ordering::Relaxed);
    }
}
