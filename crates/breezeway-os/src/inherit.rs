//! Sockets that a parent left open for its child.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{AddressFamily, SocketType, sockopt};

/// Takes the session socket that was inherited as descriptor `number`: duplicates it close-on-exec and checks that it is a unix stream socket.
/// The inherited number stays open, harmlessly: closing a session shuts the connection down.
pub fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    if number < 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the borrow lasts for one system call, which answers EBADF if nothing is open under that number.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    let socket = fcntl_dupfd_cloexec(borrowed, 3)?;
    let fits = sockopt::socket_domain(&socket)? == AddressFamily::UNIX
        && sockopt::socket_type(&socket)? == SocketType::STREAM;
    if fits {
        Ok(socket)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("inherited descriptor {number} is no unix stream socket"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::net::{UnixDatagram, UnixStream};

    use super::*;

    #[test]
    fn a_stream_socket_is_taken_and_anything_else_refused() {
        let (stream, _peer) = UnixStream::pair().unwrap();
        assert!(inherited(stream.as_raw_fd()).is_ok());
        let (datagram, _peer) = UnixDatagram::pair().unwrap();
        assert!(inherited(datagram.as_raw_fd()).is_err());
        let (pipe, _writer) = io::pipe().unwrap();
        assert!(inherited(pipe.as_raw_fd()).is_err());
        assert!(inherited(-1).is_err());
        assert!(inherited(1_000_000).is_err());
    }
}
