//! The log of the honest side, which contains the reasons for which sessions ended.

use std::fmt;
use std::sync::{Condvar, Mutex, OnceLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// One event.
#[derive(Clone, Debug)]
pub struct Line {
    /// The thread that wrote it: each test has servers of its own, and a thread belongs to one
    /// server.
    pub thread: ThreadId,
    /// Level of the line.
    pub level: Level,
    /// Message of the line.
    pub message: String,
    /// The `error` or `reason` field.
    pub error: String,
}

struct Journal {
    lines: Mutex<Vec<Line>>,
    written: Condvar,
}

static JOURNAL: Journal = Journal { lines: Mutex::new(Vec::new()), written: Condvar::new() };

/// Records the log of the project's crates from here on, for the rest of the process.
pub fn keep() {
    static KEPT: OnceLock<()> = OnceLock::new();
    KEPT.get_or_init(|| {
        tracing::subscriber::set_global_default(Recorder).expect("the first recorder");
    });
}

/// Returns the number of lines: the start of a later search.
pub fn length() -> usize {
    JOURNAL.lines.lock().unwrap().len()
}

/// Returns the lines from `start` on that `thread` wrote.
pub fn lines_of(thread: ThreadId, start: usize) -> Vec<Line> {
    let lines = JOURNAL.lines.lock().unwrap();
    lines[start..].iter().filter(|line| line.thread == thread).cloned().collect()
}

/// Waits for a line from `start` on that `thread` wrote and that `wanted` accepts.
pub fn wait_for(
    thread: ThreadId,
    start: usize,
    patience: Duration,
    wanted: impl Fn(&Line) -> bool,
) -> Option<Line> {
    let deadline = Instant::now() + patience;
    let mut lines = JOURNAL.lines.lock().unwrap();
    loop {
        let found = lines[start..].iter().find(|line| line.thread == thread && wanted(line));
        if let Some(line) = found {
            return Some(line.clone());
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        lines = JOURNAL.written.wait_timeout(lines, left).unwrap().0;
    }
}

struct Recorder;

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("breezeway")
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line {
            thread: thread::current().id(),
            level: *event.metadata().level(),
            message: String::new(),
            error: String::new(),
        };
        event.record(&mut line);
        JOURNAL.lines.lock().unwrap().push(line);
        JOURNAL.written.notify_all();
    }

    fn new_span(&self, _attributes: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}
    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}
    fn enter(&self, _span: &Id) {}
    fn exit(&self, _span: &Id) {}
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "error" | "reason" => self.error = format!("{value:?}"),
            _ => {}
        }
    }
}
