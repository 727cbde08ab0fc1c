//! This test binary once more, for what may end a process.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::victim::PATIENCE;

/// Set in the child.
const CHILD: &str = "SHMIPC_TEST_CHILD";

/// How a child ended, and what it left in its folder, which is gone with this.
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    folder: tempfile::TempDir,
}

/// In the child: its folder.
pub(crate) fn folder() -> std::path::PathBuf {
    std::env::var_os(CHILD).expect("only in a child").into()
}

/// Runs `body` in a child whose only test is the one named `test`, which must be the caller. `None` in the child itself, after the body.
pub(crate) fn run(test: &str, body: impl FnOnce()) -> Option<Outcome> {
    if std::env::var_os(CHILD).is_some() {
        body();
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let child = command(test, folder.path()).spawn().unwrap();
    let status = wait_for(child);
    Some(Outcome { status, folder })
}

impl Outcome {
    /// Whether the child made a file of this name in its folder.
    pub(crate) fn left(&self, name: &str) -> bool {
        self.folder.path().join(name).exists()
    }

    /// Fails unless this signal ended the child.
    #[track_caller]
    pub(crate) fn assert_ended_by(&self, signal: i32) {
        assert_eq!(self.status.signal(), Some(signal), "{}", self.status);
    }
}

fn command(test: &str, folder: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    // Without a core dump, which would stay behind.
    command.args(["-c", "ulimit -c 0; exec \"$@\"", "sh"]);
    command.arg(std::env::current_exe().unwrap()).args([test, "--exact", "--test-threads=1"]);
    // What it makes goes with the folder, however it ends.
    command.env(CHILD, folder).env("TMPDIR", folder).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Its end; a child that goes on for ever is killed, which is not what anybody expects.
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
