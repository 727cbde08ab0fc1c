//! A bare unix stream socket between two processes, measured like `breezeway bench`.
//!
//! It stands for the least that any transport over a socket costs: one `send` and one `recv` per
//! side and round trip, nothing around them. A connection starts with the size of its messages, so
//! that they need no header.
#![forbid(unsafe_code)]

mod bench;
mod serve;
mod stream;

use breezeway_measure::load::Extent;
use breezeway_measure::process;
use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use stream::Wait;

const EXAMPLES: &str = "\
Example:
  unix-echo serve --path /tmp/echo.sock --wait spin --cpu 1 &
  unix-echo bench --path /tmp/echo.sock --size 64 --seconds 5 --wait spin --cpu 0
  unix-echo bench --path /tmp/echo.sock --size 64 --rate 1000 --seconds 5 --cpu 0
  kill %1

Name the same --wait on both sides: the report names the bench's.";

/// Measure a bare unix stream socket between two processes
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Return every message, one connection at a time, until SIGTERM or SIGINT, or until none has
    /// come for 60 s
    #[command(after_help = EXAMPLES)]
    Serve(Side),
    /// Measure round trips and print one line of JSON
    #[command(after_help = EXAMPLES)]
    Bench {
        #[command(flatten)]
        side: Side,
        /// Bytes of a message
        #[arg(long, value_name = "B", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=i64::from(stream::LARGEST)))]
        size: u32,
        #[command(flatten)]
        extent: Extent,
        /// Start calls at this rate, one at a time, and sleep until each is due [default: each call
        /// starts when the one before is complete]
        #[arg(long, value_name = "R", value_parser = parse_rate)]
        rate: Option<f64>,
    },
}

/// Options of a side.
#[derive(clap::Args)]
struct Side {
    /// The path of the socket
    #[arg(long, value_name = "P")]
    path: PathBuf,
    /// Wait policy: sleep in recv, or call it again and again with MSG_DONTWAIT
    #[arg(long, value_enum, default_value_t = Wait::Block)]
    wait: Wait,
    /// Run on this CPU only
    #[arg(long, value_name = "C")]
    cpu: Option<usize>,
}

fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if rate > 0.0 && rate <= 1e9 => Ok(rate),
        _ => Err("expected a number of calls per second above 0".to_owned()),
    }
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(side) => serve::run(&side),
        Command::Bench { side, size, extent, rate } => bench::run(&side, size, extent, rate),
    };
    process::report("unix-echo", outcome)
}
