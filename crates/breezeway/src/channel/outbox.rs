//! Replies for which there was no room: they go out before anything else, and nobody waits.

use std::collections::VecDeque;

use breezeway_shm::Head;

use crate::link::{Body, Link};
use breezeway_shm::SendError;

/// Replies in the order in which they were made. The client's calls in flight bound their number.
#[derive(Default)]
pub(super) struct Outbox {
    replies: VecDeque<(Head, Vec<u8>)>,
}

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.replies.is_empty()
    }

    pub(super) fn push(&mut self, head: Head, body: Vec<u8>) {
        self.replies.push_back((head, body));
    }

    /// Sends what there is room for. True if any went out.
    pub(super) fn send(&mut self, link: &mut Link) -> Result<bool, SendError> {
        let mut sent = false;
        while let Some((head, body)) = self.replies.front() {
            match link.send(*head, Body::Bytes(body)) {
                Ok(()) => sent = true,
                Err(SendError::Full { .. } | SendError::NoMemory { .. }) => return Ok(sent),
                // The kernel gives no memory now: the reply waits, as for the peer's.
                Err(SendError::Segment(_)) => return Ok(sent),
                Err(error) => return Err(error),
            }
            self.replies.pop_front();
        }
        Ok(sent)
    }
}
