//! `breezeway serve`: an echo server to measure and to try things with.

use std::cell::OnceCell;
use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use breezeway::{Address, Call, Handler, HandlerError, Replied, Server, ServerOptions, WaitPolicy};
use breezeway_os::cpu;
use breezeway_shmipc::Trust;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::Failure;
use crate::methods::{ECHO, HOLLOW, HOLLOW_BYTES, SINK, TALLY, sum};
use crate::settings::{Config, ServerSettings, SessionSettings};
use crate::target::Target;

const EXAMPLES: &str = "\
Examples:
  breezeway serve --addr shm:/tmp/echo.sock
  breezeway serve --addr shm:/tmp/echo.sock --wait busy --cpu 1
  breezeway serve --addr shm:/tmp/echo.sock,unix:/tmp/echo-unix.sock,tcp:127.0.0.1:7000
  breezeway serve --addr shmipc:/tmp/echo.sock
  BREEZEWAY_CAP=1GiB breezeway serve --addr shm:/tmp/echo.sock --config breezeway.toml

Methods: 0 echoes the request; 1 replies with as many bytes, of which it copies the first 8; 2 counts and sums one-way
messages; 3 replies with that count and sum. SIGTERM and SIGINT end the server, with status 0, and remove its socket file.";

/// Serve an echo at an address until told to end
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Where to listen: shm:/path/to.sock, unix:/path/to.sock, tcp:host:port (port 0: any free one), or several, separated by commas; or shmipc:/path/to.sock, where the bytes of every stream are echoed
    #[arg(long)]
    addr: Target,
    /// Pin all threads to this CPU, before memory is first touched (so that it comes from the CPU's NUMA node) [default: not pinned]
    #[arg(long, value_name = "N")]
    cpu: Option<usize>,
    #[command(flatten)]
    server: ServerSettings,
    #[command(flatten)]
    session: SessionSettings,
    #[command(flatten)]
    config: Config,
}

pub(crate) fn run(args: Args) -> Result<(), Failure> {
    if let Some(cpu) = args.cpu {
        cpu::pin_current_thread(cpu)?;
    }
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing::Level::WARN)
        .without_time()
        .init();
    let (session, server) = args.config.complete(args.session, args.server)?;
    // Before there is a socket file that a signal would leave behind.
    let signals = Signals::new([SIGTERM, SIGINT])?;
    match &args.addr {
        Target::Breezeway(address) => {
            serve_calls(address, server.options(session.options()), signals)
        }
        Target::Shmipc(address) => {
            serve_streams(address, session.wait.unwrap_or_default().into(), signals)
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
    let stopper = server.stopper();
    std::thread::spawn(move || signals.forever().for_each(|_| stopper.stop()));
    announce(&server.address());
    server.serve(Echo::default())?;
    closing.close();
    Ok(())
}

/// Serves shmipc. Its peers can write what both map, so over a unix socket only those of the same user are served.
fn serve_streams(
    address: &breezeway_shmipc::Address,
    wait: WaitPolicy,
    mut signals: Signals,
) -> Result<(), Failure> {
    let is_tcp = matches!(address, breezeway_shmipc::Address::Tcp(_));
    let trust = if is_tcp { Trust::Anybody } else { Trust::SameUser };
    let session = breezeway_shmipc::SessionOptions::new().wait(wait);
    let options = breezeway_shmipc::ServerOptions::new(trust).session(session);
    // Over TCP there is no other memory, and whoever runs the command has asked for TCP.
    let options = options.files_of_unknown_users(is_tcp);
    let closing = signals.handle();
    let server = breezeway_shmipc::Server::bind(address, options)?;
    let stopper = server.stopper();
    std::thread::spawn(move || signals.forever().for_each(|_| stopper.stop()));
    announce(server.address());
    server.serve(|stream| {
        let (reader, writer) = stream.halves();
        writer.forward(reader).map(|_| ())
    });
    closing.close();
    Ok(())
}

/// Whoever started this may not read what it says.
fn announce(address: &impl Display) {
    let _ = writeln!(std::io::stdout(), "listening on {address}");
}

/// The four methods.
#[derive(Default)]
struct Echo {
    tallies: Tallies,
}

impl Handler for Echo {
    #[inline]
    fn handle(&self, call: Call<'_>) -> Result<Replied, HandlerError> {
        match call.method() {
            ECHO => call.echo(),
            HOLLOW => {
                let len = call.request().len();
                let mut reply = call.reserve(len)?;
                let (request, bytes) = reply.request_and_bytes_mut();
                let few = len.min(HOLLOW_BYTES);
                request.slice(..few).copy_to(&mut bytes[..few]);
                reply.commit()
            }
            SINK => {
                self.tallies.add(&call);
                call.done()
            }
            TALLY => {
                let (count, sum) = self.tallies.total();
                call.reply(&[count.to_le_bytes(), sum.to_le_bytes()].concat())
            }
            _ => call.no_such_method(),
        }
    }
}

/// What one worker thread has sunk. Only that thread writes.
#[derive(Default)]
struct Tally {
    count: AtomicU64,
    sum: AtomicU64,
}

/// What all workers have sunk.
#[derive(Default)]
struct Tallies(Mutex<Vec<Arc<Tally>>>);

impl Tallies {
    fn add(&self, call: &Call<'_>) {
        thread_local! {
            static OWN: OnceCell<Arc<Tally>> = const { OnceCell::new() };
        }
        let request = call.request();
        let sum = match request.as_slice() {
            Some(bytes) => sum(bytes),
            None => sum_of_chunks(request),
        };
        OWN.with(|own| {
            let own = own.get_or_init(|| {
                let tally = Arc::new(Tally::default());
                self.0.lock().expect("nobody panics with the lock").push(Arc::clone(&tally));
                tally
            });
            let count = own.count.load(Ordering::Relaxed) + 1;
            let sum = own.sum.load(Ordering::Relaxed).wrapping_add(sum);
            own.sum.store(sum, Ordering::Relaxed);
            own.count.store(count, Ordering::Release);
        });
    }

    fn total(&self) -> (u64, u64) {
        let tallies = self.0.lock().expect("nobody panics with the lock");
        tallies.iter().fold((0, 0), |(count, sum), tally| {
            let more = tally.count.load(Ordering::Acquire);
            (count + more, sum.wrapping_add(tally.sum.load(Ordering::Relaxed)))
        })
    }
}

fn sum_of_chunks(request: breezeway::ForeignBytes<'_>) -> u64 {
    let mut total = 0u64;
    let mut buffer = [0; 4096];
    let all: Result<(), std::convert::Infallible> =
        request.try_for_each_chunk(&mut buffer, |chunk| {
            total = total.wrapping_add(sum(chunk));
            Ok(())
        });
    match all {
        Ok(()) => total,
        Err(never) => match never {},
    }
}
