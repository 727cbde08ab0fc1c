//! Servers in processes of their own.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use breezeway::Address;
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};

const ROLE: &str = "BREEZEWAY_TEST_ROLE";
const ADDRESS: &str = "BREEZEWAY_TEST_ADDRESS";

/// Far longer than a test lets one live: one that hangs ends, and with it the test that waits.
const LONGEST: Duration = Duration::from_secs(300);

/// This test binary once more, in a role, killed when dropped.
pub(crate) struct Process {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Process {
    pub(crate) fn start(role: &str, address: &Address) -> Self {
        Self::start_by(Command::new(std::env::current_exe().unwrap()), role, address)
    }

    /// Starts a role like [`start`](Self::start), by a command that runs this test binary.
    pub(crate) fn start_by(mut command: Command, role: &str, address: &Address) -> Self {
        let mut child = command
            .args(["--ignored", "--exact", "--nocapture", "another_process"])
            .env(ROLE, role)
            .env(ADDRESS, address.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Returns the next line that the role prints.
    pub(crate) fn hear(&mut self) -> String {
        for line in &mut self.lines {
            if let Some((_, said)) = line.unwrap().split_once('@') {
                return said.to_owned();
            }
        }
        panic!("the process has ended");
    }

    /// Returns the lines that the role prints up to its end, which must be orderly.
    pub(crate) fn ends(&mut self) -> Vec<String> {
        let lines = self.lines.by_ref().map(Result::unwrap);
        let said = lines.filter_map(|line| Some(line.split_once('@')?.1.to_owned())).collect();
        assert!(self.child.wait().unwrap().success());
        said
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prints a line to the test.
pub(crate) fn say(line: impl std::fmt::Display) {
    println!("\n@{line}");
}

/// Action of a process, given an address.
pub(crate) type Role = fn(&Address);

/// Plays the role that this process was started for. Does nothing in an ordinary test run.
pub(crate) fn play(roles: &[(&str, Role)]) {
    let Ok(name) = std::env::var(ROLE) else { return };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    thread::spawn(|| {
        thread::sleep(LONGEST);
        eprintln!("a role that still runs after {LONGEST:?}: a hang");
        std::process::exit(1);
    });
    let address = std::env::var(ADDRESS).unwrap().parse().unwrap();
    let (_, act) = roles.iter().find(|(other, _)| *other == name).expect("a role");
    act(&address);
}
