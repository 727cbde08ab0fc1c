//! One process's end of a session in shared memory, with the space that is reserved for its next
//! message and its way of waiting.

use breezeway_os::{Deadline, Waiting};
use breezeway_shm::{Endpoint, Space, WaitError, Waiter, Want};

/// An endpoint, reserved space and a waiter.
pub(crate) struct MemoryLink {
    pub(super) endpoint: Endpoint,
    /// Space for the next message, if any. What was reserved and not sent stays here until the
    /// next reservation.
    pub(super) space: Space,
    waiter: Waiter,
}

impl MemoryLink {
    pub(crate) fn new(endpoint: Endpoint, waiting: Waiting) -> Self {
        Self { endpoint, space: Space::none(), waiter: Waiter::new(waiting) }
    }

    #[inline(always)]
    pub(super) fn wait(&mut self, want: Want, deadline: Deadline) -> Result<(), WaitError> {
        self.waiter.wait(&mut self.endpoint, want, deadline)
    }
}
