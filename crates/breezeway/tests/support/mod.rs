//! What the tests of this folder share: real processes to talk to, messages whose content can be checked, and a look at processes from outside.
#![allow(dead_code, reason = "each test file uses its own part of this")]
#![allow(unused_imports, reason = "as above")]

pub(crate) mod content;
pub(crate) mod observe;
pub(crate) mod process;
pub(crate) mod server;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use breezeway::{Address, WaitPolicy};
use tempfile::TempDir;

pub(crate) use process::{Process, Settings, hear, play, say};
pub(crate) use server::Server;

/// How long anything may take before a test fails. Far above what it takes, as the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// How soon what is promised "at once" must come: two seconds are the outermost bound of the contract.
pub(crate) const PROMPT: Duration = Duration::from_secs(2);
/// A small cap, so that messages at the cap stay quick.
pub(crate) const MEBIBYTE: usize = 1 << 20;

pub(crate) const EVERY_POLICY: [WaitPolicy; 3] =
    [WaitPolicy::Busy, WaitPolicy::Adaptive, WaitPolicy::Park];

/// A folder for sockets, removed with the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        self.0.path()
    }

    /// The address of the one server in this folder.
    pub(crate) fn address(&self) -> Address {
        Address::Shm(self.0.path().join("test.sock"))
    }

    /// Lets other users in, as far as the socket's own mode does.
    pub(crate) fn open_to_others(&self) {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.0.path(), mode).expect("our own folder");
    }
}

/// Waits until `done`, looking often.
#[track_caller]
pub(crate) fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until something that counts has stopped counting: its thread is stuck, or was not scheduled for long, which a test that uses this must bear.
#[track_caller]
pub(crate) fn stands_still(what: &str, count: &AtomicU64) {
    const LOOKS: u32 = 30;
    let (mut seen, mut same) = (0, 0);
    eventually(what, || {
        let now = count.load(Ordering::Relaxed);
        same = if now == seen && now > 0 { same + 1 } else { 0 };
        seen = now;
        same == LOOKS
    });
}

/// Runs `work` on another thread, and fails if it takes longer than `limit`: the guard of everything that must not hang.
#[track_caller]
pub(crate) fn within<T: Send + 'static>(
    limit: Duration,
    what: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (sender, receiver) = channel();
    let start = Instant::now();
    let thread = std::thread::spawn(move || {
        // Nobody listens any more if the time was over.
        let _ = sender.send(work());
    });
    match receiver.recv_timeout(limit) {
        Ok(result) => result,
        Err(RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().expect_err("it sent nothing"))
        }
        Err(RecvTimeoutError::Timeout) => {
            // Slow and never are different failures.
            let late = receiver.recv_timeout(PATIENCE).is_ok();
            let outcome = if late { "took" } else { "has not come after" };
            panic!("{what}: {outcome} {:?}, the limit is {limit:?}", start.elapsed())
        }
    }
}
