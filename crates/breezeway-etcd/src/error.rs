//! Errors of the registry.

use std::time::Duration;

use breezeway::Place;

/// Reason why an instance was not registered, or not deregistered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address has no host, or no port: a client that read it would call itself, or no server.
    #[error(
        "{0} names no host and port that others can call: register the address that they reach"
    )]
    Unreachable(Place),
    /// Names are parts of keys: a `/` in one would be another service's folder.
    #[error("{0:?} does not name a service or an instance: a name is not empty and has no '/'")]
    Name(String),
    /// Error of etcd or its client.
    #[error("etcd refused or could not be reached")]
    Etcd(#[from] etcd_client::Error),
    /// etcd gave no answer.
    #[error("etcd gave no answer within {0:?}")]
    NoAnswer(Duration),
}
