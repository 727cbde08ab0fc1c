//! A descriptor that is slow to close, for tests.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

/// Time that the last close takes: a shorter operation has not waited for it.
pub(crate) const LINGER: Duration = Duration::from_secs(5);

/// Returns a socket that waits at its last close, as a file of a FUSE daemon may: it lingers over
/// bytes that its other end, the second value, does not read.
pub(crate) fn slow_to_close() -> (OwnedFd, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (other, _) = listener.accept().unwrap();
    stream.set_nonblocking(true).unwrap();
    while stream.write(&[0; 65_536]).is_ok() {}
    stream.set_nonblocking(false).unwrap();
    set_socket_linger(&stream, Some(LINGER + Duration::from_secs(1))).unwrap();
    (stream.into(), other)
}
