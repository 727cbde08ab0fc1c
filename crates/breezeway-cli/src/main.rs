//! The `breezeway` command.
#![forbid(unsafe_code)]

mod announce;
mod bench;
#[cfg(feature = "thrift")]
mod call;
#[cfg_attr(not(feature = "tls"), path = "no_certificates.rs")]
mod certificates;
mod compare;
mod doctor;
mod dump;
mod failure;
mod floor;
mod follow;
#[cfg(feature = "thrift")]
mod generate;
#[cfg(feature = "grpc")]
mod grpc;
mod inspect;
mod manual;
#[cfg(feature = "metrics")]
mod metrics;
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

use crate::failure::Failure;
use crate::printable::one_line;
use breezeway::describe;
use breezeway_measure::floor::partner;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

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
    /// Measure this machine: bare round trips between two processes
    Floor(floor::Args),
    /// Compare every carrier and wait policy at every size
    Compare(compare::Args),
    /// Serve or measure an echo over a plain std socket, for comparison
    Plain(compare::plain::Plain),
    /// Check whether this machine is fit, with a remedy for each problem
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
    /// Print completions for a shell
    Completions(manual::Completions),
    /// Write a man page for each command
    Man(manual::Man),
    #[command(hide = true)]
    FloorPartner(partner::Partnership),
    #[command(hide = true)]
    CompareServer(compare::owned::Args),
}

/// Subcommands by their purpose.
const GROUPS: [(&str, &[&str]); 3] = [
    ("Operate", &["call", "top", "inspect", "dump", "thrift", "doctor"]),
    ("Measure", &["serve", "bench", "compare", "floor", "plain"]),
    ("Generate", &["gen", "completions", "man"]),
];

/// Returns the command, whose help lists the subcommands by their purpose.
fn command() -> clap::Command {
    let command = Cli::command();
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut help = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (group, names) in GROUPS {
        help += &format!("\n{header}{group}:{header:#}\n");
        // A build without a feature lacks some of them.
        for found in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let (name, about) = (found.get_name(), found.get_about().unwrap_or_default());
            help += &format!("  {literal}{name:<11}{literal:#}  {about}\n");
        }
    }
    help += &format!("\n{header}Options:{header:#}\n{{options}}\n\n");
    help += "breezeway COMMAND --help has the options of a command, and examples.";
    command.help_template(help)
}

fn main() -> ExitCode {
    let parsed = command().try_get_matches().and_then(|found| Cli::from_arg_matches(&found));
    let command = match parsed {
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
        Command::Completions(args) => args.run(&Cli::command()),
        Command::Man(args) => args.run(Cli::command()),
        Command::FloorPartner(args) => partner::run(args),
        Command::CompareServer(args) => compare::owned::run(args),
        Command::Plain(plain) => compare::plain::run(plain),
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

/// Help and version as clap prints them; a wrong command line as one line, like every other error.
fn usage(error: &clap::Error) -> ExitCode {
    let nothing_given = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !error.use_stderr() || error.kind() == nothing_given {
        error.exit();
    }
    let text = error.to_string();
    let paragraph = text.trim_start_matches("error: ").lines().map(str::trim);
    let lines: Vec<_> = paragraph.take_while(|line| !line.is_empty()).collect();
    let tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    // An option as the value of another argument is rarely meant.
    let tips: String =
        tips.filter(|tip| !tip.contains("as a value")).map(|tip| format!("; {tip}")).collect();
    let origin = environment_of(error, std::env::args()).unwrap_or_default();
    let command = command_of(std::env::args().skip(1));
    eprintln!("breezeway: {}{origin}{tips}; see {command} --help", lines.join(" "));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_command_is_in_one_group() {
        let all = Cli::command();
        let visible = all.get_subcommands().filter(|found| !found.is_hide_set());
        let mut visible: Vec<_> = visible.map(clap::Command::get_name).collect();
        let mut grouped: Vec<_> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.retain(|name| cfg!(feature = "thrift") || all.find_subcommand(name).is_some());
        visible.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, visible);
    }
}
