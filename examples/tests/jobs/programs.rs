//! Starts programs and reads what they print.

use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// Returns the path of a program of this package.
pub(crate) fn program(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_sync-server")).with_file_name(name);
    assert!(path.exists(), "{} is missing", path.display());
    path
}

/// A server among the programs, ended with this.
pub(crate) struct Server {
    pub(crate) process: Child,
    /// The text behind `listening on`: its address, as a rule.
    pub(crate) address: String,
    /// The lines that it prints after the first one.
    pub(crate) lines: Lines<BufReader<ChildStdout>>,
}

impl Server {
    #[track_caller]
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Self {
        Self::spawn(Command::new(program(name)).args(arguments))
    }

    #[track_caller]
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().expect("the server starts");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let line = lines.next().expect("a line of the server").expect("text");
        let address = line.strip_prefix("listening on ").expect(&line).to_owned();
        Self { process, address, lines }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails if it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the end of a program, which is killed after two minutes.
pub(crate) fn run(name: &str, arguments: &[&str]) -> Output {
    let mut limited = Command::new("timeout");
    limited.arg("120").arg(program(name)).args(arguments).output().expect("the program starts")
}

/// Returns what a program prints, which must succeed.
#[track_caller]
pub(crate) fn output(name: &str, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = run(name, arguments);
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("text")
}

/// Returns the error of a program, which must fail.
#[track_caller]
pub(crate) fn failure(name: &str, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = run(name, arguments);
    assert!(!status.success(), "{}", String::from_utf8_lossy(&stdout));
    String::from_utf8_lossy(&stderr).into_owned()
}

/// Returns an address for each carrier, and the carrier's name.
pub(crate) fn addresses(folder: &Path) -> [(String, &'static str); 3] {
    let folder = folder.display();
    [
        (format!("shm:{folder}/shm.sock"), "shm"),
        (format!("unix:{folder}/unix.sock"), "unix"),
        ("tcp:127.0.0.1:0".to_owned(), "tcp"),
    ]
}
