//! The `breezeway` command.
#![forbid(unsafe_code)]

mod bench;
#[cfg(feature = "thrift")]
mod call;
#[cfg_attr(not(feature = "tls"), path = "no_certificates.rs")]
mod certificates;
mod compare;
mod doctor;
mod dump;
mod floor;
mod follow;
#[cfg(feature = "thrift")]
mod generate;
#[cfg(feature = "grpc")]
mod grpc;
mod inspect;
mod printable;
mod protocol;
#[cfg(feature = "thrift")]
mod rpc;
mod serve;
mod settings;
mod shmipc;
mod succession;
mod target;
#[cfg(feature = "thrift")]
mod thrift;
mod top;

use breezeway_measure::floor::partner;
use breezeway_measure::process::describe;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

/// Failure of a subcommand: one line for the person who ran it.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Parser)]
#[command(name = "breezeway", version, about = "Calls between processes at memory speed")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve an echo at an address until a signal ends it
    Serve(serve::Args),
    /// Measure calls to a running server
    Bench(bench::Args),
    /// Measure the limits of this machine: bare round trips between two pinned processes
    Floor(floor::Args),
    /// Compare every carrier and wait policy at every size, in µs and in floors
    Compare(compare::Args),
    /// Check whether this machine is fit, and print a remedy for each problem
    Doctor(doctor::Args),
    /// Show the shared memory of a running process, without its help
    Inspect(inspect::Args),
    /// Print the last entries of both rings of a session
    Dump(dump::Args),
    /// Call a method of a service, with JSON in and out
    #[cfg(feature = "thrift")]
    Call(call::Args),
    /// Show live activity of sessions
    Top(top::Args),
    /// Generate Rust from a .thrift file
    #[cfg(feature = "thrift")]
    Gen(generate::Args),
    /// Show Thrift messages
    #[cfg(feature = "thrift")]
    Thrift(thrift::Args),
    #[command(hide = true)]
    FloorPartner(partner::Partnership),
    #[command(hide = true)]
    CompareServer(compare::owned::Args),
    /// An echo over a plain std socket, for comparison
    #[command(hide = true, subcommand)]
    Plain(compare::plain::Command),
}

fn main() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return usage(&error),
    };
    let outcome = match command {
        Command::Serve(args) => serve::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Floor(args) => floor::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Dump(args) => dump::run(args),
        #[cfg(feature = "thrift")]
        Command::Call(args) => call::run(args),
        Command::Top(args) => top::run(args),
        #[cfg(feature = "thrift")]
        Command::Gen(args) => generate::run(args),
        #[cfg(feature = "thrift")]
        Command::Thrift(args) => thrift::run(args),
        Command::FloorPartner(args) => partner::run(args),
        Command::CompareServer(args) => compare::owned::run(args),
        Command::Plain(command) => compare::plain::run(command),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("breezeway: {}", one_line(&describe(&*failure)));
            status(&failure)
        }
    }
}

/// Returns the exit status of a failure: one of its own for a call, else 1.
fn status(failure: &Failure) -> ExitCode {
    #[cfg(feature = "thrift")]
    if let Some(call) = failure.downcast_ref::<call::CallFailure>() {
        return call.exit_status().into();
    }
    let _ = failure;
    ExitCode::FAILURE
}

/// Returns text that may come from the peer, without control characters.
fn one_line(text: &str) -> String {
    text.chars()
        .flat_map(|char| if char.is_control() { char.escape_debug().collect() } else { vec![char] })
        .collect()
}

/// Help and version as clap prints them; a wrong command line as one line, like every other error.
fn usage(error: &clap::Error) -> ExitCode {
    let nothing_given = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !error.use_stderr() || error.kind() == nothing_given {
        error.exit();
    }
    let text = error.to_string();
    let paragraph = text.trim_start_matches("error: ").lines().map(str::trim);
    let lines: Vec<_> = paragraph.take_while(|line| !line.is_empty()).collect();
    let origin = environment_of(error, std::env::args()).unwrap_or_default();
    let command = command_of(std::env::args().skip(1));
    eprintln!("breezeway: {}{origin}; see {command} --help", lines.join(" "));
    ExitCode::from(2)
}

/// The command, with its subcommands, that a command line is for.
fn command_of(given: impl Iterator<Item = String>) -> String {
    let mut command = Cli::command();
    let mut path = vec![command.get_name().to_owned()];
    for name in given {
        let Some(next) = command.find_subcommand(&name).cloned() else { break };
        path.push(name);
        command = next;
    }
    path.join(" ")
}

/// Returns the variable of a bad value that is not on the command line: it comes from the
/// environment, and clap does not name the variable.
fn environment_of(error: &clap::Error, mut given: impl Iterator<Item = String>) -> Option<String> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    error.get(ContextKind::InvalidValue)?;
    let flag = argument.split(' ').next().filter(|flag| flag.starts_with("--"))?;
    if given.any(|word| word.split('=').next() == Some(flag)) {
        return None;
    }
    let name = flag.trim_start_matches('-').replace('-', "_").to_uppercase();
    Some(format!(" (from the environment, BREEZEWAY_{name})"))
}
