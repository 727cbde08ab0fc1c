//! Speaks shmipc with upstream's own crate, so that Breezeway can be tested and measured against
//! it.
#![forbid(unsafe_code)]

mod bench;
mod client;
mod hello;
mod message;
// By its file: with breezeway-measure the build for the tests took twice the time.
#[path = "../../../crates/breezeway-shmipc/tests/interop/pattern.rs"]
mod pattern;
mod serve;
mod settings;

use anyhow::Result;
use clap::{Parser, Subcommand};
use settings::Settings;
use std::process::ExitCode;
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::filter::LevelFilter;

const EXAMPLES: &str = "\
Example:
  shmipc-rs serve --path /tmp/echo.sock &
  shmipc-rs client --path /tmp/echo.sock --mode memfd --sizes 1,70000 --streams 500 --count 3
  shmipc-rs bench --path /tmp/echo.sock --mode memfd --size 64 --seconds 2
  kill %1";

/// Speak shmipc with upstream's own Rust crate
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Cli {
    /// Threads of the asynchronous runtime; 0 runs everything on the main thread
    #[arg(long, global = true, default_value_t = 2)]
    workers: usize,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Answer streams until SIGTERM
    Serve {
        #[command(flatten)]
        settings: Settings,
        #[command(flatten)]
        role: serve::Role,
    },
    /// Send messages on many streams at once and compare what comes back
    Client {
        #[command(flatten)]
        settings: Settings,
        #[command(flatten)]
        work: client::Work,
    },
    /// Measure round trips and print one line of JSON
    Bench {
        #[command(flatten)]
        settings: Settings,
        #[command(flatten)]
        extent: bench::Extent,
    },
    /// The server of upstream's quick start
    HelloServer {
        #[command(flatten)]
        settings: Settings,
    },
    /// The client of upstream's quick start
    HelloClient {
        #[command(flatten)]
        settings: Settings,
    },
}

fn main() -> ExitCode {
    // The library's own log: its complaints explain why a test failed.
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).without_time();
    log.with_max_level(LevelFilter::WARN).init();
    let cli = Cli::parse();
    let outcome = runtime(cli.workers).and_then(|runtime| runtime.block_on(run(cli.command)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("shmipc-rs: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn runtime(workers: usize) -> Result<Runtime> {
    let mut builder = match workers {
        0 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    Ok(builder.worker_threads(workers.max(1)).enable_all().build()?)
}

async fn run(command: Command) -> Result<()> {
    match command {
        Command::Serve { settings, role } => serve::run(&settings, role).await,
        Command::Client { settings, work } => client::run(&settings, work).await,
        Command::Bench { settings, extent } => bench::run(&settings, extent).await,
        Command::HelloServer { settings } => hello::serve(&settings).await,
        Command::HelloClient { settings } => hello::call(&settings).await,
    }
}
