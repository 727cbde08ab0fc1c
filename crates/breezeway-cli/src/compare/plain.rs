//! `breezeway plain`: an echo over a plain std socket, for comparison.

use std::io::Write;
use std::time::Instant;

use breezeway_measure::load::plain::{self, Address};
use breezeway_measure::load::{Extent, Rate};
use breezeway_measure::machine::pin;
use breezeway_measure::report::bench::{Report, Setup};
use clap::{Args, Subcommand};

use crate::bench::positive;
use crate::failure::Failure;
use crate::settings::value;

const EXAMPLES: &str = "\
Examples:
  breezeway plain serve --addr unix:/tmp/plain.sock
  breezeway plain bench --addr unix:/tmp/plain.sock --size 64
  breezeway plain bench --addr unix:/tmp/plain.sock --size 64KiB --rate 100 --seconds 2

The server serves one connection after the other. Both sides block, and use read and write alone: \
the same calls as those of breezeway serve and bench, without Breezeway.";

/// Serve or measure an echo over a plain std socket, for comparison
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Plain {
    #[command(subcommand)]
    side: Side,
}

/// A side of the plain echo.
#[derive(Debug, Subcommand)]
enum Side {
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
        /// Bytes of each message, such as 40 or 64KiB
        #[arg(long, value_name = "BYTES", value_parser = value::size_up_to::<LARGEST>)]
        size: u32,
        /// End after this many seconds
        #[arg(
            long,
            value_name = "S",
            default_value_t = Extent::DEFAULT_SECONDS,
            value_parser = Extent::parse_seconds
        )]
        seconds: f64,
        /// Open loop: this many calls a second, sleeping until each is due
        #[arg(long, value_name = "PER_SECOND", value_parser = positive)]
        rate: Option<f64>,
        /// Run on this CPU only [default: not pinned]
        #[arg(long, value_name = "N")]
        cpu: Option<usize>,
    },
}

/// Largest size of a message.
const LARGEST: u32 = 1 << 30;

pub(crate) fn run(plain: Plain) -> Result<(), Failure> {
    match plain.side {
        Side::Serve { addr, cpu } => {
            pin(cpu)?;
            let server = plain::bind(&addr)?;
            writeln!(std::io::stdout(), "listening on {}", server.address()?)?;
            Ok(server.serve()?)
        }
        Side::Bench { addr, size, seconds, rate, cpu } => {
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
