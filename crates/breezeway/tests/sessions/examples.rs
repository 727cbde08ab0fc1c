//! The examples, run as the programs that newcomers run: on every carrier, and on a list of them.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

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
    fn hello(address: &str) -> Self {
        Self::start("hello_server", &[address])
    }

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

fn call(address: &str) -> Output {
    let mut client = Command::new(example("hello_client"));
    client.arg(address);
    within(PATIENCE, "the client's end", move || client.output().expect("the example runs"))
}

#[track_caller]
fn assert_greeted(address: &str, carrier: &str) {
    let output = call(address);
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(said, format!("hello world, by {carrier}\n"), "{complained}");
    assert!(output.status.success());
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

#[test]
fn the_hello_example_greets_over_every_carrier() {
    let folder = Folder::new();
    for (address, carrier) in addresses(&folder) {
        let server = ExampleServer::hello(&address);
        for _ in 0..3 {
            assert_greeted(&server.address, carrier);
        }
    }
}

#[test]
fn the_server_that_restarts_is_succeeded_by_itself() {
    let folder = Folder::on(breezeway::Carrier::Shm);
    let address = folder.address().to_string();
    let mut first = ExampleServer::start("restarting_server", &[&address]);
    let by = |server: &ExampleServer| format!("process {}", server.process.id());
    assert_greeted(&address, &by(&first));
    let second = ExampleServer::start("restarting_server", &[&address]);
    // No client is left, so it ends at once.
    let ended = within(PATIENCE, "its end", move || first.process.wait().unwrap());
    assert!(ended.success());
    assert_greeted(&address, &by(&second));
}

#[test]
fn the_readme_shows_the_hello_examples_as_they_are() {
    const README: &str = include_str!("../../../../README.md");
    for example in [
        include_str!("../../examples/hello_server.rs"),
        include_str!("../../examples/hello_client.rs"),
    ] {
        let code = &example[example.find("\nuse ").expect("a use line")..];
        assert!(README.contains(&format!("```rust{code}```")), "{code}");
    }
}

#[test]
fn the_hello_example_takes_a_list_on_both_sides() {
    let folder = Folder::new();
    let all = addresses(&folder).map(|(address, _)| address);
    let server = ExampleServer::hello(&all.join(","));
    assert_greeted(&server.address, "shm");
    let places: Vec<_> = server.address.split(',').collect();
    assert_eq!(places.len(), 3);
    for (place, carrier) in places.iter().zip(["shm", "unix", "tcp"]) {
        assert_greeted(place, carrier);
    }
    // The first that works, in the client's order.
    assert_greeted(&format!("shm:/no/such.sock,{},{}", places[2], places[0]), "tcp");
}

#[test]
fn hello_without_a_server_fails_with_remedy() {
    let folder = Folder::new();
    for (address, _) in addresses(&folder).into_iter().take(2) {
        let output = call(&address);
        assert!(!output.status.success());
        let complained = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(complained.lines().count(), 1, "{complained}");
        assert!(complained.starts_with("Error: no server at "), "{complained}");
        assert!(complained.contains("start the server first"), "{complained}");
    }
    let output = call("carrier pigeon");
    assert!(!output.status.success());
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(complained.starts_with("Error: 'carrier pigeon' is not an address"), "{complained}");
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
fn the_frames_example_receives_every_frame_whole() {
    let text = output("frames");
    for number in 1..=5 {
        assert!(text.contains(&format!("frame Some({number}), whole: true\n")), "{text}");
    }
}

#[test]
fn authorize_serves_listed_users_and_explains_refusal() {
    let folder = Folder::new();
    let address = format!("shm:{}", folder.path().join("guarded.sock").display());
    let uid = rustix::process::geteuid().as_raw();
    {
        let listed = ExampleServer::start("authorize", &[&address, &uid.to_string()]);
        let output = call(&listed.address);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "hello, myself\n");
        assert!(output.status.success());
    }
    let empty = ExampleServer::start("authorize", &[&address]);
    let output = call(&empty.address);
    let reason = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(reason.contains(&format!("user {uid} is not on the list")), "{reason}");
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
fn running_sums_streams_beside_calls_on_every_carrier() {
    let folder = Folder::new();
    for (address, _) in addresses(&folder) {
        let mut example = Command::new(example("running_sums"));
        example.arg(&address);
        let output = within(PATIENCE, "the example's end", move || {
            example.output().expect("the example runs")
        });
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, "the sum of 100 numbers is 5050\n");
    }
}

#[test]
fn the_frame_pipeline_example_keeps_frames_and_loses_none() {
    let said = output("frame_pipeline");
    assert!(said.starts_with("100 frames of 8 MiB in order, "), "{said}");
}

#[test]
fn the_event_loop_example_drives_a_session_over_every_carrier() {
    drives_a_session("event_loop");
}

#[test]
fn the_mio_example_drives_a_session_over_every_carrier() {
    drives_a_session("mio_loop");
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

#[track_caller]
fn drives_a_session(name: &str) {
    let folder = Folder::new();
    for (address, _) in addresses(&folder) {
        let mut example = Command::new(example(name));
        example.arg(&address);
        let output = within(PATIENCE, "the example's end", move || {
            example.output().expect("the example runs")
        });
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "driven from outside\n");
    }
}
