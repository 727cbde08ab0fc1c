//! Servers that succeed each other under load, each a process, in both gears: no call that was sent
//! fails, none is lost and none runs twice. `make restarts` does it with many generations.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use breezeway_grpc::{Endpoint, Gear, Server, ServerOptions, SessionOptions};
use breezeway_grpc_interop::cases::{client, simple};
use breezeway_grpc_interop::{AnyChannel, pb, server};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tower::layer::layer_fn;
use tower::{Service, ServiceExt};

use crate::support::{PATIENCE, any, soon};

const ADDRESS: &str = "BREEZEWAY_TEST_GENERATION";

/// Far longer than one lives: a generation that hangs ends, and with it the test that waits for it.
const LONGEST: Duration = Duration::from_secs(300);

/// Counts the calls that are begun.
#[derive(Clone)]
struct Counted<S>(S, Arc<AtomicU64>);

impl<R, S: Service<R>> Service<R> for Counted<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> S::Future {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.call(request)
    }
}

/// Generation role, which prints the number of calls it has served.
#[test]
#[ignore = "a role that other tests start"]
fn another_process() {
    let Ok(address) = std::env::var(ADDRESS) else { return };
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).unwrap();
    std::thread::spawn(|| {
        std::thread::sleep(LONGEST);
        eprintln!("a generation that still runs after {LONGEST:?}: a hang");
        std::process::exit(1);
    });
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let calls = Arc::new(AtomicU64::new(0));
        let counting = Arc::clone(&calls);
        let session = SessionOptions::new().handshake_timeout(PATIENCE);
        let options = ServerOptions::new().take_over(true).drain_timeout(PATIENCE).session(session);
        let builder = Server::builder().options(options);
        let builder = builder.layer(layer_fn(move |inner| Counted(inner, Arc::clone(&counting))));
        let bound = builder.add_service(server()).bind(&address).unwrap();
        println!("\n@listening");
        bound.serve().await.unwrap();
        println!("\n@{}", calls.load(Ordering::Relaxed));
    });
}

/// A server in a process of its own, killed when dropped.
struct Generation {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Generation {
    fn start(address: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "restarting::another_process"])
            .env(ADDRESS, address)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut generation = Self { child, lines };
        assert_eq!(generation.hear().as_deref(), Some("listening"));
        generation
    }

    /// Returns the next line that it prints.
    fn hear(&mut self) -> Option<String> {
        let mut lines = self.lines.by_ref().map(Result::unwrap);
        lines.find_map(|line| Some(line.split_once('@')?.1.to_owned()))
    }

    /// Waits for its end, and returns the number of calls it has served.
    fn ends(mut self) -> u64 {
        let calls = self.hear().expect("it ends in order").parse().unwrap();
        assert!(self.child.wait().unwrap().success());
        calls
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a channel that grants its server a long time to answer the hello.
async fn connect(address: &str, gear: Gear) -> AnyChannel {
    let endpoint = Endpoint::new(address).unwrap().connect_timeout(PATIENCE);
    match gear {
        Gear::Native => any(endpoint.connect().await.unwrap()),
        Gear::Http2 => {
            let channel = endpoint.connect_http2().await.unwrap();
            let of_error = |error: tonic::transport::Error| Status::from_error(error.into());
            AnyChannel::new(channel.map_err(of_error))
        }
    }
}

/// Returns the outcome of a call. tonic's own channel gives up calls that were never sent, or that
/// the server reports as not begun, when their connection is about to end, with one of these texts:
/// `None`.
fn unless_unsent<T>(outcome: Result<T, Status>, gear: Gear) -> Option<T> {
    match outcome {
        Ok(response) => Some(response),
        Err(status) => {
            let words = format!("{status:?}");
            let gone = ["hyper::Error(Canceled, ", "GoAway(b\"\", NO_ERROR, Remote)"];
            let is_unsent = gone.iter().any(|gone| words.contains(gone));
            assert!(is_unsent && gear == Gear::Http2, "{words}");
            None
        }
    }
}

/// Makes calls until `over` is set: single ones, small and large, and streams. Returns their
/// number.
async fn call(channel: AnyChannel, gear: Gear, over: Arc<AtomicBool>) -> u64 {
    let mut client = client(channel);
    let mut calls = 0;
    while !over.load(Ordering::Relaxed) {
        let size = if calls % 16 == 15 { 100_000 } else { calls as i32 % 16 * 50 };
        let response = client.unary_call(simple(size as usize, size)).await;
        let Some(response) = unless_unsent(response, gear) else { continue };
        assert_eq!(response.into_inner().payload.unwrap().body.len(), size as usize);
        calls += 1;
        let (sender, requests) = mpsc::channel(1);
        let response = client.full_duplex_call(ReceiverStream::new(requests)).await;
        let Some(response) = unless_unsent(response, gear) else { continue };
        let mut messages = response.into_inner();
        for size in [7, size] {
            let asked = pb::ResponseParameters { size, ..Default::default() };
            let request = pb::StreamingOutputCallRequest {
                response_parameters: vec![asked],
                ..Default::default()
            };
            sender.send(request).await.unwrap();
            let message = messages.message().await.unwrap().expect("it is served");
            assert_eq!(message.payload.unwrap().body.len(), size as usize);
        }
        drop(sender);
        assert!(messages.message().await.unwrap().is_none());
        calls += 1;
        // Leaves the CPU to the generation that starts.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    calls
}

/// Runs generations at an address, under load from clients of a gear. They are started by this
/// thread, and end with it.
fn generations(runtime: &Runtime, address: &str, gear: Gear) {
    let count = std::env::var("GENERATIONS").map_or(3, |count| count.parse().unwrap());
    let over = Arc::new(AtomicBool::new(false));
    let mut serving = Generation::start(address);
    let mut callers = Vec::new();
    for _ in 0..2 {
        let channel = runtime.block_on(connect(address, gear));
        for _ in 0..2 {
            callers.push(runtime.spawn(call(channel.clone(), gear, Arc::clone(&over))));
        }
    }
    let mut served = 0;
    for _ in 0..count {
        let successor = Generation::start(address);
        served += std::mem::replace(&mut serving, successor).ends();
    }
    over.store(true, Ordering::Relaxed);
    let callers = callers.into_iter().map(|caller| runtime.block_on(soon(caller)).unwrap());
    let made: u64 = callers.sum();
    let _successor = Generation::start(address);
    served += serving.ends();
    println!("{gear:?}: {made} calls");
    assert_eq!(served, made);
}

fn on_carriers(gear: Gear) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for carrier in ["shm", "unix"] {
        let address = format!("{carrier}:{}/{carrier}", folder.path().display());
        generations(&runtime, &address, gear);
    }
}

#[test]
fn native_servers_restart_without_a_failed_call() {
    on_carriers(Gear::Native);
}

#[test]
fn http2_servers_restart_without_lost_or_doubled_calls() {
    on_carriers(Gear::Http2);
}
