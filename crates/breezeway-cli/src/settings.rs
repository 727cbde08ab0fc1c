//! What several subcommands take.

use breezeway::WaitPolicy;
use clap::ValueEnum;
use serde::Serialize;

/// The default cap in bytes.
pub(crate) const CAP: u64 = 64 * 1024 * 1024;

/// A wait policy, as named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Wait {
    /// Spin without end: lowest latency, a whole CPU
    Busy,
    /// Spin for a short, self-tuning time, then sleep
    Adaptive,
    /// Sleep at once
    Park,
}

impl From<Wait> for WaitPolicy {
    fn from(wait: Wait) -> Self {
        match wait {
            Wait::Busy => Self::Busy,
            Wait::Adaptive => Self::Adaptive,
            Wait::Park => Self::Park,
        }
    }
}
