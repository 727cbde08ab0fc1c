//! Sockets that a parent left open for its child.

use std::os::fd::OwnedFd;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{AddressFamily, SocketType, sockopt};
use thiserror::Error;

/// Error for an inherited descriptor that is not a unix stream socket, with the descriptor.
#[derive(Debug, Error)]
#[error("the inherited descriptor is not a unix stream socket; pass one end of a socket pair")]
pub struct NotAStreamSocket(pub OwnedFd);

/// Takes a session socket that was inherited over exec: checks that it is a unix stream socket, and
/// sets close-on-exec, so that this process does not pass it on.
///
/// The program must ensure that no other code in this process owns the descriptor's number
/// ([`OwnedFd`]'s `from_raw_fd` is unsafe for that reason). Standard input needs no such care:
/// knowledge:
///
/// ```no_run
/// use std::os::fd::AsFd;
///
/// let socket = breezeway_os::inherited(std::io::stdin().as_fd().try_clone_to_owned()?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn inherited(descriptor: OwnedFd) -> Result<OwnedFd, NotAStreamSocket> {
    let fits = sockopt::socket_domain(&descriptor) == Ok(AddressFamily::UNIX)
        && sockopt::socket_type(&descriptor) == Ok(SocketType::STREAM)
        && fcntl_setfd(&descriptor, FdFlags::CLOEXEC).is_ok();
    if fits { Ok(descriptor) } else { Err(NotAStreamSocket(descriptor)) }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::net::{UnixDatagram, UnixStream};

    use rustix::io::fcntl_getfd;

    use super::*;

    /// Prepares a descriptor as a parent leaves it open for a child.
    fn left_open(descriptor: impl Into<OwnedFd>) -> OwnedFd {
        let descriptor = descriptor.into();
        fcntl_setfd(&descriptor, FdFlags::empty()).unwrap();
        descriptor
    }

    #[test]
    fn stream_socket_keeps_number_and_gains_cloexec() {
        let (stream, _peer) = UnixStream::pair().unwrap();
        let stream = left_open(stream);
        let number = stream.as_raw_fd();
        let socket = inherited(stream).unwrap();
        assert_eq!(socket.as_raw_fd(), number);
        assert_eq!(fcntl_getfd(&socket), Ok(FdFlags::CLOEXEC));
    }

    #[test]
    fn anything_else_is_given_back_as_it_came() {
        let (datagram, _peer) = UnixDatagram::pair().unwrap();
        let (pipe, _writer) = std::io::pipe().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        for other in [left_open(datagram), left_open(pipe), left_open(listener)] {
            let number = other.as_raw_fd();
            let NotAStreamSocket(back) = inherited(other).unwrap_err();
            assert_eq!(back.as_raw_fd(), number);
            assert_eq!(fcntl_getfd(&back), Ok(FdFlags::empty()));
        }
    }
}
