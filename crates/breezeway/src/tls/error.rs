//! What can go wrong with TLS.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why TLS was not set up, or why a connection over it has ended.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The feature is off.
    #[error(
        "this program speaks no TLS: build it with the feature `tls` of the crate breezeway, or \
         use tcp:"
    )]
    NotBuilt,
    /// A client has no roots to trust.
    #[error("a client of a tls: address needs roots to trust; give it some by Tls::roots")]
    NoRoots,
    /// A server has no certificate.
    #[error("a server at a tls: address needs a certificate; give it one by Tls::certificate")]
    NoCertificate,
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// Which file.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A file does not hold what it is to hold.
    #[error("{path} is not PEM with {wanted} in it: {problem}")]
    Pem {
        /// Which file.
        path: PathBuf,
        /// What was looked for.
        wanted: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A private key is not that of its certificate.
    #[error("the key in {key} is not that of the certificate in {chain}; give both of one issue")]
    KeyMismatch {
        /// The file of the certificate.
        chain: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// A certificate or key cannot be used.
    #[error("{path} cannot be used: {problem}")]
    Unusable {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The host of an address can stand in no certificate.
    #[error("'{0}' is neither a DNS name nor an IP address, so that no certificate can be for it")]
    HostName(String),
    /// What the other side says is not TLS.
    #[error("the other side does not speak TLS; use tcp: if it is not meant to")]
    NotTls,
    /// The other side closed the connection in the middle of TLS's handshake.
    #[error(
        "the other side closed the connection during the TLS handshake; it may not speak TLS, or \
         has no use for this side's certificate"
    )]
    Closed,
    /// The other side's certificate is out of date.
    #[error("the other side's certificate has expired; let it be renewed")]
    Expired,
    /// The other side's certificate is not valid yet.
    #[error("the other side's certificate is not valid yet; compare the clocks of both hosts")]
    NotYetValid,
    /// None of the roots vouches for the other side's certificate.
    #[error(
        "no root that this side trusts has issued the other side's certificate; add its root, if \
         it is to be trusted"
    )]
    UnknownIssuer,
    /// The certificate is another host's.
    #[error("the server's certificate is not for {0}; use a name that it is for")]
    WrongName(String),
    /// A client has shown no certificate.
    #[error("the client has no certificate, and this server serves only those that have one")]
    NoClientCertificate,
    /// Something else is wrong with the other side's certificate.
    #[error("the other side's certificate is not accepted: {0}")]
    Certificate(String),
    /// The other side speaks TLS, and within it another protocol.
    #[error("the other side does not speak Breezeway within TLS")]
    OtherProtocol,
    /// The other side has refused or ended the connection, and says why.
    #[error("the other side ends the connection by the TLS alert '{0}'")]
    Alert(String),
    /// The other side has broken a rule of TLS, or the bytes were changed on their way.
    #[error("TLS: {0}")]
    Protocol(String),
}

impl TlsError {
    /// Whether a later try may do better: the server ended meanwhile.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::Closed)
    }
}
