//! Tasks under tokio that share one session, with calls or with a stream each; and the server's
//! side under tokio.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use breezeway::{Address, ErrorCode, ServerOptions, SessionOptions};
use breezeway_os::clock;
use breezeway_tokio::{Channel, IncomingCall, Server, Stopper, Stream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::content::{Content, check_size, no_stream};
use super::methods::{ECHO, GLANCE, HOLLOW, HOLLOW_BYTES, SINK, TALLY};
use super::spread::Spread;
use super::{Echo, Load, Measurement, Outcome, Runs, Until, cpu_time, wait_for_all};
use crate::Failure;
use crate::statistics::Recorder;

/// A runtime with so many threads that run tasks; with one of them, everything runs on it.
fn runtime(threads: usize) -> Result<Runtime, Failure> {
    let mut builder =
        if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    if threads > 1 {
        builder.worker_threads(threads);
    }
    Ok(builder.enable_all().build()?)
}

/// Serves an [`Echo`] at `address`, of calls and of streams, on `threads` threads, until the
/// [`Stopper`] says so that `started` is given, with where it listens.
///
/// # Errors
///
/// What keeps the server from listening.
pub fn serve(
    address: &Address,
    options: ServerOptions,
    threads: usize,
    started: impl FnOnce(&Address, Stopper),
) -> Result<(), Failure> {
    runtime(threads)?.block_on(async {
        let server = Server::bind_with(address, options)?;
        started(&server.address(), server.stopper());
        let echo = Arc::new(Echo::default());
        let answer = move |call| {
            echo.answer(call);
            std::future::ready(())
        };
        Ok(server.serve_streams(answer, echo_stream).await?)
    })
}

impl Echo {
    /// As its handler, of a call under tokio.
    fn answer(&self, call: IncomingCall) {
        let len = call.request().len();
        match call.method() {
            ECHO => call.echo(),
            HOLLOW => {
                let mut reply = vec![0; len];
                let few = len.min(HOLLOW_BYTES);
                call.request().slice(..few).copy_to(&mut reply[..few]);
                call.reply(&reply);
            }
            SINK => self.tallies.add(call.request()),
            GLANCE => self.tallies.add(call.request().slice(..len.min(HOLLOW_BYTES))),
            TALLY => {
                let (count, sum) = self.tallies.total();
                call.reply(&[count.to_le_bytes(), sum.to_le_bytes()].concat());
            }
            other => call.fail(ErrorCode::NoSuchMethod, &format!("there is no method {other}")),
        }
    }
}

/// Returns every message until the client ends the stream.
async fn echo_stream(_method: u32, mut stream: Stream) {
    let mut bytes = Vec::new();
    while let Ok(Some(message)) = stream.receive().await {
        bytes.clear();
        message.bytes().append_to(&mut bytes);
        drop(message);
        if stream.send(&bytes).await.is_err() {
            return;
        }
    }
}

/// Runs `load` on one session under tokio: a task for each stream, or for each thread of the
/// runtime without streams. Each has one message under way.
///
/// # Errors
///
/// The first error of a task, a server that takes no streams, or a reply that differs from its
/// request.
pub fn on_tasks(
    load: &Load,
    address: &Address,
    options: &SessionOptions,
    spread: Spread,
    progress: impl FnMut(),
) -> Result<Measurement, Failure> {
    clock::calibrate();
    let (sender, done) = mpsc::channel();
    let (load, address, options) = (load.clone(), address.clone(), options.clone());
    let running = thread::spawn(move || {
        let _done = sender;
        let runtime = runtime(spread.threads as usize)?;
        runtime.block_on(measure(&load, &address, &options, spread))
    });
    wait_for_all(&done, progress);
    running.join().map_err(|_| "a measuring task panicked")?
}

async fn measure(
    load: &Load,
    address: &Address,
    options: &SessionOptions,
    spread: Spread,
) -> Result<Measurement, Failure> {
    let channel = Channel::connect_with(address, options).await?;
    check_size(load.size, channel.cap())?;
    let all_warm = Arc::new(Barrier::new(spread.callers() as usize + 1));
    let mut callers = Vec::new();
    for _ in 0..spread.callers() {
        callers.push(match spread.streams {
            Some(_) => Caller::Stream(channel.open(ECHO, None).await.map_err(no_stream)?),
            None => Caller::Calls(channel.clone()),
        });
    }
    let mut tasks = JoinSet::new();
    for (number, caller) in (0..).zip(callers) {
        let until = Until::of(load.extent, u64::from(spread.callers()), number);
        tasks.spawn(warm_up_and_run(load.clone(), until, caller, Arc::clone(&all_warm)));
    }
    all_warm.wait().await;
    let before = cpu_time();
    let mut runs = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        runs.push(ended.map_err(|_| "a measuring task panicked")??);
    }
    Ok(Measurement::of(&runs, cpu_time().saturating_sub(before)))
}

/// What a task exchanges messages by.
enum Caller {
    Calls(Channel),
    Stream(Stream),
}

async fn warm_up_and_run(
    load: Load,
    until: Until,
    mut caller: Caller,
    all_warm: Arc<Barrier>,
) -> Result<Runs, Failure> {
    let warm_up = run(&load, Until::warm(&load), &mut caller).await;
    // Also after a failure, so that no other task waits for ever.
    all_warm.wait().await;
    let warm_up = warm_up?;
    let until = Until { first: warm_up.count, ..until };
    Ok(Runs { warm_up, counted: run(&load, until, &mut caller).await? })
}

async fn run(load: &Load, until: Until, caller: &mut Caller) -> Result<Outcome, Failure> {
    let mut content = Content::new(load.size);
    let mut recorder = Recorder::new();
    let start = clock::ticks();
    let (mut now, mut count) = (start, 0);
    while !until.reached(count, start, now) {
        let round = until.first + count;
        let request = content.request(round);
        let reply = match caller {
            Caller::Calls(channel) => channel.call(ECHO, request).await?,
            Caller::Stream(stream) => {
                stream.send(request).await?;
                stream.receive().await?.ok_or("the server has ended a stream")?
            }
        };
        content.check(reply.bytes(), round)?;
        drop(reply);
        let after = clock::ticks();
        recorder.record(after.wrapping_sub(now));
        (now, count) = (after, count + 1);
    }
    let ticks = now.wrapping_sub(start);
    Ok(Outcome { count, ticks, latencies: Some(recorder), ..Outcome::default() })
}
