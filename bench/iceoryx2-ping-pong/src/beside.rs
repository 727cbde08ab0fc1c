//! Breezeway and iceoryx2 in turn on the same work, in one run.
//!
//! The requester sets its request by memset, the responder reads and checks all of it and sets the
//! response by memset, the requester reads and checks all of that. Untouched means that this is
//! done with the first 8 bytes only. Each system has a server process of its own, which is stopped
//! while another one, or the floor, is measured.

mod fixed;
mod ours;
mod slice;
mod table;
mod work;

use crate::participant::{Participant, Polling};
use breezeway_measure::floor::Measurer;
use breezeway_measure::floor::partner::Job;
use breezeway_measure::load::{Extent, closed_loop};
use breezeway_measure::machine::{Cpus, Machine, pin};
use breezeway_measure::process::{self, Server};
use breezeway_measure::{Failure, machine};
use clap::ValueEnum;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use table::Row;
use work::Work;

/// Makes one round trip, of this number.
type Exchange = Box<dyn FnMut(u64) -> Result<(), Failure>>;

/// System that answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum System {
    Iceoryx2,
    /// Both sides copy before they check, as a session does by default.
    Safe,
    /// Both sides check in place, as a session of peers that trust each other does.
    Trusted,
}

impl System {
    const ALL: [Self; 3] = [Self::Iceoryx2, Self::Safe, Self::Trusted];

    fn name(self) -> &'static str {
        match self {
            Self::Iceoryx2 => "iceoryx2",
            Self::Safe => "safe",
            Self::Trusted => "trusted",
        }
    }
}

/// Options of a measurement.
#[derive(clap::Args)]
pub(crate) struct Settings {
    /// Turns of each system in each row
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Milliseconds of each turn
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    turn: u64,
    /// Bytes of a request and of its response; may be repeated
    #[arg(long = "size", value_name = "B", default_values_t = [48, 1 << 10, 64 << 10, 1 << 20, 4 << 20], value_parser = clap::value_parser!(u32).range(8..=16 << 20))]
    sizes: Vec<u32>,
}

/// Arguments of a server process.
#[derive(clap::Args)]
pub(crate) struct Serving {
    #[arg(value_enum)]
    system: System,
    #[command(flatten)]
    work: Work,
    #[arg(long)]
    path: PathBuf,
    #[arg(long)]
    cpu: usize,
    #[arg(long)]
    parent: i32,
}

/// Answers until a signal ends it, or the process that measures is gone.
pub(crate) fn serve(serving: &Serving) -> Result<(), Failure> {
    process::end_with(serving.parent, "iceoryx2-ping-pong beside")?;
    let polling = Polling::until_stopped()?;
    pin(Some(serving.cpu))?;
    let Serving { work, path, .. } = serving;
    match serving.system {
        System::Safe => ours::serve(path, *work, false),
        System::Trusted => ours::serve(path, *work, true),
        System::Iceoryx2 if work.size == fixed::SIZE => {
            fixed::serve(&participant(path, *work)?, &polling, *work)
        }
        System::Iceoryx2 => slice::serve(&participant(path, *work)?, &polling, *work),
    }
}

/// The path makes the name of the service one of its own.
fn participant(path: &Path, work: Work) -> Result<Participant, Failure> {
    Participant::new(&path.display().to_string(), work.size)
}

/// Measures all rows and prints a table.
pub(crate) fn run(settings: &Settings) -> Result<(), Failure> {
    let cpus = Cpus::first_allowed()?;
    cpus.check()?;
    let facts = Machine::detect(cpus).facts();
    let mut measurer = Measurer::new(cpus, Duration::from_millis(settings.turn))?;
    machine::pin(Some(cpus.measurer))?;
    for (name, value) in facts {
        println!("{name}: {value}");
    }
    println!("\n{}", table::header());
    for touched in [true, false] {
        for &size in &settings.sizes {
            let work = Work::new(size as usize, touched);
            println!("{}", row(settings, cpus, work, &mut measurer)?);
        }
    }
    Ok(())
}

/// One system with its server, which runs only in the system's turns.
struct Contender {
    server: Server,
    exchange: Exchange,
}

impl Contender {
    fn start(system: System, work: Work, cpus: Cpus, folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(system.name());
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("beside-serve").arg(system.name()).args(work.arguments());
        command.arg("--path").arg(&path).arg(format!("--cpu={}", cpus.partner));
        command.arg(format!("--parent={}", std::process::id()));
        let server = Server::start(command, &folder.join("log"))?;
        let exchange = server.during(|| match system {
            System::Safe => ours::requester(&path, work, false),
            System::Trusted => ours::requester(&path, work, true),
            System::Iceoryx2 if work.size == fixed::SIZE => {
                fixed::requester(participant(&path, work)?, Polling::until_stopped()?, work)
            }
            System::Iceoryx2 => {
                slice::requester(participant(&path, work)?, Polling::until_stopped()?, work)
            }
        })??;
        Ok(Self { server, exchange })
    }

    /// The median round trip of a turn, in nanoseconds.
    fn turn(&mut self, extent: Extent) -> Result<f64, Failure> {
        let exchange = &mut self.exchange;
        let measurement = self.server.during(|| closed_loop(extent, exchange))??;
        let percentiles = measurement.latencies.and_then(|latencies| latencies.percentiles());
        Ok(percentiles.ok_or("a turn without a round trip")?.p50)
    }
}

fn row(
    settings: &Settings,
    cpus: Cpus,
    work: Work,
    measurer: &mut Measurer,
) -> Result<Row, Failure> {
    let folder = tempfile::tempdir()?;
    let start = |system| Contender::start(system, work, cpus, folder.path());
    let mut contenders = System::ALL.into_iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let extent = Extent { count: None, seconds: settings.turn as f64 / 1e3 };
    let mut row = Row::new(work);
    for _ in 0..settings.pairs {
        let bare = bare(measurer, work)?;
        let mut times = [0.0; 3];
        for (time, contender) in times.iter_mut().zip(&mut contenders) {
            *time = contender.turn(extent)?;
        }
        row.add(bare, times);
    }
    Ok(row)
}

/// Returns the time of the round trip with nothing around it.
fn bare(measurer: &mut Measurer, work: Work) -> Result<f64, Failure> {
    let jobs: &[Job] = if work.is_far_from_a_line() { &[Job::touched(work.size)] } else { &[] };
    let report = measurer.measure(jobs)?.json();
    let field = if jobs.is_empty() { "/line_ns" } else { "/touched/0/p50_ns" };
    report.pointer(field).and_then(|value| value.as_f64()).ok_or_else(|| "no floor".into())
}
