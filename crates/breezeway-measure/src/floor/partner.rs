//! The partner process of a measurement: its start, its work and its end.
//!
//! The partner gets its memory or socket as standard input. It ends when the measuring side is
//! done, is killed and reaped on every other way out, and gets a signal when its parent dies
//! without cleaning up.

use super::ring::{self, SharedRings, echo, one_way, slots};
use super::socket::Receive;
use super::spin::Spin;
use super::{FloorError, SharedLines, futex, line, socket, touched};
use crate::Failure;
use crate::process::end_with;
use crate::report::units::bytes;
use breezeway::describe;
use breezeway_os::cpu;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Subcommand with which this executable must call [`run`].
pub const FLOOR_PARTNER: &str = "floor-partner";

/// Kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Kind {
    /// One cache line there, one back.
    Line,
    /// Bytes that are written, copied and compared.
    Touched,
    /// The bare ring: 40 bytes in an entry there, and back.
    Ring,
    /// The bare ring one way: 40 bytes in each entry, in batches of 64.
    RingOneWay,
    /// Large payload one way by the bare ring, in a few slots that stay in the caches.
    Slots,
    /// Sixteen slots that the partner copies back, all in flight.
    SlotsReturned,
    /// Both sides sleep on a futex.
    Futex,
    /// A unix stream socket.
    Unix,
    /// TCP over the loopback interface.
    Tcp,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Touched => "touched",
            Self::Ring => "ring",
            Self::RingOneWay => "ring-one-way",
            Self::Slots => "slots",
            Self::SlotsReturned => "slots-returned",
            Self::Futex => "futex",
            Self::Unix => "unix",
            Self::Tcp => "tcp",
        }
    }
}

/// One row of the measurement, for both of its sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Job {
    /// Which loop to run
    #[cfg_attr(feature = "clap", arg(long, value_enum))]
    pub kind: Kind,
    /// Bytes of a round trip
    #[cfg_attr(feature = "clap", arg(long))]
    pub size: usize,
    /// Receive without blocking
    #[cfg_attr(feature = "clap", arg(long))]
    pub spin: bool,
}

impl Job {
    /// The floor itself.
    #[must_use]
    pub fn line() -> Self {
        Self { kind: Kind::Line, size: 0, spin: true }
    }

    /// Bare touched memory of `size` bytes.
    #[must_use]
    pub fn touched(size: usize) -> Self {
        Self { kind: Kind::Touched, size, spin: true }
    }

    /// The bare ring, there and back.
    #[must_use]
    pub fn ring() -> Self {
        Self { kind: Kind::Ring, size: ring::INLINE, spin: true }
    }

    /// The bare ring one way.
    #[must_use]
    pub fn ring_one_way() -> Self {
        Self { kind: Kind::RingOneWay, size: ring::INLINE, spin: true }
    }

    /// `size` bytes in slots, by a kind that has them.
    #[must_use]
    pub fn slots(kind: Kind, size: usize) -> Self {
        Self { kind, size, spin: true }
    }

    /// Two processes that wake each other.
    #[must_use]
    pub fn futex() -> Self {
        Self { kind: Kind::Futex, size: 0, spin: false }
    }

    /// `size` bytes through a socket of `kind`.
    #[must_use]
    pub fn socket(kind: Kind, size: usize, spin: bool) -> Self {
        Self { kind, size, spin }
    }

    /// Returns the variants of this row; the fastest one counts.
    pub(super) fn variants(self) -> Vec<Variant> {
        let pauses: &[bool] = match self.kind {
            Kind::Line | Kind::Touched | Kind::Ring | Kind::RingOneWay => &[false, true],
            // The way of spinning does not matter beside moving the bytes.
            Kind::Slots | Kind::SlotsReturned => &[true],
            Kind::Futex | Kind::Unix | Kind::Tcp => &[false],
        };
        let slots: &[usize] = match self.kind {
            Kind::Slots => &slots::ONE_WAY,
            Kind::SlotsReturned => &[slots::RETURNED],
            _ => &[1],
        };
        let ways = |&pause: &bool| slots.iter().map(move |&slots| Variant { pause, slots });
        pauses.iter().flat_map(ways).collect()
    }

    fn arguments(self) -> Vec<String> {
        let mut arguments =
            vec![format!("--kind={}", self.kind.name()), format!("--size={}", self.size)];
        arguments.extend(self.spin.then(|| "--spin".to_owned()));
        arguments
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wait = if self.spin { "spinning" } else { "blocking" };
        match self.kind {
            Kind::Line => f.write_str("cache line"),
            Kind::Futex => f.write_str("futex"),
            Kind::Touched => write!(f, "touched {}", bytes(self.size)),
            Kind::Ring => write!(f, "bare ring {}", bytes(self.size)),
            Kind::RingOneWay => write!(f, "bare ring one-way {}", bytes(self.size)),
            Kind::Slots => write!(f, "hot slots one-way {}", bytes(self.size)),
            Kind::SlotsReturned => write!(f, "hot slots returned {}", bytes(self.size)),
            Kind::Unix => write!(f, "unix {} {wait}", bytes(self.size)),
            Kind::Tcp => write!(f, "tcp {} {wait}", bytes(self.size)),
        }
    }
}

/// One way to do a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Variant {
    /// Spin with the CPU's pause instruction
    #[cfg_attr(feature = "clap", arg(long))]
    pub pause: bool,
    /// Slots of large payload
    #[cfg_attr(feature = "clap", arg(long, default_value_t = 1))]
    pub slots: usize,
}

impl Variant {
    pub(super) fn spin(self) -> Spin {
        if self.pause { Spin::Pausing } else { Spin::Tight }
    }

    fn arguments(self) -> Vec<String> {
        let pause = self.pause.then(|| "--pause".to_owned());
        pause.into_iter().chain([format!("--slots={}", self.slots)]).collect()
    }
}

/// Arguments of a partner process.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Partnership {
    /// The row to measure
    #[cfg_attr(feature = "clap", command(flatten))]
    pub job: Job,
    /// The variant of the row
    #[cfg_attr(feature = "clap", command(flatten))]
    pub variant: Variant,
    /// The CPU to run on
    #[cfg_attr(feature = "clap", arg(long))]
    pub cpu: usize,
    /// The process that measures
    #[cfg_attr(feature = "clap", arg(long))]
    pub parent: i32,
}

/// Runs the partner's side of one row.
///
/// # Errors
///
/// Whatever ends the row; the measuring side reports it too.
pub fn run(args: Partnership) -> Result<(), Failure> {
    end_with(args.parent, "breezeway floor")?;
    cpu::pin_current_thread(args.cpu)?;
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    answer(args.job, args.variant.spin(), stdin)?;
    Ok(())
}

fn answer(job: Job, spin: Spin, stdin: OwnedFd) -> Result<(), FloorError> {
    let receive = if job.spin { Receive::Spinning } else { Receive::Blocking };
    match job.kind {
        Kind::Line => line::answer(&SharedLines::open(stdin)?, spin),
        Kind::Touched => touched::answer(&SharedLines::open(stdin)?, job.size, spin),
        Kind::Ring => echo::answer(&SharedRings::open(stdin)?, spin),
        Kind::RingOneWay => one_way::answer(&SharedRings::open(stdin)?, spin),
        Kind::Slots => slots::take(&SharedRings::open(stdin)?, spin),
        Kind::SlotsReturned => slots::give_back(&SharedRings::open(stdin)?, spin),
        Kind::Futex => futex::answer(&SharedLines::open(stdin)?),
        Kind::Unix | Kind::Tcp => socket::answer(&stdin, job.size, receive),
    }
}

/// Starts partners, one at a time, and ends the one that runs when SIGINT or SIGTERM ends this
/// process.
#[derive(Debug)]
pub(super) struct Partners {
    running: Running,
}

/// The running partner. The thread that takes it out reaps it.
type Running = Arc<Mutex<Option<Child>>>;

impl Partners {
    /// Takes over SIGINT and SIGTERM for the rest of the process.
    pub(super) fn new() -> Result<Self, Failure> {
        let running = Running::default();
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let watched = Arc::clone(&running);
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            if let Some(signal) = signals.forever().next() {
                // Held until the process is gone, so that no further partner is started.
                let mut running = lock(&watched);
                kill(running.take());
                let _ = emulate_default_handler(signal);
            }
        })?;
        Ok(Self { running })
    }

    /// Starts a partner that runs `job` on `cpu` over `stdin`.
    pub(super) fn start(
        &self,
        job: Job,
        variant: Variant,
        cpu: usize,
        stdin: OwnedFd,
    ) -> io::Result<Partner> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(FLOOR_PARTNER).args(job.arguments()).args(variant.arguments());
        command.arg(format!("--cpu={cpu}")).arg(format!("--parent={}", std::process::id()));
        // Silent, because its errors are reported here, in one line.
        command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = lock(&self.running);
        *running = Some(command.spawn()?);
        Ok(Partner { running: Arc::clone(&self.running) })
    }
}

/// A running partner; killed and reaped when dropped.
pub(super) struct Partner {
    running: Running,
}

impl Partner {
    /// Ends a measurement: reaps the partner and returns the error of whichever side failed.
    pub(super) fn end<T>(self, measured: Result<T, FloorError>) -> Result<T, Failure> {
        let child = lock(&self.running).take();
        let mut child = child.ok_or("the measurement was interrupted")?;
        let early = child.try_wait()?.filter(|status| !status.success());
        kill_unless_done(child, measured.is_ok());
        match (measured, early) {
            (Ok(found), _) => Ok(found),
            (Err(error), None) => Err(error.into()),
            (Err(error), Some(status)) => {
                let reason = describe(&error);
                Err(format!("{reason} (the partner process ended early, {status})").into())
            }
        }
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        kill(lock(&self.running).take());
    }
}

/// After a successful measurement the partner has been asked to end and does so at once.
fn kill_unless_done(mut child: Child, done: bool) {
    if done {
        let _ = child.wait();
    } else {
        kill(Some(child));
    }
}

fn kill(child: Option<Child>) {
    if let Some(mut child) = child {
        // Fails only if the partner has ended already; then there is still a status to collect.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// The lock cannot be poisoned in a way that matters: it guards a single assignment.
fn lock(running: &Running) -> MutexGuard<'_, Option<Child>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_named_for_people() {
        let names = [
            (Job::line(), "cache line"),
            (Job::touched(100), "touched 100 B"),
            (Job::touched(1 << 20), "touched 1 MiB"),
            (Job::touched((1 << 20) + 1024), "touched 1025 KiB"),
            (Job::ring(), "bare ring 40 B"),
            (Job::slots(Kind::SlotsReturned, 1 << 20), "hot slots returned 1 MiB"),
            (Job::socket(Kind::Unix, 64, false), "unix 64 B blocking"),
            (Job::socket(Kind::Tcp, 0, true), "tcp 0 B spinning"),
        ];
        for (job, name) in names {
            assert_eq!(job.to_string(), name);
        }
    }

    #[test]
    fn spinning_row_has_two_variants_and_one_way_slots_three_counts() {
        let pauses = |job: Job| job.variants().iter().map(|way| way.pause).collect::<Vec<_>>();
        for job in [Job::line(), Job::touched(1), Job::ring(), Job::ring_one_way()] {
            assert_eq!(pauses(job), [false, true], "{job}");
        }
        assert_eq!(Job::futex().variants().len(), 1);
        let slots = |kind| Job::slots(kind, 1).variants().iter().map(|way| way.slots).collect();
        let (one_way, returned): (Vec<_>, Vec<_>) =
            (slots(Kind::Slots), slots(Kind::SlotsReturned));
        assert_eq!((one_way, returned), (vec![2, 4, 8], vec![16]));
    }

    #[test]
    fn a_descriptor_of_the_wrong_kind_is_refused() {
        let null = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let mut all = vec![Job::line(), Job::touched(1), Job::ring(), Job::ring_one_way()];
        all.extend([Job::slots(Kind::Slots, 1), Job::slots(Kind::SlotsReturned, 1)]);
        all.extend([Job::futex(), Job::socket(Kind::Unix, 1, true)]);
        for job in all {
            assert!(answer(job, Spin::Tight, null()).is_err(), "{job}");
        }
    }
}
