//! Certificates for tls: addresses.

use std::path::PathBuf;

use breezeway::{Carrier, Place, Tls};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::failure::Failure;

/// Options of either side of a tls: address.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "TLS options")]
struct Files {
    /// This side's certificate, for tls: addresses: a PEM file, with the intermediate ones behind
    /// it. A server needs one; a client shows it to a server that asks
    #[arg(long, value_name = "FILE", env = "BREEZEWAY_CERTIFICATE")]
    certificate: Option<PathBuf>,
    /// The private key of --certificate: a PEM file, not encrypted, which may be the same one
    #[arg(long, value_name = "FILE", env = "BREEZEWAY_KEY")]
    key: Option<PathBuf>,
    /// Authorities that may issue the peer's certificate, for tls: addresses: a PEM file with the
    /// certificates of authorities. A client needs them; a server with them serves only clients
    /// whose certificate one of them has issued
    #[arg(long, value_name = "FILE", env = "BREEZEWAY_ROOTS")]
    roots: Option<PathBuf>,
}

/// Certificates of either side of a tls: address.
#[derive(Clone, Debug)]
pub(crate) struct Certificates {
    files: Files,
    /// The first that the command line names itself: the environment is of many commands.
    flag: Option<&'static str>,
}

impl Args for Certificates {
    fn augment_args(command: Command) -> Command {
        Files::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Files::augment_args_for_update(command)
    }
}

impl FromArgMatches for Certificates {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_flag = |name: &&str| matches.value_source(name) == Some(ValueSource::CommandLine);
        let flag = ["certificate", "key", "roots"].into_iter().find(is_flag);
        Ok(Self { files: Files::from_arg_matches(matches)?, flag })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Certificates {
    /// Installs the certificates of a server at these places.
    pub(crate) fn install_for_server(&self, places: &[Place]) -> Result<(), Failure> {
        self.install(
            places,
            self.files.certificate.is_some(),
            "a server at a tls: address needs \
            --certificate and --key, its own certificate",
        )
    }

    /// Installs the certificates of a client of these places.
    pub(crate) fn install_for_client(&self, places: &[Place]) -> Result<(), Failure> {
        self.install(
            places,
            self.files.roots.is_some(),
            "a client of a tls: address needs --roots, whom \
            to trust to issue the server's certificate",
        )
    }

    /// All sessions and connections of the command use them from here on.
    fn install(&self, places: &[Place], has_all: bool, lacks: &str) -> Result<(), Failure> {
        if let Some(flag) = self.flag {
            check(places, flag)?;
        }
        if !has(places, Carrier::Tls) {
            return Ok(());
        }
        let Files { certificate, key, roots } = &self.files;
        let mut tls = Tls::new();
        match (certificate, key) {
            (Some(chain), Some(key)) => tls = tls.certificate(chain, key)?,
            (None, None) => {}
            (Some(_), None) => return Err("--certificate goes with --key, its private key".into()),
            (None, Some(_)) => return Err("--key goes with --certificate, its certificate".into()),
        }
        if let Some(roots) = roots {
            tls = tls.roots(roots)?;
        }
        if !has_all {
            return Err(lacks.into());
        }
        tls.install_default();
        Ok(())
    }
}

fn has(places: &[Place], carrier: Carrier) -> bool {
    places.iter().any(|place| place.carrier() == carrier)
}

/// Checks that everything that leaves this host is encrypted, as a given certificate suggests.
fn check(places: &[Place], flag: &str) -> Result<(), Failure> {
    if !has(places, Carrier::Tls) {
        return Err(format!(
            "--{flag} goes with a tls: address only, and others are not encrypted: name one, or \
             leave it out"
        )
        .into());
    }
    if has(places, Carrier::Tcp) {
        return Err(format!(
            "--{flag} goes with tls:, and what travels by the tcp: place of this address is not \
             encrypted: leave one of them out"
        )
        .into());
    }
    Ok(())
}
