//! Rare calls: echoes at fixed rates by programs that sleep until each call is due.
//!
//! Options are the defaults. The kernel's choice of CPUs for a pair of processes may last as long
//! as the pair, so each measurement starts a server and a runtime of its own. With `--cpus`, all
//! threads of a side are pinned to its CPU, as by `taskset`.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use breezeway_os::cpu;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::report::{self, Server, quartiles};
use crate::talk::Place;
use crate::{Flavour, System, breezeway, unix};

/// Bytes of a request and of its reply.
const SIZE: usize = 64;
/// Calls before those that count: until both sides have adapted to the rate.
const WARM_UP: u32 = 8;
/// Fewest and most calls that count. Between these, a measurement lasts half a second.
const CALLS: (u32, u32) = (10, 1_500);

#[derive(clap::Args)]
pub(crate) struct Settings {
    /// Calls a second
    #[arg(long, value_delimiter = ',', default_value = "10,100,1000,10000", value_parser = clap::value_parser!(u32).range(1..))]
    rates: Vec<u32>,
    /// Measurements of each system at each rate
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Only this runtime
    #[arg(long, value_enum)]
    runtime: Option<Flavour>,
    /// CPUs of the client and of the server, which may be the same [default: not pinned]
    #[arg(long, value_name = "A,B", value_parser = parse_cpus)]
    cpus: Option<[usize; 2]>,
}

fn parse_cpus(text: &str) -> Result<[usize; 2], String> {
    let numbers = text.split_once(',').and_then(|(a, b)| Some([a.parse().ok()?, b.parse().ok()?]));
    let cpus = numbers.ok_or("expected two CPU numbers, as in 0,1, or 0,0 for one CPU")?;
    let allowed = cpu::allowed();
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(cpu) => Err(format!("cpu {cpu} is not usable here: allowed are {allowed:?}")),
        None => Ok(cpus),
    }
}

pub(crate) fn run(settings: &Settings) -> Result<()> {
    println!("{}", report::cpu());
    println!(
        "Rare calls under tokio: a 64-byte echo, both programs asleep in between, default options, \
         {}, µs; medians of {} pairs, ratios with their quartiles",
        settings.cpus.map_or("not pinned".to_owned(), |[client, server]| {
            format!("client on CPU {client}, server on CPU {server}")
        }),
        settings.pairs
    );
    println!(
        "{:<24}{:>9}{:>9}  {:<21}{:>9}{:>9}  ratio",
        "", "p50: shm", "plain", "ratio", "p99: shm", "plain"
    );
    for flavour in Flavour::ALL {
        if settings.runtime.is_some_and(|only| only != flavour) {
            continue;
        }
        for &rate in &settings.rates {
            let pairs = (0..settings.pairs).map(|number| pair(settings, flavour, rate, number));
            let pairs = pairs.collect::<Result<Vec<_>>>()?;
            let name = format!("{flavour:?}, {rate}/s");
            let [p50, p99] = [0, 1].map(|percentile| {
                cells(pairs.iter().map(|pair| pair.map(|side| side[percentile])).collect())
            });
            println!("{name:<24}{p50}{}", p99.trim_end());
        }
    }
    Ok(())
}

/// Returns the medians of both sides in µs, and the median and the quartiles of their ratios.
fn cells(pairs: Vec<[f64; 2]>) -> String {
    let side = |index: usize| quartiles(pairs.iter().map(|pair| pair[index]).collect())[0] / 1e3;
    let (ours, theirs) = (side(0), side(1));
    let [ratio, low, high] = quartiles(pairs.iter().map(|[ours, theirs]| ours / theirs).collect());
    let ratio = format!("{ratio:.2} ({low:.2} to {high:.2})");
    format!("{ours:>9.1}{theirs:>9.1}  {ratio:<21}")
}

/// Measures both systems one after the other; the order changes from pair to pair.
fn pair(settings: &Settings, flavour: Flavour, rate: u32, number: u32) -> Result<[[f64; 2]; 2]> {
    let ours = || measure(settings, System::Breezeway, flavour, rate);
    let theirs = || measure(settings, System::Unix, flavour, rate);
    if number.is_multiple_of(2) {
        Ok([ours()?, theirs()?])
    } else {
        let theirs = theirs()?;
        Ok([ours()?, theirs])
    }
}

/// Returns p50 and p99 of one measurement, in nanoseconds.
fn measure(settings: &Settings, system: System, flavour: Flavour, rate: u32) -> Result<[f64; 2]> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("s");
    let _server = Server::start(system, flavour, settings.cpus, &path, SIZE)?;
    let client = std::thread::spawn(move || {
        let calls =
            async move { latencies(&mut Caller::connect(system, &path).await?, rate).await };
        Place::Task.run(&flavour.runtime()?, calls)
    });
    let mut latencies = client.join().map_err(|_| anyhow!("a client panicked"))??;
    latencies.sort_unstable();
    let last = (latencies.len() - 1) as f64;
    Ok([0.5, 0.99].map(|part| latencies[(part * last).round() as usize].as_nanos() as f64))
}

/// Makes calls when they are due. A latency runs from the start of its call, or from the due time
/// of a call before which another one ended late.
async fn latencies(caller: &mut Caller, rate: u32) -> Result<Vec<Duration>> {
    let timer = Timer::new()?;
    let period = Duration::from_secs(1) / rate;
    let start = Instant::now();
    let mut latencies = Vec::new();
    for number in 1..=WARM_UP + (rate / 2).clamp(CALLS.0, CALLS.1) {
        let due = start + period * number;
        let started = if timer.sleep_until(due).await? { Instant::now() } else { due };
        caller.call().await?;
        latencies.push(started.elapsed());
    }
    Ok(latencies.split_off(WARM_UP as usize))
}

/// The side that calls.
enum Caller {
    Ours(breezeway::Client),
    Theirs(unix::Talk),
}

impl Caller {
    async fn connect(system: System, path: &Path) -> Result<Self> {
        Ok(match system {
            System::Unix => Self::Theirs(unix::Talk::connect(path, SIZE).await?),
            _ => Self::Ours(breezeway::Client::connect(path).await?),
        })
    }

    async fn call(&mut self) -> Result<()> {
        match self {
            Self::Ours(client) => client.call(&[0; SIZE]).await,
            Self::Theirs(talk) => talk.round().await,
        }
    }
}

/// A timer that wakes the runtime like a message on a socket; tokio's own is exact to a millisecond
/// only.
struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    fn new() -> Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(deprecated, reason = "sound here: the descriptor is owned, and is not exchanged")]
        Ok(Self(AsyncFd::with_interest(timer, Interest::READABLE)?))
    }

    /// Returns true once `due` has come, or false if it was over before.
    async fn sleep_until(&self, due: Instant) -> Result<bool> {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let once =
            Itimerspec { it_interval: Timespec::default(), it_value: Timespec::try_from(left)? };
        // Setting it also resets the expirations that a read would return.
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        self.0.readable().await?.clear_ready();
        Ok(true)
    }
}
