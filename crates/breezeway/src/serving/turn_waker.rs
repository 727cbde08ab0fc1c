//! The waker of a shared session, which asks its worker for a turn.

use std::sync::Arc;
use std::task::Wake;

use crate::presence::SessionId;
use crate::wake::Signal;

/// The turns of a worker, as its sessions see them.
pub(crate) trait TurnQueue: Send + Sync {
    /// Asks the worker for a turn of the session with this token and id.
    fn call(&self, token: usize, id: SessionId);

    /// Returns the ticks since the present turn began; `None` outside of turns.
    fn turn_age(&self) -> Option<u64>;
}

/// Waker that asks the worker for a turn of a session.
pub(crate) struct TurnWaker {
    turns: Arc<dyn TurnQueue>,
    token: usize,
    id: SessionId,
    /// Set once a turn was requested, until one begins.
    called: Signal,
}

impl TurnWaker {
    /// Creates the waker of the session with this token at the worker with these turns.
    pub(crate) fn new(turns: Arc<dyn TurnQueue>, token: usize, id: SessionId) -> Self {
        Self { turns, token, id, called: Signal::default() }
    }

    /// Returns the ticks since the worker's present turn began.
    pub(super) fn turn_age(&self) -> Option<u64> {
        self.turns.turn_age()
    }

    /// Notes that a turn begins: the next request for one calls the worker again.
    pub(crate) fn begin_turn(&self) {
        self.called.clear();
    }
}

impl Wake for TurnWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The change was made under the session's lock before. The worker clears the flag before it
        // takes the lock: if the flag is found set here, that turn is still to come.
        if self.called.give() {
            self.turns.call(self.token, self.id);
        }
    }
}
