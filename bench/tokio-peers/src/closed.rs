//! One stream in a closed loop, two processes.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use crate::report::{self, Server, quartiles};
use crate::talk::{Place, Talk};
use crate::{Flavour, System};

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
            Server::start(System::Breezeway, flavour, flavour.cpus(), &ours_at, settings.size)?,
            Server::start(System::Unix, flavour, flavour.cpus(), &theirs_at, settings.size)?,
        ];
        let turn = Duration::from_millis(settings.turn);
        for place in Place::of(flavour) {
            let (size, pairs) = (settings.size, settings.pairs);
            let (ours_at, theirs_at) = (ours_at.clone(), theirs_at.clone());
            let (ours, theirs) = place.run(&flavour.runtime()?, async move {
                let mut ours = Talk::ours(&ours_at, size).await?;
                let mut theirs = Talk::theirs(&theirs_at, size).await?;
                let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
                for _ in 0..pairs {
                    our_times.push(p50(turn, &mut ours).await?);
                    their_times.push(p50(turn, &mut theirs).await?);
                }
                anyhow::Ok((our_times, their_times))
            })?;
            let ratios = ours.iter().zip(&theirs).map(|(ours, theirs)| theirs / ours).collect();
            println!(
                "{}",
                json!({
                    "cpu": report::cpu(),
                    "runtime": format!("{flavour:?}"),
                    "place": format!("{place:?}"),
                    "size": settings.size,
                    "pairs": settings.pairs,
                    "breezeway_p50_ns": quartiles(ours),
                    "unix_p50_ns": quartiles(theirs),
                    "ratio": quartiles(ratios),
                })
            );
        }
    }
    Ok(())
}

async fn p50(turn: Duration, talk: &mut Talk) -> Result<f64> {
    let warm_until = Instant::now() + turn / 10;
    while Instant::now() < warm_until {
        talk.round().await?;
    }
    let start = Instant::now();
    let mut before = start;
    let mut latencies = Vec::new();
    while before - start < turn {
        talk.round().await?;
        let after = Instant::now();
        latencies.push((after - before).as_nanos() as f64);
        before = after;
    }
    Ok(quartiles(latencies)[0])
}
