//! Settings of a session, the same on both sides.

use std::sync::Arc;
use std::time::Duration;

use breezeway_os::{Peer, TrustedPeer, WaitPolicy, Waiting, cpu};
use breezeway_proto::connection::{StreamTerms, Window};
use breezeway_proto::hello::{CAP_UNIT, Hello, segment_cap};
use breezeway_shm::Limits;
use breezeway_shm::layout::{RING_CAPACITY, control_size};

use super::TrustPolicy;
use crate::carrier::Carrier;
use crate::carrier::tls::Tls;
use crate::error::OptionError;

/// Number of lends that each side keeps release bits for: one cache line of bits.
const LEND_COUNT: u32 = 512;

/// Bytes in flight if the size of the last cache is not known.
const USUAL_IN_FLIGHT: usize = 8 << 20;

/// The largest cap.
const LARGEST_CAP: u64 = 1 << 40;
/// The longest time that any option accepts.
const AN_HOUR: Duration = Duration::from_secs(3600);
/// The longest spin bound; a side that is to spin longer uses `Busy`.
const LONGEST_SPIN: Duration = Duration::from_secs(1);

/// Settings of a session. Each side has its own; of two limits, the smaller value counts.
///
/// Values are checked when they are used, or by [`Self::validate`]; the error names the option, the
/// value and the range.
///
/// ```
/// use std::time::Duration;
/// use breezeway::{SessionOptions, WaitPolicy};
///
/// let second = Some(Duration::from_secs(1));
/// let options = SessionOptions::new().wait(WaitPolicy::Park).cap(8 << 20).call_timeout(second);
/// assert!(options.validate().is_ok());
/// let error = options.ring_capacity(100).validate().unwrap_err();
/// assert_eq!(error.to_string(), "ring_capacity = 100 is not a power of two in 8..=65536");
/// ```
#[derive(Clone, Debug)]
pub struct SessionOptions {
    pub(crate) wait: WaitPolicy,
    pub(super) spin_bound: Duration,
    cap: u64,
    prefault: u64,
    pub(super) shrink_after: Duration,
    pub(crate) under_way: Option<u64>,
    pub(crate) ring_capacity: u32,
    pub(crate) handshake_timeout: Duration,
    pub(crate) call_timeout: Option<Duration>,
    stream_window: Window,
    pub(crate) max_streams: u16,
    max_metadata: u32,
    service: u16,
    pub(crate) trust: TrustPolicy,
    tls: Option<Arc<Tls>>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            wait: WaitPolicy::Adaptive,
            spin_bound: Waiting::SPIN_BOUND,
            cap: 64 * 1024 * 1024,
            prefault: 0,
            shrink_after: Limits::SHRINK_AFTER,
            under_way: None,
            ring_capacity: 256,
            handshake_timeout: Duration::from_secs(1),
            call_timeout: None,
            stream_window: Window { messages: 64, bytes: 1 << 20 },
            max_streams: 1024,
            max_metadata: 16 * 1024,
            service: 0,
            trust: TrustPolicy::default(),
            tls: None,
        }
    }
}

impl SessionOptions {
    /// Creates options with the default values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the time that a call may take, from its start to its reply, 1 ns or more. With `None`,
    /// the default, a call waits until the peer answers or dies.
    pub fn call_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// Sets the wait policy of this side. Default [`WaitPolicy::Adaptive`]. Under
    /// [`WaitPolicy::Park`] an exclusive session polls for a slot of a full ring as under
    /// `Adaptive`: a sleep for so short a time makes the server sleep and wake too.
    pub fn wait(mut self, policy: WaitPolicy) -> Self {
        self.wait = policy;
        self
    }

    /// Sets the size of the largest message, which is also the limit on payload memory per
    /// direction, apart from the memory kept for [streams](Self::max_streams): 1 byte to 1 TiB,
    /// rounded up to whole pages; on a socket, a value counts only below 4 GiB. Memory is taken as
    /// messages need it. Default 64 MiB.
    pub fn cap(mut self, bytes: u64) -> Self {
        self.cap = bytes;
        self
    }

    /// Sets the time that connecting may take, and separately the peer's hello, 1 ns to 1 h.
    /// Default 1 s.
    pub fn handshake_timeout(mut self, timeout: Duration) -> Self {
        self.handshake_timeout = timeout;
        self
    }

    /// Sets the policy that decides from a peer's credentials if its messages are given as slices,
    /// without a copy. The policy returns a proof for each peer that is trusted not to write to the
    /// payload that it has lent. By default no peer is trusted. The policy is asked once per
    /// session: by a client about its server, also after a reconnect, and by a server about its
    /// client (by the thread that accepts). A policy that panics trusts no peer.
    ///
    /// Over a unix socket a client sees the credentials of the process that called `listen`.
    ///
    /// ```
    /// use breezeway::{SessionOptions, TrustedPeer};
    ///
    /// // SAFETY: in this example, every program of this user keeps its hands off lent payload.
    /// let options = SessionOptions::new()
    ///     .trust(|peer| peer.is_same_user().then(|| unsafe { TrustedPeer::assume() }));
    /// ```
    pub fn trust(
        mut self,
        policy: impl Fn(&Peer) -> Option<TrustedPeer> + Send + Sync + 'static,
    ) -> Self {
        self.trust = TrustPolicy::new(policy);
        self
    }

    /// Sets the certificates of `tls:` addresses: this side's own, and those that it trusts. The
    /// default is those of the process ([`Tls::install_default`]); without them `tls:` addresses do
    /// not work.
    #[cfg(feature = "tls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(Arc::new(tls));
        self
    }

    /// Sets the payload memory, in bytes, that this side creates with its pages when the session is
    /// set up, instead of when the first message over 104 bytes needs it: up to 1 TiB, at least 64
    /// KiB; the cap counts if it is less. For 0, the default, the first large
    /// [`reserve`](crate::ExclusiveSession::reserve) waits until the kernel has cleared its pages,
    /// for 8 MiB some milliseconds to hundreds of them. For sessions that soon send large messages:
    /// a camera has two frames ready.
    ///
    /// A client creates the memory while it waits for the server's hello, and a server after its
    /// answer, before it takes the next client: some 0.1 ms for 2 MiB with huge pages, 1 ms and
    /// more without. This time adds to the time-out of this session's handshake, and delays its
    /// first call and the clients behind it. Each client that connects costs a server that much
    /// memory, used or not; `ServerOptions::max_memory` counts it. A session without traffic keeps
    /// it. If memory is short, the session is still opened, and the first message reports the
    /// shortage. On a socket this option has no effect.
    pub fn prefault(mut self, bytes: u64) -> Self {
        self.prefault = bytes;
        self
    }

    /// Sets the number of entries in the ring that this side fills: a power of two, 8..=65536. Half
    /// of it (the smaller half of both sides) is the limit on calls in flight. A server takes the
    /// client's value, up to 1024. Default 256.
    pub fn ring_capacity(mut self, entries: u32) -> Self {
        self.ring_capacity = entries;
        self
    }

    /// Sets the window of each stream: the messages, 1 to 2³² − 1, and bytes, 1 to 2⁶³ − 1, that
    /// the peer may send before this side has taken some of them. A message may start while both
    /// are left, so a larger one passes alone. Default 64 messages and 1 MiB.
    pub fn stream_window(mut self, messages: u32, bytes: u64) -> Self {
        self.stream_window = Window { messages, bytes };
        self
    }

    /// Sets the number of streams that the peer may have open at the same time, 0 to 65535. Default
    /// 1024.
    ///
    /// On a shared session, memory of a quarter of the cap, in addition to the cap, is kept for
    /// streams that have no message unreleased by the peer: each can send one of a quarter of the
    /// cap divided by both sides' `max_streams` (8 KiB by default), and any of up to 104 bytes,
    /// whatever other streams and calls hold. (Fragmented free memory can prevent this.)
    pub fn max_streams(mut self, streams: u16) -> Self {
        self.max_streams = streams;
        self
    }

    /// Sets the length of the longest metadata block that this side accepts, 0 to 65535 bytes.
    /// Default 16 KiB.
    pub fn max_metadata(mut self, bytes: u32) -> Self {
        self.max_metadata = bytes;
        self
    }

    /// Sets the service number in this side's hello, which names the meaning of its messages: 0,
    /// the default, any that both sides agree on; 1, Breezeway RPC; 2, gRPC. A layer above reads
    /// the peer's number ([`Session::service`](crate::Session::service)). A client gets no session
    /// with a server of another number, unless one of the two is 0.
    pub fn service(mut self, number: u16) -> Self {
        self.service = number;
        self
    }

    /// Returns the limit on shared memory that a session maps, in bytes, between two sides with
    /// these options: payload of both directions up to the cap and the memory kept for
    /// [streams](Self::max_streams), and both control segments.
    ///
    /// Each side creates, and its memory cgroup is charged for, half of it. A peer that does not
    /// unmap segments that were given back can hold up to another cap of them. A peer that asks for
    /// a larger ring makes its own control segment larger, up to 8 MiB.
    ///
    /// ```
    /// use breezeway::SessionOptions;
    ///
    /// // 64 MiB of payload, 16 MiB kept for streams, and a ring of 256 entries, both ways.
    /// assert_eq!(SessionOptions::new().memory_budget(), 2 * ((80 << 20) + (36 << 10)));
    /// // Without streams.
    /// let plain = SessionOptions::new().max_streams(0);
    /// assert_eq!(plain.memory_budget(), 2 * ((64 << 20) + (36 << 10)));
    /// ```
    pub fn memory_budget(&self) -> u64 {
        let control = control_size(self.ring_capacity) as u64;
        // A cap that `validate` refuses must not overflow here.
        let cap = self.cap.checked_next_multiple_of(CAP_UNIT).unwrap_or(u64::MAX);
        let payload = segment_cap(cap, self.max_streams > 0);
        payload.saturating_add(control).saturating_mul(2)
    }

    /// Checks that all values are in their ranges.
    pub fn validate(&self) -> Result<(), OptionError> {
        let capacity = self.ring_capacity;
        OptionError::check_that(
            capacity.is_power_of_two() && RING_CAPACITY.contains(&capacity),
            "ring_capacity",
            capacity,
            "a power of two in 8..=65536",
        )?;
        OptionError::check("cap", self.cap, 1..=LARGEST_CAP, "within 1 byte to 1 TiB")?;
        OptionError::check("prefault", self.prefault, 0..=LARGEST_CAP, "within 0 bytes to 1 TiB")?;
        let under_way = self.under_way.unwrap_or(1);
        OptionError::check("under_way", under_way, 1..=LARGEST_CAP, "within 1 byte to 1 TiB")?;
        let Window { messages, bytes } = self.stream_window;
        OptionError::check_that(
            messages > 0 && (1..=i64::MAX as u64).contains(&bytes),
            "stream_window",
            format!("{messages} messages and {bytes} bytes"),
            "at least 1 of each, and less than 2^63 bytes",
        )?;
        let metadata = u64::from(self.max_metadata);
        let longest = u64::from(u16::MAX);
        OptionError::check("max_metadata", metadata, 0..=longest, "within 0 to 65535 bytes")?;
        for (option, time, range, allowed) in self.times() {
            let value = format!("{time:?}");
            OptionError::check_that(range.contains(&time), option, value, allowed)?;
        }
        Ok(())
    }

    /// Returns these options for two ends in one process. Their hellos may take the longest time
    /// that an option accepts.
    pub(crate) fn for_own_ends(&self) -> Result<Self, OptionError> {
        self.validate()?;
        Ok(self.clone().handshake_timeout(AN_HOUR))
    }

    /// Returns the certificates that these options name.
    pub(crate) fn own_tls(&self) -> Option<&Tls> {
        self.tls.as_deref()
    }

    /// Returns every time with its range.
    fn times(
        &self,
    ) -> [(&'static str, Duration, std::ops::RangeInclusive<Duration>, &'static str); 4] {
        const SOME: Duration = Duration::from_nanos(1);
        let (spin, shrink) = (self.spin_bound, self.shrink_after);
        [
            ("spin_bound", spin, Duration::ZERO..=LONGEST_SPIN, "within 0 s to 1 s"),
            ("shrink_after", shrink, Duration::ZERO..=AN_HOUR, "within 0 s to 1 h"),
            ("handshake_timeout", self.handshake_timeout, SOME..=AN_HOUR, "within 1 ns to 1 h"),
            (
                "call_timeout",
                self.call_timeout.unwrap_or(Duration::MAX),
                SOME..=Duration::MAX,
                "at least 1 ns, or none",
            ),
        ]
    }

    /// Returns the limit on bytes of messages without replies in flight: as set, else a quarter of
    /// the last cache, which other processes and the receiver's data share.
    pub(crate) fn most_in_flight(&self) -> usize {
        match self.under_way {
            Some(bytes) => usize::try_from(bytes).unwrap_or(usize::MAX),
            None => cpu::last_cache().map_or(USUAL_IN_FLIGHT, |bytes| bytes / 4),
        }
    }

    /// Returns options for an end that serves or makes plain calls only: no streams, no metadata.
    pub(crate) fn for_plain_calls(&self) -> Self {
        self.clone().max_streams(0).max_metadata(0)
    }

    /// Returns options for an end that serves at most `streams` streams at the same time.
    pub(crate) fn with_at_most(&self, streams: usize) -> Self {
        let streams = u16::try_from(streams).unwrap_or(u16::MAX);
        self.clone().max_streams(self.max_streams.min(streams))
    }

    /// Returns the wait policy and the spin bound.
    pub(crate) fn waiting(&self) -> Waiting {
        Waiting { policy: self.wait, spin_bound: self.spin_bound }
    }

    /// Returns the terms for streams that this side accepts.
    fn stream_terms(&self) -> StreamTerms {
        StreamTerms { window: self.stream_window, max_streams: self.max_streams }
    }

    /// Returns the hello to the peer.
    pub(crate) fn hello(&self, carrier: Carrier) -> Hello {
        Hello {
            ring_capacity: self.ring_capacity,
            lend_count: LEND_COUNT,
            payload_cap: self.cap.next_multiple_of(CAP_UNIT),
            memory: carrier == Carrier::Shm,
            streams: self.stream_terms(),
            service: self.service,
            max_metadata: self.max_metadata,
            go_away: false,
        }
    }

    /// Returns the bytes of payload memory to create when a session is set up, or None.
    pub(crate) fn ready_memory(&self) -> Option<u64> {
        (self.prefault > 0).then(|| self.prefault.max(Limits::FIRST_SEGMENT))
    }

    /// Returns the memory limits of a session with this agreed cap.
    pub(crate) fn limits(&self, cap: u64, has_streams: bool) -> Limits {
        Limits {
            segment_cap: segment_cap(cap, has_streams),
            shrink_after: self.shrink_after,
            ..Limits::new(cap)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Tuning as _;

    #[test]
    fn the_defaults_are_allowed() {
        assert_eq!(SessionOptions::new().validate(), Ok(()));
    }

    #[test]
    fn bytes_in_flight_default_to_some_of_the_last_cache() {
        let usual = SessionOptions::new().most_in_flight();
        assert!((256 << 10..1 << 30).contains(&usual), "{usual}");
    }

    #[test]
    fn the_ends_of_every_range_are_allowed() {
        let options = SessionOptions::new;
        for options in [
            options().ring_capacity(8),
            options().ring_capacity(65536),
            options().cap(1),
            options().cap(1 << 40),
            options().under_way(Some(1)),
            options().under_way(Some(1 << 40)),
            options().spin_bound(Duration::ZERO),
            options().spin_bound(Duration::from_secs(1)),
            options().shrink_after(Duration::ZERO),
            options().shrink_after(AN_HOUR),
            options().handshake_timeout(Duration::from_nanos(1)),
            options().handshake_timeout(AN_HOUR),
            options().call_timeout(Some(Duration::from_nanos(1))),
            options().call_timeout(Some(Duration::MAX)),
        ] {
            assert_eq!(options.validate(), Ok(()), "{options:?}");
        }
    }

    #[test]
    fn a_cap_that_is_not_allowed_has_a_budget_all_the_same() {
        let budget = SessionOptions::new().cap(u64::MAX).memory_budget();
        assert!(budget >= 2 << 40, "{budget}");
    }

    #[test]
    fn out_of_range_values_are_refused_by_name_and_range() {
        let options = SessionOptions::new;
        let past = |longest: Duration| longest + Duration::from_nanos(1);
        for (options, name, value, range) in [
            (options().ring_capacity(0), "ring_capacity", "0", "8..=65536"),
            (options().ring_capacity(4), "ring_capacity", "4", "8..=65536"),
            (options().ring_capacity(100), "ring_capacity", "100", "a power of two"),
            (options().ring_capacity(1 << 17), "ring_capacity", "131072", "8..=65536"),
            (options().cap(0), "cap", "0", "1 byte to 1 TiB"),
            (options().cap((1 << 40) + 1), "cap", "1099511627777", "1 byte to 1 TiB"),
            (options().cap(u64::MAX), "cap", "18446744073709551615", "1 byte to 1 TiB"),
            (options().under_way(Some(0)), "under_way", "0", "1 byte to 1 TiB"),
            (options().spin_bound(past(LONGEST_SPIN)), "spin_bound", "1.000000001s", "0 s to 1 s"),
            (options().shrink_after(past(AN_HOUR)), "shrink_after", "3600.000000001s", "to 1 h"),
            (options().handshake_timeout(Duration::ZERO), "handshake_timeout", "0ns", "1 h"),
            (options().handshake_timeout(past(AN_HOUR)), "handshake_timeout", "3600.0", "1 h"),
            (options().handshake_timeout(Duration::MAX), "handshake_timeout", "18446", "1 h"),
            (options().call_timeout(Some(Duration::ZERO)), "call_timeout", "0ns", "none"),
        ] {
            let error = options.validate().unwrap_err();
            assert_eq!(error.option(), name);
            assert!(error.value().starts_with(value), "{error}");
            assert!(error.allowed().contains(range), "{error}");
            let expected = format!("{name} = {} is not {}", error.value(), error.allowed());
            assert_eq!(error.to_string(), expected);
        }
    }
}
