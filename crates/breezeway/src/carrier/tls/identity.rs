//! The peer's identity from its certificate.

use breezeway_os::Identity;
use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

/// Returns the identity in a verified certificate.
pub(super) fn identity_of(certificate: &CertificateDer<'_>) -> Identity {
    let names = match EndEntityCert::try_from(certificate) {
        Ok(parsed) => {
            parsed.valid_dns_names().chain(parsed.valid_uri_names()).map(str::to_owned).collect()
        }
        // It was parsed to be verified.
        Err(_) => Vec::new(),
    };
    Identity::new(certificate.to_vec(), names)
}
