//! A guard that calls a function.

/// Calls a function when it is dropped, however its scope ends.
pub(super) struct OnDrop<F: Fn()>(pub(super) F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
