//! A clock that costs a few nanoseconds to read.
//!
//! Reading the counter register costs less than half of `clock_gettime`. Ticks are comparable
//! between threads and processes of one machine and never between machines.
//!
//! On x86-64 the counter is the TSC if CPUID reports a constant rate in every power state (CPUID
//! 8000_0007h, EDX bit 8; AMD64 manual volume 3, Intel SDM volume 3 "Invariant TSC"). On aarch64 it
//! is `CNTVCT_EL0`, which is constant by architecture. Elsewhere it is `CLOCK_MONOTONIC` in
//! nanoseconds.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// Clock that [`ticks`] reads. It only goes from undecided to one decision, and every thread comes
/// to the same, so relaxed accesses suffice.
static SOURCE: AtomicU8 = AtomicU8::new(UNDECIDED);

const UNDECIDED: u8 = 0;
const COUNTER: u8 = 1;
const MONOTONIC: u8 = 2;

/// Calibration time: long enough that a preempted sample distorts the rate by less than a part in a
/// thousand.
const CALIBRATION: Duration = Duration::from_millis(1);

/// Returns the current time in ticks since an arbitrary start.
///
/// Not ordered against surrounding memory accesses: the CPU may read the counter a few
/// nanoseconds early or late, which evens out over consecutive readings.
#[inline(always)]
#[must_use]
pub fn ticks() -> u64 {
    if SOURCE.load(Ordering::Relaxed) == COUNTER { counter::read() } else { ticks_slowly() }
}

/// Returns [`ticks`], read after every load before it has completed and before any later load
/// starts.
pub fn ticks_in_order() -> u64 {
    counter::wait_for_loads();
    let now = ticks();
    counter::wait_for_loads();
    now
}

/// Converts `ticks` to nanoseconds; saturates.
#[must_use]
pub fn nanoseconds(ticks: u64) -> u64 {
    Rate::get().nanoseconds(ticks)
}

/// Converts `duration` to ticks; saturates.
#[must_use]
pub fn ticks_in(duration: Duration) -> u64 {
    Rate::get().ticks(duration)
}

/// Measures the rate now rather than at the first conversion. Takes about 1 ms.
pub fn calibrate() {
    Rate::get();
}

/// Returns the name of the clock that [`ticks`] reads: `"tsc"`, `"cntvct"` or `"clock_monotonic"`.
#[must_use]
pub fn source() -> &'static str {
    if decide() == COUNTER { counter::NAME } else { "clock_monotonic" }
}

#[cold]
fn ticks_slowly() -> u64 {
    if decide() == COUNTER { counter::read() } else { monotonic() }
}

fn decide() -> u8 {
    let decided = SOURCE.load(Ordering::Relaxed);
    if decided != UNDECIDED {
        return decided;
    }
    let source = if counter::is_constant() { COUNTER } else { MONOTONIC };
    SOURCE.store(source, Ordering::Relaxed);
    source
}

/// Returns the nanoseconds since the machine was started, including suspended time: the same in all
/// processes of one time namespace (`CLOCK_BOOTTIME`).
#[must_use]
pub fn since_boot() -> u64 {
    system(libc::CLOCK_BOOTTIME)
}

/// Returns `clock_gettime(CLOCK_MONOTONIC)` in nanoseconds.
fn monotonic() -> u64 {
    system(libc::CLOCK_MONOTONIC)
}

fn system(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec that outlives the call, the only thing the call writes. It
    // cannot fail: every Linux has the clocks that this file requests.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Rate of the counter, in both directions as binary fractions with 32 bits behind the point, so
/// that a conversion is a multiplication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rate {
    nanoseconds_per_tick: u64,
    ticks_per_nanosecond: u64,
}

impl Rate {
    const ONE: Self = Self { nanoseconds_per_tick: 1 << 32, ticks_per_nanosecond: 1 << 32 };

    fn get() -> Self {
        static RATE: OnceLock<Rate> = OnceLock::new();
        *RATE.get_or_init(Self::measure)
    }

    fn measure() -> Self {
        if decide() == MONOTONIC {
            return Self::ONE;
        }
        let before = Instant::now();
        let mut after = Instant::now();
        while after.nanoseconds - before.nanoseconds < CALIBRATION.as_nanos() as u64 {
            after = Instant::now();
        }
        Self::between(&before, &after)
    }

    /// Computes the rate between two readings. A counter that stands still would make every
    /// duration infinite; it counts as nanoseconds.
    fn between(before: &Instant, after: &Instant) -> Self {
        let ticks = u128::from(after.ticks.saturating_sub(before.ticks));
        let nanoseconds = u128::from(after.nanoseconds.saturating_sub(before.nanoseconds));
        let rate = |of: u128, per: u128| (of << 32).checked_div(per).map(saturate);
        match (rate(nanoseconds, ticks), rate(ticks, nanoseconds)) {
            (Some(nanoseconds_per_tick @ 1..), Some(ticks_per_nanosecond @ 1..)) => {
                Self { nanoseconds_per_tick, ticks_per_nanosecond }
            }
            _ => Self::ONE,
        }
    }

    fn nanoseconds(self, ticks: u64) -> u64 {
        product(ticks, self.nanoseconds_per_tick)
    }

    fn ticks(self, duration: Duration) -> u64 {
        // A duration of more nanoseconds than a u64 holds saturates, however slow the counter.
        u64::try_from(duration.as_nanos())
            .map_or(u64::MAX, |nanoseconds| product(nanoseconds, self.ticks_per_nanosecond))
    }
}

/// Multiplies by a binary fraction with 32 bits behind the point; saturates.
fn product(value: u64, rate: u64) -> u64 {
    saturate((u128::from(value) * u128::from(rate)) >> 32)
}

fn saturate(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Both clocks, read as nearly at the same time as the scheduler allows.
#[derive(Debug, Clone, Copy)]
struct Instant {
    ticks: u64,
    nanoseconds: u64,
}

impl Instant {
    /// Reads both clocks, by the tightest of a few attempts, so that an interrupt between the two
    /// reads does not count.
    fn now() -> Self {
        let attempts = (0..4).map(|_| {
            let before = ticks();
            let nanoseconds = monotonic();
            let width = ticks().saturating_sub(before);
            (width, Self { ticks: before + width / 2, nanoseconds })
        });
        attempts
            .min_by_key(|(width, _)| *width)
            .map_or(Self { ticks: 0, nanoseconds: 0 }, |best| best.1)
    }
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    pub(super) const NAME: &str = "tsc";
    const POWER_LEAF: u32 = 0x8000_0007;
    const INVARIANT_TSC: u32 = 1 << 8;

    #[inline(always)]
    pub(super) fn read() -> u64 {
        // SAFETY: every x86-64 CPU has RDTSC, and it touches no memory. A process that asked the
        // kernel to forbid it (PR_SET_TSC) gets a signal, which is not a memory error.
        unsafe { _rdtsc() }
    }

    /// Executes `lfence`.
    #[inline(always)]
    pub(super) fn wait_for_loads() {
        // SAFETY: every x86-64 CPU has LFENCE, which changes nothing that the program can see.
        unsafe { std::arch::asm!("lfence", options(nostack, preserves_flags)) }
    }

    #[allow(unused_unsafe, reason = "__cpuid is unsafe before Rust 1.94")]
    pub(super) fn is_constant() -> bool {
        // SAFETY: every x86-64 CPU has CPUID, and the first call proves that the leaf exists.
        unsafe {
            __cpuid(0x8000_0000).eax >= POWER_LEAF && __cpuid(POWER_LEAF).edx & INVARIANT_TSC != 0
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod counter {
    pub(super) const NAME: &str = "cntvct";

    #[inline(always)]
    pub(super) fn read() -> u64 {
        let count: u64;
        // SAFETY: Linux lets user space read the virtual counter; the instruction touches neither
        // memory nor flags nor the stack.
        unsafe {
            std::arch::asm!("mrs {}, \
                cntvct_el0", out(reg) count, options(nomem, nostack, preserves_flags));
        }
        count
    }

    /// Executes `dsb ld` and `isb`.
    #[inline(always)]
    pub(super) fn wait_for_loads() {
        // SAFETY: both barriers change nothing that the program can see.
        unsafe { std::arch::asm!("dsb ld", "isb", options(nostack, preserves_flags)) }
    }

    pub(super) fn is_constant() -> bool {
        true
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod counter {
    pub(super) const NAME: &str = "none";

    pub(super) fn read() -> u64 {
        super::monotonic()
    }

    pub(super) fn wait_for_loads() {}

    pub(super) fn is_constant() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(ticks: u64, nanoseconds: u64) -> Instant {
        Instant { ticks, nanoseconds }
    }

    #[test]
    fn ticks_advance() {
        let before = ticks();
        std::thread::sleep(Duration::from_millis(2));
        assert!(ticks() > before);
    }

    #[test]
    fn the_source_has_a_name_and_keeps_it() {
        let name = source();
        assert!(["tsc", "cntvct", "clock_monotonic"].contains(&name));
        let elsewhere = std::thread::spawn(source).join().unwrap();
        assert_eq!(name, elsewhere);
    }

    #[test]
    fn conversions_there_and_back_agree() {
        calibrate();
        for nanos in [1_000, 1_000_000, 60_000_000_000] {
            let back = nanoseconds(ticks_in(Duration::from_nanos(nanos)));
            let most = nanos / 1_000 + nanoseconds(1) + 1;
            assert!(back.abs_diff(nanos) <= most, "{nanos} came back as {back}");
        }
        assert_eq!(nanoseconds(0), 0);
        assert_eq!(ticks_in(Duration::ZERO), 0);
    }

    #[test]
    fn ticks_of_longest_duration_saturate() {
        let slow = Rate { nanoseconds_per_tick: 16 << 32, ticks_per_nanosecond: 1 << 28 };
        assert_eq!(slow.ticks(Duration::from_nanos(1_600)), 100);
        assert_eq!(slow.ticks(Duration::MAX), u64::MAX);
    }

    #[test]
    fn a_rate_follows_from_two_instants() {
        let rate = Rate::between(&instant(100, 1_000), &instant(300, 1_100));
        assert_eq!(rate.nanoseconds(200), 100);
        assert_eq!(rate.ticks(Duration::from_nanos(100)), 200);
    }

    #[test]
    fn stopped_or_reversed_counter_counts_nanoseconds() {
        assert_eq!(Rate::between(&instant(5, 0), &instant(5, 1_000_000)), Rate::ONE);
        assert_eq!(Rate::between(&instant(9, 0), &instant(5, 1_000_000)), Rate::ONE);
        assert_eq!(Rate::between(&instant(0, 0), &instant(5, 0)), Rate::ONE);
    }

    #[test]
    fn extreme_durations_saturate() {
        let fast = Rate::between(&instant(0, 0), &instant(1_000, 1));
        assert_eq!(fast.ticks(Duration::MAX), u64::MAX);
        let slow = Rate::between(&instant(0, 0), &instant(1, 1_000));
        assert_eq!(slow.nanoseconds(u64::MAX), u64::MAX);
    }
}
