//! Every engine of the project under attack, each in a process of its own: hostile sessions by
//! chance while honest clients measure, and `kill -9`.
#![forbid(unsafe_code)]

mod attack;
mod client;
mod engine;
mod hostile;
mod kills;
mod observed;
mod process;
mod server;
mod services;

use clap::Parser;

use crate::engine::Engine;

/// Servers and clients under attack.
#[derive(Parser)]
enum Command {
    /// Plays sessions by chance against servers of the engines, and checks what stays behind.
    Hostile(hostile::Options),
    /// Kills clients and servers in the middle of what they do.
    Kills(kills::Options),
    /// A client to be killed. For `kills`.
    Victim(kills::Victim),
    /// Serves an engine in the folder until standard input ends. For the other commands.
    Serve {
        /// What serves.
        engine: Engine,
        /// Where its socket files go.
        folder: std::path::PathBuf,
    },
}

fn main() -> std::process::ExitCode {
    let outcome = match Command::parse() {
        Command::Hostile(options) => hostile::run(&options),
        Command::Kills(options) => kills::run(&options),
        Command::Victim(victim) => kills::be_victim(&victim),
        Command::Serve { engine, folder } => server::run(engine, &folder),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("torture: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

/// Whatever went wrong, in words.
type Failure = Box<dyn std::error::Error + Send + Sync>;
