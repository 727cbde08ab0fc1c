//! `breezeway plain`: the echo that anybody would write with a std socket, `read_exact` and `write_all`, to compare with.
//!
//! A connection starts with the size of its messages, so that they need no header. Sockets block; TCP goes without Nagle's delay.

mod bench;
mod serve;
mod socket;

use clap::Subcommand;

use crate::Failure;

/// A side of the plain echo
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Return every message, one connection after the other
    Serve(serve::Args),
    /// Measure round trips and print one line of JSON
    Bench(bench::Args),
}

pub(crate) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Serve(args) => serve::run(args),
        Command::Bench(args) => bench::run(args),
    }
}
