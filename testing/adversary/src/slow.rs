//! Descriptors with a close that takes as long as their sender likes, like that of a file of a FUSE
//! daemon.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::{
    set_socket_linger, set_socket_recv_buffer_size, set_socket_send_buffer_size,
};

/// Returns a socket. Its last close takes a minute, or until the other one is dropped: it lingers
/// over bytes that are never read.
///
/// # Panics
///
/// Panics if this process has reached its limit of descriptors.
pub fn slow_to_close() -> (OwnedFd, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    // Without this it would grow until it takes everything that was written.
    set_socket_recv_buffer_size(&listener, 4096).expect("SO_RCVBUF");
    let address = listener.local_addr().expect("an address");
    let mut stream = TcpStream::connect(address).expect("connect");
    let (other, _) = listener.accept().expect("it has connected");
    set_socket_send_buffer_size(&stream, 4096).expect("SO_SNDBUF");
    stream.set_nonblocking(true).expect("FIONBIO");
    while stream.write(&[0; 65536]).is_ok() {}
    stream.set_nonblocking(false).expect("FIONBIO");
    set_socket_linger(&stream, Some(Duration::from_secs(60))).expect("SO_LINGER");
    (stream.into(), other)
}
