//! The loops that measure anything that exchanges messages.
//!
//! A round trip costs one reading of the CPU's counter, a few nanoseconds where `clock_gettime`
//! takes a good part of a round trip.

use std::time::{Duration, Instant};

use breezeway_os::clock;
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::{CpuTime, Extent, Measurement, warm_up};
use crate::statistics::Recorder;

/// Calls per second of an open loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate(pub f64);

/// Calls `exchange` again and again, with the number of the round trip; the latency of one is the
/// time since the end of the one before, so payload written and compared by `exchange` is part of
/// it.
///
/// # Errors
///
/// The first error of `exchange`.
pub fn closed_loop<E>(
    extent: Extent,
    exchange: impl FnMut(u64) -> Result<(), E>,
) -> Result<Measurement, E> {
    closed_loop_with(extent, None, exchange)
}

/// Calls `exchange` at a fixed rate, one at a time, and sleeps until each call is due, as programs
/// sleep. A latency runs from the moment when its call begins, so the delay of the timer does not
/// count. After a call that ended late, it runs from the due time, so that no delay hides others
/// (Gil Tene, "How NOT to measure latency"). The warm-up has no rate.
///
/// # Errors
///
/// The first error of `exchange`.
pub fn open_loop<E>(
    extent: Extent,
    rate: Rate,
    exchange: impl FnMut(u64) -> Result<(), E>,
) -> Result<Measurement, E> {
    open_loop_with(extent, rate, None, exchange)
}

/// Runs [`closed_loop`] and counts the CPU time of `server` too.
pub(super) fn closed_loop_with<E>(
    extent: Extent,
    server: Option<Pid>,
    mut exchange: impl FnMut(u64) -> Result<(), E>,
) -> Result<Measurement, E> {
    let mut run = Run::start(extent, server, &mut exchange)?;
    let mut before = run.start;
    while !run.is_over(before) {
        exchange(run.round())?;
        let after = clock::ticks();
        run.record(before, after);
        before = after;
    }
    Ok(run.finish(before))
}

/// Runs [`open_loop`] and counts the CPU time of `server` too.
pub(super) fn open_loop_with<E>(
    extent: Extent,
    rate: Rate,
    server: Option<Pid>,
    mut exchange: impl FnMut(u64) -> Result<(), E>,
) -> Result<Measurement, E> {
    let mut run = Run::start(extent, server, &mut exchange)?;
    let schedule = Schedule::new(run.start, rate);
    let mut now = run.start;
    loop {
        let due = schedule.due(run.latencies.count());
        if run.is_over(now.max(due)) {
            return Ok(run.finish(now));
        }
        let begin = sleep_until(due);
        exchange(run.round())?;
        now = clock::ticks();
        run.record(begin, now);
    }
}

/// Due times of the calls of an open loop, in clock ticks.
pub(super) struct Schedule {
    start: u64,
    period: f64,
}

impl Schedule {
    /// Returns a schedule with its first call due at `start`.
    pub(super) fn new(start: u64, rate: Rate) -> Self {
        let period = clock::ticks_in(Duration::from_secs(1)) as f64 / rate.0;
        Self { start, period }
    }

    /// Returns the due time of a call; the first one has the number 0.
    pub(super) fn due(&self, call: u64) -> u64 {
        self.start + (call as f64 * self.period) as u64
    }
}

/// Sleeps until `due` with the process's timer slack. Returns the time from which the latency of
/// the call counts: the present time, or `due` if that has passed before the sleep.
pub(super) fn sleep_until(due: u64) -> u64 {
    let left = due.saturating_sub(clock::ticks());
    if left == 0 {
        return due;
    }
    let end = monotonic() + Duration::from_nanos(clock::nanoseconds(left));
    let end = Timespec {
        tv_sec: end.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: end.subsec_nanos().into(),
    };
    while clock_nanosleep_absolute(ClockId::Monotonic, &end) == Err(Errno::INTR) {}
    clock::ticks()
}

fn monotonic() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Makes the first round trips and returns their number.
fn warmed_up<E>(mut exchange: impl FnMut(u64) -> Result<(), E>) -> Result<u64, E> {
    let start = Instant::now();
    for round in 0..warm_up::MESSAGES {
        if start.elapsed() > warm_up::TIME {
            return Ok(round);
        }
        exchange(round)?;
    }
    Ok(warm_up::MESSAGES)
}

struct Run {
    /// Number of round trips before the first that counts.
    warm_up: u64,
    most: u64,
    deadline: u64,
    latencies: Recorder,
    start: u64,
    server: Option<Pid>,
    cpu: CpuTime,
}

impl Run {
    /// Warms up and starts the clocks.
    fn start<E>(
        extent: Extent,
        server: Option<Pid>,
        exchange: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<Self, E> {
        clock::calibrate();
        let warm_up = warmed_up(exchange)?;
        let (cpu, start) = (CpuTime::now(server), clock::ticks());
        let (most, deadline) = match extent.count {
            Some(count) => (count, u64::MAX),
            None => (u64::MAX, start.saturating_add(ticks_in(extent.seconds))),
        };
        Ok(Self { warm_up, most, deadline, latencies: Recorder::new(), start, server, cpu })
    }

    /// The number of the next round trip.
    #[inline]
    fn round(&self) -> u64 {
        self.warm_up + self.latencies.count()
    }

    /// Returns true once the extent is reached; never before the first round trip.
    #[inline]
    fn is_over(&self, ticks: u64) -> bool {
        let count = self.latencies.count();
        (ticks >= self.deadline && count > 0) || count >= self.most
    }

    #[inline]
    fn record(&mut self, from: u64, to: u64) {
        self.latencies.record(to.saturating_sub(from));
    }

    /// The measurement until `end`.
    fn finish(self, end: u64) -> Measurement {
        let cpu = CpuTime::now(self.server).since(self.cpu);
        Measurement {
            count: self.latencies.count(),
            elapsed: Duration::from_nanos(clock::nanoseconds(end.saturating_sub(self.start))),
            cpu: cpu.client,
            server_cpu: cpu.server,
            latencies: Some(self.latencies),
        }
    }
}

fn ticks_in(seconds: f64) -> u64 {
    clock::ticks_in(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Percentiles;
    use std::convert::Infallible;

    const COUNT: Extent = Extent { count: Some(20), seconds: 5.0 };
    const NAP: Duration = Duration::from_millis(2);

    fn nap(_: u64) -> Result<(), Infallible> {
        std::thread::sleep(NAP);
        Ok(())
    }

    fn percentiles(measurement: &Measurement) -> Percentiles {
        measurement.latencies.as_ref().and_then(Recorder::percentiles).unwrap()
    }

    #[test]
    fn a_count_is_kept_exactly_and_the_warm_up_is_not_in_it() {
        let mut rounds = Vec::new();
        let mut exchange = |round| -> Result<(), Infallible> {
            rounds.push(round);
            Ok(())
        };
        assert_eq!(closed_loop(COUNT, &mut exchange).unwrap().count, 20);
        assert_eq!(open_loop(COUNT, Rate(1e6), &mut exchange).unwrap().count, 20);
        let once: Vec<u64> = (0..warm_up::MESSAGES + 20).collect();
        assert_eq!(rounds, [once.clone(), once].concat());
    }

    #[test]
    fn slow_exchanges_are_not_warmed_up_for_long() {
        let mut slow = 0;
        let exchange = |_| {
            slow += 1;
            std::thread::sleep(warm_up::TIME);
            Ok::<_, Infallible>(())
        };
        let once = Extent { count: Some(1), seconds: 5.0 };
        assert_eq!(closed_loop(once, exchange).unwrap().count, 1);
        assert!(slow <= 3, "{slow}");
    }

    #[test]
    fn open_loop_is_warmed_up_without_its_rate() {
        let mut exchanges = 0;
        let exchange = |_| {
            exchanges += 1;
            Ok::<_, Infallible>(())
        };
        let once = Extent { count: Some(1), seconds: 5.0 };
        assert_eq!(open_loop(once, Rate(20.0), exchange).unwrap().count, 1);
        // The second one at the rate would end the warm-up.
        assert!(exchanges > 3, "{exchanges}");
    }

    #[test]
    fn a_time_ends_the_run_and_one_round_trip_is_always_measured() {
        let extent = |seconds| Extent { count: None, seconds };
        assert!((1..=26).contains(&closed_loop(extent(0.05), nap).unwrap().count));
        assert_eq!(closed_loop(extent(1e-9), nap).unwrap().count, 1);
    }

    #[test]
    fn a_latency_is_that_of_the_exchange() {
        let mut least = u64::MAX;
        let timed = |round| {
            let begin = clock::ticks();
            nap(round).inspect(|()| least = least.min(clock::ticks() - begin))
        };
        let measurement = closed_loop(COUNT, timed).unwrap();
        let latency = percentiles(&measurement).min;
        assert!(latency >= 0.99 * clock::nanoseconds(least) as f64, "{latency} {least}");
    }

    #[test]
    fn calls_of_an_open_loop_are_due_one_period_after_the_other() {
        let schedule = Schedule::new(7, Rate(1_000.0));
        let second = clock::ticks_in(Duration::from_secs(1));
        assert_eq!((schedule.due(0), schedule.due(1_000)), (7, 7 + second));
    }

    /// Returns the CPU time of this thread.
    fn thread_cpu_time() -> Duration {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
    }

    #[test]
    fn wait_for_due_time_sleeps_to_its_end() {
        const PAUSE: Duration = Duration::from_millis(2);
        const PAUSES: u32 = 50;
        clock::calibrate();
        let before = thread_cpu_time();
        for _ in 0..PAUSES {
            let due = clock::ticks() + clock::ticks_in(PAUSE);
            assert!(sleep_until(due) >= due - clock::ticks_in(PAUSE / 10));
        }
        let cpu = thread_cpu_time() - before;
        assert!(cpu < PAUSE * PAUSES / 2, "{cpu:?}");
    }

    #[test]
    fn delay_of_timer_does_not_count() {
        let begins_late = |_| {
            let due = clock::ticks() + clock::ticks_in(NAP);
            sleep_until(due) > due
        };
        assert!((0..20).any(begins_late));
    }

    #[test]
    fn call_that_is_late_begins_at_once_and_counts_from_due() {
        let due = clock::ticks() - 1;
        assert_eq!(sleep_until(due), due);
    }

    #[test]
    fn an_open_loop_counts_the_delay_that_a_slow_call_hands_on() {
        // Twenty calls due within 0.2 ms that take 2 ms each: the last one waits for the others.
        let measurement = open_loop(COUNT, Rate(100_000.0), nap).unwrap();
        let latest = percentiles(&measurement).max;
        assert!(latest >= 0.9 * measurement.elapsed.as_nanos() as f64, "{measurement:?}");
    }

    #[test]
    fn an_open_loop_that_cannot_keep_its_rate_ends_in_time() {
        let extent = Extent { count: None, seconds: 0.02 };
        let measurement = open_loop(extent, Rate(1e6), nap).unwrap();
        assert!(measurement.count <= 20_000_000 / NAP.as_nanos() as u64 + 1, "{measurement:?}");
    }

    #[test]
    fn an_error_ends_the_run() {
        let broken = |round| if round < warm_up::MESSAGES + 3 { Ok(()) } else { Err("broken") };
        assert_eq!(closed_loop(COUNT, broken).unwrap_err(), "broken");
        assert_eq!(open_loop(COUNT, Rate(1e6), broken).unwrap_err(), "broken");
    }
}
