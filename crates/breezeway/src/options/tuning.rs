//! Settings whose defaults are measured, for tests and measurements.

use std::time::Duration;

use super::SessionOptions;

/// Settings of a session whose defaults suit every program that was measured.
pub trait Tuning {
    /// Sets the longest time that [`WaitPolicy::Adaptive`](crate::WaitPolicy) spins before it
    /// sleeps, 0 s to 1 s; for slots of a full ring also that of
    /// [`WaitPolicy::Park`](crate::WaitPolicy), which 0 s keeps from spinning at all. Default 100
    /// µs, about two wake-ups of a sleeping process: a caller whose server must be woken still
    /// receives the reply without sleeping.
    fn spin_bound(self, longest: Duration) -> Self;

    /// Sets the time without use after which this side frees one of its payload segments, 0 s to 1
    /// h. The largest free segment, which the next large message needs, is kept ten times as long.
    /// There are no timers: an unused session keeps its memory until it is used again. Default 1 s.
    fn shrink_after(self, time: Duration) -> Self;

    /// Sets the number of bytes of messages without replies that may be in flight in shared memory
    /// before the next one waits for the server: 1 byte to 1 TiB; a value of the cap or more sets
    /// no bound. Messages written far ahead have left the caches when they are read. One message
    /// may always be in flight. Messages below 16 KiB, calls with an awaited reply, messages of
    /// `try_` methods and messages of streams never wait, and no message waits longer than some
    /// milliseconds for a server that keeps the messages it was sent. `None`, the default, is a
    /// quarter of a CPU's last cache.
    fn under_way(self, bytes: Option<u64>) -> Self;
}

impl Tuning for SessionOptions {
    fn spin_bound(mut self, longest: Duration) -> Self {
        self.spin_bound = longest;
        self
    }

    fn shrink_after(mut self, time: Duration) -> Self {
        self.shrink_after = time;
        self
    }

    fn under_way(mut self, bytes: Option<u64>) -> Self {
        self.under_way = bytes;
        self
    }
}
