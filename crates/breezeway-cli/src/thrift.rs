//! `breezeway thrift`: looking into Thrift messages.

mod dump;
mod envelope;
pub(crate) mod printer;
pub(crate) mod text;

use crate::failure::Failure;

/// Show Thrift messages
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print a Thrift Binary message for people
    Dump(dump::Args),
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    match args.command {
        Command::Dump(args) => dump::run(args),
    }
}
