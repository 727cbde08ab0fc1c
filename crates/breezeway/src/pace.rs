//! How far a sender of messages without replies runs ahead of the receiver.
//!
//! A sender that takes ever new memory writes what no cache holds, and the receiver reads it from
//! there. So from [`PACED_FROM`] bytes on, a message waits while too much is under way, for a
//! moment only: a receiver that keeps what it was sent, as one that defers its calls, is not waited
//! for twice.

use std::time::Duration;

use breezeway_os::cpu;

/// Messages below this never wait: a ring full of them fits into a cache.
pub(crate) const PACED_FROM: usize = 16 * 1024;
/// How long a message waits for a receiver that releases nothing.
pub(crate) const PATIENCE: Duration = Duration::from_millis(1);
/// The bound where the size of the last cache is not known.
const USUAL: usize = 8 << 20;

/// The bytes that may be under way.
#[derive(Debug)]
pub(crate) struct Pace {
    usual: usize,
    now: usize,
}

impl Pace {
    /// As set, else a quarter of the last cache: others share it, and what is read lies there too.
    pub(crate) fn new(set: Option<u64>) -> Self {
        let usual = match set {
            Some(bytes) => usize::try_from(bytes).unwrap_or(usize::MAX),
            None => cpu::last_cache().map_or(USUAL, |bytes| bytes / 4),
        };
        Self { usual, now: usual }
    }

    /// Whether a message of `len` bytes goes too far ahead with so much under way. One is always
    /// let go.
    #[inline]
    pub(crate) fn is_exceeded(&self, under_way: usize, len: usize) -> bool {
        under_way > 0 && under_way.saturating_add(len) > self.now
    }

    /// The receiver released nothing for so long that waiting is of no use.
    pub(crate) fn widen(&mut self) {
        self.now = self.now.saturating_mul(2).max(1);
    }

    /// So much is under way, and a message may go. If that is little, what was kept has come back.
    pub(crate) fn learn(&mut self, under_way: usize) {
        if under_way <= self.usual / 2 {
            self.now = self.usual;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_may_be_of_any_size() {
        let pace = Pace::new(Some(1000));
        assert!(!pace.is_exceeded(0, 5000));
        assert!(pace.is_exceeded(5000, 1));
        assert!(!pace.is_exceeded(500, 500));
        assert!(pace.is_exceeded(500, 501));
    }

    #[test]
    fn a_receiver_that_releases_nothing_is_soon_not_waited_for() {
        let mut pace = Pace::new(Some(1));
        let widened = (0..64).take_while(|_| {
            let exceeded = pace.is_exceeded(64 << 20, 1 << 20);
            pace.widen();
            exceeded
        });
        assert_eq!(widened.count(), 27);
        pace.learn(1);
        assert!(!pace.is_exceeded(1, 1), "one byte of one is much");
        pace.learn(0);
        assert!(pace.is_exceeded(1, 1));
    }

    #[test]
    fn the_usual_bound_is_some_of_the_last_cache() {
        let pace = Pace::new(None);
        assert!((256 << 10..1 << 30).contains(&pace.usual), "{}", pace.usual);
    }
}
