//! Taking connections from a listening socket.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};

/// Connections that are over already, in a row.
const MAX_OVER: usize = 4096;

/// `accept4(2)`: takes the next connection of a listening socket that does not block, behind any
/// whose client went away meanwhile; `None` if there is none. The connection itself blocks. An
/// error is a shortage of this process or the machine, such as of descriptors, which only time
/// mends: pause before the next try, as the connection stays and the listening socket stays
/// readable.
pub fn accept(listener: impl AsFd) -> io::Result<Option<OwnedFd>> {
    // One that is over says nothing of those behind it, of which no further event tells.
    for _ in 0..MAX_OVER {
        match accept_with(&listener, SocketFlags::CLOEXEC) {
            Ok(socket) => return Ok(Some(socket)),
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR | Errno::CONNABORTED) => {}
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
            ) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(None)
}
