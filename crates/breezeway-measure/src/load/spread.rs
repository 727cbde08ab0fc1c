//! Distribution of the calls of a run over threads, tasks and streams.

use serde::Serialize;

use super::{Load, Pattern, Touch};
use crate::Failure;

/// Runtime that drives sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// Threads that block
    #[default]
    Blocking,
    /// Tasks under tokio
    Tokio,
}

impl Runtime {
    /// Returns its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Blocking => "blocking",
            Self::Tokio => "tokio",
        }
    }
}

/// Callers of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// Runtime that drives the session.
    pub runtime: Runtime,
    /// Streams that exchange one message at a time each; without, there are calls.
    pub streams: Option<u32>,
    /// Threads that share the session, or threads of the runtime; at least 1.
    pub threads: u32,
}

impl Default for Spread {
    fn default() -> Self {
        Self { runtime: Runtime::Blocking, streams: None, threads: 1 }
    }
}

impl Spread {
    /// Returns true if a session has one blocking caller, which supports everything that a [`Load`]
    /// can contain.
    #[must_use]
    pub fn is_exclusive(self) -> bool {
        self == Self::default()
    }

    /// Checks that `load` contains nothing that only an exclusive session supports.
    ///
    /// # Errors
    ///
    /// Returns a line that names the options to leave out.
    pub fn check(self, load: &Load, sessions: u32) -> Result<(), Failure> {
        if self.is_exclusive() {
            return Ok(());
        }
        let asked = [
            (load.pattern == Pattern::OneWay, "--pattern one-way"),
            (load.pattern == Pattern::Cold, "--pattern cold"),
            (load.rate.is_some(), "--rate"),
            (load.depth > 1, "--depth"),
            (load.touch == Touch::None, "--touch none"),
            (sessions > 1, "--sessions"),
        ];
        if let Some((_, option)) = asked.into_iter().find(|(is_given, _)| *is_given) {
            return Err(format!(
                "{option} goes with one blocking caller for each session; leave it out, or \
                 --runtime tokio, --streams and --threads"
            )
            .into());
        }
        let (threads, streams) = (self.threads, self.streams.unwrap_or(u32::MAX));
        if streams < threads {
            return Err(format!(
                "--streams {streams} leaves some of --threads {threads} without one; raise the \
                 first or lower the second"
            )
            .into());
        }
        Ok(())
    }

    /// Returns the number of callers, each of which has one message in flight.
    pub(super) fn callers(self) -> u32 {
        self.streams.unwrap_or(self.threads)
    }
}
