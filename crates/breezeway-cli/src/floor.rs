//! `breezeway floor`: bare round trips between two pinned processes.

use std::io::Write;
use std::time::Duration;

use breezeway_measure::floor::partner::Kind;
use breezeway_measure::floor::{self, Measurer};
use breezeway_measure::machine::Cpus;

use crate::failure::Failure;
use crate::settings::value;

const EXAMPLES: &str = "\
Examples:
  breezeway floor                        everything, on the first two allowed CPUs
  breezeway floor --cpus 2,3 --json      one JSON object on one line
  breezeway floor --only line --milliseconds 50
                                         a quick floor to go with a benchmark
  breezeway floor --only touched --size 1KiB --size 64KiB
  breezeway floor --only ring,ring-one-way,slots --size 1MiB
                                         the bare ring: the cost of the ABI without the library

Durations are medians, those of one-way rows and of hot slots means of a message. A side that \
spins does so with a pause and without, and hot slots one-way are 2, 4 and 8: the fastest counts. \
Returned slots are 16, all in flight. `floors` divides a row by the cache-line round trips \
measured directly before and after it; a ? marks a row during which the machine changed its speed, \
so that its ratio means nothing. Stop other work on the two CPUs first.";

/// Measure the limits of this machine: bare round trips between two pinned processes
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The CPUs of the measuring process and of its partner [default: the first two allowed]
    #[arg(long, value_name = "A,B")]
    cpus: Option<Cpus>,
    /// Print one line with one JSON object
    #[arg(long)]
    json: bool,
    /// Measure only these rows
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    only: Vec<Kind>,
    /// Bytes of a touched, slots, unix or tcp row; may be repeated [default: touched 64, 1 KiB,
    /// 64 KiB, 1 MiB and 4 MiB, slots the last three, sockets 64]
    #[arg(long = "size", value_name = "BYTES", value_parser = value::size_up_to::<LARGEST>)]
    sizes: Vec<u32>,
    /// Measuring time of each row; a row also ends after four million round trips
    #[arg(long, value_name = "N", default_value_t = 80, value_parser = value::up_to(60_000))]
    milliseconds: u32,
}

/// Sixteen slots of it on each side take two gibibytes.
const LARGEST: u32 = 64 << 20;

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let cpus = args.cpus.map_or_else(Cpus::first_allowed, Ok)?;
    cpus.check()?;
    let time = Duration::from_millis(args.milliseconds.into());
    let sizes: Vec<usize> = args.sizes.iter().map(|&size| size as usize).collect();
    let report = Measurer::new(cpus, time)?.measure(&floor::jobs(&args.only, &sizes))?;
    let text = if args.json { format!("{}\n", report.json()) } else { report.table() };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}
