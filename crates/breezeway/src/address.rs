//! One string says where a server is, everywhere.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

/// The longest path of a unix socket, without its terminating zero (`sun_path`, unix(7)).
const LONGEST_PATH: usize = 107;

/// Where a server listens: `shm:/path/to.sock`.
///
/// The path is a unix stream socket on which shared memory is negotiated. Its file permissions, and the server's policy, decide who may connect;
/// a bind-mounted socket is all that two containers need.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Address {
    /// Shared memory, negotiated on the unix socket at this path.
    Shm(PathBuf),
}

impl Address {
    /// The path of the socket.
    pub fn path(&self) -> &Path {
        match self {
            Self::Shm(path) => path,
        }
    }
}

/// Why a string is no address.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressError {
    /// There is no scheme that this version knows.
    #[error("'{0}' is no address: write shm:/path/to.sock")]
    UnknownScheme(String),
    /// The scheme is reserved for a carrier that this version does not have.
    #[error("{0}: addresses are not supported by this version; use shm:/path/to.sock")]
    UnsupportedScheme(&'static str),
    /// There is no path behind the scheme.
    #[error("'{0}' lacks a path: write shm:/path/to.sock")]
    NoPath(String),
    /// The path does not fit into a socket address.
    #[error("the socket path is {0} bytes long; a unix socket's path has at most {LONGEST_PATH}")]
    PathTooLong(usize),
    /// The path has a zero byte.
    #[error("a socket path cannot contain a zero byte")]
    ZeroByte,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        for scheme in ["unix", "tcp", "shmipc"] {
            if text.strip_prefix(scheme).is_some_and(|rest| rest.starts_with(':')) {
                return Err(AddressError::UnsupportedScheme(scheme));
            }
        }
        let path = text
            .strip_prefix("shm:")
            .ok_or_else(|| AddressError::UnknownScheme(text.escape_debug().to_string()))?;
        if path.is_empty() {
            return Err(AddressError::NoPath(text.to_owned()));
        }
        if path.len() > LONGEST_PATH {
            return Err(AddressError::PathTooLong(path.len()));
        }
        if path.contains('\0') {
            return Err(AddressError::ZeroByte);
        }
        Ok(Self::Shm(path.into()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "shm:{}", self.path().display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back_as_written() {
        for text in ["shm:/run/echo.sock", "shm:relative.sock", "shm:/with space:and colon"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        let long = format!("shm:/{}", "x".repeat(107));
        for (text, expected) in [
            ("", "is no address"),
            ("/run/echo.sock", "is no address"),
            ("SHM:/x", "is no address"),
            ("http://localhost", "is no address"),
            ("shm:", "lacks a path"),
            ("unix:/x", "unix: addresses are not supported"),
            ("tcp:localhost:1", "tcp: addresses are not supported"),
            ("shmipc:/x", "shmipc: addresses are not supported"),
            ("shm:/a\0b", "zero byte"),
            (long.as_str(), "108 bytes long"),
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
