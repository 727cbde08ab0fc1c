//! Violations by a peer, which end the session.

use breezeway_proto::{self as proto, CallViolation, StreamViolation};
use breezeway_shm as shm;
use thiserror::Error;

/// A rule of the protocol that the peer broke, which ends the session.
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

/// A rule of shared memory that the peer broke. Its text names the rule and the numbers found.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct MemoryViolation(pub(crate) shm::Violation);

impl From<proto::Violation> for Violation {
    fn from(violation: proto::Violation) -> Self {
        match violation {
            proto::Violation::Call(violation) => violation.into(),
            proto::Violation::Stream(violation) => violation.into(),
        }
    }
}
