//! Bytes and descriptors on a unix socket, in whatever combination.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// How long the honest side may say nothing before it counts as hanging.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Lets reads that wait longer than the patience fail.
pub(crate) fn be_patient(socket: impl AsFd) {
    set_socket_timeout(socket, Timeout::Recv, Some(PATIENCE)).expect("SO_RCVTIMEO");
}

/// Sends bytes with descriptors on the first, without blocking.
pub(crate) fn send(
    socket: impl AsFd,
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
) -> Result<usize, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        assert!(control.push(SendAncillaryMessage::ScmRights(fds)), "at most 16 descriptors");
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags)
}

/// What one read gave: nothing at the end of the connection.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) bytes: Vec<u8>,
    pub(crate) fds: Vec<OwnedFd>,
}

impl Received {
    pub(crate) fn is_end(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Reads at most `most` bytes, waiting for the first.
pub(crate) fn receive(socket: impl AsFd, most: usize) -> Received {
    receive_with(socket, most, RecvFlags::empty())
        .expect("the honest side said nothing for too long")
}

/// As [`receive`], or `None` if there is nothing.
pub(crate) fn try_receive(socket: impl AsFd, most: usize) -> Option<Received> {
    receive_with(socket, most, RecvFlags::DONTWAIT)
}

fn receive_with(socket: impl AsFd, most: usize, flags: RecvFlags) -> Option<Received> {
    let mut bytes = vec![0; most];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    loop {
        match recvmsg(&socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags) {
            Ok(message) => {
                bytes.truncate(message.bytes);
                break;
            }
            Err(Errno::INTR) => {}
            Err(Errno::CONNRESET) => return Some(Received::default()),
            Err(Errno::AGAIN) => return None,
            Err(errno) => panic!("recvmsg: {errno}"),
        }
    }
    let fds = control
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        })
        .flatten()
        .collect();
    Some(Received { bytes, fds })
}

/// Reads a hello: its announced length, and what came with it. Shorter if the other side closes.
pub(crate) fn receive_hello(socket: impl AsFd) -> Received {
    let mut hello = Received::default();
    let mut wanted = super::abi::hello::LEN;
    while hello.bytes.len() < wanted {
        let part = receive(&socket, wanted - hello.bytes.len());
        if part.is_end() {
            break;
        }
        hello.bytes.extend(part.bytes);
        hello.fds.extend(part.fds);
        if hello.bytes.len() >= super::abi::hello::LEN {
            wanted = usize::from(u16::from_le_bytes([hello.bytes[10], hello.bytes[11]]));
        }
    }
    hello
}
