//! Accepting connections of a listening socket.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};

/// Maximum number of consecutive connections that are already over.
const MAX_OVER: usize = 4096;

/// `accept4(2)`: takes the next connection of a non-blocking listening socket, skipping those whose
/// client has already left; `None` if there is none. The returned connection blocks. An error is a
/// shortage of this process or the machine, such as of descriptors, which only time mends: pause
/// before the next try, because the connection stays queued and the listening socket stays
/// readable.
pub fn accept(listener: impl AsFd) -> io::Result<Option<OwnedFd>> {
    // Skipping one that is over is not enough: more may be queued behind it, without a further
    // event.
    for _ in 0..MAX_OVER {
        match accept_with(&listener, SocketFlags::CLOEXEC) {
            Ok(socket) => return Ok(Some(socket)),
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            // Errors that the network caused on a TCP connection before accept (accept(2)).
            Err(
                Errno::NETDOWN
                | Errno::PROTO
                | Errno::NOPROTOOPT
                | Errno::HOSTDOWN
                | Errno::NONET
                | Errno::HOSTUNREACH
                | Errno::OPNOTSUPP
                | Errno::NETUNREACH,
            ) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(None)
}
