//! A server under attack, and the steps of the attack.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use breezeway_adversary::Connection;

use crate::Failure;
use crate::engine::Engine;
use crate::process::Process;

/// The carrier of an attack, and of the honest client beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Via {
    Shm,
    Unix,
    Tcp,
}

impl fmt::Display for Via {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Shm => "shm",
            Self::Unix => "unix",
            Self::Tcp => "tcp",
        })
    }
}

impl Via {
    /// Returns the address of a server that listens in the folder, and over TCP.
    pub(super) fn address(self, folder: &Path, tcp: &str) -> String {
        match self {
            Self::Shm | Self::Unix => format!("{self}:{}", self.path(folder).display()),
            Self::Tcp => tcp.to_owned(),
        }
    }

    /// Returns the socket file in the folder.
    pub(super) fn path(self, folder: &Path) -> PathBuf {
        folder.join(self.to_string())
    }
}

/// Steps of an attack, and its end.
#[derive(Default)]
pub(super) struct Course {
    over: AtomicBool,
    steps: AtomicU64,
}

impl Course {
    pub(super) fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    pub(super) fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// A server under attack.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) engine: Engine,
    pub(super) via: Via,
    /// The socket file, if the carrier has one.
    pub(super) path: &'a Path,
    pub(super) address: &'a str,
    pub(super) server: &'a Process,
}

impl Target<'_> {
    /// Opens a connection without a hello.
    pub(super) fn connection(&self) -> Result<Connection, Failure> {
        loop {
            let connected = match self.via {
                Via::Shm | Via::Unix => Connection::unix(self.path),
                Via::Tcp => {
                    let port = self.address.rsplit_once(':').ok_or("no port")?.1.parse()?;
                    Connection::tcp("127.0.0.1", port)
                }
            };
            match connected {
                // The ports of closed connections come back.
                Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
                    std::thread::yield_now();
                }
                connected => return Ok(connected?),
            }
        }
    }
}
