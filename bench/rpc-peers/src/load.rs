//! Loads of a client.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures::future::try_join_all;

use crate::table::at;

/// Time of one load, after a part of it that does not count.
const TIME: Duration = Duration::from_millis(120);
const WARM_UP: Duration = Duration::from_millis(20);
const CALLERS: usize = 64;

/// One call at a time: the median of their times, in µs.
pub(crate) async fn one(call: impl AsyncFn() -> Result<()>) -> Result<f64> {
    calls(&call, WARM_UP).await?;
    Ok(at(&calls(&call, TIME).await?, 0.5))
}

/// Measures like [`one`], without the time that it takes to make the arguments.
pub(crate) async fn prepared<A>(
    (prepare, call): &(impl Fn() -> A, impl AsyncFn(A) -> Result<()>),
) -> Result<f64> {
    let mut times = Vec::new();
    for time in [WARM_UP, TIME] {
        times.clear();
        let begun = Instant::now();
        while begun.elapsed() < time {
            let arguments = prepare();
            let sent = Instant::now();
            call(arguments).await?;
            times.push(sent.elapsed().as_secs_f64() * 1e6);
        }
    }
    Ok(at(&times, 0.5))
}

/// Makes 64 calls at a time; returns µs for each, the reciprocal of calls for each µs.
pub(crate) async fn many(call: impl AsyncFn() -> Result<()>) -> Result<f64> {
    try_join_all((0..CALLERS).map(|_| calls(&call, WARM_UP))).await?;
    let begun = Instant::now();
    let times = try_join_all((0..CALLERS).map(|_| calls(&call, TIME))).await?;
    let count: usize = times.iter().map(Vec::len).sum();
    Ok(begun.elapsed().as_secs_f64() * 1e6 / count as f64)
}

/// Calls at a rate: the median of their times and the 99th of 100, in µs.
pub(crate) async fn paced(
    call: impl AsyncFn() -> Result<()>,
    rate: f64,
    count: usize,
) -> Result<Vec<f64>> {
    let (begun, mut times) = (Instant::now(), Vec::with_capacity(count));
    for number in 0..count {
        let due = begun + Duration::from_secs_f64(number as f64 / rate);
        // The runtime's timer counts in milliseconds, which is too coarse for the last part.
        if let Some(wait) = due.checked_duration_since(Instant::now() + Duration::from_millis(2)) {
            tokio::time::sleep(wait).await;
        }
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        let sent = Instant::now();
        call().await?;
        times.push(sent.elapsed().as_secs_f64() * 1e6);
    }
    Ok(times)
}

async fn calls(call: &impl AsyncFn() -> Result<()>, time: Duration) -> Result<Vec<f64>> {
    let (begun, mut times) = (Instant::now(), Vec::new());
    while begun.elapsed() < time {
        let sent = Instant::now();
        call().await?;
        times.push(sent.elapsed().as_secs_f64() * 1e6);
    }
    Ok(times)
}
