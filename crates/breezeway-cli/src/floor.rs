//! `breezeway floor`: bare round trips between two pinned processes.
//!
//! The measuring process is this one; its partner is a child of the same executable, one per row.
//! The cache line is measured in slices before, between and after all other rows, because a
//! machine may jump between levels within seconds: a row is divided by the slices on both sides
//! of it.

pub(crate) mod median;
pub(crate) mod partner;
mod report;

use crate::Failure;
use crate::settings::value;
use breezeway_measure::floor::socket::Receive;
use breezeway_measure::floor::{self, SharedLines};
use breezeway_os::{clock, cpu};
use clap::ValueEnum;
use partner::{Job, Partner, Partners};
use report::{Report, Row};
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  breezeway floor                        everything, on the first two allowed CPUs
  breezeway floor --cpus 2,3 --json      one JSON object on one line
  breezeway floor --only line --milliseconds 50
                                         a quick floor to go with a benchmark
  breezeway floor --only touched --size 1KiB --size 64KiB

Durations are medians. `floors` divides a row by the cache-line round trips measured directly
before and after it; a ? marks a row during which the machine changed its speed, so that its ratio
means nothing. Stop other work on the two CPUs first.";

/// Measure what this machine can do: bare round trips between two pinned processes
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The CPUs of the measuring process and of its partner [default: the first two allowed]
    #[arg(long, value_name = "A,B", value_parser = parse_cpus)]
    cpus: Option<Cpus>,
    /// Print one line with one JSON object
    #[arg(long)]
    json: bool,
    /// Measure only these rows
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    only: Vec<Name>,
    /// Bytes of a touched, unix or tcp round trip; may be repeated [default: touched 64, 1 KiB,
    /// 64 KiB, 1 MiB and 4 MiB, sockets 64]
    #[arg(long = "size", value_name = "BYTES", value_parser = value::size_up_to::<LARGEST>)]
    sizes: Vec<u32>,
    /// Measuring time of each row; a row also ends after four million round trips
    #[arg(long, value_name = "N", default_value_t = 80, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    milliseconds: u32,
}

/// A gibibyte: two such payloads still fit into the memory of ordinary machines.
const LARGEST: u32 = 1 << 30;

const TOUCHED_SIZES: [usize; 5] = [64, 1 << 10, 64 << 10, 1 << 20, 4 << 20];
const SOCKET_SIZES: [usize; 1] = [64];

/// Four million: far more than fit into the default time of a row.
const MOST_SAMPLES: usize = 1 << 22;

/// How many slices the line is measured in when there are no other rows to measure it between.
const SLICES: usize = 4;

/// A kind of row, as named on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    Line,
    Touched,
    Futex,
    Unix,
    Tcp,
}

/// The two CPUs of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cpus {
    pub(crate) measurer: usize,
    pub(crate) partner: usize,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let cpus = args.cpus.map_or_else(|| first_two(&cpu::allowed()), Ok)?;
    check(cpus)?;
    let partners = Partners::new()?;
    clock::calibrate();
    let mut measurer = Measurer::new(partners, cpus, args.milliseconds);
    let rows = rows(&args.only, &args.sizes);
    let report = measurer.measure(&rows)?;
    let text = if args.json { format!("{}\n", report.json()) } else { report.table() };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

pub(crate) fn parse_cpus(text: &str) -> Result<Cpus, String> {
    let (first, second) = text.split_once(',').ok_or("expected two CPU numbers, as in 0,1")?;
    let number = |text: &str| {
        text.trim().parse::<usize>().map_err(|_| format!("{text:?} is not a CPU number"))
    };
    let cpus = Cpus { measurer: number(first)?, partner: number(second)? };
    if cpus.measurer == cpus.partner {
        return Err("the two CPUs must differ, both sides spin at the same time".to_owned());
    }
    Ok(cpus)
}

pub(crate) fn first_two(allowed: &[usize]) -> Result<Cpus, String> {
    match *allowed {
        [measurer, partner, ..] => Ok(Cpus { measurer, partner }),
        _ => Err(format!(
            "the floor needs two CPUs, but this process may use only {allowed:?}: start it with a \
             wider affinity (taskset -c 0,1) or name two with --cpus A,B"
        )),
    }
}

/// Finds out before a partner is started whether both CPUs can be had.
pub(crate) fn check(cpus: Cpus) -> Result<(), Failure> {
    for number in [cpus.measurer, cpus.partner] {
        // On a thread of its own, because a pinned one no longer knows which CPUs were allowed.
        let pinned = std::thread::spawn(move || cpu::pin_current_thread(number)).join();
        let pinned =
            pinned.map_err(|_| format!("cannot find out whether cpu {number} is usable"))?;
        pinned.map_err(|error| format!("{error}; choose two of them with --cpus A,B"))?;
    }
    Ok(())
}

/// The rows to measure, in the order of the table; the line is not among them.
fn rows(only: &[Name], sizes: &[u32]) -> Vec<Job> {
    let wanted = |name| only.is_empty() || only.contains(&name);
    let sizes_or = |default: &[usize]| match sizes {
        [] => default.to_vec(),
        _ => sizes.iter().map(|&size| size as usize).collect(),
    };
    let mut rows = Vec::new();
    if wanted(Name::Touched) {
        rows.extend(sizes_or(&TOUCHED_SIZES).into_iter().map(Job::touched));
    }
    if wanted(Name::Futex) {
        rows.push(Job::futex());
    }
    for (name, kind) in [(Name::Unix, partner::Kind::Unix), (Name::Tcp, partner::Kind::Tcp)] {
        if wanted(name) {
            for size in sizes_or(&SOCKET_SIZES) {
                rows.push(Job::socket(kind, size, false));
                rows.push(Job::socket(kind, size, true));
            }
        }
    }
    rows
}

/// Measures rows one after the other, each with a partner of its own.
struct Measurer {
    partners: Partners,
    cpus: Cpus,
    time: Duration,
    samples: Vec<u64>,
}

impl Measurer {
    fn new(partners: Partners, cpus: Cpus, milliseconds: u32) -> Self {
        let time = Duration::from_millis(milliseconds.into());
        Self { partners, cpus, time, samples: Vec::with_capacity(MOST_SAMPLES) }
    }

    /// Measures every row between two slices of the line; without rows the line alone.
    fn measure(&mut self, jobs: &[Job]) -> Result<Report, Failure> {
        let mut slices = vec![self.slice()?];
        let mut rows = Vec::with_capacity(jobs.len());
        for &job in jobs {
            let nanoseconds = self.row(job, self.time)?;
            slices.push(self.slice()?);
            rows.push(Row { job, nanoseconds });
        }
        while jobs.is_empty() && slices.len() < SLICES {
            slices.push(self.slice()?);
        }
        Ok(Report { cpus: [self.cpus.measurer, self.cpus.partner], slices, rows })
    }

    fn slice(&mut self) -> Result<f64, Failure> {
        self.row(Job::line(), self.time / SLICES as u32)
    }

    /// The median round trip of one row in nanoseconds.
    fn row(&mut self, job: Job, time: Duration) -> Result<f64, Failure> {
        self.samples.clear();
        let budget = clock::ticks_in(time);
        self.sample(job, budget).map_err(|error| format!("the {job} row failed: {error}"))?;
        median::nanoseconds(&mut self.samples).ok_or_else(|| {
            format!("no {job} round trip fits into {time:?}: raise --milliseconds").into()
        })
    }

    fn sample(&mut self, job: Job, budget: u64) -> Result<(), Failure> {
        match job.kind {
            partner::Kind::Unix => self.through_sockets(job, UnixStream::pair()?, budget),
            partner::Kind::Tcp => self.through_sockets(job, loopback_pair()?, budget),
            _ => self.through_memory(job, budget),
        }
    }

    fn through_memory(&mut self, job: Job, budget: u64) -> Result<(), Failure> {
        let lines = SharedLines::create(job.size)?;
        let partner = self.start(job, lines.share()?)?;
        let samples = &mut self.samples;
        let measured = match job.kind {
            partner::Kind::Futex => floor::futex::measure(&lines, budget, samples),
            partner::Kind::Touched => floor::touched::measure(&lines, job.size, budget, samples),
            _ => floor::line::measure(&lines, budget, samples),
        };
        partner.end(measured)
    }

    fn through_sockets<S>(&mut self, job: Job, pair: (S, S), budget: u64) -> Result<(), Failure>
    where
        S: AsFd + Into<OwnedFd>,
    {
        let (ours, theirs) = pair;
        let partner = self.start(job, theirs.into())?;
        let measured =
            floor::socket::measure(&ours, job.size, job.receive(), budget, &mut self.samples);
        // The partner ends when it sees the socket closed.
        drop(ours);
        partner.end(measured)
    }

    /// Starts the partner from its own CPU, so that it does not have to wait there for this
    /// process to let go of the CPU on which it spins.
    fn start(&self, job: Job, stdin: OwnedFd) -> Result<Partner, Failure> {
        cpu::pin_current_thread(self.cpus.partner)?;
        let partner = self.partners.start(job, self.cpus.partner, stdin)?;
        cpu::pin_current_thread(self.cpus.measurer)?;
        Ok(partner)
    }
}

/// Two connected TCP sockets on the loopback interface, without Nagle's delay.
fn loopback_pair() -> Result<(TcpStream, TcpStream), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let ours = TcpStream::connect(listener.local_addr()?)?;
    let (theirs, from) = listener.accept()?;
    if from != ours.local_addr()? {
        return Err("another process connected to the loopback socket of the measurement".into());
    }
    ours.set_nodelay(true)?;
    theirs.set_nodelay(true)?;
    Ok((ours, theirs))
}

impl Job {
    fn receive(&self) -> Receive {
        if self.spin { Receive::Spinning } else { Receive::Blocking }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_two_different_numbers() {
        assert_eq!(parse_cpus("0,1"), Ok(Cpus { measurer: 0, partner: 1 }));
        assert_eq!(parse_cpus("7, 2"), Ok(Cpus { measurer: 7, partner: 2 }));
        for text in ["", "0", "0,", ",1", "0,1,2", "a,b", "-1,0", "0-1", "3,3"] {
            assert!(parse_cpus(text).is_err(), "{text}");
        }
    }

    #[test]
    fn one_allowed_cpu_is_too_few_and_the_error_says_what_to_do() {
        assert_eq!(first_two(&[4, 6, 7]), Ok(Cpus { measurer: 4, partner: 6 }));
        for allowed in [&[][..], &[3]] {
            let error = first_two(allowed).unwrap_err();
            assert!(error.contains("two CPUs") && error.contains("--cpus"), "{error}");
        }
    }

    #[test]
    fn every_row_is_measured_unless_only_some_are_wanted() {
        assert_eq!(rows(&[], &[]).len(), TOUCHED_SIZES.len() + 1 + 2 + 2);
        assert_eq!(rows(&[Name::Line], &[]), []);
        assert_eq!(rows(&[Name::Line, Name::Futex], &[]), [Job::futex()]);
    }

    #[test]
    fn sizes_replace_those_of_all_rows_that_have_one() {
        let rows = rows(&[Name::Touched, Name::Unix], &[5, 9]);
        let sizes: Vec<_> = rows.iter().map(|job| job.size).collect();
        assert_eq!(sizes, [5, 9, 5, 5, 9, 9]);
    }

    #[test]
    fn a_loopback_pair_is_connected_both_ways() {
        let (ours, theirs) = loopback_pair().unwrap();
        assert_eq!(ours.local_addr().unwrap(), theirs.peer_addr().unwrap());
        assert!(ours.nodelay().unwrap() && theirs.nodelay().unwrap());
    }
}
