//! Bytes and descriptors over a unix socket (`SCM_RIGHTS`, unix(7)).
//!
//! A peer may send any descriptor with any byte, so every read of such a socket goes through
//! [`receive`]: descriptors that nobody asked for are seen, and closed without blocking.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::descriptor::ForeignDescriptor;

/// Descriptors that one read has room for, at least: more than any protocol here allows, so that a peer that
/// sends too many is seen to.
pub const DESCRIPTOR_ROOM: usize = 8;
/// Descriptors that one message may carry.
const SEND_ROOM: usize = 4;

/// What one read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes read; 0 is the end of file, unless no room was given.
    pub bytes: usize,
    /// Descriptors that came with them.
    pub descriptors: usize,
    /// What became of further descriptors.
    pub lost: Option<Lost>,
}

/// Why descriptors that were sent did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The peer sent more than [`DESCRIPTOR_ROOM`] with one message. The rest is closed.
    TooMany,
    /// This process, or the machine, may have no more open files. The peer is not to blame. After a
    /// read with [`RecvFlags::PEEK`] they are still there.
    NoRoom,
}

/// `recvmsg(2)` with `MSG_CMSG_CLOEXEC`: reads into `bytes`, and appends the descriptors that came
/// along, unjudged.
pub fn receive(
    socket: impl AsFd,
    bytes: &mut [u8],
    descriptors: &mut Vec<ForeignDescriptor>,
    flags: RecvFlags,
) -> Result<Received, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_ROOM))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let message = recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, flags)?;
    let before = descriptors.len();
    for ancillary in control.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = ancillary {
            descriptors.extend(fds.map(ForeignDescriptor::from));
        }
    }
    let came = descriptors.len() - before;
    // The kernel cuts where the message's room ends, or where it gets no number for a descriptor.
    let lost = message.flags.contains(ReturnFlags::CTRUNC).then_some(if came < DESCRIPTOR_ROOM {
        Lost::NoRoom
    } else {
        Lost::TooMany
    });
    Ok(Received { bytes: message.bytes, descriptors: came, lost })
}

/// `sendmsg(2)`: sends `bytes` with up to four descriptors, which travel with the first byte. Gives
/// the number of bytes sent.
///
/// `ETOOMANYREFS` means that too many descriptors of this user are under way in sockets that nobody
/// reads (`RLIMIT_NOFILE`, unix(7)).
pub fn send(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> Result<usize, Errno> {
    assert!(descriptors.len() <= SEND_ROOM, "{} descriptors in one message", descriptors.len());
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SEND_ROOM))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        let fits = control.push(SendAncillaryMessage::ScmRights(descriptors));
        debug_assert!(fits, "the buffer has room for as many as may be sent");
    }
    sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn read(socket: &UnixStream, flags: RecvFlags) -> (Received, Vec<ForeignDescriptor>) {
        let mut descriptors = Vec::new();
        let received = receive(socket, &mut [0; 16], &mut descriptors, flags).unwrap();
        (received, descriptors)
    }

    #[test]
    fn descriptors_come_with_the_bytes_that_they_were_sent_with() {
        let (one, other) = UnixStream::pair().unwrap();
        let (pipe, _writer) = std::io::pipe().unwrap();
        send(&one, b"a", &[], SendFlags::empty()).unwrap();
        send(&one, b"bc", &[pipe.as_fd(), pipe.as_fd()], SendFlags::empty()).unwrap();
        send(&one, b"d", &[], SendFlags::empty()).unwrap();
        let (received, descriptors) = read(&other, RecvFlags::DONTWAIT);
        assert_eq!(received, Received { bytes: 3, descriptors: 2, lost: None });
        assert_eq!(descriptors.len(), 2);
        let (received, _) = read(&other, RecvFlags::DONTWAIT);
        assert_eq!(received, Received { bytes: 1, descriptors: 0, lost: None });
    }

    #[test]
    fn a_peer_that_sends_more_than_there_is_room_for_is_seen_to() {
        let (one, other) = UnixStream::pair().unwrap();
        let (pipe, _writer) = std::io::pipe().unwrap();
        let fds = [pipe.as_fd(); 2 * DESCRIPTOR_ROOM];
        let mut space =
            [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2 * DESCRIPTOR_ROOM))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        sendmsg(&one, &[IoSlice::new(b"x")], &mut control, SendFlags::empty()).unwrap();
        let (received, descriptors) = read(&other, RecvFlags::DONTWAIT);
        assert_eq!(received.lost, Some(Lost::TooMany));
        assert!(descriptors.len() >= DESCRIPTOR_ROOM);
    }
}
