//! The settings of a session, the same on both sides.

use std::time::Duration;

use breezeway_shm::WaitPolicy;
use breezeway_shm::layout::RING_CAPACITY;
use thiserror::Error;

use crate::carrier::Carrier;
use crate::hello::{CAP_UNIT, Hello};

/// Lend numbers that each side keeps release bits for: one cache line of bits.
const LEND_COUNT: u32 = 512;

/// The longest that a handshake may be given.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(3600);

/// Settings of a session. Both sides have their own; of limits, the smaller value counts.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    pub(crate) wait: WaitPolicy,
    pub(crate) cap: u64,
    pub(crate) ring_capacity: u32,
    pub(crate) handshake_timeout: Duration,
    pub(crate) call_timeout: Option<Duration>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            wait: WaitPolicy::Adaptive,
            cap: 64 * 1024 * 1024,
            ring_capacity: 256,
            handshake_timeout: Duration::from_secs(1),
            call_timeout: None,
        }
    }
}

/// A setting outside its range.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{option} = {value} is not possible: {allowed}")]
pub struct OptionError {
    option: &'static str,
    value: String,
    allowed: &'static str,
}

impl OptionError {
    /// Refuses a value outside its range.
    pub(crate) fn check<T: PartialOrd + std::fmt::Display>(
        option: &'static str,
        value: T,
        range: std::ops::RangeInclusive<T>,
        allowed: &'static str,
    ) -> Result<(), Self> {
        if range.contains(&value) {
            Ok(())
        } else {
            Err(Self { option, value: value.to_string(), allowed })
        }
    }
}

impl SessionOptions {
    /// The defaults: adaptive waiting, a cap of 64 MiB, a ring of 256 entries, 1 s for the handshake, no timeout for calls.
    pub fn new() -> Self {
        Self::default()
    }

    /// How this side waits. Default [`WaitPolicy::Adaptive`].
    pub fn wait(mut self, policy: WaitPolicy) -> Self {
        self.wait = policy;
        self
    }

    /// The most payload memory per direction, in bytes, and so the largest message; rounded up to whole pages. Memory is taken as messages need it. Default 64 MiB.
    pub fn cap(mut self, bytes: u64) -> Self {
        self.cap = bytes;
        self
    }

    /// Entries in the ring that this side fills: a power of two, 8..=65536. Half of it (the smaller half of both sides) is the most calls in flight. A server takes the client's value, up to 1024. Default 256.
    pub fn ring_capacity(mut self, entries: u32) -> Self {
        self.ring_capacity = entries;
        self
    }

    /// How long the other side may take to answer the hello. Default 1 s.
    pub fn handshake_timeout(mut self, timeout: Duration) -> Self {
        self.handshake_timeout = timeout;
        self
    }

    /// How long a call may take, from its start to its reply; `None`, the default, waits until the peer answers or dies.
    pub fn call_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// Refuses values outside their ranges.
    pub(crate) fn validate(&self) -> Result<(), OptionError> {
        let bad = |option, value: String, allowed| Err(OptionError { option, value, allowed });
        let capacity = self.ring_capacity;
        if !capacity.is_power_of_two() || !RING_CAPACITY.contains(&capacity) {
            return bad("ring_capacity", capacity.to_string(), "a power of two in 8..=65536");
        }
        if self.cap == 0 || self.cap > 1 << 40 {
            return bad("cap", self.cap.to_string(), "1 byte to 1 TiB");
        }
        if self.handshake_timeout.is_zero() || self.handshake_timeout > LONGEST_HANDSHAKE {
            let value = format!("{:?}", self.handshake_timeout);
            return bad("handshake_timeout", value, "more than nothing, at most an hour");
        }
        Ok(())
    }

    /// The terms for the other side.
    pub(crate) fn hello(&self, carrier: Carrier) -> Hello {
        Hello {
            ring_capacity: self.ring_capacity,
            lend_count: LEND_COUNT,
            payload_cap: self.cap.next_multiple_of(CAP_UNIT),
            memory: carrier == Carrier::Shm,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_possible() {
        assert_eq!(SessionOptions::new().validate(), Ok(()));
    }

    #[test]
    fn impossible_values_are_refused_by_name() {
        let options = SessionOptions::new;
        for (options, name) in [
            (options().ring_capacity(0), "ring_capacity"),
            (options().ring_capacity(4), "ring_capacity"),
            (options().ring_capacity(100), "ring_capacity"),
            (options().cap(0), "cap"),
            (options().cap(u64::MAX), "cap"),
            (options().handshake_timeout(Duration::ZERO), "handshake_timeout"),
            (options().handshake_timeout(Duration::MAX), "handshake_timeout"),
        ] {
            assert!(options.validate().unwrap_err().to_string().starts_with(name));
        }
    }
}
