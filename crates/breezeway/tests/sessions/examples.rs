//! The examples of this crate, run as programs on every carrier.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use breezeway::{Address, ExclusiveSession, Session, StreamError};

use crate::support::{Folder, PATIENCE, within};

/// A built example; `cargo test` builds them all.
fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().expect("this test binary");
    let path = tests.ancestors().nth(2).expect("a target folder").join("examples").join(name);
    assert!(path.exists(), "{} is missing: cargo build -p breezeway --examples", path.display());
    path
}

/// A server among the examples, ended with the test.
struct ExampleServer {
    process: Child,
    /// The address that it prints.
    address: String,
}

impl ExampleServer {
    fn start(name: &str, arguments: &[&str]) -> Self {
        let mut process = Command::new(example(name))
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example runs");
        let output = process.stdout.take().expect("a pipe");
        let line = within(PATIENCE, "the server's line", move || {
            let mut line = String::new();
            BufReader::new(output).read_line(&mut line).expect("a line");
            line
        });
        let address = line.trim_end().strip_prefix("listening on ").expect(&line).to_owned();
        Self { process, address }
    }
}

impl Drop for ExampleServer {
    fn drop(&mut self) {
        // Fails if it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An address for each carrier, and the carrier's name.
fn addresses(folder: &Folder) -> [(String, &'static str); 3] {
    let path = |name: &str| folder.path().join(name).display().to_string();
    [
        (format!("shm:{}", path("shm.sock")), "shm"),
        (format!("unix:{}", path("unix.sock")), "unix"),
        ("tcp:127.0.0.1:0".to_owned(), "tcp"),
    ]
}

/// Returns the output of an example without arguments, which must succeed.
#[track_caller]
fn output(name: &str) -> String {
    let mut example = Command::new(example(name));
    let output = within(PATIENCE, "the example's end", move || example.output().expect("it runs"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn shared_pool_adds_replies_of_every_thread() {
    let squares: u64 = (0..1000u64).map(|number| number * number).sum();
    assert_eq!(
        output("shared_pool"),
        format!("8 threads, 1000 calls each: the sum is {}\n", 8 * squares)
    );
}

#[test]
fn the_pipelining_example_compares_both_ways_to_call() {
    let text = output("pipelining");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("one at a time: ") && lines[0].ends_with(" per call"), "{text}");
    assert!(lines[1].starts_with("32 in flight: ") && lines[1].ends_with(" per call"), "{text}");
}

#[test]
fn key_value_returns_put_values_and_reports_missing() {
    let folder = Folder::new();
    for (address, _) in addresses(&folder) {
        let mut example = Command::new(example("key_value"));
        example.arg(&address);
        let output = within(PATIENCE, "the example's end", move || {
            example.output().expect("the example runs")
        });
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8(output.stdout).expect("text");
        assert_eq!(said, "one: uno\ntwo: dos\nsix: sei\nten: no such key\n");
    }
}

#[test]
fn the_frame_pipeline_example_keeps_frames_and_loses_none() {
    let said = output("frame_pipeline");
    assert!(said.starts_with("100 frames of 8 MiB in order, "), "{said}");
}

#[test]
fn listener_loop_serves_several_sessions_at_once() {
    let folder = Folder::new();
    for (address, carrier) in addresses(&folder) {
        let server = ExampleServer::start("listener_loop", &[&address]);
        let address: Address = server.address.parse().unwrap();
        let channels: Vec<_> = (0..3).map(|_| Session::connect(&address).unwrap()).collect();
        assert_eq!(channels[0].carrier().to_string(), carrier);
        within(PATIENCE, "the replies", move || {
            for number in 0..100u8 {
                for (which, shared) in channels.iter().enumerate() {
                    let request = vec![number; [8, 104, 5_000][which]];
                    assert_eq!(shared.call(0, &request).unwrap().to_vec(), request);
                }
            }
            let mut stream = channels[1].open(0).unwrap();
            assert!(matches!(stream.receive(), Err(StreamError::Reset(_))));
            drop(channels);
        });
        // The others' ends do not end it.
        let mut session = ExclusiveSession::connect(&address).unwrap();
        assert_eq!(session.call(0, b"still there").unwrap().to_vec(), b"still there");
    }
}

#[test]
fn event_loop_drives_a_session_over_every_carrier() {
    let folder = Folder::new();
    for (address, _) in addresses(&folder) {
        let mut example = Command::new(example("event_loop"));
        example.arg(&address);
        let output = within(PATIENCE, "the example's end", move || {
            example.output().expect("the example runs")
        });
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "driven from outside\n");
    }
}
