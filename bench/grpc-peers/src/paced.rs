//! Health checks at a fixed rate: ours and tonic's unix endpoint in turn.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use breezeway_grpc_interop::AnyChannel;
use tokio::sync::mpsc;
use tokio::task::yield_now;
use tonic_health::pb::health_client::HealthClient;

use crate::at;
use crate::link::Link;
use crate::load::check;
use crate::server::Server;

/// Calls per second, and in each turn how many of them.
const RATES: [(u32, usize); 3] = [(1, 2), (100, 40), (10_000, 4_000)];
/// Turns of each link.
const TURNS: usize = 8;
/// Time before a call is due at which the sleep ends: tokio's has a resolution of a millisecond.
const EARLY: Duration = Duration::from_millis(2);

pub(crate) async fn run() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path())?;
    let links = [
        Link::Tonic("unix"),
        Link::Http2("unix"),
        Link::Http2("shm"),
        Link::Native("unix"),
        Link::Native("shm"),
    ];
    let mut channels = Vec::new();
    for link in links {
        channels.push(link.connect(&server.places).await?);
    }
    println!("calls/s  link           p50 µs   p99 µs   calls");
    for (rate, count) in RATES {
        let mut times = vec![Vec::new(); links.len()];
        for _ in 0..TURNS {
            for (times, channel) in times.iter_mut().zip(&channels) {
                times.extend(paced(channel, rate, count).await?);
            }
        }
        for (times, link) in times.into_iter().zip(links) {
            let [p50, p99] = [0.5, 0.99].map(|part| at(times.clone(), part));
            let (name, calls) = (link.name(), times.len());
            println!("{rate:>7}  {name:<14} {p50:>7.1}  {p99:>7.1}   {calls}");
        }
    }
    Ok(())
}

/// The times in µs of so many calls, from when each was due, whether or not the one before is over.
async fn paced(channel: &AnyChannel, rate: u32, count: usize) -> Result<Vec<f64>> {
    let (sender, mut times) = mpsc::unbounded_channel();
    let gap = Duration::from_secs(1) / rate;
    let start = Instant::now() + gap;
    for number in 0..count {
        let due = start + gap * number as u32;
        until(due).await;
        let mut client = HealthClient::new(channel.clone());
        let sender = sender.clone();
        tokio::spawn(async move {
            let outcome = check(&mut client).await;
            // A receiver that is gone has seen an error.
            let _ = sender.send(outcome.map(|()| due.elapsed().as_secs_f64() * 1e6));
        });
    }
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        all.push(times.recv().await.ok_or_else(|| anyhow!("a call got lost"))??);
    }
    Ok(all)
}

async fn until(due: Instant) {
    if let Some(time) = due.saturating_duration_since(Instant::now()).checked_sub(EARLY) {
        tokio::time::sleep(time).await;
    }
    while Instant::now() < due {
        yield_now().await;
    }
}
