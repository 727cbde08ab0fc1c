//! `kill -9` of either side, within named steps, at moments by chance.
//!
//! The victim starts a thread that waits for a random time, prints the time, and kills the process,
//! while the process goes through the step again and again.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use breezeway::{ExclusiveSession, describe};
use breezeway_adversary::Chance;
use clap::ValueEnum;
use rustix::process::{Pid, Signal, getpid, kill_process, set_parent_process_death_signal};
use rustix::time::{ClockId, clock_gettime};

use crate::Failure;
use crate::client::{self, PATIENCE};
use crate::engine::Engine;
use crate::observed::Holdings;
use crate::process::{Process, go_server};
use crate::server::method;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Whose sides are killed; all, if none is named.
    engines: Vec<Engine>,
    /// Processes to be killed, in all.
    #[arg(long, default_value_t = 5000)]
    kills: u64,
    /// Seed of all random choices; taken from the clock, if it is not given.
    #[arg(long)]
    seed: Option<u64>,
    /// Dies with the process that started this one.
    #[arg(long)]
    bound: bool,
}

/// Step of a client during which it dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Step {
    /// Connecting, the hello, and closing.
    Connect,
    /// One-way messages within entries, committed one by one.
    Commit,
    /// One-way messages in lent memory, committed one by one.
    Lend,
    /// Memory that is reserved, half filled and given back.
    Reserve,
    /// Segments that come and go.
    Grow,
    /// Calls whose requests and replies fit into entries.
    Call,
    /// Calls whose replies are lent and released.
    Release,
    /// Streams that are opened, used and finished.
    Stream,
}

impl Step {
    /// Returns true if the client may die before the server has accepted it, or counted its
    /// session: it has not been served yet, or the step does not wait until its committed messages
    /// are served.
    fn may_end_unaccepted(self) -> bool {
        matches!(self, Self::Connect | Self::Reserve | Self::Grow)
    }
}

/// Steps of every engine's clients; the others are the native session's alone.
const EVERYWHERE: [Step; 4] = [Step::Connect, Step::Call, Step::Release, Step::Stream];

#[derive(clap::Args)]
pub(crate) struct Victim {
    engine: Engine,
    address: String,
    step: Step,
    /// Nanoseconds from the beginning of the step to the end of the process.
    delay: u64,
    number: u64,
    /// File in which it records how many messages it has committed.
    ledger: PathBuf,
}

/// Nanoseconds on the clock that all processes share.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Kills this process after `delay` nanoseconds; prints the time.
pub(crate) fn die_in(delay: u64) {
    wait_for(delay);
    let line = format!("dies at {}\n", now());
    // A closed output does not matter.
    let _ = std::io::stdout().write_all(line.as_bytes());
    let _ = kill_process(getpid(), Signal::KILL);
}

/// Kills another one; gives when.
pub(crate) fn kill_in(pid: Pid, delay: u64) -> u64 {
    wait_for(delay);
    let time = now();
    let _ = kill_process(pid, Signal::KILL);
    time
}

fn wait_for(delay: u64) {
    let start = now();
    while now() < start + delay {
        std::hint::spin_loop();
    }
}

/// One message of those that are counted.
pub(crate) fn counted(id: u64, number: u64, len: usize) -> Vec<u8> {
    let filler = (16..len).map(|at| (at as u64 ^ id ^ number.wrapping_mul(31)) as u8);
    id.to_le_bytes().into_iter().chain(number.to_le_bytes()).chain(filler).collect()
}

/// Goes through the step until this process dies.
pub(crate) fn be_victim(victim: &Victim) -> Result<(), Failure> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let &Victim { engine, step, delay, number, .. } = victim;
    let arm = || drop(std::thread::spawn(move || die_in(delay)));
    let connect = || client::connect(engine, &victim.address);
    let session = || ExclusiveSession::connect(&victim.address).map_err(Failure::from);
    let (short, long) = (40, 5_000);
    match step {
        Step::Connect => {
            arm();
            loop {
                connect()?.call(number, 10)?;
            }
        }
        Step::Commit | Step::Lend => {
            let mut session = session()?;
            let ledger = File::create(&victim.ledger)?;
            arm();
            for message in 0u64.. {
                let len = if step == Step::Commit { short } else { long };
                session.post(method::SINK, &counted(number, message, len))?;
                ledger.write_all_at(&(message + 1).to_le_bytes(), 0)?;
            }
        }
        Step::Reserve => {
            let mut session = session()?;
            arm();
            loop {
                session.reserve(100_000)?.bytes_mut()[..50_000].fill(1);
            }
        }
        Step::Grow => {
            let mut session = session()?;
            arm();
            for round in 0.. {
                session.post(method::ECHO, &vec![1; 4096 << (round % 10)])?;
            }
        }
        Step::Call | Step::Release | Step::Stream => {
            let mut client = connect()?;
            client.call(number, 10)?;
            arm();
            for round in 0.. {
                match step {
                    Step::Call => client.call(round, short)?,
                    Step::Release => client.call(round, 70_000)?,
                    _ => client.stream(round)?,
                }
            }
        }
    }
    Ok(())
}

/// Times after which survivors noticed the death, in nanoseconds.
#[derive(Default)]
struct Heard {
    times: Vec<u64>,
    /// Calls for a new stream of shmipc's client after the death. The client reconnects itself, and
    /// these calls wait for that as long as its time limit for connecting.
    reconnecting: usize,
}

impl Heard {
    fn report(mut self) -> String {
        self.times.sort();
        let Some(&longest) = self.times.last() else { return "not timed".to_owned() };
        let at = |part: usize| Duration::from_nanos(self.times[self.times.len() * part / 100]);
        let longest = Duration::from_nanos(longest);
        let late = self.times.iter().filter(|&&time| time >= 50_000_000).count();
        let of = self.times.len();
        let reconnecting = match self.reconnecting {
            0 => String::new(),
            some => format!("; apart from {some} that waited for another session"),
        };
        format!(
            "heard after {:.0?} (median), {:.0?} (p99), {longest:.0?} (longest); {late} of {of} \
             after 50 ms or more{reconnecting}",
            at(50),
            at(99)
        )
    }
}

/// Kills clients and servers of each engine in turn; prints two lines about each.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    if options.bound {
        set_parent_process_death_signal(Some(Signal::KILL))?;
    }
    let seed = options.seed.unwrap_or_else(now);
    println!("seed {seed}");
    let mut engines = match options.engines.is_empty() {
        true => Engine::value_variants().to_vec(),
        false => options.engines.clone(),
    };
    if engines.contains(&Engine::Go) && go_server().is_none() {
        println!("SKIPPED: go needs its command, named by BREEZEWAY_BWGO");
        engines.retain(|&engine| engine != Engine::Go);
    }
    if engines.is_empty() {
        return Ok(());
    }
    let each = options.kills.div_ceil(2 * engines.len() as u64);
    let mut chance = Chance::new(seed);
    let mut killed = 0;
    for engine in engines {
        let name = engine.name();
        let heard = kill_clients(engine, each, &mut chance)
            .map_err(|error| format!("{name}, clients killed: {error}"))?;
        println!("{name}: {each} clients killed; {}", heard.report());
        let heard = kill_servers(engine, each, &mut chance)
            .map_err(|error| format!("{name}, servers killed: {error}"))?;
        println!("{name}: {each} servers killed; {}", heard.report());
        killed += 2 * each;
    }
    println!("{killed} processes killed");
    Ok(())
}

/// Long ago, or at once: the moment of a death within its step.
fn delay(chance: &mut Chance) -> u64 {
    let most = chance.of(&[20_000, 200_000, 1_500_000]);
    chance.below(most)
}

/// Returns the time of death in the process's line; it has to die of that.
pub(crate) fn time_of_death(line: &str) -> Result<u64, Failure> {
    let time = line.trim_end().strip_prefix("dies at ").and_then(|time| time.parse().ok());
    time.ok_or_else(|| format!("the victim did not die as planned: {line:?}").into())
}

fn settle(before: &Holdings, now: impl Fn() -> Holdings) -> Result<(), Failure> {
    let start = Instant::now();
    loop {
        let held = now();
        if held.is_within(before) {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            return Err(format!("{held} are left, of {before}").into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill_clients(engine: Engine, kills: u64, chance: &mut Chance) -> Result<Heard, Failure> {
    let folder = tempfile::tempdir()?;
    let server = Process::start(engine, folder.path())?;
    let address = engine.address(folder.path(), &server.tcp);
    let mut honest = client::connect(engine, &address)?;
    (0..10).try_for_each(|number| honest.round(number))?;
    // Servers that count sessions and messages report them to this client.
    let is_session = matches!(engine, Engine::Native | Engine::Unix | Engine::Tcp);
    let counts = is_session || engine == Engine::Tokio;
    let mut control = counts.then(|| ExclusiveSession::connect(&address)).transpose()?;
    let own_sessions = control.as_mut().map(sessions).transpose()?.unwrap_or(0);
    let steps = if is_session { Step::value_variants() } else { &EVERYWHERE };
    let ledger = folder.path().join("ledger");
    let before = server.holdings();
    let mut heard = Heard::default();
    for number in 0..kills {
        let step = chance.of(steps);
        let died = kill_client(engine, &address, step, delay(chance), number, &ledger)?;
        if step.may_end_unaccepted() {
            // A client that waits to be accepted shows nothing, which does not prove that the
            // server has noticed its end. Clients are accepted in turn: once a later one is served,
            // it was accepted.
            client::connect(engine, &address)?.call(number, 10)?;
        }
        if let Some(control) = &mut control {
            let start = Instant::now();
            // Committed messages are served first: a session that has just begun may not be counted
            // yet.
            if matches!(step, Step::Commit | Step::Lend) {
                let committed = std::fs::read(&ledger).unwrap_or_default();
                let committed = committed.try_into().map_or(0, u64::from_le_bytes);
                loop {
                    let [count, wrong] = tally(control, number)?;
                    if wrong == 0 && (count == committed || count == committed + 1) {
                        break;
                    }
                    if wrong > 0 || count > committed || start.elapsed() > PATIENCE {
                        return Err(format!(
                            "kill {number} in {step:?}: {committed} messages were committed, \
                             {count} served, {wrong} of them wrong"
                        )
                        .into());
                    }
                }
            }
            while sessions(control)? > own_sessions {
                if start.elapsed() > PATIENCE {
                    return Err(format!("kill {number} in {step:?} goes unnoticed").into());
                }
            }
        } else {
            // Others show it by closing descriptors.
            let start = Instant::now();
            while server.descriptors() > before.descriptors {
                if start.elapsed() > PATIENCE {
                    return Err(format!("kill {number} in {step:?} goes unnoticed").into());
                }
            }
        }
        heard.times.push(now().saturating_sub(died));
        if number % 50 == 49 || number + 1 == kills {
            honest.round(number)?;
            settle(&before, || {
                let now = server.holdings();
                // Go's runtime keeps its threads.
                let threads = if engine == Engine::Go { before.threads } else { now.threads };
                Holdings { threads, ..now }
            })?;
        }
    }
    Ok(heard)
}

fn sessions(control: &mut ExclusiveSession) -> Result<u64, Failure> {
    let reply = control.call(method::SESSIONS, b"")?;
    Ok(reply.bytes().u64_le_at(0).ok_or("a count has eight bytes")?)
}

fn tally(control: &mut ExclusiveSession, id: u64) -> Result<[u64; 2], Failure> {
    let reply = control.call(method::TALLY, &id.to_le_bytes())?;
    let at = |at| reply.bytes().u64_le_at(at).ok_or("a tally has sixteen bytes");
    Ok([at(0)?, at(8)?])
}

/// Kills a client within a step, and returns the time of death.
fn kill_client(
    engine: Engine,
    address: &str,
    step: Step,
    delay: u64,
    number: u64,
    ledger: &Path,
) -> Result<u64, Failure> {
    let _ = std::fs::remove_file(ledger);
    let step = step.to_possible_value().ok_or("every step has a name")?;
    let mut child = Command::new(std::env::current_exe()?)
        .args(["victim", &engine.name(), address, step.get_name()])
        .args([delay.to_string(), number.to_string()])
        .arg(ledger)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("a pipe")?).read_line(&mut line)?;
    let output = child.wait_with_output()?;
    if output.status.signal() != Some(Signal::KILL.as_raw()) {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{step:?}: the victim ended on its own: {said}").into());
    }
    time_of_death(&line)
}

fn kill_servers(engine: Engine, kills: u64, chance: &mut Chance) -> Result<Heard, Failure> {
    let folder = tempfile::tempdir()?;
    let mut heard = Heard::default();
    let mut before = None;
    for number in 0..kills {
        let mut server = Process::start(engine, folder.path())?;
        let address = engine.address(folder.path(), &server.tcp);
        let mut client = client::connect(engine, &address)?;
        client.round(number)?;
        let step = chance.of(&EVERYWHERE);
        server.die_in(delay(chance))?;
        let start = Instant::now();
        let error = (0..).find_map(|round| {
            let outcome = match step {
                Step::Call => client.call(round, 40),
                Step::Release => client.call(round, 70_000),
                Step::Stream => client.stream(round),
                _ => client::connect(engine, &address).and_then(|mut one| one.call(round, 10)),
            };
            outcome.err()
        });
        let time = now();
        let error = error.ok_or("the server dies some day")?;
        let is_reconnecting =
            matches!(error.downcast_ref(), Some(breezeway_shmipc::ConnectError::NoSession { .. }));
        let error = describe(&*error);
        if error.contains("came back changed") || start.elapsed() > PATIENCE {
            return Err(format!("kill {number} in {step:?}: {error}").into());
        }
        let took = time.saturating_sub(server.time_of_death()?);
        match is_reconnecting {
            true => heard.reconnecting += 1,
            false => heard.times.push(took),
        }
        drop((client, server));
        if number % 25 == 0 || number + 1 == kills {
            let own = getpid().as_raw_nonzero().get() as u32;
            // The threads that read the output of the servers have to end, too.
            match before {
                None => {
                    std::thread::sleep(Duration::from_millis(100));
                    before = Some(Holdings::of(own));
                }
                Some(before) => settle(&before, || Holdings::of(own))?,
            }
        }
    }
    Ok(heard)
}
