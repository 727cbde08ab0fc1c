//! The JSON report of a bench.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::support::{PATIENCE, Running, Serve};

const FIELDS: [&str; 18] = [
    "addr",
    "pattern",
    "size",
    "count",
    "wait",
    "touch",
    "seconds",
    "session_seconds",
    "rate",
    "messages_per_second",
    "bytes_per_second",
    "latency_ns",
    "client_cpu_seconds",
    "server_cpu_seconds",
    "empty_ns",
    "runtime",
    "streams",
    "threads",
];
const PERCENTILES: [&str; 8] = ["min", "p50", "p90", "p99", "p999", "p9999", "max", "mean"];

fn keys(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Runs a bench with `--json`, and gives the one object that it prints.
#[track_caller]
pub(crate) fn json(serve: &Serve, arguments: &[&str]) -> Value {
    report_of(serve.bench(arguments), arguments)
}

/// Returns the JSON report of a bench.
#[track_caller]
pub(crate) fn report_of(mut command: Command, arguments: &[&str]) -> Value {
    command.arg("--json");
    let output = Running::start(command).ends_within(PATIENCE);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    assert!(output.stderr.is_empty(), "{arguments:?}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(keys(&report), BTreeSet::from(FIELDS));
    report
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-6 * one.abs().max(other.abs())
}

/// Asserts the invariants of every report.
#[track_caller]
pub(crate) fn is_consistent(report: &Value) {
    let number = |name: &str| report[name].as_f64().unwrap();
    let rate = number("messages_per_second");
    assert!(number("seconds") > 0.0 && number("client_cpu_seconds") >= 0.0, "{report}");
    assert!(number("session_seconds") >= number("seconds"), "{report}");
    assert!(number("empty_ns") > 0.0, "{report}");
    assert!(close(rate, number("count") / number("seconds")), "{report}");
    assert!(close(number("bytes_per_second"), rate * number("size")), "{report}");
    assert!(report["count"].is_u64() && report["size"].is_u64(), "{report}");
    if report["pattern"] == "one-way" {
        assert!(report["latency_ns"].is_null(), "{report}");
        return;
    }
    let latency = &report["latency_ns"];
    assert_eq!(keys(latency), BTreeSet::from(PERCENTILES));
    let value = |name: &str| latency[name].as_f64().unwrap();
    assert!(PERCENTILES.into_iter().all(|name| value(name) > 0.0), "{report}");
    assert!(value("min") <= value("mean") && value("mean") <= value("max"), "{report}");
}
