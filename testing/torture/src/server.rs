//! Servers, each in a process that ends with its standard input.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::Builder;
use std::time::Duration;

use breezeway::{Address, Call, ServerOptions, SessionOptions, WaitPolicy};
use breezeway_adversary::interception;
use breezeway_grpc_interop::pb::test_service_server::TestServiceServer;
use breezeway_rpc::AsyncServer;
use breezeway_tokio::{OwnedCall, Stream};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::client::HANDSHAKE;
use crate::engine::Engine;
use crate::services::{AsyncRoomServer, Echoes, Mirror, RoomServer};
use crate::{Failure, faults, kills};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Engine of the server.
    engine: Engine,
    /// Folder for its socket files.
    folder: PathBuf,
    /// Lets the process that started it answer its system calls, and prints its log on standard
    /// error.
    #[arg(long)]
    intercepted: bool,
    /// Prints its log on standard error.
    #[arg(long)]
    logged: bool,
}

/// Aborts after a panic in any thread: a panic that a thread survives is a finding, too.
pub(crate) fn abort_where_a_thread_panics() {
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        say(panic);
        std::process::abort();
    }));
}

fn say_what_is_logged() {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
}

/// Lets the process that started this one answer its system calls from here on.
pub(crate) fn be_intercepted() -> Result<(), Failure> {
    say_what_is_logged();
    let intercepted = interception::be_intercepted(&faults::seen());
    Ok(intercepted.map_err(|error| format!("{}: {error}", faults::NO_INTERCEPTION))?)
}

/// Serves until standard input ends; prints its address first.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let &Options { engine, ref folder, intercepted, logged } = options;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    abort_where_a_thread_panics();
    let listening = || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if let Ok(delay) = line.parse() {
                kills::die_in(delay);
            }
        }
        std::process::exit(0);
    };
    let spawned = Builder::new().name("input".to_owned()).spawn(listening);
    spawned.map_err(|error| format!("no thread to hear standard input: {error}"))?;
    if intercepted {
        be_intercepted()?;
    } else if logged {
        say_what_is_logged();
    }
    // A thread that sleeps makes the same calls each time; the calls of one that spins vary.
    let policy = if intercepted { WaitPolicy::Park } else { WaitPolicy::Adaptive };
    let options = SessionOptions::new().wait(policy);
    // The handshake of a client with intercepted calls takes longer, too.
    let timeout = (intercepted || logged).then_some(HANDSHAKE);
    let options = timeout.map_or(options.clone(), |time| options.handshake_timeout(time));
    let settings = ServerOptions::new().session(options);
    let path = folder.display();
    let places = format!("shm:{path}/shm,unix:{path}/unix,tcp:127.0.0.1:0");
    match engine {
        Engine::Native | Engine::Unix | Engine::Tcp => native(&places.parse()?, settings),
        Engine::Tokio => awaited(tokio(places.parse()?, settings)),
        Engine::Rpc | Engine::Kitex => awaited(rpc(places.parse()?, settings)),
        Engine::KitexBlocking => {
            let server = breezeway_rpc::Server::bind_with(&places, settings)?;
            let server = server.with_thrift_clients().add_service(RoomServer(Echoes))?;
            say_where(server.address());
            Ok(server.serve()?)
        }
        Engine::Grpc | Engine::GrpcHttp2 => awaited(grpc(places, settings)),
        Engine::Shmipc => shmipc(folder, timeout),
        Engine::Go => Err("the Go module has a command of its own".into()),
    }
}

fn say_where(address: impl std::fmt::Display) {
    println!("listening on {address}");
}

fn awaited(serving: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build()?.block_on(serving)
}

fn native(address: &Address, options: ServerOptions) -> Result<(), Failure> {
    let server = breezeway::Server::bind_with(address, options)?.on_stream(|_, mut stream| {
        while let Some(message) = stream.receive()? {
            if message.is_message() {
                stream.send(&message.to_vec())?;
            }
        }
        Ok(stream.finish()?)
    });
    say_where(server.address());
    let (tallies, monitor) = (Tallies::default(), server.monitor());
    Ok(server.serve(move |call: Call<'_>| {
        if call.is_one_way() {
            if call.method() == method::SINK {
                tallies.count(&call.request().to_vec());
            }
            return call.done();
        }
        match call.method() {
            method::TALLY => {
                let id = call.request().u64_le_at(0).unwrap_or(0);
                call.reply(tallies.of(id))
            }
            method::SESSIONS => call.reply(live(&monitor).to_le_bytes()),
            _ if call.request().len() >= LARGE => call.echo(),
            _ => {
                let len = call.request().len();
                let mut space = call.reserve(len)?;
                space.write_request(0);
                space.commit()
            }
        }
    })?)
}

/// Requests from this size on are echoed by the library, as under tokio.
const LARGE: usize = 1 << 20;

/// Methods of servers of sessions.
pub(crate) mod method {
    /// The request comes back; a one-way message does nothing.
    pub(crate) const ECHO: u32 = 0;
    /// A one-way message of those that are counted.
    pub(crate) const SINK: u32 = 1;
    /// Returns how many messages of a number were counted, and how many of them were wrong.
    pub(crate) const TALLY: u32 = 2;
    /// Returns the number of sessions.
    pub(crate) const SESSIONS: u32 = 3;
}

/// Sessions that the server believes to live.
fn live(monitor: &breezeway::Monitor) -> u64 {
    monitor.stats().sessions.len() as u64
}

/// Counts of messages: all, and those out of order or wrong.
#[derive(Default)]
struct Tallies(Mutex<HashMap<u64, [u64; 2]>>);

impl Tallies {
    /// Bound on the memory that made-up numbers take.
    const MOST: usize = 10_000;

    fn count(&self, message: &[u8]) {
        let Some((id, _)) = message.split_first_chunk() else { return };
        let id = u64::from_le_bytes(*id);
        let mut tallies = self.0.lock().expect("no panic");
        if tallies.len() >= Self::MOST {
            tallies.clear();
        }
        let [count, wrong] = tallies.entry(id).or_default();
        let is_right = *message == kills::counted(id, *count, message.len());
        *count += 1;
        *wrong += u64::from(!is_right);
    }

    fn of(&self, id: u64) -> [u8; 16] {
        let tallies = self.0.lock().expect("no panic");
        let [count, wrong] = tallies.get(&id).copied().unwrap_or_default();
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&count.to_le_bytes());
        bytes[8..].copy_from_slice(&wrong.to_le_bytes());
        bytes
    }
}

async fn tokio(address: Address, options: ServerOptions) -> Result<(), Failure> {
    let server = breezeway_tokio::Server::bind_with(&address, options)?;
    say_where(server.address());
    let monitor = server.monitor();
    let echo = move |call: OwnedCall| {
        let monitor = monitor.clone();
        async move {
            match call.method() {
                method::SESSIONS => call.reply(live(&monitor).to_le_bytes()),
                _ => call.echo(),
            }
        }
    };
    let echo_stream = |_, mut stream: Stream| async move {
        while let Ok(Some(message)) = stream.receive().await {
            if message.is_message() && stream.send(&message.to_vec()).await.is_err() {
                return;
            }
        }
        // The client may have reset it.
        let _ = stream.finish().await;
    };
    Ok(server.serve_streams(echo, echo_stream).await?)
}

async fn rpc(address: Address, options: ServerOptions) -> Result<(), Failure> {
    let server = AsyncServer::bind_with(&address, options)?.with_thrift_clients();
    let server = server.add_service(AsyncRoomServer(Echoes))?;
    say_where(server.address());
    Ok(server.serve().await?)
}

async fn grpc(places: String, options: ServerOptions) -> Result<(), Failure> {
    let service = TestServiceServer::new(Mirror);
    let server = breezeway_grpc::Server::builder().options(options).add_service(service);
    let bound = server.bind(&places)?;
    say_where(bound.address());
    Ok(bound.serve().await?)
}

fn shmipc(folder: &Path, handshake: Option<Duration>) -> Result<(), Failure> {
    use breezeway_shmipc::{Address, Server, ServerOptions, SessionOptions, Trust};

    let address = Address::Unix(folder.join("unix"));
    let session = SessionOptions::new();
    let session = match handshake {
        Some(time) => session.handshake_timeout(time),
        None => session,
    };
    let options = ServerOptions::new(Trust::SameUser).folders([folder]).session(session);
    let server = Server::bind(&address, options)?;
    println!("listening on unix:{}", folder.join("unix").display());
    server.serve(|stream| {
        let (reader, writer) = stream.halves();
        writer.forward(reader).map(drop)
    });
    Ok(())
}
