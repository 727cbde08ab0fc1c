//! Errors of rustls, in words that name the remedy.

use rustls::{AlertDescription, CertificateError, InvalidMessage};

use super::TlsError;

/// Converts an error of TLS to one that names the remedy.
pub(super) fn describe(error: rustls::Error, host: Option<&str>, is_shaking: bool) -> TlsError {
    use rustls::Error;
    match error {
        // The bytes do not begin with a valid record header. Any other malformed message is TLS, if
        // invalid.
        Error::InvalidMessage(
            InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
        ) if is_shaking => TlsError::NotTls,
        Error::InvalidCertificate(error) => match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                TlsError::Expired
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                TlsError::NotYetValid
            }
            CertificateError::UnknownIssuer => TlsError::UnknownIssuer,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                TlsError::WrongName(host.unwrap_or_default().to_owned())
            }
            error => TlsError::Certificate(error.to_string()),
        },
        Error::NoCertificatesPresented => TlsError::NoClientCertificate,
        Error::AlertReceived(AlertDescription::NoApplicationProtocol) => TlsError::OtherProtocol,
        Error::AlertReceived(alert) => TlsError::Alert(name_of(alert)),
        error => TlsError::Protocol(error.to_string()),
    }
}

/// Returns the name of an alert in RFC 8446, section 6.
fn name_of(alert: AlertDescription) -> String {
    let mut name = String::new();
    let mut was_lower = false;
    for char in format!("{alert:?}").chars() {
        if char.is_uppercase() && was_lower {
            name.push('_');
        }
        was_lower = char.is_lowercase();
        name.push(char.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_have_the_names_of_their_standard() {
        assert_eq!(name_of(AlertDescription::CertificateExpired), "certificate_expired");
        assert_eq!(name_of(AlertDescription::UnknownCA), "unknown_ca");
    }
}
