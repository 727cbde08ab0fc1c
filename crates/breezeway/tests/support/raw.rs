//! A connection without Breezeway, for peers that speak by hand.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use breezeway::{Address, Place};

/// A connected stream socket of either kind.
#[derive(Debug)]
pub(crate) enum Raw {
    Unix(UnixStream),
    Tcp(TcpStream),
}

use Raw::{Tcp, Unix};

impl Raw {
    /// Connects to the first place of an address.
    #[track_caller]
    pub(crate) fn connect(address: &Address) -> Self {
        Self::try_connect(address).expect("somebody listens")
    }

    pub(crate) fn try_connect(address: &Address) -> io::Result<Self> {
        match &address.places()[0] {
            Place::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port))?;
                stream.set_nodelay(true)?;
                Ok(Tcp(stream))
            }
            place => UnixStream::connect(place.path().expect("a file")).map(Unix),
        }
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match self {
            Unix(stream) => stream.shutdown(how),
            Tcp(stream) => stream.shutdown(how),
        }
    }

    pub(crate) fn set_read_timeout(&self, timeout: Duration) {
        let outcome = match self {
            Unix(stream) => stream.set_read_timeout(Some(timeout)),
            Tcp(stream) => stream.set_read_timeout(Some(timeout)),
        };
        outcome.expect("a timeout");
    }

    pub(crate) fn set_write_timeout(&self, timeout: Duration) {
        let outcome = match self {
            Unix(stream) => stream.set_write_timeout(Some(timeout)),
            Tcp(stream) => stream.set_write_timeout(Some(timeout)),
        };
        outcome.expect("a timeout");
    }
}

impl Read for Raw {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Write for Raw {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for &Raw {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Unix(stream) => (&*stream).read(buffer),
            Tcp(stream) => (&*stream).read(buffer),
        }
    }
}

impl Write for &Raw {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Unix(stream) => (&*stream).write(bytes),
            Tcp(stream) => (&*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Raw {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Unix(stream) => stream.as_fd(),
            Tcp(stream) => stream.as_fd(),
        }
    }
}

impl From<Raw> for OwnedFd {
    fn from(raw: Raw) -> Self {
        match raw {
            Unix(stream) => stream.into(),
            Tcp(stream) => stream.into(),
        }
    }
}

/// A listening socket of either kind.
#[derive(Debug)]
pub(crate) enum RawListener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl RawListener {
    /// Listens at the first place of an address.
    #[track_caller]
    pub(crate) fn bind(address: &Address) -> Self {
        match &address.places()[0] {
            Place::Tcp { host, port } => {
                Self::Tcp(TcpListener::bind((host.as_str(), *port)).expect("a free port"))
            }
            place => Self::Unix(UnixListener::bind(place.path().expect("a file")).expect("a path")),
        }
    }

    pub(crate) fn accept(&self) -> io::Result<Raw> {
        match self {
            Self::Unix(listener) => listener.accept().map(|(stream, _)| Unix(stream)),
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                Ok(Tcp(stream))
            }
        }
    }
}
