//! A flag that signals something found for another thread, once for many times.

use super::sync::{AtomicBool, Ordering, Site, removed};

/// Signal set by a thread that has found something, until the receiving thread takes it.
#[derive(Debug)]
pub(crate) struct Signal(AtomicBool);

impl Default for Signal {
    fn default() -> Self {
        Self(AtomicBool::new(false))
    }
}

impl Signal {
    /// Sets the signal; returns true if the receiver has to be woken for it.
    #[inline]
    pub(crate) fn give(&self) -> bool {
        // Release: the finding precedes the signal.
        let order =
            if removed(Site::ReleaseOfSignal) { Ordering::Relaxed } else { Ordering::Release };
        !self.0.swap(true, order)
    }

    /// Takes the signal, if it was set; earlier findings are then visible.
    #[inline]
    pub(crate) fn take(&self) -> bool {
        let order =
            if removed(Site::AcquireOfSignal) { Ordering::Relaxed } else { Ordering::Acquire };
        self.0.swap(false, order)
    }

    /// Clears the signal, so that the next one wakes again. Called by the next poller, under the
    /// lock that the signalling thread held before.
    #[inline]
    pub(crate) fn clear(&self) {
        // Relaxed: if the signalling thread had the lock first, this thread sees its finding; else
        // that lock orders this store before its signal.
        self.0.store(false, Ordering::Relaxed);
    }
}
