//! A worker's armed sessions, which the worker does not touch: a thread that has work for one of
//! them claims it.

use super::sync::{Mutex, MutexGuard};

/// Armed sessions by token. Every other session is with the worker, or does not exist.
#[derive(Debug)]
pub(crate) struct Armed<T> {
    places: Mutex<Vec<Option<T>>>,
}

impl<T> Default for Armed<T> {
    fn default() -> Self {
        Self { places: Mutex::new(Vec::new()) }
    }
}

impl<T> Armed<T> {
    /// At most one session is moved while the lock is held.
    fn lock(&self) -> MutexGuard<'_, Vec<Option<T>>> {
        #[cfg(all(test, not(loom)))]
        super::sync::count_lock();
        self.places.lock().expect("no thread panics with the lock")
    }

    /// Leaves a session to the first claimant. Its sleep was announced before, so a later event
    /// wakes the guard or the worker, which finds it here or notifies its worker.
    pub(crate) fn put(&self, token: usize, session: T) {
        let mut places = self.lock();
        if places.len() <= token {
            places.resize_with(token + 1, || None);
        }
        places[token] = Some(session);
    }

    /// Claims a session for the caller; returns `None` if it is another's.
    pub(crate) fn claim(&self, token: usize) -> Option<T> {
        self.lock().get_mut(token)?.take()
    }

    /// Returns the first token that is unused here, of those that `is_free` accepts.
    pub(crate) fn first_free(&self, is_free: impl Fn(usize) -> bool) -> usize {
        let places = self.lock();
        let is_empty = |token: usize| places.get(token).is_none_or(Option::is_none);
        (0..).find(|&token| is_free(token) && is_empty(token)).expect("tokens do not run out")
    }
}
