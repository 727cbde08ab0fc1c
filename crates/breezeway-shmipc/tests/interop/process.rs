//! Processes that a test starts, controls line by line, and that end with it.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use breezeway_adversary::stopwatch::eventually;
use rustix::process::{Pid, Signal, kill_process};

/// Time without a line after which a test fails. Far more than needed, because the machine may be
/// busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A process whose standard input and output are lines from and to the test. Killed and collected
/// when dropped.
pub(crate) struct Process {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    complaints: Arc<Mutex<String>>,
}

impl Process {
    pub(crate) fn start(name: &str, command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let lines = forward_lines(child.stdout.take().expect("a pipe"));
        let complaints = collect(child.stderr.take().expect("a pipe"));
        Self { name: name.to_owned(), stdin: child.stdin.take(), child, lines, complaints }
    }

    /// Waits for a line that begins with `word`, and returns the rest of it. Fails on any other
    /// line.
    #[track_caller]
    pub(crate) fn expect(&self, word: &str) -> String {
        let line = self.hear();
        match line.strip_prefix(word) {
            Some(rest) => rest.trim().to_owned(),
            None => panic!("{} said '{line}', not '{word}'", self.name),
        }
    }

    /// Waits for a line.
    #[track_caller]
    pub(crate) fn hear(&self) -> String {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                panic!("{} said nothing within {PATIENCE:?}", self.name)
            }
            Err(RecvTimeoutError::Disconnected) => {
                panic!("{} ended instead of saying anything", self.name)
            }
        }
    }

    /// Waits for a complaint that contains `words`, and returns the text behind them.
    #[track_caller]
    pub(crate) fn complains(&self, words: &str) -> String {
        let mut found = None;
        eventually(&format!("{} complains", self.name), || {
            let complaints = self.complaints.lock().map(|text| text.clone()).unwrap_or_default();
            found = complaints.split_once(words).map(|(_, rest)| rest.to_owned());
            found.is_some()
        });
        found.unwrap_or_default()
    }

    /// Returns true if one of the lines received so far begins with `word`. They are not returned
    /// again.
    pub(crate) fn heard(&self, word: &str) -> bool {
        self.lines.try_iter().any(|line| line.starts_with(word))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops or continues the process.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it was not collected yet");
    }

    /// Sends a line.
    #[track_caller]
    pub(crate) fn write_line(&mut self, line: impl Display) {
        let stdin = self.stdin.as_mut().expect("it can still be told something");
        writeln!(stdin, "{line}").and_then(|()| stdin.flush()).expect("it listens");
    }

    /// Sends a line and waits for the answer.
    #[track_caller]
    pub(crate) fn ask(&mut self, line: impl Display) -> String {
        self.write_line(line);
        self.hear()
    }

    /// Closes the standard input, upon which a client closes its sessions and ends.
    pub(crate) fn tell_no_more(&mut self) {
        self.stdin = None;
    }

    /// Sends SIGKILL; returns once the process is gone.
    pub(crate) fn kill(&mut self) {
        // Fails if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for its end, which must be a success.
    #[track_caller]
    pub(crate) fn succeeds(mut self) {
        let mut status: Option<ExitStatus> = None;
        eventually(&format!("{} ends", self.name), || {
            status = self.child.try_wait().expect("it is our child");
            status.is_some()
        });
        let status = status.expect("it has ended");
        assert!(status.success(), "{} ended with {status}", self.name);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            // The output of a failed test's processes explains the failure.
            let complaints = self.complaints.lock().map(|text| text.clone()).unwrap_or_default();
            eprintln!("---- {}:\n{complaints}----", self.name);
        }
    }
}

fn forward_lines(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

fn collect(output: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let collected = Arc::new(Mutex::new(String::new()));
    let into = Arc::clone(&collected);
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Ok(mut text) = into.lock() {
                text.push_str(&line);
                text.push('\n');
            }
        }
    });
    collected
}
