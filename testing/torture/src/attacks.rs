//! Attacks by name; an honest client measures during each. Each attack counts its steps, and one
//! without a step proves nothing.

mod clients;
mod servers;
mod standstill;
mod target;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::engine::Engine;
use crate::hostile::{Times, measure};
use crate::process::{self, Process};
use crate::{Failure, client};
use standstill::Standstill;
use target::{Course, Target, Via};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Attacks to run; all of them, if none is named.
    attacks: Vec<Attack>,
    /// Engines to attack, native, tokio or go; each of them, if none is named.
    #[arg(long)]
    engine: Vec<Engine>,
    /// Time in seconds for which the honest client measures without and with each attack.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Runs instead until the client has made this many calls and the attack has taken three steps.
    #[arg(long)]
    calls: Option<u64>,
    /// Dies with the process that started this one.
    #[arg(long)]
    bound: bool,
}

/// Amount of calls after which the honest client stops.
#[derive(Clone, Copy)]
enum Enough {
    Time(Duration),
    Calls(u64),
}

/// Number of steps after which an attack counts as running.
const UNDER_WAY: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Attack {
    /// Silent connections, opened again whenever the server closes them.
    Silent,
    /// Connections that send a byte of an invalid hello at a time.
    Trickling,
    /// Connecting and closing without end.
    Connects,
    /// Doorbells without end.
    Doorbells,
    /// Frames on sockets that are announced, come a byte at a time, and never end.
    SlowFrames,
    /// Segments that come and go, each with its entries, without end.
    Segments,
    /// Replies that are lent and never released.
    Keeping,
    /// Streams that are opened and reset without end.
    Streams,
    /// A client that is stopped within its calls and continued.
    Stopped,
    /// Clients that send their own end of the session socket as a segment, alone, behind good ones,
    /// and on each other's sessions.
    OwnEnds,
    /// A server that does the same to honest clients, and dies.
    OwnEndsOfServer,
    /// Clients that keep to the rules, and whose sockets are full: segments that stay pending, and
    /// doorbells that are not asked for. They are to be served.
    FullSockets,
    /// A server with a full socket; its honest clients must get their replies.
    FullSocketsOfServer,
    /// Four sessions that echo messages of the cap; some are refused for lack of memory.
    LargeEchoes,
    /// Thousands of silent connections, during which new clients must be accepted.
    Crowd,
}

/// Every engine whose sessions follow the rules of one server.
const ENGINES: [Engine; 3] = [Engine::Native, Engine::Tokio, Engine::Go];

impl Attack {
    /// Returns the carriers by which each engine is attacked; for a hostile server, those of its
    /// clients.
    fn carriers(self) -> &'static [Via] {
        match self {
            Self::SlowFrames => &[Via::Unix, Via::Tcp],
            Self::OwnEnds | Self::OwnEndsOfServer => &[Via::Shm, Via::Unix],
            Self::LargeEchoes | Self::Crowd => &[Via::Shm, Via::Unix, Via::Tcp],
            _ => &[Via::Shm],
        }
    }

    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |it| it.get_name().to_owned())
    }

    fn go(self, target: Target<'_>, course: &Course) -> Result<(), Failure> {
        let Target { engine, via, address, .. } = target;
        match self {
            Self::Silent => clients::silent(target, course, clients::CONNECTIONS, None),
            Self::Trickling => clients::silent(target, course, clients::CONNECTIONS, Some(b'B')),
            Self::Connects => clients::connects(target, course),
            Self::Doorbells => clients::doorbells(target, course),
            Self::SlowFrames => clients::slow_frames(target, course),
            Self::Segments => clients::segments(target, course),
            Self::Keeping => clients::keeping(address, course),
            Self::Streams => clients::streams(address, course),
            Self::Stopped => clients::stopped(address, course),
            Self::OwnEnds => clients::own_ends(target, course),
            Self::OwnEndsOfServer => servers::own_ends(engine, via, course),
            Self::FullSockets => clients::full_sockets(target, course),
            Self::FullSocketsOfServer => servers::full_sockets(engine, course),
            Self::LargeEchoes => clients::large_echoes(target, course),
            Self::Crowd => clients::crowd(target, course),
        }
    }
}

/// Tries each attack in turn against servers in shared memory; prints a line about each.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    if options.bound {
        set_parent_process_death_signal(Some(Signal::KILL))?;
    }
    let attacks = match options.attacks.is_empty() {
        true => Attack::value_variants(),
        false => &options.attacks,
    };
    let engines = match options.engine.is_empty() {
        true => &ENGINES[..],
        false => &options.engine,
    };
    if let Some(other) = options.engine.iter().find(|engine| !ENGINES.contains(engine)) {
        return Err(format!("no attack by name is made for {}", other.name()).into());
    }
    let time = Enough::Time(Duration::from_secs_f64(options.seconds));
    let enough = options.calls.map_or(time, Enough::Calls);
    for &attack in attacks {
        for &engine in engines {
            if engine == Engine::Go && process::go_server().is_none() {
                println!("SKIPPED: {attack:?} of go needs its command, named by BREEZEWAY_BWGO");
                continue;
            }
            for &via in attack.carriers() {
                let report = try_attack(attack, engine, via, enough);
                let report =
                    report.map_err(|error| format!("{attack:?}, {engine:?}, {via}: {error}"))?;
                println!("{report}");
            }
        }
    }
    Ok(())
}

fn try_attack(attack: Attack, engine: Engine, via: Via, enough: Enough) -> Result<String, Failure> {
    if attack == Attack::Crowd {
        clients::raise_open_files()?;
    }
    let folder = tempfile::tempdir()?;
    let process = Process::start(engine, folder.path())?;
    let (path, address) = (via.path(folder.path()), via.address(folder.path(), &process.tcp));
    let mut honest = client::connect(engine, &address)?;
    (0..20).try_for_each(|number| honest.round(number))?;
    let mut measured = |course: Option<&Course>, has_ended: &dyn Fn() -> bool| {
        let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            let so_far = move || course.map_or(UNDER_WAY, Course::steps);
            let (client, stop, progress) = (&mut *honest, &stop, &progress);
            let measuring = scope.spawn(move || measure(client, stop, progress, so_far));
            let before = course.map_or(0, |_| so_far());
            let mut stood_still = None;
            match enough {
                Enough::Time(time) => thread::sleep(time),
                Enough::Calls(calls) => {
                    let mut waiting = Standstill::new();
                    while !measuring.is_finished()
                        && !has_ended()
                        && waiting.goes_on(
                            calls.saturating_sub(progress.load(Ordering::Relaxed)),
                            UNDER_WAY.saturating_sub(so_far() - before),
                            &process,
                        )
                    {
                        thread::sleep(Duration::from_millis(1));
                    }
                    stood_still = waiting.report;
                }
            }
            let steps = so_far() - before;
            stop.store(true, Ordering::Relaxed);
            let times = measuring.join();
            if let Some(report) = stood_still {
                return Err(report.into());
            }
            Ok::<_, Failure>((times.expect("the honest client does not panic")?, steps))
        })
    };
    let (quiet, _) = measured(None, &|| false)?;
    let course = &Course::default();
    let (times, steps) = thread::scope(|scope| {
        let target = Target { engine, via, path: &path, address: &address, server: &process };
        let attacking = scope.spawn(move || attack.go(target, course));
        let mut waiting = Standstill::new();
        // No call is waited for yet.
        while course.steps() == 0 && !attacking.is_finished() && waiting.goes_on(0, 1, &process) {
            thread::yield_now();
        }
        let measured = match waiting.report {
            Some(report) => Err(report.into()),
            None => measured(Some(course), &|| attacking.is_finished()),
        };
        course.end();
        let attacked = attacking.join();
        // The side that stood still explains more than failures after the server was ended for it.
        let measured = measured?;
        attacked.expect("the attack does not panic")?;
        Ok::<_, Failure>(measured)
    })?;
    if steps == 0 {
        return Err("the attack took no step".into());
    }
    let beside = times.most_steps;
    let at = |times: &Times, percent| times.percentile(percent);
    Ok(format!(
        "{}, {} over {via}: {steps} steps; p50 {:.0?} -> {:.0?}, p99 {:.0?} -> {:.0?}, longest \
         {:.0?} -> {:.0?}, {beside} steps in a call at most",
        attack.name(),
        engine.name(),
        at(&quiet, 50.0),
        at(&times, 50.0),
        at(&quiet, 99.0),
        at(&times, 99.0),
        at(&quiet, 100.0),
        at(&times, 100.0)
    ))
}
