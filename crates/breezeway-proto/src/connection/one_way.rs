//! Window of one-way messages, which do not belong to a stream: an application that does not take
//! them stops their sender, and nothing else.

use super::window::{Credit, Granted, Window};
use crate::violation::StreamViolation;

/// Credit of this side, and the window that it has granted to the peer.
pub(super) struct OneWay {
    credit: Credit,
    granted: Granted,
}

impl OneWay {
    /// Creates the windows. Both sides grant the same one.
    #[inline]
    pub(super) fn new(window: Window) -> Self {
        Self { credit: Credit::new(window), granted: Granted::new(window) }
    }

    /// Returns true if a message may be sent.
    #[inline]
    pub(super) fn may_send(&self) -> bool {
        self.credit.allows_a_message()
    }

    /// Records that a message that [`Self::may_send`] allowed was published.
    #[inline]
    pub(super) fn sent(&mut self, len: usize) {
        self.credit.spend(len);
    }

    /// Adds the amount that the peer has consumed. Returns true if messages may be sent now that
    /// might not before.
    #[inline]
    pub(super) fn receive_window(&mut self, consumed: Window) -> Result<bool, StreamViolation> {
        let was_full = !self.may_send();
        self.credit.add(consumed)?;
        Ok(was_full && self.may_send())
    }

    /// Validates a received message.
    #[inline]
    pub(super) fn receive(&mut self, len: usize) -> Result<(), StreamViolation> {
        self.granted.take(len)
    }

    /// Records that a message was served.
    #[inline]
    pub(super) fn consume(&mut self, len: usize) {
        self.granted.consume(len);
    }

    /// Returns the amount to be returned to the peer, if that is due.
    #[inline]
    pub(super) fn window_due(&self) -> Option<Window> {
        self.granted.is_due().then(|| self.granted.consumed())
    }

    #[inline]
    pub(super) fn window_sent(&mut self) {
        self.granted.give_back();
    }
}
