//! Runs of `torture` that end: with their test, and after a time.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Far more than any run takes, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(600);

/// Killed with its test, should that panic.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // Its servers die with it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The lines that come out of a pipe, until its end.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Runs it to its end; prints its output, the seed first.
///
/// # Panics
///
/// Panics if it fails, or does not end in time.
pub(crate) fn torture(arguments: &[&str]) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_torture"))
        .args(arguments)
        .arg("--bound")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (said, complaints) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (said, complaints) = (lines(said), lines(complaints));
    let mut child = Killed(child);
    let end = Instant::now() + LIMIT;
    let is_over = loop {
        match said.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => println!("{line}"),
            Err(RecvTimeoutError::Disconnected) => break true,
            Err(RecvTimeoutError::Timeout) => break false,
        }
    };
    if !is_over {
        drop(child);
        panic!("no end after {LIMIT:?}: {:?}", complaints.iter().collect::<Vec<_>>());
    }
    let status = child.0.wait().unwrap();
    let complaints: Vec<_> = complaints.iter().collect();
    assert!(status.success(), "{status}: {}", complaints.join("\n"));
}
