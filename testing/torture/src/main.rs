//! Every engine of the project under attack, each in a process of its own: hostile sessions by
//! chance while honest clients measure, `kill -9`, and system calls that fail.
#![forbid(unsafe_code)]

mod attack;
mod attacks;
mod client;
mod engine;
mod faults;
mod hostile;
mod kills;
mod observed;
mod process;
mod sequences;
mod server;
mod services;

use clap::Parser;

/// Servers and clients under attack.
#[derive(Parser)]
enum Command {
    /// Plays random sessions against servers of the engines, and checks for leaks.
    Hostile(hostile::Options),
    /// Runs attacks by name, and measures an honest client during each.
    Attacks(attacks::Options),
    /// Kills clients and servers in the middle of their steps.
    Kills(kills::Options),
    /// A client to be killed. For `kills`.
    Victim(kills::Victim),
    /// Lets the system calls of servers and clients fail, one at a time.
    Faults(faults::Options),
    /// Runs a client with failing calls. For `faults`.
    Patient(faults::PatientOptions),
    /// Serves an engine in the folder until standard input ends. For the other commands.
    Serve(server::Options),
}

fn main() -> std::process::ExitCode {
    let outcome = match Command::parse() {
        Command::Hostile(options) => hostile::run(&options),
        Command::Attacks(options) => attacks::run(&options),
        Command::Kills(options) => kills::run(&options),
        Command::Victim(victim) => kills::be_victim(&victim),
        Command::Faults(options) => faults::run(&options),
        Command::Patient(options) => faults::be_patient(&options),
        Command::Serve(options) => server::run(&options),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("torture: {}", breezeway::describe(&*error));
            std::process::ExitCode::FAILURE
        }
    }
}

/// Whatever went wrong, in words.
type Failure = Box<dyn std::error::Error + Send + Sync>;
