//! The programs of the matrix: how they are built and run.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Outcome;
use crate::cells::Kind;

/// Longer than a case takes that does not hang.
const LONGEST: Duration = Duration::from_secs(25);

/// Allows this process as many open files as it may ask for: a framing without sessions needs a
/// connection for each concurrent call.
pub(crate) fn raise_file_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Without, a case may fail, and names the limit.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// The programs that this machine can build.
pub(crate) struct Programs {
    rust: PathBuf,
    go: Option<PathBuf>,
    volo: Option<PathBuf>,
}

impl Programs {
    /// Builds the programs of these kinds.
    pub(crate) fn build(kinds: &[Kind]) -> Result<Self, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let rust = std::env::current_exe().map_err(|error| error.to_string())?;
        let is_go = |kind: &Kind| matches!(kind, Kind::GoRpc | Kind::GoKitex | Kind::Kitex);
        let go = kinds
            .iter()
            .any(is_go)
            .then(|| build_go(&folder.join("go"), &rust.with_file_name("matrix-go")))
            .transpose()?
            .flatten();
        let volo = kinds
            .iter()
            .any(|kind| kind.is_volo())
            .then(|| build_volo(&folder.join("../peers")))
            .transpose()?;
        Ok(Self { rust, go, volo })
    }

    fn of(&self, kind: Kind) -> Option<&Path> {
        match kind {
            Kind::RustBlocking | Kind::RustTokio => Some(&self.rust),
            Kind::GoRpc | Kind::GoKitex | Kind::Kitex => self.go.as_deref(),
            Kind::BreezewayVolo | Kind::Volo => self.volo.as_deref(),
        }
    }

    pub(crate) fn has(&self, kind: Kind) -> bool {
        self.of(kind).is_some()
    }

    /// Starts a server, and waits until it listens.
    pub(crate) fn serve(&self, kind: Kind, address: &str) -> Result<Process, String> {
        let program = self.of(kind).expect("a program that was built");
        let mut server = Process::start(program, &["serve", kind.name(), address])?;
        match server.line()? {
            line if line == "listening" => Ok(server),
            line => Err(format!("{} does not listen: {line}", kind.name())),
        }
    }

    /// Starts a client's case.
    pub(crate) fn call(
        &self,
        kind: Kind,
        server: Kind,
        address: &str,
        case: &str,
    ) -> Result<Process, String> {
        let program = self.of(kind).expect("a program that was built");
        let framing: &[&str] = if server.is_plain() { &["ttheader"] } else { &[] };
        let words = [&["call", kind.name(), address, case], framing].concat();
        Process::start(program, &words)
    }
}

/// Builds the program in Go; `None` without Go.
fn build_go(folder: &Path, program: &Path) -> Result<Option<PathBuf>, String> {
    if Command::new("go").arg("version").output().is_err() {
        return Ok(None);
    }
    run(Command::new("go").args(["generate", "./..."]).current_dir(folder))?;
    run(Command::new("go").args(["build", "-o"]).arg(program).arg(".").current_dir(folder))?;
    Ok(Some(program.to_owned()))
}

fn build_volo(folder: &Path) -> Result<PathBuf, String> {
    let arguments = ["build", "--quiet", "--locked", "-p", "volo-matrix"];
    run(Command::new("cargo").args(arguments).current_dir(folder))?;
    Ok(folder.join("target/debug/volo-matrix"))
}

fn run(command: &mut Command) -> Outcome {
    let Output { status, stderr, .. } = command.output().map_err(|error| error.to_string())?;
    if status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&stderr)))
}

/// A process that ends with this.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lines: std::sync::mpsc::Receiver<String>,
}

impl Process {
    fn start(program: &Path, arguments: &[&str]) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let input = child.stdin.take();
        let output: ChildStdout = child.stdout.take().expect("a pipe");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // The receiver is gone once the process is of no interest.
                let _ = sender.send(line);
            }
        });
        Ok(Self { child, input, lines })
    }

    /// Returns the next line that it prints.
    pub(crate) fn line(&mut self) -> Result<String, String> {
        self.lines.recv_timeout(LONGEST).map_err(|error| match error {
            RecvTimeoutError::Timeout => "hangs".to_owned(),
            RecvTimeoutError::Disconnected => match self.child.wait() {
                Ok(status) => format!("ends without a word: {status}"),
                Err(error) => error.to_string(),
            },
        })
    }

    /// Writes a line to it.
    pub(crate) fn go_on(&mut self) {
        if let Some(input) = &mut self.input {
            // It may have ended, and has printed why.
            let _ = input.write_all(b"\n");
        }
    }

    /// Ends its input, and waits until it has ended.
    pub(crate) fn stop(mut self) -> Outcome {
        drop(self.input.take());
        match self.lines.recv_timeout(LONGEST) {
            Ok(line) => return Err(format!("the server prints {line}")),
            Err(RecvTimeoutError::Timeout) => return Err("the server does not stop".to_owned()),
            Err(RecvTimeoutError::Disconnected) => {}
        }
        let status = self.child.wait().map_err(|error| error.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("the server ends with {status}")) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
