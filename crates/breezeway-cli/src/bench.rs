//! `breezeway bench`: measures calls to a running `breezeway serve`.

#[cfg(feature = "grpc")]
mod grpc;

use std::io::Write;
use std::time::{Duration, Instant};

use breezeway::{Address, CallError, ErrorCode, ExclusiveSession, Session};
use breezeway_measure::load::{self, Extent, Load, Measurement, Pattern, Runtime, Spread, Touch};
use breezeway_measure::report::bench::{Report, Setup};
use breezeway_os::{clock, cpu};
use breezeway_shmipc::Client;
use indicatif::{ProgressBar, ProgressStyle};

use crate::certificates::Certificates;
use crate::failure::Failure;
use crate::follow;
#[cfg(feature = "grpc")]
use crate::grpc::bench::Gear;
use crate::protocol::Protocol;
#[cfg(feature = "thrift")]
use crate::rpc;
use crate::settings::{Config, ServerSettings, SessionSettings, value};
use crate::shmipc;
use crate::target::Target;

const EXAMPLES: &str = "\
Examples:
  breezeway bench --addr shm:/tmp/echo.sock --wait busy --size 40 --cpu 0
  breezeway bench --addr shm:/tmp/echo.sock --size 1MiB --touch none --count 100000
  breezeway bench --addr shm:/tmp/echo.sock --pattern one-way --size 40 --batch 64 --json
  breezeway bench --addr shm:/tmp/echo.sock --pattern cold --size 1MiB
  breezeway bench --addr shm:/tmp/echo.sock --rate 1000 --seconds 10
  breezeway bench --addr shm:/tmp/echo.sock --threads 8
  breezeway bench --addr shm:/tmp/echo.sock --runtime tokio --streams 200
  breezeway bench --protocol grpc --addr shm:/tmp/grpc.sock --depth 64
  breezeway bench --protocol grpc --addr unix:/tmp/grpc.sock --gear http2 --size 1MiB
  breezeway bench --protocol thrift --addr shm:/tmp/thrift.sock --size 1KiB
  breezeway bench --addr shm:/tmp/echo.sock --follow --rate 1000 --seconds 60
  breezeway bench --addr tls:echo.example.org:7000 --roots ca.pem
  breezeway bench --addr shmipc:/tmp/echo.sock --memory file-v2

Ping-pong writes every byte before each call and compares every byte of the reply (--touch none: \
the first 8). A latency runs from one reply to the next, so it counts filling and comparing; with \
--rate it runs from the start of the call, or, after a call that ended late, from when the call \
was due. One-way counts the messages that the server confirms. \
Each session is warmed up, uncounted, with at most 100 messages (or one per call in flight). \
\"empty\" is the time of filling, comparing and the clock for each message: the same work with \
nothing sent. Calls of gRPC are health checks, which count as 0 bytes, or with --size echoes of \
that size; --depth is the number of tasks that call on one channel. A restart during --follow \
shows as the longest latency.";

/// Heading of the options that shape the load.
const LOAD: &str = "Load options";

/// Measure calls to a running server
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Address of the server: shm:/path/to.sock, unix:/path/to.sock, tcp:host:port, tls:host:port,
    /// or several in the order of preference, separated by commas; or shmipc:/path/to.sock, any
    /// shmipc server that echoes
    #[arg(long)]
    addr: Target,
    /// Protocol of the calls
    #[arg(long, value_enum, default_value_t = Protocol::Breezeway)]
    protocol: Protocol,
    /// Bytes of each message, such as 40 or 64KiB [default: 64; of gRPC none, as health checks]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    size: Option<usize>,
    /// End after this many messages, shared out among the sessions
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "seconds",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    count: Option<u64>,
    /// End after this many seconds [default: 5]
    #[arg(long, value_name = "S", value_parser = Extent::parse_seconds)]
    seconds: Option<f64>,
    /// Open loop: this many calls a second and session, one outstanding, sleeping until each is
    /// due [default: as many as possible]
    #[arg(long, value_name = "PER_SECOND", value_parser = positive, conflicts_with = "depth")]
    rate: Option<f64>,
    /// Pin all threads to this CPU, before memory is first touched (so that it comes from the
    /// CPU's NUMA node) [default: not pinned]
    #[arg(long, value_name = "N")]
    cpu: Option<usize>,
    /// Print one line with one JSON object
    #[arg(long)]
    json: bool,
    /// Calls with replies, messages without, or a new session for each call
    #[arg(long, value_enum, default_value_t = Pattern::PingPong, help_heading = LOAD)]
    pattern: Pattern,
    /// Calls in flight on each session
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = value::up_to(32768),
        help_heading = LOAD
    )]
    depth: u32,
    /// One-way messages per wake-up of the server
    #[arg(
        long,
        value_name = "N",
        default_value_t = 64,
        value_parser = value::up_to(1_000_000),
        help_heading = LOAD
    )]
    batch: u32,
    /// Sessions in parallel, each with a thread
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = value::up_to(1024),
        help_heading = LOAD
    )]
    sessions: u32,
    /// Threads that share one session, or under tokio threads of the runtime
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = value::up_to(1024),
        help_heading = LOAD
    )]
    threads: u32,
    /// Runtime that drives the session
    #[arg(long, value_enum, default_value_t = Runtime::Blocking, help_heading = LOAD)]
    runtime: Runtime,
    /// Exchange messages on this many streams of one session, one in flight on each, in place of
    /// calls; the server must be one of --runtime tokio
    #[arg(long, value_name = "N", value_parser = value::up_to(65535), help_heading = LOAD)]
    streams: Option<u32>,
    /// Write and compare every byte, or 8 of each message
    #[arg(long, value_enum, default_value_t = Touch::All, help_heading = LOAD)]
    touch: Touch,
    /// Move to another server when this one goes away for a successor or ends, waiting up to 10 s
    /// for it, and repeat the call on which it ended
    #[arg(long, help_heading = LOAD)]
    follow: bool,
    /// Gear of gRPC calls [default: native]
    #[cfg(feature = "grpc")]
    #[arg(long, value_enum, help_heading = "gRPC options")]
    gear: Option<Gear>,
    #[command(flatten)]
    session: SessionSettings,
    #[command(flatten)]
    config: Config,
    #[command(flatten)]
    certificates: Certificates,
    #[command(flatten)]
    shmipc: shmipc::Calling,
}

/// A positive, finite number.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() && number < 1e9 => Ok(number),
        _ => Err("expected a number above 0".to_owned()),
    }
}

pub(crate) fn run(mut args: Args) -> Result<(), Failure> {
    (args.session, _) = args.config.complete(args.session, ServerSettings::default())?;
    if let Some(cpu) = args.cpu {
        cpu::pin_current_thread(cpu)?;
    }
    if args.rate.is_some() && args.pattern != Pattern::PingPong {
        return Err("--rate goes with --pattern ping-pong".into());
    }
    if args.pattern == Pattern::Cold {
        check_cold(&args)?;
    }
    match args.protocol {
        #[cfg(feature = "grpc")]
        Protocol::Grpc => grpc::check(&args)?,
        _ => check_calls(&args)?,
    }
    args.certificates.install_for_client(args.addr.places())?;
    clock::calibrate();
    // Measured before a session exists, because the end of one keeps the CPU busy for a while.
    let empty = load::empty::cost(&args.load());
    let start = Instant::now();
    let measurement = match (args.protocol, &args.addr) {
        #[cfg(feature = "grpc")]
        (Protocol::Grpc, _) => grpc::measure(&args)?,
        (protocol, target) if args.by_client() => {
            measure_by_client(&args, protocol.address(target)?)?
        }
        (_, Target::Breezeway(address)) => measure_calls(&args, address).map_err(no_echo)?,
        (_, Target::Shmipc(address)) => measure_streams(&args, address)?,
    };
    print(&args, empty, start.elapsed(), &measurement)
}

/// Returns an error that names the protocol for a server without the methods of this one.
fn no_echo(failure: Failure) -> Failure {
    match failure.downcast_ref() {
        Some(CallError::Failed { code: ErrorCode::NoSuchMethod, .. }) => {
            "the server does not serve calls by number, as breezeway serve does; name its protocol \
             with --protocol"
                .into()
        }
        _ => failure,
    }
}

impl Args {
    /// Returns true if one caller makes the calls through a client, which can move to another
    /// server.
    fn by_client(&self) -> bool {
        match self.protocol {
            #[cfg(feature = "thrift")]
            Protocol::Thrift => true,
            _ => self.follow,
        }
    }

    fn spread(&self) -> Spread {
        let runtime = match self.protocol {
            #[cfg(feature = "grpc")]
            Protocol::Grpc => Runtime::Tokio,
            _ => self.runtime,
        };
        Spread { runtime, streams: self.streams, threads: self.threads }
    }

    fn size(&self) -> usize {
        self.size.unwrap_or(match self.protocol {
            #[cfg(feature = "grpc")]
            Protocol::Grpc => 0,
            _ => 64,
        })
    }

    fn load(&self) -> Load {
        let seconds = self.seconds.unwrap_or(Extent::DEFAULT_SECONDS);
        Load {
            pattern: self.pattern,
            size: self.size(),
            touch: self.touch,
            extent: Extent { count: self.count, seconds },
            rate: self.rate,
            depth: self.depth,
            batch: self.batch,
        }
    }
}

fn measure_calls(args: &Args, address: &Address) -> Result<Measurement, Failure> {
    args.shmipc.refuse()?;
    let (load, spread, options) = (args.load(), args.spread(), args.session.options());
    if spread.runtime == Runtime::Tokio {
        let progress = Progress::new(args);
        return load::tasks::on_tasks(&load, address, &options, spread, || progress.show());
    }
    if !spread.is_exclusive() {
        let channel = Session::connect_with(address, &options)?;
        let progress = Progress::new(args);
        return load::on_channel(&load, &channel, spread, || progress.show());
    }
    if args.pattern == Pattern::Cold {
        return load::on_fresh_sessions(&load, || open(args, address));
    }
    let sessions: Result<Vec<_>, _> = (0..args.sessions).map(|_| open(args, address)).collect();
    let progress = Progress::new(args);
    load::on_sessions(&load, sessions?, || progress.show())
}

fn measure_by_client(args: &Args, address: &Address) -> Result<Measurement, Failure> {
    let (load, session) = (args.load(), args.session.options());
    match args.protocol {
        #[cfg(feature = "thrift")]
        Protocol::Thrift => rpc::bench_thrift(&load, address, session, args.follow),
        _ => follow::bench(&load, address, session),
    }
}

/// The lengths of shmipc have 32 bits.
const LARGEST_OF_SHMIPC: u64 = u32::MAX as u64;

fn measure_streams(
    args: &Args,
    address: &breezeway_shmipc::Address,
) -> Result<Measurement, Failure> {
    if !args.spread().is_exclusive() {
        return Err("--runtime tokio, --streams and --threads do nothing for a shmipc: address; \
            leave them out"
            .into());
    }
    if args.pattern != Pattern::PingPong
        || args.depth != 1
        || args.rate.is_some()
        || args.size() == 0
    {
        return Err(
            "a shmipc server is measured with --pattern ping-pong, --depth 1, --size above \
            0 and without --rate"
                .into(),
        );
    }
    if args.size() as u64 > LARGEST_OF_SHMIPC {
        let size = args.size();
        return Err(format!(
            "--size {size} exceeds the {LARGEST_OF_SHMIPC} bytes that a message of shmipc can have"
        )
        .into());
    }
    let options = args.shmipc.options(address, &args.session)?;
    let connect = |_| Client::connect(address, options.clone());
    let clients: Result<Vec<_>, _> = (0..args.sessions).map(connect).collect();
    let progress = Progress::new(args);
    load::on_shmipc(&args.load(), clients?, || progress.show())
}

/// Returns an error for options of gRPC, and for options that other callers do not support.
fn check_calls(args: &Args) -> Result<(), Failure> {
    #[cfg(feature = "grpc")]
    if args.gear.is_some() {
        return Err("--gear goes with --protocol grpc".into());
    }
    if args.by_client() {
        return check_by_client(args);
    }
    args.spread().check(&args.load(), args.sessions)
}

/// Returns an error for options that a session of one call does not support.
fn check_cold(args: &Args) -> Result<(), Failure> {
    let asked = [
        (args.depth > 1, "--depth"),
        (args.touch == Touch::None, "--touch none"),
        (args.sessions > 1, "--sessions"),
    ];
    match asked.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(format!("{option} does not go with --pattern cold").into()),
        None => Ok(()),
    }
}

/// Returns an error for options that one caller through a client does not support.
fn check_by_client(args: &Args) -> Result<(), Failure> {
    args.protocol.address(&args.addr)?;
    args.shmipc.refuse()?;
    let asked = [
        (args.pattern != Pattern::PingPong, "--pattern"),
        (args.depth > 1, "--depth"),
        (args.sessions > 1, "--sessions"),
        (!args.spread().is_exclusive(), "--runtime tokio, --streams or --threads"),
        (args.touch == Touch::None, "--touch none"),
    ];
    match asked.into_iter().find(|(is_given, _)| *is_given) {
        None => Ok(()),
        Some((_, option)) if args.follow => {
            Err(format!("{option} does not go with --follow").into())
        }
        Some((_, option)) => Err(format!("{option} does not go with --protocol thrift").into()),
    }
}

/// Prints the results.
fn print(
    args: &Args,
    empty: f64,
    session: Duration,
    measurement: &Measurement,
) -> Result<(), Failure> {
    let setup = Setup {
        addr: &args.addr.to_string(),
        wait: args.session.wait.unwrap_or_default().name(),
        pattern: args.pattern,
        size: args.size(),
        touch: args.touch,
        empty_ns: Some(empty),
        session: Some(session),
        rate: args.rate.map(|rate| rate * f64::from(args.sessions)),
        spread: args.spread(),
    };
    let report = Report::new(setup, measurement);
    let text = if args.json { report.json() } else { report.table() };
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}

/// Opens a session; its ring, unless it is set, has room for the calls in flight.
fn open(args: &Args, address: &Address) -> Result<ExclusiveSession, Failure> {
    let default = args.session.options();
    let depth = args.depth.next_power_of_two();
    let makes_room = depth > 128 && args.session.ring_capacity.is_none();
    let options = if makes_room { default.ring_capacity(2 * depth) } else { default };
    let session = ExclusiveSession::connect_with(address, &options)?;
    if args.depth as usize > session.max_in_flight() {
        let most = session.max_in_flight();
        return Err(format!(
            "--depth {} is more than the {most} calls in flight that both rings allow; raise \
             --ring-capacity of bench and serve",
            args.depth
        )
        .into());
    }
    if args.size() > session.cap() {
        let (size, cap) = (args.size(), session.cap());
        return Err(format!(
            "--size {size} exceeds the session's cap of {cap} bytes, the smaller of \
            both sides'; raise --cap of bench and serve"
        )
        .into());
    }
    Ok(session)
}

/// Progress of a run, shown on a terminal.
struct Progress {
    bar: ProgressBar,
    start: Instant,
}

impl Progress {
    fn new(args: &Args) -> Self {
        let total = Duration::from_secs_f64(args.seconds.unwrap_or(Extent::DEFAULT_SECONDS));
        let style = ProgressStyle::with_template("{wide_bar} {eta}").expect("a valid template");
        let bar = if args.json {
            ProgressBar::hidden()
        } else if args.count.is_some() {
            ProgressBar::new_spinner()
        } else {
            ProgressBar::new(total.as_millis() as u64).with_style(style)
        };
        Self { bar, start: Instant::now() }
    }

    fn show(&self) {
        self.bar.set_position(self.start.elapsed().as_millis() as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
