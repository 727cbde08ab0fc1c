//! The window of one-way messages, which belong to no stream: whoever does not take them up stops
//! their sender, and nothing else.

use super::window::{Credit, Granted, Window};
use crate::violation::StreamViolation;

/// What one side may send, and what it has granted the other.
pub(super) struct OneWay {
    credit: Credit,
    granted: Granted,
}

impl OneWay {
    /// Both sides grant the same.
    #[inline]
    pub(super) fn new(window: Window) -> Self {
        Self { credit: Credit::new(window), granted: Granted::new(window) }
    }

    /// Whether a message may be sent.
    #[inline]
    pub(super) fn may_send(&self) -> bool {
        self.credit.allows_a_message()
    }

    /// A message that [`Self::may_send`] allowed was published.
    #[inline]
    pub(super) fn sent(&mut self, len: usize) {
        self.credit.spend(len);
    }

    /// The peer has consumed some; whether messages may be sent again that might not before.
    #[inline]
    pub(super) fn receive_window(&mut self, consumed: Window) -> Result<bool, StreamViolation> {
        let was_full = !self.may_send();
        self.credit.add(consumed)?;
        Ok(was_full && self.may_send())
    }

    /// Validates a message that came.
    #[inline]
    pub(super) fn receive(&mut self, len: usize) -> Result<(), StreamViolation> {
        self.granted.take(len)
    }

    /// A message was served.
    #[inline]
    pub(super) fn consume(&mut self, len: usize) {
        self.granted.consume(len);
    }

    /// What the peer is to be given back, if that is due.
    #[inline]
    pub(super) fn window_due(&self) -> Option<Window> {
        self.granted.is_due().then(|| self.granted.consumed())
    }

    #[inline]
    pub(super) fn window_sent(&mut self) {
        self.granted.give_back();
    }
}
