//! One stream with messages at fixed times, two processes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;
use tokio::sync::Notify;

use crate::report::{self, Server};
use crate::talk::{Place, Talk};
use crate::{Flavour, System};

#[derive(clap::Args)]
pub(crate) struct Settings {
    /// Messages a second
    #[arg(long, value_delimiter = ',', default_value = "1,100,1000,10000")]
    rates: Vec<f64>,
    /// Messages of each system and rate, at most a minute's
    #[arg(long, default_value_t = 1000)]
    count: usize,
    /// Bytes of a message
    #[arg(long, default_value_t = 64)]
    size: usize,
    /// Only this runtime
    #[arg(long, value_enum)]
    runtime: Option<Flavour>,
}

pub(crate) fn run(settings: &Settings) -> Result<()> {
    for flavour in Flavour::ALL {
        if settings.runtime.is_some_and(|only| only != flavour) {
            continue;
        }
        let folder = tempfile::tempdir()?;
        let [ours_at, theirs_at] = ["ours", "theirs"].map(|name| folder.path().join(name));
        let _servers = [
            Server::start(System::Breezeway, flavour, &ours_at, settings.size)?,
            Server::start(System::Unix, flavour, &theirs_at, settings.size)?,
        ];
        for place in Place::of(flavour) {
            let (size, count, rates) = (settings.size, settings.count, settings.rates.clone());
            let (ours_at, theirs_at) = (ours_at.clone(), theirs_at.clone());
            place.run(&flavour.runtime()?, async move {
                let mut ours = Talk::ours(&ours_at, size).await?;
                let mut theirs = Talk::theirs(&theirs_at, size).await?;
                for rate in rates {
                    let count = count.min((rate * 60.0) as usize).max(20);
                    let period = Duration::from_secs_f64(1.0 / rate);
                    let mut times = [Vec::new(), Vec::new()];
                    // In turns of a quarter second, or of one message each where they are rarer.
                    let burst = ((rate / 4.0) as usize).max(1);
                    while times[0].len() < count {
                        paced(period, burst, &mut times[0], &mut ours).await?;
                        paced(period, burst, &mut times[1], &mut theirs).await?;
                    }
                    let [ours, theirs] = times.map(summary);
                    println!(
                        "{}",
                        json!({
                            "cpu": report::cpu(),
                            "runtime": format!("{flavour:?}"),
                            "place": format!("{place:?}"),
                            "size": size,
                            "rate": rate,
                            "count": count,
                            "breezeway_ns": ours,
                            "unix_ns": theirs,
                        })
                    );
                }
                anyhow::Ok(())
            })?;
        }
    }
    Ok(())
}

async fn paced(
    period: Duration,
    count: usize,
    latencies: &mut Vec<Duration>,
    talk: &mut Talk,
) -> Result<()> {
    // Timers of the runtime are exact to a millisecond, so a thread keeps the time.
    let due = Arc::new(Notify::new());
    let keeper = std::thread::spawn({
        let due = Arc::clone(&due);
        move || {
            let start = Instant::now();
            for number in 1..=count as u32 {
                std::thread::sleep(
                    (start + period * number).saturating_duration_since(Instant::now()),
                );
                due.notify_one();
            }
        }
    });
    while !keeper.is_finished() {
        if tokio::time::timeout(2 * period, due.notified()).await.is_ok() {
            let sent = Instant::now();
            talk.round().await?;
            latencies.push(sent.elapsed());
        }
    }
    Ok(())
}

fn summary(mut latencies: Vec<Duration>) -> serde_json::Value {
    latencies.sort_unstable();
    let last = (latencies.len() - 1) as f64;
    let at = |quantile: f64| latencies[(quantile * last) as usize].as_nanos() as u64;
    json!({ "p50": at(0.5), "p99": at(0.99) })
}
