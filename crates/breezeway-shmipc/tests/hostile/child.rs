//! Runs this test binary once more, for tests that may end a process.

use std::fmt::{Display, Formatter};
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::victim::PATIENCE;

/// Set in the child.
const CHILD: &str = "SHMIPC_TEST_CHILD";

/// End of a child, and the contents of its folder, which is removed when this is dropped.
pub(crate) struct Outcome {
    status: ExitStatus,
    folder: tempfile::TempDir,
}

/// Returns the folder of the child, in the child.
pub(crate) fn folder() -> std::path::PathBuf {
    std::env::var_os(CHILD).expect("only in a child").into()
}

/// Runs `body` in a child process limited to the test named `test`, which must be the caller.
/// `None` in the child itself, after the body.
pub(crate) fn run(test: &str, body: impl FnOnce()) -> Option<Outcome> {
    if std::env::var_os(CHILD).is_some() {
        body();
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let said = File::create(folder.path().join("said")).unwrap();
    let child = command(test, folder.path(), said).spawn().unwrap();
    let status = wait_for(child);
    Some(Outcome { status, folder })
}

/// A child that runs until this is dropped.
pub(crate) struct Running {
    child: Child,
    folder: tempfile::TempDir,
}

/// Starts a child like [`run`], which runs beside this process.
pub(crate) fn start(test: &str, body: impl FnOnce()) -> Option<Running> {
    if std::env::var_os(CHILD).is_some() {
        body();
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let said = File::create(folder.path().join("said")).unwrap();
    let child = command(test, folder.path(), said).spawn().unwrap();
    Some(Running { child, folder })
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Outcome {
    /// Fails unless the child made a file of this name in its folder.
    #[track_caller]
    pub(crate) fn assert_left(&self, name: &str) {
        assert!(self.folder.path().join(name).exists(), "{self}");
    }

    /// Fails unless this signal ended the child.
    #[track_caller]
    pub(crate) fn assert_ended_by(&self, signal: i32) {
        assert_eq!(self.status.signal(), Some(signal), "{self}");
    }

    /// Fails unless the child's test passed.
    #[track_caller]
    pub(crate) fn assert_success(&self) {
        assert!(self.status.success(), "{self}");
    }
}

impl Display for Outcome {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let said = std::fs::read_to_string(self.folder.path().join("said")).unwrap_or_default();
        write!(formatter, "{}, after it said:\n{said}", self.status)
    }
}

fn command(test: &str, folder: &Path, said: File) -> Command {
    let mut command = Command::new("/bin/sh");
    // Without a core dump, which would be left behind.
    command.args(["-c", "ulimit -c 0; exec \"$@\"", "sh"]);
    command.arg(std::env::current_exe().unwrap()).args([test, "--exact", "--nocapture"]);
    // Its files are removed with the folder, however it ends.
    command.env(CHILD, folder).env("TMPDIR", folder).stdin(Stdio::null());
    command.stderr(said.try_clone().unwrap()).stdout(said);
    command
}

/// Waits for the child's end; a child that runs for ever is killed, which no test expects.
fn wait_for(mut child: Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
