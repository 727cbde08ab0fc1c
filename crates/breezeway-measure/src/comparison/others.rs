//! CPU time that other programs used during a measurement, on the CPUs that it may run on.

use std::time::Duration;

use rustix::process::Pid;
use rustix::time::{ClockId, clock_gettime};

use crate::machine::read;
use crate::process::cpu_time;

/// Milliseconds of the unit of `/proc/stat` and `/proc/PID/stat` (USER_HZ).
const TICK: u64 = 10;
/// Shortest interval that is evaluated: below it, usage cannot be distinguished from the rounding
/// of four counters in ticks.
const LEAST: Duration = Duration::from_millis(30);
/// Number of CPUs that a measurement uses: one for each side.
const SIDES: u32 = 2;
/// Share of the time of both sides' CPUs above which a measurement is disturbed.
pub(crate) const SHARE: f64 = 0.05;

/// The counters at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    at: Duration,
    /// Number of CPUs that are counted.
    count: u32,
    cpus: Counters,
    /// CPU time of the processes that this one started and that have ended.
    children: Duration,
    /// CPU time of the server that is measured.
    server: Duration,
}

/// CPU time of several CPUs together since boot.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counters {
    idle: Duration,
    interrupts: Duration,
    stolen: Duration,
}

/// CPU usage between two readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Usage {
    /// The time of the CPUs that both sides use; others are counted, but disturb as much on many.
    pub(crate) available: Duration,
    /// The least part that other processes used: interrupts are left out, as some kernels count
    /// them to the process that they interrupt.
    pub(crate) others: Duration,
    /// The part that the hypervisor gave to other machines.
    pub(crate) stolen: Duration,
    /// CPU time of the server.
    pub(crate) server: Duration,
}

impl Reading {
    /// Reads the counters of `cpus`, of ended children, and of the process `server`; `None` on a
    /// system without them.
    pub(crate) fn take(cpus: &[usize], server: Option<Pid>) -> Option<Self> {
        let time = clock_gettime(ClockId::Monotonic);
        Some(Self {
            at: Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32),
            count: cpus.len() as u32,
            cpus: Counters::parse(&read("/proc/stat")?, cpus)?,
            children: children(&read("/proc/self/stat")?)?,
            server: server.map_or(Some(Duration::ZERO), cpu_time)?,
        })
    }
}

impl Counters {
    /// The sum of the lines `cpuN` of `/proc/stat` for all `cpus`.
    fn parse(stat: &str, cpus: &[usize]) -> Option<Self> {
        let of = |cpu: &usize| {
            let name = format!("cpu{cpu}");
            let line = stat.lines().find_map(|line| {
                let (found, rest) = line.split_once(' ')?;
                (found == name).then_some(rest)
            })?;
            let times: Option<Vec<Duration>> = line.split_whitespace().map(time).collect();
            // user nice system idle iowait irq softirq steal
            let [_, _, _, idle, waiting, hard, soft, stolen, ..] = times?[..] else { return None };
            Some([idle + waiting, hard + soft, stolen])
        };
        let all = cpus.iter().map(of).collect::<Option<Vec<_>>>()?;
        let [idle, interrupts, stolen] =
            std::array::from_fn(|index| all.iter().map(|times| times[index]).sum());
        Some(Self { idle, interrupts, stolen })
    }
}

impl Usage {
    /// Returns the usage from one reading to a later one.
    pub(crate) fn between(before: &Reading, after: &Reading) -> Self {
        let since = |of: fn(&Reading) -> Duration| of(after).saturating_sub(of(before));
        let elapsed = since(|reading| reading.at);
        let (counted, available) = (after.count * elapsed, after.count.min(SIDES) * elapsed);
        let (stolen, server) = (since(|reading| reading.cpus.stolen), since(|one| one.server));
        let own = since(|reading| reading.children) + server;
        let explained = since(|reading| reading.cpus.idle)
            + since(|reading| reading.cpus.interrupts)
            + stolen
            + own;
        Self { available, others: counted.saturating_sub(explained), stolen, server }
    }

    /// CPU time of other processes, as a share of the time of both sides' CPUs.
    pub(crate) fn others_share(&self) -> f64 {
        share(self.others, self.available)
    }

    /// CPU time of other machines, as a share of the time of both sides' CPUs.
    pub(crate) fn stolen_share(&self) -> f64 {
        share(self.stolen, self.available)
    }

    /// Returns true if others had enough CPU time to make figures worse.
    pub(crate) fn is_disturbed(&self) -> bool {
        let lost = self.others + self.stolen;
        lost > LEAST && lost > self.available.mul_f64(SHARE)
    }
}

/// Part of a time; none of no time.
pub(crate) fn share(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { part.as_secs_f64() / whole.as_secs_f64() }
}

/// CPU time of ended children, from the text of `/proc/PID/stat`.
fn children(stat: &str) -> Option<Duration> {
    // The name in parentheses may have any characters.
    let (_, fields) = stat.rsplit_once(')')?;
    // State is the third field of proc(5), cutime and cstime are the 16th and 17th.
    let mut times = fields.split_whitespace().skip(13).map(time);
    Some(times.next()?? + times.next()??)
}

/// A time in ticks.
fn time(field: &str) -> Option<Duration> {
    Some(Duration::from_millis(field.parse::<u64>().ok()?.checked_mul(TICK)?))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::Instant;

    use super::*;
    use crate::machine::{Cpus, pin};

    const CPUS: &[usize] = &[1, 3];
    const BEFORE: &str = "\
        cpu  1000 10 500 9000 20 3 4 5 0 0\n\
        cpu1 100 1 50 900 10 1 2 3 0 0\n\
        cpu10 7 7 7 7 7 7 7 7 7 7\n\
        cpu3 200 2 60 800 20 1 2 4 0 0\n\
        intr 1\n";
    /// CPU 1 was idle for 60 ms of 200, CPU 3 for 30 ms.
    const AFTER: &str = "\
        cpu1 110 1 54 905 11 1 2 3 0 0\n\
        cpu3 215 2 61 802 21 1 3 4 0 0\n";

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn reading(stat: &str, at: u64, children: u64, server: u64) -> Reading {
        let cpus = Counters::parse(stat, CPUS).unwrap();
        Reading { at: ms(at), count: 2, cpus, children: ms(children), server: ms(server) }
    }

    fn usage(after: &str, children: u64, server: u64) -> Usage {
        let (before, after) = (reading(BEFORE, 0, 0, 5), reading(after, 200, children, 5 + server));
        Usage::between(&before, &after)
    }

    #[test]
    fn time_of_own_processes_is_not_of_others() {
        // 400 ms: 90 idle, 10 of interrupts, 300 of the measurement.
        let usage = usage(AFTER, 140, 160);
        assert_eq!((usage.available, usage.others, usage.stolen), (ms(400), ms(0), ms(0)));
        assert_eq!(usage.server, ms(160));
        assert!(!usage.is_disturbed());
    }

    #[test]
    fn time_of_others_disturbs() {
        let usage = usage(AFTER, 70, 60);
        assert_eq!(usage.others, ms(170));
        assert!(usage.is_disturbed());
    }

    #[test]
    fn stolen_time_disturbs_and_is_not_of_others() {
        let usage = usage(&AFTER.replace("2 3 0 0", "2 9 0 0"), 140, 100);
        assert_eq!((usage.others, usage.stolen), (ms(0), ms(60)));
        assert!(usage.is_disturbed());
    }

    #[test]
    fn one_cpu_of_many_disturbs_two_sides() {
        let cpus = |idle| Counters { idle: ms(idle), interrupts: ms(0), stolen: ms(0) };
        let reading = |at, idle| Reading {
            at: ms(at),
            count: 64,
            cpus: cpus(idle),
            children: ms(0),
            server: ms(0),
        };
        let usage = Usage::between(&reading(0, 0), &reading(1_000, 63_000));
        assert_eq!((usage.available, usage.others), (ms(2_000), ms(1_000)));
        assert!(usage.is_disturbed());
    }

    #[test]
    fn rounding_of_counters_does_not_disturb() {
        let usage = usage(AFTER, 140, 130);
        assert_eq!(usage.others, ms(30));
        assert!(!usage.is_disturbed());
    }

    #[test]
    fn a_system_without_these_counters_has_no_reading() {
        for text in ["", "cpu 1 2 3", "cpu1 1 2 3 4\ncpu3 1 2 3 4", "cpu1 1 2 3 x 5 6 7 8"] {
            assert_eq!(Counters::parse(text, CPUS), None, "{text}");
        }
    }

    #[test]
    fn a_name_with_parentheses_hides_no_field() {
        let stat = "7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 3 4 25 17 20 0";
        assert_eq!(children(stat), Some(ms(420)));
        assert_eq!(children("7 (a) S 1"), None);
    }

    /// A process that spins on a CPU until it is dropped.
    struct Spinning(Child);

    impl Spinning {
        fn on(cpu: usize) -> Self {
            let start = move || {
                pin(Some(cpu)).unwrap();
                Command::new("sh").args(["-c", "while :; do :; done"]).spawn()
            };
            // On a thread of its own, whose CPU the process inherits.
            Self(std::thread::spawn(start).join().unwrap().unwrap())
        }

        fn pid(&self) -> Pid {
            Pid::from_child(&self.0)
        }
    }

    impl Drop for Spinning {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    /// Waits until the process has used this much CPU time.
    fn work_beside(load: &Spinning, time: Duration) {
        let (start, before) = (Instant::now(), cpu_time(load.pid()).unwrap());
        while cpu_time(load.pid()).unwrap() < before + time {
            assert!(start.elapsed() < Duration::from_secs(60), "the load gets no CPU");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_process_beside_is_seen_and_an_own_one_is_not() {
        let cpus = Cpus::first_allowed().unwrap();
        let load = Spinning::on(cpus.partner);
        work_beside(&load, ms(10));
        let take = |server| Reading::take(&cpus.both(), server).unwrap();
        let (before, before_own) = (take(None), take(Some(load.pid())));
        work_beside(&load, ms(200));
        let (beside, own) = (
            Usage::between(&before, &take(None)),
            Usage::between(&before_own, &take(Some(load.pid()))),
        );
        assert!(beside.others >= ms(150) && beside.is_disturbed(), "{beside:?}");
        assert!(own.server >= ms(200), "{own:?}");
        assert!(own.others + ms(150) <= beside.others + ms(20), "{own:?} {beside:?}");
    }
}
