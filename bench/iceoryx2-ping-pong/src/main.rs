//! Request-response of iceoryx2 between two processes, measured like `breezeway bench`.
//!
//! Both sides poll. 48 bytes travel as a plain struct, every other size as a slice of bytes. The
//! requester writes every byte, the responder copies every byte, the requester compares every byte.

mod beside;
mod fixed;
mod participant;
mod slice;

use breezeway_measure::floor::partner::{self, Partnership};
use breezeway_measure::load::Extent;
use breezeway_measure::report::bench::{Report, Setup};
use breezeway_measure::{Failure, machine, process};
use clap::{Parser, Subcommand};
use participant::{Participant, Polling};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Example:
  iceoryx2-ping-pong serve --name echo --size 48 --cpu 1 &
  iceoryx2-ping-pong bench --name echo --size 48 --seconds 5 --cpu 0
  kill %1
  iceoryx2-ping-pong beside --size 65536";

/// Measure request-response of iceoryx2 between two processes
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Answer requests until SIGTERM or SIGINT, or until none has come for 60 s
    #[command(after_help = EXAMPLES)]
    Serve(Service),
    /// Measure round trips and print one line of JSON
    #[command(after_help = EXAMPLES)]
    Bench {
        #[command(flatten)]
        service: Service,
        #[command(flatten)]
        extent: Extent,
    },
    /// Measure Breezeway and iceoryx2 in turn on the same work and print a table
    Beside(beside::Settings),
    #[command(hide = true)]
    BesideServe(beside::Serving),
    #[command(hide = true)]
    FloorPartner(Partnership),
}

/// Parameters that both sides share, and the CPU of this one.
#[derive(clap::Args)]
struct Service {
    /// The name of the service
    #[arg(long)]
    name: String,
    /// Bytes of a request and of its response; both sides must name the same
    #[arg(long, value_name = "B", default_value_t = fixed::SIZE as u32, value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    size: u32,
    /// Run on this CPU only
    #[arg(long, value_name = "C")]
    cpu: Option<usize>,
}

impl Service {
    fn size(&self) -> usize {
        self.size as usize
    }

    fn has_fixed_size(&self) -> bool {
        self.size() == fixed::SIZE
    }
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(service) => serve(&service),
        Command::Bench { service, extent } => bench(&service, extent),
        Command::Beside(settings) => beside::run(&settings),
        Command::BesideServe(serving) => beside::serve(&serving),
        Command::FloorPartner(partnership) => partner::run(partnership),
    };
    process::report("iceoryx2-ping-pong", outcome)
}

fn serve(service: &Service) -> Result<(), Failure> {
    let polling = Polling::until_stopped_or_idle()?;
    machine::pin(service.cpu)?;
    let participant = Participant::new(&service.name, service.size())?;
    if service.has_fixed_size() {
        fixed::serve(&participant, &polling)
    } else {
        slice::serve(&participant, &polling, service.size())
    }
}

fn bench(service: &Service, extent: Extent) -> Result<(), Failure> {
    let polling = Polling::until_stopped()?;
    machine::pin(service.cpu)?;
    let participant = Participant::new(&service.name, service.size())?;
    let measurement = if service.has_fixed_size() {
        fixed::bench(&participant, &polling, extent)?
    } else {
        slice::bench(&participant, &polling, extent, service.size())?
    };
    let setup = Setup::round_trips("iceoryx2 request-response", "busy", service.size());
    println!("{}", Report::new(setup, &measurement).json());
    Ok(())
}
