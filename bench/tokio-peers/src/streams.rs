//! Many streams on one session, untouched: the workload of shmipc's own benchmark.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;
use tokio::sync::Barrier;
use tokio::sync::mpsc::unbounded_channel;

use crate::report::{self, Server, quartiles};
use crate::{Flavour, System, breezeway, shmipc};

#[derive(clap::Args)]
pub(crate) struct Settings {
    /// Tasks, each with a stream of its own
    #[arg(long, default_value_t = 199)]
    tasks: usize,
    /// Round trips of each task and turn
    #[arg(long, default_value_t = 2000)]
    rounds: usize,
    /// Turns of each system
    #[arg(long, default_value_t = 21)]
    pairs: usize,
    /// Bytes of a message
    #[arg(long, default_value_t = 64)]
    size: usize,
    /// Serve in a process of its own
    #[arg(long)]
    two_processes: bool,
    /// Only this runtime
    #[arg(long, value_enum)]
    runtime: Option<Flavour>,
    /// Only this system
    #[arg(long, value_enum)]
    only: Option<System>,
}

pub(crate) fn run(settings: &Settings) -> Result<()> {
    for flavour in Flavour::ALL {
        if settings.runtime.is_some_and(|only| only != flavour) {
            continue;
        }
        let (mut ours, mut theirs, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..settings.pairs {
            if !settings.two_processes && settings.only.is_none() {
                bare.push(tasks_alone(settings, flavour)?);
            }
            if settings.only != Some(System::Shmipc) {
                ours.push(one(settings, flavour, System::Breezeway)?);
            }
            if settings.only != Some(System::Breezeway) {
                theirs.push(one(settings, flavour, System::Shmipc)?);
            }
        }
        let ratios: Vec<f64> =
            ours.iter().zip(&theirs).map(|(ours, theirs)| theirs / ours).collect();
        let figures = |values: Vec<f64>| (!values.is_empty()).then(|| quartiles(values));
        println!(
            "{}",
            json!({
                "cpu": report::cpu(),
                "runtime": format!("{flavour:?}"),
                "processes": 1 + usize::from(settings.two_processes),
                "tasks": settings.tasks,
                "size": settings.size,
                "pairs": settings.pairs,
                "breezeway_ns": figures(ours),
                "shmipc_ns": figures(theirs),
                "tasks_alone_ns": figures(bare),
                "ratio": figures(ratios),
            })
        );
    }
    Ok(())
}

/// Nanoseconds of a round trip, as all tasks together make them.
fn one(settings: &Settings, flavour: Flavour, system: System) -> Result<f64> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("s");
    let server = settings
        .two_processes
        .then(|| Server::start(system, flavour, flavour.cpus(), &path, settings.size))
        .transpose()?;
    let runtime = flavour.runtime()?;
    let time = runtime.block_on(async {
        let serving = server.is_none().then(|| spawn_server(system, &path, settings.size));
        let time = match system {
            System::Shmipc => shmipc_time(settings, &path).await?,
            _ => breezeway_time(settings, &path).await?,
        };
        drop(serving);
        anyhow::Ok(time)
    })?;
    runtime.shutdown_timeout(Duration::from_secs(1));
    drop(server);
    Ok(time.as_nanos() as f64 / (settings.tasks * settings.rounds) as f64)
}

/// Measures like [`one`], with as many pairs of tasks that wake each other by tokio's own channels
/// and send nothing: the runtime's share of the time.
fn tasks_alone(settings: &Settings, flavour: Flavour) -> Result<f64> {
    let (tasks, rounds) = (settings.tasks, settings.rounds);
    let time = flavour.runtime()?.block_on(async {
        let start = Arc::new(Barrier::new(tasks + 1));
        let asking: Vec<_> = (0..tasks)
            .map(|_| {
                let start = Arc::clone(&start);
                let (ask, mut asked) = unbounded_channel();
                let (answer, mut answered) = unbounded_channel();
                tokio::spawn(async move {
                    while let Some(()) = asked.recv().await {
                        answer.send(()).expect("the asking task waits for it");
                    }
                });
                tokio::spawn(async move {
                    start.wait().await;
                    for _ in 0..rounds {
                        ask.send(()).expect("somebody answers");
                        answered.recv().await;
                    }
                })
            })
            .collect();
        start.wait().await;
        let began = Instant::now();
        for task in asking {
            task.await.context("a task")?;
        }
        anyhow::Ok(began.elapsed())
    })?;
    Ok(time.as_nanos() as f64 / (tasks * rounds) as f64)
}

fn spawn_server(system: System, path: &Path, size: usize) -> tokio::task::JoinHandle<Result<()>> {
    let path = path.to_owned();
    tokio::spawn(async move {
        match system {
            System::Shmipc => shmipc::serve(&path, size, false).await,
            _ => breezeway::serve(&path, size, false).await,
        }
    })
}

async fn breezeway_time(settings: &Settings, path: &Path) -> Result<Duration> {
    while !path.exists() {
        tokio::task::yield_now().await;
    }
    let client = breezeway::Client::connect(path).await?;
    let mut talks = Vec::new();
    for _ in 0..settings.tasks {
        let mut talk = client.open(settings.size).await?;
        talk.round().await?;
        talks.push(talk);
    }
    let start = Arc::new(Barrier::new(settings.tasks + 1));
    let rounds = settings.rounds;
    let tasks: Vec<_> = talks
        .into_iter()
        .map(|mut talk| {
            let start = Arc::clone(&start);
            tokio::spawn(async move {
                start.wait().await;
                for _ in 0..rounds {
                    talk.round().await?;
                }
                anyhow::Ok(talk)
            })
        })
        .collect();
    start.wait().await;
    let began = Instant::now();
    let mut done = Vec::new();
    for task in tasks {
        done.push(task.await.context("a task")??);
    }
    Ok(began.elapsed())
}

async fn shmipc_time(settings: &Settings, path: &Path) -> Result<Duration> {
    while !path.exists() {
        tokio::task::yield_now().await;
    }
    let client = shmipc::Client::connect(path, settings.size).await?;
    let mut talks = Vec::new();
    for _ in 0..settings.tasks {
        let mut talk = client.open(settings.size)?;
        talk.round().await?;
        talks.push(talk);
    }
    let start = Arc::new(Barrier::new(settings.tasks + 1));
    let rounds = settings.rounds;
    let tasks: Vec<_> = talks
        .into_iter()
        .map(|mut talk| {
            let start = Arc::clone(&start);
            tokio::spawn(async move {
                start.wait().await;
                for _ in 0..rounds {
                    talk.round().await?;
                }
                anyhow::Ok(talk)
            })
        })
        .collect();
    start.wait().await;
    let began = Instant::now();
    let mut done = Vec::new();
    for task in tasks {
        done.push(task.await.context("a task")??);
    }
    let time = began.elapsed();
    for talk in done {
        talk.close().await?;
    }
    client.close().await;
    Ok(time)
}
