//! Processes that a test starts, talks to line by line, and that end with it.
//!
//! A process is this test binary once more, with its role in the environment. One ignored test,
//! `another_process`, hands all roles to [`play`].

use std::fmt::Display;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};

use super::{PATIENCE, Stopwatch, eventually, observe, wait_for};

const ROLE: &str = "BREEZEWAY_TEST_ROLE";
const SETTINGS: &str = "BREEZEWAY_TEST_SETTINGS";
/// Begins each line that is meant for the test; the test harness writes others.
const MARK: char = '@';
/// The test that plays the roles.
const STAGE: &str = "another_process";

/// Settings of a role, fixed at its start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings(Vec<(String, String)>);

impl Settings {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn with(mut self, name: &str, value: impl Display) -> Self {
        self.0.push((name.to_owned(), value.to_string()));
        self
    }

    fn parse(text: &str) -> Self {
        let pairs = text.split('\n').filter_map(|pair| pair.split_once('='));
        Self(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    fn encode(&self) -> String {
        self.0.iter().map(|(name, value)| format!("{name}={value}\n")).collect()
    }

    pub(crate) fn find<T: FromStr>(&self, name: &str) -> Option<T> {
        let (_, value) = self.0.iter().rev().find(|(other, _)| other == name)?;
        let parsed = value.parse().ok();
        Some(parsed.unwrap_or_else(|| panic!("{name}={value} makes no sense")))
    }

    pub(crate) fn get<T: FromStr>(&self, name: &str) -> T {
        self.find(name).unwrap_or_else(|| panic!("setting {name} is missing"))
    }
}

/// The function of a process; it takes its settings.
pub(crate) type Role = fn(&Settings);

/// Plays the role that this process was started for. Does nothing in an ordinary test run.
pub(crate) fn play(roles: &[(&str, Role)]) {
    let Ok(name) = std::env::var(ROLE) else { return };
    // Sets up the carrier, also for a role that does not use it.
    super::carrier();
    set_parent_process_death_signal(Some(Signal::KILL)).expect("prctl");
    let settings = Settings::parse(&std::env::var(SETTINGS).unwrap_or_default());
    let role = roles.iter().find(|(other, _)| *other == name);
    let (_, act) = role.unwrap_or_else(|| panic!("no role {name}"));
    act(&settings);
}

/// Prints a line to the test. For roles.
pub(crate) fn say(line: impl Display) {
    // One write, so that lines of several threads do not mix. A test that has ended hears nothing.
    let _ = std::io::stdout().lock().write_all(format!("\n{MARK}{line}\n").as_bytes());
    let _ = std::io::stdout().lock().flush();
}

/// Waits for a line from the test; `None` at the end of the input. For roles.
pub(crate) fn hear() -> Option<String> {
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line.trim_end().to_owned()),
    }
}

fn this_binary() -> PathBuf {
    std::env::current_exe().expect("this test binary")
}

/// A process that plays a role. Killed and collected when dropped.
pub(crate) struct Process {
    role: String,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    complaints: Arc<Mutex<String>>,
    /// The binary that it runs, where that is a copy.
    copy: Option<tempfile::TempPath>,
}

impl Process {
    pub(crate) fn start(role: &str, settings: &Settings) -> Self {
        Self::start_command(role, &mut Self::command(this_binary(), role, settings))
    }

    /// Starts a role like [`Self::start`], under another user id. That user may not enter the
    /// folder of this binary, so it is named by a descriptor.
    pub(crate) fn start_as(user: u32, role: &str, settings: &Settings) -> Self {
        let binary = File::open(this_binary()).expect("this test binary");
        let program = format!("/proc/self/fd/{}", binary.as_raw_fd());
        let mut command = Self::command(program.into(), role, settings);
        command.uid(user).gid(user);
        Self::start_command(role, &mut command)
    }

    /// Starts a role like [`Self::start`], by a command that runs the usual one, under another user
    /// id if one is given. That user gets a copy of the binary.
    pub(crate) fn start_by(
        mut command: Command,
        user: Option<u32>,
        role: &str,
        settings: &Settings,
    ) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let copy = user.map(|user| {
            command.uid(user).gid(user);
            let copy = tempfile::NamedTempFile::new().expect("a file").into_temp_path();
            std::fs::copy(this_binary(), &copy).expect("a copy");
            let anybody = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&copy, anybody).expect("our own file");
            copy
        });
        let program = copy.as_ref().map_or_else(this_binary, |copy| copy.to_path_buf());
        let itself = Self::command(program, role, settings);
        command.arg(itself.get_program()).args(itself.get_args());
        command.envs(itself.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut process = Self::start_command(role, command.stdin(Stdio::piped()));
        process.copy = copy;
        process
    }

    /// Starts a role like [`Self::start`], with `stdin` instead of a pipe from the test.
    pub(crate) fn start_with(role: &str, settings: &Settings, stdin: impl Into<Stdio>) -> Self {
        let mut command = Self::command(this_binary(), role, settings);
        command.stdin(stdin);
        Self::start_command(role, &mut command)
    }

    /// Starts a role like [`Self::start`], with a socket that a server takes over as those of a
    /// service manager (`LISTEN_FDS`), and nothing to read.
    pub(crate) fn start_listening(
        role: &str,
        settings: &Settings,
        socket: impl Into<std::os::fd::OwnedFd>,
    ) -> Self {
        let passed_on = "export LISTEN_PID=$$ LISTEN_FDS=1; exec \"$@\" 3<&0 </dev/null";
        let itself = Self::command(this_binary(), role, settings);
        let mut command = Command::new("sh");
        command.args(["-c", passed_on, "sh"]).arg(itself.get_program()).args(itself.get_args());
        command.envs(itself.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(socket.into());
        Self::start_command(role, &mut command)
    }

    fn command(program: PathBuf, role: &str, settings: &Settings) -> Command {
        let mut command = Command::new(program);
        command
            .args(["--exact", STAGE, "--ignored", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(SETTINGS, settings.encode())
            .stdin(Stdio::piped());
        command
    }

    fn start_command(role: &str, command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("this binary runs");
        let lines = forward_lines(child.stdout.take().expect("a pipe"));
        let complaints = collect(child.stderr.take().expect("a pipe"));
        Self {
            role: role.to_owned(),
            stdin: child.stdin.take(),
            child,
            lines,
            complaints,
            copy: None,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line that begins with `word`, and gives the rest of it. Fails on any other line.
    #[track_caller]
    pub(crate) fn expect(&mut self, word: &str) -> String {
        self.expect_within(word, PATIENCE)
    }

    /// Waits like [`Self::expect`], for up to `patience`.
    #[track_caller]
    pub(crate) fn expect_within(&mut self, word: &str, patience: Duration) -> String {
        match wait_for(&self.lines, patience) {
            Ok(line) => match line.strip_prefix(word) {
                Some(rest) => rest.trim().to_owned(),
                None => panic!("{} said '{line}', not '{word}'", self.role),
            },
            Err(RecvTimeoutError::Timeout) => {
                panic!("{} did not say '{word}' within {patience:?}", self.role)
            }
            Err(RecvTimeoutError::Disconnected) => {
                panic!("{} ended instead of saying '{word}'", self.role)
            }
        }
    }

    /// Writes a line to the role's input.
    #[track_caller]
    pub(crate) fn write_line(&mut self, line: impl Display) {
        let stdin = self.stdin.as_mut().expect("it can still be told something");
        writeln!(stdin, "{line}").and_then(|()| stdin.flush()).expect("it listens");
    }

    /// Closes the role's input.
    pub(crate) fn tell_no_more(&mut self) {
        self.stdin = None;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("it was not collected yet");
    }

    /// Suspends it, and returns once all its threads stand still.
    pub(crate) fn suspend(&self) {
        self.signal(Signal::STOP);
        eventually("it stands still", || {
            let path = |thread| format!("/proc/{}/task/{thread}/stat", self.pid());
            let stat = |thread| std::fs::read_to_string(path(thread)).unwrap_or_default();
            observe::threads(self.pid()).iter().all(|thread| stat(*thread).contains(") T "))
        });
    }

    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// SIGKILL; returns once it is gone.
    pub(crate) fn kill(&mut self) {
        // Fails if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Returns true if the process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_some()
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> ExitStatus {
        let start = Stopwatch::start();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return status;
            }
            assert!(!start.passed(PATIENCE), "{} did not end within {PATIENCE:?}", self.role);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for its end, which must be a success.
    #[track_caller]
    pub(crate) fn succeeds(mut self) {
        self.tell_no_more();
        let status = self.ends();
        assert!(status.success(), "{} ended with {status}", self.role);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The state of a failed test's processes helps to explain the failure.
            let (role, pid) = (&self.role, self.pid());
            eprintln!("---- {role} ({pid}): {}", observe::what_threads_do(pid));
            let complaints = self.complaints.lock().map(|text| text.clone()).unwrap_or_default();
            eprintln!("{complaints}----");
        }
        self.kill();
    }
}

fn forward_lines(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(line) = line.strip_prefix(MARK)
                && sender.send(line.to_owned()).is_err()
            {
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
