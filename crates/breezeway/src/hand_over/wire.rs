//! The messages at the admin socket, all of them on one connection:
//!
//! * the successor: [`ASK`]
//! * the predecessor, for each socket: its kind, the length of its place as two bytes, and the
//!   place as text, with the socket's descriptor on the first byte; [`END`] and two zeros at last
//! * the successor, when it serves: [`READY`] and eight bytes, in which bit n is set if it has
//!   taken the n-th socket
//! * the predecessor, when it has seen that: [`DONE`]

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use breezeway_os::{Deadline, ForeignDescriptor, ready, scm};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use super::error::TakeOverError;

/// First bytes of a successor: eight bytes with the version of its protocol.
pub(super) const ASK: [u8; 8] = *b"BRZWTAK1";
/// A listening socket; the successor removes its file, if it has one.
pub(super) const SOCKET: u8 = 1;
/// A listening socket that a service manager made, and keeps.
pub(super) const KEPT: u8 = 2;
/// The admin socket.
pub(super) const ADMIN: u8 = 3;
/// There are no more sockets.
pub(super) const END: u8 = 0;
pub(super) const READY: u8 = b'R';
pub(super) const DONE: u8 = b'D';

/// Length of the longest place that is accepted.
const LONGEST_PLACE: usize = 4096;

/// Sends bytes, and a descriptor with the first of them. Bytes that do not fit into the socket at
/// once are an error, as the receiver does not read.
pub(super) fn send(
    socket: impl AsFd,
    bytes: &[u8],
    descriptor: Option<BorrowedFd<'_>>,
) -> Result<(), TakeOverError> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    match scm::send(socket, bytes, descriptor.as_slice(), flags) {
        Ok(sent) if sent == bytes.len() => Ok(()),
        Ok(_) | Err(Errno::AGAIN) => Err(TakeOverError::Silent),
        Err(Errno::PIPE | Errno::CONNRESET) => Err(TakeOverError::Ended),
        Err(errno) => Err(io::Error::from(errno).into()),
    }
}

/// Sends one socket with its place.
pub(super) fn send_socket(
    socket: impl AsFd,
    kind: u8,
    place: &str,
    descriptor: Option<BorrowedFd<'_>>,
) -> Result<(), TakeOverError> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(place.len() as u16).to_le_bytes());
    bytes.extend_from_slice(place.as_bytes());
    send(socket, &bytes, descriptor)
}

/// Waits for as many bytes as fit, and takes the descriptors that come with them.
pub(super) fn receive(
    socket: impl AsFd,
    bytes: &mut [u8],
    descriptors: &mut Vec<ForeignDescriptor>,
    deadline: Deadline,
) -> Result<(), TakeOverError> {
    let mut filled = 0;
    while filled < bytes.len() {
        if !ready(&socket, PollFlags::IN, deadline).map_err(io::Error::from)? {
            return Err(TakeOverError::Silent);
        }
        match scm::receive(&socket, &mut bytes[filled..], descriptors, RecvFlags::DONTWAIT) {
            Ok(received) if received.is_cut => return Err(TakeOverError::OpenFiles),
            Ok(received) if received.bytes == 0 => return Err(TakeOverError::Ended),
            Ok(received) => filled += received.bytes,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::CONNRESET) => return Err(TakeOverError::Ended),
            Err(errno) => return Err(io::Error::from(errno).into()),
        }
    }
    Ok(())
}

/// Receives the next socket: its kind, its place, and its descriptor.
pub(super) fn receive_socket(
    socket: impl AsFd,
    deadline: Deadline,
) -> Result<Option<(u8, String, ForeignDescriptor)>, TakeOverError> {
    let mut descriptors = Vec::new();
    let mut head = [0; 3];
    receive(&socket, &mut head, &mut descriptors, deadline)?;
    let len = usize::from(u16::from_le_bytes([head[1], head[2]]));
    if len > LONGEST_PLACE {
        return Err(TakeOverError::Garbled("a place that is too long"));
    }
    let mut place = vec![0; len];
    receive(&socket, &mut place, &mut descriptors, deadline)?;
    let place =
        String::from_utf8(place).map_err(|_| TakeOverError::Garbled("a place that is not text"))?;
    match (head[0], descriptors.pop(), descriptors.is_empty()) {
        (END, None, _) => Ok(None),
        (kind @ (SOCKET | KEPT | ADMIN), Some(descriptor), true) => {
            Ok(Some((kind, place, descriptor)))
        }
        _ => Err(TakeOverError::Garbled("not one descriptor with each socket")),
    }
}
