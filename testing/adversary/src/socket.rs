//! Bytes and descriptors on a unix socket, in whatever combination.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Time of silence of the honest side after which it counts as hanging.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The most descriptors that one [`send`] takes, which is the kernel's limit (`SCM_MAX_FD`).
pub const MAX_DESCRIPTORS: usize = 253;

/// Lets reads that wait longer than [`PATIENCE`] fail.
pub fn be_patient(socket: impl AsFd) {
    set_socket_timeout(socket, Timeout::Recv, Some(PATIENCE)).expect("SO_RCVTIMEO");
}

/// Lets reads wait for ever.
pub fn wait_for_ever(socket: impl AsFd) {
    set_socket_timeout(socket, Timeout::Recv, None).expect("SO_RCVTIMEO");
}

/// Sends bytes with descriptors on the first, without blocking: how many bytes the socket took.
pub fn send(socket: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<usize, Errno> {
    send_with(socket, bytes, fds, SendFlags::empty())
}

/// Sends like [`send`], with the last byte as an urgent one (`MSG_OOB`), which carries the
/// descriptors if it is the only byte.
pub fn send_urgent(
    socket: impl AsFd,
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
) -> Result<usize, Errno> {
    send_with(socket, bytes, fds, SendFlags::OOB)
}

fn send_with(
    socket: impl AsFd,
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> Result<usize, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        let fits = control.push(SendAncillaryMessage::ScmRights(fds));
        assert!(fits, "at most {MAX_DESCRIPTORS} descriptors");
    }
    let flags = flags | SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags)
}

/// Sends `bytes` again and again until the socket is full or the session over; how often.
pub fn fill(socket: impl AsFd, bytes: &[u8]) -> usize {
    (0..).find(|_| send(&socket, bytes, &[]).is_err()).expect("no socket takes everything")
}

/// Opens `count` connections to the server at `path` that send nothing.
pub fn silent_connections(path: &Path, count: usize) -> Vec<UnixStream> {
    (0..count).map(|_| UnixStream::connect(path).expect("connect")).collect()
}

/// Result of one read: empty at the end of the connection.
#[derive(Debug, Default)]
pub struct Received {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The descriptors that came with them.
    pub fds: Vec<OwnedFd>,
}

impl Received {
    /// Returns true if the connection is at its end.
    pub fn is_end(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Reads at most `max` bytes, waiting for the first.
///
/// # Panics
///
/// If none comes within the socket's patience.
pub fn receive(socket: impl AsFd, max: usize) -> Received {
    receive_with(socket, max, RecvFlags::empty()).expect("the honest side was silent for too long")
}

/// Receives like [`receive`], but returns `None` if no bytes are available.
pub fn try_receive(socket: impl AsFd, max: usize) -> Option<Received> {
    receive_with(socket, max, RecvFlags::DONTWAIT)
}

fn receive_with(socket: impl AsFd, max: usize, flags: RecvFlags) -> Option<Received> {
    let mut bytes = vec![0; max];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
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

/// Reads until the peer closes.
///
/// # Panics
///
/// If it does not within the socket's patience.
pub fn receive_to_end(socket: impl AsFd) -> Received {
    let mut all = Received::default();
    loop {
        let part = receive(&socket, 4096);
        if part.is_end() {
            return all;
        }
        all.bytes.extend(part.bytes);
        all.fds.extend(part.fds);
    }
}
