//! One process's end of a session in shared memory, with the space that is reserved for its next message and its way of waiting.

use breezeway_os::Waiting;
use breezeway_shm::{Endpoint, Space, WaitError, Waiter, Want};

/// An endpoint, reserved space and a waiter.
pub(crate) struct MemoryLink {
    pub(crate) endpoint: Endpoint,
    /// Space for the next message, if any. What was reserved and not sent stays here until the next reservation.
    pub(crate) space: Space,
    pub(crate) waiter: Waiter,
}

impl MemoryLink {
    pub(crate) fn new(endpoint: Endpoint, waiting: Waiting) -> Self {
        Self { endpoint, space: Space::none(), waiter: Waiter::new(waiting) }
    }

    #[inline(always)]
    pub(crate) fn wait(&mut self, want: Want, deadline: Option<u64>) -> Result<(), WaitError> {
        self.waiter.wait(&mut self.endpoint, want, deadline)
    }

    /// Waits until a quarter of what is in the ring is consumed.
    #[cold]
    pub(crate) fn wait_for_slots(&mut self, deadline: Option<u64>) -> Result<(), WaitError> {
        let known = self.endpoint.known_consumed();
        let quarter = (self.endpoint.published() - known) / 4;
        self.wait(Want::Consumed(known + quarter - 1), deadline)
    }
}
