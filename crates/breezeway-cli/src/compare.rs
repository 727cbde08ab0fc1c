//! `breezeway compare`: every carrier and wait policy at every size, in µs and in floors.

mod output;
pub(crate) mod owned;
pub(crate) mod plain;

use std::io::Write;
use std::path::PathBuf;

use breezeway_measure::comparison::{Comparison, Pattern, Plan, Settings, Step};
use breezeway_measure::machine::Cpus;
use breezeway_measure::process::Interrupt;
use breezeway_measure::report::{page, text};
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::settings::value;
use output::Output;

const EXAMPLES: &str = "\
Examples:
  breezeway compare --quick                       a first impression, under a minute
  breezeway compare --report compare.html         all sizes, with charts
  breezeway compare --quick --json compare.json --cpus 2,3
  breezeway compare --quick --size 64 --size 64KiB

Starts its own servers and ends them. The floor, a bare cache-line round trip, is measured between \
any two measurements, while all servers are stopped; a ratio is divided by the floors on both \
sides of it. Measurements that other programs disturb are repeated, at most a quarter of all, and \
marked if they are disturbed again. Rare calls (64 bytes, default options, not pinned, both \
programs asleep between calls) stand beside the same program over a plain unix socket; disturbed \
rounds of them are not repeated. Stop other work on the two CPUs first.";

/// Compare every carrier and wait policy at every size
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Fewer sizes and shorter measurements: under a minute
    #[arg(long)]
    quick: bool,
    /// Write all figures here
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a page with charts here: one file of HTML that loads nothing else
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// The CPUs of the measuring process and of the server [default: the first two allowed]
    #[arg(long, value_name = "A,B")]
    cpus: Option<Cpus>,
    /// Bytes of a message, such as 64 or 1MiB; may be repeated [default: ten sizes from 8 B to 4
    /// MiB, six with --quick]
    #[arg(long = "size", value_name = "BYTES", value_parser = value::size_up_to::<LARGEST>)]
    sizes: Vec<u32>,
    /// Times that each row is measured [default: 9, 3 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Seconds of one measurement, also of rare calls [default: 0.2, 0.05 with --quick; of rare
    /// calls 0.15 to 3, by rate]
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds: Option<f64>,
}

/// Largest size: with as many calls in flight as a pipelined row has, it still fits into the
/// default cap of a session.
const LARGEST: u32 = 4 << 20;

/// Patterns that this build cannot measure.
const LEFT_OUT: &[(Pattern, &str)] = &[
    #[cfg(not(feature = "grpc"))]
    (Pattern::Grpc, "left out: this build of the command lacks the cargo feature grpc"),
    #[cfg(not(feature = "grpc"))]
    (Pattern::GrpcHttp2, "left out: this build of the command lacks the cargo feature grpc"),
    #[cfg(not(feature = "thrift"))]
    (Pattern::Thrift, "left out: this build of the command lacks the cargo feature thrift"),
];

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 60.0 => Ok(seconds),
        _ => Err("expected a number above 0, up to 60".to_owned()),
    }
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let cpus = args.cpus.map_or_else(Cpus::first_allowed, Ok)?;
    cpus.check()?;
    let json = args.json.as_deref().map(Output::prepare).transpose()?;
    let report = args.report.as_deref().map(Output::prepare).transpose()?;
    let interrupt = Interrupt::watch()?;
    let plan = Plan::new(&args.settings(), cpus);
    announce(&plan)?;
    let comparison = measured(&plan, &interrupt)?;
    write!(std::io::stdout(), "{}", text::comparison(&comparison))?;
    if report.is_none() {
        writeln!(
            std::io::stdout(),
            "\nCharts, spread and the commands that repeat each row: --report FILE.html"
        )?;
    }
    if let Some(json) = json {
        say("figures", &json.write(&serde_json::to_string(&comparison)?)?)?;
    }
    if let Some(report) = report {
        say("report", &report.write(&page::comparison(&comparison))?)?;
    }
    Ok(())
}

fn measured(plan: &Plan, interrupt: &Interrupt) -> Result<Comparison, Failure> {
    let bar = progress_bar(plan.steps());
    let program = std::env::current_exe()?;
    let comparison = Comparison::measure(plan, &program, interrupt, &mut |step| match step {
        Step::Begins(row) => {
            bar.set_message(format!("{} {}", row.series.name(), row.pattern.name()));
        }
        Step::Done => bar.inc(1),
        Step::Repeats(row) => {
            bar.set_message(format!("again: {} {}", row.series.name(), row.pattern.name()));
        }
        Step::Rare(rate) => bar.set_message(format!("rare calls {rate}/s")),
    });
    bar.finish_and_clear();
    comparison
}

/// On standard error, and only if that is a terminal.
fn progress_bar(steps: usize) -> ProgressBar {
    const TEMPLATE: &str = "{wide_bar} {pos}/{len} {eta:>4} left  {msg:<28}";
    let style = ProgressStyle::with_template(TEMPLATE).expect("a valid template");
    ProgressBar::new(steps as u64).with_style(style)
}

impl Args {
    fn settings(&self) -> Settings {
        Settings {
            quick: self.quick,
            sizes: self.sizes.iter().map(|&size| size as usize).collect(),
            rounds: self.rounds,
            seconds: self.seconds,
            left_out: LEFT_OUT.to_vec(),
        }
    }
}

/// Announces a run before it starts.
fn announce(plan: &Plan) -> Result<(), Failure> {
    let seconds = plan.duration().as_secs_f64();
    let time = if seconds < 100.0 {
        format!("{:.0} seconds", seconds.max(1.0))
    } else {
        format!("{:.0} minutes", seconds / 60.0)
    };
    writeln!(
        std::io::stdout(),
        "{} rows and {} rates of rare calls, {} rounds: about {time}\n",
        plan.rows.len(),
        plan.rare.len(),
        plan.rounds
    )?;
    Ok(())
}

fn say(what: &str, path: &std::path::Path) -> Result<(), Failure> {
    writeln!(std::io::stdout(), "{what}: {}", path.display())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::Cli;

    #[test]
    fn the_commands_to_repeat_a_row_are_commands() {
        let settings = Settings { quick: true, sizes: vec![64, 65_536], ..Settings::default() };
        let plan = Plan::new(&settings, Cpus { measurer: 0, partner: 1 });
        let rare = plan.rare.iter().map(|rate| rate.commands());
        for commands in plan.rows.iter().map(|row| row.commands(&plan)).chain(rare) {
            assert!((1..=4).contains(&commands.len()), "{commands:?}");
            for command in commands {
                let parsed = Cli::try_parse_from(command.split(' '));
                assert!(parsed.is_ok(), "{command}: {:?}", parsed.err());
            }
        }
    }
}
