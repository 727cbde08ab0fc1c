//! The system calls on a stream socket that carries messages.

use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use breezeway_os::scm::{Lost, receive};
use breezeway_os::{Deadline, ready};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, recv, send, sendmsg, shutdown,
};

use super::LinkError;
use crate::carrier::Carrier;
use crate::protocol::CallViolation;

/// A connected stream socket.
pub(super) struct StreamSocket {
    socket: OwnedFd,
    /// Whether a peer can send descriptors, which are a violation, and closed elsewhere: closing
    /// one may take long.
    has_descriptors: bool,
}

/// What came of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// So many bytes, at least one.
    Bytes(usize),
    /// Nothing is there now.
    Nothing,
    /// Nothing will come any more.
    End,
}

/// What came of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Write {
    /// So many bytes went out.
    Bytes(usize),
    /// There is no room now.
    Full,
    /// The peer reads no more.
    End,
}

impl StreamSocket {
    pub(super) fn new(socket: OwnedFd, carrier: Carrier) -> Self {
        Self { socket, has_descriptors: carrier == Carrier::Unix }
    }

    /// `recv`, sleeping for the first byte if `blocking`.
    pub(super) fn read(&self, room: &mut [u8], blocking: bool) -> Result<Read, LinkError> {
        debug_assert!(!room.is_empty(), "no room reads as an end");
        let flags = if blocking { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        let outcome = if self.has_descriptors {
            self.receive_without_descriptors(room, flags)
        } else {
            recv(&self.socket, room, flags).map(|(_, len)| len).map_err(LinkError::from)
        };
        match outcome {
            Ok(0) | Err(LinkError::Io(Errno::CONNRESET | Errno::TIMEDOUT | Errno::PIPE)) => {
                Ok(Read::End)
            }
            Ok(len) => Ok(Read::Bytes(len)),
            Err(LinkError::Io(Errno::AGAIN)) if blocking => {
                // Somebody who shares the socket has made it non-blocking.
                ready(&self.socket, PollFlags::IN, Deadline::NEVER)?;
                Ok(Read::Nothing)
            }
            Err(LinkError::Io(Errno::AGAIN | Errno::INTR)) => Ok(Read::Nothing),
            Err(error) => Err(error),
        }
    }

    /// `recvmsg`; a descriptor that comes along is a violation.
    fn receive_without_descriptors(
        &self,
        room: &mut [u8],
        flags: RecvFlags,
    ) -> Result<usize, LinkError> {
        let mut descriptors = Vec::new();
        let received = receive(&self.socket, room, &mut descriptors, flags)?;
        // Those that did not arrive were sent all the same.
        let lost = match received.lost {
            Some(Lost::TooMany | Lost::NoRoom) => 1,
            None => 0,
        };
        match received.descriptors + lost {
            0 => Ok(received.bytes),
            many => Err(CallViolation::Descriptors(many).into()),
        }
    }

    /// `send` or `sendmsg`, never waiting.
    pub(super) fn write(&self, slices: &[IoSlice<'_>]) -> Result<Write, Errno> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let outcome = match slices {
            [only] => send(&self.socket, only, flags),
            several => {
                let mut control = SendAncillaryBuffer::default();
                sendmsg(&self.socket, several, &mut control, flags)
            }
        };
        match outcome {
            Ok(len) => Ok(Write::Bytes(len)),
            Err(Errno::AGAIN) => Ok(Write::Full),
            Err(Errno::INTR) => Ok(Write::Bytes(0)),
            Err(Errno::PIPE | Errno::CONNRESET | Errno::TIMEDOUT) => Ok(Write::End),
            Err(errno) => Err(errno),
        }
    }

    /// Sleeps until one of these is so, or the other side is gone; false if the deadline passed
    /// first.
    pub(super) fn poll(&self, flags: PollFlags, deadline: Deadline) -> Result<bool, Errno> {
        ready(&self.socket, flags, deadline)
    }

    /// Ends the connection for both, also where a forked child holds a copy of the socket.
    pub(super) fn shut_down(&self) {
        // Fails only if the peer was faster.
        let _ = shutdown(&self.socket, Shutdown::Both);
    }
}

impl AsFd for StreamSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
