//! How both sides of a measurement wait.

use breezeway::WaitPolicy;
use serde::Serialize;

/// A wait policy, as command lines and reports name it.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// Spin without end: lowest latency, a whole CPU
    Busy,
    /// Spin for a short, self-tuning time, then sleep
    #[default]
    Adaptive,
    /// Sleep at once
    Park,
}

impl Wait {
    /// The name on command lines and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Adaptive => "adaptive",
            Self::Park => "park",
        }
    }
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
