//! How the calls of a run are spread.

use serde::Serialize;

use super::{Load, Pattern, Touch};
use crate::Failure;

/// What drives sessions.
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

/// Who makes the calls of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// What drives the session.
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
    /// Whether a session has one caller that blocks, which can do all that a [`Load`] can ask for.
    #[must_use]
    pub fn is_exclusive(self) -> bool {
        self == Self::default()
    }

    /// An error that names what `load` asks for and only an exclusive session can do.
    ///
    /// # Errors
    ///
    /// A line that says what to leave out.
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

    /// How many callers there are, each of which has one message under way.
    pub(super) fn callers(self) -> u32 {
        self.streams.unwrap_or(self.threads)
    }
}
