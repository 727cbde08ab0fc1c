//! What may go wrong with etcd.

use std::time::Duration;

/// Why an instance was not registered, or not deregistered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What etcd or its client says.
    #[error("etcd refused or could not be reached")]
    Etcd(#[from] etcd_client::Error),
    /// etcd gave no answer.
    #[error("etcd gave no answer within {0:?}")]
    NoAnswer(Duration),
}
