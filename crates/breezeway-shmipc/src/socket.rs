//! Connecting to a server's socket without waiting for a server that hangs.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::time::Duration;

use breezeway_os::socket_file;

use crate::address::Address;
use crate::error::ConnectError;

/// A connected socket, after at most `timeout`.
pub(crate) fn connect_socket(
    address: &Address,
    timeout: Duration,
) -> Result<OwnedFd, ConnectError> {
    let connected = match address {
        Address::Unix(path) => socket_file::connect(path, timeout),
        Address::Tcp(socket) => connect_tcp(socket, timeout),
    };
    connected.map_err(|source| ConnectError::Connect { address: address.to_string(), source })
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
