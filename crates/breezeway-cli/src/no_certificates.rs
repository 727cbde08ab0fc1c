//! The place of `certificates` in a build without the feature `tls`: sessions at a tls: address
//! fail with an error that names the feature.

use breezeway::Place;

use crate::failure::Failure;

/// No options.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Certificates {}

impl Certificates {
    pub(crate) fn install_for_server(&self, _places: &[Place]) -> Result<(), Failure> {
        Ok(())
    }

    pub(crate) fn install_for_client(&self, _places: &[Place]) -> Result<(), Failure> {
        Ok(())
    }
}
