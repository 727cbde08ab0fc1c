//! What a run found, as a table or as JSON.

use std::fmt::Write;

use breezeway_os::clock;
use serde::Serialize;

use super::latency::{Recorder, Summary};
use super::{Args, Outcome, Pattern, Touch};
use crate::settings::Wait;

/// The fields and their names are a contract with scripts.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    addr: String,
    pattern: Pattern,
    size: usize,
    count: u64,
    wait: Wait,
    touch: Touch,
    seconds: f64,
    messages_per_second: f64,
    bytes_per_second: f64,
    latency_ns: Option<Summary>,
    client_cpu_seconds: f64,
}

impl Report {
    /// Sums up all sessions; the longest of them is the run's time.
    pub(super) fn new(args: &Args, outcomes: Vec<Outcome>, client_cpu_seconds: f64) -> Self {
        let count = outcomes.iter().map(|outcome| outcome.count).sum();
        let ticks = outcomes.iter().map(|outcome| outcome.ticks).max().unwrap_or(0);
        let seconds = clock::nanoseconds(ticks) as f64 / 1e9;
        let mut all: Option<Recorder> = None;
        for recorder in outcomes.into_iter().filter_map(|outcome| outcome.latencies) {
            match &mut all {
                Some(all) => all.merge(&recorder),
                None => all = Some(recorder),
            }
        }
        let messages_per_second = if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        Self {
            addr: args.addr.to_string(),
            pattern: args.pattern,
            size: args.size,
            count,
            wait: args.session.wait.unwrap_or_default(),
            touch: args.touch,
            seconds,
            messages_per_second,
            bytes_per_second: messages_per_second * args.size as f64,
            latency_ns: all.and_then(|recorder| recorder.summary()),
            client_cpu_seconds,
        }
    }

    pub(super) fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    pub(super) fn table(&self) -> String {
        let mut text = format!(
            "{}  {:?}  {} B  wait {:?}  touch {:?}\n",
            self.addr, self.pattern, self.size, self.wait, self.touch
        );
        let mut row = |name: &str, value: String| {
            writeln!(text, "  {name:<14} {value:>16}").expect("a string takes any text");
        };
        row("messages", self.count.to_string());
        row("seconds", format!("{:.3}", self.seconds));
        row("messages/s", format!("{:.0}", self.messages_per_second));
        row("MB/s", format!("{:.1}", self.bytes_per_second / 1e6));
        row("client CPU s", format!("{:.3}", self.client_cpu_seconds));
        if let Some(latency) = &self.latency_ns {
            for (name, nanoseconds) in [
                ("min", latency.min),
                ("p50", latency.p50),
                ("p90", latency.p90),
                ("p99", latency.p99),
                ("p99.9", latency.p999),
                ("p99.99", latency.p9999),
                ("max", latency.max),
                ("mean", latency.mean),
            ] {
                row(name, format!("{nanoseconds:.0} ns"));
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}
