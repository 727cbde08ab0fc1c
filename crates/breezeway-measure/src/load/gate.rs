//! Where threads wait for each other before they measure.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::Failure;

/// Opens when all have arrived. Unlike a `Barrier` it can be called off, for example when a thread
/// of the group could not be started.
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    missing: usize,
    is_off: bool,
}

impl Gate {
    /// For so many.
    pub(super) fn new(missing: usize) -> Self {
        Self { state: Mutex::new(State { missing, is_off: false }), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more is there.
    pub(super) fn arrive(&self) {
        self.state().missing -= 1;
        self.changed.notify_all();
    }

    /// Releases all that wait, with an error.
    pub(super) fn call_off(&self) {
        self.state().is_off = true;
        self.changed.notify_all();
    }

    /// Waits until all are there.
    ///
    /// # Errors
    ///
    /// That it was called off.
    pub(super) fn wait(&self) -> Result<(), Failure> {
        self.wait_for_all_but(0)
    }

    /// Waits until at most `missing` have not arrived.
    ///
    /// # Errors
    ///
    /// That it was called off.
    pub(super) fn wait_for_all_but(&self, missing: usize) -> Result<(), Failure> {
        let waiting = |state: &mut State| state.missing > missing && !state.is_off;
        let state = self.changed.wait_while(self.state(), waiting);
        match state.unwrap_or_else(PoisonError::into_inner).is_off {
            true => Err("called off: not every session has a thread".into()),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_opens_when_all_are_there_and_when_it_is_called_off() {
        let gate = Gate::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| gate.arrive());
            gate.wait_for_all_but(1).unwrap();
            gate.arrive();
            gate.wait().unwrap();
        });
        let gate = Gate::new(2);
        gate.arrive();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.wait().is_err());
            gate.call_off();
            assert!(waiting.join().unwrap());
        });
    }
}
