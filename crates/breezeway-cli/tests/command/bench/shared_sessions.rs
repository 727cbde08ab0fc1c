//! One session that many threads, tasks or streams share.

use serde_json::Value;

use super::report::{is_consistent, json};
use crate::support::{Serve, refused};

/// Ways to share a session, and their values in the report.
const CALLS: [(&[&str], &str, u64); 4] = [
    (&[], "blocking", 1),
    (&["--threads", "8"], "blocking", 8),
    (&["--runtime", "tokio"], "tokio", 1),
    (&["--runtime", "tokio", "--threads", "3"], "tokio", 3),
];

fn is_run(serve: &Serve, arguments: &[&str], streams: Value, runtime: &str, threads: u64) {
    for (count, size) in [("1", "64"), ("301", "0"), ("300", "64"), ("10", "100000")] {
        let arguments = [arguments, &["--count", count, "--size", size]].concat();
        let report = json(serve, &arguments);
        is_consistent(&report);
        assert_eq!(report["count"].to_string(), count, "{arguments:?}");
        assert_eq!(report["streams"], streams, "{arguments:?}");
        assert_eq!((&report["runtime"], &report["threads"]), (&runtime.into(), &threads.into()));
        assert!(report["latency_ns"]["p50"].as_f64().is_some_and(|p50| p50 > 0.0), "{report}");
    }
}

#[test]
fn calls_count_exactly_however_they_are_spread_and_served() {
    for served in [&["--workers", "1"][..], &["--runtime", "tokio", "--workers", "2"]] {
        let serve = Serve::start(served);
        for (arguments, runtime, threads) in CALLS {
            is_run(&serve, arguments, Value::Null, runtime, threads);
        }
    }
}

#[test]
fn streams_count_exactly_however_they_are_driven() {
    let serve = Serve::start(&["--runtime", "tokio"]);
    for (arguments, runtime, threads) in CALLS {
        for streams in [8, 200] {
            let streams_given = streams.to_string();
            let arguments = [arguments, &["--streams", &streams_given]].concat();
            is_run(&serve, &arguments, streams.into(), runtime, threads);
        }
    }
}

#[test]
fn a_server_under_tokio_takes_every_load_of_a_blocking_session() {
    let serve = Serve::start(&["--runtime", "tokio", "--workers", "2"]);
    for arguments in [
        &["--pattern", "one-way", "--count", "1000"][..],
        &["--pattern", "one-way", "--count", "100", "--size", "100000", "--touch", "none"],
        &["--touch", "none", "--count", "100", "--size", "100000"],
        &["--depth", "16", "--count", "1000"],
        &["--sessions", "3", "--count", "1000"],
    ] {
        is_consistent(&json(&serve, arguments));
    }
}

#[test]
fn streams_need_a_server_that_takes_them() {
    let serve = Serve::start(&[]);
    let address = serve.folder.address().to_string();
    for runtime in ["blocking", "tokio"] {
        let arguments = ["bench", "--addr", &address, "--runtime", runtime, "--streams", "2"];
        refused(&arguments, &["takes no streams", "--runtime tokio"]);
    }
    let serve = Serve::start(&["--runtime", "tokio"]);
    let address = serve.folder.address().to_string();
    refused(&["bench", "--addr", &address, "--streams", "5000"], &["--streams", "1024"]);
}

#[test]
fn options_of_exclusive_sessions_are_refused() {
    let serve = Serve::start(&["--runtime", "tokio", "--cap", "1048576"]);
    let address = serve.folder.address().to_string();
    for shared in [&["--runtime", "tokio"][..], &["--threads", "2"], &["--streams", "2"]] {
        for exclusive in [
            &["--pattern", "one-way"][..],
            &["--rate", "10"],
            &["--depth", "2"],
            &["--touch", "none"],
            &["--sessions", "2"],
        ] {
            let arguments = [&["bench", "--addr", &address], shared, exclusive].concat();
            refused(&arguments, &[exclusive[0], "leave it out"]);
        }
        let arguments = [&["bench", "--addr", &address], shared, &["--size", "2MiB"]].concat();
        refused(&arguments, &["--size 2097152", "1048576", "--cap"]);
    }
    for (option, values) in
        [("--streams", ["0", "65536"]), ("--threads", ["0", "1025"]), ("--runtime", ["", "async"])]
    {
        for value in values {
            refused(&["bench", "--addr", &address, option, value], &[option, value]);
        }
    }
    let few = ["bench", "--addr", &address, "--streams", "2", "--threads", "3"];
    refused(&few, &["--streams 2", "--threads 3"]);
}

#[test]
fn options_incompatible_with_tokio_are_refused() {
    let offloading =
        ["serve", "--addr", "shm:/nonexistent/it.sock", "--runtime", "tokio", "--offload", "1"];
    refused(&offloading, &["--offload", "--runtime blocking"]);
    let shmipc = "shmipc:/nonexistent/it.sock";
    refused(&["serve", "--addr", shmipc, "--runtime", "tokio"], &["--runtime tokio"]);
    for arguments in [&["--runtime", "tokio"][..], &["--streams", "2"], &["--threads", "2"]] {
        refused(&[&["bench", "--addr", shmipc], arguments].concat(), &[arguments[0]]);
    }
}
