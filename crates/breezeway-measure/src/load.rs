//! Load: who sends what, how much of it and for how long, and what a run of it found.
//!
//! [`on_sessions`] and [`on_shmipc`] drive sessions of Breezeway and of its shmipc; [`closed_loop`]
//! and [`open_loop`] drive anything that can exchange a message, such as the comparison programs
//! of other systems. [`Echo`] is the server's side, [`plain`] the echo that anybody would write
//! with a std socket.

mod echo;
mod exchange;
mod extent;
pub mod methods;
mod one_way;
mod ping_pong;
pub mod plain;
mod shmipc;

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use breezeway::Session;
use breezeway_os::clock;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::Failure;
use crate::statistics::Recorder;

pub use echo::Echo;
pub use exchange::{Rate, closed_loop, open_loop};
pub use extent::Extent;
pub use shmipc::on_shmipc;

/// Who sends what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Each call has a reply
    #[default]
    PingPong,
    /// Messages without replies
    OneWay,
}

/// How much of the payload is touched.
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

/// What every session of a run does.
#[derive(Clone, Debug)]
pub struct Load {
    /// Calls with replies, or messages without.
    pub pattern: Pattern,
    /// Bytes of each message.
    pub size: usize,
    /// Which of them are written and compared.
    pub touch: Touch,
    /// When the run ends; a count is shared out among the sessions.
    pub extent: Extent,
    /// Open loop: so many calls a second and session, one outstanding.
    pub rate: Option<f64>,
    /// Calls in flight on each session.
    pub depth: u32,
    /// One-way messages per wake-up of the server.
    pub batch: u32,
}

impl Load {
    /// How many bytes of a message are written and compared.
    fn touched(&self) -> usize {
        match self.touch {
            Touch::All => self.size,
            Touch::None => self.size.min(methods::HOLLOW_BYTES),
        }
    }
}

/// What a run found.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Messages, one way.
    pub count: u64,
    /// From the first message to the last; of several sessions, that of the longest.
    pub elapsed: Duration,
    /// Processor time of this process in that time, all threads.
    pub cpu: Duration,
    /// Round trips; one-way messages have none.
    pub latencies: Option<Recorder>,
}

impl Measurement {
    /// Sums up all sessions.
    fn of(outcomes: &[Outcome], cpu: Duration) -> Self {
        let ticks = outcomes.iter().map(|outcome| outcome.ticks).max().unwrap_or(0);
        let mut latencies: Option<Recorder> = None;
        for recorder in outcomes.iter().filter_map(|outcome| outcome.latencies.as_ref()) {
            match &mut latencies {
                Some(all) => all.merge(recorder),
                None => latencies = Some(recorder.clone()),
            }
        }
        Self {
            count: outcomes.iter().map(|outcome| outcome.count).sum(),
            elapsed: Duration::from_nanos(clock::nanoseconds(ticks)),
            cpu,
            latencies,
        }
    }
}

/// When a session's run ends.
#[derive(Clone, Copy, Debug)]
enum Until {
    Count(u64),
    Ticks(u64),
}

impl Until {
    /// When the session with this number, of so many, ends.
    fn of(extent: Extent, sessions: u64, number: u64) -> Self {
        match extent.count {
            Some(count) => Self::Count(count / sessions + u64::from(number < count % sessions)),
            None => Self::Ticks(clock::ticks_in(Duration::from_secs_f64(extent.seconds))),
        }
    }

    /// Whether a run that began at `start` and has sent `sent` messages is to send no more.
    #[inline]
    fn reached(self, sent: u64, start: u64, now: u64) -> bool {
        match self {
            Self::Count(count) => sent >= count,
            Self::Ticks(ticks) => now.wrapping_sub(start) >= ticks,
        }
    }
}

/// What one session did.
#[derive(Default)]
struct Outcome {
    count: u64,
    /// Clock ticks from its first message to its last.
    ticks: u64,
    /// Sum of what it sent one-way.
    sum: u64,
    latencies: Option<Recorder>,
}

/// Runs `load` on all `sessions` at once, each on a thread of its own, against a server that runs
/// [`Echo`]. Calls `progress` every quarter of a second.
///
/// # Errors
///
/// A session's first error, a reply that differs from its request, or one-way messages that the
/// server does not confirm.
pub fn on_sessions(
    load: &Load,
    mut sessions: Vec<Session>,
    progress: impl FnMut(),
) -> Result<Measurement, Failure> {
    let first = sessions.first_mut().ok_or("there is no session to measure")?;
    let before = match load.pattern {
        Pattern::OneWay => Some(one_way::tally(first)?),
        Pattern::PingPong => None,
    };
    let (done, cpu) = run_all(load, sessions, run_session, progress)?;
    let (outcomes, mut sessions): (Vec<_>, Vec<_>) = done.into_iter().unzip();
    if let Some(before) = before {
        one_way::confirm(load, &mut sessions[0], before, &outcomes)?;
    }
    Ok(Measurement::of(&outcomes, cpu))
}

fn run_session(load: &Load, until: Until, session: &mut Session) -> Result<Outcome, Failure> {
    match load.pattern {
        Pattern::PingPong => ping_pong::run(load, session, until),
        Pattern::OneWay => one_way::run(load, session, until),
    }
}

/// Runs all sessions at once, each on its thread; gives also the CPU time that this took.
fn run_all<S: Send + 'static>(
    load: &Load,
    sessions: Vec<S>,
    run: fn(&Load, Until, &mut S) -> Result<Outcome, Failure>,
    progress: impl FnMut(),
) -> Result<(Vec<(Outcome, S)>, Duration), Failure> {
    clock::calibrate();
    let before = cpu_time();
    let count = sessions.len() as u64;
    let (sender, done) = channel();
    let threads: Vec<_> = sessions
        .into_iter()
        .zip(0..)
        .map(|(mut session, number)| {
            let (load, sender) = (load.clone(), sender.clone());
            thread::spawn(move || {
                let outcome = run(&load, Until::of(load.extent, count, number), &mut session);
                // The receiver lives until all threads are joined.
                let _ = sender.send(());
                outcome.map(|outcome| (outcome, session))
            })
        })
        .collect();
    drop(sender);
    wait_for_all(&done, progress);
    let mut all = Vec::new();
    for thread in threads {
        all.push(thread.join().map_err(|_| "a measuring thread panicked")??);
    }
    Ok((all, cpu_time().saturating_sub(before)))
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

/// CPU time that this process has used.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
