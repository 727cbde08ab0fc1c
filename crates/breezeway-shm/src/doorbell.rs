//! The session socket: doorbell bytes, segment descriptors, and the peer's end (`docs/abi.md`, section 1).

use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, recvmsg, send, sendmsg, shutdown,
};
use thiserror::Error;

use crate::violation::Violation;
use breezeway_os::ForeignDescriptor;

const DOORBELL: u8 = 0;
const SEGMENT: u8 = 1;
/// Segments that may have come before the entries that announce them. A sender is one ahead; entries wait while this side does something else.
const MOST_UNANNOUNCED: usize = 16;
/// Room for descriptors in a read: more than are allowed, so that surplus ones are seen.
const DESCRIPTOR_ROOM: usize = 8;
/// Bytes read at once; a socket holds a few hundred of these one-byte messages at most.
const READ: usize = 512;
/// Reads in one go; a peer that rings without end only keeps its own session's bytes unread.
const MOST_READS: usize = 32;

/// The session socket failed.
#[derive(Debug, Error)]
pub enum SocketError {
    /// The peer sent what the ABI does not allow.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// The peer has left hundreds of bytes unread on its socket, so a segment cannot be handed over.
    #[error("the peer reads nothing from the session socket")]
    Stuck,
    /// This is a forked child of the process that opened the session.
    #[error("a session cannot be used in a forked child; open one there")]
    Forked,
    /// A system call failed.
    #[error("session socket: {0}")]
    Call(#[from] Errno),
}

/// Our end of the session socket.
pub(crate) struct Doorbell {
    socket: OwnedFd,
    /// Descriptors that arrived and that no entry has announced yet.
    unannounced: VecDeque<ForeignDescriptor>,
    closed: bool,
    /// Whether the peer reads no more.
    unheard: bool,
}

impl Doorbell {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, unannounced: VecDeque::new(), closed: false, unheard: false }
    }

    /// Whether the peer's end of file was seen.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether the peer reads the socket no more, as a doorbell that could not be rung has shown, or is
    /// gone.
    #[inline]
    pub(crate) fn is_unheard(&self) -> bool {
        self.unheard || self.closed
    }

    /// The peer is known to be gone, even if a child of it still holds the socket open. What it has sent can still be taken.
    pub(crate) fn peer_gone(&mut self) {
        self.closed = true;
    }

    /// Wakes a peer that announced that it sleeps. If the socket is full, bytes are pending that wake it all the same; if the peer
    /// is gone, the end of file will tell.
    pub(crate) fn ring(&mut self) -> Result<(), SocketError> {
        match send(&self.socket, &[DOORBELL], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(_) | Err(Errno::AGAIN) => Ok(()),
            Err(Errno::PIPE | Errno::CONNRESET) => {
                self.unheard = true;
                Ok(())
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// Hands a payload segment's descriptor to the peer.
    pub(crate) fn send_segment(&self, fd: BorrowedFd<'_>) -> Result<(), SocketError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let fds = [fd];
        loop {
            let mut control = SendAncillaryBuffer::new(&mut space);
            let fits = control.push(SendAncillaryMessage::ScmRights(&fds));
            debug_assert!(fits, "the buffer has room for one descriptor");
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match sendmsg(&self.socket, &[IoSlice::new(&[SEGMENT])], &mut control, flags) {
                Ok(_) | Err(Errno::PIPE | Errno::CONNRESET) => return Ok(()),
                // Doorbell bytes, of which an honest peer leaves 64 at the most, do not fill a socket.
                Err(Errno::AGAIN) => return Err(SocketError::Stuck),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Reads the socket empty without blocking: forgets doorbell bytes, keeps descriptors, notes the end of file.
    pub(crate) fn drain(&mut self) -> Result<(), SocketError> {
        for _ in 0..MOST_READS {
            if self.closed || !self.read_once(RecvFlags::DONTWAIT)? {
                break;
            }
        }
        Ok(())
    }

    /// Sleeps until the doorbell rings or the peer goes: one `recvmsg`. May return early.
    pub(crate) fn sleep(&mut self) -> Result<(), SocketError> {
        if self.closed || self.read_once(RecvFlags::empty())? {
            return Ok(());
        }
        if !self.is_closed() {
            // Nothing, and no end: somebody who shares the socket has made it non-blocking.
            self.poll(None)?;
        }
        Ok(())
    }

    /// As [`Self::sleep`], for at most `timeout`: `poll`, then `recvmsg`.
    pub(crate) fn sleep_for(&mut self, timeout: Duration) -> Result<(), SocketError> {
        let timeout = Timespec {
            tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        if self.poll(Some(&timeout))? { self.drain() } else { Ok(()) }
    }

    /// Waits until there is something to read; false if the timeout was faster.
    fn poll(&self, timeout: Option<&Timespec>) -> Result<bool, SocketError> {
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], timeout) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// One read; false if there was nothing.
    fn read_once(&mut self, flags: RecvFlags) -> Result<bool, SocketError> {
        let mut bytes = [0; READ];
        // Room for more than is allowed, so that too many are seen, and closed, instead of being cut off.
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_ROOM))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = flags | RecvFlags::CMSG_CLOEXEC;
        let (received, cut) =
            match recvmsg(&self.socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags) {
                Ok(message) => (message.bytes, message.flags.contains(ReturnFlags::CTRUNC)),
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => return Ok(true),
                Err(Errno::CONNRESET) => (0, false),
                Err(errno) => return Err(errno.into()),
            };
        let descriptors = received_descriptors(&mut control);
        if cut && descriptors.len() < DESCRIPTOR_ROOM {
            // There was room in the message, so none is left for open files here: not the peer's fault.
            return Err(Errno::MFILE.into());
        }
        if received == 0 {
            self.closed = true;
            return Ok(false);
        }
        self.judge(&bytes[..received], descriptors)?;
        Ok(true)
    }

    /// A read ends with the byte that carries descriptors, so only the last byte can be a segment.
    fn judge(
        &mut self,
        bytes: &[u8],
        descriptors: Vec<ForeignDescriptor>,
    ) -> Result<(), Violation> {
        let (&last, others) = bytes.split_last().expect("a read gave at least one byte");
        if let Some(&byte) = others.iter().find(|&&byte| byte != DOORBELL) {
            return Err(Violation::SocketByte(byte));
        }
        let expected = match last {
            DOORBELL => 0,
            SEGMENT => 1,
            other => return Err(Violation::SocketByte(other)),
        };
        if descriptors.len() != expected || self.unannounced.len() + expected > MOST_UNANNOUNCED {
            return Err(Violation::UnwantedDescriptors);
        }
        self.unannounced.extend(descriptors);
        Ok(())
    }

    /// The next segment descriptor in order, read from the socket if need be, also after the peer's end.
    pub(crate) fn take_segment(&mut self) -> Result<Option<ForeignDescriptor>, SocketError> {
        while self.unannounced.is_empty() && self.read_once(RecvFlags::DONTWAIT)? {}
        Ok(self.unannounced.pop_front())
    }

    /// Ends the connection for both, also where a forked child holds a copy of the socket.
    pub(crate) fn shut_down(&self) {
        // Fails only if the peer was faster.
        let _ = shutdown(&self.socket, Shutdown::Both);
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn received_descriptors(control: &mut RecvAncillaryBuffer<'_>) -> Vec<ForeignDescriptor> {
    control
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        })
        .flatten()
        .map(ForeignDescriptor::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn pair() -> (Doorbell, Doorbell) {
        let (one, other) = UnixStream::pair().unwrap();
        (Doorbell::new(one.into()), Doorbell::new(other.into()))
    }

    #[test]
    fn any_number_of_doorbell_bytes_mean_nothing_more_than_one() {
        let (mut ringing, mut hearing) = pair();
        for _ in 0..10_000 {
            ringing.ring().unwrap();
        }
        hearing.drain().unwrap();
        assert!(!hearing.is_closed());
    }

    #[test]
    fn the_end_of_file_is_noticed_after_what_came_before() {
        let (ringing, mut hearing) = pair();
        ringing.send_segment(std::io::stdin().as_fd()).unwrap();
        drop(ringing);
        hearing.drain().unwrap();
        assert!(hearing.is_closed());
        assert!(hearing.take_segment().unwrap().is_some());
        assert!(hearing.take_segment().unwrap().is_none());
    }

    #[test]
    fn another_byte_is_a_violation() {
        for bytes in [&b"GET / HTTP/1.1\r\n"[..], &[0, 0, 2], &[1], &[0, 1, 0]] {
            let (ringing, mut hearing) = pair();
            send(&ringing, bytes, SendFlags::empty()).unwrap();
            assert!(matches!(hearing.drain(), Err(SocketError::Violation(_))), "{bytes:?}");
        }
    }

    #[test]
    fn more_segments_than_allowed_are_a_violation() {
        let (ringing, mut hearing) = pair();
        for _ in 0..=MOST_UNANNOUNCED {
            ringing.send_segment(std::io::stdin().as_fd()).unwrap();
        }
        assert!(matches!(
            hearing.drain(),
            Err(SocketError::Violation(Violation::UnwantedDescriptors))
        ));
    }

    #[test]
    fn a_descriptor_with_a_doorbell_byte_is_a_violation() {
        let (ringing, mut hearing) = pair();
        let stdin = std::io::stdin();
        let fds = [stdin.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        sendmsg(&ringing, &[IoSlice::new(&[DOORBELL])], &mut control, SendFlags::empty()).unwrap();
        assert!(matches!(
            hearing.drain(),
            Err(SocketError::Violation(Violation::UnwantedDescriptors))
        ));
    }
}
