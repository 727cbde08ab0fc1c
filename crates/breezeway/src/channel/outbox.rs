//! Replies for which there was no room: they go out as soon as there is some, and nobody waits.

use std::collections::VecDeque;
use std::time::Duration;

use breezeway_os::Deadline;
use breezeway_proto::{ErrorCode, Flags, Head};
use breezeway_shm::SendError;
use breezeway_shm::layout::INLINE_MAX;

use crate::link::{Link, OwnedBody};
use crate::short_reason::short_reason;

/// How long a reply waits for memory where nothing else was said.
const PATIENCE: Duration = Duration::from_secs(1);

/// Replies in the order in which they were made. The client's calls in flight bound their number:
/// those whose reply waits here count. Their bytes are bounded by who asks for them before more
/// calls are begun.
/// They belong to different calls, so one that lacks memory holds up no other.
pub(super) struct Outbox {
    replies: VecDeque<Waiting>,
    bytes: usize,
    /// Whether they lack slots, which all entries need.
    lacks_slots: bool,
    /// Whether the next turn copies a piece of one.
    is_copying: bool,
    /// When the first of them has waited for too long, or earlier.
    until: Deadline,
    /// How long one waits for memory.
    patience: Duration,
}

/// A reply, or another entry, that waits.
struct Waiting {
    head: Head,
    body: OwnedBody,
    /// When it is no longer wanted.
    until: Deadline,
    /// When it has waited for memory for as long as is allowed, while it lacks some.
    memory_until: Option<Deadline>,
    /// True if no further call is served before it was sent.
    is_in_order: bool,
}

impl Waiting {
    /// When it has waited for too long.
    fn until(&self) -> Deadline {
        self.memory_until.map_or(self.until, |until| until.min(self.until))
    }

    /// A failed call needs a slot and no memory.
    fn fail(&mut self, code: ErrorCode, reason: &'static str) {
        debug_assert!(reason.len() <= INLINE_MAX, "an entry holds it: {reason}");
        self.head.flags = Flags::FIN.with(Flags::ERROR);
        self.head.tag = code.number();
        self.body = OwnedBody::Private(reason.as_bytes().to_vec());
        (self.until, self.memory_until) = (Deadline::NEVER, None);
    }
}

impl Default for Outbox {
    fn default() -> Self {
        Self {
            replies: VecDeque::new(),
            bytes: 0,
            lacks_slots: false,
            is_copying: false,
            until: Deadline::NEVER,
            patience: PATIENCE,
        }
    }
}

impl Outbox {
    /// From now on a reply waits for so long for memory.
    pub(super) fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.replies.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.replies.len()
    }

    /// Bytes of what waits.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether what is sent next has to wait behind replies.
    pub(super) fn lacks_slots(&self) -> bool {
        self.lacks_slots
    }

    /// Whether [`Self::send`] has a large reply to copy a piece of.
    pub(super) fn is_copying(&self) -> bool {
        self.is_copying
    }

    /// When [`Self::send`] has something to do although there is no more room.
    pub(super) fn until(&self) -> Deadline {
        self.until
    }

    /// Returns true if no call is to be served before a reply that waits.
    pub(super) fn holds_calls(&self) -> bool {
        self.replies.iter().any(|waiting| waiting.is_in_order)
    }

    /// Lets no further call be served before the entry that was pushed last was sent.
    pub(super) fn hold_calls(&mut self) {
        if let Some(waiting) = self.replies.back_mut() {
            waiting.is_in_order = true;
        }
    }

    /// Keeps an entry that nobody wants after `until`.
    pub(super) fn push(&mut self, head: Head, body: OwnedBody, lacks_slots: bool, until: Deadline) {
        self.lacks_slots |= lacks_slots;
        self.bytes += body.len();
        self.is_copying |= body.is_copying();
        let lacks_memory = !lacks_slots && !body.is_copying();
        let memory_until = lacks_memory.then(|| Deadline::after(self.patience));
        let waiting = Waiting { head, body, until, memory_until, is_in_order: false };
        self.until = self.until.min(waiting.until());
        self.replies.push_back(waiting);
    }

    /// Sends what there is room for, and fails what has waited for too long; true if anything was
    /// done. Of large copies it makes one piece, and the next call goes on, or if not `in_turns`
    /// all.
    pub(super) fn send(&mut self, link: &mut Link, in_turns: bool) -> Result<bool, SendError> {
        let (mut sent, mut has_copied) = (false, false);
        let mut index = 0;
        (self.lacks_slots, self.is_copying) = (false, false);
        while let Some(waiting) = self.replies.get_mut(index) {
            let len = waiting.body.len();
            if in_turns
                && let OwnedBody::Received(message) = &mut waiting.body
                && let Some(body) = link.in_pieces(message)
            {
                waiting.body = body;
            }
            let mut send = || {
                while waiting.body.is_copying() && !(in_turns && has_copied) {
                    link.copy_piece(&mut waiting.body)?;
                    (sent, has_copied) = (true, true);
                    if !waiting.body.lacks_place() {
                        waiting.memory_until = None;
                    }
                }
                if waiting.body.is_copying() {
                    return Ok(false);
                }
                link.send_owned(waiting.head, &mut waiting.body).map(|()| true)
            };
            match send() {
                // Its turns are for others.
                Ok(false) if waiting.until.has_passed() => {
                    waiting.fail(ErrorCode::DeadlinePassed, "the reply was not copied in time");
                    self.bytes = self.bytes - len + waiting.body.len();
                }
                Ok(false) => {
                    self.is_copying = true;
                    index += 1;
                }
                Ok(true) => {
                    sent = true;
                    self.bytes -= len;
                    self.replies.remove(index);
                }
                Err(SendError::Full { .. }) => {
                    self.lacks_slots = true;
                    break;
                }
                // Of the peer's or of the kernel: another reply may need less.
                Err(error @ (SendError::NoMemory { .. } | SendError::Segment(_))) => {
                    let patience = self.patience;
                    waiting.memory_until.get_or_insert_with(|| Deadline::after(patience));
                    if waiting.until().has_passed() {
                        let refused = match &error {
                            SendError::Segment(error) => Some(error),
                            _ => None,
                        };
                        waiting.fail(ErrorCode::NoMemory, short_reason(refused));
                        self.bytes = self.bytes - len + waiting.body.len();
                    } else {
                        index += 1;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        self.fail_late_ones(index);
        Ok(sent)
    }

    /// Those from `first` on found no slot.
    fn fail_late_ones(&mut self, first: usize) {
        for waiting in self.replies.range_mut(first..) {
            if waiting.until().has_passed() {
                let len = waiting.body.len();
                let (code, reason) = match waiting.memory_until.is_some() {
                    true => (ErrorCode::NoMemory, "the reply found no payload memory in time"),
                    false => (ErrorCode::DeadlinePassed, "the reply found no room in time"),
                };
                waiting.fail(code, reason);
                self.bytes = self.bytes - len + waiting.body.len();
            }
        }
        self.until = self.replies.iter().map(Waiting::until).min().unwrap_or(Deadline::NEVER);
    }
}

#[cfg(test)]
mod tests;
