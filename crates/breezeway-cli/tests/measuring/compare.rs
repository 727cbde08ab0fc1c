//! `breezeway compare` as a user runs it: its output, its refusals, and that it leaves nothing
//! behind.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use crate::both_cpus;
use crate::support::{
    Folder, PATIENCE, Running, breezeway, eventually, is_one_line_of_failure, refused,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const LINES: [(&str, &str, bool); 11] = [
    ("shm", "busy", true),
    ("shm", "adaptive", true),
    ("shm", "park", true),
    ("shm", "busy", false),
    ("memory", "busy", true),
    ("unix", "busy", true),
    ("unix", "park", true),
    ("plain-unix", "park", true),
    ("tcp", "busy", true),
    ("tcp", "park", true),
    ("plain-tcp", "park", true),
];

/// Time limit of a whole run on a busy machine.
const RUN: Duration = Duration::from_secs(120);

/// A short run whose temporary files lie in `folder`.
fn compare(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = breezeway(&["compare", "--quick"]);
    command.args(arguments).env("TMPDIR", folder);
    command
}

/// A run of an hour, which has begun to measure.
fn long_run(folder: &Path) -> Running {
    let running = Running::start(compare(folder, &["--size", "64", "--seconds", "60"]));
    let measuring =
        || owned_by(running.pid()).iter().any(|line| line.split('\0').any(|word| word == "bench"));
    eventually("the first measurement", measuring);
    running
}

/// Returns the command lines of the child processes of `parent`.
fn owned_by(parent: u32) -> Vec<String> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let pids = std::fs::read_to_string(path).unwrap_or_default();
    let line = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok();
    pids.split_whitespace().filter_map(line).collect()
}

/// Returns the servers that the run with this process id has started and that still live, under any
/// parent.
fn servers_of(pid: u32) -> Vec<Pid> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let is_server = |pid_of: &i32| {
        let line = std::fs::read_to_string(format!("/proc/{pid_of}/cmdline")).unwrap_or_default();
        line.split('\0').any(|word| word == format!("--parent={pid}"))
    };
    let numbers = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
    numbers.filter(is_server).filter_map(Pid::from_raw).collect()
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no {pointer} in {value}"))
}

/// Checks that a row of the plan is complete.
fn is_complete(row: &Value) {
    assert!(row["commands"].as_array().is_some_and(|commands| !commands.is_empty()), "{row}");
    if row["error"].is_string() {
        assert!(row["figures"].is_null(), "{row}");
        return;
    }
    for pointer in ["disturbed", "few", "steady"] {
        assert!(row["figures"][pointer].is_boolean(), "{row}");
    }
    let of_memory = row["carrier"] == "memory";
    for side in ["client", "server"] {
        let cpus = &row["figures"]["cpus"][side];
        assert_eq!(cpus.is_null(), of_memory, "{row}");
        assert!(of_memory || cpus.as_f64().unwrap() >= 0.0, "{row}");
    }
    for pointer in ["floor_before_ns", "floor_after_ns", "ns_per_message", "floors/q1", "floors/q3"]
    {
        assert!(number(row, &format!("/figures/{pointer}")) > 0.0, "{row}");
    }
    assert!(row.pointer("/figures/level").is_some_and(Value::is_string), "{row}");
    if row["carrier"] != "memory" {
        assert!(number(row, "/figures/messages_per_second") > 0.0, "{row}");
    }
}

#[test]
fn run_writes_every_row_and_a_page_without_loads() {
    let _both = both_cpus();
    let (folder, results) = (Folder::new(), Folder::new());
    let (json, page) = (results.path().join("figures.json"), results.path().join("page.html"));
    // Rows of tokio, streams, threads and gRPC are of 64 bytes, cold starts of 1 MiB.
    let mut command = compare(folder.path(), &["--size", "64", "--size", "1MiB"]);
    command.args(["--rounds", "1", "--seconds", "0.005", "--json"]).arg(&json);
    command.arg("--report").arg(&page);
    // Settings of the environment are for servers of one's own.
    command.env("BREEZEWAY_CAP", "4KiB").env("BREEZEWAY_CONFIG", "/no/such/file");
    let running = Running::start(command);
    let pid = running.pid();
    let output = running.ends_within(RUN);
    assert!(output.status.success(), "{output:?}");
    // The bar is for terminals.
    assert!(output.stderr.is_empty(), "{output:?}");
    assert!(servers_of(pid).is_empty());
    assert_eq!(names_in(folder.path()), [""; 0]);
    assert_eq!(names_in(results.path()).len(), 2);

    let text = String::from_utf8(output.stdout).unwrap();
    for words in ["Ping-pong", "Pipelined", "One-way", "shm adaptive", "plain tcp", "1 MiB"] {
        assert!(text.contains(words), "{words} in {text}");
    }
    for words in ["under tokio", "200 streams", "8 threads", "Cold start", "Rare calls", GRPC] {
        assert!(text.contains(words), "{words} in {text}");
    }
    assert!(text.contains(&format!("report: {}", page.display())), "{text}");
    let report = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    has_every_row(&report);
    has_patterns_of_one_size_on_every_carrier(&report);
    has_rare_calls(&report);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Rare calls") && page.contains("plain bench"), "{page}");
    loads_nothing(&page);
}

fn has_rare_calls(report: &Value) {
    let all = report["rare_calls"].as_array().unwrap();
    let rates: Vec<_> = all.iter().map(|rare| rare["rate"].as_u64().unwrap()).collect();
    assert_eq!(rates, [100, 1_000, 10_000]);
    for rare in all {
        assert!(rare["error"].is_null(), "{rare}");
        assert_eq!(rare["commands"].as_array().unwrap().len(), 4);
        for side in ["shm", "plain_unix"] {
            for field in ["calls", "per_second", "p50_ns", "p99_ns", "cpu_ns_per_call"] {
                assert!(number(rare, &format!("/figures/{side}/{field}")) > 0.0, "{rare}");
            }
        }
        for ratio in ["p50_ratio", "p99_ratio"] {
            let part = |name: &str| number(rare, &format!("/figures/{ratio}/{name}"));
            assert!(part("min") <= part("ratio") && part("ratio") <= part("max"), "{rare}");
        }
    }
    // 5 ms have room for one call of 100 a second.
    assert!(all[0]["figures"]["few"] == true && all[0]["figures"]["shm"]["calls"] == 1, "{report}");
}

/// A table of gRPC, or the reason why there is none.
const GRPC: &str = if cfg!(feature = "grpc") {
    "gRPC, as HTTP/2"
} else {
    "grpc-http2: left out: this build of the command lacks the cargo feature grpc"
};

/// Patterns that are measured at one size, on every carrier.
const OF_ONE_SIZE: &[(&str, u64)] = &[
    ("tokio", 64),
    ("streams", 64),
    ("threads", 64),
    ("cold", 1 << 20),
    #[cfg(feature = "grpc")]
    ("grpc", 64),
    #[cfg(feature = "grpc")]
    ("grpc-http2", 64),
    #[cfg(feature = "thrift")]
    ("thrift", 64),
];

fn has_patterns_of_one_size_on_every_carrier(report: &Value) {
    let rows = report["rows"].as_array().unwrap();
    for &(pattern, size) in OF_ONE_SIZE {
        let rows: Vec<_> = rows.iter().filter(|row| row["pattern"] == pattern).collect();
        let carriers: Vec<_> = rows.iter().map(|row| row["carrier"].as_str().unwrap()).collect();
        assert_eq!(carriers, ["shm", "unix", "tcp"], "{pattern}");
        for row in rows {
            assert!(row["error"].is_null() && row["size"] == size, "{row}");
            is_complete(row);
        }
    }
}

fn has_every_row(report: &Value) {
    for pointer in ["/date", "/version", "/machine/kernel", "/machine/cpu_model", "/machine/shared"]
    {
        assert!(report.pointer(pointer).is_some_and(Value::is_string), "{pointer} in {report}");
    }
    assert!(number(report, "/levels/0/median") > 0.0);
    let rows = report["rows"].as_array().unwrap();
    for (carrier, wait, touched) in LINES {
        let of_line = rows.iter().filter(|row| {
            row["carrier"] == carrier
                && row["wait"] == wait
                && row["touched"] == touched
                && OF_ONE_SIZE.iter().all(|(pattern, _)| row["pattern"] != *pattern)
        });
        let plain = carrier.starts_with("plain") || carrier == "memory";
        let expected = if !touched {
            1
        } else if plain {
            2
        } else {
            6
        };
        assert_eq!(of_line.clone().count(), expected, "{carrier} {wait} {touched}");
        of_line.for_each(is_complete);
    }
    assert_eq!(rows.len(), 2 * 7 * 3 + 2 * 3 + 1 + 3 * OF_ONE_SIZE.len());
    let failed: Vec<_> = rows.iter().filter(|row| !row["error"].is_null()).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

fn loads_nothing(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    for loading in ["http:", "https:", "//", "src=", "href=", "url(", "@import", "<script"] {
        assert!(!page.contains(loading), "{loading}");
    }
    assert!(page.matches("<svg").count() >= 6);
}

/// Processes that keep both CPUs busy until they are dropped.
struct Load(Vec<Child>);

impl Load {
    fn on_both_cpus() -> Self {
        let spin = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Self((0..2 * breezeway_os::cpu::online()).map(|_| spin()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for process in &mut self.0 {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }
}

#[test]
fn a_run_beside_a_load_repeats_marks_and_warns() {
    let _both = both_cpus();
    let (folder, results) = (Folder::new(), Folder::new());
    let json = results.path().join("figures.json");
    let mut command = compare(folder.path(), &["--size", "64", "--rounds", "1"]);
    command.args(["--seconds", "0.02", "--json"]).arg(&json);
    let load = Load::on_both_cpus();
    let output = Running::start(command).ends_within(RUN);
    drop(load);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let (warning, table) = (text.find("WARNING: this machine was busy."), text.find("Ping-pong"));
    assert!(warning.is_some() && warning < table, "{text}");
    assert!(text.contains("~ other programs used the two CPUs"), "{text}");
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let disturbed = rows.iter().filter(|row| row["figures"]["disturbed"] == true).count();
    assert!(2 * disturbed > rows.len(), "{disturbed} of {} in {report}", rows.len());
    assert!(number(&report, "/background/others") > 0.1, "{report}");
    assert_eq!(number(&report, "/background/repeated") as usize, rows.len().div_ceil(4));
    let rare = report["rare_calls"].as_array().unwrap();
    assert!(rare.iter().any(|rare| rare["figures"]["disturbed"] == true), "{report}");
}

#[test]
fn a_signal_ends_servers_and_measurement_and_leaves_nothing() {
    let _both = both_cpus();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let folder = Folder::new();
        let running = long_run(folder.path());
        let pid = running.pid();
        assert!(!servers_of(pid).is_empty());
        running.signal(signal);
        let output = running.ends_within(PATIENCE);
        let mut error = output.clone();
        // What it announced before it began.
        error.stdout.clear();
        is_one_line_of_failure(&error, "an interrupted run", &["interrupted"]);
        assert!(servers_of(pid).is_empty(), "{signal:?}");
        assert_eq!(names_in(folder.path()), [""; 0], "{signal:?}");
    }
}

#[test]
fn no_server_outlives_a_run_that_is_killed() {
    let _both = both_cpus();
    let folder = Folder::new();
    let running = long_run(folder.path());
    let pid = running.pid();
    running.signal(Signal::KILL);
    assert!(!running.ends_within(PATIENCE).status.success());
    eventually("the servers' end", || servers_of(pid).is_empty());
}

#[test]
fn rows_of_dead_server_fail_and_others_continue() {
    let _both = both_cpus();
    let (folder, results) = (Folder::new(), Folder::new());
    let json = results.path().join("figures.json");
    let mut command = compare(folder.path(), &["--size", "64", "--rounds", "1"]);
    let running = Running::start({
        command.args(["--seconds", "0.005", "--json"]).arg(&json);
        command
    });
    eventually("a server", || !servers_of(running.pid()).is_empty());
    kill_process(servers_of(running.pid())[0], Signal::KILL).unwrap();
    let output = running.ends_within(RUN);
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let failed = report["rows"].as_array().unwrap().iter().filter(|row| !row["error"].is_null());
    assert!(failed.clone().count() > 0);
    assert!(failed.clone().count() < report["rows"].as_array().unwrap().len());
}

#[test]
fn a_carrier_that_cannot_be_had_is_named_with_the_reason() {
    let _both = both_cpus();
    let folder = Folder::new();
    // No unix socket can have so long a path.
    let deep = folder.path().join("x".repeat(100));
    std::fs::create_dir(&deep).unwrap();
    let arguments = ["--size", "8", "--rounds", "1", "--seconds", "0.005"];
    let output = Running::start(compare(&deep, &arguments)).ends_within(RUN);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |line: &&str| line.starts_with("shm busy: not available: ");
    assert!(text.lines().find(line).is_some_and(|line| line.contains("path")), "{text}");
    assert!(text.contains("rare calls, 100/s: not available: "), "{text}");
    assert!(!text.contains("Rare calls"), "{text}");
}

#[test]
fn wrong_flags_are_refused_with_one_line() {
    refused(&["compare", "--cpus", "0"], &["two CPU numbers"]);
    refused(&["compare", "--cpus", "0,1000"], &["cpu 1000", "--cpus"]);
    refused(&["compare", "--size", "0"], &["--size", "0"]);
    refused(&["compare", "--size", "5MiB"], &["--size", "5MiB", "1 byte to 4 MiB"]);
    refused(&["compare", "--size", "64 frogs"], &["64 frogs", "such as 65536, 256KiB"]);
    refused(&["compare", "--rounds", "0"], &["--rounds"]);
    let plain = ["plain", "bench", "--addr", "unix:/no", "--size", "64", "--seconds", "1"];
    refused(&[&plain[..], &["--rate", "0"]].concat(), &["--rate", "above 0"]);
    refused(&["compare", "--seconds", "0"], &["--seconds", "above 0"]);
    refused(&["compare", "--no-such-option"], &["--no-such-option", "--help"]);
    refused(
        &["compare", "--json", "/no/such/folder/file"],
        &["cannot write /no/such/folder/file: No such file or directory"],
    );
    let output = crate::support::run(&["compare", "--json", "/no/such/folder/file"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!text.contains(".breezeway-"), "a name that the user did not give: {text}");
    refused(&["compare", "--report", "/tmp"], &["cannot write /tmp", "folder"]);
}

#[test]
fn a_server_of_a_run_refuses_to_run_on_its_own() {
    let serve = ["serve", "--addr", "shm:/tmp/nobody.sock"];
    refused(&[&["compare-server", "--parent", "1"], &serve[..]].concat(), &["breezeway compare"]);
}
