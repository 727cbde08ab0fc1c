//! Where a shmipc server listens.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

/// The longest path of a unix socket, without its terminating zero (`sun_path`, unix(7)).
const LONGEST_PATH: usize = 107;

/// Where a shmipc server listens: `shmipc:/path/to.sock`, or `shmipc:tcp:host:port`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A unix stream socket at this path. Memfds can only be handed over here.
    Unix(PathBuf),
    /// A TCP socket at `host:port`; memory is shared in files, so both processes must see the same
    /// file system.
    Tcp(String),
}

/// Why a string is no shmipc address.
#[derive(Clone, Error, PartialEq, Eq)]
#[error(
    "'{0}' is no shmipc address: write shmipc:/path/to.sock (at most 107 bytes) or \
     shmipc:tcp:host:port"
)]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    /// With or without the scheme `shmipc:`.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let target = text.strip_prefix("shmipc:").unwrap_or(text);
        let refused = || AddressError(text.escape_debug().to_string());
        if let Some(socket) = target.strip_prefix("tcp:") {
            let (host, port) = socket.rsplit_once(':').ok_or_else(refused)?;
            let sound = !host.is_empty() && port.parse::<u16>().is_ok();
            return if sound { Ok(Self::Tcp(socket.to_owned())) } else { Err(refused()) };
        }
        if target.is_empty() || target.len() > LONGEST_PATH || target.contains('\0') {
            return Err(refused());
        }
        Ok(Self::Unix(target.into()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(formatter, "shmipc:{}", path.display()),
            Self::Tcp(socket) => write!(formatter, "shmipc:tcp:{socket}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back_as_written() {
        for text in ["shmipc:/run/echo.sock", "shmipc:relative.sock", "shmipc:tcp:localhost:80"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!("/run/x".parse(), Ok(Address::Unix("/run/x".into())));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let long = format!("shmipc:/{}", "x".repeat(107));
        for text in ["", "shmipc:", "shmipc:tcp:x", "tcp:host:port", "tcp::1", "/a\0b", &long] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
