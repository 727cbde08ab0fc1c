//! Servers as processes, which end with the one that started them.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, kill_process};

use crate::Failure;
use crate::engine::Engine;
use crate::kills::{self, kill_in};
use crate::observed::{self, Holdings};

/// A process of ours, as a rule a server. Killed when dropped.
pub(crate) struct Process {
    child: Child,
    /// Standard input of the process.
    input: Option<UnixStream>,
    /// True if the child is a shell that ends the server.
    is_wrapped: bool,
    /// Address on which it listens over TCP.
    pub(crate) tcp: String,
    lines: BufReader<ChildStdout>,
    /// Thread that kills a server in another language, and returns the time.
    killer: Option<JoinHandle<u64>>,
    complaints: Arc<Mutex<String>>,
    listening: Option<JoinHandle<()>>,
}

impl Process {
    /// Starts a server of this engine in the folder.
    pub(crate) fn start(engine: Engine, folder: &Path) -> Result<Self, Failure> {
        Self::start_command(Self::command(engine, folder)?)
    }

    /// Returns the command that starts a server.
    pub(crate) fn command(engine: Engine, folder: &Path) -> Result<Command, Failure> {
        if engine != Engine::Go {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("serve").arg(engine.name()).arg(folder);
            return Ok(command);
        }
        let program = go_server().ok_or("the Go module's server needs BREEZEWAY_BWGO")?;
        let path = folder.display();
        let places = format!("shm:{path}/shm,unix:{path}/unix,tcp:127.0.0.1:0");
        // The server does not end with its standard input.
        let mut command = Command::new("sh");
        command.args(["-c", "\"$@\" & read _; kill -9 $!", "sh"]);
        command.arg(program).args(["serve", "--addr", &places]);
        Ok(command)
    }

    /// Starts a server, and waits until it listens.
    pub(crate) fn start_command(command: Command) -> Result<Self, Failure> {
        let mut process = Self::spawn(command)?;
        process.listens()?;
        Ok(process)
    }

    /// Starts a process that ends with its standard input, a socket.
    pub(crate) fn spawn(mut command: Command) -> Result<Self, Failure> {
        let (input, of_child) = UnixStream::pair()?;
        command.stdin(OwnedFd::from(of_child)).stdout(Stdio::piped()).stderr(Stdio::piped());
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
        let spawned = Builder::new().name("complaints".to_owned()).spawn(listening);
        let (input, tcp) = (Some(input), String::new());
        let mut process = Self {
            child,
            input,
            is_wrapped,
            tcp,
            lines,
            killer: None,
            complaints,
            listening: None,
        };
        let spawned = spawned.map_err(|error| format!("no thread to hear the server: {error}"))?;
        process.listening = Some(spawned);
        Ok(process)
    }

    /// Waits until it listens.
    pub(crate) fn listens(&mut self) -> Result<(), Failure> {
        let line = self.next_line()?;
        let Some(places) = line.trim_end().strip_prefix("listening on ") else {
            self.last_words()?;
            return Err(format!("the server does not listen: {line}{}", self.said()).into());
        };
        let tcp = places.split(',').find(|place| place.starts_with("tcp:"));
        self.tcp = tcp.unwrap_or_default().to_owned();
        Ok(())
    }

    /// Waits for its end, and for its output until then.
    pub(crate) fn last_words(&mut self) -> Result<ExitStatus, Failure> {
        let status = self.child.wait()?;
        if let Some(listening) = self.listening.take() {
            let _ = listening.join();
        }
        Ok(status)
    }

    /// Returns its standard input.
    pub(crate) fn input(&mut self) -> Result<&mut UnixStream, Failure> {
        self.input.as_mut().ok_or_else(|| "its standard input has ended".into())
    }

    /// Returns true if there is something to read, or the end, within `patience`.
    pub(crate) fn says_something_within(&self, patience: Duration) -> bool {
        let time = patience.try_into().ok();
        let mut polled = [PollFd::new(self.lines.get_ref(), PollFlags::IN)];
        !self.lines.buffer().is_empty()
            || retry_on_intr(|| poll(&mut polled, time.as_ref())).is_ok_and(|ready| ready > 0)
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

    /// Returns true if it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.pid().is_none() || self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Returns true if it ends within `patience`.
    pub(crate) fn ends_within(&mut self, patience: Duration) -> bool {
        let start = Instant::now();
        while !self.has_ended() {
            if start.elapsed() > patience {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Returns the next line of its output; empty at its end.
    pub(crate) fn next_line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        Ok(line)
    }

    /// Lets it die after `delay` nanoseconds: it kills itself, or, in another language, a thread
    /// here kills it.
    pub(crate) fn die_in(&mut self, delay: u64) -> Result<(), Failure> {
        if self.is_wrapped {
            let pid = self.pid().and_then(|pid| Pid::from_raw(pid.cast_signed()));
            let pid = pid.ok_or("the server has ended")?;
            self.killer = Some(thread::spawn(move || kill_in(pid, delay)));
            return Ok(());
        }
        Ok(writeln!(self.input()?, "{delay}")?)
    }

    /// Returns the time at which it died of that.
    pub(crate) fn time_of_death(&mut self) -> Result<u64, Failure> {
        match self.killer.take() {
            Some(killer) => Ok(killer.join().map_err(|_| "the killer panicked")?),
            None => kills::time_of_death(&self.next_line()?),
        }
    }

    /// Ends it, whatever it does.
    pub(crate) fn kill(&mut self) {
        // The shell around a server ends that with its standard input.
        drop(self.input.take());
        if !self.is_wrapped {
            let _ = self.child.kill();
        }
    }

    /// Kills it (`kill -9`), also while other threads use it: a thread that waits for it sees its
    /// end.
    pub(crate) fn die(&self) {
        if let Some(pid) = self.pid().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    /// Returns the number of its descriptors, which takes less time than all its holdings.
    pub(crate) fn descriptors(&self) -> usize {
        self.pid().map_or(0, observed::descriptors)
    }

    /// Returns its holdings.
    pub(crate) fn holdings(&self) -> Holdings {
        self.pid().map(Holdings::of).unwrap_or_default()
    }

    /// Returns the state of each of its threads.
    pub(crate) fn threads(&self) -> String {
        self.pid().map(observed::threads).unwrap_or_default()
    }

    /// Returns its sockets.
    pub(crate) fn sockets(&self) -> HashSet<PathBuf> {
        self.pid().map(observed::sockets).unwrap_or_default()
    }

    /// Returns its standard error.
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
