//! The output of a bench that succeeds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use breezeway::{Call, Server, ServerOptions};
use rustix::process::Signal;
use serde_json::Value;

use super::report::{is_consistent, json, report_of};
use crate::support::{
    Folder, PATIENCE, PROMPT, Running, Serve, bench, breezeway, eventually, refused, run,
};

#[test]
fn json_is_one_line_with_contract_fields_and_defaults() {
    let serve = Serve::start(&[]);
    let report = json(&serve, &["--count", "1000"]);
    is_consistent(&report);
    assert_eq!(report["addr"], serve.folder.address().to_string());
    assert_eq!(report["pattern"], "ping-pong");
    assert_eq!(report["size"], 64);
    assert_eq!(report["count"], 1000);
    assert_eq!(report["wait"], "adaptive");
    assert_eq!(report["touch"], "all");
}

#[test]
fn ping_pong_counts_exactly_for_every_way_to_run_it() {
    let serve = Serve::start(&["--workers", "2", "--cap", "4194304"]);
    for (arguments, count) in [
        (&["--count", "1"][..], 1),
        (&["--count", "2", "--sessions", "3"], 2),
        (&["--count", "1000", "--sessions", "3"], 1000),
        (&["--count", "999", "--depth", "7"], 999),
        (&["--count", "1000", "--depth", "32"], 1000),
        (&["--count", "1000", "--depth", "33"], 1000),
        (&["--count", "1000", "--depth", "512"], 1000),
        (&["--count", "3", "--depth", "32"], 3),
        (&["--count", "500", "--depth", "16", "--sessions", "2", "--size", "3000"], 500),
        (&["--count", "500", "--touch", "none"], 500),
        (&["--count", "500", "--touch", "none", "--size", "0"], 500),
        (&["--count", "500", "--touch", "none", "--size", "7"], 500),
        (&["--count", "500", "--touch", "none", "--size", "100000", "--depth", "4"], 500),
        (&["--count", "100", "--rate", "1000"], 100),
        (&["--count", "100", "--rate", "1000", "--sessions", "2", "--size", "2000"], 100),
        (&["--count", "200", "--wait", "park"], 200),
        (&["--count", "200", "--wait", "busy"], 200),
        (&["--count", "200", "--cpu", "0"], 200),
    ] {
        let report = json(&serve, arguments);
        is_consistent(&report);
        assert_eq!(report["count"], count, "{arguments:?}");
    }
}

#[test]
fn ping_pong_runs_with_every_size_class() {
    let serve = Serve::start(&["--cap", "1048576"]);
    for size in [0, 1, 8, 39, 40, 41, 103, 104, 105, 4096, 65_535, 65_536, 65_537, 1_048_576] {
        for touch in ["all", "none"] {
            let (size, count) = (size.to_string(), "20");
            let report = json(&serve, &["--size", &size, "--count", count, "--touch", touch]);
            is_consistent(&report);
            assert_eq!(report["size"].to_string(), size);
            assert_eq!(report["touch"], touch);
        }
    }
}

#[test]
fn a_size_has_a_unit_or_none() {
    let serve = Serve::start(&[]);
    for (size, bytes) in [("40", 40), ("64KiB", 65_536), ("1 MiB", 1 << 20), ("1.5kB", 1500)] {
        assert_eq!(json(&serve, &["--size", size, "--count", "3"])["size"], bytes);
    }
}

#[test]
fn percentiles_rise_from_the_least_latency_to_the_greatest() {
    let serve = Serve::start(&[]);
    for count in ["1", "2", "20", "100", "1000"] {
        for size in ["64", "60000"] {
            let report = json(&serve, &["--count", count, "--size", size]);
            let value = |name: &str| report["latency_ns"][name].as_f64().unwrap();
            let rising = ["min", "p50", "p90", "p99", "p999", "p9999", "max"].map(value);
            assert!(rising.is_sorted(), "{report}");
        }
    }
}

#[test]
fn one_way_reports_confirmed_count_without_latencies() {
    let serve = Serve::start(&["--workers", "2"]);
    for arguments in [
        &["--count", "1"][..],
        &["--count", "1000"],
        &["--count", "1000", "--batch", "1"],
        &["--count", "1000", "--batch", "7"],
        &["--count", "1000", "--batch", "1000000"],
        &["--count", "1001", "--sessions", "3"],
        &["--count", "300", "--size", "0"],
        &["--count", "300", "--size", "40"],
        &["--count", "300", "--size", "105"],
        &["--count", "300", "--size", "100000"],
        &["--count", "300", "--size", "100000", "--touch", "none"],
        &["--count", "300", "--wait", "park"],
    ] {
        let report = json(&serve, &[arguments, &["--pattern", "one-way"]].concat());
        is_consistent(&report);
        assert_eq!(report["pattern"], "one-way");
        assert_eq!(report["count"].to_string(), arguments[1], "{arguments:?}");
    }
}

#[test]
fn a_run_by_time_does_not_end_before_it() {
    let serve = Serve::start(&[]);
    for arguments in [
        &["--seconds", "0.2"][..],
        &["--seconds", "0.2", "--depth", "8"],
        &["--seconds", "0.2", "--sessions", "2", "--touch", "none"],
        &["--seconds", "0.2", "--pattern", "one-way"],
        &["--seconds", "0.2", "--rate", "500"],
    ] {
        let report = json(&serve, arguments);
        is_consistent(&report);
        assert!(report["count"].as_u64().unwrap() > 0, "{report}");
        assert!(report["seconds"].as_f64().unwrap() > 0.15, "{arguments:?}: {report}");
    }
}

#[test]
fn an_open_loop_keeps_its_rate_however_fast_the_server_is() {
    let serve = Serve::start(&[]);
    let report = json(&serve, &["--rate", "200", "--count", "100"]);
    let seconds = report["seconds"].as_f64().unwrap();
    assert!(seconds >= 0.49, "the last of 100 calls is due after 0.495 s: {report}");
}

#[test]
fn unreachable_rate_is_reported() {
    let serve = Serve::start(&[]);
    let rate = ["--rate", "100000000", "--count", "300"];
    let report = json(&serve, &rate);
    is_consistent(&report);
    assert_eq!(report["rate"], 1e8);
    assert!(report["messages_per_second"].as_f64().unwrap() < 1e7, "{report}");
    // The last call was due at the start, and its latency counts from then.
    let (last, seconds) = (&report["latency_ns"]["max"], &report["seconds"]);
    assert!(last.as_f64().unwrap() > 0.8e9 * seconds.as_f64().unwrap(), "{report}");
    let table = |arguments: &[&str]| {
        let output = Running::start(serve.bench(arguments)).ends_within(PATIENCE);
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find(|line| line.trim_start().starts_with("rate/s "));
        line.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    assert_eq!(table(&rate).unwrap(), "rate/s 100000000, not reached");
    assert_eq!(table(&["--rate", "0.5", "--count", "1"]).unwrap(), "rate/s 0.5");
    assert_eq!(table(&["--count", "10"]), None);
}

#[test]
fn rate_is_that_of_all_sessions_together() {
    let serve = Serve::start(&["--workers", "2"]);
    let report = json(&serve, &["--rate", "50", "--sessions", "2", "--count", "20"]);
    assert_eq!(report["rate"], 100.0);
}

#[test]
fn server_cpu_time_is_known_on_a_unix_socket_only() {
    let seconds = |report: Value| report["server_cpu_seconds"].as_f64();
    let serve = Serve::start(&[]);
    assert!(seconds(json(&serve, &["--count", "2000"])).unwrap() > 0.0);
    assert!(seconds(json(&serve, &["--count", "2000", "--threads", "2"])).unwrap() > 0.0);
    let serve = Running::start(breezeway(&["serve", "--addr", "tcp:127.0.0.1:0"]));
    let line = serve.line();
    let address = line.strip_prefix("listening on ").unwrap();
    let mut command = breezeway(&["bench", "--addr", address]);
    command.args(["--count", "10"]);
    assert_eq!(seconds(report_of(command, &[])), None);
}

#[test]
fn table_names_its_columns_and_stderr_is_empty() {
    let serve = Serve::start(&[]);
    for (arguments, names) in [
        (
            &["--count", "500"][..],
            &["  ping-pong  ", "touch all", "messages/s", "p50", "p99.9", "max", "client CPU"][..],
        ),
        (
            &["--count", "500", "--pattern", "one-way", "--touch", "none"],
            &["  one-way  ", "touch none", "messages/s", "MB/s"],
        ),
    ] {
        let output = Running::start(serve.bench(arguments)).ends_within(PATIENCE);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        for name in names {
            assert!(text.contains(name), "{text}");
        }
    }
}

#[test]
fn two_benches_at_once_confirm_each_their_own_ping_pongs() {
    let serve = Serve::start(&["--workers", "2"]);
    let benches = [(); 2].map(|()| Running::start(serve.bench(&["--count", "5000", "--json"])));
    for bench in benches {
        let output = bench.ends_within(PATIENCE);
        assert!(output.status.success(), "{output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["count"], 5000);
    }
}

#[test]
fn closed_output_does_not_panic() {
    let serve = Serve::start(&[]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = serve.bench(&["--count", "100", "--json"]);
    command.stdout(writer);
    let output = Running::start(command).ends_within(PATIENCE);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{output:?}");
}

#[test]
fn shmipc_streams_are_echoed_and_measured() {
    let folder = Folder::new();
    let address = format!("shmipc:{}", folder.socket().display());
    let serve = Running::start(breezeway(&["serve", "--addr", &address]));
    assert_eq!(serve.line(), format!("listening on {address}"));
    let bench = |arguments: &[&str]| {
        let mut command = breezeway(&["bench", "--addr", &address]);
        command.args(arguments);
        report_of(command, arguments)
    };
    for size in ["1", "64", "65536", "3000000"] {
        let report = bench(&["--size", size, "--count", "20"]);
        assert_eq!(report["count"], 20);
        assert_eq!(report["addr"], address);
    }
    assert_eq!(bench(&["--sessions", "3", "--count", "30"])["count"], 30);
    for bad in [["--depth", "2"], ["--rate", "10"], ["--pattern", "one-way"], ["--size", "0"]] {
        refused(&[&["bench", "--addr", &address], &bad[..]].concat(), &["--pattern ping-pong"]);
    }
    for (size, limit) in [("4GiB", "4294967295"), ("1TiB", "4294967295"), ("20EiB", "1 TiB")] {
        refused(&["bench", "--addr", &address, "--size", size], &["--size", limit]);
    }
    serve.signal(Signal::TERM);
    assert!(serve.ends_within(PROMPT).status.success());
    assert!(!folder.socket().exists());
}

#[test]
fn shmipc_is_measured_in_every_memory_and_over_tcp() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let prefix = folder.path().join("bench").display().to_string();
    let path = format!("shmipc:{}", folder.path().join("sock").display());
    for address in [&path, "shmipc:tcp:127.0.0.1:0"] {
        let allowed = folder.path().to_str().unwrap();
        let mut command = breezeway(&["serve", "--addr", address, "--folder", allowed]);
        if address.contains("tcp") {
            command.arg("--files-of-unknown-users");
        }
        let serve = Running::start(command);
        let line = serve.line();
        let address = line.strip_prefix("listening on ").unwrap();
        let is_tcp = address.contains("tcp");
        for memory in ["memfd", "file-v2", "file-v3"] {
            let arguments = ["--memory", memory, "--count", "20", "--sessions", "2"];
            let mut command = breezeway(&["bench", "--addr", address]);
            command.args(arguments);
            if memory != "memfd" {
                command.args(["--prefix", &prefix]);
            } else if is_tcp {
                refused(
                    &[&["bench", "--addr", address], &arguments[..]].concat(),
                    &["--memory memfd does not go with TCP", "file-v2"],
                );
                continue;
            }
            assert_eq!(report_of(command, &arguments)["count"], 20);
        }
        let mut command = breezeway(&["bench", "--addr", address, "--count", "20"]);
        if is_tcp {
            command.args(["--prefix", &prefix]);
        }
        assert_eq!(report_of(command, &["--json"])["count"], 20);
        serve.signal(Signal::TERM);
        assert!(serve.ends_within(PROMPT).status.success());
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 0, "files stay");
    }
}

#[test]
fn a_cold_start_is_not_counted() {
    // The first call of the echo takes this long.
    const COLD: Duration = Duration::from_secs(1);
    let folder = Folder::new();
    let calls = Arc::new(AtomicU64::new(0));
    let server = Server::bind(folder.address()).unwrap();
    let stopper = server.stopper();
    let counted = Arc::clone(&calls);
    let serving = std::thread::spawn(move || {
        server.serve(move |call: Call<'_>| {
            if counted.fetch_add(1, Ordering::Relaxed) == 0 {
                std::thread::sleep(COLD);
            }
            call.echo()
        })
    });
    for arguments in [&["--count", "10"][..], &["--count", "10", "--rate", "10000"]] {
        calls.store(0, Ordering::Relaxed);
        let report = report_of(bench(&folder.address(), arguments), arguments);
        assert_eq!(report["count"], 10, "{report}");
        assert!(calls.load(Ordering::Relaxed) > 10, "nothing warmed up");
        let seconds = |name: &str| report[name].as_f64().unwrap();
        let uncounted = seconds("session_seconds") - seconds("seconds");
        assert!(uncounted >= COLD.as_secs_f64(), "{report}");
    }
    stopper.stop();
    serving.join().unwrap().unwrap();
}

#[test]
fn every_call_of_a_cold_start_has_a_session_of_its_own() {
    let folder = Folder::new();
    let sessions = Arc::new(AtomicU64::new(0));
    let calls = Arc::new(AtomicU64::new(0));
    let (started, called) = (Arc::clone(&sessions), Arc::clone(&calls));
    let options = ServerOptions::new().on_session_start(move |_, _| {
        started.fetch_add(1, Ordering::Relaxed);
    });
    let server = Server::bind_with(folder.address(), options).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || {
        server.serve(move |call: Call<'_>| {
            called.fetch_add(1, Ordering::Relaxed);
            call.echo()
        })
    });
    for size in ["64", "1MiB"] {
        let arguments = ["--pattern", "cold", "--count", "5", "--size", size];
        let report = report_of(bench(&folder.address(), &arguments), &arguments);
        is_consistent(&report);
        assert_eq!((&report["pattern"], &report["count"]), (&"cold".into(), &5.into()));
    }
    stopper.stop();
    serving.join().unwrap().unwrap();
    let (sessions, calls) = (sessions.load(Ordering::Relaxed), calls.load(Ordering::Relaxed));
    assert!(sessions >= 10 && sessions == calls, "{sessions} sessions, {calls} calls");
}

fn inspect(process: &Running) -> Value {
    let output = run(&["inspect", &process.pid().to_string(), "--json"]);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The number of sessions of a running server.
fn sessions(server: &Running) -> usize {
    inspect(server)["native"]["sessions"].as_array().map_or(0, Vec::len)
}

/// Returns true if a session of a client waits.
fn waits(client: &Running) -> bool {
    let report = inspect(client);
    let mut sessions = report["native"]["sessions"].as_array().into_iter().flatten();
    sessions.any(|session| !session["waits_for"].is_null())
}

#[test]
fn a_bench_that_follows_outlives_its_servers() {
    for protocol in ["breezeway", "thrift"] {
        let folder = Folder::new();
        let address = folder.address().to_string();
        let serve = || {
            let arguments = ["serve", "--protocol", protocol, "--addr", &address, "--take-over"];
            let server = Running::start(breezeway(&arguments));
            server.line();
            server
        };
        let first = serve();
        let mut bench = breezeway(&["bench", "--protocol", protocol, "--addr", &address]);
        bench.args(["--follow", "--rate", "500", "--count", "4000", "--json"]);
        let bench = Running::start(bench);
        eventually("the bench is at the first server", || sessions(&first) > 0);
        let second = serve();
        assert!(first.ends_within(PATIENCE).status.success());
        eventually("the bench is at its successor", || sessions(&second) > 0);
        second.signal(Signal::STOP);
        eventually("a call waits for the stopped server", || waits(&bench));
        second.signal(Signal::KILL);
        second.ends_within(PATIENCE);
        let third = serve();
        eventually("the bench is at the third", || sessions(&third) > 0);
        let output = bench.ends_within(PATIENCE);
        assert!(output.status.success(), "{protocol}: {output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["count"], 4000);
        // The move to the second server cut no call.
        let notice =
            "breezeway: a server ended during a call, which may have run; it is repeated\n";
        assert_eq!(String::from_utf8(output.stderr).unwrap(), notice, "{protocol}");
    }
}

#[test]
fn follow_refuses_incompatible_options() {
    let folder = Folder::new();
    let address = folder.address().to_string();
    let bench = ["bench", "--addr", &address, "--follow"];
    for option in [["--pattern", "cold"], ["--depth", "2"], ["--runtime", "tokio"]] {
        refused(&[&bench[..], &option].concat(), &[option[0], "--follow"]);
    }
    refused(&[&bench[..], &["--protocol", "grpc"]].concat(), &["--follow", "--protocol grpc"]);
}
