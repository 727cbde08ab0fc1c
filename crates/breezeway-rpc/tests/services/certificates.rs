//! An authority of the tests, and what it issues.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tempfile::TempDir;

const ROOT: &str = "root.pem";

/// Issues certificates, as files in a folder that is removed with it.
pub(crate) struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
    issued: Cell<usize>,
}

/// The PEM files of a certificate and its key.
pub(crate) struct Issued {
    pub(crate) chain: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        // A name of its own: the issuer of a certificate is found by it.
        let name = folder.path().display().to_string();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        fs::write(folder.path().join(ROOT), params.self_signed(&key).unwrap().pem()).unwrap();
        Self { folder, issuer: Issuer::new(params, key), issued: Cell::new(0) }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join(ROOT)
    }

    /// For a DNS name or an IP address.
    pub(crate) fn issue(&self, name: &str) -> Issued {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let number = self.issued.replace(self.issued.get() + 1);
        let write = |ending: &str, text: String| {
            let path = Path::join(self.folder.path(), format!("{number}.{ending}"));
            fs::write(&path, text).unwrap();
            path
        };
        Issued { chain: write("pem", certificate.pem()), key: write("key", key.serialize_pem()) }
    }
}
