//! Servers as processes, which end with the one that started them.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::Builder;

use crate::Failure;
use crate::engine::Engine;
use crate::observed::Holdings;

/// A server's process. Killed when dropped.
pub(crate) struct Process {
    child: Child,
    /// Whether the child is a shell that ends the server.
    is_wrapped: bool,
    /// Where it listens over TCP.
    pub(crate) tcp: String,
    lines: BufReader<ChildStdout>,
    complaints: Arc<Mutex<String>>,
}

impl Process {
    /// Starts a server of this engine in the folder.
    pub(crate) fn start(engine: Engine, folder: &Path) -> Result<Self, Failure> {
        Self::start_command(Self::command(engine, folder)?)
    }

    /// What starts one.
    pub(crate) fn command(engine: Engine, folder: &Path) -> Result<Command, Failure> {
        if engine != Engine::Go {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("serve").arg(engine.name()).arg(folder);
            return Ok(command);
        }
        let program = go_server().ok_or("the Go module's server needs BREEZEWAY_BWGO")?;
        let path = folder.display();
        let places = format!("shm:{path}/shm,unix:{path}/unix,tcp:127.0.0.1:0");
        // It does not end with its standard input by itself.
        let mut command = Command::new("sh");
        command.args(["-c", "\"$@\" & read _; kill -9 $!", "sh"]);
        command.arg(program).args(["serve", "--addr", &places]);
        Ok(command)
    }

    /// Starts what serves, and waits until it listens.
    pub(crate) fn start_command(mut command: Command) -> Result<Self, Failure> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let is_wrapped = command.get_program() == "sh";
        let mut child = command.spawn()?;
        let complaints = Arc::new(Mutex::new(String::new()));
        let stderr = child.stderr.take().ok_or("a pipe")?;
        let into = Arc::clone(&complaints);
        let listening = move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                // A flood of lines is not kept.
                if let Ok(mut text) = into.lock()
                    && text.len() < 1 << 20
                {
                    text.push_str(&line);
                    text.push('\n');
                }
            }
        };
        let lines = BufReader::new(child.stdout.take().ok_or("a pipe")?);
        let mut process = Self { child, is_wrapped, tcp: String::new(), lines, complaints };
        let spawned = Builder::new().name("complaints".to_owned()).spawn(listening);
        spawned.map_err(|error| format!("no thread to hear the server: {error}"))?;
        let line = process.next_line()?;
        let Some(places) = line.trim_end().strip_prefix("listening on ") else {
            let _ = process.child.wait();
            return Err(format!("the server does not listen: {line}{}", process.said()).into());
        };
        let tcp = places.split(',').find(|place| place.starts_with("tcp:"));
        process.tcp = tcp.unwrap_or_default().to_owned();
        Ok(process)
    }

    /// The server itself, not a shell around it; `None` if it has ended.
    pub(crate) fn pid(&self) -> Option<u32> {
        let pid = self.child.id();
        if !self.is_wrapped {
            return Some(pid);
        }
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        children.split_whitespace().next()?.parse().ok()
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.pid().is_none() || self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// The next line that it says; empty at its end.
    pub(crate) fn next_line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        Ok(line)
    }

    /// Tells it to kill itself after so many nanoseconds, and to say when.
    pub(crate) fn die_in(&mut self, delay: u64) -> Result<(), Failure> {
        let stdin = self.child.stdin.as_mut().ok_or("a pipe")?;
        Ok(writeln!(stdin, "{delay}")?)
    }

    /// Ends it, whatever it does.
    pub(crate) fn kill(&mut self) {
        // The shell around a server ends that with its standard input.
        drop(self.child.stdin.take());
        if !self.is_wrapped {
            let _ = self.child.kill();
        }
    }

    /// What it has now.
    pub(crate) fn holdings(&self) -> Holdings {
        self.pid().map(Holdings::of).unwrap_or_default()
    }

    /// What it said on standard error.
    pub(crate) fn said(&self) -> String {
        self.complaints.lock().map(|text| text.clone()).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// The Go module's command, if there is one.
pub(crate) fn go_server() -> Option<PathBuf> {
    std::env::var_os("BREEZEWAY_BWGO").map(PathBuf::from).filter(|path| path.exists())
}
