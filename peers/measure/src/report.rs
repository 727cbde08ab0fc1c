//! The line that a program prints: the JSON object of `breezeway bench --json`.

use crate::Measurement;
use serde::Serialize;

/// What was measured.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Setup<'a> {
    /// The system.
    pub addr: &'a str,
    /// Bytes of a payload; a request and its response are equally long.
    pub size: usize,
    /// How both sides wait.
    pub wait: &'a str,
}

/// A setup and what a run of it found; every payload byte was written and compared.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    addr: &'a str,
    pattern: &'static str,
    size: usize,
    count: u64,
    wait: &'a str,
    touch: &'static str,
    seconds: f64,
    messages_per_second: f64,
    bytes_per_second: f64,
    latency_ns: Latency,
    client_cpu_seconds: f64,
}

#[derive(Debug, Serialize)]
struct Latency {
    min: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    p999: f64,
    p9999: f64,
    max: f64,
    mean: f64,
}

impl<'a> Report<'a> {
    /// The report of `measurement`. Messages and bytes are counted one way.
    #[must_use]
    pub fn new(setup: Setup<'a>, measurement: &Measurement) -> Self {
        let seconds = measurement.elapsed.as_secs_f64();
        let messages_per_second = measurement.count as f64 / seconds;
        Self {
            addr: setup.addr,
            pattern: "ping-pong",
            size: setup.size,
            count: measurement.count,
            wait: setup.wait,
            touch: "all",
            seconds,
            messages_per_second: tenths(messages_per_second),
            bytes_per_second: tenths(messages_per_second * setup.size as f64),
            latency_ns: Latency::new(measurement),
            client_cpu_seconds: measurement.cpu.as_secs_f64(),
        }
    }

    /// One line with one JSON object.
    #[must_use]
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("numbers and strings are always representable")
    }
}

impl Latency {
    fn new(measurement: &Measurement) -> Self {
        let ticks = &measurement.latencies;
        let nanoseconds = |ticks: f64| tenths(ticks * measurement.nanoseconds_per_tick);
        let quantile = |quantile| nanoseconds(ticks.value_at_quantile(quantile) as f64);
        Self {
            min: nanoseconds(ticks.min() as f64),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            p9999: quantile(0.9999),
            max: nanoseconds(ticks.max() as f64),
            mean: nanoseconds(ticks.mean()),
        }
    }
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use serde_json::Value;
    use std::time::Duration;

    fn line() -> Value {
        let mut latencies = Histogram::new(3).unwrap();
        latencies.record_n(400, 9_999).unwrap();
        latencies.record(4_000).unwrap();
        let measurement = Measurement {
            count: 10_000,
            elapsed: Duration::from_millis(500),
            cpu: Duration::from_millis(400),
            latencies,
            nanoseconds_per_tick: 0.25,
        };
        let setup = Setup { addr: "system", size: 64, wait: "busy" };
        let line = Report::new(setup, &measurement).line();
        assert!(!line.contains('\n'));
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn a_report_has_the_fields_of_breezeway_bench() {
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
            "messages_per_second",
            "bytes_per_second",
            "latency_ns",
            "client_cpu_seconds",
        ];
        expected.sort_unstable();
        assert_eq!(names, expected);
    }

    #[test]
    fn rates_count_one_way_and_latencies_are_nanoseconds() {
        let line = line();
        assert_eq!(line["messages_per_second"], 20_000.0);
        assert_eq!(line["bytes_per_second"], 1_280_000.0);
        let latency = &line["latency_ns"];
        assert_eq!((&latency["min"], &latency["p9999"]), (&100.0.into(), &100.0.into()));
        assert!((latency["max"].as_f64().unwrap() - 1_000.0).abs() < 1.0, "{latency}");
        assert_eq!(latency["mean"], 100.1);
    }
}
