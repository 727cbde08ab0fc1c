//! Std sockets of both kinds.

use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// `unix:/path` or `tcp:host:port`.
#[derive(Clone, Debug, PartialEq)]
pub enum Address {
    /// The path of a unix stream socket.
    Unix(PathBuf),
    /// Host and port.
    Tcp(String),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("unix", path)) if !path.is_empty() => Ok(Self::Unix(path.into())),
            Some(("tcp", name)) if name.contains(':') => Ok(Self::Tcp(name.to_owned())),
            _ => Err("it is not an address: write unix:/path/to.sock or tcp:host:port".to_owned()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
            Self::Tcp(name) => write!(formatter, "tcp:{name}"),
        }
    }
}

/// A connection of either kind.
pub(super) trait Stream: Read + Write + AsFd {}
impl<S: Read + Write + AsFd> Stream for S {}

impl Address {
    pub(super) fn connect(&self) -> io::Result<Box<dyn Stream>> {
        match self {
            Self::Unix(path) => Ok(Box::new(UnixStream::connect(path)?)),
            Self::Tcp(name) => without_delay(TcpStream::connect(name)?),
        }
    }

    pub(super) fn listen(&self) -> io::Result<Listener> {
        match self {
            Self::Unix(path) => {
                remove_socket(path)?;
                Ok(Listener::Unix(UnixListener::bind(path)?, path.clone()))
            }
            Self::Tcp(name) => Ok(Listener::Tcp(TcpListener::bind(name)?)),
        }
    }
}

/// Removes the socket file of another run; any other file stays.
fn remove_socket(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => fs::remove_file(path),
        _ => Ok(()),
    }
}

fn without_delay(stream: TcpStream) -> io::Result<Box<dyn Stream>> {
    stream.set_nodelay(true)?;
    Ok(Box::new(stream))
}

#[derive(Debug)]
pub(super) enum Listener {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

impl Listener {
    /// Returns the address at which it listens, with the port that the kernel chose.
    pub(super) fn address(&self) -> io::Result<String> {
        match self {
            Self::Unix(_, path) => Ok(format!("unix:{}", path.display())),
            Self::Tcp(listener) => Ok(format!("tcp:{}", listener.local_addr()?)),
        }
    }

    pub(super) fn accept(&self) -> io::Result<Box<dyn Stream>> {
        match self {
            Self::Unix(listener, _) => Ok(Box::new(listener.accept()?.0)),
            Self::Tcp(listener) => without_delay(listener.accept()?.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_its_kind() {
        assert_eq!("unix:/a:b".parse(), Ok(Address::Unix("/a:b".into())));
        assert_eq!("tcp:127.0.0.1:0".parse(), Ok(Address::Tcp("127.0.0.1:0".to_owned())));
        for text in ["", "unix:", "tcp:host", "shm:/a", "/a"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "precious").unwrap();
        assert!(Address::Unix(path.clone()).listen().is_err());
        assert_eq!(fs::read(&path).unwrap(), b"precious");
    }

    #[test]
    fn a_socket_that_was_left_behind_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let address = Address::Unix(folder.path().join("socket"));
        drop(address.listen().unwrap());
        address.listen().unwrap();
    }
}
