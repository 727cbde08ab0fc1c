//! `breezeway compare`: every carrier and wait policy at every size, in floors.
//!
//! Server and measuring side of every row are processes of this executable, started with the commands that a person would type, so that each row can
//! be repeated by hand. Rounds go over all rows, so that a change of the machine's speed falls upon all of them alike.

mod chart;
mod child;
mod date;
mod host;
mod level;
mod machine;
mod measure;
mod output;
pub(crate) mod owned;
pub(crate) mod plain;
mod plan;
mod report;
mod results;
mod server;
mod spread;
mod summary;
mod table;
mod units;

use std::io::Write;
use std::path::PathBuf;

use breezeway_os::cpu;

use crate::Failure;
use crate::bench::positive;
use crate::floor::{self, Cpus};
use crate::settings::value;
use child::Interrupt;
use output::Output;
use plan::Plan;
use results::Comparison;

const EXAMPLES: &str = "\
Examples:
  breezeway compare --quick                       a first look, under two minutes
  breezeway compare --report compare.html         all sizes, with charts
  breezeway compare --quick --json compare.json --cpus 2,3
  breezeway compare --quick --size 64 --size 64KiB

Starts its own servers and ends them. The floor, a bare cache-line round trip, is measured between any two measurements, while all
servers are stopped; a ratio is divided by the floors on both sides of it. Stop other work on the two CPUs first.";

/// Compare every carrier and wait policy at every size
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Fewer sizes and shorter measurements: under two minutes
    #[arg(long)]
    quick: bool,
    /// Write all figures here
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a page with charts here: one file of HTML that loads nothing else
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// The CPUs of the measuring process and of the server [default: the first two allowed]
    #[arg(long, value_name = "A,B", value_parser = floor::parse_cpus)]
    cpus: Option<Cpus>,
    /// Bytes of a message, such as 64 or 1MiB; may be repeated [default: ten sizes from 8 B to 4 MiB, six with --quick]
    #[arg(long = "size", value_name = "BYTES", value_parser = value::size_up_to::<LARGEST>)]
    sizes: Vec<u32>,
    /// How often each row is measured [default: 9, 5 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// How long one measurement takes [default: 0.2, 0.07 with --quick]
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds: Option<f64>,
}

/// So many bytes, and as many calls in flight as a pipelined row has, still fit into the default cap of a session.
const LARGEST: u32 = 4 << 20;

fn seconds(text: &str) -> Result<f64, String> {
    match positive(text) {
        Ok(seconds) if seconds <= 60.0 => Ok(seconds),
        _ => Err("expected a number above 0, up to 60".to_owned()),
    }
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let cpus = args.cpus.map_or_else(|| floor::first_two(&cpu::allowed()), Ok)?;
    floor::check(cpus)?;
    let json = args.json.as_deref().map(Output::prepare).transpose()?;
    let report = args.report.as_deref().map(Output::prepare).transpose()?;
    let interrupt = Interrupt::watch()?;
    let plan = Plan::new(&args, cpus);
    announce(&plan)?;
    let comparison = measured(&plan, &interrupt)?;
    write!(std::io::stdout(), "{}", table::text(&comparison))?;
    if report.is_none() {
        writeln!(
            std::io::stdout(),
            "\nCharts, spread and the commands that repeat each row: --report FILE.html"
        )?;
    }
    if let Some(json) = json {
        tell("figures", &json.write(&serde_json::to_string(&comparison)?)?)?;
    }
    if let Some(report) = report {
        tell("report", &report.write(&report::page(&comparison))?)?;
    }
    Ok(())
}

fn measured(plan: &Plan, interrupt: &Interrupt) -> Result<Comparison, Failure> {
    let folder = tempfile::Builder::new().prefix("breezeway-compare-").tempdir()?;
    let samples = measure::sweep(plan, folder.path(), interrupt)?;
    Ok(Comparison::new(plan, samples))
}

#[cfg(test)]
impl Args {
    fn quick(sizes: &[u32]) -> Self {
        let sizes = sizes.to_vec();
        Self {
            quick: true,
            json: None,
            report: None,
            cpus: None,
            sizes,
            rounds: None,
            seconds: None,
        }
    }
}

/// Says before it starts what is to come.
fn announce(plan: &Plan) -> Result<(), Failure> {
    let seconds = plan.duration().as_secs_f64();
    let time = if seconds < 100.0 {
        format!("{:.0} seconds", seconds.max(1.0))
    } else {
        format!("{:.0} minutes", seconds / 60.0)
    };
    writeln!(
        std::io::stdout(),
        "{} rows, {} rounds: about {time}\n",
        plan.rows.len(),
        plan.rounds
    )?;
    Ok(())
}

fn tell(what: &str, path: &std::path::Path) -> Result<(), Failure> {
    writeln!(std::io::stdout(), "{what}: {}", path.display())?;
    Ok(())
}
