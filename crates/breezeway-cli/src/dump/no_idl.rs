//! The place of `idl` in a build without the feature `thrift`: there is never a .thrift file.

use breezeway_shm::Entry;

use crate::failure::Failure;

/// No options.
#[derive(Debug, clap::Args)]
pub(super) struct IdlArgs {}

impl IdlArgs {
    pub(super) fn read(&self) -> Result<Option<Idl>, Failure> {
        Ok(None)
    }
}

/// Has no values.
pub(super) enum Idl {}

impl Idl {
    pub(super) fn name(&self, _method: u32) -> Option<&str> {
        match *self {}
    }

    pub(super) fn decoded(
        &self,
        _entry: &Entry,
        _message: &[u8],
        _method: Option<u32>,
    ) -> Option<String> {
        match *self {}
    }
}
