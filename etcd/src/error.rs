//! What may go wrong with etcd.

use std::time::Duration;

use breezeway::Place;

/// Why an instance was not registered, or not deregistered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address names no host, or no port: whoever reads it would call itself, or nobody.
    #[error(
        "{0} names no host and port that others can call: register the address that they reach"
    )]
    Unreachable(Place),
    /// Names are parts of keys: a `/` in one would be another service's folder.
    #[error("{0:?} is no name of a service or an instance: one is not empty and has no '/'")]
    Name(String),
    /// What etcd or its client says.
    #[error("etcd refused or could not be reached")]
    Etcd(#[from] etcd_client::Error),
    /// etcd gave no answer.
    #[error("etcd gave no answer within {0:?}")]
    NoAnswer(Duration),
}
