//! A server and a bench as the processes that a script starts.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn unix_echo(command: &str, path: &Path, options: &[&str]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_unix-echo"));
    program.arg(command).arg("--path").arg(path).args(options);
    program
}

fn bench(path: &Path, options: &[&str]) -> Output {
    unix_echo("bench", path, options).output().unwrap()
}

fn line(output: &Output) -> Value {
    let text = str::from_utf8(&output.stdout).unwrap();
    assert!(output.status.success() && text.lines().count() == 1, "{output:?}");
    serde_json::from_str(text).unwrap()
}

/// A server; killed when the test is over.
struct Server {
    process: Child,
    path: PathBuf,
    _folder: TempDir,
}

impl Server {
    fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let mut process =
            unix_echo("serve", &path, options).stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert_eq!(ready, format!("listening on {}\n", path.display()));
        Self { process, path, _folder: folder }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

#[test]
fn both_ways_of_waiting_print_one_line_of_json() {
    for wait in ["block", "spin"] {
        let server = Server::start(&["--wait", wait]);
        for size in [1, 64, 1_000_000] {
            let size_text = size.to_string();
            let options = ["--wait", wait, "--size", &size_text, "--count", "20"];
            let line = line(&bench(&server.path, &options));
            assert_eq!(line["addr"], "unix socket");
            assert_eq!((&line["wait"], &line["size"]), (&wait.into(), &size.into()));
            assert_eq!(line["count"], 20);
            assert!(line["latency_ns"]["p50"].as_f64().unwrap() > 0.0);
        }
    }
}

#[test]
fn a_rate_paces_the_calls() {
    let server = Server::start(&[]);
    let line = line(&bench(&server.path, &["--rate", "500", "--seconds", "0.5"]));
    let count = line["count"].as_u64().unwrap();
    assert!((249..=251).contains(&count), "{count}");
}

#[test]
fn a_signal_ends_a_server_with_success_and_removes_its_socket() {
    for signal in [Signal::TERM, Signal::INT] {
        for wait in ["block", "spin"] {
            let mut server = Server::start(&["--wait", wait]);
            line(&bench(&server.path, &["--count", "1"]));
            server.signal(signal);
            assert!(server.process.wait().unwrap().success());
            assert!(!server.path.exists());
        }
    }
}

#[test]
fn a_client_that_is_killed_leaves_the_server_to_the_next() {
    let server = Server::start(&[]);
    let mut client = unix_echo("bench", &server.path, &["--seconds", "60"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    client.kill().unwrap();
    client.wait().unwrap();
    line(&bench(&server.path, &["--count", "1"]));
}

#[test]
fn killed_server_ends_bench_with_one_line_error() {
    for wait in ["block", "spin"] {
        let mut server = Server::start(&["--wait", wait]);
        let client = unix_echo("bench", &server.path, &["--seconds", "60", "--wait", wait])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(100));
        server.process.kill().unwrap();
        let output = client.wait_with_output().unwrap();
        assert!(!output.status.success());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains("the server is gone") && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn absent_server_is_one_line_with_remedy() {
    let started = Instant::now();
    let output = bench(Path::new("/nonexistent/socket"), &[]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.lines().count() == 1, "{error}");
    assert!(error.contains("start unix-echo serve"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[test]
fn second_concurrent_bench_is_refused() {
    let server = Server::start(&[]);
    let mut first = unix_echo("bench", &server.path, &["--seconds", "60"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let output = bench(&server.path, &["--count", "1"]);
    first.kill().unwrap();
    first.wait().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("one bench at a time"), "{error}");
}
