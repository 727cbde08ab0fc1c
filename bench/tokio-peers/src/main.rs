//! Measures Breezeway under tokio against the crate shmipc and tokio's unix sockets.
#![forbid(unsafe_code)]

mod breezeway;
mod closed;
mod rare;
mod report;
mod shmipc;
mod streams;
mod talk;
mod unix;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};
use tokio::runtime::{Builder, Runtime};

#[derive(Parser)]
#[command(about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Many streams on one session, each a task that sends and waits for the echo: ours against
    /// the crate shmipc, in turn
    Streams(streams::Settings),
    /// One stream, one message after the other: ours against a unix stream of tokio, in turn
    Closed(closed::Settings),
    /// Calls at fixed times, both sides asleep in between: ours against a unix stream of tokio, in
    /// turn
    Rare(rare::Settings),
    /// Echoes, in a process of its own
    #[command(hide = true)]
    Serve {
        system: System,
        runtime: Flavour,
        path: PathBuf,
        #[arg(default_value_t = 64)]
        size: usize,
    },
}

/// System that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum System {
    Breezeway,
    Shmipc,
    Unix,
}

/// On which runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Flavour {
    /// Everything on one thread.
    CurrentThread,
    /// Two workers.
    TwoWorkers,
}

impl Flavour {
    /// Pinned ones last: a process stays where it was pinned.
    const ALL: [Self; 2] = [Self::TwoWorkers, Self::CurrentThread];

    /// Returns the CPUs of the client and of the server in a closed loop. One thread a side is
    /// pinned, because the scheduler may put both sides on one CPU.
    fn cpus(self) -> Option<[usize; 2]> {
        (self == Self::CurrentThread).then_some([0, 1])
    }

    fn runtime(self) -> Result<Runtime> {
        let mut builder = match self {
            Self::CurrentThread => Builder::new_current_thread(),
            Self::TwoWorkers => Builder::new_multi_thread(),
        };
        if self == Self::TwoWorkers {
            builder.worker_threads(2);
        }
        Ok(builder.enable_all().build()?)
    }
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Streams(settings) => streams::run(&settings),
        Command::Closed(settings) => closed::run(&settings),
        Command::Rare(settings) => rare::run(&settings),
        Command::Serve { system, runtime, path, size } => {
            let runtime = runtime.runtime()?;
            match system {
                System::Breezeway => runtime.block_on(breezeway::serve(&path, size, true)),
                System::Shmipc => runtime.block_on(shmipc::serve(&path, size, true)),
                System::Unix => runtime.block_on(unix::serve(&path, size)),
            }
        }
    }
}
