//! The three programs: this crate's and two of upstream. All take the same options and use the same
//! lines, see `bench/README.md`.

use std::path::Path;
use std::process::Command;

use super::build;
use super::ours;
use super::process::Process;

/// Program of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// One thread for all streams of a session as a server, a thread for each stream as a client.
    Ours,
    /// A thread for each stream.
    OursByThreads,
    /// A task for each stream.
    #[cfg(feature = "tokio")]
    OursByTasks,
    Go,
    Rust,
}

impl Program {
    /// Returns false for programs of upstream unless `BREEZEWAY_TEST_UPSTREAM` is set, because they
    /// take a minute to build, and for those in Go where Go is missing.
    pub(crate) fn is_here(self) -> bool {
        let has_upstream = || std::env::var_os("BREEZEWAY_TEST_UPSTREAM").is_some();
        self.is_ours() || has_upstream() && (self != Self::Go || build::has_go())
    }

    fn command(self) -> Command {
        match self {
            Self::Ours | Self::OursByThreads => ours::command(),
            #[cfg(feature = "tokio")]
            Self::OursByTasks => ours::command(),
            Self::Go => Command::new(build::shmipc_go()),
            Self::Rust => Command::new(build::shmipc_rs()),
        }
    }

    fn is_ours(self) -> bool {
        !matches!(self, Self::Go | Self::Rust)
    }

    /// Starts a server and waits until it listens.
    #[track_caller]
    pub(crate) fn serve(self, socket: &Path, options: &[&str]) -> Process {
        match self {
            Self::OursByThreads => self.listen("serve", socket, &["--role", "threads"]).0,
            #[cfg(feature = "tokio")]
            Self::OursByTasks => self.listen("serve-tasks", socket, options).0,
            _ => self.listen("serve", socket, options).0,
        }
    }

    /// Starts a server on an address with an open part, waits until it listens, and returns its
    /// actual address.
    #[track_caller]
    pub(crate) fn serve_anywhere(self, address: &str) -> (Process, String) {
        self.listen("serve", Path::new(address), &[])
    }

    /// Starts the server of the quick start and waits until it listens.
    #[track_caller]
    pub(crate) fn serve_hello(self, socket: &Path, options: &[&str]) -> Process {
        self.listen("hello-server", socket, options).0
    }

    #[track_caller]
    fn listen(self, role: &str, socket: &Path, options: &[&str]) -> (Process, String) {
        let mut command = self.command();
        command.arg(role).arg("--path").arg(socket).arg("--tied").args(options);
        let process = Process::start(&format!("{self:?} as {role}"), &mut command);
        let address = process.expect("listening on");
        (process, address)
    }

    /// Starts a client, which connects at once.
    pub(crate) fn client(
        self,
        role: &str,
        socket: &Path,
        prefix: &Path,
        sharing: Sharing,
    ) -> Client {
        #[cfg(feature = "tokio")]
        let role = if self == Self::OursByTasks { "client-tasks" } else { role };
        let mut command = self.command();
        command.arg(role).arg("--path").arg(socket).arg("--prefix").arg(prefix);
        command.args(["--mode", sharing.mode()]);
        if self.is_ours() {
            command.args(["--version", sharing.version()]);
        }
        Client { name: format!("{self:?} as {role}"), command }
    }
}

/// Version of the protocol, and mode of sharing memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    V2File,
    V3File,
    V3Memfd,
}

impl Sharing {
    pub(crate) fn mode(self) -> &'static str {
        match self {
            Self::V2File | Self::V3File => "file",
            Self::V3Memfd => "memfd",
        }
    }

    fn version(self) -> &'static str {
        match self {
            Self::V2File => "2",
            Self::V3File | Self::V3Memfd => "3",
        }
    }
}

/// A client that is about to be started.
pub(crate) struct Client {
    name: String,
    command: Command,
}

impl Client {
    pub(crate) fn option(mut self, name: &str, value: &str) -> Self {
        self.command.args([name, value]);
        self
    }

    pub(crate) fn flag(mut self, name: &str) -> Self {
        self.command.arg(name);
        self
    }

    pub(crate) fn environment(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn start(mut self) -> Process {
        Process::start(&self.name, &mut self.command)
    }

    /// Starts it to run commands line by line, and waits until it is connected.
    #[track_caller]
    pub(crate) fn obey(self) -> Process {
        let process = self.flag("--commands").start();
        process.expect("connected");
        process
    }
}
