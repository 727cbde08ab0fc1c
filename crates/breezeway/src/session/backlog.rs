//! Entries that found no room: the driver's turns send them.

use std::time::Duration;

use breezeway_os::Deadline;
use breezeway_proto::Head;
use breezeway_proto::connection::{Attempt, BacklogBody, Lack};
use breezeway_shm::SendError;
use breezeway_shm::layout::INLINE_MAX;

use super::state::State;
use crate::carrier::Body;
use crate::error::CallError;
use crate::link::{Link, OwnedBody};
use crate::reasons::short_reason;
use crate::time::{now, to_time};

/// Default time for which a reply waits for memory.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

impl State {
    /// Keeps an entry that is not wanted after `until`.
    pub(super) fn keep(&mut self, head: Head, body: OwnedBody, lack: Lack, until: Deadline) {
        let body_len = body.len();
        self.connection.backlog.push(head, (body, body_len), lack, to_time(until), now());
    }

    /// Sends the entries that find room, and fails those that have waited for too long. Returns
    /// true if anything was done. A driver's turn copies one piece of a large message.
    pub(super) fn send_backlog(&mut self) -> Result<bool, CallError> {
        if self.connection.backlog.is_empty() {
            return Ok(false);
        }
        let was_full = self.is_backlog_full();
        // A session that ends gets only a few more turns.
        let in_turns = self.has_driver && !self.is_ended();
        let (mut sent, mut has_copied) = (false, false);
        let backlog = &mut self.connection.backlog;
        let now = now();
        backlog.begin_pass();
        while let Some((head, content)) = backlog.next_transmit() {
            let may_copy = !(in_turns && has_copied);
            let attempt = match attempt(&mut self.link, head, content, in_turns, may_copy) {
                Ok(attempt) => attempt,
                Err(SendError::Full { .. }) => Attempt::NoSlot,
                Err(SendError::NoMemory { .. }) => Attempt::NoMemory(short_reason(None)),
                Err(SendError::Segment(error)) => Attempt::NoMemory(short_reason(Some(&error))),
                Err(error) => return Err(CallError::of_send(error)),
            };
            has_copied |= matches!(attempt, Attempt::Copied { .. });
            sent |= has_copied || attempt == Attempt::Sent;
            backlog.attempted(attempt, now);
        }
        self.unflushed |= sent;
        if was_full && !self.is_backlog_full() {
            self.due.append(&mut self.awaiting.arrival);
            // Some drivers accept the arrivals themselves.
            self.wake_driver();
        }
        Ok(sent)
    }
}

/// Sends an entry, or copies a piece of its body first if it `may_copy`.
fn attempt(
    link: &mut Link,
    head: Head,
    content: &mut BacklogBody<OwnedBody>,
    in_turns: bool,
    may_copy: bool,
) -> Result<Attempt, SendError> {
    let body = match content {
        BacklogBody::Own(body) => body,
        BacklogBody::Reason(reason) => {
            debug_assert!(reason.len() <= INLINE_MAX, "an entry holds it: {reason}");
            return link.send(head, Body::Bytes(reason.as_bytes())).map(|()| Attempt::Sent);
        }
    };
    if in_turns
        && let OwnedBody::Received(message) = body
        && let Some(in_pieces) = OwnedBody::in_pieces(link.carrier, message)
    {
        *body = in_pieces;
    }
    if body.is_copying() && !may_copy {
        return Ok(Attempt::Later);
    }
    let is_sent = link.send_owned(head, body)?;
    let copied = Attempt::Copied { has_memory: !body.lacks_place() };
    Ok(if is_sent { Attempt::Sent } else { copied })
}

#[cfg(test)]
mod tests;
