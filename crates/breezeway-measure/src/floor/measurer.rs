//! Rows of bare round trips, measured one after the other, each with a partner of its own.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use breezeway::describe;
use breezeway_os::{clock, cpu};

use super::partner::{Job, Kind, Partner, Partners, Variant};
use super::ring::{SharedRings, Throughput, echo, one_way, slots};
use super::socket::Receive;
use super::{SharedLines, futex, line, socket, touched};
use crate::Failure;
use crate::machine::Cpus;
use crate::report::floor::{Report, Row};
use crate::statistics::grouped;

const TOUCHED_SIZES: [usize; 5] = [64, 1 << 10, 64 << 10, 1 << 20, 4 << 20];
const SLOT_SIZES: [usize; 3] = [64 << 10, 1 << 20, 4 << 20];
const SOCKET_SIZES: [usize; 1] = [64];

/// Four million: far more than fit into the default time of a row.
const MOST_SAMPLES: usize = 1 << 22;

/// Number of slices of the line when there are no other rows to measure it between.
const SLICES: usize = 4;

/// Measures rows one after the other, each with a partner of its own.
///
/// The measuring process is this one; a partner is a child of the same executable, which must call
/// [`run`](super::partner::run) when it is started with [`FLOOR_PARTNER`](super::FLOOR_PARTNER).
/// The cache line is measured in slices before, between and after all other rows, because a
/// machine may jump between levels within seconds: a row is divided by the slices on both sides
/// of it.
#[derive(Debug)]
pub struct Measurer {
    partners: Partners,
    cpus: Cpus,
    time: Duration,
    samples: Vec<u64>,
}

impl Measurer {
    /// Measures each row for `time`, or for four million round trips. Takes over SIGINT and SIGTERM
    /// for the rest of the process, so that no partner is left behind.
    ///
    /// # Errors
    ///
    /// Whatever the kernel answers to `sigaction`.
    pub fn new(cpus: Cpus, time: Duration) -> Result<Self, Failure> {
        let partners = Partners::new()?;
        clock::calibrate();
        Ok(Self { partners, cpus, time, samples: Vec::with_capacity(MOST_SAMPLES) })
    }

    /// Measures every row between two slices of the line; without rows the line alone.
    ///
    /// # Errors
    ///
    /// A line that names the row that failed.
    pub fn measure(&mut self, jobs: &[Job]) -> Result<Report, Failure> {
        let mut slices = vec![self.slice()?];
        let mut rows = Vec::with_capacity(jobs.len());
        for &job in jobs {
            let row = self.row(job, self.time)?;
            slices.push(self.slice()?);
            rows.push(row);
        }
        while jobs.is_empty() && slices.len() < SLICES {
            slices.push(self.slice()?);
        }
        Ok(Report { cpus: [self.cpus.measurer, self.cpus.partner], slices, rows })
    }

    fn slice(&mut self) -> Result<f64, Failure> {
        self.row(Job::line(), self.time / SLICES as u32).map(|row| row.nanoseconds)
    }

    /// Measures one row in each of its variants and returns the fastest.
    fn row(&mut self, job: Job, time: Duration) -> Result<Row, Failure> {
        let variants = job.variants();
        let budget = clock::ticks_in(time / variants.len() as u32);
        let mut fastest: Option<Row> = None;
        for variant in variants {
            let (nanoseconds, round_trips) = self
                .sample(job, variant, budget)
                .map_err(|error| format!("the {job} row failed: {}", describe(&*error)))?
                .ok_or_else(|| {
                    format!("no {job} round trip fits into {time:?}: raise --milliseconds")
                })?;
            if fastest.as_ref().is_none_or(|row| nanoseconds < row.nanoseconds) {
                fastest = Some(Row { job, nanoseconds, round_trips });
            }
        }
        fastest.ok_or_else(|| "this row has no variant to measure".into())
    }

    /// Nanoseconds of a round trip or message, and how many there were.
    fn sample(&mut self, job: Job, way: Variant, budget: u64) -> Result<Option<Found>, Failure> {
        self.samples.clear();
        match job.kind {
            Kind::Unix => self.through_sockets(job, way, UnixStream::pair()?, budget)?,
            Kind::Tcp => self.through_sockets(job, way, loopback_pair()?, budget)?,
            Kind::RingOneWay | Kind::Slots | Kind::SlotsReturned => {
                let throughput = self.in_entries(job, way, budget)?;
                return Ok(throughput.nanoseconds().map(|each| (each, throughput.messages)));
            }
            Kind::Ring => self.by_ring(job, way, budget)?,
            Kind::Line | Kind::Touched | Kind::Futex => self.through_memory(job, way, budget)?,
        }
        let count = self.samples.len() as u64;
        Ok(grouped::median_nanoseconds(&mut self.samples).map(|median| (median, count)))
    }

    fn through_memory(&mut self, job: Job, way: Variant, budget: u64) -> Result<(), Failure> {
        let lines = SharedLines::create(job.size)?;
        let partner = self.start(job, way, lines.share()?)?;
        let samples = &mut self.samples;
        let measured = match job.kind {
            Kind::Futex => futex::measure(&lines, budget, samples),
            Kind::Touched => touched::measure(&lines, job.size, way.spin(), budget, samples),
            _ => line::measure(&lines, way.spin(), budget, samples),
        };
        partner.end(measured)
    }

    fn by_ring(&mut self, job: Job, way: Variant, budget: u64) -> Result<(), Failure> {
        let rings = SharedRings::create(0)?;
        let partner = self.start(job, way, rings.share()?)?;
        partner.end(echo::measure(&rings, way.spin(), budget, &mut self.samples))
    }

    /// A row whose messages don't wait for each other.
    fn in_entries(&self, job: Job, way: Variant, budget: u64) -> Result<Throughput, Failure> {
        let (spin, slots) = (way.spin(), slots::Slots { size: job.size, count: way.slots });
        let has_slots = job.kind != Kind::RingOneWay;
        let rings = SharedRings::create(if has_slots { slots.room() } else { 0 })?;
        let partner = self.start(job, way, rings.share()?)?;
        partner.end(match job.kind {
            Kind::Slots => slots::measure_one_way(&rings, slots, spin, budget),
            Kind::SlotsReturned => slots::measure_returned(&rings, slots, spin, budget),
            _ => one_way::measure(&rings, spin, budget),
        })
    }

    fn through_sockets<S>(
        &mut self,
        job: Job,
        way: Variant,
        pair: (S, S),
        budget: u64,
    ) -> Result<(), Failure>
    where
        S: AsFd + Into<OwnedFd>,
    {
        let (ours, theirs) = pair;
        let partner = self.start(job, way, theirs.into())?;
        let receive = if job.spin { Receive::Spinning } else { Receive::Blocking };
        let measured = socket::measure(&ours, job.size, receive, budget, &mut self.samples);
        // The partner ends when it sees the socket closed.
        drop(ours);
        partner.end(measured)
    }

    /// Starts the partner from its own CPU, so that the partner does not have to wait for this
    /// process to leave the CPU on which it spins.
    fn start(&self, job: Job, way: Variant, stdin: OwnedFd) -> Result<Partner, Failure> {
        cpu::pin_current_thread(self.cpus.partner)?;
        let partner = self.partners.start(job, way, self.cpus.partner, stdin)?;
        cpu::pin_current_thread(self.cpus.measurer)?;
        Ok(partner)
    }
}

/// Nanoseconds, and of how many round trips or messages.
type Found = (f64, u64);

/// The rows to measure, in the order of the table; the line is not among them.
///
/// `only` some kinds, or all if it is empty; `sizes` replace those of every row that has one.
#[must_use]
pub fn jobs(only: &[Kind], sizes: &[usize]) -> Vec<Job> {
    let wanted = |kind| only.is_empty() || only.contains(&kind);
    let sizes_or = |default: &[usize]| if sizes.is_empty() { default } else { sizes }.to_vec();
    let mut rows = Vec::new();
    if wanted(Kind::Touched) {
        rows.extend(sizes_or(&TOUCHED_SIZES).into_iter().map(Job::touched));
    }
    rows.extend(wanted(Kind::Ring).then(Job::ring));
    rows.extend(wanted(Kind::RingOneWay).then(Job::ring_one_way));
    for kind in [Kind::Slots, Kind::SlotsReturned] {
        if wanted(kind) {
            rows.extend(sizes_or(&SLOT_SIZES).into_iter().map(|size| Job::slots(kind, size)));
        }
    }
    if wanted(Kind::Futex) {
        rows.push(Job::futex());
    }
    for kind in [Kind::Unix, Kind::Tcp] {
        if wanted(kind) {
            for size in sizes_or(&SOCKET_SIZES) {
                rows.push(Job::socket(kind, size, false));
                rows.push(Job::socket(kind, size, true));
            }
        }
    }
    rows
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_measured_unless_only_some_are_wanted() {
        let slots = 2 * SLOT_SIZES.len();
        assert_eq!(jobs(&[], &[]).len(), TOUCHED_SIZES.len() + 2 + slots + 1 + 2 + 2);
        assert_eq!(jobs(&[Kind::Line], &[]), []);
        assert_eq!(jobs(&[Kind::Line, Kind::Futex], &[]), [Job::futex()]);
    }

    #[test]
    fn sizes_replace_those_of_all_rows_that_have_one() {
        let rows = jobs(&[Kind::Touched, Kind::Unix], &[5, 9]);
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
