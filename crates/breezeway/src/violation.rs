//! Errors of a peer, which end the session.

use breezeway_proto::connection::StreamViolation;
use breezeway_proto::protocol::{self, CallViolation};
use breezeway_shm::Violation as MemoryViolation;
use thiserror::Error;

/// The peer broke a rule, which ends the session.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Violation {
    /// A rule of calls, on any carrier.
    #[error(transparent)]
    Call(#[from] CallViolation),
    /// A rule of streams, on any carrier.
    #[error(transparent)]
    Stream(#[from] StreamViolation),
    /// A rule of shared memory.
    #[error(transparent)]
    Memory(#[from] MemoryViolation),
}

impl From<protocol::Violation> for Violation {
    fn from(violation: protocol::Violation) -> Self {
        match violation {
            protocol::Violation::Call(violation) => violation.into(),
            protocol::Violation::Stream(violation) => violation.into(),
        }
    }
}
