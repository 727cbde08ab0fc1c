//! A stream socket of either kind, for peers that write protocol bytes by hand on all of them.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

/// A connected stream socket of either kind.
#[derive(Debug)]
pub enum Connection {
    /// A unix socket.
    Unix(UnixStream),
    /// A TCP connection.
    Tcp(TcpStream),
}

use Connection::{Tcp, Unix};

impl Connection {
    /// Connects to the server at a socket file.
    pub fn unix(path: &Path) -> io::Result<Self> {
        UnixStream::connect(path).map(Unix)
    }

    /// Connects over TCP, without Nagle's delay.
    pub fn tcp(host: &str, port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect((host, port))?;
        stream.set_nodelay(true)?;
        Ok(Tcp(stream))
    }

    /// Shuts down one direction or both.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match self {
            Unix(stream) => stream.shutdown(how),
            Tcp(stream) => stream.shutdown(how),
        }
    }

    /// Lets reads fail that wait longer.
    pub fn set_read_timeout(&self, timeout: Duration) {
        let outcome = match self {
            Unix(stream) => stream.set_read_timeout(Some(timeout)),
            Tcp(stream) => stream.set_read_timeout(Some(timeout)),
        };
        outcome.expect("a timeout");
    }

    /// Lets writes fail that wait longer.
    pub fn set_write_timeout(&self, timeout: Duration) {
        let outcome = match self {
            Unix(stream) => stream.set_write_timeout(Some(timeout)),
            Tcp(stream) => stream.set_write_timeout(Some(timeout)),
        };
        outcome.expect("a timeout");
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for &Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Unix(stream) => (&*stream).read(buffer),
            Tcp(stream) => (&*stream).read(buffer),
        }
    }
}

impl Write for &Connection {
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

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Unix(stream) => stream.as_fd(),
            Tcp(stream) => stream.as_fd(),
        }
    }
}

impl From<Connection> for OwnedFd {
    fn from(raw: Connection) -> Self {
        match raw {
            Unix(stream) => stream.into(),
            Tcp(stream) => stream.into(),
        }
    }
}

/// A listening socket of either kind.
#[derive(Debug)]
pub enum Listener {
    /// At a socket file.
    Unix(UnixListener),
    /// On a TCP port.
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at a new socket file.
    pub fn unix(path: &Path) -> io::Result<Self> {
        UnixListener::bind(path).map(Self::Unix)
    }

    /// Listens on a TCP port.
    pub fn tcp(host: &str, port: u16) -> io::Result<Self> {
        TcpListener::bind((host, port)).map(Self::Tcp)
    }

    /// Waits for a connection.
    pub fn accept(&self) -> io::Result<Connection> {
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
