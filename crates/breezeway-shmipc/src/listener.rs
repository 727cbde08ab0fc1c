//! The socket that clients connect to.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use breezeway_os::socket_file::{ListenError, SocketFile};
use breezeway_os::{Origin, accept, prepare_tcp, scm};

use rustix::io::{Errno, FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with, sockopt,
};

use crate::address::Address;
use crate::error::ServeError;

/// Connections that may wait to be accepted; the kernel's own limit counts as well
/// (`net.core.somaxconn`).
const BACKLOG: i32 = 1024;

/// A listening socket.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: Socket,
    address: Address,
}

#[derive(Debug)]
enum Socket {
    File(SocketFile),
    Tcp(TcpListener),
    Abstract(AbstractSocket),
    /// Created elsewhere, by a holder that keeps it.
    Inherited(OwnedFd),
}

/// One in the abstract namespace: no file is removed with it.
#[derive(Debug)]
struct AbstractSocket {
    /// Present until dropped.
    socket: Option<OwnedFd>,
    /// Process that created it; a forked child has it too, and ends nothing.
    origin: Origin,
}

impl Drop for AbstractSocket {
    fn drop(&mut self) {
        if self.origin.is_here()
            && let Some(socket) = self.socket.take()
        {
            scm::close_listener(socket);
        }
    }
}

impl Listener {
    /// Listens at `address`. A socket file without a server is replaced; one with a server only if
    /// `take_over` is true.
    pub(crate) fn bind(address: &Address, mode: u32, take_over: bool) -> Result<Self, ServeError> {
        match address {
            Address::Unix(path) => Self::bind_unix(path, mode, take_over),
            Address::Abstract(name) => Self::bind_abstract(address, name),
            Address::Tcp(socket) => Self::bind_tcp(socket),
        }
    }

    fn bind_abstract(address: &Address, name: &str) -> Result<Self, ServeError> {
        let failed = |errno: Errno| match errno {
            Errno::ADDRINUSE => ServeError::InUse(format!("@{name}").into()),
            errno => ServeError::Listen { address: address.to_string(), cause: errno.into() },
        };
        let make = || -> Result<OwnedFd, Errno> {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            bind(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
            listen(&socket, BACKLOG)?;
            Ok(socket)
        };
        let socket = Some(make().map_err(failed)?);
        let socket = Socket::Abstract(AbstractSocket { socket, origin: Origin::here() });
        Ok(Self { socket, address: address.clone() })
    }

    /// Takes a socket that already listens.
    pub(crate) fn inherit(socket: OwnedFd) -> Result<Self, ServeError> {
        let failed = |cause: io::Error| ServeError::Listen {
            address: "an inherited descriptor".to_owned(),
            cause,
        };
        let refused = || failed(io::Error::other("it is not a listening stream socket"));
        if sockopt::socket_type(&socket) != Ok(SocketType::STREAM)
            || sockopt::socket_acceptconn(&socket) != Ok(true)
        {
            return Err(refused());
        }
        let address = Address::of_socket(&socket).map_err(failed)?;
        let prepared =
            ioctl_fionbio(&socket, true).and_then(|()| fcntl_setfd(&socket, FdFlags::CLOEXEC));
        prepared.map_err(|errno| failed(errno.into()))?;
        Ok(Self { socket: Socket::Inherited(socket), address })
    }

    fn bind_tcp(text: &str) -> Result<Self, ServeError> {
        let failed = |cause| ServeError::Listen { address: format!("tcp:{text}"), cause };
        let listener = TcpListener::bind(text).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        // The kernel may have chosen the port.
        let address = Address::Tcp(listener.local_addr().map_err(failed)?.to_string());
        Ok(Self { socket: Socket::Tcp(listener), address })
    }

    fn bind_unix(path: &Path, mode: u32, take_over: bool) -> Result<Self, ServeError> {
        let listen = if take_over { SocketFile::take_over } else { SocketFile::listen };
        let file = listen(path, mode).map_err(|error| match error {
            ListenError::InUse => ServeError::InUse(path.into()),
            ListenError::NotASocket => ServeError::NotASocket(path.into()),
            ListenError::MayNotConnect { owner } => {
                ServeError::MayNotConnect { path: path.into(), owner }
            }
            ListenError::MayNotRemove { owner } => {
                ServeError::MayNotRemove { path: path.into(), owner }
            }
            ListenError::NoFolder => ServeError::NoFolder(path.into()),
            ListenError::Io(cause) => {
                ServeError::Listen { address: path.display().to_string(), cause }
            }
        })?;
        Ok(Self { socket: Socket::File(file), address: Address::Unix(path.into()) })
    }

    /// Returns the address it listens at.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Takes the next connection; `None` if there is none.
    pub(crate) fn accept(&self) -> io::Result<Option<OwnedFd>> {
        let accepted = accept(self)?;
        if let (Some(socket), Address::Tcp(_)) = (&accepted, &self.address) {
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
            Socket::Abstract(AbstractSocket { socket, .. }) => {
                socket.as_ref().expect("present until dropped").as_fd()
            }
            Socket::Inherited(socket) => socket.as_fd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use breezeway_os::{Deadline, connect};
    use rustix::net::SendFlags;
    use rustix::net::sockopt::{socket_keepalive, tcp_nodelay};

    use super::*;
    use crate::slow_descriptor::{LINGER, slow_to_close};

    #[test]
    fn a_client_that_connected_over_tcp_is_probed() {
        let any = Address::Tcp("127.0.0.1:0".to_owned());
        let listener = Listener::bind(&any, 0o600, false).unwrap();
        let Address::Tcp(address) = listener.address() else { panic!("{any:?}") };
        let _client = TcpStream::connect(address).unwrap();
        let accepted = listener.accept().unwrap().expect("it is connected");
        assert!(socket_keepalive(&accepted).unwrap() && tcp_nodelay(&accepted).unwrap());
    }

    #[test]
    fn unaccepted_client_descriptor_does_not_delay_end() {
        let name = format!("breezeway-never-accepted-{}", std::process::id());
        let address = Address::Abstract(name.clone());
        let listener = Listener::bind(&address, 0o600, false).unwrap();
        let client = connect::abstract_unix(name.as_bytes(), Deadline::NEVER).unwrap();
        let (slow, _other) = slow_to_close();
        scm::send(&client, &[0], &[slow.as_fd()], SendFlags::empty()).unwrap();
        drop(slow);
        let start = std::time::Instant::now();
        drop(listener);
        assert!(start.elapsed() < LINGER, "ended for {:?}", start.elapsed());
    }
}
