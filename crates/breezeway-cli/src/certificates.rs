//! Certificates for tls: addresses.

use std::path::PathBuf;

use breezeway::{Carrier, Place, Tls};

use crate::Failure;

/// What either side of a tls: address can be told.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Certificates {
    /// This side's certificate, for tls: addresses: a PEM file, in which those between it and a
    /// root follow. A server needs one; a client shows it to a server that asks
    #[arg(long, value_name = "FILE", env = "BREEZEWAY_CERTIFICATE")]
    certificate: Option<PathBuf>,
    /// The private key of --certificate: a PEM file, not encrypted, which may be the same one
    #[arg(long, value_name = "FILE", env = "BREEZEWAY_KEY")]
    key: Option<PathBuf>,
    /// Whom to trust to issue the other side's certificate, for tls: addresses: a PEM file with the
    /// certificates of authorities. A client needs them; a server with them serves only clients
    /// whose certificate one of them has issued
    #[arg(long, value_name = "FILE", env = "BREEZEWAY_ROOTS")]
    roots: Option<PathBuf>,
}

impl Certificates {
    /// What a server at these places goes by.
    pub(crate) fn install_for_server(&self, places: &[Place]) -> Result<(), Failure> {
        self.install(
            places,
            self.certificate.is_some(),
            "a server at a tls: address needs \
            --certificate and --key, its own certificate",
        )
    }

    /// What a client of these places goes by.
    pub(crate) fn install_for_client(&self, places: &[Place]) -> Result<(), Failure> {
        self.install(
            places,
            self.roots.is_some(),
            "a client of a tls: address needs --roots, whom \
            to trust to issue the server's certificate",
        )
    }

    /// From here on all sessions and connections of the command go by them.
    fn install(&self, places: &[Place], has_all: bool, lacks: &str) -> Result<(), Failure> {
        if !places.iter().any(|place| place.carrier() == Carrier::Tls) {
            return self.refuse();
        }
        let mut tls = Tls::new();
        match (&self.certificate, &self.key) {
            (Some(chain), Some(key)) => tls = tls.certificate(chain, key)?,
            (None, None) => {}
            (Some(_), None) => return Err("--certificate goes with --key, its private key".into()),
            (None, Some(_)) => return Err("--key goes with --certificate, whose key it is".into()),
        }
        if let Some(roots) = &self.roots {
            tls = tls.roots(roots)?;
        }
        if !has_all {
            return Err(lacks.into());
        }
        tls.install_default();
        Ok(())
    }

    /// An error if something was given: whoever gives it believes that TLS is spoken.
    fn refuse(&self) -> Result<(), Failure> {
        let given =
            [(&self.certificate, "certificate"), (&self.key, "key"), (&self.roots, "roots")];
        let Some((_, name)) = given.into_iter().find(|(file, _)| file.is_some()) else {
            return Ok(());
        };
        let variable = name.to_uppercase();
        Err(format!(
            "--{name} goes with a tls: address only, and others are not encrypted: name one, or \
             leave it out, also in the environment (BREEZEWAY_{variable})"
        )
        .into())
    }
}
