//! Connecting to a server's socket without waiting for a server that hangs.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::address::Address;
use crate::error::ConnectError;

/// Pause between two tries while the server's backlog is full, which nothing tells the end of.
const BACKLOG_PAUSE: Duration = Duration::from_millis(2);

/// A connected socket, after at most `timeout`.
pub(crate) fn connect_socket(
    address: &Address,
    timeout: Duration,
) -> Result<OwnedFd, ConnectError> {
    let connected = match address {
        Address::Unix(path) => connect_unix(path, timeout),
        Address::Tcp(socket) => connect_tcp(socket, timeout),
    };
    connected.map_err(|source| ConnectError::Connect { address: address.to_string(), source })
}

/// `connect(2)` on a unix socket.
pub(crate) fn connect_unix(path: &Path, timeout: Duration) -> io::Result<OwnedFd> {
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let deadline = Instant::now() + timeout;
    loop {
        match connect(&socket, &address) {
            Ok(()) => break,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if Instant::now() < deadline => std::thread::sleep(BACKLOG_PAUSE),
            Err(Errno::AGAIN) => return Err(io::ErrorKind::TimedOut.into()),
            Err(errno) => return Err(errno.into()),
        }
    }
    // From here on each read says itself whether it may block.
    ioctl_fionbio(&socket, false)?;
    Ok(socket)
}

fn connect_tcp(socket: &str, timeout: Duration) -> io::Result<OwnedFd> {
    let mut last = io::ErrorKind::AddrNotAvailable.into();
    for address in socket.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream.into());
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}
