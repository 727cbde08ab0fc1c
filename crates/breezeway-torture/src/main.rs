//! Every engine of the project under attack, each in a process of its own: hostile sessions by
//! chance, while an honest client measures.
#![forbid(unsafe_code)]

mod attack;
mod client;
mod engine;
mod hostile;
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
