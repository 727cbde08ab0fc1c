//! The hidden command behind every server that a comparison starts: it ends with the
//! process that started it, however that ends.

use clap::Subcommand;

use super::plain;
use crate::failure::Failure;
use crate::serve;
use breezeway_measure::process::end_with;

/// The arguments of the hidden subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The process that compares
    #[arg(long)]
    parent: i32,
    #[command(subcommand)]
    server: Server,
}

#[derive(Debug, Subcommand)]
enum Server {
    Serve(Box<serve::Args>),
    Plain(plain::Plain),
}

/// Runs the server until a signal ends it or its parent has died.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    end_with(args.parent, "breezeway compare")?;
    match args.server {
        Server::Serve(args) => serve::run(*args),
        Server::Plain(args) => plain::run(args),
    }
}
