//! The targets of `--addr`: places of Breezeway, or a shmipc server.

use std::fmt;
use std::str::FromStr;

use breezeway::{Address, Place};

use crate::failure::Failure;

/// Address to serve at or to call.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// One place or several.
    Breezeway(Address),
    /// A socket on which shmipc is negotiated, with peers that are trusted.
    Shmipc(breezeway_shmipc::Address),
}

impl Target {
    /// Returns the places of Breezeway; none for a shmipc server.
    pub(crate) fn places(&self) -> &[Place] {
        match self {
            Self::Breezeway(address) => address.places(),
            Self::Shmipc(_) => &[],
        }
    }
}

impl FromStr for Target {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        if text.starts_with("shmipc:") {
            return Ok(Self::Shmipc(text.parse()?));
        }
        Ok(Self::Breezeway(text.parse()?))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Breezeway(address) => address.fmt(formatter),
            Self::Shmipc(address) => address.fmt(formatter),
        }
    }
}
