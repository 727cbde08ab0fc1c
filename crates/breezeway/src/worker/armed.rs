//! A worker's armed sessions, which it does not touch: whoever has something to do for one of them
//! claims it.

use super::sync::{Mutex, MutexGuard};

/// Armed sessions by token. What is not there is with the worker, or with nobody.
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
    /// No more than one session is moved while the lock is held.
    fn lock(&self) -> MutexGuard<'_, Vec<Option<T>>> {
        #[cfg(all(test, not(loom)))]
        super::sync::count_lock();
        self.places.lock().expect("nobody panics with the lock")
    }

    /// Leaves a session to whoever claims it. Its wish to be woken was announced before, so
    /// whatever comes from then on wakes somebody, who finds it here or leaves word to its worker.
    pub(crate) fn put(&self, token: usize, session: T) {
        let mut places = self.lock();
        if places.len() <= token {
            places.resize_with(token + 1, || None);
        }
        places[token] = Some(session);
    }

    /// Makes a session the caller's own; `None` if it is another's.
    pub(crate) fn claim(&self, token: usize) -> Option<T> {
        self.lock().get_mut(token)?.take()
    }

    /// The first token from which nothing is here, of those that are free elsewhere.
    pub(crate) fn first_free(&self, is_free: impl Fn(usize) -> bool) -> usize {
        let places = self.lock();
        let is_empty = |token: usize| places.get(token).is_none_or(Option::is_none);
        (0..).find(|&token| is_free(token) && is_empty(token)).expect("tokens do not run out")
    }
}
