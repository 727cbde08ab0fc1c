//! Constants of the choices between ways to write payload and to back its memory, each with its
//! unit and reason. Those of segments are in `breezeway-shm`, in a file of the same name. (Figures:
//! `docs/reports/2026-11-29-constants.md`.)

use std::time::Duration;

/// Methods of writing large payload, by the distance of the peer's CPU.
pub(crate) mod distance {
    use super::Duration;

    /// Large payloads between two samples, each of which costs the transfer of a line.
    pub(crate) const SAMPLE_EVERY: u32 = 8;
    /// Upper bound of the load of a line from this CPU's own cache: no line arrives sooner from
    /// another CPU.
    pub(crate) const OWN_CACHE: Duration = Duration::from_nanos(40);
    /// Upper bound of the load of a line from a near cache.
    pub(crate) const NEAR: Duration = Duration::from_nanos(100);
    /// Lower bound of the load of a line from another socket. Between the two bounds are caches of
    /// the same socket, where the better method depends on the CPU model.
    pub(crate) const FAR: Duration = Duration::from_nanos(250);
    /// Lower bound of an interrupted sample: slower than any line.
    pub(crate) const INTERRUPTED: Duration = Duration::from_micros(2);
    /// Samples that have to agree: one may be odd.
    pub(crate) const SAMPLES: i8 = 2;

    /// Payloads written by one method, in a trial of both, before the time is taken.
    pub(crate) const RUN: u32 = 32;
    /// Majority of agreeing trials that decides for the process.
    pub(crate) const MAJORITY: i8 = 6;
    /// Factor by which a method must be faster to count as faster: simultaneous trials, such as the
    /// peer's, and all time spent beside the payload make both methods look alike.
    pub(crate) const CLEARLY: f64 = 1.2;
    /// Nanoseconds per byte above which a run was mostly idle.
    pub(crate) const IDLE: f64 = 10.0;
}

/// Huge pages behind large segments.
pub(crate) mod huge {
    use super::Duration;

    /// Size of a huge page in bytes. Collapsing fails on machines with huge pages of another size.
    pub(crate) const HUGE: usize = 2 << 20;
    /// Bytes of a segment up to which small pages take little more time than a huge one, and far
    /// less memory.
    pub(crate) const SMALL: usize = 512 * 1024;
    /// Time after a failure in which no huge page is requested.
    pub(crate) const PAUSE: Duration = Duration::from_secs(1);
    /// Lower bound of the time that small pages take in place of a huge one.
    pub(crate) const SMALL_ONES: Duration = Duration::from_millis(1);
    /// Number of segments over which the average time of a page is taken: while that is longer than
    /// small pages take, no huge page is requested. A page can take long by chance: the kernel asks
    /// every CPU for pages not yet counted, and waits behind the running thread, for up to a tick.
    /// But it may also have to move other pages to make one, each time.
    pub(crate) const WINDOW: u64 = 16;
    /// Limit of one page's weight, as a multiple of the small pages' time: a single slow page does
    /// not stop the requests, and its influence soon fades.
    pub(crate) const MOST: u64 = 8;
    /// Multiple of the average, or of the last page's time, in which no huge page is requested, up
    /// to [`PAUSE`].
    pub(crate) const REST: u64 = 16;
}
