//! Taking connections from a listening socket.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};

/// `accept4(2)`: takes the next connection of a listening socket that does not block; `None` if
/// there is none, or its client went away meanwhile. The connection itself blocks. An error is a
/// shortage of this process or the machine, such as of descriptors, which only time mends: pause
/// before the next try, as the connection stays and the listening socket stays readable.
pub fn accept(listener: impl AsFd) -> io::Result<Option<OwnedFd>> {
    match accept_with(listener, SocketFlags::CLOEXEC) {
        Ok(socket) => Ok(Some(socket)),
        Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
        // What the network had already done to a TCP connection (accept(2)).
        Err(
            Errno::NETDOWN
            | Errno::PROTO
            | Errno::NOPROTOOPT
            | Errno::HOSTDOWN
            | Errno::NONET
            | Errno::HOSTUNREACH
            | Errno::OPNOTSUPP
            | Errno::NETUNREACH,
        ) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}
