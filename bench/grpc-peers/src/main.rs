//! Measures breezeway-grpc against tonic's own endpoints and grpc-go, between two processes. Those
//! in Rust have one thread of tokio each. The server is this program with `serve FOLDER`.
#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "an allocator is")]
mod allocations;
mod link;
mod load;
mod paced;
mod server;
mod study;

use std::path::Path;

use anyhow::{Context, Result, bail};
use breezeway_grpc_interop::AnyChannel;
use rustix::thread::{CpuSet, sched_setaffinity};

use link::Link;
use load::Load;
use server::{Places, Server};

/// CPUs of the two processes: the kernel's choice differs from run to run, and with it the result.
const CLIENT_CPU: usize = 0;
const SERVER_CPU: usize = 1;

/// Number of times that each pair is measured, one directly after the other.
const ROUNDS: usize = 8;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let is_server = arguments.first().is_some_and(|first| first == "serve");
    pin(if is_server { SERVER_CPU } else { CLIENT_CPU })?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => compare("").await,
        ["only", part] => compare(part).await,
        ["study", count] => study::run(count.parse()?, None).await,
        ["study", count, grpc_go] => study::run(count.parse()?, Some(grpc_go)).await,
        ["paced"] => paced::run().await,
        ["serve", folder] => {
            let say = |Places { ports: [ours, tonic], .. }| println!("{ours} {tonic}");
            server::serve(Path::new(folder), say).await
        }
        _ => bail!(
            "usage: grpc-peers [only ROW] | grpc-peers study COUNT [GRPC-GO] | grpc-peers paced"
        ),
    }
}

/// Runs this process on one CPU.
fn pin(cpu: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).with_context(|| format!("cpu {cpu}"))
}

/// Measures every row with this part in its name.
async fn compare(part: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path())?;
    let tonic = Link::Tonic("unix").connect(&server.places).await?;
    println!(
        "link         load      ours      tonic's       none         ratio of ours and tonic's, by \
         pairs: median, quartiles"
    );
    for carrier in ["unix", "shm"] {
        for link in [Link::Native(carrier), Link::Http2(carrier)] {
            let loads =
                Load::ALL.map(|load| (load, format!("{:<12} {:<8}", link.name(), load.name())));
            let loads: Vec<_> = loads.into_iter().filter(|(_, row)| row.contains(part)).collect();
            if !loads.is_empty() {
                let ours = link.connect(&server.places).await?;
                beside(&loads, &ours, &tonic).await?;
            }
        }
    }
    Ok(())
}

/// These loads on both channels, in turn, and without a link.
async fn beside(loads: &[(Load, String)], ours: &AnyChannel, tonic: &AnyChannel) -> Result<()> {
    let here = link::none();
    for (load, row) in loads {
        let (mut own, mut others, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let mut none = Vec::new();
        for round in 0..ROUNDS {
            let [a, b] = if round % 2 == 0 {
                [load.run(ours).await?, load.run(tonic).await?]
            } else {
                let b = load.run(tonic).await?;
                [load.run(ours).await?, b]
            };
            own.push(a);
            others.push(b);
            ratios.push(a / b);
            // Many at a time would be as many one after the other.
            none.push(if load.is_many() { f64::NAN } else { load.run(&here).await? });
        }
        let [ours, tonic, none] = [own, others, none].map(|values| at(values, 0.5));
        let [low, median, high] = [0.25, 0.5, 0.75].map(|part| at(ratios.clone(), part));
        println!(
            "{row} {ours:>7.0} {tonic:>10.0} {none:>10.0} {}   {median:.2} ({low:.2} to {high:.2})",
            load.unit(),
        );
    }
    Ok(())
}

/// The value that so great a part of the others does not exceed.
fn at(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(part * (values.len() - 1) as f64).round() as usize]
}
