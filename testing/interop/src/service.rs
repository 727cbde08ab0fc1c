//! The service that the cases are about.

use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use breezeway::Address;
use breezeway::unstable::Tuning as _;
use breezeway_tokio::{
    ErrorCode, OwnedCall, ReplyError, Server, ServerOptions, SessionOptions, Stopper, Stream,
    StreamError, cancelled,
};
use tokio::sync::Semaphore;

/// Methods of calls: the request and its metadata come back.
pub(crate) const ECHO: u32 = 0;
/// Never replies: it waits until its client has given up.
pub(crate) const HOLD: u32 = 1;
/// Returns the number of calls of [`HOLD`] that were given up, as 8 bytes.
pub(crate) const GIVEN_UP: u32 = 2;
/// Returns the milliseconds for which the client still waits, as 8 bytes; 0 without a deadline.
pub(crate) const PATIENCE: u32 = 3;
/// Lets every [`SLOW`] stream read.
pub(crate) const OPEN_GATE: u32 = 4;
/// Lets the server take nothing new, and end once all is served.
pub(crate) const LEAVE: u32 = 5;
/// Returns the identity of the server: 8 bytes that no other server has.
pub(crate) const WHO: u32 = 6;
/// Returns the number of calls of [`HOLD`] that have begun, as 8 bytes.
pub(crate) const HELD: u32 = 7;

/// Methods of streams: every message comes back.
pub(crate) const BOUNCE: u32 = 0;
/// The number of messages and the sum of their bytes, once all have come.
pub(crate) const COLLECT: u32 = 1;
/// Sends as many messages as the first one requests, and a trailer.
pub(crate) const EXPAND: u32 = 2;
/// Collects like [`COLLECT`], once [`OPEN_GATE`] was called.
pub(crate) const SLOW: u32 = 3;
/// Reset by [`RESET_CODE`] at its first message.
pub(crate) const RESET: u32 = 4;
/// Streams the same value as the call [`PATIENCE`].
pub(crate) const STREAM_PATIENCE: u32 = 5;

pub(crate) const RESET_CODE: ErrorCode = ErrorCode::Application(7);
pub(crate) const TRAILER: &[u8] = b"that is all";
/// The server's limits, which cases reach.
pub(crate) const MAX_STREAMS: u16 = 600;
pub(crate) const MAX_SESSIONS: usize = 64;
/// The largest message.
pub(crate) const CAP: usize = 128 << 20;
pub(crate) const MAX_METADATA: usize = 1000;
/// Setting of both sides, so that unused memory is given back while a case waits.
pub(crate) const SHRINK_AFTER: Duration = Duration::from_millis(5);

/// Returns the content of every message: bytes that depend on their place and the message's number.
pub(crate) fn content(len: usize, number: usize) -> Vec<u8> {
    const PERIOD: usize = 1 << 16;
    let period = (0..len.min(PERIOD)).map(|at| (at * 7 + (at >> 8) + number) as u8);
    let mut bytes = period.collect::<Vec<_>>().repeat(len.div_ceil(PERIOD));
    bytes.truncate(len);
    bytes
}

fn number(bytes: &[u8]) -> u64 {
    bytes.get(..8).and_then(|first| first.try_into().ok()).map_or(0, u64::from_le_bytes)
}

fn milliseconds(left: Option<Duration>) -> [u8; 8] {
    left.map_or(0, |left| left.as_millis() as u64).to_le_bytes()
}

struct Service {
    held: AtomicU64,
    given_up: AtomicU64,
    gate: Semaphore,
    stopper: OnceLock<Stopper>,
}

impl Service {
    async fn call(self: Arc<Self>, call: OwnedCall) -> Result<(), ReplyError> {
        match call.method() {
            ECHO => match call.message().metadata().map(<[u8]>::to_vec) {
                Some(metadata) => {
                    let bytes = call.request().to_vec();
                    call.reply_with_metadata(&metadata, &bytes)
                }
                None => call.echo(),
            },
            HOLD => {
                self.held.fetch_add(1, Ordering::Relaxed);
                cancelled(&call).await;
                self.given_up.fetch_add(1, Ordering::Relaxed);
                call.fail(ErrorCode::Cancelled, "nobody waits")
            }
            GIVEN_UP => call.reply(self.given_up.load(Ordering::Relaxed).to_le_bytes()),
            PATIENCE => {
                let left = milliseconds(call.time_left());
                call.reply(left)
            }
            OPEN_GATE => {
                self.gate.close();
                call.done()
            }
            LEAVE => {
                let replied = call.done();
                self.stopper.get().expect("it serves").stop();
                replied
            }
            HELD => call.reply(self.held.load(Ordering::Relaxed).to_le_bytes()),
            WHO => call.reply(u64::from(std::process::id()).to_le_bytes()),
            _ => call.fail(ErrorCode::NoSuchMethod, "see service.rs"),
        }
    }

    /// A client that is gone, or has reset its stream, is ignored.
    async fn stream(self: Arc<Self>, method: u32, mut stream: Stream) {
        let _ = match method {
            BOUNCE => bounce(&mut stream).await,
            COLLECT => collect(&mut stream).await,
            EXPAND => expand(&mut stream).await,
            SLOW => {
                let _ = self.gate.acquire().await; // An error once it is closed, which is open.
                collect(&mut stream).await
            }
            RESET => {
                let _ = stream.receive().await;
                return stream.reset(RESET_CODE);
            }
            STREAM_PATIENCE => tell(&mut stream).await,
            _ => return stream.reset(ErrorCode::NoSuchMethod),
        };
    }
}

async fn bounce(stream: &mut Stream) -> Result<(), StreamError> {
    while let Some(message) = stream.receive().await? {
        if message.is_message() {
            stream.send(&message.to_vec()).await?;
        }
    }
    stream.finish().await
}

async fn collect(stream: &mut Stream) -> Result<(), StreamError> {
    let (mut count, mut sum) = (0u64, 0u64);
    while let Some(message) = stream.receive().await? {
        count += u64::from(message.is_message());
        sum += message.to_vec().iter().map(|&byte| u64::from(byte)).sum::<u64>();
    }
    stream.send(&[count.to_le_bytes(), sum.to_le_bytes()].concat()).await?;
    stream.finish().await
}

async fn expand(stream: &mut Stream) -> Result<(), StreamError> {
    let count = stream.receive().await?.map_or(0, |message| number(&message.to_vec()));
    for number in 0..count as usize {
        stream.send(&content(number * 37 % 5000, number)).await?;
    }
    stream.sender().finish_with(None, Some(TRAILER)).await
}

async fn tell(stream: &mut Stream) -> Result<(), StreamError> {
    let left = milliseconds(stream.time_left());
    stream.send(&left).await?;
    stream.finish().await
}

pub(crate) fn session_options() -> SessionOptions {
    SessionOptions::new()
        .cap(CAP as u64)
        .max_metadata(MAX_METADATA as u32)
        .shrink_after(SHRINK_AFTER)
}

/// Serves until standard input ends, a client asks it to leave, or, with an admin socket, a
/// successor has taken over.
pub(crate) fn run(address: Address, admin: Option<PathBuf>) {
    let mut options = ServerOptions::new()
        .session(session_options().max_streams(MAX_STREAMS))
        .max_sessions(MAX_SESSIONS)
        .drain_timeout(Duration::from_secs(60));
    if let Some(admin) = admin {
        options = options.take_over(true).admin_socket(admin);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let server = Server::bind_with(&address, options).expect("listen");
        let stopper = server.stopper();
        println!("listening on {}", server.address());
        let service = Arc::new(Service {
            held: AtomicU64::new(0),
            given_up: AtomicU64::new(0),
            gate: Semaphore::new(0),
            stopper: OnceLock::from(stopper.clone()),
        });
        std::thread::spawn(move || {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            stopper.stop();
        });
        let streams = Arc::clone(&service);
        server
            .serve_streams(
                move |call| Arc::clone(&service).call(call),
                move |method, stream| Arc::clone(&streams).stream(method, stream),
            )
            .await
            .expect("serving");
    });
}
