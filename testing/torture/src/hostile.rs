//! Hostile sessions by the thousand, while an honest client measures.

use breezeway::describe;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use clap::ValueEnum;
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::Failure;
use crate::attack::Target;
use crate::client::{self, Client, PATIENCE};
use crate::engine::Engine;
use crate::observed::Holdings;
use crate::process::{self, Process};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Engines to attack; all of them, if none is named.
    engines: Vec<Engine>,
    /// Sessions against each engine.
    #[arg(long, default_value_t = 300)]
    sessions: u64,
    /// Seed of all random choices; taken from the clock, if it is not given.
    #[arg(long)]
    seed: Option<u64>,
    /// The number of the first session.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Steps of each session at most: with `--first` and `--sessions 1`, the beginning of one.
    #[arg(long, default_value_t = u64::MAX)]
    steps: u64,
    /// Sessions at a time.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Dies with the process that started this one.
    #[arg(long)]
    bound: bool,
}

/// Attacks each engine in turn; prints a line about each.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    if options.bound {
        set_parent_process_death_signal(Some(Signal::KILL))?;
    }
    let clock = || SystemTime::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_nanos() as u64);
    let seed = options.seed.unwrap_or_else(clock);
    println!("seed {seed}");
    let engines = match options.engines.is_empty() {
        true => Engine::value_variants(),
        false => &options.engines,
    };
    for &engine in engines {
        if engine == Engine::Go && process::go_server().is_none() {
            println!("SKIPPED: go needs its command, named by BREEZEWAY_BWGO");
            continue;
        }
        let report = attack(engine, seed, options)?;
        println!("{report}");
    }
    Ok(())
}

/// A server, and an honest client with timed calls.
struct Stage {
    process: Process,
    target: Arc<Target>,
    folder: tempfile::TempDir,
}

impl Stage {
    fn set(engine: Engine) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let process = Process::start(engine, folder.path())?;
        let target = Arc::new(Target::new(engine, folder.path(), &process.tcp)?);
        Ok(Self { process, target, folder })
    }

    fn client(&self, engine: Engine) -> Result<Box<dyn Client>, Failure> {
        client::connect(engine, &engine.address(self.folder.path(), &self.process.tcp))
    }

    /// Waits until `wanted` accepts the server's holdings; returns the last ones after `patience`.
    fn settled(
        &self,
        patience: Duration,
        wanted: impl Fn(&Holdings) -> bool,
    ) -> Result<Holdings, Holdings> {
        let start = Instant::now();
        loop {
            let now = self.process.holdings();
            if wanted(&now) {
                return Ok(now);
            }
            if start.elapsed() > patience {
                return Err(now);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Times of calls, sorted, and the steps of an attack during them.
pub(crate) struct Times {
    sorted: Vec<Duration>,
    /// The most steps of an attack during one call.
    pub(crate) most_steps: u64,
}

impl Times {
    pub(crate) fn percentile(&self, percent: f64) -> Duration {
        let at = (self.sorted.len() as f64 * percent / 100.0) as usize;
        self.sorted.get(at.min(self.sorted.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}

/// Makes calls at intervals until `stop` is set, beside an attack that has taken `steps` steps.
pub(crate) fn measure(
    client: &mut dyn Client,
    stop: &AtomicBool,
    progress: &AtomicU64,
    steps: impl Fn() -> u64,
) -> Result<Times, Failure> {
    let (mut sorted, mut most_steps) = (Vec::new(), 0);
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let (start, before) = (Instant::now(), steps());
        client.call(number, 64)?;
        sorted.push(start.elapsed());
        most_steps = most_steps.max(steps() - before);
        if number % 64 == 0 {
            client.round(number)?;
        }
        progress.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_micros(200));
    }
    sorted.sort();
    Ok(Times { sorted, most_steps })
}

fn attack(engine: Engine, seed: u64, options: &Options) -> Result<String, Failure> {
    let mut stage = Stage::set(engine)?;
    let mut client = stage.client(engine)?;
    for number in 0..20 {
        client.round(number)?;
    }
    // Memory that a first hostile session makes the server keep for good is kept from here on.
    (0..20).for_each(|number| stage.target.attack(!seed, number, u64::MAX));
    let mut before = stage.process.holdings();
    let resting = Instant::now();
    while resting.elapsed() < Duration::from_secs(1) {
        let now = stage.process.holdings();
        before.descriptors = before.descriptors.min(now.descriptors);
        before.mappings = before.mappings.min(now.mappings);
        before.shared = before.shared.min(now.shared);
        thread::sleep(Duration::from_millis(50));
    }
    let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
    let quiet = thread::scope(|scope| {
        let measuring = scope.spawn(|| measure(&mut *client, &stop, &progress, || 0));
        thread::sleep(Duration::from_secs(1));
        stop.store(true, Ordering::Relaxed);
        measuring.join().expect("the honest client does not panic")
    })?;
    stop.store(false, Ordering::Relaxed);
    let next = AtomicU64::new(options.first);
    let end = options.first.saturating_add(options.sessions);
    let under_way: Vec<AtomicU64> = (0..options.jobs).map(|_| AtomicU64::new(u64::MAX)).collect();
    let failures = Mutex::new(Vec::new());
    let start = Instant::now();
    let mut verdict = Ok(());
    let mut suspects: Vec<u64> = Vec::new();
    let (attacked, took) = thread::scope(|scope| {
        let measuring = scope.spawn(|| measure(&mut *client, &stop, &progress, || 0));
        let attacking: Vec<_> = under_way
            .iter()
            .map(|own| {
                let (target, next, failures, stop) = (&stage.target, &next, &failures, &stop);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= end {
                            break;
                        }
                        own.store(number, Ordering::Relaxed);
                        let attack = || target.attack(seed, number, options.steps);
                        if catch_unwind(AssertUnwindSafe(attack)).is_err() {
                            failures.lock().expect("no panic").push(number);
                            break;
                        }
                        own.store(u64::MAX, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let (mut seen, mut when) = (0, Instant::now());
        while !attacking.iter().all(|attack| attack.is_finished()) {
            thread::sleep(Duration::from_millis(20));
            let now = progress.load(Ordering::Relaxed);
            if now != seen {
                (seen, when) = (now, Instant::now());
            }
            let ended = stage.process.has_ended();
            if ended || measuring.is_finished() || when.elapsed() > PATIENCE {
                let numbers = under_way.iter().map(|number| number.load(Ordering::Relaxed));
                suspects = numbers.filter(|&number| number != u64::MAX).collect();
                verdict = Err(match ended {
                    true => "the server ended",
                    false => "the honest client was harmed",
                });
                break;
            }
        }
        let took = start.elapsed();
        stop.store(true, Ordering::Relaxed);
        if verdict.is_err() {
            // The end of the server frees all that wait for it.
            stage.process.kill();
        }
        (measuring.join().expect("the honest client does not panic"), took)
    });
    let failures = failures.into_inner().expect("no panic");
    if verdict.is_err() || !failures.is_empty() || attacked.is_err() {
        suspects.extend(&failures);
        let said = stage.process.said();
        let harmed = attacked.err().map(|error| describe(&*error)).unwrap_or_default();
        let smallest = shrink(engine, seed, &suspects).unwrap_or_default();
        return Err(format!(
            "{}: {verdict:?} {harmed}\nopen sessions {suspects:?}, of them the server did \
             what no attack calls for in {failures:?}\n{smallest}\n{said}",
            engine.name()
        )
        .into());
    }
    let attacked = attacked?;
    let is_go = engine == Engine::Go;
    // A request that a handler in Go has not released goes with the next collection, every two
    // minutes.
    let patience = if is_go { Duration::from_secs(180) } else { PATIENCE };
    let after = stage
        .settled(patience, |now| {
            // Go's runtime keeps its threads.
            let threads = if is_go { before.threads } else { now.threads };
            Holdings { threads, ..*now }.is_within(&before)
        })
        .map_err(|left| format!("{}: {left} are left, of {before}", engine.name()))?;
    let rate = options.sessions as f64 / took.as_secs_f64();
    let [quiet_p50, quiet_p99] = [50.0, 99.0].map(|at| quiet.percentile(at));
    let [p50, p99, worst] = [50.0, 99.0, 100.0].map(|at| attacked.percentile(at));
    Ok(format!(
        "{}: {} sessions, {rate:.0}/s; honest calls {}, p50 {quiet_p50:.0?} -> {p50:.0?}, p99 \
         {quiet_p99:.0?} -> {p99:.0?}, longest {worst:.0?}; before {before}; after {after}",
        engine.name(),
        options.sessions,
        attacked.sorted.len(),
    ))
}

/// The first of these sessions that alone ends a new server, with as few steps as do it.
fn shrink(engine: Engine, seed: u64, suspects: &[u64]) -> Result<String, Failure> {
    let fails = |number, most| -> Result<bool, Failure> {
        let mut stage = Stage::set(engine)?;
        let attack = || stage.target.attack(seed, number, most);
        let panicked = catch_unwind(AssertUnwindSafe(attack)).is_err();
        // It may take the server a moment to fail.
        let served = stage.client(engine).and_then(|mut client| client.round(1));
        Ok(panicked || served.is_err() || stage.process.has_ended())
    };
    for &number in suspects {
        if !fails(number, u64::MAX)? {
            continue;
        }
        let (mut enough, mut few) = (512, 0);
        while enough - few > 1 {
            let half = few + (enough - few) / 2;
            if fails(number, half)? { enough = half } else { few = half }
        }
        let name = engine.name();
        return Ok(format!(
            "the smallest: torture hostile {name} --seed {seed} --first {number} --sessions 1 \
             --steps {enough}"
        ));
    }
    Ok("none of them does it alone".to_owned())
}
