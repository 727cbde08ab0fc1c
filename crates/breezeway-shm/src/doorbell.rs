//! The session socket: doorbell bytes, segment descriptors, and the peer's end (`docs/abi.md`,
//! section 1).
//!
//! A descriptor received while this process has no free descriptor number is lost (recvmsg(2)).
//! Every read therefore only peeks, from the offset where the last one ended (`SO_PEEK_OFF`), and
//! the peeked bytes are consumed later, many at once: a sleeper makes one system call, as it would
//! without peeking, and so does a reader that an edge-triggered event has woken.
//!
//! Each descriptor is validated and mapped by the read that receives it, and closed. A pending
//! segment takes no descriptor of this process, and the socket is always read to its end: past the
//! segments, up to the end of file if the peer has closed.

mod bell;
mod error;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, shutdown};

use crate::pending::PendingCount;
use crate::ring::layout::MAX_PENDING_SEGMENTS;
use crate::violation::Violation;
use breezeway_os::scm;
use breezeway_os::segment::{self, Mapping, SegmentError};
use breezeway_os::shortage::RETRY_AFTER;
use breezeway_os::{
    Connection, Deadline, Origin, any_ready, ready, reports_urgent_bytes, shortage,
};

pub(crate) use bell::Bell;
pub use error::SocketError;

const DOORBELL: u8 = 0;
const SEGMENT: u8 = 1;
/// Minimum size of a session socket's send buffer, in the kernel's accounting: room for 64 doorbell
/// bytes, which a peer may leave unread, and 64 segments, at less than 800 bytes each.
pub const SEND_BUFFER: usize = 160 * 1024;
/// Bytes per read; a socket holds a few hundred of these one-byte messages at most.
const READ: usize = 512;
/// Reads in search of one segment. A peer that rings without end only leaves bytes of its own
/// session unread.
const MAX_READS: usize = 32;
/// Reads that empty the socket of everything that a conforming peer may have left there: each
/// segment ends one read.
const MAX_DRAIN_READS: usize = MAX_PENDING_SEGMENTS + MAX_READS;
/// Maximum number of bytes peeked and not consumed. A peek passes over them, and the system call
/// that consumes them takes longer the more there are.
const MAX_PEEKED: usize = 8;

/// Outcome of a read.
#[derive(Debug)]
enum Read {
    /// Bytes, at least one. More may be there.
    Bytes,
    /// Bytes, with nothing behind them but the peer's end, or an urgent byte and what follows it.
    LastBytes,
    /// Nothing is there, or the peer has closed.
    Nothing,
    /// This process has no descriptor number or no room for a segment, or the kernel no memory. The
    /// unread bytes are still in the socket.
    Shortage(SegmentError),
}

/// This side's end of the session socket.
pub(crate) struct Doorbell {
    bell: Arc<Bell>,
    origin: Origin,
    /// Segments that were received and that no consumed entry has announced yet.
    pending: VecDeque<Mapping>,
    /// Sum of their sizes; at most twice the cap.
    pending_bytes: u64,
    /// Pending segments counted against the peer's process.
    counted: PendingCount,
    /// Largest segment accepted: the cap.
    max_segment: u64,
    /// Bytes peeked and not consumed.
    peeked: usize,
    /// True if the kernel supports `SO_PEEK_OFF`. Otherwise each read consumes.
    has_peek_offset: bool,
    /// True if a short peek without a descriptor ends where nothing is left, or at the peer's end
    /// or an urgent byte, which events report.
    short_peek_is_last: bool,
    closed: bool,
    /// True if the peer no longer reads.
    unheard: bool,
}

impl Doorbell {
    /// Creates the doorbell of a session on `socket`. `cap` is the maximum of payload bytes per
    /// direction.
    pub(crate) fn new(socket: OwnedFd, cap: u64) -> Self {
        let (socket, origin) = (Connection::from(socket), Origin::here());
        let has_peek_offset = scm::set_peek_offset(&socket, 0).is_ok();
        Self {
            bell: Arc::new(Bell { socket }),
            origin,
            pending: VecDeque::new(),
            pending_bytes: 0,
            counted: PendingCount::new(),
            max_segment: cap,
            peeked: 0,
            has_peek_offset,
            short_peek_is_last: has_peek_offset && reports_urgent_bytes(),
            closed: false,
            unheard: false,
        }
    }

    fn socket(&self) -> &OwnedFd {
        &self.bell.socket
    }

    /// Returns the part that other threads use to ring.
    pub(crate) fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }

    /// Returns true after the peer's end of file was read.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns true if the peer no longer reads the socket, as a failed ring has shown, or is gone.
    #[inline]
    pub(crate) fn is_unheard(&self) -> bool {
        self.unheard || self.closed
    }

    /// Marks the peer as gone, even if a child of the peer still holds the socket open. Entries
    /// that the peer has sent can still be taken.
    pub(crate) fn peer_gone(&mut self) {
        self.closed = true;
    }

    /// Wakes a peer that announced that it sleeps.
    pub(crate) fn ring(&mut self) -> Result<(), SocketError> {
        self.unheard |= !self.bell.ring()?;
        Ok(())
    }

    /// Sends a payload segment's descriptor to the peer. `EAGAIN` (the peer leaves hundreds of
    /// bytes unread) and `ETOOMANYREFS` are shortages.
    pub(crate) fn send_segment(&self, fd: BorrowedFd<'_>) -> Result<(), Errno> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        loop {
            match scm::send(self.socket(), &[SEGMENT], &[fd], flags) {
                Ok(_) | Err(Errno::PIPE | Errno::CONNRESET) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Reads the socket empty without blocking: discards doorbell bytes, maps segments, notes end
    /// of file. Returns false if bytes may remain: a descriptor for which this process has no
    /// number, or bytes that the peer sends faster than they are read.
    pub(crate) fn drain(&mut self) -> Result<bool, SocketError> {
        let is_empty = self.read_until(|read| matches!(read, Read::Nothing))?;
        self.consume()?;
        Ok(is_empty)
    }

    /// Reads the bytes of an edge-triggered event that has reported neither the peer's end nor an
    /// urgent byte: mostly one `recvmsg`. If either came behind the event, another event reports
    /// it. Returns false like [`drain`](Self::drain).
    pub(crate) fn read_event(&mut self) -> Result<bool, SocketError> {
        let is_read = self.read_until(|read| matches!(read, Read::LastBytes | Read::Nothing))?;
        self.consume_many()?;
        Ok(is_read)
    }

    /// Reads without blocking until a read `is_last`. Returns false if there was none.
    fn read_until(&mut self, is_last: impl Fn(&Read) -> bool) -> Result<bool, SocketError> {
        for _ in 0..MAX_DRAIN_READS {
            if self.closed {
                break;
            }
            match self.read(RecvFlags::DONTWAIT)? {
                read if is_last(&read) => return Ok(true),
                Read::Shortage(_) => break,
                _ => {}
            }
        }
        Ok(self.closed)
    }

    /// Sleeps until the doorbell rings or the peer closes: one `recvmsg`. May return early.
    pub(crate) fn sleep(&mut self) -> Result<(), SocketError> {
        if self.closed {
            return Ok(());
        }
        match self.read(RecvFlags::empty())? {
            Read::Bytes | Read::LastBytes => self.consume_many(),
            Read::Shortage(_) => self.pause(RETRY_AFTER),
            // Nothing, and no end of file: another holder of the socket has made it non-blocking.
            Read::Nothing if !self.closed => {
                self.consume()?;
                ready(self.socket(), PollFlags::IN, Deadline::NEVER)?;
                Ok(())
            }
            Read::Nothing => Ok(()),
        }
    }

    /// Sleeps like [`sleep`](Self::sleep), for at most `timeout`: `poll`, then a read.
    pub(crate) fn sleep_for(&mut self, timeout: Duration) -> Result<(), SocketError> {
        if self.closed {
            return Ok(());
        }
        // Peeked bytes that are not consumed would make poll return at once.
        self.consume()?;
        if ready(self.socket(), PollFlags::IN, Deadline::after(timeout))?
            && matches!(self.read(RecvFlags::DONTWAIT)?, Read::Shortage(_))
        {
            self.pause(timeout.min(RETRY_AFTER))?;
        }
        Ok(())
    }

    /// Sleeps like [`sleep`](Self::sleep), but returns also when `other` is readable.
    pub(crate) fn sleep_beside(
        &mut self,
        other: BorrowedFd<'_>,
        deadline: Deadline,
    ) -> Result<(), SocketError> {
        if self.closed {
            return Ok(());
        }
        // Peeked bytes that are not consumed would make poll return at once.
        self.consume()?;
        let mut polled =
            [PollFd::new(self.socket(), PollFlags::IN), PollFd::new(&other, PollFlags::IN)];
        any_ready(&mut polled, deadline)?;
        if !polled[0].revents().is_empty()
            && matches!(self.read(RecvFlags::DONTWAIT)?, Read::Shortage(_))
        {
            self.pause(RETRY_AFTER)?;
        }
        Ok(())
    }

    /// Waits for a short time, because no event reports that a descriptor number is free again.
    fn pause(&mut self, time: Duration) -> Result<(), SocketError> {
        self.closed |= ready(self.socket(), PollFlags::RDHUP, Deadline::after(time))?;
        Ok(())
    }

    /// Reads once. Only bytes of segments are consumed; all others are peeked and stay in the
    /// socket.
    fn read(&mut self, flags: RecvFlags) -> Result<Read, SocketError> {
        let mut bytes = [0; READ];
        let mut descriptors = Vec::new();
        let received = match scm::peek(self.socket(), &mut bytes, &mut descriptors, flags) {
            Ok(received) => received,
            Err(Errno::AGAIN) => return Ok(Read::Nothing),
            Err(Errno::INTR) => return Ok(Read::Bytes),
            Err(errno @ (Errno::NOMEM | Errno::NOBUFS)) => {
                return Ok(Read::Shortage(not_received(errno)));
            }
            Err(Errno::CONNRESET) => {
                self.closed = true;
                return Ok(Read::Nothing);
            }
            Err(errno) => return Err(errno.into()),
        };
        if received.descriptors > 1 {
            // One read returns the descriptors of one message, of which at most one is allowed.
            // They stay in the socket and are closed with it.
            return Err(Violation::UnwantedDescriptors.into());
        }
        if received.is_cut {
            return self.leave(not_received(Errno::MFILE));
        }
        let bytes = &bytes[..received.bytes];
        let Some(&last) = bytes.last() else {
            self.closed = true;
            return Ok(Read::Nothing);
        };
        let (mut descriptor, mut segment) = (descriptors.pop(), None);
        if last == SEGMENT
            && let Some(descriptor) = &descriptor
        {
            // Map at once: the descriptor may be the peer's own end of this connection, which must
            // not stay open.
            match segment::map_foreign(descriptor, 1..=self.max_segment) {
                Err(error) if error.is_shortage() => return self.leave(error),
                Err(error) => segment = Some(Err(error)),
                Ok(mapping) => {
                    let (pending, size) = (self.pending.len(), mapping.size());
                    // Not left in the socket as in a shortage: it would hide the peer's end of
                    // file, and the peer's other sessions may never make room.
                    let counted = self.counted.add(pending, size, &self.bell.socket);
                    segment = Some(counted.map(|()| mapping));
                }
            }
        }
        self.peeked += bytes.len();
        if descriptor.is_some() || !self.has_peek_offset {
            // A descriptor in the socket is open and counts against its sender. Consuming it does
            // not block, because a copy of it is held here.
            let came_along = self.consume()?;
            if bytes.len() == READ && !came_along {
                // A peek that fills its buffer also returns the descriptors of the next message,
                // which are still in the socket.
                if let Some(Ok(_)) = segment {
                    self.counted.remove(self.pending.len() + 1);
                }
                (descriptor, segment) = (None, None);
            }
        }
        check(bytes, descriptor.is_some())?;
        let is_last = self.short_peek_is_last && descriptor.is_none() && bytes.len() < READ;
        if let (Some(descriptor), Some(segment)) = (descriptor, segment) {
            self.add_pending(segment.map_err(Violation::from)?)?;
            descriptor.close_mapped();
        }
        Ok(if is_last { Read::LastBytes } else { Read::Bytes })
    }

    /// Leaves the bytes of the last read in the socket, because this process is short of a
    /// resource.
    fn leave(&self, error: SegmentError) -> Result<Read, SocketError> {
        if self.has_peek_offset {
            scm::set_peek_offset(self.socket(), self.peeked)?;
        }
        Ok(Read::Shortage(error))
    }

    fn add_pending(&mut self, segment: Mapping) -> Result<(), Violation> {
        let bytes = self.pending_bytes + segment.size() as u64;
        let (count, limit) = (self.pending.len() + 1, self.max_segment.saturating_mul(2));
        if count > MAX_PENDING_SEGMENTS || bytes > limit {
            return Err(Violation::PendingSegments { count, bytes, limit });
        }
        self.pending_bytes = bytes;
        self.pending.push_back(segment);
        Ok(())
    }

    fn consume_many(&mut self) -> Result<(), SocketError> {
        if self.peeked < MAX_PEEKED { Ok(()) } else { self.consume().map(drop) }
    }

    /// Consumes the peeked bytes. Returns true if descriptors came with them.
    fn consume(&mut self) -> Result<bool, SocketError> {
        let (mut bytes, mut had_descriptors) = ([0; READ], false);
        while self.peeked > 0 {
            let len = self.peeked.min(READ);
            match shortage::retry(|| scm::consume(self.socket(), &mut bytes[..len])) {
                Ok(had) => {
                    had_descriptors |= had;
                    self.peeked -= len;
                }
                Err(Errno::CONNRESET) => {
                    self.closed = true;
                    self.peeked = 0;
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(had_descriptors)
    }

    /// Takes the next segment in order, reading the socket if none is pending, even after end of
    /// file.
    pub(crate) fn take_segment(&mut self) -> Result<Mapping, SocketError> {
        for _ in 0..MAX_READS {
            if !self.pending.is_empty() {
                break;
            }
            match self.read(RecvFlags::DONTWAIT)? {
                Read::Bytes | Read::LastBytes => self.consume_many()?,
                Read::Nothing => break,
                Read::Shortage(error) => return Err(SocketError::Shortage(error)),
            }
        }
        self.counted.remove(self.pending.len());
        let segment = self.pending.pop_front().ok_or(Violation::SegmentMissing)?;
        self.pending_bytes -= segment.size() as u64;
        Ok(segment)
    }
}

/// Error of a segment that this process cannot receive now.
fn not_received(source: Errno) -> SegmentError {
    SegmentError::Call { call: "recvmsg", size: 0, source }
}

/// Checks the bytes of a read. A read ends with the byte that carries a descriptor, so only its
/// last byte can be a segment.
fn check(bytes: &[u8], has_descriptor: bool) -> Result<(), Violation> {
    let (&last, others) = bytes.split_last().expect("a read gave at least one byte");
    if let Some(&byte) = others.iter().find(|&&byte| byte != DOORBELL) {
        return Err(Violation::SocketByte(byte));
    }
    match last {
        DOORBELL | SEGMENT if (last == SEGMENT) == has_descriptor => Ok(()),
        DOORBELL | SEGMENT => Err(Violation::UnwantedDescriptors),
        other => Err(Violation::SocketByte(other)),
    }
}

impl Drop for Doorbell {
    fn drop(&mut self) {
        if !self.origin.is_here() {
            return;
        }
        // Ends the connection for both sides, also where a forked child holds a copy of the socket.
        // Fails only if the peer has already closed.
        let _ = shutdown(self.socket(), Shutdown::Both);
        // Reads the doorbell bytes, which are most of the unread bytes. Dropping the bell, usually
        // right after this, closes the rest.
        let _ = self.drain();
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }
}

#[cfg(test)]
mod tests;
