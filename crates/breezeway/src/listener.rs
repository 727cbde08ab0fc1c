//! The socket that clients connect to.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use breezeway_os::socket_file::{ListenError, SocketFile};
use breezeway_os::{accept, listen_tcp, prepare_tcp};

use crate::address::Place;
use crate::carrier::Carrier;
use crate::error::ServeError;
use crate::hand_over::Offered;

/// A listening socket.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: Socket,
    place: Place,
    /// True if a service manager created the socket, and keeps it.
    kept: bool,
}

#[derive(Debug)]
enum Socket {
    File(SocketFile),
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at `place`, with the permission bits `mode` if that is a file. A socket file without
    /// a listening process is replaced.
    pub(crate) fn bind(place: &Place, mode: u32) -> Result<Self, ServeError> {
        match place {
            Place::Shm(path) | Place::Unix(path) => Self::bind_unix(place, path, mode),
            Place::Tcp { host, port } | Place::Tls { host, port } => {
                Self::bind_tcp(place, (host, *port))
            }
        }
    }

    fn bind_tcp(place: &Place, (host, port): (&str, u16)) -> Result<Self, ServeError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => ServeError::InUse(place.clone()),
            _ => ServeError::Listen { place: place.clone(), source },
        };
        let listener = listen_tcp((host, port)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let host = host.to_owned();
        let place = match place {
            Place::Tls { .. } => Place::Tls { host, port },
            _ => Place::Tcp { host, port },
        };
        Ok(Self { socket: Socket::Tcp(listener), place, kept: false })
    }

    fn bind_unix(place: &Place, path: &Path, mode: u32) -> Result<Self, ServeError> {
        let file = Self::file(place, path, mode)?;
        Ok(Self { socket: Socket::File(file), place: place.clone(), kept: false })
    }

    /// Creates a unix socket that listens in a new file.
    pub(crate) fn file(place: &Place, path: &Path, mode: u32) -> Result<SocketFile, ServeError> {
        SocketFile::listen(path, mode).map_err(|error| match error {
            ListenError::InUse => ServeError::InUse(place.clone()),
            ListenError::NotASocket => ServeError::NotASocket(path.into()),
            ListenError::MayNotConnect { owner } => {
                ServeError::MayNotConnect { path: path.into(), owner }
            }
            ListenError::MayNotRemove { owner } => {
                ServeError::MayNotRemove { path: path.into(), owner }
            }
            ListenError::NoFolder => ServeError::NoFolder(path.into()),
            ListenError::Io(source) => ServeError::Listen { place: place.clone(), source },
        })
    }

    /// Adopts a socket that listens at `place` already. Its file is left alone until [`Self::own`],
    /// and for ever if it is `kept`.
    pub(crate) fn adopt(socket: OwnedFd, place: Place, kept: bool) -> Self {
        let socket = match place.path() {
            Some(path) => Socket::File(SocketFile::adopt(socket, path)),
            None => Socket::Tcp(socket.into()),
        };
        Self { socket, place, kept }
    }

    /// Owns the socket's file from now on: its predecessor has left the socket to this process.
    pub(crate) fn own(&mut self) {
        if let (Socket::File(file), false) = (&mut self.socket, self.kept) {
            file.own();
        }
    }

    /// Leaves the socket, which continues to listen, to a successor.
    pub(crate) fn release(self) {
        if let Socket::File(file) = self.socket {
            file.release();
        }
    }

    /// Duplicates the socket for a successor.
    pub(crate) fn offer(&self) -> io::Result<Offered> {
        let socket = self.as_fd().try_clone_to_owned()?;
        Ok(Offered { place: self.place.clone(), kept: self.kept, socket })
    }

    /// Returns the place where it listens, with the actual port.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Returns the carrier of its sessions.
    pub(crate) fn carrier(&self) -> Carrier {
        self.place.carrier()
    }

    /// Takes the next connection; `None` if there is none.
    pub(crate) fn accept(&self) -> io::Result<Option<OwnedFd>> {
        let accepted = accept(self)?;
        if let (Some(socket), Carrier::Tcp | Carrier::Tls) = (&accepted, self.carrier()) {
            prepare_tcp(socket)?;
        }
        Ok(accepted)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::File(file) => file.as_fd(),
            Socket::Tcp(listener) => listener.as_fd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_port_is_reported_and_used_port_is_refused() {
        let any: Place = "tcp:127.0.0.1:0".parse().unwrap();
        let listener = Listener::bind(&any, 0o600).unwrap();
        assert_ne!(listener.place(), &any);
        let taken = Listener::bind(listener.place(), 0o600);
        assert!(matches!(taken, Err(ServeError::InUse(_))));
    }
}
