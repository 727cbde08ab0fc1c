//! Certificates: this side's own, and those that it trusts.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{ClientConfig, InconsistentKeys, RootCertStore, ServerConfig};

use super::authority::check_authority;
use super::{SESSION, TlsError};

/// ALPN name that a server accepts in addition to sessions: HTTP/2, for gRPC. (It also accepts
/// clients without ALPN.)
const HTTP2: &[u8] = b"h2";

/// The certificates of `tls:` addresses, for [`SessionOptions::tls`](crate::SessionOptions::tls).
///
/// A server has a certificate of its own, and a client has roots to trust: one of them must have
/// issued the server's certificate, and the certificate must be for the host of the address. With
/// roots, a server serves only clients that have a certificate issued by one of them (mutual TLS).
/// [`Peer::identity`](crate::Peer::identity) holds the identity in the peer's certificate.
///
/// Files are PEM, and are read once, here: a renewed certificate applies to sessions with new
/// options. The protocol is TLS 1.3, and each session begins with a full handshake.
///
/// ```no_run
/// use breezeway::{Server, ServerOptions, ExclusiveSession, SessionOptions, Tls};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tls = Tls::new().certificate("server.pem", "server.key")?;
/// let session = SessionOptions::new().tls(tls);
/// let server =
///     Server::bind_with("tls:0.0.0.0:7000", ServerOptions::new().session(session))?;
///
/// // Elsewhere.
/// let options = SessionOptions::new().tls(Tls::new().roots("ca.pem")?);
/// let session = ExclusiveSession::connect_with("tls:echo.example.org:7000", &options)?;
/// println!("{:?}", session.peer().identity);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Tls {
    own: Option<Own>,
    roots: Option<Arc<RootCertStore>>,
    /// The client's configuration, built from the certificates.
    client: Option<Arc<ClientConfig>>,
    server: Option<Arc<ServerConfig>>,
}

/// This side's certificate, those between it and a root, and its key.
#[derive(Clone)]
struct Own {
    chain: Vec<CertificateDer<'static>>,
    key: Arc<PrivateKeyDer<'static>>,
}

/// Certificates of sessions whose options name none.
static DEFAULT: OnceLock<Tls> = OnceLock::new();

impl Tls {
    /// Creates options without a certificate and without trusted roots.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets this side's certificate: a PEM file with the certificate first, and then those between
    /// it and a root, and one with its private key (PKCS #8, PKCS #1 or SEC1, not encrypted), which
    /// may be the same file.
    pub fn certificate(
        mut self,
        chain: impl AsRef<Path>,
        key: impl AsRef<Path>,
    ) -> Result<Self, TlsError> {
        let (chain_path, key_path) = (chain.as_ref(), key.as_ref());
        let chain = certificates(chain_path)?;
        let key = PrivateKeyDer::from_pem_file(key_path)
            .map_err(|error| pem_error(key_path, "a private key", error))?;
        self.own = Some(Own { chain, key: Arc::new(key) });
        self.configure().map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                TlsError::KeyMismatch { chain: chain_path.into(), key: key_path.into() }
            }
            rustls::Error::InvalidCertificate(error) => {
                TlsError::Unusable { path: chain_path.into(), problem: error.to_string() }
            }
            error => TlsError::Unusable { path: key_path.into(), problem: error.to_string() },
        })
    }

    /// Sets the roots that this side trusts to issue the peer's certificate: a PEM file with the
    /// certificates of one or more authorities (`cA` is true in their `basicConstraints`). A server
    /// with roots asks each client for a certificate.
    pub fn roots(mut self, path: impl AsRef<Path>) -> Result<Self, TlsError> {
        let path = path.as_ref();
        let unusable = |error: rustls::Error| TlsError::Unusable {
            path: path.into(),
            problem: error.to_string(),
        };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(path)? {
            roots.add(certificate.clone()).map_err(unusable)?;
            check_authority(&certificate)
                .map_err(|problem| TlsError::Unusable { path: path.into(), problem })?;
        }
        self.roots = Some(Arc::new(roots));
        self.configure().map_err(unusable)
    }

    /// Sets these certificates for every later session of this process without certificates in its
    /// options: for programs that read their addresses from a configuration. Only the first call
    /// has an effect; returns false if this was not the first.
    pub fn install_default(self) -> bool {
        DEFAULT.set(self).is_ok()
    }

    /// Builds the configurations from the certificates.
    fn configure(mut self) -> Result<Self, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        if let Some(own) = &self.own {
            let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
                .with_protocol_versions(&[&TLS13])?;
            let builder = match &self.roots {
                None => builder.with_no_client_auth(),
                Some(roots) => builder.with_client_cert_verifier(
                    WebPkiClientVerifier::builder_with_provider(
                        Arc::clone(roots),
                        Arc::clone(&provider),
                    )
                    .build()
                    .map_err(|error| rustls::Error::General(error.to_string()))?,
                ),
            };
            let mut server = builder.with_single_cert(own.chain.clone(), own.key.clone_key())?;
            server.alpn_protocols = vec![SESSION.to_vec(), HTTP2.to_vec()];
            // A client that resumes a session would not be verified again.
            server.session_storage = Arc::new(NoServerSessionStorage {});
            server.send_tls13_tickets = 0;
            self.server = Some(Arc::new(server));
        }
        if let Some(roots) = &self.roots {
            let builder = ClientConfig::builder_with_provider(provider)
                .with_protocol_versions(&[&TLS13])?
                .with_root_certificates(Arc::clone(roots));
            let mut client = match &self.own {
                None => builder.with_no_client_auth(),
                Some(own) => {
                    builder.with_client_auth_cert(own.chain.clone(), own.key.clone_key())?
                }
            };
            client.resumption = Resumption::disabled();
            self.client = Some(Arc::new(client));
        }
        Ok(self)
    }

    /// Returns an error if a server with these options cannot serve `tls:`.
    pub(crate) fn check_server(tls: Option<&Self>) -> Result<(), TlsError> {
        Self::server(tls).map(drop)
    }

    /// Returns an error if a client with these options cannot connect to `tls:`.
    pub(crate) fn check_client(tls: Option<&Self>) -> Result<(), TlsError> {
        Self::client(tls).map(drop)
    }

    pub(super) fn server(tls: Option<&Self>) -> Result<Arc<ServerConfig>, TlsError> {
        let server = tls.or_else(|| DEFAULT.get()).and_then(|tls| tls.server.clone());
        server.ok_or(TlsError::NoCertificate)
    }

    pub(super) fn client(tls: Option<&Self>) -> Result<Arc<ClientConfig>, TlsError> {
        let client = tls.or_else(|| DEFAULT.get()).and_then(|tls| tls.client.clone());
        client.ok_or(TlsError::NoRoots)
    }
}

/// Returns the certificates in a PEM file, at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    const WANTED: &str = "a certificate";
    let failed = |error| pem_error(path, WANTED, error);
    let all = CertificateDer::pem_file_iter(path).map_err(failed)?;
    let all: Vec<_> = all.collect::<Result<_, _>>().map_err(failed)?;
    if all.is_empty() { Err(failed(pem::Error::NoItemsFound)) } else { Ok(all) }
}

fn pem_error(path: &Path, wanted: &'static str, error: pem::Error) -> TlsError {
    match error {
        pem::Error::Io(source) => TlsError::File { path: path.into(), source },
        error => TlsError::Pem { path: path.into(), wanted, problem: error.to_string() },
    }
}

impl fmt::Debug for Tls {
    /// Omits the key.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roots = self.roots.as_ref().map_or(0, |roots| roots.len());
        let certificate = self.own.is_some();
        formatter
            .debug_struct("Tls")
            .field("certificate", &certificate)
            .field("roots", &roots)
            .finish_non_exhaustive()
    }
}
