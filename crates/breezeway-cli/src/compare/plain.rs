//! `breezeway plain`: an echo over a plain std socket, for comparison.

use std::io::Write;
use std::time::Instant;

use breezeway_measure::load::plain::{self, Address};
use breezeway_measure::load::{Extent, Rate};
use breezeway_measure::machine::pin;
use breezeway_measure::report::bench::{Report, Setup};
use clap::Subcommand;

use crate::Failure;
use crate::bench::positive;

/// A side of the plain echo
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Return every message, one connection after the other
    Serve {
        /// Address to listen at: unix:/path or tcp:host:port
        #[arg(long)]
        addr: Address,
        /// Run on this CPU only [default: not pinned]
        #[arg(long, value_name = "N")]
        cpu: Option<usize>,
    },
    /// Measure round trips and print one line of JSON
    Bench {
        /// Address of the server: unix:/path or tcp:host:port
        #[arg(long)]
        addr: Address,
        /// Bytes of each message
        #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
        size: u32,
        /// End after this time
        #[arg(long, value_name = "S", value_parser = Extent::parse_seconds)]
        seconds: f64,
        /// Open loop: this many calls a second, sleeping until each is due
        #[arg(long, value_name = "PER_SECOND", value_parser = positive)]
        rate: Option<f64>,
        /// Run on this CPU only [default: not pinned]
        #[arg(long, value_name = "N")]
        cpu: Option<usize>,
    },
}

pub(crate) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Serve { addr, cpu } => {
            pin(cpu)?;
            let server = plain::bind(&addr)?;
            writeln!(std::io::stdout(), "listening on {}", server.address()?)?;
            Ok(server.serve()?)
        }
        Command::Bench { addr, size, seconds, rate, cpu } => {
            pin(cpu)?;
            let extent = Extent { count: None, seconds };
            let start = Instant::now();
            let measurement = plain::measure(&addr, size, extent, rate.map(Rate))?;
            let addr = addr.to_string();
            let setup = Setup {
                session: Some(start.elapsed()),
                rate,
                ..Setup::round_trips(&addr, "park", size as usize)
            };
            writeln!(std::io::stdout(), "{}", Report::new(setup, &measurement).json())?;
            Ok(())
        }
    }
}
