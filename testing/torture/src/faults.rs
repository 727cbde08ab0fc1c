//! Every system call of a server, and of a client, fails once, with each error that it may answer.

mod calls;
mod patient;
mod supervisor;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use rustix::process::{Signal, set_parent_process_death_signal};

pub(crate) use calls::seen;
use calls::{Call, Fault};
use patient::{ENDED, Patient, WELL, WENT_ON};
pub(crate) use patient::{Options as PatientOptions, be_patient};
use supervisor::{Plan, Supervisor};

use crate::Failure;
use crate::client::{self, Client};
use crate::engine::Engine;
use crate::observed::Holdings;
use crate::process::Process;

/// Message of a process that cannot be watched.
pub(crate) const NO_INTERCEPTION: &str = "no system calls can be intercepted here";

/// Longer than anything takes that has not stopped.
const PATIENCE: Duration = Duration::from_secs(20);

/// The first calls of each number, which fail one and all, and how many of the rest.
const FIRST: u64 = 20;
const OF_THE_REST: u64 = 10;

/// Phase in which a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Phase {
    /// A server starts.
    Starting,
    /// A server serves a client from its first to its last byte.
    Serving,
    /// A client connects, calls and closes.
    Connecting,
    /// A client uses an established session.
    Calling,
}

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Whose calls fail; all, if none is named.
    engines: Vec<Engine>,
    /// Phases in which calls fail; all, if none is named.
    #[arg(long)]
    phase: Vec<Phase>,
    /// Calls that fail; all, if none is named.
    #[arg(long)]
    call: Vec<String>,
    /// Errors that they return; each, if none is named.
    #[arg(long)]
    error: Vec<String>,
    /// Index of the failing call of a kind; those chosen, if none is named.
    #[arg(long)]
    nth: Vec<u64>,
    /// Number of times that each fails.
    #[arg(long, default_value_t = 1)]
    times: usize,
    /// Failures of an engine in a phase at most, spread over all.
    #[arg(long, default_value_t = usize::MAX)]
    most: usize,
    /// Prints every text of an error, and how often it came.
    #[arg(long)]
    texts: bool,
    /// Dies with the process that started this one.
    #[arg(long)]
    bound: bool,
}

/// One failure.
#[derive(Clone, Copy)]
struct Trial {
    call: &'static Call,
    nth: u64,
    fault: Fault,
}

impl Trial {
    fn plan(&self) -> Plan {
        Plan { number: self.call.number, nth: self.nth, fault: self.fault }
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, nth, fault } = self;
        write!(formatter, "{} {nth} {}", call.name, fault.name())
    }
}

/// Outcomes of a phase, and the messages of all processes.
#[derive(Default)]
struct Report {
    /// Number of calls that were not made again, as no two runs make the same calls.
    missed: u64,
    well: u64,
    went_on: u64,
    ended: u64,
    texts: BTreeMap<String, BTreeSet<String>>,
    /// Panics of tokio while it makes a runtime, which is the program's.
    of_tokio: u64,
    findings: u64,
}

impl Report {
    fn failures(&self) -> u64 {
        self.well + self.went_on + self.ended + self.of_tokio
    }

    fn note(&mut self, trial: &Trial, said: &str) {
        // Numbers of processes, descriptors and messages make no other text.
        let text: String = said.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        let who = format!("{} {}", trial.call.name, trial.fault.name());
        self.texts.entry(text).or_default().insert(who);
    }

    fn outcome(&mut self, trial: &Trial, outcome: &str) {
        if outcome == WELL {
            self.well += 1;
            return;
        }
        match outcome.starts_with(WENT_ON) {
            true => self.went_on += 1,
            false => self.ended += 1,
        }
        self.note(trial, outcome);
        if outcome.contains("came back changed") {
            self.find(trial, outcome);
        }
    }

    /// Prints a finding at once, as a run may take long.
    fn find(&mut self, trial: &Trial, what: impl fmt::Display) {
        println!("  {trial}: {what}");
        self.findings += 1;
    }
}

/// Lets calls fail; prints a line about each phase of each engine.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    if options.bound {
        set_parent_process_death_signal(Some(Signal::KILL))?;
    }
    let all = [
        Engine::Native,
        Engine::Unix,
        Engine::Tcp,
        Engine::Tokio,
        Engine::Shmipc,
        Engine::Rpc,
        Engine::Kitex,
        Engine::KitexBlocking,
        Engine::Grpc,
        Engine::GrpcHttp2,
    ];
    let engines = if options.engines.is_empty() { &all[..] } else { &options.engines };
    let phases = match options.phase.is_empty() {
        true => Phase::value_variants(),
        false => &options.phase,
    };
    let (mut failures, mut findings) = (0, 0);
    for &engine in engines {
        for &phase in phases {
            let start = Instant::now();
            println!("{}, {phase:?}:", engine.name());
            let report = match phase {
                Phase::Starting => starting(engine, options),
                Phase::Serving => serving(engine, options),
                Phase::Connecting | Phase::Calling => of_client(engine, phase, options),
            };
            let report = match report {
                Err(error) if error.to_string().contains(NO_INTERCEPTION) => {
                    println!("SKIPPED: {error}");
                    return Ok(());
                }
                report => report?,
            };
            println!(
                "  {} failures in {:.0?}: {} unnoticed, {} reported and survived, \
                 {} reported and ended, {} panics of tokio's runtime; {} not met; {} findings",
                report.failures(),
                start.elapsed(),
                report.well,
                report.went_on,
                report.ended,
                report.of_tokio,
                report.missed,
                report.findings
            );
            if options.texts {
                for (text, trials) in &report.texts {
                    println!(
                        "    {text}\n        <- {}",
                        Vec::from_iter(trials.iter().map(String::as_str)).join(", ")
                    );
                }
            }
            failures += report.failures();
            findings += report.findings;
        }
    }
    println!("{failures} system calls failed, {findings} findings");
    match (failures, findings) {
        (0, _) => Err("no system call failed".into()),
        (_, 0) => Ok(()),
        _ => Err("see the findings above".into()),
    }
}

/// Returns the trials, given the number of times that each call is made.
fn trials(counts: &BTreeMap<i64, u64>, options: &Options) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (&number, &count) in counts {
        let Some(call) = calls::of_number(number) else { continue };
        if !options.call.is_empty() && !options.call.iter().any(|name| name == call.name) {
            continue;
        }
        let rest =
            (1..=OF_THE_REST).map(|part| FIRST + (count.max(FIRST) - FIRST) * part / OF_THE_REST);
        let mut chosen: Vec<u64> =
            (1..=count.min(FIRST)).chain(rest.filter(|_| count > FIRST)).collect();
        chosen.dedup();
        if !options.nth.is_empty() {
            chosen.clone_from(&options.nth);
        }
        for (index, nth) in chosen.into_iter().enumerate() {
            let is_first = nth <= FIRST || !options.nth.is_empty();
            for (which, &fault) in call.errors.iter().enumerate() {
                let is_wanted = options.error.is_empty()
                    || options.error.iter().any(|name| name == fault.name());
                // Of the later ones each has one error.
                if is_wanted && (is_first || index % call.errors.len() == which) {
                    trials.push(Trial { call, nth, fault });
                }
            }
        }
    }
    let trials = trials.repeat(options.times);
    if trials.len() > options.most {
        let all = trials.len();
        return (0..options.most).map(|index| trials[index * all / options.most]).collect();
    }
    trials
}

/// A server that is watched, from its start on.
struct Server {
    process: Process,
    supervisor: Supervisor,
}

/// A server that did not start.
struct Refusal {
    status: Option<ExitStatus>,
    said: String,
}

fn start(
    engine: Engine,
    folder: &Path,
    plan: Option<Plan>,
) -> Result<Result<Server, Refusal>, Failure> {
    let mut command = Process::command(engine, folder)?;
    command.arg("--intercepted");
    let mut process = Process::spawn(command)?;
    let supervisor = Supervisor::of(&mut process, plan)?;
    let Some(supervisor) = supervisor else {
        process.last_words()?;
        return Err(process.said().into());
    };
    if !process.says_something_within(PATIENCE) {
        process.kill();
        process.last_words()?;
        return Ok(Err(Refusal { status: None, said: process.said() }));
    }
    if process.listens().is_err() {
        let status = Some(process.last_words()?);
        return Ok(Err(Refusal { status, said: process.said() }));
    }
    Ok(Ok(Server { process, supervisor }))
}

fn started(engine: Engine, folder: &Path) -> Result<Server, Failure> {
    start(engine, folder, None)?.map_err(|refusal| refusal.said.into())
}

/// Returns the outcome of a round with a new session to a server; `None` if it takes too long, and
/// is abandoned.
fn served(engine: Engine, address: &str, number: u64) -> Option<String> {
    let (sender, outcome) = mpsc::channel();
    let address = address.to_owned();
    thread::spawn(move || {
        let outcome = match client::connect(engine, &address) {
            Ok(mut client) => patient::round(&mut *client, number),
            Err(error) => format!("{ENDED}: {error}"),
        };
        let _ = sender.send(outcome.replace('\n', " "));
    });
    outcome.recv_timeout(PATIENCE).ok()
}

/// Returns true if the panic is one of tokio's builder.
fn is_of_tokio(said: &str) -> bool {
    let mut lines = said.lines().skip_while(|line| !line.contains(" panicked at "));
    lines.next().is_some_and(|line| line.contains("/tokio-1."))
        && lines.any(|line| line.contains("/src/runtime/builder.rs:"))
}

fn starting(engine: Engine, options: &Options) -> Result<Report, Failure> {
    let mut report = Report::default();
    let counts = {
        let folder = tempfile::tempdir()?;
        let server = started(engine, folder.path())?;
        server.supervisor.take_counts()
    };
    for (number, trial) in trials(&counts, options).iter().enumerate() {
        let folder = tempfile::tempdir()?;
        match start(engine, folder.path(), Some(trial.plan()))? {
            Ok(server) => {
                if !server.supervisor.disarm() {
                    report.missed += 1;
                    continue;
                }
                let address = engine.address(folder.path(), &server.process.tcp);
                match served(engine, &address, number as u64) {
                    Some(outcome) if outcome == WELL => report.well += 1,
                    outcome => {
                        let mut process = server.process;
                        // It may be about to report that it cannot serve.
                        let code = match process.ends_within(PATIENCE) {
                            true => process.last_words()?.code(),
                            false => None,
                        };
                        let said = process.said();
                        if code == Some(1) {
                            report.ended += 1;
                            report.note(trial, said.trim_end());
                            continue;
                        }
                        report.find(
                            trial,
                            format!("it starts and does not serve: {outcome:?} {said}"),
                        );
                    }
                }
            }
            Err(Refusal { status: Some(status), said }) if status.code() == Some(1) => {
                report.ended += 1;
                report.note(trial, said.trim_end());
            }
            // The panic of a runtime that is built without threads or signals cannot be turned off.
            Err(Refusal { status: Some(_), said }) if is_of_tokio(&said) => {
                report.of_tokio += 1;
                report.note(trial, said.lines().nth(2).unwrap_or_default());
            }
            Err(Refusal { status, said }) => {
                report.find(trial, format!("ended with {status:?}: {said}"));
            }
        }
    }
    Ok(report)
}

/// Waits until a process holds no more than `before`; returns its holdings after a time limit.
fn settled(before: &Holdings, now: impl Fn() -> Holdings) -> Result<(), Holdings> {
    let start = Instant::now();
    loop {
        let held = now();
        if held.is_within(before) {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            return Err(held);
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// A server that has served some clients, with one that stays, and the server's holdings.
struct Stage {
    folder: tempfile::TempDir,
    server: Server,
    address: String,
    resident: Box<dyn Client>,
    before: Holdings,
    /// Sockets of the server at rest: its listeners, and the client that stays.
    own: HashSet<PathBuf>,
}

impl Stage {
    fn set(engine: Engine) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let server = started(engine, folder.path())?;
        let address = engine.address(folder.path(), &server.process.tcp);
        let mut resident = client::connect(engine, &address)?;
        resident.round(0)?;
        for number in 0..3 {
            client::connect(engine, &address)?.round(number)?;
        }
        let before = at_rest(|| server.process.holdings());
        let own = server.process.sockets();
        Ok(Self { folder, server, address, resident, before, own })
    }
}

/// Returns the holdings of a process once they no longer change.
fn at_rest(now: impl Fn() -> Holdings) -> Holdings {
    let (mut held, mut since) = (now(), Instant::now());
    let start = Instant::now();
    while since.elapsed() < Duration::from_millis(200) && start.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(5));
        let next = now();
        if next != held {
            (held, since) = (next, Instant::now());
        }
    }
    held
}

fn serving(engine: Engine, options: &Options) -> Result<Report, Failure> {
    let mut report = Report::default();
    let mut stage = Stage::set(engine)?;
    stage.server.supervisor.take_counts();
    let _ = served(engine, &stage.address, 1).ok_or("no round")?;
    settled(&stage.before, || stage.server.process.holdings())
        .map_err(|left| format!("{left} are left by nothing, of {}", stage.before))?;
    let counts = stage.server.supervisor.take_counts();
    let mut heard = stage.server.process.said().len();
    for (number, trial) in trials(&counts, options).iter().enumerate() {
        let number = number as u64;
        stage.server.supervisor.arm(trial.plan());
        let outcome = served(engine, &stage.address, number);
        if !stage.server.supervisor.disarm() {
            report.missed += 1;
            continue;
        }
        let is_cut = stage.server.supervisor.take_cut();
        let is_cut = is_cut.is_some_and(|socket| stage.own.contains(&socket));
        let finding = after(&mut stage, engine, number, outcome.as_deref(), trial, is_cut);
        let said = stage.server.process.said();
        for line in said[heard..].lines() {
            // Behind the time.
            let line = line.split_once(' ').map_or(line, |(_, line)| line.trim_start());
            report.note(trial, &format!("the server: {line}"));
        }
        heard = said.len();
        if let Some(outcome) = &outcome {
            report.outcome(trial, outcome);
        }
        if let Err(finding) = &finding {
            report.find(trial, format!("{finding}; {outcome:?}"));
        }
        if finding.is_err() || is_cut {
            // The folder of the first goes with it.
            stage = Stage::set(engine)?;
            heard = stage.server.process.said().len();
        }
    }
    drop(stage.folder);
    Ok(report)
}

/// Checks that the server still serves after that, and keeps nothing. The session that stays must
/// survive, unless it was the one that was cut.
fn after(
    stage: &mut Stage,
    engine: Engine,
    number: u64,
    outcome: Option<&str>,
    trial: &Trial,
    is_cut: bool,
) -> Result<(), Failure> {
    if outcome.is_none() {
        return Err("hangs".into());
    }
    if stage.server.process.has_ended() {
        stage.server.process.last_words()?;
        return Err(format!("the server has ended: {}", stage.server.process.said()).into());
    }
    if !is_cut {
        let round = stage.resident.round(number);
        round.map_err(|error| format!("another session was harmed: {error}"))?;
    }
    match served(engine, &stage.address, number) {
        Some(outcome) if outcome == WELL => {}
        outcome => return Err(format!("a later client is not served: {outcome:?}").into()),
    }
    if trial.call.name == "munmap" {
        // Memory that the kernel fails to unmap stays mapped.
        stage.before = at_rest(|| stage.server.process.holdings());
    }
    settled(&stage.before, || stage.server.process.holdings())
        .map_err(|left| format!("{left} are left, of {}", stage.before))?;
    Ok(())
}

/// A client's process with failing calls, and a server without a supervisor.
struct Bed {
    folder: tempfile::TempDir,
    server: Process,
    patient: Patient,
    before: Holdings,
    of_server: Holdings,
    /// The client's sockets at rest: of the session that stays.
    own: HashSet<PathBuf>,
}

impl Bed {
    fn make(engine: Engine) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let mut command = Process::command(engine, folder.path())?;
        command.arg("--logged");
        let server = Process::start_command(command)?;
        let address = engine.address(folder.path(), &server.tcp);
        let mut patient = Patient::start(engine, &address)?;
        for number in 0..4 {
            let outcome = patient.ask(&number.to_string(), PATIENCE)?;
            if outcome.as_deref() != Some(WELL) {
                return Err(format!("a client does not even so: {outcome:?}").into());
            }
        }
        let before = at_rest(|| patient.process.holdings());
        let of_server = at_rest(|| server.holdings());
        let own = patient.process.sockets();
        Ok(Self { folder, server, patient, before, of_server, own })
    }
}

fn of_client(engine: Engine, phase: Phase, options: &Options) -> Result<Report, Failure> {
    let mut report = Report::default();
    let mut bed = Bed::make(engine)?;
    let ask = |number: u64| match phase {
        Phase::Calling => format!("r{number}"),
        _ => number.to_string(),
    };
    bed.patient.supervisor.take_counts();
    bed.patient.ask(&ask(1), PATIENCE)?.ok_or("no round")?;
    let counts = bed.patient.supervisor.take_counts();
    for (number, trial) in trials(&counts, options).iter().enumerate() {
        let number = number as u64;
        let heard = bed.server.said().len();
        bed.patient.supervisor.arm(trial.plan());
        let mut outcome = bed.patient.ask(&ask(number), PATIENCE)?;
        if !bed.patient.supervisor.disarm() {
            report.missed += 1;
            continue;
        }
        let is_cut = bed.patient.supervisor.take_cut();
        let is_cut = is_cut.is_some_and(|socket| bed.own.contains(&socket));
        if let Some(text) = outcome.as_mut().filter(|text| text.starts_with(ENDED))
            && phase == Phase::Calling
            && trial.fault == Fault::NoDescriptors
            && bed.patient.ask(&ask(number), PATIENCE)?.as_deref() == Some(WELL)
        {
            // A further try came while there were none.
            *text = text.replacen(ENDED, WENT_ON, 1);
        }
        // Only the next round notices a connection that was cut after its last byte.
        let is_over = is_cut
            || phase == Phase::Calling
                && outcome.as_deref().is_some_and(|text| text.starts_with(ENDED));
        let finding = afterwards(&mut bed, number, outcome.as_deref(), trial, is_over);
        if let Some(outcome) = &outcome {
            report.outcome(trial, outcome);
        }
        if is_over && trial.fault.is_shortage() {
            report.find(trial, format!("a shortage ended the session: {outcome:?}"));
        }
        if let Err(finding) = &finding {
            let said = bed.server.said();
            report.find(trial, format!("{finding}; {outcome:?}; the server: {:?}", &said[heard..]));
        }
        if finding.is_err() || is_over {
            bed = Bed::make(engine)?;
        } else if outcome.as_deref() != Some(WELL) {
            // The session that stays may have another connection.
            bed.own = bed.patient.process.sockets();
        }
    }
    drop(bed.folder);
    Ok(report)
}

/// Checks that the client still works after that, unless its session is over, and that neither side
/// keeps anything.
fn afterwards(
    bed: &mut Bed,
    number: u64,
    outcome: Option<&str>,
    trial: &Trial,
    is_over: bool,
) -> Result<(), Failure> {
    let process = &mut bed.patient.process;
    if outcome.is_none() {
        if process.has_ended() {
            process.last_words()?;
            return Err(format!("the client has ended: {}", process.said()).into());
        }
        return Err("hangs".into());
    }
    if !is_over {
        match bed.patient.ask(&format!("r{number}"), PATIENCE)? {
            Some(outcome) if outcome == WELL => {}
            outcome => return Err(format!("another session was harmed: {outcome:?}").into()),
        }
    }
    match bed.patient.ask(&number.to_string(), PATIENCE)? {
        Some(outcome) if outcome == WELL => {}
        outcome => return Err(format!("no session afterwards: {outcome:?}").into()),
    }
    if trial.call.name == "munmap" {
        // Memory that the kernel fails to unmap stays mapped.
        bed.before = at_rest(|| bed.patient.process.holdings());
    }
    settled(&bed.before, || bed.patient.process.holdings())
        .map_err(|left| format!("{left} are left, of {}", bed.before))?;
    settled(&bed.of_server, || bed.server.holdings())
        .map_err(|left| format!("{left} are left in the server, of {}", bed.of_server))?;
    Ok(())
}
