//! The system calls on a stream socket that carries messages.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use breezeway_os::ForeignDescriptor;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown,
    recv, recvmsg, send, sendmsg, shutdown,
};

use super::LinkError;
use crate::carrier::Carrier;
use crate::handshake::timespec;
use crate::protocol::CallViolation;

/// Room for descriptors in a read: none is allowed, and one is enough to see that.
const DESCRIPTOR_ROOM: usize = 4;

/// A connected stream socket.
pub(super) struct Stream {
    socket: OwnedFd,
    /// Whether a peer can send descriptors, which are to be seen, and closed elsewhere: closing one may take long.
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

impl Stream {
    pub(super) fn new(socket: OwnedFd, carrier: Carrier) -> Self {
        Self { socket, has_descriptors: carrier == Carrier::Unix }
    }

    /// `recv`, sleeping for the first byte if `blocking`.
    pub(super) fn read(&self, room: &mut [u8], blocking: bool) -> Result<Read, LinkError> {
        debug_assert!(!room.is_empty(), "no room looks like an end");
        let flags = if blocking { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        let outcome = if self.has_descriptors {
            self.receive_message(room, flags)?
        } else {
            recv(&self.socket, room, flags).map(|(_, len)| len)
        };
        match outcome {
            Ok(0) | Err(Errno::CONNRESET | Errno::TIMEDOUT | Errno::PIPE) => Ok(Read::End),
            Ok(len) => Ok(Read::Bytes(len)),
            Err(Errno::AGAIN) if blocking => {
                // Somebody who shares the socket has made it non-blocking.
                self.poll(PollFlags::IN, None)?;
                Ok(Read::Nothing)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(Read::Nothing),
            Err(errno) => Err(errno.into()),
        }
    }

    /// `recvmsg`; a descriptor that comes along is a violation.
    fn receive_message(
        &self,
        room: &mut [u8],
        flags: RecvFlags,
    ) -> Result<Result<usize, Errno>, CallViolation> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_ROOM))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut room = [IoSliceMut::new(room)];
        let flags = flags | RecvFlags::CMSG_CLOEXEC;
        let outcome = recvmsg(&self.socket, &mut room, &mut control, flags);
        let mut descriptors = 0;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                descriptors += fds.map(ForeignDescriptor::from).count();
            }
        }
        match descriptors {
            0 => Ok(outcome.map(|message| message.bytes)),
            many => Err(CallViolation::Descriptors(many)),
        }
    }

    /// `send` or `sendmsg`, never waiting.
    pub(super) fn write(&self, slices: &[IoSlice<'_>]) -> Result<Write, LinkError> {
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
            Err(errno) => Err(errno.into()),
        }
    }

    /// Sleeps until one of these is so, or the other side is gone, or the timeout is over.
    pub(super) fn poll(
        &self,
        flags: PollFlags,
        timeout: Option<Duration>,
    ) -> Result<(), LinkError> {
        let timeout = timeout.map(timespec);
        match poll(&mut [PollFd::new(&self.socket, flags)], timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Ends the connection for both, also where a forked child holds a copy of the socket.
    pub(super) fn shut_down(&self) {
        // Fails only if the peer was faster.
        let _ = shutdown(&self.socket, Shutdown::Both);
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
