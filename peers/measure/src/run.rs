//! The loops that measure.
//!
//! A round trip costs one reading of the CPU's counter, a few nanoseconds where `clock_gettime` takes
//! a good part of a round trip. Latencies are collected in ticks of that counter and converted with
//! the rate that the whole run had.

use crate::Extent;
use hdrhistogram::Histogram;
use quanta::Clock;
use rustix::time::{ClockId, clock_gettime};
use std::hint;
use std::time::{Duration, Instant};

/// Calls per second of an open loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate(pub f64);

/// Round trips before the first one that counts: they touch every page and fill the caches.
const WARM_UP: u64 = 100;

/// Slow round trips need fewer of them.
const WARM_UP_TIME: Duration = Duration::from_millis(100);

/// How long before a call is due the sleep ends and the spin starts, so that waking up does not count.
const SPIN_BEFORE_DUE: Duration = Duration::from_micros(100);

/// At least this long passes before the run, to learn how fast the counter counts.
const CALIBRATION: Duration = Duration::from_millis(20);

/// Readings of the clocks of which the tightest counts, so that an interrupt in one does no harm.
const ATTEMPTS: usize = 8;

/// Latencies above this many ticks, minutes on any machine, count as this many.
const MOST_TICKS: u64 = 1 << 40;

const SIGNIFICANT_FIGURES: u8 = 3;

/// What a run found.
#[derive(Debug)]
pub struct Measurement {
    /// Round trips completed.
    pub count: u64,
    /// From the first to the last of them.
    pub elapsed: Duration,
    /// Processor time of this process in that time, all threads.
    pub cpu: Duration,
    /// Latencies in ticks.
    pub latencies: Histogram<u64>,
    /// The length of a tick.
    pub nanoseconds_per_tick: f64,
}

/// Calls `exchange` again and again, with the number of the round trip; the latency of one is the time
/// since the end of the one before, so payload written and compared by `exchange` is part of it.
///
/// # Errors
///
/// The first error of `exchange`.
pub fn closed_loop<E>(
    extent: Extent,
    mut exchange: impl FnMut(u64) -> Result<(), E>,
) -> Result<Measurement, E> {
    let mut run = Run::start(extent, &mut exchange)?;
    let mut before = run.start.ticks;
    while !run.is_over(before) {
        exchange(run.round())?;
        let after = run.clock.raw();
        run.record(before, after);
        before = after;
    }
    Ok(run.finish())
}

/// Calls `exchange` at a fixed rate, one at a time: sleeps until 100 µs before the call is due, then
/// spins. A latency counts from the due time, also if the call before it was late, so that no delay
/// hides others (Gil Tene, "How NOT to measure latency").
///
/// # Errors
///
/// The first error of `exchange`.
pub fn open_loop<E>(
    extent: Extent,
    rate: Rate,
    mut exchange: impl FnMut(u64) -> Result<(), E>,
) -> Result<Measurement, E> {
    let mut run = Run::start(extent, &mut exchange)?;
    let mut now = run.start.ticks;
    loop {
        let due = run.start.ticks + run.ticks_in(run.latencies.len() as f64 / rate.0);
        if run.is_over(now.max(due)) {
            return Ok(run.finish());
        }
        run.wait_until(due);
        exchange(run.round())?;
        now = run.clock.raw();
        run.record(due, now);
    }
}

/// Makes the first round trips and says how many.
fn warm_up<E>(mut exchange: impl FnMut(u64) -> Result<(), E>) -> Result<u64, E> {
    let start = Instant::now();
    for round in 0..WARM_UP {
        if start.elapsed() > WARM_UP_TIME {
            return Ok(round);
        }
        exchange(round)?;
    }
    Ok(WARM_UP)
}

struct Run {
    clock: Clock,
    /// How many round trips came before the first that counts.
    warm_up: u64,
    /// Ticks per second as far as known before the run: ends and paces it.
    rate: f64,
    most: u64,
    deadline: u64,
    latencies: Histogram<u64>,
    start: Moment,
}

impl Run {
    /// Warms up and starts the clocks.
    fn start<E>(extent: Extent, mut exchange: impl FnMut(u64) -> Result<(), E>) -> Result<Self, E> {
        let clock = Clock::new();
        let early = Moment::now(&clock);
        std::thread::sleep(CALIBRATION);
        let warm_up = warm_up(&mut exchange)?;
        let latencies = Histogram::new_with_bounds(1, MOST_TICKS, SIGNIFICANT_FIGURES)
            .expect("the bounds are constants that a histogram accepts");
        let start = Moment::now(&clock);
        let rate = 1e9 / early.nanoseconds_per_tick(&start);
        let (most, deadline) = (u64::MAX, u64::MAX);
        let mut run = Self { clock, rate, warm_up, most, deadline, latencies, start };
        match extent.count {
            Some(count) => run.most = count,
            None => run.deadline = run.start.ticks + run.ticks_in(extent.seconds),
        }
        Ok(run)
    }

    fn ticks_in(&self, seconds: f64) -> u64 {
        (seconds * self.rate) as u64
    }

    /// The number of the next round trip.
    #[inline]
    fn round(&self) -> u64 {
        self.warm_up + self.latencies.len()
    }

    /// Whether the extent is reached; never before the first round trip.
    #[inline]
    fn is_over(&self, ticks: u64) -> bool {
        (ticks >= self.deadline && !self.latencies.is_empty()) || self.latencies.len() >= self.most
    }

    #[inline]
    fn record(&mut self, from: u64, to: u64) {
        self.latencies.saturating_record(to.saturating_sub(from));
    }

    fn wait_until(&self, due: u64) {
        let left = due.saturating_sub(self.clock.raw()) as f64 / self.rate;
        if let Some(sleep) = Duration::from_secs_f64(left).checked_sub(SPIN_BEFORE_DUE) {
            std::thread::sleep(sleep);
        }
        while self.clock.raw() < due {
            hint::spin_loop();
        }
    }

    fn finish(self) -> Measurement {
        let end = Moment::now(&self.clock);
        Measurement {
            count: self.latencies.len(),
            elapsed: end.time - self.start.time,
            cpu: end.cpu.saturating_sub(self.start.cpu),
            nanoseconds_per_tick: self.start.nanoseconds_per_tick(&end),
            latencies: self.latencies,
        }
    }
}

/// All clocks, read as nearly at once as the scheduler allows.
struct Moment {
    cpu: Duration,
    time: Instant,
    ticks: u64,
}

impl Moment {
    fn now(clock: &Clock) -> Self {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let cpu = Duration::new(cpu.tv_sec.unsigned_abs(), cpu.tv_nsec as u32);
        let (_, time, ticks) = (0..ATTEMPTS)
            .map(|_| {
                let before = clock.raw();
                let time = Instant::now();
                let width = clock.raw().saturating_sub(before);
                (width, time, before + width / 2)
            })
            .min_by_key(|&(width, ..)| width)
            .expect("there is more than one attempt");
        Self { cpu, time, ticks }
    }

    /// The length of a tick, as it was on average until `later`.
    fn nanoseconds_per_tick(&self, later: &Self) -> f64 {
        let ticks = later.ticks.saturating_sub(self.ticks).max(1);
        (later.time - self.time).as_nanos() as f64 / ticks as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    const COUNT: Extent = Extent { count: Some(20), seconds: 5.0 };
    const NAP: Duration = Duration::from_millis(2);

    fn nap(_: u64) -> Result<(), Infallible> {
        std::thread::sleep(NAP);
        Ok(())
    }

    fn nanoseconds(measurement: &Measurement, quantile: f64) -> f64 {
        let ticks = measurement.latencies.value_at_quantile(quantile);
        ticks as f64 * measurement.nanoseconds_per_tick
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
        let once: Vec<u64> = (0..WARM_UP + 20).collect();
        assert_eq!(rounds, [once.clone(), once].concat());
    }

    #[test]
    fn slow_exchanges_are_not_warmed_up_for_long() {
        let mut slow = 0;
        let exchange = |_| {
            slow += 1;
            std::thread::sleep(WARM_UP_TIME);
            Ok::<_, Infallible>(())
        };
        let once = Extent { count: Some(1), seconds: 5.0 };
        assert_eq!(closed_loop(once, exchange).unwrap().count, 1);
        assert!(slow <= 3, "{slow}");
    }

    #[test]
    fn a_time_ends_the_run_and_one_round_trip_is_always_measured() {
        let extent = |seconds| Extent { count: None, seconds };
        let measurement = closed_loop(extent(0.05), nap).unwrap();
        assert!(measurement.elapsed >= Duration::from_millis(49), "{:?}", measurement.elapsed);
        assert_eq!(closed_loop(extent(1e-9), nap).unwrap().count, 1);
    }

    #[test]
    fn a_latency_is_that_of_the_exchange() {
        let measurement = closed_loop(COUNT, nap).unwrap();
        let least = nanoseconds(&measurement, 0.0);
        assert!(least >= 0.99 * NAP.as_nanos() as f64, "{least}");
    }

    #[test]
    fn an_open_loop_keeps_its_rate() {
        let free = |_| Ok::<_, Infallible>(());
        let measurement = open_loop(COUNT, Rate(1_000.0), free).unwrap();
        assert!(measurement.elapsed >= Duration::from_millis(19), "{:?}", measurement.elapsed);
    }

    #[test]
    fn an_open_loop_counts_the_delay_that_a_slow_call_hands_on() {
        // Twenty calls due within 0.2 ms that take 2 ms each: the last one is 40 ms late.
        let measurement = open_loop(COUNT, Rate(100_000.0), nap).unwrap();
        assert!(nanoseconds(&measurement, 1.0) >= 0.9 * 20.0 * NAP.as_nanos() as f64);
    }

    #[test]
    fn an_open_loop_that_cannot_keep_its_rate_ends_in_time() {
        let extent = Extent { count: None, seconds: 0.02 };
        let measurement = open_loop(extent, Rate(1e6), nap).unwrap();
        assert!(measurement.count <= 20_000_000 / NAP.as_nanos() as u64 + 1, "{measurement:?}");
    }

    #[test]
    fn an_error_ends_the_run() {
        let broken = |round| if round < WARM_UP + 3 { Ok(()) } else { Err("broken") };
        assert_eq!(closed_loop(COUNT, broken).unwrap_err(), "broken");
        assert_eq!(open_loop(COUNT, Rate(1e6), broken).unwrap_err(), "broken");
    }
}
