//! The system calls on a stream socket that carries messages.

use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd};

use breezeway_os::scm::{receive, widen_send_buffer};
use breezeway_os::{Deadline, any_ready, ready};
use breezeway_proto::CallViolation;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, shutdown};

use crate::carrier::plain::{Read, Write, read, read_by, write};
use crate::carrier::wire::Wire;
use crate::carrier::{Carrier, LinkError};

/// Bytes from which a write that finds no room widens the buffer of a unix socket.
const WIDENED_FROM: usize = 64 * 1024;
/// Size of the widened buffer, as the kernel counts, unless the system allows less. A writer is
/// woken once three quarters are read; of the usual 208 KiB a reader has read the rest before the
/// writer runs.
const WIDE: usize = 512 * 1024;

/// A connected stream socket.
pub(super) struct StreamSocket {
    wire: Wire,
    /// True if a peer can send descriptors, which are a violation, and are closed elsewhere:
    /// closing one may take long.
    has_descriptors: bool,
    /// True if the socket's buffer is as wide as it gets.
    is_wide: bool,
}

impl StreamSocket {
    pub(super) fn new(mut wire: Wire, carrier: Carrier) -> Self {
        wire.read_in_bulk();
        // The kernel enlarges the buffer of TCP.
        let is_unix = carrier == Carrier::Unix;
        Self { wire, has_descriptors: is_unix, is_wide: !is_unix }
    }

    /// Reads once, and sleeps for the first byte if `blocking`.
    pub(super) fn read(&mut self, room: &mut [u8], blocking: bool) -> Result<Read, LinkError> {
        debug_assert!(!room.is_empty(), "no room reads as an end");
        let flags = if blocking { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        let read = match &mut self.wire {
            Wire::Tls(tls) => tls.read(room, blocking)?,
            Wire::Plain(socket) if self.has_descriptors => {
                read_without_descriptors(socket.as_fd(), room, flags)?
            }
            Wire::Plain(socket) => read(socket, room, flags)?,
        };
        if blocking && read == Read::Nothing {
            // Another process that shares the socket has made it non-blocking.
            ready(&self.wire, PollFlags::IN, Deadline::NEVER)?;
        }
        Ok(read)
    }

    /// Returns true if a read may find something that the socket does not report, so that no caller
    /// may wait for the socket before that read.
    pub(super) fn has_buffered(&self) -> bool {
        match &self.wire {
            Wire::Plain(_) => false,
            Wire::Tls(tls) => tls.has_buffered(),
        }
    }

    /// Writes once, and never waits.
    pub(super) fn write(&mut self, slices: &[IoSlice<'_>]) -> Result<Write, Errno> {
        let socket = match &mut self.wire {
            Wire::Tls(tls) => return tls.write(slices),
            Wire::Plain(socket) => socket,
        };
        match write(socket, slices, SendFlags::DONTWAIT)? {
            Write::Full if self.widens(slices) => Ok(Write::Bytes(0)),
            written => Ok(written),
        }
    }

    /// Widens the buffer if that helps. Returns true if there is more room for `slices` now.
    fn widens(&mut self, slices: &[IoSlice<'_>]) -> bool {
        let len: usize = slices.iter().map(|slice| slice.len()).sum();
        if self.is_wide || len < WIDENED_FROM {
            return false;
        }
        self.is_wide = true;
        widen_send_buffer(&self.wire, WIDE).is_ok()
    }

    /// Returns true if written bytes are not out yet.
    #[inline(always)]
    pub(super) fn has_unwritten(&self) -> bool {
        match &self.wire {
            Wire::Plain(_) => false,
            Wire::Tls(tls) => tls.has_unwritten(),
        }
    }

    /// Sends the written bytes, as far as there is room.
    pub(super) fn flush(&mut self) -> Result<Write, Errno> {
        match &mut self.wire {
            Wire::Plain(_) => Ok(Write::Bytes(0)),
            Wire::Tls(tls) => tls.flush(),
        }
    }

    /// Sleeps until one of the events in `flags` has occurred, or the peer is gone. Returns the
    /// events, and none if the deadline passed first.
    pub(super) fn poll(&self, flags: PollFlags, deadline: Deadline) -> Result<PollFlags, Errno> {
        let mut polled = [PollFd::new(&self.wire, flags)];
        any_ready(&mut polled, deadline)?;
        Ok(polled[0].revents())
    }

    /// Ends the connection for both, also where a forked child holds a copy of the socket.
    pub(super) fn shut_down(&mut self) {
        if let Wire::Tls(tls) = &mut self.wire {
            tls.say_goodbye();
        }
        // Fails only if the peer was faster.
        let _ = shutdown(&self.wire, Shutdown::Both);
    }
}

/// Reads a unix socket once. A descriptor that comes along is a violation.
fn read_without_descriptors(
    socket: BorrowedFd<'_>,
    room: &mut [u8],
    flags: RecvFlags,
) -> Result<Read, LinkError> {
    let mut count = 0;
    let read = read_by(room.len(), || {
        let mut descriptors = Vec::new();
        let received = receive(socket, room, &mut descriptors, flags)?;
        // Descriptors that did not arrive were sent nevertheless.
        count = received.descriptors + usize::from(received.is_cut);
        Ok(received.bytes)
    })?;
    if count == 0 { Ok(read) } else { Err(CallViolation::Descriptors(count).into()) }
}

impl AsFd for StreamSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wire.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use rustix::net::send;
    use rustix::net::sockopt::socket_send_buffer_size;

    use breezeway_adversary::interception::{Which, with_faults};

    use super::*;

    #[test]
    fn full_unix_socket_is_widened_once_for_large_writes() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let before = socket_send_buffer_size(&ours).unwrap();
        let mut socket = StreamSocket::new(OwnedFd::from(ours).into(), Carrier::Unix);
        let fill = |socket: &mut StreamSocket, bytes: &[u8]| {
            (0..1 << 20).any(|_| socket.write(&[IoSlice::new(bytes)]).unwrap() == Write::Full)
        };
        assert!(fill(&mut socket, &[0; 1000]));
        assert_eq!(socket_send_buffer_size(&socket).unwrap(), before, "for a little");
        assert!(fill(&mut socket, &[0; WIDENED_FROM]));
        assert!(socket_send_buffer_size(&socket).unwrap() > before);
        assert_eq!(socket.write(&[IoSlice::new(&[0; WIDENED_FROM])]).unwrap(), Write::Full);
    }

    #[test]
    fn interrupted_read_returns_received_bytes() {
        for carrier in [Carrier::Unix, Carrier::Tcp] {
            let (ours, theirs) = UnixStream::pair().unwrap();
            send(&theirs, b"here", SendFlags::empty()).unwrap();
            let mut socket = StreamSocket::new(OwnedFd::from(ours).into(), carrier);
            let mut signals = [Errno::INTR, Errno::INTR].into_iter();
            let calls = [(libc::SYS_recvfrom, Which::All), (libc::SYS_recvmsg, Which::All)];
            let read = with_faults(
                &calls,
                |_| signals.next(),
                || {
                    matches!(
                        socket.read(&mut [0; 9], false),
                        Ok(Read::Bytes { len: 4, more: false })
                    )
                },
            );
            match read {
                Ok(is_all) => assert!(is_all, "{carrier:?}"),
                Err(error) => {
                    return println!("SKIPPED: no system calls can be intercepted: {error}");
                }
            }
            assert_eq!(signals.next(), None, "no signal came");
        }
    }
}
