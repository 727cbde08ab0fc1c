//! `breezeway serve` and `breezeway bench`: the contract that scripts rely on.

mod support;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use breezeway::{Call, CallError, HandlerError, Replied, Server, Session, Stopper};
use rustix::process::Signal;
use serde_json::Value;
use support::{
    Folder, PATIENCE, PROMPT, Running, Serve, bench, breezeway, eventually, is_one_line_of_failure,
    refused, refused_command, run,
};

const EVERY_POLICY: [&str; 3] = ["busy", "adaptive", "park"];

// ---- serve ----

#[test]
fn serve_accepts_from_the_moment_it_says_where_it_listens() {
    for wait in EVERY_POLICY {
        let serve = Serve::start(&["--wait", wait]);
        let mut session = Session::connect(&serve.folder.address()).unwrap();
        assert_eq!(session.call(0, b"hello").unwrap().to_vec(), b"hello");
    }
}

#[test]
fn sigterm_and_sigint_end_serve_with_status_0_and_remove_its_socket() {
    for signal in [Signal::TERM, Signal::INT] {
        for wait in EVERY_POLICY {
            for sessions in 0..3 {
                let serve = Serve::start(&["--wait", wait, "--workers", "2"]);
                let mut sessions: Vec<_> = (0..sessions)
                    .map(|_| Session::connect(&serve.folder.address()).unwrap())
                    .collect();
                for session in &mut sessions {
                    session.call(0, b"hello").unwrap();
                }
                serve.running.signal(signal);
                let output = serve.running.ends_within(PROMPT);
                assert!(output.status.success(), "{signal:?} {wait}: {output:?}");
                assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
                assert!(!serve.folder.socket().exists());
                for session in &mut sessions {
                    let error = session.call(0, b"hello").unwrap_err();
                    assert!(matches!(error, CallError::Closed), "{error:?}");
                }
            }
        }
    }
}

#[test]
fn a_signal_in_the_middle_of_a_flood_ends_serve_with_status_0() {
    let serve = Serve::start(&[]);
    let address = serve.folder.address();
    let (sender, posted) = std::sync::mpsc::channel();
    let flood = std::thread::spawn(move || {
        let mut session = Session::connect(&address).unwrap();
        for number in 0u64.. {
            if session.post(2, &[7; 2000]).is_err() {
                return;
            }
            if number == 100 {
                sender.send(()).unwrap();
            }
        }
    });
    posted.recv_timeout(PATIENCE).unwrap();
    serve.running.signal(Signal::TERM);
    let output = serve.running.ends_within(PROMPT);
    assert!(output.status.success(), "{output:?}");
    assert!(!serve.folder.socket().exists());
    flood.join().unwrap();
}

#[test]
fn several_signals_are_like_one() {
    let serve = Serve::start(&[]);
    for _ in 0..5 {
        serve.running.signal(Signal::TERM);
        serve.running.signal(Signal::INT);
    }
    assert!(serve.running.ends_within(PROMPT).status.success());
}

#[test]
fn serve_acts_by_method_number() {
    let serve = Serve::start(&[]);
    let mut session = Session::connect(&serve.folder.address()).unwrap();
    for len in [0, 1, 7, 8, 9, 104, 105, 5000, 300_000] {
        let request: Vec<u8> = (0..len).map(|index| (index % 251) as u8 + 1).collect();
        assert_eq!(session.call(0, &request).unwrap().to_vec(), request, "echo of {len}");
        let hollow = session.call(1, &request).unwrap().to_vec();
        let few = request.len().min(8);
        assert_eq!((hollow.len(), &hollow[..few]), (request.len(), &request[..few]));
    }
    // 2 counts and sums little-endian words, the last one filled up with zeros; 3 tells.
    session.post(2, &[1, 0, 0, 0, 0, 0, 0, 0, 2]).unwrap();
    session.post(2, &[0xff; 8]).unwrap();
    session.post(2, &[]).unwrap();
    assert!(session.call(2, &5u64.to_le_bytes()).unwrap().bytes().is_empty());
    let large: Vec<u8> = (0..1000u64).flat_map(u64::to_le_bytes).collect();
    session.post(2, &large).unwrap();
    let tally = session.call(3, &[]).unwrap().to_vec();
    assert_eq!(tally.len(), 16);
    assert_eq!(tally[..8], 5u64.to_le_bytes());
    let sum = 3u64.wrapping_add(u64::MAX).wrapping_add(5).wrapping_add(499_500);
    assert_eq!(tally[8..], sum.to_le_bytes());
    for method in [4, u32::MAX] {
        let error = session.call(method, b"?").unwrap_err().to_string();
        assert!(error.contains(&format!("no method {method}")), "{error}");
    }
    assert_eq!(session.call(0, b"still there").unwrap().to_vec(), b"still there");
}

#[test]
fn the_tally_counts_what_all_workers_sunk() {
    let serve = Serve::start(&["--workers", "3"]);
    let mut sessions: Vec<_> =
        (0..6).map(|_| Session::connect(&serve.folder.address()).unwrap()).collect();
    for (number, session) in sessions.iter_mut().enumerate() {
        session.call(2, &(number as u64).to_le_bytes()).unwrap();
    }
    let tally = sessions[0].call(3, &[]).unwrap().to_vec();
    assert_eq!((&tally[..8], &tally[8..]), (&6u64.to_le_bytes()[..], &15u64.to_le_bytes()[..]));
}

fn statuses(pid: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let status = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("status"));
    tasks.flatten().filter_map(|entry| status(entry).ok()).collect()
}

#[test]
fn every_thread_of_serve_is_pinned_where_it_was_asked_to() {
    let allowed = breezeway_shm::cpu::allowed();
    let cpu = allowed.last().unwrap().to_string();
    let serve = Serve::start(&["--cpu", &cpu, "--workers", "2"]);
    let mut session = Session::connect(&serve.folder.address()).unwrap();
    session.call(0, b"hello").unwrap();
    let statuses = statuses(serve.running.pid());
    assert!(statuses.len() >= 4, "main, signals, two workers");
    for status in statuses {
        let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list:")).unwrap();
        assert_eq!(line.split_whitespace().nth(1), Some(cpu.as_str()), "{status}");
    }
}

#[test]
fn serve_without_sessions_uses_no_cpu_time_under_any_policy() {
    for wait in EVERY_POLICY {
        let serve = Serve::start(&["--wait", wait]);
        drop(Session::connect(&serve.folder.address()).unwrap());
        let switches = || {
            statuses(serve.running.pid())
                .iter()
                .flat_map(|status| status.lines())
                .filter(|line| line.contains("ctxt_switches"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let (mut seen, mut same) = (switches(), 0);
        eventually("it falls idle", || {
            let now = switches();
            same = if now == seen { same + 1 } else { 0 };
            seen = now;
            same == 50
        });
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(switches(), seen, "{wait}");
    }
}

#[test]
fn serve_takes_over_a_left_over_socket() {
    let folder = Folder::new();
    folder.leave_over();
    let serve = Serve::start_in(folder, &[]);
    assert!(Session::connect(&serve.folder.address()).is_ok());
}

#[test]
fn serve_goes_on_when_nobody_reads_what_it_says() {
    let folder = Folder::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = breezeway(&["serve", "--addr", &folder.address().to_string()]);
    command.stdout(writer);
    let running = Running::start(command);
    eventually("it listens", || Session::connect(&folder.address()).is_ok());
    running.signal(Signal::TERM);
    assert!(running.ends_within(PROMPT).status.success());
}

#[test]
fn serve_refuses_what_makes_no_sense() {
    let folder = Folder::new();
    let address = folder.address().to_string();
    let with = |arguments: &[&str], words: &[&str]| {
        refused(&[&["serve", "--addr", &address], arguments].concat(), words);
    };
    refused(&["serve"], &["--addr"]);
    for bad in ["nonsense", "", "http://localhost", "/tmp/echo.sock"] {
        refused(&["serve", "--addr", bad], &["--addr", "shm:/path/to.sock"]);
    }
    refused(&["serve", "--addr", "shmipc:"], &["no shmipc address"]);
    refused(&["serve", "--addr", "tcp:localhost"], &["tcp:host:port"]);
    refused(&["serve", "--addr", "unix:"], &["lacks a path"]);
    refused(&["serve", "--addr", "shm:"], &["lacks a path"]);
    refused(&["serve", "--addr", &format!("shm:/{}", "x".repeat(200))], &["201 bytes"]);
    refused(&["serve", "--addr", "shm:/no/such/folder/x.sock"], &["/no/such/folder/x.sock"]);
    with(&["--workers", "0"], &["workers"]);
    with(&["--workers", "100000"], &["workers"]);
    with(&["--workers", "-1"], &["-1"]);
    with(&["--workers", "99999999999999999999999"], &["99999999999999999999999"]);
    with(&["--cap", "0"], &["cap"]);
    with(&["--cap", "99999999999999999"], &["cap", "TiB"]);
    with(&["--cap", "64 frogs"], &["64 frogs", "64MiB"]);
    with(&["--cpu", "99999"], &["cpu 99999", "allowed"]);
    with(&["--cpu", "18446744073709551615"], &["18446744073709551615", "allowed"]);
    with(&["--wait", "never"], &["never"]);
    with(&["--no-such-option"], &["--no-such-option"]);
    with(&["surplus"], &["surplus"]);
    assert!(!folder.socket().exists());
}

#[test]
fn serve_refuses_an_address_that_is_taken() {
    let serve = Serve::start(&[]);
    let address = serve.folder.address().to_string();
    refused(&["serve", "--addr", &address], &["in use by a running server", &address[4..]]);
    assert!(Session::connect(&serve.folder.address()).is_ok());
    let folder = Folder::new();
    std::fs::write(folder.socket(), "precious").unwrap();
    refused(&["serve", "--addr", &folder.address().to_string()], &["is no socket"]);
    assert_eq!(std::fs::read(folder.socket()).unwrap(), b"precious");
}

// ---- bench ----

const FIELDS: [&str; 11] = [
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
const PERCENTILES: [&str; 8] = ["min", "p50", "p90", "p99", "p999", "p9999", "max", "mean"];

fn keys(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Runs a bench with `--json`, and gives the one object that it prints.
#[track_caller]
fn json(serve: &Serve, arguments: &[&str]) -> Value {
    report_of(serve.bench(arguments), arguments)
}

/// What a bench reports as JSON.
#[track_caller]
fn report_of(mut command: std::process::Command, arguments: &[&str]) -> Value {
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

/// Asserts what holds for every report.
#[track_caller]
fn is_consistent(report: &Value) {
    let number = |name: &str| report[name].as_f64().unwrap();
    let rate = number("messages_per_second");
    assert!(number("seconds") > 0.0 && number("client_cpu_seconds") >= 0.0, "{report}");
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

#[test]
fn json_is_one_line_with_the_fields_of_the_contract_and_the_defaults() {
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
fn one_way_reports_what_the_server_confirms_and_no_latencies() {
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
fn a_run_by_time_takes_that_time() {
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
        assert!(report["count"].as_u64().unwrap() > 10, "{report}");
        let seconds = report["seconds"].as_f64().unwrap();
        assert!((0.15..5.0).contains(&seconds), "{arguments:?}: {report}");
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
fn the_table_names_what_it_shows_and_says_nothing_on_stderr() {
    let serve = Serve::start(&[]);
    for (arguments, names) in [
        (&["--count", "500"][..], &["messages/s", "p50", "p99.9", "max", "client CPU"][..]),
        (&["--count", "500", "--pattern", "one-way"], &["messages/s", "MB/s"]),
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
fn a_bench_whose_output_nobody_reads_does_not_panic() {
    let serve = Serve::start(&[]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = serve.bench(&["--count", "100", "--json"]);
    command.stdout(writer);
    let output = Running::start(command).ends_within(PATIENCE);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{output:?}");
}

// ---- a bench that cannot be run ----

#[test]
fn bench_refuses_what_makes_no_sense() {
    let serve = Serve::start(&["--cap", "1048576"]);
    let address = serve.folder.address().to_string();
    let with = |arguments: &[&str], words: &[&str]| {
        refused(&[&["bench", "--addr", &address], arguments].concat(), words);
    };
    refused(&["bench"], &["--addr"]);
    for bad in ["nonsense", "", "unix:", "shm:"] {
        refused(&["bench", "--addr", bad], &["--addr", "shm:/path/to.sock"]);
    }
    refused(&["bench", "--addr", "tcp:localhost"], &["--addr", "tcp:host:port"]);
    for (option, values) in [
        ("--size", &["-1", "many", "1.5", "18446744073709551616", "64k"][..]),
        ("--count", &["0", "-1", "1.5", "18446744073709551616"]),
        ("--seconds", &["0", "-1", "nan", "inf", "1e300", "soon"]),
        ("--rate", &["0", "-1", "nan", "inf", "1e300"]),
        ("--depth", &["0", "-1", "32769", "4294967296"]),
        ("--batch", &["0", "-1", "1000001"]),
        ("--sessions", &["0", "-1", "1025"]),
        ("--cap", &["-1", "18446744073709551616", "64 frogs"]),
        ("--wait", &["never"]),
        ("--touch", &["some"]),
        ("--pattern", &["zigzag"]),
        ("--cpu", &["-1", "first"]),
    ] {
        for value in values {
            with(&[option, value], &[value]);
        }
    }
    with(&["--cap", "0"], &["cap"]);
    with(&["--cap", "18446744073709551615"], &["cap"]);
    with(&["--cpu", "99999"], &["cpu 99999", "allowed"]);
    with(&["--count", "1", "--seconds", "1"], &["--count", "--seconds"]);
    with(&["--rate", "1", "--depth", "2"], &["--rate", "--depth"]);
    with(&["--rate", "1", "--pattern", "one-way"], &["--rate"]);
    with(&["--no-such-option"], &["--no-such-option"]);
    with(&["--depth", "1000", "--count", "1"], &["--depth 1000", "512"]);
}

#[test]
fn a_size_above_the_cap_is_refused_with_the_cap_and_the_options_that_raise_it() {
    let serve = Serve::start(&["--cap", "1048576"]);
    let address = serve.folder.address().to_string();
    for pattern in ["ping-pong", "one-way"] {
        for (arguments, cap) in [
            (&["--size", "1048577"][..], "1048576"),
            (&["--size", "18446744073709551615"], "1048576"),
            (&["--size", "9223372036854775807"], "1048576"),
            (&["--size", "8193", "--cap", "8192"], "8192"),
        ] {
            let common = ["bench", "--addr", &address, "--pattern", pattern];
            let words = ["--size", arguments[1], cap, "raise --cap"];
            refused(&[&common, arguments].concat(), &words);
        }
    }
    let report = json(&serve, &["--size", "1048576", "--count", "3"]);
    assert_eq!(report["count"], 3);
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
    serve.signal(Signal::TERM);
    assert!(serve.ends_within(PROMPT).status.success());
    assert!(!folder.socket().exists());
}

#[test]
fn a_missing_server_is_named_with_what_to_do() {
    let folder = Folder::new();
    let address = folder.address().to_string();
    refused(&["bench", "--addr", &address], &[&address[4..], "start the server"]);
    folder.leave_over();
    refused(&["bench", "--addr", &address], &[&address[4..], "left-over"]);
    std::fs::remove_file(folder.socket()).unwrap();
    std::fs::write(folder.socket(), "no socket").unwrap();
    refused(&["bench", "--addr", &address], &[&address[4..]]);
}

#[test]
fn a_refused_permission_is_named_with_what_to_do() {
    const STRANGER: u32 = 12_345;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = Folder::new();
    folder.open_to_others();
    let serve = Serve::start_in(folder, &[]);
    let mut command = serve.bench(&[]);
    command.uid(STRANGER).gid(STRANGER);
    let path = serve.folder.socket();
    refused_command(command, &["no permission", path.to_str().unwrap(), "write permission"]);
    let mut command = breezeway(&["serve", "--addr", &format!("{}2", serve.folder.address())]);
    command.uid(STRANGER).gid(STRANGER);
    refused_command(command, &["ermission denied"]);
}

/// A server of another protocol: does with each connection what `act` says.
fn other_server(folder: &Folder, act: impl Fn(UnixStream, &mut Vec<UnixStream>) + Send + 'static) {
    let listener = UnixListener::bind(folder.socket()).unwrap();
    // It ends with the test process; the bench is long done by then.
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for connection in listener.incoming().map_while(Result::ok) {
            act(connection, &mut kept);
        }
    });
}

#[test]
fn a_server_that_speaks_something_else_is_named_in_one_line() {
    for answer in [
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        vec![0, 0, 0, 8, 0x77, 0x58, 3, 4],
        vec![0xff; 5000],
        b"\x1b[31mred\n\x07".to_vec(),
    ] {
        let folder = Folder::new();
        other_server(&folder, move |mut connection, kept| {
            let _ = connection.write_all(&answer);
            kept.push(connection);
        });
        refused_command(bench(&folder.address(), &[]), &["does not speak Breezeway"]);
    }
    let folder = Folder::new();
    other_server(&folder, |connection, _| drop(connection));
    refused_command(bench(&folder.address(), &[]), &["Breezeway"]);
    let folder = Folder::new();
    other_server(&folder, |mut connection, _| {
        let _ = connection.read(&mut [0; 100]);
    });
    refused_command(bench(&folder.address(), &[]), &["Breezeway"]);
}

#[test]
fn a_silent_server_is_given_up_in_time() {
    let folder = Folder::new();
    other_server(&folder, |connection, kept| kept.push(connection));
    refused_command(bench(&folder.address(), &[]), &["no answer", "Breezeway"]);
}

#[test]
fn a_server_that_stands_still_is_given_up_in_time() {
    let serve = Serve::start(&[]);
    serve.running.signal(Signal::STOP);
    refused_command(serve.bench(&[]), &["hangs"]);
}

#[test]
fn more_sessions_than_the_limit_of_open_files_allows_are_refused_with_that_limit() {
    let serve = Serve::start(&[]);
    let mut shell = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_breezeway");
    shell
        .args(["-c", "ulimit -n 30; exec \"$0\" \"$@\"", program, "bench", "--addr"])
        .arg(serve.folder.address().to_string())
        .args(["--sessions", "100", "--count", "100"])
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    refused_command(shell, &["open files"]);
}

// ---- a bench that fails ----

const LONG_RUNS: [&[&str]; 6] = [
    &["--seconds", "60"],
    &["--seconds", "60", "--json"],
    &["--seconds", "60", "--wait", "park", "--depth", "8", "--size", "20000"],
    &["--seconds", "60", "--wait", "busy", "--touch", "none"],
    &["--seconds", "60", "--sessions", "3"],
    &["--seconds", "60", "--rate", "1000"],
];

/// Waits until a bench is at work: it has used some CPU time since its connection.
fn is_at_work(bench: &Running) {
    let switches = || {
        let status = statuses(bench.pid());
        (status.len() >= 2).then(|| status.join(""))
    };
    let mut seen = None;
    eventually("the bench is at work", || {
        let now = switches();
        let works = seen.is_some() && now.is_some() && seen != now;
        seen = seen.take().or(now);
        works
    });
}

#[test]
fn a_server_killed_during_a_bench_ends_it_with_status_1_and_one_line() {
    let one_way = ["--seconds", "60", "--pattern", "one-way"];
    for arguments in LONG_RUNS.into_iter().chain([&one_way[..]]) {
        let serve = Serve::start(&["--workers", "2"]);
        let bench = Running::start(serve.bench(arguments));
        is_at_work(&bench);
        serve.running.signal(Signal::KILL);
        let output = bench.ends_within(PROMPT);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}: {output:?}");
        is_one_line_of_failure(&output, &format!("{arguments:?}"), &["died"]);
    }
}

#[test]
fn a_server_stopped_during_a_bench_ends_it_with_status_1_and_one_line() {
    for arguments in LONG_RUNS {
        let serve = Serve::start(&["--workers", "2"]);
        let bench = Running::start(serve.bench(arguments));
        is_at_work(&bench);
        serve.running.signal(Signal::TERM);
        let output = bench.ends_within(PROMPT);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        is_one_line_of_failure(&output, &format!("{arguments:?}"), &["closed"]);
        assert!(serve.running.ends_within(PROMPT).status.success());
    }
}

#[test]
fn a_bench_killed_at_work_leaves_a_server_that_serves() {
    let serve = Serve::start(&[]);
    for arguments in LONG_RUNS {
        let bench = Running::start(serve.bench(arguments));
        is_at_work(&bench);
        drop(bench);
        assert_eq!(json(&serve, &["--count", "100"])["count"], 100);
    }
    serve.running.signal(Signal::TERM);
    assert!(serve.running.ends_within(PROMPT).status.success());
}

/// A server in this process, which ends with the test.
struct Liar {
    folder: Folder,
    stopper: Stopper,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Liar {
    fn start(
        handler: impl Fn(Call<'_>) -> Result<Replied, HandlerError> + Send + Sync + 'static,
    ) -> Self {
        let folder = Folder::new();
        let server = Server::bind(&folder.address()).unwrap();
        let stopper = server.stopper();
        let thread = std::thread::spawn(move || server.serve(handler).unwrap());
        Self { folder, stopper, thread: Some(thread) }
    }

    #[track_caller]
    fn is_found_out(&self, arguments: &[&str], words: &[&str]) {
        let output = Running::start(bench(&self.folder.address(), arguments)).ends_within(PATIENCE);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}: {output:?}");
        is_one_line_of_failure(&output, &format!("{arguments:?}"), words);
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[test]
fn an_echo_with_one_wrong_byte_ends_the_bench_with_status_1() {
    for (size, wrong, extra) in [
        (1, 0, &[][..]),
        (8, 7, &["--depth", "4"]),
        (40, 39, &["--json"]),
        (64, 0, &["--wait", "park"]),
        (104, 103, &["--wait", "busy"]),
        (105, 104, &["--rate", "10000"]),
        (1000, 500, &["--depth", "32"]),
        (4097, 4096, &[]),
        (100_000, 50_001, &["--depth", "2"]),
        (100_000, 99_999, &[]),
    ] {
        let calls = std::sync::atomic::AtomicU64::new(0);
        let liar = Liar::start(move |call: Call<'_>| {
            let mut bytes = call.request().to_vec();
            // The first calls are honest.
            if calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 50 {
                bytes[wrong] ^= 0x10;
            }
            Ok(call.reply(&bytes)?)
        });
        let common = ["--size", &size.to_string(), "--count", "1000"];
        liar.is_found_out(&[&common, extra].concat(), &["reply 50", "differs"]);
    }
}

#[test]
fn an_echo_of_the_wrong_length_ends_the_bench_with_status_1() {
    type Change = fn(&mut Vec<u8>);
    let changes: [Change; 3] = [
        |bytes| {
            bytes.pop();
        },
        |bytes| bytes.push(0),
        Vec::clear,
    ];
    for change in changes {
        for touch in ["all", "none"] {
            let liar = Liar::start(move |call: Call<'_>| {
                let mut bytes = call.request().to_vec();
                change(&mut bytes);
                Ok(call.reply(&bytes)?)
            });
            liar.is_found_out(&["--count", "10", "--touch", touch], &["reply 0", "differs"]);
        }
    }
}

#[test]
fn replies_in_the_wrong_order_of_content_end_the_bench_with_status_1() {
    let last = std::sync::Mutex::new(vec![0; 64]);
    let liar = Liar::start(move |call: Call<'_>| {
        let mut last = last.lock().unwrap();
        let bytes = std::mem::replace(&mut *last, call.request().to_vec());
        drop(last);
        Ok(call.reply(&bytes)?)
    });
    for arguments in [&["--count", "10"][..], &["--count", "10", "--touch", "none"]] {
        liar.is_found_out(arguments, &["differs"]);
    }
}

#[test]
fn a_sink_that_confirms_the_wrong_count_or_sum_ends_the_bench_with_status_1() {
    for (wrong_count, wrong_sum, words) in
        [(1, 0, "confirms 101"), (u64::MAX, 0, "confirms 99"), (0, 1, "sum")]
    {
        let (count, sum) = (std::sync::Mutex::new(0u64), std::sync::Mutex::new(0u64));
        let liar = Liar::start(move |call: Call<'_>| match call.method() {
            2 => {
                *count.lock().unwrap() += 1;
                let words = call.request().to_vec();
                let mut sum = sum.lock().unwrap();
                for word in words.chunks(8) {
                    let mut bytes = [0; 8];
                    bytes[..word.len()].copy_from_slice(word);
                    *sum = sum.wrapping_add(u64::from_le_bytes(bytes));
                }
                drop(sum);
                Ok(call.done()?)
            }
            _ => {
                let count = *count.lock().unwrap();
                // The first tally, before the run, is honest.
                let lie = u64::from(count > 0);
                let told = [
                    count.wrapping_add(lie * wrong_count),
                    sum.lock().unwrap().wrapping_add(lie * wrong_sum),
                ];
                Ok(call.reply(&told.map(u64::to_le_bytes).concat())?)
            }
        });
        liar.is_found_out(&["--pattern", "one-way", "--count", "100"], &[words]);
    }
}

#[test]
fn a_server_that_fails_calls_ends_the_bench_with_its_reason() {
    for (reason, words) in [("out of coffee", "out of coffee"), ("", "failed")] {
        let liar = Liar::start(move |_: Call<'_>| Err(reason.into()));
        liar.is_found_out(&["--count", "10"], &[words]);
        liar.is_found_out(&["--count", "10", "--pattern", "one-way"], &[words]);
    }
}

#[test]
fn a_reason_of_several_lines_or_with_control_characters_is_still_one_line() {
    let liar = Liar::start(|_: Call<'_>| Err("two\nlines\r\nand \x1b[31mcolour".into()));
    liar.is_found_out(&["--count", "10"], &["two"]);
}

#[test]
fn a_refusal_of_the_servers_policy_ends_the_bench_with_its_reason_in_one_line() {
    for reason in ["not on Sundays", "two\nlines\r\nand \x1b[31mcolour"] {
        let folder = Folder::new();
        let options = breezeway::ServerOptions::new().authorize(move |_| Err(reason.to_owned()));
        let server = Server::bind_with(&folder.address(), options).unwrap();
        let stopper = server.stopper();
        let serving =
            std::thread::spawn(move || server.serve(|call: Call<'_>| Ok(call.reply(b"never")?)));
        let output = Running::start(bench(&folder.address(), &[])).ends_within(PROMPT);
        stopper.stop();
        serving.join().unwrap().unwrap();
        is_one_line_of_failure(&output, reason, &["refuses", &reason[..3]]);
    }
}

// ---- help ----

#[test]
fn help_of_every_subcommand_has_examples() {
    for command in ["serve", "bench", "floor", "doctor"] {
        for help in ["--help", "-h"] {
            let output = run(&[command, help]);
            assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.contains("Examples:"), "{text}");
            assert!(text.contains(&format!("breezeway {command}")), "{text}");
        }
    }
}

#[test]
fn help_says_what_each_option_of_the_contract_does() {
    for (command, options) in [
        ("serve", &["--addr", "--wait", "--cpu", "--workers", "--cap"][..]),
        (
            "bench",
            &[
                "--addr",
                "--pattern",
                "--size",
                "--count",
                "--seconds",
                "--rate",
                "--depth",
                "--batch",
                "--sessions",
                "--wait",
                "--touch",
                "--cpu",
                "--cap",
                "--json",
            ],
        ),
    ] {
        let text = String::from_utf8(run(&[command, "--help"]).stdout).unwrap();
        for option in options {
            assert!(text.contains(option), "{command} {option}");
        }
        assert!(text.contains("NUMA"), "--cpu binds memory as well: {text}");
    }
}

#[test]
fn the_command_without_a_subcommand_lists_them() {
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    for command in ["serve", "bench", "floor", "doctor"] {
        assert!(text.contains(command), "{text}");
    }
    refused(&["server"], &["server", "--help"]);
    let output = run(&["--version"]);
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("breezeway "));
}
