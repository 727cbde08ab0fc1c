//! The `breezeway` command as a user runs it: started, listened to, and ended with the test.
#![allow(dead_code, reason = "each test binary uses its own part of this")]
#![allow(unused_imports, reason = "as above")]

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use breezeway::Address;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

pub(crate) use breezeway_adversary::PATIENCE;
use breezeway_adversary::stopwatch::Stopwatch;
pub(crate) use breezeway_adversary::stopwatch::eventually;

/// Time limit of every error: the contract of the command.
pub(crate) const PROMPT: Duration = Duration::from_secs(2);

/// A folder for sockets, removed with the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        self.0.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.0.path().join("test.sock")
    }

    /// Leaves a socket file without a listener. (A process that another test starts has a copy of
    /// the listener until it is executed.)
    pub(crate) fn leave_over(&self) {
        drop(std::os::unix::net::UnixListener::bind(self.socket()).expect("our own folder"));
        while std::os::unix::net::UnixStream::connect(self.socket()).is_ok() {
            std::thread::yield_now();
        }
    }

    pub(crate) fn address(&self) -> Address {
        Address::shm(self.socket())
    }

    /// Lets other users in, as far as the socket's own mode does.
    pub(crate) fn open_to_others(&self) {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.0.path(), mode).expect("our own folder");
    }
}

/// The command with its arguments.
pub(crate) fn breezeway(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_breezeway"));
    command
        .args(arguments)
        .env_remove("RUST_BACKTRACE")
        // A loaded machine takes its time.
        .env("BREEZEWAY_HANDSHAKE_TIMEOUT", "15s")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A running command. Killed and collected when dropped.
pub(crate) struct Running {
    child: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the command runs");
        let stdout = forward_lines(child.stdout.take());
        let stderr = forward_lines(child.stderr.take());
        Self { child, stdout, stderr }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line on its standard output.
    #[track_caller]
    pub(crate) fn line(&self) -> String {
        next(&self.stdout)
    }

    /// The next line on its standard output, or None if it has ended without one.
    #[track_caller]
    pub(crate) fn line_or_end(&self) -> Option<String> {
        let line = self.stdout.recv_timeout(PATIENCE);
        assert!(line != Err(RecvTimeoutError::Timeout), "it does nothing");
        line.ok()
    }

    /// The next line on its standard error.
    #[track_caller]
    pub(crate) fn complaint(&self) -> String {
        next(&self.stderr)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it was not collected yet");
    }

    /// Returns true if it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_some()
    }

    /// Waits for its end within `limit`; returns its status and both outputs.
    #[track_caller]
    pub(crate) fn ends_within(mut self, limit: Duration) -> Output {
        let start = Stopwatch::start();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                break status;
            }
            assert!(!start.passed(limit), "still running after {limit:?}");
            std::thread::sleep(Duration::from_millis(1));
        };
        self.output(status)
    }

    /// Returns all output. Both pipes are closed by now, or held by a process that does not write.
    fn output(&self, status: ExitStatus) -> Output {
        let all = |lines: &Receiver<String>| {
            lines.iter().flat_map(|line| (line + "\n").into_bytes()).collect()
        };
        Output { status, stdout: all(&self.stdout), stderr: all(&self.stderr) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
fn next(lines: &Receiver<String>) -> String {
    const LOOK: Duration = Duration::from_millis(50);
    let start = Stopwatch::start();
    loop {
        match lines.recv_timeout(LOOK) {
            Ok(line) => return line,
            Err(RecvTimeoutError::Timeout) if !start.passed(PATIENCE) => {}
            Err(error) => panic!("it says nothing: {error}"),
        }
    }
}

fn forward_lines(output: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(output) = output {
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // The test may have heard enough.
                let _ = sender.send(line);
            }
        });
    }
    receiver
}

/// Runs the command to its end.
#[track_caller]
pub(crate) fn run(arguments: &[&str]) -> Output {
    Running::start(breezeway(arguments)).ends_within(PATIENCE)
}

/// Asserts the contract of errors: one clear line on stderr that has all `words`, nothing on
/// stdout, a status that is not 0, all of it soon.
#[track_caller]
pub(crate) fn refused(arguments: &[&str], words: &[&str]) {
    refused_command(breezeway(arguments), words);
}

#[track_caller]
pub(crate) fn refused_command(command: Command, words: &[&str]) {
    let what = format!("{:?}", command.get_args().collect::<Vec<_>>());
    let output = Running::start(command).ends_within(PROMPT);
    assert!(output.stdout.is_empty(), "{what}: {output:?}");
    is_one_line_of_failure(&output, &what, words);
}

#[track_caller]
pub(crate) fn is_one_line_of_failure(output: &Output, what: &str, words: &[&str]) {
    assert!(matches!(output.status.code(), Some(1..=2)), "{what}: {output:?}");
    let text = String::from_utf8(output.stderr.clone()).expect("readable text");
    assert_eq!(text.lines().count(), 1, "{what} said {text}");
    assert!(!text.contains("panicked") && !text.contains("RUST_BACKTRACE"), "{what} said {text}");
    assert!(text.starts_with("breezeway: "), "{what} said {text}");
    assert!(!text.trim_end().chars().any(char::is_control), "{what} said {text:?}");
    for word in words {
        assert!(text.contains(word), "{what} said {text}, not {word}");
    }
}

/// A running `breezeway serve` with an address of its own.
pub(crate) struct Serve {
    pub(crate) running: Running,
    pub(crate) folder: Folder,
}

impl Serve {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_in(Folder::new(), arguments)
    }

    pub(crate) fn start_in(folder: Folder, arguments: &[&str]) -> Self {
        let running = Self::start_at(&folder.address(), arguments);
        Self { running, folder }
    }

    /// A server at an address that others have.
    pub(crate) fn start_at(address: &Address, arguments: &[&str]) -> Running {
        let address = address.to_string();
        let mut command = breezeway(&["serve", "--addr", &address]);
        command.args(arguments);
        let running = Running::start(command);
        assert_eq!(running.line(), format!("listening on {address}"));
        running
    }

    /// The arguments of a bench of this server.
    pub(crate) fn bench(&self, arguments: &[&str]) -> Command {
        bench(&self.folder.address(), arguments)
    }
}

pub(crate) fn bench(address: &Address, arguments: &[&str]) -> Command {
    let mut command = breezeway(&["bench", "--addr", &address.to_string()]);
    command.args(arguments);
    command
}

/// Returns the kernel's status of each thread of a process.
pub(crate) fn statuses(pid: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let status = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("status"));
    tasks.flatten().filter_map(|entry| status(entry).ok()).collect()
}
