//! One stream in a closed loop, two processes.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use crate::report::{self, Server, quartiles};
use crate::{Flavour, System, breezeway, unix};

#[derive(clap::Args)]
pub(crate) struct Settings {
    /// Turns of each system
    #[arg(long, default_value_t = 41)]
    pairs: usize,
    /// Milliseconds of each turn
    #[arg(long, default_value_t = 100)]
    turn: u64,
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
        let turn = Duration::from_millis(settings.turn);
        let (ours, theirs) = flavour.runtime()?.block_on(async {
            let client = breezeway::Client::connect(&ours_at).await?;
            let mut ours = client.open(settings.size).await?;
            let mut theirs = unix::Talk::connect(&theirs_at, settings.size).await?;
            let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
            for _ in 0..settings.pairs {
                our_times.push(p50(turn, async || ours.round().await).await?);
                their_times.push(p50(turn, async || theirs.round().await).await?);
            }
            anyhow::Ok((our_times, their_times))
        })?;
        let ratios = ours.iter().zip(&theirs).map(|(ours, theirs)| theirs / ours).collect();
        println!(
            "{}",
            json!({
                "cpu": report::cpu(),
                "runtime": format!("{flavour:?}"),
                "size": settings.size,
                "pairs": settings.pairs,
                "breezeway_p50_ns": quartiles(ours),
                "unix_p50_ns": quartiles(theirs),
                "ratio": quartiles(ratios),
            })
        );
    }
    Ok(())
}

async fn p50(turn: Duration, mut round: impl AsyncFnMut() -> Result<()>) -> Result<f64> {
    let warm_until = Instant::now() + turn / 10;
    while Instant::now() < warm_until {
        round().await?;
    }
    let start = Instant::now();
    let mut before = start;
    let mut latencies = Vec::new();
    while before - start < turn {
        round().await?;
        let after = Instant::now();
        latencies.push((after - before).as_nanos() as f64);
        before = after;
    }
    Ok(quartiles(latencies)[0])
}
