//! Addresses of shmipc servers.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::str::FromStr;

use rustix::net::{SocketAddrUnix, getsockname};
use thiserror::Error;

/// The longest path of a unix socket, without its terminating zero (`sun_path`, unix(7)).
const LONGEST_PATH: usize = 107;

/// Address of a shmipc server: `shmipc:/path/to.sock`, or `shmipc:tcp:host:port`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A unix stream socket at this path. Memfds can only be passed over a unix socket.
    Unix(PathBuf),
    /// A unix stream socket of this name in the abstract namespace, written `shmipc:@name`. It has
    /// no permission bits: only the server's [`Trust`](crate::Trust) restricts clients.
    Abstract(String),
    /// A TCP socket at `host:port`; memory is shared in files, so both processes must see the same
    /// file system.
    Tcp(String),
}

/// Error for a string that is not a shmipc address.
#[derive(Clone, Error, PartialEq, Eq)]
#[error(
    "'{0}' is not a shmipc address: write shmipc:/path/to.sock or shmipc:@name (at most 107 \
     bytes), or shmipc:tcp:host:port"
)]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    /// Parses an address, with or without the scheme `shmipc:`.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let target = text.strip_prefix("shmipc:").unwrap_or(text);
        let refused = || AddressError(text.escape_debug().to_string());
        if let Some(socket) = target.strip_prefix("tcp:") {
            let (host, port) = socket.rsplit_once(':').ok_or_else(refused)?;
            let sound = !host.is_empty() && port.parse::<u16>().is_ok();
            return if sound { Ok(Self::Tcp(socket.to_owned())) } else { Err(refused()) };
        }
        if let Some(name) = target.strip_prefix('@') {
            let sound = !name.is_empty() && name.len() <= LONGEST_PATH;
            return if sound { Ok(Self::Abstract(name.to_owned())) } else { Err(refused()) };
        }
        if target.is_empty() || target.len() > LONGEST_PATH || target.contains('\0') {
            return Err(refused());
        }
        Ok(Self::Unix(target.into()))
    }
}

impl Address {
    /// Returns true if peers at this address have users and can pass descriptors.
    pub(crate) fn is_unix(&self) -> bool {
        !matches!(self, Self::Tcp(_))
    }

    /// Returns the address of a socket that was bound elsewhere.
    pub(crate) fn of_socket(socket: impl AsFd) -> io::Result<Self> {
        let address = getsockname(socket)?;
        if let Ok(address) = SocketAddr::try_from(address.clone()) {
            return Ok(Self::Tcp(address.to_string()));
        }
        let address = SocketAddrUnix::try_from(address)?;
        if let Some(path) = address.path_bytes() {
            return Ok(Self::Unix(OsStr::from_bytes(path).into()));
        }
        let name = address.abstract_name().unwrap_or_default();
        Ok(Self::Abstract(String::from_utf8_lossy(name).into_owned()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(formatter, "shmipc:{}", path.display()),
            Self::Abstract(name) => write!(formatter, "shmipc:@{name}"),
            Self::Tcp(socket) => write!(formatter, "shmipc:tcp:{socket}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back_as_written() {
        for text in [
            "shmipc:/run/echo.sock",
            "shmipc:relative.sock",
            "shmipc:@name",
            "shmipc:tcp:localhost:80",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!("/run/x".parse(), Ok(Address::Unix("/run/x".into())));
    }

    #[test]
    fn invalid_address_is_refused() {
        let long = format!("shmipc:/{}", "x".repeat(107));
        for text in
            ["", "shmipc:", "shmipc:@", "shmipc:tcp:x", "tcp:host:port", "tcp::1", "/a\0b", &long]
        {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
