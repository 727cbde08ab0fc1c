//! The results of a load, as a table or as the JSON object of `breezeway bench --json`.
//!
//! The comparison programs of other systems print the same object, so that rows of different
//! systems can stand in one table.

use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;

use crate::load::{Measurement, Pattern, Runtime, Spread, Touch};
use crate::statistics::Percentiles;

/// Share of the rate that a run must have made to have kept it.
pub(crate) const KEPT: f64 = 0.95;

/// Settings of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    /// The server's address, or the name of another system.
    pub addr: &'a str,
    /// Wait policy of both sides.
    pub wait: &'a str,
    /// Pattern of messages.
    pub pattern: Pattern,
    /// Bytes of each message; a request and its reply are equally long.
    pub size: usize,
    /// Bytes that are written and compared.
    pub touch: Touch,
    /// Time to fill, compare and time each message without sending it, in nanoseconds: see
    /// [`empty::cost`](crate::load::empty::cost). Other systems may leave it open.
    pub empty_ns: Option<f64>,
    /// From before the first connection until after the last session's end. Other systems may
    /// leave it open.
    pub session: Option<Duration>,
    /// Calls a second that an open loop asks for, of all sessions together.
    pub rate: Option<f64>,
    /// Callers of a session.
    pub spread: Spread,
}

impl<'a> Setup<'a> {
    /// Round trips, every byte written and compared.
    #[must_use]
    pub fn round_trips(addr: &'a str, wait: &'a str, size: usize) -> Self {
        Self {
            addr,
            wait,
            pattern: Pattern::PingPong,
            size,
            touch: Touch::All,
            empty_ns: None,
            session: None,
            rate: None,
            spread: Spread::default(),
        }
    }
}

/// The fields and their names are a contract with scripts.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    addr: &'a str,
    pattern: Pattern,
    size: usize,
    count: u64,
    wait: &'a str,
    touch: Touch,
    seconds: f64,
    rate: Option<f64>,
    messages_per_second: f64,
    bytes_per_second: f64,
    latency_ns: Option<Percentiles>,
    client_cpu_seconds: f64,
    server_cpu_seconds: Option<f64>,
    session_seconds: Option<f64>,
    empty_ns: Option<f64>,
    runtime: Runtime,
    streams: Option<u32>,
    threads: u32,
}

impl<'a> Report<'a> {
    /// The report of `measurement`. Messages and bytes are counted one way.
    #[must_use]
    pub fn new(setup: Setup<'a>, measurement: &Measurement) -> Self {
        let seconds = measurement.elapsed.as_secs_f64();
        let count = measurement.count;
        let messages_per_second = if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        Self {
            addr: setup.addr,
            pattern: setup.pattern,
            size: setup.size,
            count,
            wait: setup.wait,
            touch: setup.touch,
            seconds,
            rate: setup.rate,
            messages_per_second,
            bytes_per_second: messages_per_second * setup.size as f64,
            latency_ns: measurement.latencies.as_ref().and_then(|all| all.percentiles()),
            client_cpu_seconds: measurement.cpu.as_secs_f64(),
            server_cpu_seconds: measurement.server_cpu.map(|time| time.as_secs_f64()),
            session_seconds: setup.session.map(|time| time.as_secs_f64()),
            empty_ns: setup.empty_ns,
            runtime: setup.spread.runtime,
            streams: setup.spread.streams,
            threads: setup.spread.threads,
        }
    }

    /// Returns true if the run kept this rate. The last calls of a run may begin late.
    fn reaches(&self, rate: f64) -> bool {
        self.messages_per_second >= KEPT * rate
    }

    /// One line with one JSON object.
    ///
    /// # Panics
    ///
    /// Never: numbers and strings can always be represented.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("numbers and strings can be represented")
    }

    /// A table for people.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = format!(
            "{}  {}  {} B  wait {}  touch {}\n",
            self.addr,
            self.pattern.name(),
            self.size,
            self.wait,
            self.touch.name()
        );
        let mut row = |name: &str, value: String| {
            writeln!(text, "  {name:<14} {value:>16}").expect("a string takes any text");
        };
        row("runtime", self.runtime.name().to_owned());
        if let Some(streams) = self.streams {
            row("streams", streams.to_string());
        }
        row("threads", self.threads.to_string());
        row("messages", self.count.to_string());
        row("seconds", format!("{:.3}", self.seconds));
        row("messages/s", format!("{:.0}", self.messages_per_second));
        if let Some(rate) = self.rate {
            let outcome = if self.reaches(rate) { "" } else { ", not reached" };
            row("rate/s", format!("{rate}{outcome}"));
        }
        row("MB/s", format!("{:.1}", self.bytes_per_second / 1e6));
        row("client CPU s", format!("{:.3}", self.client_cpu_seconds));
        if let Some(seconds) = self.server_cpu_seconds {
            row("server CPU s", format!("{seconds:.3}"));
        }
        if let Some(empty) = self.empty_ns {
            row("empty", format!("{empty:.1} ns"));
        }
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

#[cfg(test)]
mod tests {
    use breezeway_os::clock;
    use serde_json::Value;

    use super::*;
    use crate::statistics::Recorder;

    fn line() -> Value {
        let mut latencies = Recorder::new();
        for _ in 0..9_999 {
            latencies.record(clock::ticks_in(Duration::from_nanos(100)));
        }
        latencies.record(clock::ticks_in(Duration::from_nanos(1_000)));
        let measurement = Measurement {
            count: 10_000,
            elapsed: Duration::from_millis(500),
            cpu: Duration::from_millis(400),
            server_cpu: None,
            latencies: Some(latencies),
        };
        let setup = Setup::round_trips("system", "busy", 64);
        let line = Report::new(setup, &measurement).json();
        assert!(!line.contains('\n'));
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn a_report_has_the_fields_of_the_contract() {
        let line = line();
        let names: Vec<_> = line.as_object().unwrap().keys().collect();
        let mut expected = [
            "addr",
            "pattern",
            "size",
            "count",
            "wait",
            "touch",
            "seconds",
            "rate",
            "messages_per_second",
            "bytes_per_second",
            "latency_ns",
            "client_cpu_seconds",
            "server_cpu_seconds",
            "session_seconds",
            "empty_ns",
            "runtime",
            "streams",
            "threads",
        ];
        expected.sort_unstable();
        assert_eq!(names, expected);
    }

    #[test]
    fn rates_count_one_way_and_latencies_are_nanoseconds() {
        let line = line();
        assert_eq!(line["messages_per_second"], 20_000.0);
        assert_eq!(line["bytes_per_second"], 1_280_000.0);
        let near = |name: &str, expected: f64| {
            let value = line["latency_ns"][name].as_f64().unwrap();
            assert!((value - expected).abs() < 0.02 * expected, "{name} in {line}");
        };
        near("min", 100.0);
        near("p999", 100.0);
        near("max", 1_000.0);
        near("mean", 100.1);
    }
}
