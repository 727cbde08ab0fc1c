//! The examples, run as the programs that newcomers run: on every carrier, and on a list of them.

mod support;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use support::{Folder, PATIENCE, within};

/// A built example; `cargo test` builds them all.
fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().expect("this test binary");
    let path = tests.ancestors().nth(2).expect("a target folder").join("examples").join(name);
    assert!(path.exists(), "{} is missing: cargo build -p breezeway --examples", path.display());
    path
}

/// The server example, ended with the test.
struct HelloServer {
    process: Child,
    /// What it says that it listens on.
    address: String,
}

impl HelloServer {
    fn start(address: &str) -> Self {
        let mut process = Command::new(example("hello_server"))
            .arg(address)
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

impl Drop for HelloServer {
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
        let server = HelloServer::start(&address);
        for _ in 0..3 {
            assert_greeted(&server.address, carrier);
        }
    }
}

#[test]
fn the_hello_example_takes_a_list_on_both_sides() {
    let folder = Folder::new();
    let all = addresses(&folder).map(|(address, _)| address);
    let server = HelloServer::start(&all.join(","));
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
fn the_hello_example_without_a_server_fails_with_what_to_do() {
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
    assert!(complained.starts_with("Error: 'carrier pigeon' is no address"), "{complained}");
}
