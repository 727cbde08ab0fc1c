//! The waker of a shared session, which calls its worker for a turn.

use std::sync::Arc;
use std::task::Wake;

use super::{Inbox, Signal};
use crate::presence::SessionId;

/// Waker that asks the worker for a turn of a session.
pub(crate) struct TurnWaker {
    inbox: Arc<Inbox>,
    token: usize,
    id: SessionId,
    /// Set once a turn was requested, until one begins.
    called: Signal,
}

impl TurnWaker {
    /// Creates the waker of the session with this token at the worker with this inbox.
    pub(crate) fn new(inbox: Arc<Inbox>, token: usize, id: SessionId) -> Self {
        Self { inbox, token, id, called: Signal::default() }
    }

    pub(crate) fn inbox(&self) -> &Inbox {
        &self.inbox
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
            self.inbox.call(self.token, self.id);
        }
    }
}
