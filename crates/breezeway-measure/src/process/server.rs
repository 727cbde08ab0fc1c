//! A server process of ours: stopped whenever it is not measured, ended and reaped when dropped.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use breezeway_os::shortage;
use rustix::process::{Pid, Signal, kill_process};

use super::child;
use crate::Failure;

/// Time for a server to report its address, and to end.
const PATIENCE: Duration = Duration::from_secs(5);
const LISTENING: &str = "listening on ";

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// Address that the server printed.
    pub address: String,
}

impl Server {
    /// Starts a server and stops it (SIGSTOP) once it listens. Its stderr goes to `log`.
    ///
    /// # Errors
    ///
    /// Returns the server's complaint if it did not listen in time.
    pub fn start(mut command: Command, log: &Path) -> Result<Self, Failure> {
        let command = child::alone(&mut command).stdout(Stdio::piped());
        let child = command.stderr(File::create(log)?).spawn()?;
        let mut server = Self { child, address: String::new() };
        match server.address() {
            Some(address) => server.address = address,
            None => return Err(server.complaint(log).into()),
        }
        server.signal(Signal::STOP)?;
        Ok(server)
    }

    /// Lets the server run while `work` does.
    ///
    /// # Errors
    ///
    /// If the server has ended.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> Result<T, Failure> {
        self.signal(Signal::CONT)?;
        let outcome = work();
        self.signal(Signal::STOP)?;
        Ok(outcome)
    }

    /// Returns the address that the server printed.
    fn address(&mut self) -> Option<String> {
        let stdout = self.child.stdout.take()?;
        let (sender, receiver) = channel();
        let reading = shortage::spawn("address", move || {
            let mut line = String::new();
            if BufReader::new(stdout).read_line(&mut line).is_ok() {
                // Too late for the caller.
                let _ = sender.send(line);
            }
        });
        reading.ok()?;
        let line = receiver.recv_timeout(PATIENCE).ok()?;
        line.trim_end().strip_prefix(LISTENING).map(str::to_owned)
    }

    /// The process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn complaint(&self, log: &Path) -> String {
        let said = std::fs::read_to_string(log).unwrap_or_default();
        child::reason(&said)
    }

    fn signal(&self, signal: Signal) -> Result<(), Failure> {
        Ok(kill_process(self.pid(), signal)?)
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A stopped process handles SIGTERM only after SIGCONT. It may have ended already.
        let _ = self.signal(Signal::TERM);
        let _ = self.signal(Signal::CONT);
        let start = Instant::now();
        while !self.has_ended() && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
