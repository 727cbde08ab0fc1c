//! Rates of sessions between two samples.

use std::collections::HashMap;
use std::time::Instant;

use breezeway_shm::statistics::{StatisticsFile, Times, Totals};
use serde::Serialize;

use crate::inspect::native::{Handlers, Session, Sessions};
use crate::inspect::processes;

/// One session, or worker, of one process.
type Key = (u32, u64);

/// A session now, and what it did a second since the last look. The fields of `--json` and their
/// names are a contract with scripts.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    pub(super) pid: u32,
    pub(super) program: String,
    #[serde(flatten)]
    pub(super) session: Session,
    #[serde(rename = "calls_per_second")]
    pub(super) calls: f64,
    #[serde(rename = "messages_per_second")]
    pub(super) messages: f64,
    /// Bytes in and out.
    #[serde(rename = "bytes_received_per_second")]
    pub(super) received: f64,
    #[serde(rename = "bytes_sent_per_second")]
    pub(super) sent: f64,
    /// Sleeps; each takes a wake-up.
    #[serde(rename = "sleeps_per_second")]
    pub(super) sleeps: f64,
    /// The part of a CPU that went into spinning: of the session, and of its process's
    /// workers.
    pub(super) spinning: f64,
    /// Recent times of handlers.
    #[serde(rename = "recent_handlers")]
    pub(super) handlers: Option<Handlers>,
}

/// Number of timed handlers after which their percentiles replace the shown ones: fewer have no
/// p99.
const ENOUGH: u64 = 100;

/// Recent times of a session's handlers.
#[derive(Clone)]
struct Recent {
    /// Percentiles that are shown.
    shown: Option<Handlers>,
    /// Counts at the start of the next percentiles.
    from: Times,
}

impl Recent {
    /// At first all there were so far are shown, and then always the last [`ENOUGH`] or more.
    fn next(before: Option<Self>, now: &Times) -> Self {
        match before {
            None => Self { shown: Handlers::of(now), from: now.clone() },
            Some(before) => {
                let fresh = now.since(&before.from);
                if fresh.count() >= ENOUGH {
                    Self { shown: Handlers::of(&fresh), from: now.clone() }
                } else {
                    Self { shown: before.shown.or_else(|| Handlers::of(now)), ..before }
                }
            }
        }
    }
}

/// Files that are sampled, with their last samples.
#[derive(Default)]
pub(super) struct Watch {
    files: HashMap<u32, (String, StatisticsFile)>,
    last: Option<Instant>,
    totals: HashMap<Key, Totals>,
    recent: HashMap<Key, Recent>,
    spun: HashMap<Key, u64>,
}

impl Watch {
    /// Replaces the sampled files.
    pub(super) fn files(&mut self, files: Vec<(u32, StatisticsFile)>) {
        // A process that has ended since has no name.
        let named = |(pid, file)| Some((pid, (processes::name(pid).ok()?, file)));
        self.files = files.into_iter().filter_map(named).collect();
    }

    /// Returns the rates of all sessions.
    pub(super) fn sample(&mut self, now: Instant) -> Vec<Row> {
        let elapsed = self.last.replace(now).map_or(0.0, |last| (now - last).as_secs_f64());
        // The statistics of an ended process never change.
        self.files
            .retain(|&pid, (program, _)| processes::name(pid).is_ok_and(|now| now == *program));
        let mut looks = Vec::new();
        for (&pid, (program, file)) in &self.files {
            if let Ok(statistics) = file.read() {
                looks.push((pid, program.clone(), Sessions::from(statistics)));
            }
        }
        self.compare(elapsed, looks)
    }

    fn compare(&mut self, elapsed: f64, looks: Vec<(u32, String, Sessions)>) -> Vec<Row> {
        let (mut totals, mut spun, mut recent) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut rows = Vec::new();
        for (pid, program, sessions) in looks {
            let mut workers = 0;
            for worker in &sessions.workers {
                let key = (pid, worker.worker);
                let before = self.spun.get(&key).copied().unwrap_or(worker.spin_ns);
                workers += worker.spin_ns.saturating_sub(before);
                spun.insert(key, worker.spin_ns);
            }
            for session in sessions.sessions {
                let key = (pid, session.session);
                let now = session.counts;
                let before = self.totals.get(&key).copied().unwrap_or(now);
                totals.insert(key, now);
                let mut handlers = None;
                if let Some(times) = &session.times {
                    let now = Recent::next(self.recent.remove(&key), times);
                    handlers = now.shown;
                    recent.insert(key, now);
                }
                let program = program.clone();
                let counts = [before, now];
                rows.push(Row {
                    handlers,
                    ..Row::new(pid, program, session, counts, workers, elapsed)
                });
            }
        }
        (self.totals, self.spun, self.recent) = (totals, spun, recent);
        rows
    }
}

impl Row {
    fn new(
        pid: u32,
        program: String,
        session: Session,
        [before, now]: [Totals; 2],
        workers: u64,
        elapsed: f64,
    ) -> Self {
        let rate = |count: fn(&Totals) -> u64| {
            // A count that falls was forged.
            let grown = count(&now).saturating_sub(count(&before));
            if elapsed > 0.0 { grown as f64 / elapsed } else { 0.0 }
        };
        let spinning = rate(|totals| totals.spin_time) / 1e9;
        let workers = if elapsed > 0.0 { workers as f64 / elapsed / 1e9 } else { 0.0 };
        Self {
            pid,
            program,
            session,
            calls: rate(|totals| totals.calls_sent.wrapping_add(totals.calls_received)),
            messages: rate(|totals| {
                let sent = totals.posts_sent.wrapping_add(totals.messages_sent);
                let received = totals.posts_received.wrapping_add(totals.messages_received);
                sent.wrapping_add(received)
            }),
            received: rate(|totals| totals.bytes_received),
            sent: rate(|totals| totals.bytes_sent),
            sleeps: rate(|totals| totals.slept),
            spinning: spinning + workers,
            handlers: None,
        }
    }

    /// The part of the session's cap that its messages take now.
    pub(super) fn fill(&self) -> f64 {
        let counts = &self.session.counts;
        match self.session.cap() {
            0 => 0.0,
            cap => (counts.lent as f64 / cap as f64).min(1.0),
        }
    }
}
