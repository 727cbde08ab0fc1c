//! Who a certificate says that the other side is.

use breezeway_os::Identity;
use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

/// What a certificate that was verified says.
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
