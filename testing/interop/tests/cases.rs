//! Rust with itself, the reference for the tests of other languages.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A process that ends with the test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn interop() -> Command {
    Command::new(env!("CARGO_BIN_EXE_interop"))
}

#[test]
fn every_case_holds_between_rust_and_rust_on_every_carrier() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    for address in
        [format!("shm:{path}/shm"), format!("unix:{path}/unix"), "tcp:127.0.0.1:0".into()]
    {
        let mut serving = Serving(
            interop()
                .args(["serve", &address])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        let mut line = String::new();
        BufReader::new(serving.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
        let shared = address.starts_with("shm:").then_some("growth");
        let cases = ["sizes", "streams", "crowd", "cancellation", "deadlines", "back-pressure"];
        // The last one ends the server.
        for case in cases.into_iter().chain(["limits", "memory"]).chain(shared).chain(["drain"]) {
            let status = interop().args(["call", &address, case]).status().unwrap();
            assert!(status.success(), "{case} over {address}");
        }
        assert!(serving.0.wait().unwrap().success());
    }
}
