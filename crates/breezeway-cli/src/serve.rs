//! `breezeway serve`: an echo server to measure and to try things with.

use breezeway::unstable::on_start;
use breezeway::{Address, Server, ServerOptions};
use breezeway_measure::load::{Echo, Runtime, tasks};
use breezeway_os::{cpu, shortage};
use rustix::process::{Resource, getrlimit, setrlimit};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::announce::announce;
use crate::certificates::Certificates;
use crate::failure::Failure;
#[cfg(feature = "grpc")]
use crate::grpc;
use crate::protocol::Protocol;
#[cfg(feature = "thrift")]
use crate::rpc;
use crate::settings::{Config, ServerSettings, SessionSettings};
use crate::shmipc;
use crate::succession::Succession;
use crate::target::Target;

const EXAMPLES: &str = "\
Examples:
  breezeway serve --addr shm:/tmp/echo.sock
  breezeway serve --addr shm:/tmp/echo.sock --wait busy --cpu 1
  breezeway serve --addr shm:/tmp/echo.sock,unix:/tmp/echo-unix.sock,tcp:127.0.0.1:7000
  breezeway serve --addr shm:/tmp/echo.sock --runtime tokio --workers 2
  breezeway serve --addr shm:/tmp/echo.sock --take-over --drain 30s
  breezeway serve --addr tcp:127.0.0.1:7000 --take-over --admin /tmp/echo.admin
  breezeway serve --protocol grpc --addr shm:/tmp/grpc.sock,tcp:127.0.0.1:7000
  breezeway serve --protocol thrift --addr shm:/tmp/thrift.sock,tcp:127.0.0.1:7000
  breezeway serve --addr tls:0.0.0.0:7000 --certificate server.pem --key server.key --roots ca.pem
  breezeway serve --addr shm:/tmp/echo.sock --metrics 127.0.0.1:9464
  breezeway serve --addr shmipc:/tmp/echo.sock
  breezeway serve --addr shmipc:tcp:127.0.0.1:7000 --files-of-unknown-users \\
    --folder /dev/shm/pool --log info
  BREEZEWAY_CAP=1GiB breezeway serve --addr shm:/tmp/echo.sock --config breezeway.toml

Methods: 0 echoes the request; 1 replies with as many bytes, of which it copies the first 8; 2 \
counts and sums one-way messages; 3 replies with that count and sum; 4 does the same as 2 with the \
first 8 bytes. SIGTERM and SIGINT end the server, with status 0, and remove its socket file. With \
--take-over, so does a successor that was started in the same way, once all clients have moved \
there.";

/// Serve an echo at an address until a signal ends it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Address to listen at: shm:/path/to.sock, unix:/path/to.sock, tcp:host:port (port 0: any free
    /// one), tls:host:port, or several, separated by commas; or shmipc:/path/to.sock, which echoes
    /// the bytes of every stream
    #[arg(long)]
    addr: Target,
    /// Protocol to serve
    #[arg(long, value_enum, default_value_t = Protocol::Breezeway)]
    protocol: Protocol,
    /// Pin all threads to this CPU, before memory is first touched (so that it comes from the
    /// CPU's NUMA node) [default: not pinned]
    #[arg(long, value_name = "N")]
    cpu: Option<usize>,
    /// Runtime of the server: threads that block, which take calls alone, or tasks under tokio,
    /// which echo the messages of streams as well; --workers is then the threads of the runtime
    #[arg(long, value_enum, default_value_t = Runtime::Blocking)]
    runtime: Runtime,
    /// Level of the log on standard error: off, error, warn, info, debug or trace, or such levels
    /// for parts, as in warn,breezeway_shmipc=debug; without it RUST_LOG sets it [default: warn]
    #[arg(long, value_name = "LEVEL", env = "BREEZEWAY_LOG", value_parser = shmipc::log_filter)]
    log: Option<Targets>,
    /// Serve figures for Prometheus by HTTP, to everyone who reaches this address, at
    /// http://IP:PORT/metrics (port 0: any free one)
    #[cfg(feature = "metrics")]
    #[arg(long, value_name = "IP:PORT", env = "BREEZEWAY_METRICS")]
    metrics: Option<std::net::SocketAddr>,
    #[command(flatten)]
    server: ServerSettings,
    #[command(flatten)]
    session: SessionSettings,
    #[command(flatten)]
    config: Config,
    #[command(flatten)]
    succession: Succession,
    #[command(flatten)]
    certificates: Certificates,
    #[command(flatten)]
    shmipc: shmipc::Serving,
}

pub(crate) fn run(args: Args) -> Result<(), Failure> {
    if let Some(cpu) = args.cpu {
        cpu::pin_current_thread(cpu)?;
    }
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(LevelFilter::TRACE)
        .without_time()
        .finish()
        .with(args.filter()?)
        .init();
    raise_limit_of_open_files();
    args.certificates.install_for_server(args.addr.places())?;
    let (session, server) = args.config.complete(args.session, args.server)?;
    #[cfg(feature = "metrics")]
    if let Some(address) = args.metrics {
        crate::metrics::serve(address, args.succession.takes_over())?;
    }
    // Installed before there is a socket file that a signal would leave behind.
    let signals = Signals::new([SIGTERM, SIGINT]).map_err(|error| {
        format!("cannot listen to signals: {error}{}", shortage::advice(&error))
    })?;
    #[cfg(feature = "grpc")]
    if args.protocol == Protocol::Grpc {
        let address = args.protocol.address(&args.addr)?;
        args.shmipc.refuse()?;
        let drain = args.succession.drain();
        let options = args.succession.options(server.options(session.options()));
        return grpc::serve::run(address, options, drain, server.threads()?, signals);
    }
    #[cfg(feature = "thrift")]
    if args.protocol == Protocol::Thrift {
        let address = args.protocol.address(&args.addr)?;
        args.shmipc.refuse()?;
        if args.runtime == Runtime::Tokio {
            return Err("--runtime tokio does not go with --protocol thrift; leave it out".into());
        }
        let options = args.succession.options(server.options(session.options()));
        return rpc::serve(address, options, signals);
    }
    match &args.addr {
        Target::Breezeway(address) => {
            args.shmipc.refuse()?;
            let options = args.succession.options(server.options(session.options()));
            match args.runtime {
                Runtime::Blocking => serve_calls(address, options, signals),
                Runtime::Tokio => serve_tasks(address, options, server.threads()?, signals),
            }
        }
        Target::Shmipc(_) if args.runtime == Runtime::Tokio => {
            Err("--runtime tokio does nothing for a shmipc: address; leave it out".into())
        }
        Target::Shmipc(address) => {
            args.succession.refuse()?;
            serve_streams(address, args.shmipc.options(address, &session, &server)?, signals)
        }
    }
}

impl Args {
    /// Returns the filter of the log; without an option, RUST_LOG sets it, as is usual in Rust.
    fn filter(&self) -> Result<Targets, Failure> {
        let variable = || std::env::var("RUST_LOG").ok().filter(|text| !text.is_empty());
        let said = || variable().map(|text| shmipc::log_filter(&text)).transpose();
        let filter = match self.log.clone() {
            Some(filter) => Some(filter),
            None => said().map_err(|expected| format!("RUST_LOG: {expected}"))?,
        };
        Ok(filter.unwrap_or_else(|| Targets::new().with_default(LevelFilter::WARN)))
    }
}

/// Every session takes two descriptors, and the soft limit is low so that old programs which use
/// select(2) keep working. A limit that cannot be raised shows once it is reached.
fn raise_limit_of_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::warn!(%error, "cannot raise the soft limit of open files to the hard one");
        }
    }
}

fn serve_calls(
    address: &Address,
    options: ServerOptions,
    mut signals: Signals,
) -> Result<(), Failure> {
    let closing = signals.handle();
    let server = Server::bind_with(address, options)?;
    let (stopper, address) = (server.stopper(), server.address());
    shortage::spawn("signals", move || signals.forever().for_each(|_| stopper.stop()))?;
    on_start(server, move || announce(&address)).serve(Echo::default())?;
    closing.close();
    Ok(())
}

fn serve_tasks(
    address: &Address,
    options: ServerOptions,
    threads: usize,
    mut signals: Signals,
) -> Result<(), Failure> {
    let closing = signals.handle();
    tasks::serve(address, options, threads, |address, stopper| {
        shortage::spawn("signals", move || signals.forever().for_each(|_| stopper.stop()))?;
        announce(address);
        Ok(())
    })?;
    closing.close();
    Ok(())
}

fn serve_streams(
    address: &breezeway_shmipc::Address,
    options: breezeway_shmipc::ServerOptions,
    mut signals: Signals,
) -> Result<(), Failure> {
    let closing = signals.handle();
    let server = breezeway_shmipc::Server::bind(address, options)?;
    let stopper = server.stopper();
    shortage::spawn("signals", move || signals.forever().for_each(|_| stopper.stop()))?;
    announce(server.address());
    server.serve(|stream| {
        let (reader, writer) = stream.halves();
        writer.forward(reader).map(|_| ())
    });
    closing.close();
    Ok(())
}
