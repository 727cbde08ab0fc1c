//! Load: the pattern, number and time of messages, and the results of a run.
//!
//! [`on_sessions`] and [`on_shmipc`] drive sessions of Breezeway and of its shmipc, [`on_channel`]
//! and [`tasks`] one session that many callers share; [`closed_loop`] and [`open_loop`] drive
//! anything that can exchange a message, such as the comparison programs of other systems, and
//! [`awaited`] anything that can be called under tokio. [`Echo`] is the server's side, [`plain`] an
//! echo over a plain std socket.

pub mod awaited;
mod cold;
mod content;
mod echo;
pub mod empty;
mod exchange;
mod extent;
mod gate;
pub mod methods;
mod one_way;
mod ping_pong;
pub mod plain;
mod shared;
mod shmipc;
mod spread;
pub mod tasks;
mod warm_up;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use breezeway::ExclusiveSession;
use breezeway_os::{clock, shortage};
use rustix::process::Pid;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::statistics::Recorder;
use crate::{Failure, process};

pub use cold::on_fresh_sessions;
pub use echo::Echo;
pub use exchange::{Rate, closed_loop, open_loop};
pub use extent::Extent;
use gate::Gate;
pub use shared::on_channel;
pub use shmipc::on_shmipc;
pub use spread::{Runtime, Spread};

/// Pattern of messages between client and server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Each call has a reply
    #[default]
    PingPong,
    /// Messages without replies
    OneWay,
    /// Connect, make one call and close, repeatedly
    Cold,
}

impl Pattern {
    /// Returns its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PingPong => "ping-pong",
            Self::OneWay => "one-way",
            Self::Cold => "cold",
        }
    }
}

/// Part of the payload that is touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Touch {
    /// Every byte is written, compared and, for large messages, copied
    #[default]
    All,
    /// The first 8 bytes
    None,
}

impl Touch {
    /// Returns its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::None => "none",
        }
    }
}

/// Load of every session of a run.
#[derive(Clone, Debug)]
pub struct Load {
    /// Calls with replies, or messages without.
    pub pattern: Pattern,
    /// Bytes of each message.
    pub size: usize,
    /// Bytes that are written and compared.
    pub touch: Touch,
    /// End of the run; a count is shared out among the sessions.
    pub extent: Extent,
    /// Open loop: this many calls a second and session, one outstanding.
    pub rate: Option<f64>,
    /// Calls in flight on each session.
    pub depth: u32,
    /// One-way messages per wake-up of the server.
    pub batch: u32,
}

impl Load {
    /// Returns the number of bytes of a message that are written and compared.
    fn touched(&self) -> usize {
        match self.touch {
            Touch::All => self.size,
            Touch::None => self.size.min(methods::HOLLOW_BYTES),
        }
    }
}

/// Results of a run.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Messages, one way.
    pub count: u64,
    /// Time from the first message to the last; of several sessions, that of the longest.
    pub elapsed: Duration,
    /// Processor time of this process in that time, all threads.
    pub cpu: Duration,
    /// Processor time of the server in that time, all threads; None if its process is unknown.
    pub server_cpu: Option<Duration>,
    /// Round trips; one-way messages have none.
    pub latencies: Option<Recorder>,
}

impl Measurement {
    /// Sums up all sessions.
    fn of(runs: &[Runs], cpu: CpuTime) -> Self {
        let outcomes = runs.iter().map(|runs| &runs.counted);
        let ticks = outcomes.clone().map(|outcome| outcome.ticks).max().unwrap_or(0);
        let mut latencies: Option<Recorder> = None;
        for recorder in outcomes.clone().filter_map(|outcome| outcome.latencies.as_ref()) {
            match &mut latencies {
                Some(all) => all.merge(recorder),
                None => latencies = Some(recorder.clone()),
            }
        }
        Self {
            count: outcomes.map(|outcome| outcome.count).sum(),
            elapsed: Duration::from_nanos(clock::nanoseconds(ticks)),
            cpu: cpu.client,
            server_cpu: cpu.server,
            latencies,
        }
    }
}

/// End of a session's run: after this many messages or this much time, whichever comes first.
#[derive(Clone, Copy, Debug)]
struct Until {
    /// The number of the first message: the warm-up has the ones before.
    first: u64,
    count: u64,
    ticks: u64,
}

impl Until {
    /// Returns the end of session `number` of `sessions`.
    fn of(extent: Extent, sessions: u64, number: u64) -> Self {
        match extent.count {
            Some(count) => {
                let count = count / sessions + u64::from(number < count % sessions);
                Self { first: 0, count, ticks: u64::MAX }
            }
            None => {
                let ticks = clock::ticks_in(Duration::from_secs_f64(extent.seconds));
                Self { first: 0, count: u64::MAX, ticks }
            }
        }
    }

    /// Returns the end of a session's warm-up.
    fn warm(load: &Load) -> Self {
        let count = warm_up::MESSAGES.max(u64::from(load.depth));
        Self { first: 0, count, ticks: clock::ticks_in(warm_up::TIME) }
    }

    /// Returns true if a run that began at `start` ends after `sent` messages.
    #[inline]
    fn reached(self, sent: u64, start: u64, now: u64) -> bool {
        sent >= self.count || now.wrapping_sub(start) >= self.ticks
    }
}

/// Results of one session.
#[derive(Default)]
struct Outcome {
    count: u64,
    /// Clock ticks from its first message to its last.
    ticks: u64,
    /// Sum of its one-way messages.
    sum: u64,
    latencies: Option<Recorder>,
}

/// Messages of one session before those that count, and its results with those that count.
struct Runs {
    warm_up: Outcome,
    counted: Outcome,
}

/// Runs `load` on all `sessions` at once, each on a thread of its own, against a server that runs
/// [`Echo`]. Each session is warmed up first. Calls `progress` every quarter of a second.
///
/// # Errors
///
/// A session's first error, a reply that differs from its request, or one-way messages that the
/// server does not confirm.
pub fn on_sessions(
    load: &Load,
    mut sessions: Vec<ExclusiveSession>,
    progress: impl FnMut(),
) -> Result<Measurement, Failure> {
    let first = sessions.first_mut().ok_or("a run needs at least one session")?;
    let before = match load.pattern {
        Pattern::OneWay => Some(one_way::tally(first)?),
        Pattern::PingPong | Pattern::Cold => None,
    };
    let server = first.peer().pid;
    let (mut sessions, runs, cpu) = run_all(load, sessions, server, run_session, progress)?;
    if let Some(before) = before {
        one_way::confirm(load, &mut sessions[0], before, &runs)?;
    }
    Ok(Measurement::of(&runs, cpu))
}

/// Runs `load`, which ends after a count, on a session without warming it up, on this thread;
/// returns the time that it took.
///
/// # Errors
///
/// Fails like [`on_sessions`].
pub fn first_messages(load: &Load, session: &mut ExclusiveSession) -> Result<Duration, Failure> {
    clock::calibrate();
    let before = match load.pattern {
        Pattern::OneWay => Some(one_way::tally(session)?),
        Pattern::PingPong | Pattern::Cold => None,
    };
    let counted = run_session(load, Until::of(load.extent, 1, 0), session)?;
    let elapsed = Duration::from_nanos(clock::nanoseconds(counted.ticks));
    if let Some(before) = before {
        one_way::confirm(load, session, before, &[Runs { warm_up: Outcome::default(), counted }])?;
    }
    Ok(elapsed)
}

fn run_session(
    load: &Load,
    until: Until,
    session: &mut ExclusiveSession,
) -> Result<Outcome, Failure> {
    match load.pattern {
        Pattern::PingPong => ping_pong::run(load, session, until),
        Pattern::Cold => Err("a cold start opens its sessions itself".into()),
        Pattern::OneWay => one_way::run(load, session, until),
    }
}

/// Sends messages on a session.
type Run<S> = fn(&Load, Until, &mut S) -> Result<Outcome, Failure>;

/// Runs all sessions at once, each on its thread, once all of them are warm; gives also the CPU
/// time of what counts, of this process and of the process `server`.
fn run_all<S: Send + 'static>(
    load: &Load,
    sessions: Vec<S>,
    server: Option<u32>,
    run: Run<S>,
    progress: impl FnMut(),
) -> Result<(Vec<S>, Vec<Runs>, CpuTime), Failure> {
    let server = server.and_then(|pid| Pid::from_raw(pid.cast_signed()));
    clock::calibrate();
    let count = sessions.len();
    let (sender, done) = channel();
    let all_warm = Arc::new(Gate::new(count + 1));
    let mut threads = Vec::with_capacity(count);
    for (mut session, number) in sessions.into_iter().zip(0..) {
        let (load, sender, gate) = (load.clone(), sender.clone(), Arc::clone(&all_warm));
        let started = shortage::spawn("session", move || {
            let until = Until::of(load.extent, count as u64, number);
            let runs = warm_up_and_run(&load, until, &mut session, run, &gate);
            // The receiver lives until all threads are joined.
            let _ = sender.send(());
            runs.map(|runs| (session, runs))
        });
        match started {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                all_warm.call_off();
                return Err(error.into());
            }
        }
    }
    drop(sender);
    // Read while every session waits, so that reading delays no message.
    all_warm.wait_for_all_but(1)?;
    let before = CpuTime::now(server);
    all_warm.arrive();
    wait_for_all(&done, progress);
    let cpu = CpuTime::now(server).since(before);
    let mut all = (Vec::with_capacity(count), Vec::with_capacity(count));
    for thread in threads {
        all.extend([thread.join().map_err(|_| "a measuring thread panicked")??]);
    }
    Ok((all.0, all.1, cpu))
}

fn warm_up_and_run<S>(
    load: &Load,
    until: Until,
    session: &mut S,
    run: Run<S>,
    all_warm: &Gate,
) -> Result<Runs, Failure> {
    let arrival = Arrival(all_warm);
    // Without the rate, at which as many messages could take minutes.
    let warm_up = run(&Load { rate: None, ..load.clone() }, Until::warm(load), session);
    drop(arrival);
    let warm_up = warm_up?;
    all_warm.wait()?;
    let until = Until { first: warm_up.count, ..until };
    Ok(Runs { warm_up, counted: run(load, until, session)? })
}

/// Arrives at the barrier when dropped: also a thread that panics keeps no other waiting.
struct Arrival<'a>(&'a Gate);

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        self.0.arrive();
    }
}

/// Returns once every sender is gone.
fn wait_for_all(done: &Receiver<()>, mut progress: impl FnMut()) {
    const STEP: Duration = Duration::from_millis(250);
    loop {
        match done.recv_timeout(STEP) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => progress(),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// CPU time that both sides have used.
#[derive(Clone, Copy)]
struct CpuTime {
    client: Duration,
    server: Option<Duration>,
}

impl CpuTime {
    /// Reads the CPU time of this process and of the process `server`.
    fn now(server: Option<Pid>) -> Self {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        let client = Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32);
        Self { client, server: server.and_then(process::cpu_time) }
    }

    /// Returns the CPU time since an earlier reading.
    fn since(self, before: Self) -> Self {
        let server = self.server.zip(before.server);
        Self {
            client: self.client.saturating_sub(before.client),
            server: server.map(|(now, before)| now.saturating_sub(before)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep_rate(load: &Load, _: Until, rates: &mut Vec<Option<f64>>) -> Result<Outcome, Failure> {
        rates.push(load.rate);
        Ok(Outcome::default())
    }

    #[test]
    fn session_is_warmed_up_without_the_rate() {
        let load = Load {
            pattern: Pattern::PingPong,
            size: 64,
            touch: Touch::All,
            extent: Extent { count: Some(1), seconds: 5.0 },
            rate: Some(10.0),
            depth: 1,
            batch: 1,
        };
        let mut rates = Vec::new();
        let until = Until::of(load.extent, 1, 0);
        warm_up_and_run(&load, until, &mut rates, keep_rate, &Gate::new(1)).unwrap();
        assert_eq!(rates, [None, Some(10.0)]);
    }
}
