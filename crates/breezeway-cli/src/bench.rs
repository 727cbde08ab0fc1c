//! `breezeway bench`: measures calls to a running `breezeway serve`.

pub(crate) mod latency;
mod one_way;
mod ping_pong;
mod report;
mod shmipc;

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{Address, Session};
use breezeway_os::{clock, cpu};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::Failure;
use crate::settings::{Config, ServerSettings, SessionSettings, value};
use crate::target::Target;
use latency::Recorder;
use report::Report;

const EXAMPLES: &str = "\
Examples:
  breezeway bench --addr shm:/tmp/echo.sock --wait busy --size 40 --cpu 0
  breezeway bench --addr shm:/tmp/echo.sock --size 1MiB --touch none --count 100000
  breezeway bench --addr shm:/tmp/echo.sock --pattern one-way --size 40 --batch 64 --json
  breezeway bench --addr shm:/tmp/echo.sock --rate 1000 --seconds 10

Ping-pong writes every byte before each call and compares every byte of the reply (--touch none: the first 8). A latency runs from one
reply to the next, so it counts filling and comparing; with --rate it runs from when the call was due. One-way counts what the server confirms.";

/// Measure calls to a running server
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Where the server listens: shm:/path/to.sock, unix:/path/to.sock, tcp:host:port, or several in the order of preference, separated by commas; or shmipc:/path/to.sock, any shmipc server that echoes
    #[arg(long)]
    addr: Target,
    /// Calls with replies, or messages without
    #[arg(long, value_enum, default_value_t = Pattern::PingPong)]
    pattern: Pattern,
    /// Bytes of each message, such as 40 or 64KiB
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = value::size)]
    size: usize,
    /// End after this many messages, shared out among the sessions
    #[arg(long, value_name = "N", conflicts_with = "seconds", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// End after this time [default: 5]
    #[arg(long, value_name = "S", value_parser = positive)]
    seconds: Option<f64>,
    /// Open loop: this many calls a second and session, one outstanding, sleeping until 100 µs before each is due [default: as many as possible]
    #[arg(long, value_name = "PER_SECOND", value_parser = positive, conflicts_with = "depth")]
    rate: Option<f64>,
    /// Calls in flight on each session
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=32768))]
    depth: u32,
    /// One-way messages per wake-up of the server
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    batch: u32,
    /// Sessions at one time, each with a thread
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    sessions: u32,
    /// Write and compare every byte, or 8 of each message
    #[arg(long, value_enum, default_value_t = Touch::All)]
    touch: Touch,
    /// Pin all threads to this CPU, before memory is first touched (so that it comes from the CPU's NUMA node) [default: not pinned]
    #[arg(long, value_name = "N")]
    cpu: Option<usize>,
    #[command(flatten)]
    session: SessionSettings,
    #[command(flatten)]
    config: Config,
    /// Print one line with one JSON object
    #[arg(long)]
    json: bool,
}

/// Who sends what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Pattern {
    /// Each call has a reply
    PingPong,
    /// Messages without replies
    OneWay,
}

/// How much of the payload is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Touch {
    /// Every byte is written, compared and, for large messages, copied
    All,
    /// The first 8 bytes
    None,
}

/// A positive, finite number.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() && number < 1e9 => Ok(number),
        _ => Err("expected a number above 0".to_owned()),
    }
}

/// When a session's run ends.
#[derive(Clone, Copy, Debug)]
enum Until {
    Count(u64),
    Ticks(u64),
}

impl Until {
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

pub(crate) fn run(mut args: Args) -> Result<(), Failure> {
    (args.session, _) = args.config.complete(args.session, ServerSettings::default())?;
    if let Some(cpu) = args.cpu {
        cpu::pin_current_thread(cpu)?;
    }
    if args.rate.is_some() && args.pattern == Pattern::OneWay {
        return Err("--rate goes with --pattern ping-pong".into());
    }
    clock::calibrate();
    match &args.addr {
        Target::Breezeway(address) => run_calls(&args, address),
        Target::Shmipc(address) => shmipc::run(&args, address),
    }
}

fn run_calls(args: &Args, address: &Address) -> Result<(), Failure> {
    let mut sessions = Vec::new();
    for _ in 0..args.sessions {
        sessions.push(open(args, address)?);
    }
    let before = one_way::tally_if_needed(args, &mut sessions[0])?;
    let (done, cpu_seconds) = run_all(args, sessions, run_session)?;
    let (outcomes, mut sessions): (Vec<_>, Vec<_>) = done.into_iter().unzip();
    if let Some(before) = before {
        one_way::confirm(args, &mut sessions[0], before, &outcomes)?;
    }
    finish(args, outcomes, cpu_seconds)
}

/// Says what was measured.
fn finish(args: &Args, outcomes: Vec<Outcome>, cpu_seconds: f64) -> Result<(), Failure> {
    let report = Report::new(args, outcomes, cpu_seconds);
    let text = if args.json { report.json()? } else { report.table() };
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}

/// Opens a session whose ring, unless it is set, has room for the calls in flight.
fn open(args: &Args, address: &Address) -> Result<Session, Failure> {
    let default = args.session.options();
    let depth = args.depth.next_power_of_two();
    let makes_room = depth > 128 && args.session.ring_capacity.is_none();
    let options = if makes_room { default.ring_capacity(2 * depth) } else { default };
    let session = Session::connect_with(address, &options)?;
    if args.depth as usize > session.max_in_flight() {
        let most = session.max_in_flight();
        return Err(format!(
            "--depth {} is more than the {most} calls in flight that both rings allow; raise --ring-capacity of bench and serve",
            args.depth
        )
        .into());
    }
    if args.size > session.cap() {
        let (size, cap) = (args.size, session.cap());
        return Err(format!("--size {size} exceeds the session's cap of {cap} bytes, the smaller of both sides'; raise --cap of bench and serve").into());
    }
    Ok(session)
}

/// Runs all sessions at once, each on its thread; gives also the CPU time that this took.
fn run_all<S: Send + 'static>(
    args: &Args,
    sessions: Vec<S>,
    run: fn(&Args, Until, &mut S) -> Result<Outcome, Failure>,
) -> Result<(Vec<(Outcome, S)>, f64), Failure> {
    let before = cpu_seconds();
    let (sender, done) = channel();
    let threads: Vec<_> = sessions
        .into_iter()
        .enumerate()
        .map(|(number, mut session)| {
            let (args, sender) = (args.clone(), sender.clone());
            thread::spawn(move || {
                let outcome = run(&args, until(&args, number as u64), &mut session);
                // The receiver lives until all threads are joined.
                let _ = sender.send(());
                outcome.map(|outcome| (outcome, session))
            })
        })
        .collect();
    drop(sender);
    show_progress(args, &done);
    let mut all = Vec::new();
    for thread in threads {
        all.push(thread.join().map_err(|_| "a measuring thread panicked")??);
    }
    Ok((all, cpu_seconds() - before))
}

/// When the session with this number ends.
fn until(args: &Args, number: u64) -> Until {
    match (args.count, args.seconds) {
        (Some(count), _) => {
            let sessions = u64::from(args.sessions);
            Until::Count(count / sessions + u64::from(number < count % sessions))
        }
        (None, seconds) => {
            Until::Ticks(clock::ticks_in(Duration::from_secs_f64(seconds.unwrap_or(5.0))))
        }
    }
}

fn run_session(args: &Args, until: Until, session: &mut Session) -> Result<Outcome, Failure> {
    match args.pattern {
        Pattern::PingPong => ping_pong::run(args, session, until),
        Pattern::OneWay => one_way::run(args, session, until),
    }
}

/// Shows how far a run is, on a terminal, until all sessions are done.
fn show_progress(args: &Args, done: &Receiver<()>) {
    const STEP: Duration = Duration::from_millis(250);
    let total = Duration::from_secs_f64(args.seconds.unwrap_or(5.0));
    let bar = if args.json {
        ProgressBar::hidden()
    } else if args.count.is_some() {
        ProgressBar::new_spinner()
    } else {
        ProgressBar::new(total.as_millis() as u64)
            .with_style(ProgressStyle::with_template("{wide_bar} {eta}").expect("a valid template"))
    };
    let start = Instant::now();
    loop {
        match done.recv_timeout(STEP) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => bar.set_position(start.elapsed().as_millis() as u64),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    bar.finish_and_clear();
}

/// CPU time that this process has used.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
