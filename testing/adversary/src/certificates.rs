//! Certificates for tests of TLS: an authority that issues good and bad ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
    date_time_ymd,
};

/// Name of an authority's certificate in its folder.
const ROOT: &str = "root.pem";

/// Validity of a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Valid {
    /// For centuries.
    #[default]
    Now,
    /// Until the year 2001.
    Before,
    /// From the year 3000 on.
    Later,
}

/// Certificate authority with files in a folder of the test's.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

/// The PEM files of a certificate.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The certificate, and whatever stands between it and the root.
    pub chain: PathBuf,
    /// Private key of the certificate.
    pub key: PathBuf,
}

impl Authority {
    /// A new one, with its root in `folder`.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self::with(KeyPair::generate().expect("randomness"), folder)
    }

    /// Returns the authority with the key in the file `key`, which is made if it does not exist,
    /// also by several processes and threads at once; its root lies in `folder`.
    #[must_use]
    pub fn shared(key: &Path, folder: &Path) -> Self {
        if !key.exists() {
            key.parent().map_or(Ok(()), fs::create_dir_all).expect("a folder of the test's");
            static NEXT: AtomicU64 = AtomicU64::new(0);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let mine = key.with_extension(format!("{}-{number}", std::process::id()));
            let new = KeyPair::generate().expect("randomness");
            fs::write(&mine, new.serialize_pem()).expect("a folder of the test's");
            // Fails if another one was faster.
            let _ = fs::hard_link(&mine, key);
            fs::remove_file(&mine).expect("a folder of the test's");
        }
        let key = fs::read_to_string(key).expect("a key");
        Self::with(KeyPair::from_pem(&key).expect("a key"), folder)
    }

    fn with(key: KeyPair, folder: &Path) -> Self {
        let params = root(&key);
        let root = params.self_signed(&key).expect("a certificate");
        fs::write(folder.join(ROOT), root.pem()).expect("a folder of the test's");
        Self { folder: folder.into(), issuer: Issuer::new(params, key) }
    }

    /// The PEM file of its certificate.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.folder.join(ROOT)
    }

    /// Issues a certificate for names, which are DNS names, IP addresses or URIs.
    #[must_use]
    pub fn issue(&self, names: &[&str], valid: Valid) -> Issued {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let file = format!("issued-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let key = KeyPair::generate().expect("randomness");
        let uri = |name: &&str| name.contains("://");
        let others: Vec<String> =
            names.iter().filter(|name| !uri(name)).map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(others).expect("names");
        for name in names.iter().filter(|name| uri(name)) {
            params.subject_alt_names.push(SanType::URI((*name).try_into().expect("ASCII")));
        }
        match valid {
            Valid::Now => {}
            Valid::Before => params.not_after = date_time_ymd(2001, 1, 1),
            Valid::Later => params.not_before = date_time_ymd(3000, 1, 1),
        }
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let issued = Issued {
            chain: self.folder.join(format!("{file}.pem")),
            key: self.folder.join(format!("{file}.key")),
        };
        fs::write(&issued.chain, certificate.pem()).expect("a folder of the test's");
        fs::write(&issued.key, key.serialize_pem()).expect("a folder of the test's");
        issued
    }
}

/// Returns the parameters of an authority's certificate, with a name derived from its key.
fn root(key: &KeyPair) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    let own: String =
        key.public_key_raw().iter().rev().take(8).map(|byte| format!("{byte:02x}")).collect();
    params.distinguished_name.push(DnType::CommonName, format!("tests {own}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_want_the_same_authority_at_once_all_get_it() {
        let own = std::env::temp_dir().join(format!("breezeway-authority-{}", std::process::id()));
        for round in 0..20 {
            let folder = own.join(round.to_string());
            fs::create_dir_all(&folder).unwrap();
            let key = folder.join("authority.key");
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| Authority::shared(&key, &folder));
                }
            });
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "the key and the root");
        }
        fs::remove_dir_all(&own).unwrap();
    }
}
