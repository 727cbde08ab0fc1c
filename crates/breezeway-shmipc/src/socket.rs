//! Connecting to a server's socket without waiting for a server that hangs.

use std::io;
use std::net::ToSocketAddrs;
use std::os::fd::OwnedFd;
use std::time::Duration;

use breezeway_os::{Deadline, connect};

use crate::address::Address;
use crate::error::ConnectError;

/// A connected socket, after at most `timeout`.
pub(crate) fn connect_socket(
    address: &Address,
    timeout: Duration,
) -> Result<OwnedFd, ConnectError> {
    let deadline = Deadline::after(timeout);
    let connected = match address {
        Address::Unix(path) => connect::unix(path, deadline),
        Address::Abstract(name) => connect::abstract_unix(name.as_bytes(), deadline),
        Address::Tcp(socket) => connect_tcp(socket, deadline),
    };
    connected.map_err(|cause| ConnectError::Connect { address: address.to_string(), cause })
}

fn connect_tcp(socket: &str, deadline: Deadline) -> io::Result<OwnedFd> {
    let addresses: Vec<_> = socket.to_socket_addrs()?.collect();
    connect::tcp(&addresses, deadline)
}
