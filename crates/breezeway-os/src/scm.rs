//! Bytes and descriptors over a unix socket (`SCM_RIGHTS`, unix(7)).
//!
//! A peer may send any descriptor with any byte, so every read of such a socket goes through
//! [`receive`] or [`peek`]: unexpected descriptors are detected, and closed without blocking. Only
//! peeked bytes are read otherwise ([`consume`]): their descriptors are already held. This requires
//! urgent bytes to be read like others ([`Connection`](crate::Connection)).

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, ioctl_fionread};
use rustix::net::sockopt::{
    set_socket_oobinline, set_socket_send_buffer_size, socket_domain, socket_send_buffer_size,
};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, recvmsg, sendmsg, shutdown,
};

use crate::accept::accept;
use crate::descriptor::{ForeignDescriptor, Sender};

/// Descriptors that one [`receive`] has room for: as many as a message may carry (`SCM_MAX_FD`).
/// The kernel would close descriptors without room in the reading thread, for as long as that
/// takes.
const DESCRIPTOR_ROOM: usize = 253;
/// Maximum number of descriptors that [`send`] sends with one message.
const SEND_ROOM: usize = 4;
/// Bytes discarded at once, and reads that discard the unread bytes of a connection at its end.
/// Each message with descriptors takes one read, and a socket with default buffer sizes holds fewer
/// than 300 of them.
const DISCARD: usize = 4096;
const MAX_DISCARD_READS: usize = 1024;
/// Descriptors that are taken out of a connection at its end: as many as a conforming peer may
/// leave there. Each is a descriptor of this process until it is closed; a connection that holds
/// more is left to be closed together with them, and counts as one.
const MAX_DISCARDED: usize = 8;

/// Result of one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes read; 0 is the end of file, unless no room was given.
    pub bytes: usize,
    /// Descriptors that came with them.
    pub descriptors: usize,
    /// True if further descriptors did not arrive (`MSG_CTRUNC`), because this process, or the
    /// machine, may have no more open files. The peer is not at fault. After a read with
    /// [`RecvFlags::PEEK`] they are still in the socket; otherwise the kernel has closed them.
    pub is_cut: bool,
}

/// `recvmsg(2)` with `MSG_CMSG_CLOEXEC`: reads into `bytes`, and appends the descriptors that came
/// along, unvalidated.
pub fn receive(
    socket: impl AsFd,
    bytes: &mut [u8],
    descriptors: &mut Vec<ForeignDescriptor>,
    flags: RecvFlags,
) -> Result<Received, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_ROOM))];
    receive_within(&mut space, socket, bytes, descriptors, flags)
}

/// Receives like [`receive`], with room for as many descriptors as `space` holds.
fn receive_within(
    space: &mut [MaybeUninit<u8>],
    socket: impl AsFd,
    bytes: &mut [u8],
    descriptors: &mut Vec<ForeignDescriptor>,
    flags: RecvFlags,
) -> Result<Received, Errno> {
    let mut control = RecvAncillaryBuffer::new(space);
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let message = recvmsg(&socket, &mut [IoSliceMut::new(bytes)], &mut control, flags)?;
    let before = descriptors.len();
    for ancillary in control.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = ancillary {
            let sender = Sender::behind(&socket);
            descriptors.extend(fds.map(|fd| ForeignDescriptor::of(fd, sender)));
        }
    }
    Ok(Received {
        bytes: message.bytes,
        descriptors: descriptors.len() - before,
        is_cut: message.flags.contains(ReturnFlags::CTRUNC),
    })
}

/// Receives like [`receive`], but leaves the data in the socket (`MSG_PEEK`), and receives at most
/// one descriptor. If a message has more, `descriptors` is unchanged and the returned count is 2:
/// they are still in the socket.
///
/// Receiving all of them would take a descriptor number each, and those without a number would stay
/// in the socket as well.
pub fn peek(
    socket: impl AsFd,
    bytes: &mut [u8],
    descriptors: &mut Vec<ForeignDescriptor>,
    flags: RecvFlags,
) -> Result<Received, Errno> {
    // One more than wanted, to detect that there are more.
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let before = descriptors.len();
    let flags = flags | RecvFlags::PEEK;
    let mut received = receive_within(&mut space, socket, bytes, descriptors, flags)?;
    if received.descriptors > 1 || received.descriptors == 1 && received.is_cut {
        descriptors.truncate(before);
        (received.descriptors, received.is_cut) = (2, false);
    }
    Ok(received)
}

/// Takes the bytes returned by a peek out of the socket. Their descriptors are held by the caller,
/// so that closing them here does not block. Takes fewer where others read the same socket, such as
/// a forked child. Returns true if descriptors came with these bytes: a peek that fills its buffer
/// with the end of a message also returns the descriptors of the next one (seen with Linux 6.18).
pub fn consume(socket: impl AsFd, mut bytes: &mut [u8]) -> Result<bool, Errno> {
    let mut had_descriptors = false;
    while !bytes.is_empty() {
        let mut nowhere = RecvAncillaryBuffer::default();
        let mut room = [IoSliceMut::new(&mut *bytes)];
        match recvmsg(&socket, &mut room, &mut nowhere, RecvFlags::DONTWAIT) {
            Ok(message) if message.bytes > 0 => {
                had_descriptors |= message.flags.contains(ReturnFlags::CTRUNC);
                bytes = &mut bytes[message.bytes..];
            }
            Ok(_) | Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(had_descriptors)
}

/// `SO_PEEK_OFF` (socket(7)): makes reads with [`RecvFlags::PEEK`] begin `offset` bytes behind the
/// first unread one; each advances the offset by the bytes it returns.
pub fn set_peek_offset(socket: impl AsFd, offset: usize) -> Result<(), Errno> {
    let offset = libc::c_int::try_from(offset).map_err(|_| Errno::INVAL)?;
    // SAFETY: the option takes one integer, which lives on this stack for the time of the call.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEEK_OFF,
            (&raw const offset).cast(),
            size_of_val(&offset) as libc::socklen_t,
        )
    };
    if outcome == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
    }
}

/// Makes a socket's send buffer hold at least `bytes`, in the kernel's accounting (`SO_SNDBUF`,
/// socket(7)), or the most that `net.core.wmem_max` allows. Never makes it smaller. Returns its
/// size.
pub fn widen_send_buffer(socket: impl AsFd, bytes: usize) -> Result<usize, Errno> {
    if socket_send_buffer_size(&socket)? < bytes {
        // The kernel doubles the given value, for its own bookkeeping.
        set_socket_send_buffer_size(&socket, bytes / 2)?;
    }
    socket_send_buffer_size(&socket)
}

/// Shuts a connection down for all holders, and closes it without blocking. Unread data from an
/// untrusted peer would be closed with it, descriptors included, which may block. The descriptors
/// are therefore taken out first, and closed on other threads; the connection itself is closed
/// there only if taking them out fails, for example for lack of descriptor numbers.
pub fn close_connection(socket: OwnedFd) {
    // Fails only if the peer has already closed.
    let _ = shutdown(&socket, Shutdown::Both);
    // Nothing can be sent from here on.
    if !may_hold_descriptors(&socket) || discard_unread(&socket) {
        drop(socket);
    } else {
        let sender = Sender::behind(&socket);
        drop(ForeignDescriptor::of(socket, sender));
    }
}

/// Shuts a listening socket down for all holders, and closes it without blocking. Unaccepted
/// connections would be closed with it, with the data that their clients have sent. They are
/// therefore accepted first, and closed by [`close_connection`]; the listening socket itself is
/// closed on another thread only if that fails, for example for lack of descriptor numbers.
pub fn close_listener(socket: OwnedFd) {
    let _ = shutdown(&socket, Shutdown::Both);
    // No client can connect from here on.
    if may_hold_descriptors(&socket) && !close_unaccepted(&socket) {
        drop(ForeignDescriptor::from(socket));
    }
}

/// Accepts and closes the waiting connections. Returns false if some may remain.
fn close_unaccepted(listener: &OwnedFd) -> bool {
    loop {
        match accept(listener) {
            Ok(Some(connection)) => close_connection(connection),
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Returns true if a socket may hold unread descriptors, or if its kind is unknown.
fn may_hold_descriptors(socket: &OwnedFd) -> bool {
    !socket_domain(socket).is_ok_and(|domain| domain != AddressFamily::UNIX)
}

/// Reads a unix socket that was shut down empty. Returns false if data may remain.
fn discard_unread(socket: &OwnedFd) -> bool {
    let is_empty = || ioctl_fionread(socket).is_ok_and(|unread| unread == 0);
    if is_empty() {
        return true;
    }
    // The socket may not have been a `Connection` before.
    let _ = set_socket_oobinline(socket, true);
    // Peeking begins at the first unread byte, as it always does on kernels without the option.
    let _ = set_peek_offset(socket, 0);
    let mut bytes = [0; DISCARD];
    let mut taken = 0;
    for _ in 0..MAX_DISCARD_READS {
        // A plain read would close a descriptor for which this thread has no number, or no room. A
        // peek leaves it in the socket.
        let mut descriptors = Vec::new();
        let peeked = peek(socket, &mut bytes, &mut descriptors, RecvFlags::DONTWAIT);
        let Ok(Received { bytes: len, descriptors: 0..=1, is_cut: false }) = peeked else {
            return false;
        };
        taken += descriptors.len();
        if taken > MAX_DISCARDED || consume(socket, &mut bytes[..len]).is_err() {
            return false;
        }
        if is_empty() {
            return true;
        }
    }
    false
}

/// `sendmsg(2)`: sends `bytes` with up to four descriptors, which travel with the first byte.
/// Returns the number of bytes sent.
///
/// `ETOOMANYREFS` means that too many descriptors of this user are in flight in unread sockets
/// (`RLIMIT_NOFILE`, unix(7)).
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
        assert_eq!(received, Received { bytes: 3, descriptors: 2, is_cut: false });
        assert_eq!(descriptors.len(), 2);
        let (received, _) = read(&other, RecvFlags::DONTWAIT);
        assert_eq!(received, Received { bytes: 1, descriptors: 0, is_cut: false });
    }

    #[test]
    fn reads_that_peek_go_on_where_the_last_one_ended() {
        let (one, other) = UnixStream::pair().unwrap();
        set_peek_offset(&other, 0).unwrap();
        let (pipe, _writer) = std::io::pipe().unwrap();
        send(&one, b"a", &[], SendFlags::empty()).unwrap();
        let peek = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        assert_eq!(read(&other, peek).0.bytes, 1);
        send(&one, b"b", &[pipe.as_fd()], SendFlags::empty()).unwrap();
        let (received, _) = read(&other, peek);
        assert_eq!(received, Received { bytes: 1, descriptors: 1, is_cut: false });
        set_peek_offset(&other, 1).unwrap();
        assert_eq!(read(&other, peek).0, received, "the descriptor was not lost");
        let error = receive(&other, &mut [0; 16], &mut Vec::new(), peek).unwrap_err();
        assert_eq!(error, Errno::AGAIN);
        assert_eq!(read(&other, RecvFlags::DONTWAIT).0.bytes, 2, "nothing was consumed");
    }

    #[test]
    fn peek_of_several_descriptors_receives_none() {
        let (pipe, _writer) = std::io::pipe().unwrap();
        for (sent, seen) in [(0, 0), (1, 1), (2, 2), (SEND_ROOM, 2)] {
            let (one, other) = UnixStream::pair().unwrap();
            send(&one, b"x", &vec![pipe.as_fd(); sent], SendFlags::empty()).unwrap();
            let (mut bytes, mut descriptors) = ([0; 16], Vec::new());
            let received = peek(&other, &mut bytes, &mut descriptors, RecvFlags::DONTWAIT).unwrap();
            assert_eq!(received, Received { bytes: 1, descriptors: seen, is_cut: false });
            assert_eq!(descriptors.len(), usize::from(sent == 1));
            assert_eq!(ioctl_fionread(&other).unwrap(), 1);
            assert_eq!(consume(&other, &mut bytes[..1]), Ok(sent > 0));
            assert_eq!(ioctl_fionread(&other).unwrap(), 0);
        }
    }

    #[test]
    fn consume_leaves_descriptors_of_next_message() {
        let (one, other) = UnixStream::pair().unwrap();
        let (pipe, _writer) = std::io::pipe().unwrap();
        send(&one, b"ab", &[], SendFlags::empty()).unwrap();
        send(&one, b"c", &[pipe.as_fd()], SendFlags::empty()).unwrap();
        let (mut bytes, mut descriptors) = ([0; 2], Vec::new());
        let received = peek(&other, &mut bytes, &mut descriptors, RecvFlags::DONTWAIT).unwrap();
        assert_eq!(received.bytes, 2);
        assert_eq!(consume(&other, &mut bytes), Ok(false));
        assert_eq!(read(&other, RecvFlags::DONTWAIT).0.descriptors, 1, "it is still there");
    }

    #[test]
    fn connection_with_unread_descriptors_closes_at_once() {
        use crate::descriptor::tests::{SlowToClose, occupy_all_closers};

        let _occupied = occupy_all_closers();
        // Further descriptors that are slow to close wait for a closer; their connections do not.
        let slow = SlowToClose::new();
        let (sender, socket) = UnixStream::pair().unwrap();
        let (watched, watch) = UnixStream::pair().unwrap();
        send(&sender, b"abc", &[], SendFlags::empty()).unwrap();
        send(&sender, b"d", &[slow.as_fd()], SendFlags::empty()).unwrap();
        send(&sender, b"d", &[watch.as_fd()], SendFlags::empty()).unwrap();
        send(&sender, b"e", &[crate::segment::create(4096).unwrap().1.as_fd()], SendFlags::empty())
            .unwrap();
        drop(watch);
        let number = socket.as_raw_fd();
        let inode = |fd: i32| std::fs::read_link(format!("/proc/self/fd/{fd}")).ok();
        let before = inode(number);
        close_connection(socket.into());
        assert_ne!(inode(number), before, "the socket itself waits");
        drop(watched);
    }

    #[test]
    fn connection_with_urgent_byte_is_closed_at_once() {
        use crate::descriptor::tests::SlowToClose;

        let mut slow = SlowToClose::new();
        let (sender, socket) = UnixStream::pair().unwrap();
        send(&sender, b"a", &[slow.as_fd()], SendFlags::OOB).unwrap();
        send(&sender, b"b", &[], SendFlags::empty()).unwrap();
        drop(slow.take());
        let (closed, is_closed) = std::sync::mpsc::channel();
        let closing = std::thread::spawn(move || {
            close_connection(socket.into());
            let _ = closed.send(());
        });
        let outcome = is_closed.recv_timeout(std::time::Duration::from_secs(10));
        // Ends the slow close.
        drop(slow);
        closing.join().unwrap();
        outcome.expect("closed at once");
    }

    #[test]
    fn discard_unread_stops_at_its_limits() {
        let (pipe, _writer) = std::io::pipe().unwrap();
        for (messages, each, taken) in [(8, 1, 8), (9, 1, 8), (2, 2, 0)] {
            let (one, other) = UnixStream::pair().unwrap();
            for _ in 0..messages {
                send(&one, b"x", &vec![pipe.as_fd(); each], SendFlags::empty()).unwrap();
            }
            let other = OwnedFd::from(other);
            assert_eq!(discard_unread(&other), messages * each == taken);
            let left = ioctl_fionread(&other).unwrap() as usize;
            assert_eq!((messages - left) * each, taken, "{messages} messages of {each}");
        }
    }

    #[test]
    fn a_send_buffer_only_grows() {
        let (one, _other) = UnixStream::pair().unwrap();
        set_socket_send_buffer_size(&one, 4096).unwrap();
        assert!(socket_send_buffer_size(&one).unwrap() < 65_536);
        assert!(widen_send_buffer(&one, 65_536).unwrap() >= 65_536);
        assert!(widen_send_buffer(&one, 8192).unwrap() >= 65_536);
    }

    #[test]
    fn there_is_room_for_as_many_descriptors_as_a_message_may_carry() {
        let (one, other) = UnixStream::pair().unwrap();
        let (pipe, _writer) = std::io::pipe().unwrap();
        let fds = [pipe.as_fd(); DESCRIPTOR_ROOM + 1];
        let send = |fds: &[BorrowedFd<'_>]| {
            let mut space =
                [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_ROOM + 1))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            assert!(control.push(SendAncillaryMessage::ScmRights(fds)));
            sendmsg(&one, &[IoSlice::new(b"x")], &mut control, SendFlags::empty())
        };
        assert_eq!(send(&fds), Err(Errno::INVAL));
        send(&fds[1..]).unwrap();
        let (received, descriptors) = read(&other, RecvFlags::DONTWAIT);
        assert_eq!(received, Received { bytes: 1, descriptors: 253, is_cut: false });
        assert_eq!(descriptors.len(), DESCRIPTOR_ROOM);
    }
}
