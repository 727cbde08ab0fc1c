//! Addresses: one string names the places of a server, in every language and tool.

use std::convert::Infallible;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use breezeway_os::socket_file::LONGEST_PATH;
use breezeway_proto::printable;
use thiserror::Error;

use crate::carrier::Carrier;

/// The forms of an address, for errors.
const FORMS: &str = "shm:/path/to.sock, unix:/path/to.sock, tcp:host:port or tls:host:port";

/// Location of a server: one place, or several in the order of preference, separated by commas:
/// `shm:/run/a.sock, unix:/run/b.sock, tcp:localhost:7000`.
///
/// Functions that bind or connect take an address or its text.
///
/// A client takes the first place that works; a server listens at all of them. A client tries the
/// next place after any failure, also after refusing a server's certificate: a `tcp:` place behind
/// a `tls:` one is then taken, without encryption.
///
/// Blanks around a place are skipped. A comma belongs to a path unless a scheme follows it
/// (letters and a colon) or nothing does; a path that cannot be written so can be given as a
/// [`Place`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address(Vec<Place>);

/// One place where a server listens, with its carrier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// Shared memory, negotiated on the unix socket at this path. Its file permissions, and the
    /// server's policy, decide which clients may connect. Two containers need only the socket's
    /// folder in common: a mount of the socket file alone is dead after the server's restart, which
    /// makes a new file.
    Shm(PathBuf),
    /// A unix stream socket at this path, which carries the messages themselves.
    Unix(PathBuf),
    /// TCP. Any process that reaches the port may connect unless the server's policy refuses it,
    /// and nothing is encrypted.
    Tcp {
        /// Name or IP address (without brackets).
        host: String,
        /// The port; for 0 a server listens at any free port.
        port: u16,
    },
    /// TLS over TCP: encrypted, and certificates identify both sides. It requires the feature
    /// `tls`, and certificates ([`SessionOptions`](crate::SessionOptions)).
    Tls {
        /// Name or IP address (without brackets). The server's certificate must be valid for it.
        host: String,
        /// The port; for 0 a server listens at any free port.
        port: u16,
    },
}

impl Address {
    /// Creates an address of one place: shared memory, negotiated on the unix socket at `path`.
    pub fn shm(path: impl Into<PathBuf>) -> Self {
        Place::Shm(path.into()).into()
    }

    /// Creates an address of one place: a unix socket at `path`.
    pub fn unix(path: impl Into<PathBuf>) -> Self {
        Place::Unix(path.into()).into()
    }

    /// Returns the places in the order of preference; at least one.
    pub fn places(&self) -> &[Place] {
        &self.0
    }
}

impl Place {
    /// Returns the carrier of this place.
    pub fn carrier(&self) -> Carrier {
        match self {
            Self::Shm(_) => Carrier::Shm,
            Self::Unix(_) => Carrier::Unix,
            Self::Tcp { .. } => Carrier::Tcp,
            Self::Tls { .. } => Carrier::Tls,
        }
    }

    /// Returns the path of the socket file, or None if there is none.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Shm(path) | Self::Unix(path) => Some(path),
            Self::Tcp { .. } | Self::Tls { .. } => None,
        }
    }
}

impl Address {
    /// Converts a function's argument: an address, or its text.
    pub(crate) fn of(
        address: impl TryInto<Self, Error: Into<AddressError>>,
    ) -> Result<Self, AddressError> {
        address.try_into().map_err(Into::into)
    }
}

impl From<&Address> for Address {
    fn from(address: &Address) -> Self {
        address.clone()
    }
}

impl TryFrom<&str> for Address {
    type Error = AddressError;

    fn try_from(text: &str) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl TryFrom<&String> for Address {
    type Error = AddressError;

    fn try_from(text: &String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl TryFrom<String> for Address {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl From<Place> for Address {
    fn from(place: Place) -> Self {
        Self(vec![place])
    }
}

impl From<SocketAddr> for Place {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp { host: address.ip().to_string(), port: address.port() }
    }
}

impl FromIterator<Place> for Address {
    /// Panics if `places` is empty.
    fn from_iter<I: IntoIterator<Item = Place>>(places: I) -> Self {
        let places: Vec<_> = places.into_iter().collect();
        assert!(!places.is_empty(), "an address has at least one place");
        Self(places)
    }
}

/// Error returned when a string is not an address.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressError {
    /// The text begins with no scheme that this version knows.
    #[error("'{0}' is not an address: write {FORMS}")]
    UnknownScheme(String),
    /// The scheme belongs to another protocol.
    #[error("{0} addresses belong to the crate breezeway-shmipc; here, write {FORMS}")]
    UnsupportedScheme(&'static str),
    /// A place before, behind or between commas is empty.
    #[error("'{0}' has a comma without an address on both sides: remove the comma")]
    NothingAtComma(String),
    /// The path behind the scheme is empty.
    #[error("'{0}' lacks a path: write shm:/path/to.sock or unix:/path/to.sock")]
    NoPath(String),
    /// The path is the notation of an abstract socket, which has no permissions.
    #[error(
        "'{0}' names an abstract socket, to which every user may connect, and is not supported; \
         write a path, which for a file of this name begins with ./"
    )]
    Abstract(String),
    /// The path does not fit into a socket address.
    #[error(
        "the socket path is {0} bytes long and {LONGEST_PATH} fit into a socket address; choose a \
         shorter one"
    )]
    PathTooLong(usize),
    /// The path contains a zero byte.
    #[error("'{0}' contains a zero byte, which ends a path; remove it")]
    ZeroByte(String),
    /// The host or the port behind `tcp:` or `tls:` is missing.
    #[error(
        "'{0}' is not a TCP address: write tcp:host:port, with a port in 0..=65535, or \
         tcp:[::1]:port; for TLS likewise behind tls:"
    )]
    NotHostAndPort(String),
}

/// The conversion of an [`Address`] to itself has this error.
impl From<Infallible> for AddressError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let parts = split(text);
        if parts.len() > 1 && parts.contains(&"") {
            return Err(AddressError::NothingAtComma(printable(text)));
        }
        parts.into_iter().map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

/// Splits at each comma that is followed, after further commas, by a scheme, known or not, or by
/// nothing: other commas belong to a path. Returns the parts without the blanks around them.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (comma, _) in text.match_indices(',') {
        let next =
            text[comma..].trim_start_matches(|char: char| char == ',' || char.is_whitespace());
        if next.is_empty() || has_scheme(next) {
            parts.push(text[start..comma].trim());
            start = comma + 1;
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// Returns true if a text begins with a scheme, known or not, and its colon.
fn has_scheme(text: &str) -> bool {
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let fits = |char: char| char.is_ascii_alphanumeric() || "+-.".contains(char);
    scheme.starts_with(|char: char| char.is_ascii_alphabetic()) && scheme.chars().all(fits)
}

impl FromStr for Place {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let unknown = || AddressError::UnknownScheme(printable(text));
        let (scheme, rest) = text.split_once(':').ok_or_else(unknown)?;
        match scheme {
            "shm" => path(text, rest).map(Self::Shm),
            "unix" => path(text, rest).map(Self::Unix),
            "tcp" => host_and_port(rest)
                .map(|(host, port)| Self::Tcp { host, port })
                .ok_or_else(|| AddressError::NotHostAndPort(printable(text))),
            "tls" => host_and_port(rest)
                .map(|(host, port)| Self::Tls { host, port })
                .ok_or_else(|| AddressError::NotHostAndPort(printable(text))),
            "shmipc" => Err(AddressError::UnsupportedScheme("shmipc:")),
            _ => Err(unknown()),
        }
    }
}

fn path(text: &str, path: &str) -> Result<PathBuf, AddressError> {
    let path = path.trim();
    if path.is_empty() {
        return Err(AddressError::NoPath(printable(text)));
    }
    if path.starts_with('@') {
        return Err(AddressError::Abstract(printable(text)));
    }
    if path.contains('\0') {
        return Err(AddressError::ZeroByte(printable(text)));
    }
    if path.len() > LONGEST_PATH {
        return Err(AddressError::PathTooLong(path.len()));
    }
    Ok(path.into())
}

/// Parses `host:port` or `[ipv6]:port`.
fn host_and_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let port = port.parse().ok()?;
    let host = match host.strip_prefix('[') {
        Some(bracketed) => bracketed.strip_suffix(']').filter(|ip| ip.parse::<IpAddr>().is_ok())?,
        None => host,
    };
    let clean = |char: char| !char.is_whitespace() && !char.is_control() && char != '[';
    let bare = host.contains(':') && !text.starts_with('[');
    (!host.is_empty() && !bare && host.chars().all(clean)).then(|| (host.to_owned(), port))
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, place) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(formatter, "{separator}{place}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let carrier = self.carrier();
        match self {
            Self::Shm(path) | Self::Unix(path) => {
                write!(formatter, "{carrier}:{}", path.display())
            }
            Self::Tcp { host, port } | Self::Tls { host, port } if host.contains(':') => {
                write!(formatter, "{carrier}:[{host}]:{port}")
            }
            Self::Tcp { host, port } | Self::Tls { host, port } => {
                write!(formatter, "{carrier}:{host}:{port}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_sign_file_is_addressed_with_dot_prefix() {
        let address: Address = "shm:./@name".parse().unwrap();
        assert_eq!(address, Address::shm("./@name"));
    }

    #[test]
    fn an_address_reads_back_as_written() {
        for text in [
            "shm:/run/echo.sock",
            "shm:relative.sock",
            "shm:/with space:and colon",
            "shm:/with,comma",
            "unix:/run/echo.sock",
            "tcp:localhost:7000",
            "tcp:127.0.0.1:0",
            "tcp:[::1]:65535",
            "tls:localhost:7000",
            "tls:[::1]:7000",
            "shm:/a,unix:/b,tcp:localhost:1",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_list_keeps_its_order_and_each_place_its_carrier() {
        let address: Address = "unix:/a,with comma,shm:/b,tcp:host:1".parse().unwrap();
        let carriers: Vec<_> = address.places().iter().map(Place::carrier).collect();
        assert_eq!(carriers, [Carrier::Unix, Carrier::Shm, Carrier::Tcp]);
        assert_eq!(address.places()[0], Place::Unix("/a,with comma".into()));
    }

    #[test]
    fn blanks_around_a_place_do_not_belong_to_it() {
        for text in ["shm:/a,unix:/b c", "shm:/a, unix:/b c", " shm: /a\t,\n unix:/b c "] {
            let address: Address = text.parse().unwrap();
            let expected = [Place::Shm("/a".into()), Place::Unix("/b c".into())];
            assert_eq!(address.places(), expected, "{text}");
        }
    }

    #[test]
    fn a_comma_that_no_scheme_follows_belongs_to_the_path() {
        for path in ["/a,b", "/a, b", "/a,,b", "/a,/b", "/a,b/c:d"] {
            let address: Address = format!("unix:/x,shm:{path}").parse().unwrap();
            assert_eq!(address.places()[1], Place::Shm(path.into()));
        }
    }

    #[test]
    fn invalid_address_is_refused_with_the_reason() {
        let long = format!("shm:/{}", "x".repeat(107));
        for (text, expected) in [
            ("", "is not an address"),
            ("/run/echo.sock", "is not an address"),
            ("SHM:/x", "is not an address"),
            ("http://localhost", "is not an address"),
            ("shm:", "lacks a path"),
            ("unix:", "lacks a path"),
            ("shm:/a,unix:", "lacks a path"),
            ("shm:/a,tcp:b", "is not a TCP address"),
            ("tcp:localhost", "is not a TCP address"),
            ("tcp::1", "is not a TCP address"),
            ("tcp:::1:1", "is not a TCP address"),
            ("tcp:[::1:1", "is not a TCP address"),
            ("tcp:[host]:1", "is not a TCP address"),
            ("tcp:host:65536", "is not a TCP address"),
            ("tcp:ho st:1", "is not a TCP address"),
            ("shmipc:/x", "shmipc: addresses belong to"),
            ("shm:/a\0b", "'shm:/a\\0b' contains a zero byte"),
            ("shm:  ", "lacks a path"),
            ("shm:/a,", "'shm:/a,' has a comma without an address"),
            ("shm:/a , ", "has a comma without an address"),
            (",shm:/a", "has a comma without an address"),
            ("shm:/a,,unix:/b", "has a comma without an address"),
            (",", "has a comma without an address"),
            ("shm:/a, unxi:/b", "'unxi:/b' is not an address"),
            ("shm:/a,tls:host", "'tls:host' is not a TCP address"),
            ("shm:/a,quic:host:1", "'quic:host:1' is not an address"),
            ("shm:@name", "'shm:@name' names an abstract socket"),
            ("shm:/a, unix:@name", "'unix:@name' names an abstract socket"),
            ("http://it's\x1b[2J", "'http://it's\\u{1b}[2J' is not an address"),
            (long.as_str(), "108 bytes long"),
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
