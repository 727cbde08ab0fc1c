//! Replies for which there was no room: they go out as soon as there is some, and nobody waits.

use std::collections::VecDeque;

use breezeway_shm::{Head, SendError};

use crate::link::{Link, OwnedBody};

/// Replies in the order in which they were made. The client's calls in flight bound their number:
/// those whose reply waits here count.
/// They belong to different calls, so one that lacks memory holds up no other.
#[derive(Default)]
pub(super) struct Outbox {
    replies: VecDeque<(Head, OwnedBody)>,
    /// Whether they lack slots, which all entries need.
    lacks_slots: bool,
}

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.replies.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.replies.len()
    }

    /// Whether what is sent next has to wait behind replies.
    pub(super) fn lacks_slots(&self) -> bool {
        self.lacks_slots
    }

    pub(super) fn push(&mut self, head: Head, body: OwnedBody, lacks_slots: bool) {
        self.lacks_slots |= lacks_slots;
        self.replies.push_back((head, body));
    }

    /// Sends what there is room for. True if any went out.
    pub(super) fn send(&mut self, link: &mut Link) -> Result<bool, SendError> {
        let mut sent = false;
        let mut index = 0;
        self.lacks_slots = false;
        while let Some((head, body)) = self.replies.get_mut(index) {
            match link.send_owned(*head, body) {
                Ok(()) => {
                    sent = true;
                    self.replies.remove(index);
                }
                Err(SendError::Full { .. }) => {
                    self.lacks_slots = true;
                    break;
                }
                // Of the peer's or of the kernel: another reply may need less.
                Err(SendError::NoMemory { .. } | SendError::Segment(_)) => index += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }
}
