//! Check that a certificate is an authority's.

use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// Returns an error if a root certificate is not an authority's, which verification does not check.
/// The owner of the key of another certificate, a server's for example, could issue certificates
/// for any host.
pub(super) fn check_authority(certificate: &CertificateDer<'_>) -> Result<(), String> {
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|error| error.to_string())?;
    if parsed.is_ca() {
        return Ok(());
    }
    Err(format!(
        "'{}' is not an authority, as its basicConstraints lack cA; a root is the certificate of \
         the issuer of the others",
        parsed.subject()
    ))
}
