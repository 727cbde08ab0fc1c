//! One process's end of a session in shared memory, with the space that is reserved for its next
//! message and its way of waiting.

use breezeway_os::{Deadline, Waiting};
use breezeway_shm::{Endpoint, SocketError, Space, WaitError, Waiter, Want};

/// An endpoint, reserved space and a waiter.
pub(crate) struct MemoryLink {
    pub(super) endpoint: Endpoint,
    /// Space for the next message, if any. What was reserved and not sent stays here until the
    /// next reservation.
    pub(super) space: Space,
    waiter: Waiter,
    /// What brings more room than there was when it was last asked for.
    pub(super) more_room: Want,
}

impl MemoryLink {
    pub(crate) fn new(endpoint: Endpoint, waiting: Waiting) -> Self {
        let more_room = endpoint.more_memory();
        Self { endpoint, space: Space::none(), waiter: Waiter::new(waiting), more_room }
    }

    /// Whether the peer has consumed or released something since the last call, or sent something.
    pub(super) fn has_new_room(&mut self) -> Result<bool, SocketError> {
        let has_room = self.endpoint.has(self.more_room)?;
        // Else it would be new room until somebody takes it.
        self.endpoint.collect_returned();
        self.more_room = self.endpoint.more_memory();
        Ok(has_room)
    }

    /// Announces a sleep that a message ends as well as what is wanted.
    pub(super) fn prepare_sleep_for(&mut self, want: Want) -> Result<bool, SocketError> {
        self.endpoint.prepare_sleep(match (want, self.endpoint.more_memory()) {
            (Want::Consumed(consumed), Want::Memory { back, .. }) => {
                Want::Memory { consumed, back }
            }
            _ => want,
        })
    }

    pub(super) fn wait_for_room(&mut self, deadline: Deadline) -> Result<(), WaitError> {
        self.waiter.wait(&mut self.endpoint, self.more_room, deadline)
    }

    #[inline(always)]
    pub(super) fn wait(&mut self, want: Want, deadline: Deadline) -> Result<(), WaitError> {
        self.waiter.wait(&mut self.endpoint, want, deadline)
    }
}
