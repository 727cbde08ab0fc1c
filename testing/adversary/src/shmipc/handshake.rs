//! The handshake of version 3 over memfds, step by step, so that an attack can stop at any.

use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::message::{HEADER_LEN, kind, message, names};
use crate::socket::{PATIENCE, receive, send};

/// Connects to the server at `path`.
pub fn dial(path: &Path) -> UnixStream {
    let socket = UnixStream::connect(path).expect("connect");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket
}

/// The first message of a client, and a server's answer to it.
pub fn exchange() -> Vec<u8> {
    message(3, kind::EXCHANGE_PROTOCOL_VERSION, &[])
}

/// Waits for exactly these bytes.
pub fn expect(mut socket: &UnixStream, wanted: &[u8]) {
    let mut bytes = vec![0; wanted.len()];
    socket.read_exact(&mut bytes).expect("an answer");
    assert_eq!(bytes, wanted);
}

/// Plays a client up to the point where the server validates the regions.
pub fn offer(mut socket: &UnixStream, queue: &OwnedFd, buffer: &OwnedFd, name: &str) {
    socket.write_all(&exchange()).expect("a new socket has room");
    expect(socket, &exchange());
    let offer = message(3, kind::SHARE_MEMORY_BY_MEMFD, &names(name, name));
    socket.write_all(&offer).expect("a new socket has room");
    expect(socket, &message(3, kind::ACK_READY_RECEIVE_FD, &[]));
    send_descriptors(socket, &[buffer, queue]);
}

/// Sends the one byte that descriptors travel with, and any number of them.
pub fn send_descriptors(socket: &UnixStream, descriptors: &[&OwnedFd]) {
    let borrowed: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
    assert_eq!(send(socket, &[0], &borrowed), Ok(1));
}

/// Plays a server by the rules; returns the client's regions, queue and buffer.
pub fn accept(mut socket: &UnixStream) -> (OwnedFd, OwnedFd) {
    expect(socket, &exchange());
    socket.write_all(&exchange()).expect("a new socket has room");
    let mut header = [0; HEADER_LEN];
    socket.read_exact(&mut header).expect("the names");
    assert_eq!(header[4..], [0x77, 0x58, 3, kind::SHARE_MEMORY_BY_MEMFD]);
    let length = u32::from_be_bytes([header[0], header[1], header[2], header[3]]) as usize;
    let mut names = vec![0; length - HEADER_LEN];
    socket.read_exact(&mut names).expect("the names");
    let ready = message(3, kind::ACK_READY_RECEIVE_FD, &[]);
    socket.write_all(&ready).expect("a new socket has room");
    let fds: [OwnedFd; 2] = receive(socket, 1).fds.try_into().expect("two descriptors");
    let mapped = message(3, kind::ACK_SHARE_MEMORY, &[]);
    socket.write_all(&mapped).expect("a new socket has room");
    let [buffer, queue] = fds;
    (queue, buffer)
}

/// Reads until the peer closes.
///
/// # Panics
///
/// If it does not within the socket's patience.
pub fn read_to_end(socket: &mut UnixStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    match socket.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the peer does not close: {error}"),
    }
    bytes
}
