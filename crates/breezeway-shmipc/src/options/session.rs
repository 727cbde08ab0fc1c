//! The settings of a session.

use std::time::Duration;

use breezeway_os::WaitPolicy;

use super::OptionError;

/// Maximum number of streams: they are numbered with 32 bits.
const MOST_STREAMS: u64 = u32::MAX as u64;

/// Action when the queue is full, because the peer has not taken earlier messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Wait, while receiving, until there is room or the timeout passes.
    #[default]
    Wait,
    /// Fail with [`StreamError::QueueFull`](crate::StreamError::QueueFull); the unsent data stays
    /// with the caller.
    Fail,
}

/// Action when the shared memory is exhausted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenExhausted {
    /// Wait a moment, then send over the socket, as upstream does. From then on the whole stream
    /// goes over the socket.
    #[default]
    UseSocket,
    /// Wait, while receiving, until there is memory or the timeout passes.
    Wait,
    /// Fail with [`StreamError::MemoryExhausted`](crate::StreamError::MemoryExhausted).
    Fail,
}

/// Settings of a session, on either side.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    pub(crate) wait: WaitPolicy,
    pub(crate) when_full: WhenFull,
    pub(crate) when_exhausted: WhenExhausted,
    pub(crate) patience: Duration,
    pub(crate) max_streams: usize,
    pub(crate) fallback_limit: usize,
    pub(crate) handshake_timeout: Duration,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            wait: WaitPolicy::Adaptive,
            when_full: WhenFull::Wait,
            when_exhausted: WhenExhausted::UseSocket,
            patience: Duration::from_millis(2),
            max_streams: 65_536,
            fallback_limit: 64 << 20,
            handshake_timeout: Duration::from_secs(1),
        }
    }
}

impl SessionOptions {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the wait policy of this side. Default [`WaitPolicy::Adaptive`]. Tasks under
    /// [`WaitPolicy::Busy`] poll for 100 µs in every wait and then sleep, because their runtime has
    /// to read the socket.
    pub fn wait(mut self, policy: WaitPolicy) -> Self {
        self.wait = policy;
        self
    }

    /// Sets the action when the queue is full. Default: wait.
    pub fn when_full(mut self, choice: WhenFull) -> Self {
        self.when_full = choice;
        self
    }

    /// Sets the action when the shared memory is exhausted. Default: wait for [`Self::patience`],
    /// then use the socket.
    pub fn when_exhausted(mut self, choice: WhenExhausted) -> Self {
        self.when_exhausted = choice;
        self
    }

    /// Sets the time to wait for shared memory before the socket is used. Default 2 ms.
    pub fn patience(mut self, duration: Duration) -> Self {
        self.patience = duration;
        self
    }

    /// Sets the maximum number of streams of a session, at least 1. A peer's stream beyond that is
    /// closed at once. Default 65536.
    pub fn max_streams(mut self, count: usize) -> Self {
        self.max_streams = count;
        self
    }

    /// Sets the maximum of unread bytes received over the socket. Beyond that the socket is not
    /// read, which makes the peer wait, and delays ends of streams as well, because the socket may
    /// hold bytes that were sent before them. Default 64 MiB.
    pub fn fallback_limit(mut self, bytes: usize) -> Self {
        self.fallback_limit = bytes;
        self
    }

    /// Sets the maximum time of the peer's handshake. Default 1 s. Servers of Thrift over shmipc
    /// also close a stream that receives no byte for this time within its first message.
    pub fn handshake_timeout(mut self, duration: Duration) -> Self {
        self.handshake_timeout = duration;
        self
    }

    /// Fails if a value is invalid.
    pub fn validate(&self) -> Result<(), OptionError> {
        let (streams, held) = (self.max_streams as u64, self.fallback_limit);
        OptionError::check("max_streams", streams, 1..=MOST_STREAMS, "in 1..=4294967295")?;
        OptionError::check("fallback_limit", held, 1..=usize::MAX, "at least 1 byte")?;
        let (timeout, is_some) = (self.handshake_timeout, !self.handshake_timeout.is_zero());
        OptionError::check_that(
            is_some,
            "handshake_timeout",
            format_args!("{timeout:?}"),
            "longer than nothing",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::assert_refused;
    use super::*;

    #[test]
    fn invalid_option_is_refused_with_value_and_range() {
        let options = SessionOptions::new;
        assert_refused(
            options().max_streams(0).validate(),
            "max_streams = 0 is not in 1..=4294967295",
        );
        assert_refused(
            options().max_streams(1 << 32).validate(),
            "max_streams = 4294967296 is not in 1..=4294967295",
        );
        assert_refused(
            options().fallback_limit(0).validate(),
            "fallback_limit = 0 is not at least 1 byte",
        );
        assert_refused(
            options().handshake_timeout(Duration::ZERO).validate(),
            "handshake_timeout = 0ns is not longer than nothing",
        );
        assert!(options().validate().is_ok());
    }
}
