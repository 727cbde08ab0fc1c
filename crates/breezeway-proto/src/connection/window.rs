//! Receive windows: the messages and bytes that a sender may have in flight on a stream.

use crate::violation::StreamViolation;
use crate::window::Window;

/// Rest of a window. A message may start while there is some of it, and may overdraw the bytes, so
/// that one larger than the window still passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Credit {
    whole: Window,
    messages: u32,
    bytes: i64,
}

impl Credit {
    /// Returns the credit of a whole window.
    pub(crate) fn new(whole: Window) -> Self {
        let bytes = i64::try_from(whole.bytes).unwrap_or(i64::MAX);
        Self { whole, messages: whole.messages, bytes }
    }

    /// Returns true if a message may start.
    #[inline]
    pub(crate) fn allows_a_message(&self) -> bool {
        self.messages > 0 && self.bytes > 0
    }

    /// Deducts a message of `len` bytes that was sent or received.
    #[inline]
    pub(crate) fn spend(&mut self, len: usize) {
        self.messages -= 1;
        self.bytes -= i64::try_from(len).unwrap_or(i64::MAX);
    }

    /// Adds the messages and bytes that the receiver has consumed. More than was spent is a
    /// violation. Returns true if messages may start now that might not before.
    #[inline]
    pub(crate) fn add(&mut self, consumed: Window) -> Result<bool, StreamViolation> {
        let too_much = StreamViolation::WindowOverflow(consumed);
        let bytes = i64::try_from(consumed.bytes).map_err(|_| too_much.clone())?;
        let messages = self.messages.checked_add(consumed.messages);
        let bytes = self.bytes.checked_add(bytes);
        let whole = Self::new(self.whole);
        match (messages, bytes) {
            (Some(messages), Some(bytes)) if messages <= whole.messages && bytes <= whole.bytes => {
                let was_used_up = !self.allows_a_message();
                (self.messages, self.bytes) = (messages, bytes);
                Ok(was_used_up && self.allows_a_message())
            }
            _ => Err(too_much),
        }
    }
}

/// Receiver's half of a window: the credit of the peer, and the amount to be returned to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    credit: Credit,
    consumed: Window,
}

impl Granted {
    pub(crate) fn new(whole: Window) -> Self {
        Self { credit: Credit::new(whole), consumed: Window::default() }
    }

    /// Validates a received message.
    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Result<(), StreamViolation> {
        if !self.credit.allows_a_message() {
            return Err(StreamViolation::WindowExceeded);
        }
        self.credit.spend(len);
        Ok(())
    }

    /// Records that a message was consumed. Returns true if the consumed amount is now to be
    /// returned to the peer.
    #[inline]
    pub(crate) fn consume(&mut self, len: usize) -> bool {
        self.consumed.add(len);
        self.due().is_some()
    }

    /// Returns the amount to be returned to the peer, once that is half of the window.
    #[inline]
    pub(crate) fn due(&self) -> Option<Window> {
        self.consumed.is_half_of(self.credit.whole).then_some(self.consumed)
    }

    /// Records that the consumed amount was returned to the peer.
    pub(crate) fn give_back(&mut self) {
        let consumed = std::mem::take(&mut self.consumed);
        self.credit.add(consumed).expect("what was consumed was spent before");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Window = Window { messages: 4, bytes: 100 };

    #[test]
    fn a_message_may_overdraw_the_bytes_once() {
        let mut credit = Credit::new(WHOLE);
        credit.spend(99);
        assert!(credit.allows_a_message());
        credit.spend(1_000);
        assert!(!credit.allows_a_message());
        credit.add(Window { messages: 1, bytes: 99 }).unwrap();
        assert!(!credit.allows_a_message());
        credit.add(Window { messages: 1, bytes: 1_000 }).unwrap();
        assert_eq!(credit, Credit::new(WHOLE));
    }

    #[test]
    fn messages_without_bytes_use_up_the_messages() {
        let mut granted = Granted::new(WHOLE);
        for _ in 0..4 {
            granted.take(0).unwrap();
        }
        assert_eq!(granted.take(0), Err(StreamViolation::WindowExceeded));
    }

    #[test]
    fn more_than_was_spent_is_not_taken_back() {
        let mut credit = Credit::new(WHOLE);
        credit.spend(10);
        for consumed in [
            Window { messages: 2, bytes: 0 },
            Window { messages: 1, bytes: 11 },
            Window { messages: u32::MAX, bytes: 0 },
            Window { messages: 0, bytes: u64::MAX },
            Window { messages: 0, bytes: i64::MAX as u64 },
        ] {
            let before = credit;
            assert_eq!(credit.add(consumed), Err(StreamViolation::WindowOverflow(consumed)));
            assert_eq!(credit, before);
        }
    }

    #[test]
    fn window_is_granted_again_by_halves() {
        let mut granted = Granted::new(WHOLE);
        for len in [1, 1, 30] {
            granted.take(len).unwrap();
        }
        assert!(!granted.consume(1));
        assert!(granted.consume(1));
        assert_eq!(granted.due(), Some(Window { messages: 2, bytes: 2 }));
        granted.give_back();
        assert!(!granted.consume(30));
        granted.take(60).unwrap();
        assert!(granted.consume(60));
    }

    #[test]
    fn a_window_of_one_message_is_given_back_after_each() {
        let mut granted = Granted::new(Window { messages: 1, bytes: 1 });
        granted.take(0).unwrap();
        assert!(granted.consume(0));
    }
}
