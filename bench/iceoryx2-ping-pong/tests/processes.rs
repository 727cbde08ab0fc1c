//! A server and a bench as the processes that a script starts.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn ping_pong(command: &str, name: &str, options: &[&str]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_iceoryx2-ping-pong"));
    program.args([command, "--name", name]).args(options);
    program
}

fn bench(name: &str, options: &[&str]) -> Output {
    ping_pong("bench", name, options).output().unwrap()
}

fn line(output: &Output) -> Value {
    let text = str::from_utf8(&output.stdout).unwrap();
    assert!(output.status.success() && text.lines().count() == 1, "{output:?}");
    serde_json::from_str(text).unwrap()
}

fn error(output: Output) -> String {
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.lines().count() == 1, "{text}");
    text
}

/// A server; killed when the test is over.
struct Server {
    process: Child,
    name: String,
}

impl Server {
    fn start(test: &str, size: &str) -> Self {
        let name = format!("{test} {}", std::process::id());
        let mut process =
            ping_pong("serve", &name, &["--size", size]).stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert!(ready.starts_with("listening on "), "{ready}");
        Self { process, name }
    }

    fn end(mut self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

#[test]
fn fixed_and_slice_payloads_print_one_line_of_json() {
    for size in ["48", "1", "64", "3000001"] {
        let server = Server::start("sizes", size);
        let line = line(&bench(&server.name, &["--size", size, "--count", "20"]));
        assert_eq!(line["addr"], "iceoryx2 request-response");
        assert_eq!(line["size"].to_string(), size);
        assert_eq!((&line["count"], &line["wait"]), (&20.into(), &"busy".into()));
        server.end(Signal::TERM);
    }
}

#[test]
fn a_signal_ends_a_server_and_its_service() {
    for signal in [Signal::TERM, Signal::INT] {
        let server = Server::start("signals", "48");
        let name = server.name.clone();
        server.end(signal);
        assert!(error(bench(&name, &[])).contains("no server"));
    }
}

#[test]
fn a_client_that_is_killed_leaves_the_server_to_the_next() {
    let server = Server::start("killed client", "48");
    for _ in 0..10 {
        let mut client = ping_pong("bench", &server.name, &["--seconds", "60"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        client.kill().unwrap();
        client.wait().unwrap();
        line(&bench(&server.name, &["--count", "1"]));
    }
}

#[test]
fn a_server_that_is_killed_leaves_its_name_to_the_next() {
    let mut server = Server::start("killed server", "48");
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    let next = Server::start("killed server", "48");
    line(&bench(&next.name, &["--count", "1"]));
}

#[test]
fn another_size_is_no_server() {
    let server = Server::start("another size", "48");
    let text = error(bench(&server.name, &["--size", "64"]));
    assert!(
        text.contains("start iceoryx2-ping-pong serve") && text.contains("--size 64"),
        "{text}"
    );
}

#[test]
fn killed_server_ends_bench_with_error_in_time() {
    let mut server = Server::start("silent server", "48");
    let client = ping_pong("bench", &server.name, &["--seconds", "60"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    server.process.kill().unwrap();
    let killed = Instant::now();
    let text = error(client.wait_with_output().unwrap());
    assert!(text.contains("server"), "{text}");
    assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());
}

#[test]
fn ours_and_theirs_are_measured_beside_each_other() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_iceoryx2-ping-pong"));
    let output = program
        .args(["beside", "--pairs=1", "--turn=2", "--size=48", "--size=5000"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    for row in ["48 B ", "5000 B ", "48 B untouched ", "5000 B untouched "] {
        let line = text.lines().find(|line| line.starts_with(row));
        let line = line.unwrap_or_else(|| panic!("no row {row:?} in {text}"));
        assert_eq!(line.matches('(').count(), 5, "{line}");
    }
}
