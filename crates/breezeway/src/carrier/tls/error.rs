//! Errors of TLS.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::error_kind::ErrorKind;

/// Error returned when TLS was not set up, or when a connection over it has ended.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The feature is off.
    #[error(
        "this program speaks no TLS: build it with the feature `tls` of the crate breezeway, or \
         use tcp:"
    )]
    NotBuilt,
    /// A client has no trusted roots.
    #[error("a client of a tls: address needs roots to trust; give it some by Tls::roots")]
    NoRoots,
    /// A server has no certificate.
    #[error("a server at a tls: address needs a certificate; give it one by Tls::certificate")]
    NoCertificate,
    /// A file cannot be read.
    #[error("cannot read {path}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the kernel.
        source: io::Error,
    },
    /// A file does not contain the expected item.
    #[error("{path} is not PEM with {wanted} in it: {problem}")]
    Pem {
        /// Path of the file.
        path: PathBuf,
        /// The expected item.
        wanted: &'static str,
        /// The problem with the file.
        problem: String,
    },
    /// A private key does not belong to its certificate.
    #[error("the key in {key} is not that of the certificate in {chain}; give both of one issue")]
    KeyMismatch {
        /// Path of the certificate's file.
        chain: PathBuf,
        /// Path of the key's file.
        key: PathBuf,
    },
    /// A certificate or key cannot be used.
    #[error("{path} cannot be used: {problem}")]
    Unusable {
        /// Path of the file.
        path: PathBuf,
        /// The problem with the file.
        problem: String,
    },
    /// The host of an address cannot appear in a certificate.
    #[error("'{0}' is neither a DNS name nor an IP address, so that no certificate can be for it")]
    HostName(String),
    /// The peer's bytes are not TLS.
    #[error("the peer does not speak TLS; use tcp: if it is not meant to")]
    NotTls,
    /// The peer closed the connection during the TLS handshake.
    #[error(
        "the peer closed the connection during the TLS handshake; it may not speak TLS, or \
         has no use for this side's certificate"
    )]
    Closed,
    /// The peer's certificate has expired.
    #[error("the peer's certificate has expired; let it be renewed")]
    Expired,
    /// The peer's certificate is not valid yet.
    #[error("the peer's certificate is not valid yet; compare the clocks of both hosts")]
    NotYetValid,
    /// None of the roots has issued the peer's certificate.
    #[error(
        "no root that this side trusts has issued the peer's certificate; add its root, if \
         it is to be trusted"
    )]
    UnknownIssuer,
    /// The certificate is for another host.
    #[error("the server's certificate is not for {0}; use a name that it is for")]
    WrongName(String),
    /// A client has sent no certificate.
    #[error("the client has no certificate, and this server serves only those that have one")]
    NoClientCertificate,
    /// The peer's certificate has another problem.
    #[error("the peer's certificate is not accepted: {0}")]
    Certificate(String),
    /// The peer speaks TLS, and within it another protocol.
    #[error("the peer does not speak Breezeway within TLS")]
    OtherProtocol,
    /// The peer has refused or ended the connection, with this alert.
    #[error("the peer ends the connection by the TLS alert '{0}'")]
    Alert(String),
    /// The peer has broken a rule of TLS, or the bytes were changed in transit.
    #[error("TLS: {0}")]
    Protocol(String),
}

impl TlsError {
    /// Returns the kind of the error, to branch on.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NotBuilt
            | Self::NoRoots
            | Self::NoCertificate
            | Self::Pem { .. }
            | Self::KeyMismatch { .. }
            | Self::Unusable { .. }
            | Self::HostName(_) => ErrorKind::InvalidUse,
            Self::File { source, .. } => ErrorKind::of_io(source),
            Self::NotTls | Self::OtherProtocol | Self::Protocol(_) => ErrorKind::Violation,
            Self::Closed => ErrorKind::Died,
            Self::Expired
            | Self::NotYetValid
            | Self::UnknownIssuer
            | Self::WrongName(_)
            | Self::NoClientCertificate
            | Self::Certificate(_)
            | Self::Alert(_) => ErrorKind::Refused,
        }
    }

    /// Returns true if a later attempt may succeed: the server ended during the handshake.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::Closed)
    }
}
