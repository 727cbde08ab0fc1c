//! The measuring side.

use crate::message::flush;
use crate::pattern;
use crate::settings::{Client, Mode, Settings};
use anyhow::{Result, ensure};
use clap::ValueEnum;
use serde_json::json;
use shmipc::buffer::{BufferReader, BufferWriter};
use shmipc::stream::Stream;
use std::time::{Duration, Instant};

/// Round trips of each stream before the first that counts.
const WARM_UP: u64 = 200;

#[derive(clap::Args, Clone, Copy)]
pub(crate) struct Extent {
    /// Bytes of a message
    #[arg(long, value_name = "B", default_value_t = 64)]
    size: usize,
    /// Streams at the same time, each with one message in flight
    #[arg(long, default_value_t = 1)]
    streams: usize,
    /// Time to measure
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Which bytes to write and compare
    #[arg(long, value_enum, default_value_t = Touch::All)]
    touch: Touch,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Touch {
    All,
    None,
}

pub(crate) async fn run(settings: &Settings, extent: Extent) -> Result<()> {
    let client = settings.connect().await?;
    let streams: Vec<_> = (0..extent.streams)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { measure(&client, extent).await })
        })
        .collect();
    let mut latencies = Vec::new();
    for stream in streams {
        latencies.extend(stream.await??);
    }
    client.close().await;
    println!("{}", report(settings.mode, extent, &mut latencies));
    Ok(())
}

/// The names are those of `breezeway bench --json`.
fn report(mode: Mode, extent: Extent, latencies: &mut [Duration]) -> serde_json::Value {
    latencies.sort_unstable();
    let last = (latencies.len() - 1) as f64;
    let at = |quantile: f64| latencies[(quantile * last) as usize].as_nanos() as u64;
    json!({
        "addr": format!("shmipc-rs {}", if mode == Mode::File { "file" } else { "memfd" }),
        "size": extent.size,
        "streams": extent.streams,
        "count": latencies.len(),
        "touch": if extent.touch == Touch::All { "all" } else { "none" },
        "seconds": extent.seconds,
        "messages_per_second": latencies.len() as f64 / extent.seconds,
        "latency_ns": { "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "p999": at(0.999) },
    })
}

/// Sends one message after the other for a time; a latency is the time from the end of one round
/// trip to the end of the next, so that touching the payload is part of it.
async fn measure(client: &Client, extent: Extent) -> Result<Vec<Duration>> {
    let mut stream = client.get_stream()?;
    for round in 0..WARM_UP {
        bare(&mut stream, extent, round).await?;
    }
    let mut latencies = Vec::new();
    let start = Instant::now();
    let mut before = start;
    for round in WARM_UP.. {
        if before.duration_since(start).as_secs_f64() >= extent.seconds {
            break;
        }
        bare(&mut stream, extent, round).await?;
        let after = Instant::now();
        latencies.push(after - before);
        before = after;
    }
    stream.close().await?;
    Ok(latencies)
}

/// A round trip without copies: written in place, compared in place.
async fn bare(stream: &mut Stream, extent: Extent, round: u64) -> Result<()> {
    let touched = extent.touch == Touch::All;
    let message = stream.send_buf().reserve(extent.size)?;
    if touched {
        pattern::fill(message, pattern::seed(round));
    }
    flush(stream).await?;
    let answer = stream.read_exact_bytes(extent.size).await?;
    ensure!(!touched || pattern::matches(&answer, pattern::seed(round)), "the answer differs");
    drop(answer);
    stream.recv_buf().release_previous_read();
    stream.release_read_and_reuse();
    Ok(())
}
