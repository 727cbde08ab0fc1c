//! Measures breezeway-grpc against tonic's own unix endpoint, in turn: two processes, each one
//! thread of tokio. The server is this program with `serve FOLDER`.
#![forbid(unsafe_code)]

mod load;
mod server;

use std::path::Path;

use anyhow::{Result, bail};
use breezeway_grpc::Endpoint;
use breezeway_grpc_interop::AnyChannel;
use tonic::{Status, transport};
use tower::ServiceExt;

use load::Load;
use server::Server;

/// How often each pair is measured, one directly behind the other.
const ROUNDS: usize = 8;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => compare().await,
        ["serve", folder] => server::serve(Path::new(folder)).await,
        _ => bail!("usage: grpc-peers"),
    }
}

async fn compare() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path();
    let _server = Server::start(path)?;
    let tonic = transport::Endpoint::from_shared(format!("unix:{}/tonic", path.display()))?;
    let tonic = any(tonic.connect().await?);
    println!("link         load      ours      tonic's   ratio of pairs: median, quartiles");
    for carrier in ["unix", "shm"] {
        let address = format!("{carrier}:{}/{carrier}", path.display());
        let native = AnyChannel::new(breezeway_grpc::connect(&address).await?);
        beside(&format!("native {carrier}"), &native, &tonic).await?;
        let http2 = any(Endpoint::new(&address)?.connect_http2().await?);
        beside(&format!("HTTP/2 {carrier}"), &http2, &tonic).await?;
    }
    Ok(())
}

fn any(channel: transport::Channel) -> AnyChannel {
    AnyChannel::new(channel.map_err(|error| Status::from_error(error.into())))
}

/// Every load on both channels, in turn.
async fn beside(name: &str, ours: &AnyChannel, tonic: &AnyChannel) -> Result<()> {
    for load in Load::ALL {
        let (mut own, mut others, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
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
        }
        let [ours, tonic] = [own, others].map(|values| at(values, 0.5));
        let [low, median, high] = [0.25, 0.5, 0.75].map(|part| at(ratios.clone(), part));
        println!(
            "{name:<12} {:<8} {ours:>7.0} {tonic:>10.0} {}   {median:.2} ({low:.2} to {high:.2})",
            load.name(),
            load.unit(),
        );
    }
    Ok(())
}

fn at(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(part * (values.len() - 1) as f64).round() as usize]
}
