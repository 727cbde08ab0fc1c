//! What any thread leaves for one that polls for it without a lock.

use super::sync::{AtomicBool, Mutex, MutexGuard, Ordering, Site, removed};

/// Who finds a flag that is not set has nothing to take; who sets it wakes whoever takes. It is
/// changed under the lock only, so that of all that is left in between one wakes (`model.rs`).
pub(crate) struct Mail<T> {
    there: AtomicBool,
    state: Mutex<State<T>>,
}

struct State<T> {
    left: Vec<T>,
    /// Whether more is taken.
    open: bool,
}

impl<T> Default for Mail<T> {
    fn default() -> Self {
        let state = State { left: Vec::new(), open: true };
        Self { there: AtomicBool::new(false), state: Mutex::new(state) }
    }
}

impl<T> Mail<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Nothing that panics runs with the lock.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether there is something to take.
    #[inline(always)]
    pub(crate) fn is_there(&self) -> bool {
        // Relaxed: whoever takes has the lock, and is woken behind the flag.
        self.there.load(Ordering::Relaxed)
    }

    /// Leaves something; whether the other side has to be woken. `None` if it takes nothing more.
    pub(crate) fn post(&self, what: T) -> Option<bool> {
        let mut state = self.lock();
        if !state.open {
            return None;
        }
        state.left.push(what);
        Some(!self.there.swap(true, Ordering::Relaxed))
    }

    /// Takes what was left.
    pub(crate) fn take(&self) -> Vec<T> {
        let mut state = self.lock();
        let left = std::mem::take(&mut state.left);
        if removed(Site::ClearedUnderLock) {
            drop(state);
        }
        self.there.store(false, Ordering::Relaxed);
        left
    }

    /// Whether nothing is taken any more.
    pub(crate) fn is_closed(&self) -> bool {
        !self.lock().open
    }

    /// From now on nothing is taken any more.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.open = false;
        state.left.clear();
    }
}
