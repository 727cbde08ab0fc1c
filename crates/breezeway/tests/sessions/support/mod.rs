//! Shared parts of these tests: real processes to talk to, messages with content that can be
//! checked, and a look at processes from outside.

pub(crate) mod carrier;
pub(crate) mod content;
pub(crate) mod observe;
pub(crate) mod process;
pub(crate) mod raw;
pub(crate) mod server;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use breezeway::{Address, Carrier, ExclusiveSession, Place, SessionOptions, WaitPolicy};
use tempfile::TempDir;

pub(crate) use breezeway_adversary::PATIENCE;
pub(crate) use breezeway_adversary::stopwatch::{Stopwatch, eventually};
pub(crate) use carrier::{carrier, has_socket_file, on_socket};
pub(crate) use process::{Process, Role, Settings, hear, play, say};
pub(crate) use server::Server;

/// Maximum duration of "at once": two seconds are the outermost bound of the contract.
pub(crate) const PROMPT: Duration = Duration::from_secs(2);
/// A small cap, so that messages at the cap stay quick.
pub(crate) const MEBIBYTE: usize = 1 << 20;

pub(crate) const EVERY_POLICY: [WaitPolicy; 3] =
    [WaitPolicy::Busy, WaitPolicy::Adaptive, WaitPolicy::Park];

/// Name of the socket file in its folder.
const SOCKET: &str = "test.sock";

/// Options of a session that is to be opened however long the machine takes for it.
pub(crate) fn patient() -> SessionOptions {
    SessionOptions::new().handshake_timeout(PATIENCE)
}

/// A folder for sockets, removed with the test, and the address of the one server that belongs to
/// it.
pub(crate) struct Folder {
    folder: TempDir,
    address: Address,
}

impl Folder {
    /// For a server on the carrier of this run.
    pub(crate) fn new() -> Self {
        Self::on(carrier())
    }

    /// For a server on `carrier`.
    pub(crate) fn on(carrier: Carrier) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let socket = folder.path().join(SOCKET);
        let address = match carrier {
            Carrier::Tcp => Place::from(carrier::own_tcp_address()).into(),
            Carrier::Tls => {
                let address = carrier::own_tcp_address();
                Place::Tls { host: address.ip().to_string(), port: address.port() }.into()
            }
            Carrier::Unix => Address::unix(socket),
            _ => Address::shm(socket),
        };
        Self { folder, address }
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// The address of the one server in this folder.
    pub(crate) fn address(&self) -> Address {
        self.address.clone()
    }

    /// Returns the socket file, if the carrier has one.
    pub(crate) fn socket(&self) -> std::path::PathBuf {
        self.path().join(SOCKET)
    }

    /// Lets other users in, as far as the socket's own mode does.
    pub(crate) fn open_to_others(&self) {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path(), mode).expect("our own folder");
    }
}

/// A session with the server in this folder, with default options.
#[track_caller]
pub(crate) fn connect(folder: &Folder) -> ExclusiveSession {
    ExclusiveSession::connect_with(folder.address(), &patient()).expect("the server listens")
}

/// Waits until something that counts has stopped counting: its thread is stuck, or was not
/// scheduled for long, which a test that uses this must bear.
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

/// Runs `work` on another thread, and fails if it takes longer than `limit`: the guard of
/// everything that must not hang.
#[track_caller]
pub(crate) fn within<T: Send + 'static>(
    limit: Duration,
    what: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (sender, receiver) = channel();
    let start = Stopwatch::start();
    let thread = std::thread::spawn(move || {
        // The receiver is gone if the time was over.
        let _ = sender.send(work());
    });
    match wait_for(&receiver, limit) {
        Ok(result) => result,
        Err(RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().expect_err("it sent nothing"))
        }
        Err(RecvTimeoutError::Timeout) => {
            // Slow and never are different failures.
            let late = wait_for(&receiver, PATIENCE).is_ok();
            let outcome = if late { "took" } else { "has not come after" };
            panic!("{what}: {outcome} {:?}, the limit is {limit:?}", start.elapsed())
        }
    }
}

/// Receives like [`Receiver::recv_timeout`], by the stopwatch.
pub(crate) fn wait_for<T>(receiver: &Receiver<T>, limit: Duration) -> Result<T, RecvTimeoutError> {
    const LOOK: Duration = Duration::from_millis(50);
    let start = Stopwatch::start();
    loop {
        match receiver.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) if !start.passed(limit) => {}
            outcome => return outcome,
        }
    }
}
