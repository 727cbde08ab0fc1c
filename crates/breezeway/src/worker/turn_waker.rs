//! The waker of a shared session, which calls its worker for a turn.

use std::sync::Arc;
use std::task::Wake;

use super::{Inbox, Signal};
use crate::presence::SessionId;

/// Lets the worker give a session a turn.
pub(crate) struct TurnWaker {
    inbox: Arc<Inbox>,
    token: usize,
    id: SessionId,
    /// Set once a turn was asked for, until one begins.
    called: Signal,
}

impl TurnWaker {
    /// For the session that the worker with this inbox knows by this token.
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
        // What it is about was changed under the session's lock before. The worker clears the flag
        // before it takes the lock: if this finds it set, that turn is still to come.
        if self.called.give() {
            self.inbox.call(self.token, self.id);
        }
    }
}
