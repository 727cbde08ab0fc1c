//! Bound on the bytes by which a sender of messages without replies runs ahead of the receiver.
//!
//! A sender that always takes new memory writes lines that are in no cache, and the receiver reads
//! them from memory. So from [`THROTTLED_FROM`] bytes on, a message waits while too much is in
//! flight, for a bounded time. The sender does not wait twice for a receiver that keeps its
//! messages, such as one that defers its calls.

use std::time::Duration;

/// Smallest message size that may wait: a ring full of smaller ones fits into a cache.
pub const THROTTLED_FROM: usize = 16 * 1024;
/// Time that a message waits for a receiver that releases nothing.
pub const PATIENCE: Duration = Duration::from_millis(1);

/// Bound on the bytes that may be in flight.
#[derive(Debug)]
pub struct Throttle {
    usual: usize,
    now: usize,
}

/// Wait of one message.
#[derive(Debug)]
pub struct Hold {
    /// Fewest bytes that were in flight since the wait began.
    least: usize,
}

impl Default for Hold {
    fn default() -> Self {
        Self { least: usize::MAX }
    }
}

/// Next step of a message that is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admit {
    /// The message is sent.
    Now,
    /// The message waits for [`PATIENCE`] from now on: less is in flight than before.
    Anew,
    /// The message continues its wait. (Released bytes that other messages take do not extend the
    /// wait.)
    Later,
}

impl Throttle {
    /// Creates a throttle that allows `usual` bytes in flight.
    pub fn new(usual: usize) -> Self {
        Self { usual, now: usual }
    }

    /// Returns true if a message of `len` bytes exceeds the bound with the bytes in flight. A
    /// message may always be sent if nothing is in flight.
    #[inline]
    pub fn is_exceeded(&self, in_flight: usize, len: usize) -> bool {
        in_flight > 0 && in_flight.saturating_add(len) > self.now
    }

    /// Decides about a message of `len` bytes that was held back.
    pub fn admit(&mut self, in_flight: usize, len: usize, hold: &mut Hold) -> Admit {
        if !self.is_exceeded(in_flight, len) {
            self.learn(in_flight);
            return Admit::Now;
        }
        if in_flight < hold.least {
            hold.least = in_flight;
            return Admit::Anew;
        }
        Admit::Later
    }

    /// Doubles the bound: the receiver has released nothing for [`PATIENCE`], or for as long as the
    /// message may wait. If the message is still held back, its wait [restarts](Admit::Anew).
    pub fn expire(&mut self, hold: &mut Hold) {
        self.now = self.now.saturating_mul(2).max(1);
        *hold = Hold::default();
    }

    /// Restores the usual bound if so little is in flight that the receiver has released the
    /// messages that it kept.
    fn learn(&mut self, in_flight: usize) {
        if in_flight <= self.usual / 2 {
            self.now = self.usual;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_may_be_of_any_size() {
        let throttle = Throttle::new(1000);
        assert!(!throttle.is_exceeded(0, 5000));
        assert!(throttle.is_exceeded(5000, 1));
        assert!(!throttle.is_exceeded(500, 500));
        assert!(throttle.is_exceeded(500, 501));
    }

    #[test]
    fn a_receiver_that_releases_nothing_is_soon_not_waited_for() {
        let mut throttle = Throttle::new(1);
        let widened = (0..64).take_while(|_| {
            let exceeded = throttle.is_exceeded(64 << 20, 1 << 20);
            throttle.expire(&mut Hold::default());
            exceeded
        });
        assert_eq!(widened.count(), 27);
        throttle.learn(1);
        assert!(!throttle.is_exceeded(1, 1), "one byte of one is much");
        throttle.learn(0);
        assert!(throttle.is_exceeded(1, 1));
    }

    #[test]
    fn patience_begins_anew_with_each_doubling() {
        let (mut throttle, mut hold) = (Throttle::new(1000), Hold::default());
        for expected in [Admit::Anew, Admit::Anew, Admit::Now] {
            assert_eq!(throttle.admit(3000, 500, &mut hold), expected);
            throttle.expire(&mut hold);
        }
    }

    #[test]
    fn patience_begins_anew_with_less_in_flight_than_ever() {
        let (mut throttle, mut hold) = (Throttle::new(1000), Hold::default());
        for (in_flight, expected) in [
            (3000, Admit::Anew),
            (3000, Admit::Later),
            (2000, Admit::Anew),
            (2500, Admit::Later),
            (2000, Admit::Later),
            (500, Admit::Now),
        ] {
            assert_eq!(throttle.admit(in_flight, 500, &mut hold), expected, "{in_flight}");
        }
    }
}
