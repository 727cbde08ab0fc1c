//! The plan of a run: its series and sizes, the number of rounds and the time of each measurement.

use std::time::Duration;

use serde::Serialize;

use super::host;
use super::rare::RareRate;
use crate::Wait;
use crate::machine::Cpus;

/// Calls in flight of a pipelined row.
pub(crate) const DEPTH: u32 = 16;
/// Streams on one session.
pub(crate) const STREAMS: u32 = 200;
/// Threads on one session.
pub(crate) const THREADS: u32 = 8;
/// Untouched payload is compared from this size on: below, touching costs next to nothing.
const UNTOUCHED_FROM: usize = 64 << 10;
/// The most one-way payload between two readings of the clock, so that large messages end in time
/// too.
const BATCH_BYTES: usize = 16 << 20;
const MOST_PER_BATCH: usize = 64;

const QUICK_SIZES: [usize; 6] = [8, 64, 1 << 10, 64 << 10, 1 << 20, 4 << 20];
const SIZES: [usize; 10] =
    [8, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];

/// Carrier of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// Shared memory.
    Shm,
    /// Unix stream sockets.
    Unix,
    /// TCP over the loopback interface.
    Tcp,
    /// A unix socket with nothing of Breezeway around it.
    PlainUnix,
    /// A TCP socket with nothing of Breezeway around it.
    PlainTcp,
    /// Shared memory that is written, copied and compared, with nothing around it.
    Memory,
}

/// Pattern of messages between client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One call at a time.
    PingPong,
    /// 16 calls in flight.
    Pipelined,
    /// Messages without replies.
    OneWay,
    /// One call at a time, both sides under tokio.
    Tokio,
    /// 200 streams on one session, one message in flight on each, both sides under tokio.
    Streams,
    /// 8 threads that call on one session.
    Threads,
    /// Connect, one call, close.
    Cold,
    /// One gRPC call at a time, as a stream of a session.
    Grpc,
    /// One gRPC call at a time, as HTTP/2.
    GrpcHttp2,
    /// One typed call of a Thrift service at a time.
    Thrift,
}

/// Service that answers the messages of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    /// An echo, on threads that block.
    Blocking,
    /// An echo under tokio.
    Tokio,
    /// An echo of gRPC.
    Grpc,
    /// An echo of a Thrift service.
    Thrift,
}

impl Pattern {
    /// All patterns, in the order in which they are measured.
    pub const ALL: [Self; 10] = [
        Self::PingPong,
        Self::Pipelined,
        Self::OneWay,
        Self::Tokio,
        Self::Streams,
        Self::Threads,
        Self::Cold,
        Self::Grpc,
        Self::GrpcHttp2,
        Self::Thrift,
    ];

    /// The only size that it is measured at, if it is not measured at all of them.
    fn size(self) -> Option<usize> {
        match self {
            Self::PingPong | Self::Pipelined | Self::OneWay => None,
            Self::Tokio
            | Self::Streams
            | Self::Threads
            | Self::Grpc
            | Self::GrpcHttp2
            | Self::Thrift => Some(64),
            Self::Cold => Some(1 << 20),
        }
    }

    /// Returns the service that answers this pattern.
    pub(super) fn service(self) -> Service {
        match self {
            Self::Tokio | Self::Streams => Service::Tokio,
            Self::Grpc | Self::GrpcHttp2 => Service::Grpc,
            Self::Thrift => Service::Thrift,
            _ => Service::Blocking,
        }
    }

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PingPong => "ping-pong",
            Self::Pipelined => "pipelined",
            Self::OneWay => "one-way",
            Self::Tokio => "tokio",
            Self::Streams => "streams",
            Self::Threads => "threads",
            Self::Cold => "cold",
            Self::Grpc => "grpc",
            Self::GrpcHttp2 => "grpc-http2",
            Self::Thrift => "thrift",
        }
    }
}

/// One line of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Series {
    /// Carrier of the bytes.
    pub carrier: Carrier,
    /// Wait policy of both sides.
    pub wait: Wait,
    /// True if every byte is written and compared.
    pub touched: bool,
}

impl Series {
    const fn new(carrier: Carrier, wait: Wait) -> Self {
        Self { carrier, wait, touched: true }
    }

    /// Ours beside the plain form of the same carrier, so that the two are measured one after the
    /// other.
    pub const ALL: [Self; 13] = [
        Self::SHM_BUSY,
        Self::new(Carrier::Shm, Wait::Adaptive),
        Self::SHM_PARK,
        Self::UNTOUCHED,
        Self::new(Carrier::Memory, Wait::Busy),
        Self::new(Carrier::Unix, Wait::Busy),
        Self::new(Carrier::Unix, Wait::Adaptive),
        Self::new(Carrier::Unix, Wait::Park),
        Self::PLAIN_UNIX,
        Self::new(Carrier::Tcp, Wait::Busy),
        Self::new(Carrier::Tcp, Wait::Adaptive),
        Self::new(Carrier::Tcp, Wait::Park),
        Self::PLAIN_TCP,
    ];
    pub(crate) const SHM_BUSY: Self = Self::new(Carrier::Shm, Wait::Busy);
    pub(crate) const SHM_PARK: Self = Self::new(Carrier::Shm, Wait::Park);
    pub(crate) const UNTOUCHED: Self = Self { touched: false, ..Self::SHM_BUSY };
    pub(crate) const PLAIN_UNIX: Self = Self::new(Carrier::PlainUnix, Wait::Park);
    pub(crate) const PLAIN_TCP: Self = Self::new(Carrier::PlainTcp, Wait::Park);

    /// The plain socket that stands for the least this series can cost.
    pub(crate) fn plain(self) -> Option<Self> {
        match self.carrier {
            Carrier::Unix => Some(Self::PLAIN_UNIX),
            Carrier::Tcp => Some(Self::PLAIN_TCP),
            _ => None,
        }
    }

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> String {
        let carrier = match self.carrier {
            Carrier::Shm => "shm",
            Carrier::Unix => "unix",
            Carrier::Tcp => "tcp",
            Carrier::PlainUnix => return "plain unix".to_owned(),
            Carrier::PlainTcp => return "plain tcp".to_owned(),
            Carrier::Memory => return "bare memory".to_owned(),
        };
        let touch = if self.touched { "" } else { " untouched" };
        format!("{carrier} {}{touch}", self.wait.name())
    }

    /// Returns true if a quick run has the series: sockets that spin and sockets that sleep show
    /// the range.
    fn is_quick(self) -> bool {
        self.carrier == Carrier::Shm || self.wait != Wait::Adaptive
    }

    fn has(self, pattern: Pattern, size: usize) -> bool {
        if let Some(only) = pattern.size() {
            let carries = matches!(self.carrier, Carrier::Shm | Carrier::Unix | Carrier::Tcp);
            return carries && size == only && self.wait == Wait::Adaptive;
        }
        let baseline =
            matches!(self.carrier, Carrier::PlainUnix | Carrier::PlainTcp | Carrier::Memory);
        (pattern == Pattern::PingPong || !baseline && self.touched)
            && (self.touched || size >= UNTOUCHED_FROM)
    }
}

/// One thing to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The line of a chart.
    pub series: Series,
    /// Pattern of messages.
    pub pattern: Pattern,
    /// Bytes of a message.
    pub size: usize,
}

impl Row {
    /// Calls in flight.
    #[must_use]
    pub fn depth(self) -> u32 {
        if self.pattern == Pattern::Pipelined { DEPTH } else { 1 }
    }

    /// One-way messages per batch.
    #[must_use]
    pub fn batch(self) -> usize {
        (BATCH_BYTES / self.size).clamp(1, MOST_PER_BATCH)
    }
}

impl Row {
    /// The commands that a person types to repeat it: the server's, if there is one, and the
    /// measuring side's.
    #[must_use]
    pub fn commands(self, plan: &Plan) -> Vec<String> {
        host::commands(self, plan)
    }
}

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Fewer sizes and shorter measurements.
    pub quick: bool,
    /// Bytes of a message; none are the default sizes.
    pub sizes: Vec<usize>,
    /// Number of times that each row is measured.
    pub rounds: Option<u32>,
    /// Time of one measurement.
    pub seconds: Option<f64>,
    /// Patterns that the command cannot measure, with the reason.
    pub left_out: Vec<(Pattern, &'static str)>,
}

/// All rows, and how they are measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Rows that are measured in each round, in this order.
    pub rows: Vec<Row>,
    /// Rates of rare calls that are measured in rounds of their own, after all rows.
    pub rare: Vec<RareRate>,
    /// Number of rounds.
    pub rounds: u32,
    /// Time of one measurement.
    pub measuring: Duration,
    /// After this time only the first round is finished, as on a machine that is busy with
    /// something else.
    pub limit: Duration,
    /// CPUs of client and server.
    pub cpus: Cpus,
    /// True if the quick run, with fewer sizes, was requested.
    pub quick: bool,
    /// Patterns that the command cannot measure, with the reason.
    pub left_out: Vec<(Pattern, &'static str)>,
}

/// The most that a quick and a full run take.
const QUICK: Duration = Duration::from_secs(55);
const FULL: Duration = Duration::from_secs(15 * 60);
/// Time of one reading of the floor.
pub(crate) const FLOOR: Duration = Duration::from_millis(10);
/// Number of measurements for each that may be repeated.
const PER_REPETITION: usize = 4;
/// Time to start and warm up the processes of a measurement and of a floor.
const STARTING: Duration = Duration::from_millis(34);

impl Plan {
    /// The plan of a run with these settings.
    #[must_use]
    pub fn new(settings: &Settings, cpus: Cpus) -> Self {
        let (default_sizes, rounds, seconds, limit): (&[usize], u32, f64, Duration) =
            if settings.quick { (&QUICK_SIZES, 3, 0.05, QUICK) } else { (&SIZES, 9, 0.2, FULL) };
        let as_wanted = settings.rounds.is_some() || settings.seconds.is_some();
        let mut sizes = settings.sizes.clone();
        if sizes.is_empty() {
            sizes = default_sizes.to_vec();
        }
        sizes.sort_unstable();
        sizes.dedup();
        let left_out = settings.left_out.clone();
        let mut rows = rows(&sizes, settings.quick);
        rows.retain(|row| left_out.iter().all(|(pattern, _)| *pattern != row.pattern));
        Self {
            rows,
            rare: RareRate::planned(settings),
            rounds: settings.rounds.unwrap_or(rounds),
            measuring: Duration::from_secs_f64(settings.seconds.unwrap_or(seconds)),
            limit: if as_wanted { Duration::MAX } else { limit },
            cpus,
            quick: settings.quick,
            left_out,
        }
    }

    /// Returns the number of steps: the measurements of rows, and the pairs of rare calls.
    #[must_use]
    pub fn steps(&self) -> usize {
        (self.rows.len() + self.rare.len()) * self.rounds as usize
    }

    /// Returns the number of measurements of rows, each between two readings of the floor.
    fn measurements(&self) -> usize {
        self.rows.len() * self.rounds as usize
    }

    /// Returns the number of measurements that may be repeated because other programs disturbed
    /// them.
    pub(super) fn repetitions(&self) -> usize {
        self.measurements().div_ceil(PER_REPETITION)
    }

    /// About how long all of it takes, without repetitions.
    #[must_use]
    pub fn duration(&self) -> Duration {
        let rows = (self.measuring + FLOOR + STARTING) * self.measurements() as u32;
        rows.min(self.limit_of_rows()) + self.rare_duration()
    }

    /// Returns the time after which only the first round of rows is finished: the rare calls end
    /// before the limit.
    pub(super) fn limit_of_rows(&self) -> Duration {
        self.limit.saturating_sub(self.rare_duration())
    }

    fn rare_duration(&self) -> Duration {
        self.rounds * self.rare.iter().map(|rate| rate.duration()).sum::<Duration>()
    }
}

fn rows(sizes: &[usize], quick: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for pattern in Pattern::ALL {
        for &size in sizes {
            let wanted = Series::ALL
                .into_iter()
                .filter(|series| !quick || pattern.size().is_some() || series.is_quick());
            let having = wanted.filter(|series| series.has(pattern, size));
            rows.extend(having.map(|series| Row { series, pattern, size }));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carrier_has_every_pattern_and_baseline_only_round_trips() {
        let rows = rows(&[8, 64 << 10], true);
        assert!(rows.iter().all(|row| row.pattern.size().is_none()));
        let count = |pattern| rows.iter().filter(|row| row.pattern == pattern).count();
        assert_eq!(count(Pattern::Pipelined), 14);
        assert_eq!(count(Pattern::OneWay), 14);
        assert_eq!(count(Pattern::PingPong), 14 + 6 + 1);
    }

    #[test]
    fn threads_cold_and_grpc_have_one_size_and_every_carrier() {
        let rows = rows(&[8, 64, 1 << 20], true);
        for (pattern, size) in [
            (Pattern::Tokio, 64),
            (Pattern::Streams, 64),
            (Pattern::Threads, 64),
            (Pattern::Cold, 1 << 20),
            (Pattern::Grpc, 64),
            (Pattern::GrpcHttp2, 64),
            (Pattern::Thrift, 64),
        ] {
            let of: Vec<_> = rows.iter().filter(|row| row.pattern == pattern).collect();
            assert!(of.len() == 3 && of.iter().all(|row| row.size == size), "{of:?}");
        }
    }

    #[test]
    fn small_messages_are_always_touched() {
        assert!(rows(&[8, 1024], false).iter().all(|row| row.series.touched));
    }

    #[test]
    fn a_quick_run_ends_in_time_unless_more_was_asked_for() {
        let plan = |settings: &Settings| Plan::new(settings, Cpus { measurer: 0, partner: 1 });
        let quick = plan(&Settings { quick: true, ..Settings::default() });
        assert!(quick.duration() < quick.limit);
        assert!(quick.limit < Duration::from_secs(60));
        let wanted = plan(&Settings { quick: true, rounds: Some(100), ..Settings::default() });
        assert_eq!(wanted.limit, Duration::MAX);
    }

    #[test]
    fn patterns_that_the_command_lacks_are_not_planned() {
        let left_out = vec![(Pattern::Grpc, "no gRPC"), (Pattern::GrpcHttp2, "no gRPC")];
        let settings = Settings { quick: true, left_out, ..Settings::default() };
        let plan = Plan::new(&settings, Cpus { measurer: 0, partner: 1 });
        let lacks = |row: &Row| matches!(row.pattern, Pattern::Grpc | Pattern::GrpcHttp2);
        assert!(!plan.rows.iter().any(lacks) && !plan.rows.is_empty());
    }

    #[test]
    fn large_one_way_messages_come_in_small_batches() {
        let row = |size| Row { series: Series::SHM_BUSY, pattern: Pattern::OneWay, size };
        assert_eq!(row(8).batch(), 64);
        assert_eq!(row(4 << 20).batch(), 4);
        assert_eq!(row(1 << 30).batch(), 1);
    }
}
