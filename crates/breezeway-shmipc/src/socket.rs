//! Connecting to a server's socket with a timeout.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use breezeway_os::{Deadline, connect};

use crate::address::Address;
use crate::error::ConnectError;

/// Returns a connected socket, after at most `timeout`.
pub(crate) fn connect_socket(
    address: &Address,
    timeout: Duration,
) -> Result<OwnedFd, ConnectError> {
    let deadline = Deadline::after(timeout);
    let connected = match address {
        Address::Unix(path) => connect::unix(path, deadline).map_err(with_remedy),
        Address::Abstract(name) => connect::abstract_unix(name.as_bytes(), deadline),
        Address::Tcp(socket) => connect_tcp(socket, deadline),
    };
    connected.map_err(|cause| ConnectError::Connect { address: address.to_string(), cause })
}

/// Adds the remedy to the error for a socket file on which no server listens.
fn with_remedy(error: io::Error) -> io::Error {
    match error.kind() {
        kind @ io::ErrorKind::ConnectionRefused => io::Error::new(
            kind,
            "the socket file is a left-over of a server that ended; start the server again, or, \
             if the file alone is mounted here, mount its folder",
        ),
        _ => error,
    }
}

fn connect_tcp(socket: &str, deadline: Deadline) -> io::Result<OwnedFd> {
    if let Ok(address) = socket.parse() {
        return connect::tcp(&[address], deadline);
    }
    let (host, port) = socket.rsplit_once(':').ok_or(io::ErrorKind::InvalidInput)?;
    let port = port.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
    connect::tcp(&connect::resolve(host, port, deadline)?, deadline)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unserved_file_names_the_mount_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let refused = connect_socket(&Address::Unix(path), Duration::from_secs(1)).unwrap_err();
        assert!(refused.to_string().contains("mount its folder"), "{refused}");
    }
}
