//! Anything that is called and awaited, under tokio: a task for each caller.

use std::future::Future;
use std::sync::{Arc, mpsc};

use breezeway_os::{clock, shortage};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::{CpuTime, Load, Measurement, Outcome, Runs, Until, wait_for_all};
use crate::Failure;
use crate::statistics::Recorder;

/// Makes one call after the other.
pub trait Caller: Send + 'static {
    /// Makes the call with this number, and checks its reply.
    fn call(&mut self, round: u64) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// Returns a runtime with `threads` threads that run tasks; with one of them, everything runs on
/// it.
///
/// # Errors
///
/// The error of starting a thread.
pub fn runtime(threads: usize) -> Result<Runtime, Failure> {
    let mut builder =
        if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    if threads > 1 {
        builder.worker_threads(threads);
    }
    Ok(builder.enable_all().build()?)
}

/// Runs `load` with all `callers` at once, each a task of a runtime of `threads` threads, up to the
/// extent of the load; each is warmed up first. Calls `progress` every quarter of a second.
///
/// # Errors
///
/// The first error of `callers` or of a caller.
pub fn run<C: Caller>(
    load: &Load,
    threads: usize,
    callers: impl Future<Output = Result<Vec<C>, Failure>> + Send + 'static,
    progress: impl FnMut(),
) -> Result<Measurement, Failure> {
    clock::calibrate();
    let (sender, done) = mpsc::channel();
    let load = load.clone();
    let running = shortage::spawn("runtime", move || {
        let _done = sender;
        runtime(threads)?.block_on(async { measure(&load, callers.await?).await })
    })?;
    wait_for_all(&done, progress);
    running.join().map_err(|_| "a measuring task panicked")?
}

async fn measure<C: Caller>(load: &Load, callers: Vec<C>) -> Result<Measurement, Failure> {
    let count = callers.len();
    let all_warm = Arc::new(Barrier::new(count + 1));
    let mut tasks = JoinSet::new();
    for (number, caller) in (0..).zip(callers) {
        let until = Until::of(load.extent, count as u64, number);
        tasks.spawn(warm_up_and_run(load.clone(), until, caller, Arc::clone(&all_warm)));
    }
    all_warm.wait().await;
    let before = CpuTime::now(None);
    let mut runs = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        runs.push(ended.map_err(|_| "a measuring task panicked")??);
    }
    Ok(Measurement::of(&runs, CpuTime::now(None).since(before)))
}

async fn warm_up_and_run<C: Caller>(
    load: Load,
    until: Until,
    mut caller: C,
    all_warm: Arc<Barrier>,
) -> Result<Runs, Failure> {
    let warm_up = call_until(Until::warm(&load), &mut caller).await;
    // Reached after a failure, too, so that no other task waits for ever.
    all_warm.wait().await;
    let warm_up = warm_up?;
    let until = Until { first: warm_up.count, ..until };
    Ok(Runs { warm_up, counted: call_until(until, &mut caller).await? })
}

async fn call_until<C: Caller>(until: Until, caller: &mut C) -> Result<Outcome, Failure> {
    let mut recorder = Recorder::new();
    let start = clock::ticks();
    let (mut now, mut count) = (start, 0);
    while !until.reached(count, start, now) {
        caller.call(until.first + count).await?;
        let after = clock::ticks();
        recorder.record(after.wrapping_sub(now));
        (now, count) = (after, count + 1);
    }
    let ticks = now.wrapping_sub(start);
    Ok(Outcome { count, ticks, latencies: Some(recorder), ..Outcome::default() })
}
