//! Locks that ignore poisoning.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use breezeway_os::Deadline;

/// Locks a mutex. A thread that panicked while it held the lock left nothing half-done: data behind
/// these locks is changed by calls that do not panic between two changes.
#[inline]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks a mutex unless it is held.
#[inline]
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    use std::sync::TryLockError;
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Waits until the condition variable is notified, or until `deadline`; may also return spuriously.
pub(crate) fn wait<'a, T>(
    changed: &Condvar,
    guard: MutexGuard<'a, T>,
    deadline: Deadline,
) -> MutexGuard<'a, T> {
    match deadline.time_left() {
        None => changed.wait(guard).unwrap_or_else(PoisonError::into_inner),
        Some(left) => changed.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0,
    }
}
