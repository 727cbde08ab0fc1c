//! Sessions of Breezeway's own carriers, from the statistics of a process.

use std::io::{self, Write};
use std::time::Duration;

use breezeway_os::clock;
use breezeway_shm::statistics::{
    Field, ProcessStatistics, Record, Role, StatisticsFile, Times, Totals, WaitsFor,
};
use bytesize::ByteSize;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// Sessions of one process.
#[derive(Debug, Serialize)]
pub(crate) struct Sessions {
    /// Sessions, and threads that serve, so far.
    opened: u64,
    /// Number of sessions that are not shown, because there was no room.
    unrecorded: u64,
    pub(crate) sessions: Vec<Session>,
    pub(crate) workers: Vec<Worker>,
}

/// One end of a session.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Session {
    pub(crate) session: u64,
    role: &'static str,
    carrier: &'static str,
    policy: &'static str,
    shared: bool,
    pub(crate) peer_pid: Option<u32>,
    peer_uid: Option<u32>,
    age_ns: u64,
    cap: u64,
    ring: u32,
    peer_ring: u32,
    max_in_flight: u64,
    waits_for: Option<&'static str>,
    waits_ns: Option<u64>,
    /// Null if none was timed.
    handlers: Option<Handlers>,
    /// Times that `handlers` is computed from.
    #[serde(skip)]
    pub(crate) times: Option<Times>,
    #[serde(serialize_with = "by_name")]
    pub(crate) counts: Totals,
}

/// Percentiles of the time that handlers took.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Handlers {
    timed: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
}

impl Handlers {
    pub(crate) fn of(times: &Times) -> Option<Self> {
        let (p50_ns, p99_ns) = (times.percentile(50)?, times.percentile(99)?);
        Some(Self { timed: times.count(), p50_ns, p99_ns })
    }
}

/// A thread that serves sessions.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Worker {
    pub(crate) worker: u64,
    policy: &'static str,
    age_ns: u64,
    slept: u64,
    pub(crate) spin_ns: u64,
    asleep_ns: Option<u64>,
}

/// Each by its name on the page of the layout.
fn by_name<S: Serializer>(totals: &Totals, serializer: S) -> Result<S::Ok, S::Error> {
    let shown = Field::ALL.iter().filter(|field| {
        !matches!(
            field,
            Field::WaitsFor
                | Field::WaitsSince
                | Field::OwnControl
                | Field::PeerControl
                | Field::Timed
        )
    });
    let map: Map<String, Value> =
        shown.map(|&field| (field.name().to_owned(), totals.get(field).into())).collect();
    map.serialize(serializer)
}

impl Sessions {
    /// Reads the current content of a file of statistics.
    pub(super) fn of(file: &StatisticsFile) -> io::Result<Self> {
        Ok(file.read()?.into())
    }

    /// Leaves all sessions but one out; false if there is none of that number.
    pub(super) fn keep(&mut self, number: u64) -> bool {
        self.sessions.retain(|session| session.session == number);
        !self.sessions.is_empty()
    }

    pub(super) fn write(&self, in_detail: bool, out: &mut impl Write) -> io::Result<()> {
        if in_detail {
            return self.sessions.iter().try_for_each(|session| session.write(out));
        }
        writeln!(out, "{} sessions, {} so far", self.sessions.len(), self.opened_sessions())?;
        if self.unrecorded > 0 {
            writeln!(out, "{} found no room to be shown", self.unrecorded)?;
        }
        if !self.sessions.is_empty() {
            writeln!(out, "{}", Session::HEAD)?;
        }
        self.sessions.iter().try_for_each(|session| writeln!(out, "{}", session.line()))?;
        self.workers.iter().try_for_each(|worker| writeln!(out, "{}", worker.line()))
    }

    /// Without threads.
    fn opened_sessions(&self) -> u64 {
        self.opened.saturating_sub(self.workers.len() as u64)
    }
}

impl From<ProcessStatistics> for Sessions {
    fn from(statistics: ProcessStatistics) -> Self {
        let now = clock::since_boot();
        let ProcessStatistics { opened, unrecorded, records, mut times, .. } = statistics;
        let (mut sessions, mut workers) = (Vec::new(), Vec::new());
        for record in &records {
            match record.role {
                Role::Worker => workers.push(Worker::new(record, now)),
                _ => sessions.push(Session::new(record, times.remove(&record.number), now)),
            }
        }
        sessions.sort_by_key(|session: &Session| session.session);
        workers.sort_by_key(|worker: &Worker| worker.worker);
        Self { opened, unrecorded, sessions, workers }
    }
}

fn policy(number: u8) -> &'static str {
    match number {
        1 => "busy",
        2 => "park",
        3 => "adaptive",
        _ => "unknown",
    }
}

/// Returns the time since `then`.
fn since(then: u64, now: u64) -> Option<u64> {
    (then != 0).then(|| now.saturating_sub(then))
}

impl Session {
    pub(crate) const HEAD: &'static str = "session role   carrier policy   peer     user   \
        age        calls      messages   in         out        lent  memory     p50        \
        p99        waits for";

    fn new(record: &Record, times: Option<Times>, now: u64) -> Self {
        let waits = WaitsFor::from_number(record.totals.waits_for);
        Self {
            session: record.number,
            role: if record.role == Role::Client { "client" } else { "server" },
            carrier: match record.carrier {
                1 => "shm",
                2 => "unix",
                3 => "tcp",
                4 => "tls",
                _ => "unknown",
            },
            policy: policy(record.policy),
            shared: record.shared,
            peer_pid: record.peer_pid,
            peer_uid: record.peer_uid,
            age_ns: now.saturating_sub(record.since),
            cap: record.cap,
            ring: record.rings[0],
            peer_ring: record.rings[1],
            max_in_flight: record.max_in_flight,
            waits_for: waits.map(|what| match what {
                WaitsFor::Data => "data",
                WaitsFor::Room => "room",
                WaitsFor::Memory => "memory",
            }),
            waits_ns: waits.and_then(|_| since(record.totals.waits_since, now)),
            handlers: times.as_ref().and_then(Handlers::of),
            times,
            counts: record.totals,
        }
    }

    /// The most payload bytes per direction.
    pub(crate) fn cap(&self) -> u64 {
        self.cap
    }

    /// Calls of either direction.
    pub(crate) fn calls(&self) -> u64 {
        self.counts.calls_sent.wrapping_add(self.counts.calls_received)
    }

    /// One-way messages, and messages of streams, of either direction.
    pub(crate) fn messages(&self) -> u64 {
        let Totals {
            posts_sent,
            posts_received,
            streams_sent,
            streams_received,
            messages_sent,
            messages_received,
            ..
        } = self.counts;
        [posts_received, streams_sent, streams_received, messages_sent, messages_received]
            .into_iter()
            .fold(posts_sent, u64::wrapping_add)
    }

    fn waiting(&self) -> String {
        match (self.waits_for, self.waits_ns) {
            (Some(what), Some(time)) => format!("{what}, {}", age(time)),
            (Some(what), None) => what.to_owned(),
            (None, _) => "-".to_owned(),
        }
    }

    fn handling(&self) -> String {
        let [p50, p99] = percentiles(self.handlers);
        let timed = self.handlers.map_or(0, |handlers| handlers.timed);
        format!("p50 {p50}, p99 {p99}, {timed} timed")
    }

    /// Role, carrier, policy, peer and user.
    pub(crate) fn who(&self) -> [String; 5] {
        let number = |known: Option<u32>| known.map_or("-".to_owned(), |number| number.to_string());
        [
            self.role.to_owned(),
            self.carrier.to_owned(),
            self.policy.to_owned(),
            number(self.peer_pid),
            number(self.peer_uid),
        ]
    }

    fn line(&self) -> String {
        let [role, carrier, policy, peer, user] = self.who();
        let [p50, p99] = percentiles(self.handlers);
        let Totals { bytes_sent, bytes_received, lends, own_memory, peer_memory, .. } = self.counts;
        format!(
            "{:<7} {role:<6} {carrier:<7} {policy:<8} {peer:<8} {user:<6} {:<10} {:<10} {:<10} \
             {:<10} {:<10} {lends:<5} {:<10} {p50:<10} {p99:<10} {}",
            self.session,
            age(self.age_ns),
            self.calls(),
            self.messages(),
            bytes(bytes_received),
            bytes(bytes_sent),
            bytes(own_memory.saturating_add(peer_memory)),
            self.waiting(),
        )
    }

    /// Writes all details, as lines of a name and a value.
    pub(crate) fn details(&self) -> Vec<(String, String)> {
        let [role, carrier, policy, peer, user] = self.who();
        let shared = if self.shared { "shared" } else { "one caller" };
        let counts = &self.counts;
        let ring = counts.published.wrapping_sub(counts.consumed).min(self.ring.into());
        let mut lines = vec![
            ("session".to_owned(), format!("{} {role} {carrier} {policy}, {shared}", self.session)),
            ("peer".to_owned(), format!("process {peer}, user {user}")),
            ("age".to_owned(), age(self.age_ns)),
            ("waits for".to_owned(), self.waiting()),
            (
                "limits".to_owned(),
                format!("{} calls in flight, {}", self.max_in_flight, bytes(self.cap)),
            ),
            ("ring".to_owned(), format!("at most {ring} of {} entries", self.ring)),
            ("handlers".to_owned(), self.handling()),
        ];
        let shown = Field::ALL.iter().filter(|field| {
            !matches!(
                field,
                Field::WaitsFor
                    | Field::WaitsSince
                    | Field::Published
                    | Field::Consumed
                    | Field::OwnControl
                    | Field::PeerControl
                    | Field::Timed
            )
        });
        lines.extend(shown.map(|&field| {
            let value = counts.get(field);
            let value = match field {
                Field::BytesSent
                | Field::BytesReceived
                | Field::OwnMemory
                | Field::PeerMemory
                | Field::Lent
                | Field::Unwritten => bytes(value),
                Field::SpinTime => age(value),
                _ => value.to_string(),
            };
            (field.name().replace('_', " "), value)
        }));
        lines
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        self.details().iter().try_for_each(|(name, value)| writeln!(out, "{name:<18} {value}"))
    }
}

impl Worker {
    fn new(record: &Record, now: u64) -> Self {
        let asleep = WaitsFor::from_number(record.totals.waits_for);
        Self {
            worker: record.number,
            policy: policy(record.policy),
            age_ns: now.saturating_sub(record.since),
            slept: record.totals.slept,
            spin_ns: record.totals.spin_time,
            asleep_ns: asleep.and_then(|_| since(record.totals.waits_since, now)),
        }
    }

    fn line(&self) -> String {
        let Self { worker, policy, slept, spin_ns, asleep_ns, .. } = self;
        let now = asleep_ns.map_or("awake".to_owned(), |time| format!("asleep, {}", age(time)));
        format!("worker {worker} {policy}, slept {slept} times, spun {}, {now}", age(*spin_ns))
    }
}

/// Returns the median and the 99th percentile of handlers' times, if known.
pub(crate) fn percentiles(handlers: Option<Handlers>) -> [String; 2] {
    let known = handlers.map(|handlers| [handlers.p50_ns, handlers.p99_ns].map(age));
    known.unwrap_or_else(|| ["-", "-"].map(str::to_owned))
}

/// Returns a time in its largest unit, with one decimal.
pub(crate) fn age(nanoseconds: u64) -> String {
    let seconds = Duration::from_nanos(nanoseconds).as_secs_f64();
    match seconds {
        ..1e-6 => format!("{nanoseconds} ns"),
        ..1e-4 => format!("{:.1} us", seconds * 1e6),
        ..1e-3 => format!("{:.0} us", seconds * 1e6),
        ..1.0 => format!("{:.0} ms", seconds * 1e3),
        ..600.0 => format!("{seconds:.1} s"),
        ..36_000.0 => format!("{:.1} min", seconds / 60.0),
        ..360_000.0 => format!("{:.1} h", seconds / 3_600.0),
        _ => format!("{:.1} days", seconds / 86_400.0),
    }
}

/// Bytes in their largest unit.
pub(crate) fn bytes(count: u64) -> String {
    ByteSize(count).display().iec().to_string()
}
