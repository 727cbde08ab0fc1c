//! Attacks by name, each under way while an honest client measures. Each counts its steps, and one
//! that takes none has shown nothing.

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{Address, CallError, Channel, SessionOptions, WaitPolicy};
use breezeway_adversary::native::layout::control;
use breezeway_adversary::native::{Entry, Peer, Terms, frame};
use breezeway_adversary::{Connection, Shared, socket};
use clap::ValueEnum;
use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getrlimit, kill_process, set_parent_process_death_signal,
    setrlimit,
};

use crate::Failure;
use crate::engine::Engine;
use crate::hostile::{Times, measure};
use crate::process::{self, Process};
use crate::sequences::{self, Filling};
use crate::{client, server::method};

/// Connections at a time that say nothing, or next to nothing.
const CONNECTIONS: usize = 256;
/// As many as once kept all clients out of a server.
const CROWD: usize = 4_500;
/// Descriptors of this process beside those of a crowd.
const BESIDE_CROWD: usize = 200;
/// Sessions that echo the largest messages at the same time.
const LARGE_SESSIONS: usize = 4;
/// Sessions of which each sends its own end, before it is checked that none stays.
const OWN_ENDS: u64 = 20;
/// How long such sessions may stay, also on a busy machine.
const LINGERING: Duration = Duration::from_secs(20);

#[derive(clap::Args)]
pub(crate) struct Options {
    /// What is tried; everything, if nothing is named.
    attacks: Vec<Attack>,
    /// What is attacked; every engine that the attack is made for, if none is named.
    #[arg(long)]
    engine: Vec<Engine>,
    /// How long the honest client measures without and with each, in seconds.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Goes on instead until it has made so many calls and the attack has taken ten steps.
    #[arg(long)]
    calls: Option<u64>,
    /// Dies with the process that started this one.
    #[arg(long)]
    bound: bool,
}

/// When the honest client has seen enough.
#[derive(Clone, Copy)]
enum Enough {
    Time(Duration),
    Calls(u64),
}

/// No call of an honest client takes so long, on however busy a machine.
const STANDSTILL: Duration = Duration::from_secs(60);

/// How long a socket is full before the attack goes on with another.
const FULL: Duration = Duration::from_millis(100);

/// Steps of an attack that is under way.
const UNDER_WAY: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Attack {
    /// Connections that say nothing, opened anew as the server closes them.
    Silent,
    /// The same, with a byte of no hello at a time.
    Trickling,
    /// Connecting and closing without end.
    Connects,
    /// Doorbells without end.
    Doorbells,
    /// Frames on unix sockets that are announced, come a byte at a time, and never end.
    SlowFrames,
    /// Segments that come and go, each with its entries, without end.
    Segments,
    /// Replies that are lent and never released.
    Keeping,
    /// Streams that are opened and reset without end.
    Streams,
    /// A client that is stopped within its calls and goes on again.
    Stopped,
    /// Clients that send their own end of the session socket as a segment, alone, behind good ones,
    /// and on each other's sessions.
    OwnEnds,
    /// A server that does the same to honest clients, and dies.
    OwnEndsOfServer,
    /// Clients that keep to the rules, and whose sockets are full: segments that stay pending, and
    /// doorbells that are not asked for. They are to be served.
    FullSockets,
    /// The same of a server, whose honest clients are to get their replies.
    FullSocketsOfServer,
    /// Four sessions that echo messages of the cap, of which some are refused for want of memory.
    LargeEchoes,
    /// Thousands of connections that say nothing, beside which new clients are to get in.
    Crowd,
}

impl Attack {
    /// Engines that are attacked; of a hostile server, those of its clients.
    fn engines(self) -> &'static [Engine] {
        match self {
            Self::SlowFrames => &[Engine::Unix],
            Self::OwnEnds | Self::FullSockets | Self::LargeEchoes | Self::Crowd => {
                &[Engine::Native, Engine::Tokio, Engine::Go]
            }
            Self::OwnEndsOfServer | Self::FullSocketsOfServer => &[Engine::Native, Engine::Tokio],
            _ => &[Engine::Native],
        }
    }
}

/// What an attack and its judge share.
#[derive(Default)]
struct Course {
    over: AtomicBool,
    steps: AtomicU64,
}

impl Course {
    fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
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
    let time = Enough::Time(Duration::from_secs_f64(options.seconds));
    let enough = options.calls.map_or(time, Enough::Calls);
    for &attack in attacks {
        let engines = match options.engine.is_empty() {
            true => attack.engines(),
            false => &options.engine,
        };
        for &engine in engines {
            if engine == Engine::Go && process::go_server().is_none() {
                println!("SKIPPED: {attack:?} of go needs its command, named by BREEZEWAY_BWGO");
                continue;
            }
            let report = try_attack(attack, engine, enough);
            let report = report.map_err(|error| format!("{attack:?}, {engine:?}: {error}"))?;
            println!("{report}");
        }
    }
    Ok(())
}

fn try_attack(attack: Attack, engine: Engine, enough: Enough) -> Result<String, Failure> {
    if attack == Attack::Crowd {
        raise_open_files()?;
    }
    let folder = tempfile::tempdir()?;
    let process = Process::start(engine, folder.path())?;
    let address = engine.address(folder.path(), &process.tcp);
    let mut honest = client::connect(engine, &address)?;
    (0..20).try_for_each(|number| honest.round(number))?;
    let mut measured = |course: Option<&Course>| {
        let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            let measuring = scope.spawn(|| measure(&mut *honest, &stop, &progress));
            let so_far = || course.map_or(UNDER_WAY, |it| it.steps.load(Ordering::Relaxed));
            let before = course.map_or(0, |_| so_far());
            let mut stood_still = None;
            match enough {
                Enough::Time(time) => thread::sleep(time),
                Enough::Calls(calls) => {
                    let mut waiting = Standstill::new();
                    while !measuring.is_finished()
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
    let (quiet, _) = measured(None)?;
    let course = &Course::default();
    let socket = folder.path().join(if engine == Engine::Unix { "unix" } else { "shm" });
    let (times, steps) = thread::scope(|scope| {
        let target = Target { engine, path: &socket, address: &address, server: &process };
        let attacking = scope.spawn(move || go(attack, target, course));
        let mut waiting = Standstill::new();
        // No call is waited for yet.
        while course.steps.load(Ordering::Relaxed) == 0
            && !attacking.is_finished()
            && waiting.goes_on(0, 1, &process)
        {
            thread::yield_now();
        }
        let measured = match waiting.report {
            Some(report) => Err(report.into()),
            None => measured(Some(course)),
        };
        course.over.store(true, Ordering::Relaxed);
        let attacked = attacking.join();
        // What stood still says more than what failed as the server was ended for it.
        let measured = measured?;
        attacked.expect("the attack does not panic")?;
        Ok::<_, Failure>(measured)
    })?;
    if steps == 0 {
        return Err("the attack was not under way".into());
    }
    let name = attack.to_possible_value().map_or_else(String::new, |it| it.get_name().to_owned());
    let at = |times: &Times, percent| times.percentile(percent);
    Ok(format!(
        "{name}, {}: {steps} steps; p50 {:.0?} -> {:.0?}, p99 {:.0?} -> {:.0?}, longest {:.0?}",
        engine.name(),
        at(&quiet, 50.0),
        at(&times, 50.0),
        at(&quiet, 99.0),
        at(&times, 99.0),
        at(&times, 100.0)
    ))
}

/// Tells who stands still.
struct Standstill {
    /// What stood still, once something did.
    report: Option<String>,
    /// Calls and steps that are missing, and since when it is so many.
    missing: [u64; 2],
    since: [Instant; 2],
}

impl Standstill {
    fn new() -> Self {
        Self { report: None, missing: [u64::MAX; 2], since: [Instant::now(); 2] }
    }

    /// Whether calls of the honest client or steps of the attack are missing. Where none has come
    /// for long nobody goes on from that: the server is ended, so that whoever waits for it ends
    /// too.
    fn goes_on(&mut self, calls: u64, steps: u64, server: &Process) -> bool {
        for (which, now) in [calls, steps].into_iter().enumerate() {
            if now != self.missing[which] {
                (self.missing[which], self.since[which]) = (now, Instant::now());
            } else if now > 0 && self.since[which].elapsed() > STANDSTILL {
                let who = ["the honest client", "the attack"][which];
                self.report = Some(format!(
                    "{who} stands still, {calls} calls and {steps} steps from the end; the \
                     server:\n{}{}",
                    server.threads(),
                    server.said()
                ));
                server.die();
                return false;
            }
        }
        calls > 0 || steps > 0
    }
}

/// Where an attack goes.
#[derive(Clone, Copy)]
struct Target<'a> {
    engine: Engine,
    /// The socket file.
    path: &'a Path,
    address: &'a str,
    server: &'a Process,
}

fn go(attack: Attack, target: Target<'_>, course: &Course) -> Result<(), Failure> {
    let Target { engine, path, address, .. } = target;
    match attack {
        Attack::Silent => silent(path, course, CONNECTIONS, None),
        Attack::Trickling => silent(path, course, CONNECTIONS, Some(b'B')),
        Attack::OwnEnds => own_ends(target, course),
        Attack::OwnEndsOfServer => own_ends_of_server(engine, course),
        Attack::FullSockets => full_sockets(path, course),
        Attack::FullSocketsOfServer => full_sockets_of_server(engine, course),
        Attack::LargeEchoes => large_echoes(address, course),
        Attack::Crowd => crowd(target, course),
        Attack::Connects => {
            while course.goes_on() {
                drop(UnixStream::connect(path)?);
                course.step();
            }
            Ok(())
        }
        Attack::Doorbells => {
            let mut peer = Peer::connect(path, Terms::default());
            let mut rung = Instant::now();
            while course.goes_on() {
                match socket::send(&peer.socket, &[0], &[]) {
                    Ok(_) => {
                        course.step();
                        rung = Instant::now();
                    }
                    // Full, for now; or for good, as the server need not read what says nothing.
                    Err(Errno::AGAIN) if rung.elapsed() < FULL => thread::yield_now(),
                    Err(_) => {
                        peer = Peer::connect(path, Terms::default());
                        rung = Instant::now();
                    }
                }
                while socket::try_receive(&peer.socket, 64).is_some_and(|got| !got.is_end()) {}
            }
            Ok(())
        }
        Attack::SlowFrames => slow_frames(path, course),
        Attack::Segments => segments(Peer::connect(path, Terms::default()), course),
        Attack::Keeping => {
            let channel = Channel::connect(&address.parse::<Address>()?)?;
            let mut kept = Vec::new();
            while course.goes_on() {
                // Once there is no more memory the calls go on, and fail.
                let until = Instant::now() + Duration::from_millis(10);
                kept.extend(channel.call_until(method::ECHO, &[1; 70_000], until));
                course.step();
            }
            Ok(())
        }
        Attack::Streams => {
            let mut channel = Channel::connect(&address.parse::<Address>()?)?;
            while course.goes_on() {
                // Dropped before its end, it is reset.
                match channel.open(method::ECHO, None) {
                    Ok(_) => course.step(),
                    Err(_) => channel = Channel::connect(&address.parse::<Address>()?)?,
                }
            }
            Ok(())
        }
        Attack::Stopped => stopped(address, course),
    }
}

/// So many half-open connections; `drop` is what each says again and again.
fn silent(path: &Path, course: &Course, count: usize, drop: Option<u8>) -> Result<(), Failure> {
    let mut open: Vec<UnixStream> = Vec::new();
    while course.goes_on() {
        while open.len() < count && course.goes_on() {
            let connection = UnixStream::connect(path)?;
            connection.set_nonblocking(true)?;
            open.push(connection);
            course.step();
        }
        open.retain_mut(|connection| {
            let is_open =
                socket::try_receive(&*connection, 64).is_none_or(|received| !received.is_end());
            let says = drop.is_none_or(|byte| connection.write(&[byte]).is_ok());
            if drop.is_some() && says {
                course.step();
            }
            is_open && says
        });
    }
    Ok(())
}

/// Requests of which each connection sends the header, and then a byte of the body at a time. None
/// of it is against the rules.
fn slow_frames(path: &Path, course: &Course) -> Result<(), Failure> {
    const ANNOUNCED: usize = 32 << 20;
    let open = || -> Result<Connection, Failure> {
        let mut connection = Connection::unix(path)?;
        frame::greet(&mut connection, ANNOUNCED as u64);
        let header = frame::Header::request(1, method::ECHO, ANNOUNCED);
        connection.write_all(&header.bytes())?;
        Ok(connection)
    };
    let mut open = (0..CONNECTIONS).map(|_| open()).collect::<Result<Vec<_>, _>>()?;
    while course.goes_on() {
        for connection in &mut open {
            connection.write_all(&[7])?;
            course.step();
        }
        // A sender that is slow, and a server that has been through what came.
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Always another segment, announced and retired.
fn segments(mut peer: Peer, course: &Course) -> Result<(), Failure> {
    let shared = Shared::fit(4096);
    // Nothing of it is against the rules, so a session that is ended is no attack but a fault.
    let goes_on = |peer: &Peer, number| -> Result<bool, Failure> {
        if socket::try_receive(&peer.socket, 4096).is_some_and(|received| received.is_end()) {
            return Err(format!("the session was ended at segment {number}").into());
        }
        Ok(course.goes_on())
    };
    for number in 0.. {
        while peer.ring.tail - peer.view.load(control::CONSUMED_AT) >= 8 {
            if !goes_on(&peer, number)? {
                return Ok(());
            }
            thread::yield_now();
        }
        let consumed = peer.view.load(control::CONSUMED_AT);
        peer.ring.shared.store(control::SPACE_WAKE_AT, consumed);
        while socket::send(&peer.socket, &[1], &[shared.fd.as_fd()]).is_err() {
            if !goes_on(&peer, number)? {
                return Ok(());
            }
        }
        peer.publish(&Entry::segment_add(number, 4096));
        peer.publish_silently(&Entry::segment_retire(number));
        course.step();
    }
    Ok(())
}

/// A process that is ended with this.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn stopped(address: &str, course: &Course) -> Result<(), Failure> {
    const NEVER: u64 = 1 << 60;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["victim", "native", address, "call", &NEVER.to_string(), "0", "/dev/null"]);
    let victim = Victim(command.stdout(Stdio::null()).spawn()?);
    let pid = Pid::from_raw(victim.0.id().cast_signed()).ok_or("a process has a number")?;
    for signal in [Signal::STOP, Signal::CONT].into_iter().cycle() {
        if !course.goes_on() {
            break;
        }
        thread::sleep(Duration::from_millis(5));
        kill_process(pid, signal)?;
        course.step();
    }
    Ok(())
}

fn own_ends(target: Target<'_>, course: &Course) -> Result<(), Failure> {
    let connect = || Peer::connect(target.path, Terms::default());
    let before = target.server.descriptors();
    while course.goes_on() {
        for number in 0..OWN_ENDS {
            let segments = [0, 1, 8, 63, 64][(number % 5) as usize];
            sequences::own_end(&mut connect(), segments, number % 3);
            course.step();
        }
        sequences::crossed_ends(&[connect(), connect()]);
        // This process lives on, and has closed its ends.
        let closed = Instant::now();
        while target.server.descriptors() > before {
            if closed.elapsed() > LINGERING {
                let now = target.server.descriptors();
                return Err(format!("the server had {before} descriptors, and keeps {now}").into());
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

/// Opens a client's session with a server by hand.
type Connect = fn(UnixStream) -> Result<Called, Failure>;

/// A client's session with a server by hand.
enum Called {
    Session(Box<breezeway::Session>),
    Channel(Channel),
    Tokio(breezeway_tokio::Channel, tokio::runtime::Runtime),
}

impl Called {
    /// All that there are of an engine.
    fn all(engine: Engine) -> &'static [Connect] {
        match engine {
            Engine::Tokio => &[Self::tokio],
            _ => &[Self::session, Self::channel],
        }
    }

    fn session(socket: UnixStream) -> Result<Self, Failure> {
        let options = SessionOptions::new().handshake_timeout(client::HANDSHAKE);
        let session = breezeway::Session::from_socket(socket.into(), &options)?;
        Ok(Self::Session(Box::new(session)))
    }

    fn channel(socket: UnixStream) -> Result<Self, Failure> {
        let options = SessionOptions::new().handshake_timeout(client::HANDSHAKE);
        Ok(Self::Channel(Channel::from_socket(socket.into(), &options)?))
    }

    fn tokio(socket: UnixStream) -> Result<Self, Failure> {
        let options = SessionOptions::new().handshake_timeout(client::HANDSHAKE);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let connecting = breezeway_tokio::Channel::from_socket(socket.into(), &options);
        Ok(Self::Tokio(runtime.block_on(connecting)?, runtime))
    }

    /// Makes a call: the reply, or why there is none.
    fn call(&mut self, request: &[u8]) -> Result<Vec<u8>, CallError> {
        let until = Instant::now() + client::PATIENCE;
        match self {
            Self::Session(session) => {
                session.call_until(method::ECHO, request, until).map(|reply| reply.to_vec())
            }
            Self::Channel(channel) => {
                channel.call_until(method::ECHO, request, until).map(|reply| reply.to_vec())
            }
            Self::Tokio(channel, runtime) => {
                let call = channel.call_until(method::ECHO, request, until);
                runtime.block_on(call).map(|reply| reply.to_vec())
            }
        }
    }
}

fn own_ends_of_server(engine: Engine, course: &Course) -> Result<(), Failure> {
    for number in (0..).take_while(|_| course.goes_on()) {
        let segments = [0, 1, 8, 63, 64][(number % 5) as usize];
        for connect in Called::all(engine) {
            let (hostile, honest) = UnixStream::pair()?;
            let serving = thread::spawn(move || {
                let mut peer = Peer::server(hostile.into(), Terms::default());
                if peer.next_message().is_some() {
                    sequences::own_end(&mut peer, segments, 0);
                }
            });
            let outcome = connect(honest)?.call(b"x");
            if !matches!(&outcome, Err(error) if error.to_string().contains("not sealed")) {
                return Err(format!("behind {segments} segments: {outcome:?}").into());
            }
            serving.join().map_err(|_| "the server by hand panicked")?;
        }
        course.step();
    }
    Ok(())
}

fn full_sockets(path: &Path, course: &Course) -> Result<(), Failure> {
    for filling in Filling::ALL.into_iter().cycle().take_while(|_| course.goes_on()) {
        let mut peer = Peer::connect(path, Terms::default());
        filling.call(&mut peer, || {
            course.step();
            course.goes_on()
        });
    }
    Ok(())
}

fn full_sockets_of_server(engine: Engine, course: &Course) -> Result<(), Failure> {
    for filling in Filling::ALL.into_iter().cycle().take_while(|_| course.goes_on()) {
        for connect in Called::all(engine) {
            let (hostile, honest) = UnixStream::pair()?;
            let serving = thread::spawn(move || filling.serve(hostile));
            let mut called = connect(honest)?;
            for number in (0..600u32).take_while(|_| course.goes_on()) {
                let reply = called.call(&number.to_le_bytes())?;
                if reply != number.to_le_bytes() {
                    return Err("a reply came back changed".into());
                }
                course.step();
            }
            drop(called);
            serving.join().map_err(|_| "the server by hand panicked")?;
        }
    }
    Ok(())
}

fn large_echoes(address: &str, course: &Course) -> Result<(), Failure> {
    let address: Address = address.parse()?;
    let echoes = || -> Result<(), Failure> {
        let mut channel = Channel::connect(&address)?;
        let request = vec![7; channel.cap()];
        while course.goes_on() {
            // Refused where there is no memory for it, or for the reply.
            let _ = channel.call_until(method::ECHO, &request, Instant::now() + client::PATIENCE);
            if channel.is_ended() {
                channel = Channel::connect(&address)?;
            }
            course.step();
        }
        Ok(())
    };
    thread::scope(|scope| {
        let running = [(); LARGE_SESSIONS].map(|()| scope.spawn(echoes));
        running.into_iter().try_for_each(|one| one.join().expect("an echo does not panic"))
    })
}

/// Lets this process and its servers have descriptors for a crowd, or as many as they may.
fn raise_open_files() -> Result<(), Failure> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = (CROWD + BESIDE_CROWD) as u64;
    let current =
        maximum.map(|maximum| current.unwrap_or(u64::MAX).max(wanted.min(maximum)).min(maximum));
    Ok(setrlimit(Resource::Nofile, Rlimit { current, maximum })?)
}

fn crowd(target: Target<'_>, course: &Course) -> Result<(), Failure> {
    let may_have = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |most| most as usize);
    let count = CROWD.min(may_have.saturating_sub(BESIDE_CROWD));
    if count < CROWD {
        println!("{count} connections: this process may have {may_have} open files");
    }
    let arrived = Course::default();
    thread::scope(|scope| {
        let crowding = scope.spawn(|| silent(target.path, &arrived, count, None));
        let newcomers = || -> Result<(), Failure> {
            while course.goes_on() {
                if crowding.is_finished() {
                    return Err("no crowd".into());
                }
                if arrived.steps.load(Ordering::Relaxed) < count as u64 {
                    thread::sleep(Duration::from_millis(1));
                    continue;
                }
                client::connect_with(target.engine, target.address, WaitPolicy::Park)
                    .and_then(|mut client| client.round(1))
                    .map_err(|error| format!("a new client does not get in: {error}"))?;
                course.step();
            }
            Ok(())
        };
        let outcome = newcomers();
        arrived.over.store(true, Ordering::Relaxed);
        let crowded = crowding.join().expect("the crowd does not panic");
        outcome.and(crowded)
    })
}
