//! Connecting to a server's socket without waiting for a server that hangs.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use breezeway_os::{Deadline, Peer, connect};
use rustix::io::Errno;
use rustix::net::getpeername;

use crate::address::{Address, Place};
use crate::carrier::tls::{Tls, TlsSocket};
use crate::carrier::wire::Wire;
use crate::carrier::{Carrier, LinkError};
use crate::error::{ConnectError, HandshakeError};
use crate::foreign::ForeignConnection;
use crate::options::SessionOptions;

/// Returns the result of `connect` for the first of an address's places that works, or the errors
/// of all.
pub(crate) fn first_place<T>(
    address: &Address,
    mut connect: impl FnMut(&Place) -> Result<T, ConnectError>,
) -> Result<T, ConnectError> {
    let mut failures = Vec::new();
    for place in address.places() {
        match connect(place) {
            Ok(connected) => return Ok(connected),
            Err(error) => failures.push((place.clone(), error)),
        }
    }
    Err(match failures.len() {
        1 => failures.remove(0).1,
        _ => ConnectError::NoPlace(failures),
    })
}

/// Connects to a place, for `protocol` if the layer below negotiates one (empty: none); returns the
/// socket and the server's credentials. Takes at most the handshake timeout.
pub(crate) fn connect(
    place: &Place,
    options: &SessionOptions,
    protocol: &[u8],
) -> Result<(Wire, Peer), ConnectError> {
    let timeout = options.handshake_timeout;
    let deadline = Deadline::after(timeout);
    match place {
        Place::Shm(path) | Place::Unix(path) => {
            let socket = connect_unix(place, path, timeout)?;
            let peer = peer(&socket, place.carrier()).map_err(HandshakeError::from)?;
            Ok((socket.into(), peer))
        }
        Place::Tcp { host, port } => {
            let socket = connect_tcp(place, (host, *port), (deadline, timeout))?;
            let peer = peer(&socket, place.carrier()).map_err(HandshakeError::from)?;
            Ok((socket.into(), peer))
        }
        Place::Tls { host, port } => {
            let tls = options.own_tls();
            Tls::check_client(tls)?;
            let socket = connect_tcp(place, (host, *port), (deadline, timeout))?;
            let mut peer = peer(&socket, place.carrier()).map_err(HandshakeError::from)?;
            let tls = TlsSocket::connect(socket, host, tls, protocol, deadline);
            let tls = tls.map_err(|error| match error {
                LinkError::DeadlinePassed => HandshakeError::Timeout(timeout),
                error => error.into(),
            })?;
            peer.identity = tls.identity();
            Ok((tls.into(), peer))
        }
    }
}

impl ForeignConnection {
    /// Connects to a server of another protocol, whose name TLS announces (ALPN) if it has one.
    /// Takes at most the handshake timeout.
    pub(crate) fn connect(
        place: &Place,
        options: &SessionOptions,
        protocol: &[u8],
    ) -> Result<Self, ConnectError> {
        let (wire, peer) = connect(place, options, protocol)?;
        Ok(Self::new(wire, Vec::new(), (place.carrier(), peer), Arc::default()))
    }
}

/// Returns the peer of a connected socket.
pub(crate) fn peer(socket: impl AsFd, carrier: Carrier) -> io::Result<Peer> {
    match carrier {
        Carrier::Shm | Carrier::Unix => Peer::of(socket),
        Carrier::Tcp | Carrier::Tls => {
            let remote = getpeername(socket)?.ok_or(Errno::NOTCONN)?;
            Ok(Peer::remote(SocketAddr::try_from(remote)?))
        }
        // No address names this carrier.
        Carrier::Shmipc => Err(io::ErrorKind::Unsupported.into()),
    }
}

fn connect_tcp(
    place: &Place,
    (host, port): (&str, u16),
    (deadline, timeout): (Deadline, Duration),
) -> Result<OwnedFd, ConnectError> {
    let addresses =
        connect::resolve(host, port, deadline).map_err(|error| unresolved(place, error))?;
    connect::tcp(&addresses, deadline).map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => ConnectError::Refused(place.clone()),
        io::ErrorKind::TimedOut => ConnectError::NotAccepting { place: place.clone(), timeout },
        // A server listened, and has ended since.
        io::ErrorKind::ConnectionReset => HandshakeError::Closed.into(),
        io::ErrorKind::AddrNotAvailable if addresses.is_empty() => {
            ConnectError::NoSuchHost { place: place.clone(), source: error }
        }
        _ => ConnectError::Io { place: place.clone(), source: error },
    })
}

/// Returns the error for a host name that was not resolved.
fn unresolved(place: &Place, source: io::Error) -> ConnectError {
    let place = place.clone();
    match source.kind() {
        io::ErrorKind::TimedOut => ConnectError::Io { place, source },
        // Errors of a thread that cannot be started.
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => ConnectError::Thread(source),
        _ => ConnectError::NoSuchHost { place, source },
    }
}

/// Connects to a socket file; an error names what is wrong with it.
fn connect_unix(place: &Place, path: &Path, timeout: Duration) -> Result<OwnedFd, ConnectError> {
    connect::unix(path, Deadline::after(timeout)).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => ConnectError::NoSocket(path.into()),
        io::ErrorKind::ConnectionRefused if !is_socket(path) => {
            ConnectError::NotASocket(path.into())
        }
        io::ErrorKind::ConnectionRefused => ConnectError::NotListening(path.into()),
        io::ErrorKind::PermissionDenied => ConnectError::Permission(path.into()),
        io::ErrorKind::TimedOut => ConnectError::NotAccepting { place: place.clone(), timeout },
        _ => ConnectError::Io { place: place.clone(), source },
    })
}

/// Returns true if `path` is a socket, or a link to one; also if that is unknown.
fn is_socket(path: &Path) -> bool {
    path.metadata().map_or(true, |metadata| metadata.file_type().is_socket())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carrier::tls::SESSION;

    fn try_to(path: &Path) -> Result<OwnedFd, ConnectError> {
        connect_unix(&Place::Shm(path.into()), path, Duration::from_millis(50))
    }

    fn refused(path: &Path) -> ConnectError {
        try_to(path).unwrap_err()
    }

    #[test]
    fn absent_server_and_left_over_socket_are_distinct() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("echo.sock");
        assert!(matches!(refused(&path), ConnectError::NoSocket(_)));
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(matches!(refused(&path), ConnectError::NotListening(_)));
    }

    #[test]
    fn a_plain_file_is_no_server_and_no_left_over_of_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(refused(file.path()), ConnectError::NotASocket(_)));
    }

    #[test]
    fn a_server_that_never_accepts_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("echo.sock");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let mut kept = Vec::new();
        let error = loop {
            match try_to(&path) {
                Ok(socket) => kept.push(socket),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, ConnectError::NotAccepting { .. }), "{error}");
    }

    #[test]
    fn refused_port_and_unknown_host_are_distinct_errors() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let options = SessionOptions::new().handshake_timeout(Duration::from_secs(5));
        let error = connect(&free.into(), &options, SESSION).unwrap_err();
        assert!(matches!(error, ConnectError::Refused(_)), "{error}");
        let nowhere = Place::Tcp { host: "no-such-host.invalid".into(), port: 1 };
        let error = connect(&nowhere, &options, SESSION).unwrap_err();
        assert!(matches!(error, ConnectError::NoSuchHost { .. }), "{error}");
    }

    #[test]
    fn host_not_resolved_for_another_reason_is_not_absent() {
        let place = Place::Tcp { host: "name".into(), port: 80 };
        let late = io::Error::new(io::ErrorKind::TimedOut, "the name was not resolved in time");
        let error = unresolved(&place, late);
        assert!(matches!(error, ConnectError::Io { .. }) && error.may_pass(), "{error}");
        assert!(crate::describe(&error).contains("not resolved in time"), "{error}");
        let error = unresolved(&place, breezeway_os::shortage::no_thread(Errno::AGAIN.into()));
        assert!(matches!(error, ConnectError::Thread(_)), "{error}");
        let error = unresolved(&place, io::Error::other("no such name"));
        assert!(matches!(error, ConnectError::NoSuchHost { .. }), "{error}");
    }
}
