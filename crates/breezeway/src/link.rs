//! One process's end of a session, over any carrier: the base of calls.
//!
//! Shared memory is the fast carrier; the others use a socket. Each operation is described once for
//! both, and so are ordering, errors and lifetimes.
//!
//! A link moves messages and contains no rule of calls; those are in [`breezeway_proto`].

mod owned;

use std::os::fd::BorrowedFd;
use std::task::Waker;

use breezeway_os::segment::SegmentError;
use breezeway_os::{Deadline, TrustedPeer};
use breezeway_proto::{Head, RawHead};
use breezeway_shm::layout::INLINE_MAX;
use breezeway_shm::statistics::Meter;
use breezeway_shm::{
    self as shm, Account, Filling, ForeignBytes, Message, PayloadMemory, SendError, Want,
};

pub(crate) use owned::OwnedBody;

use crate::carrier::shm::{in_numbers, raw_head};
use crate::carrier::{Body, Carrier, LinkError, MemoryLink, Notice, SocketLink, Status};

/// One process's end of a session.
pub(crate) struct Link {
    pub(crate) carrier: Carrier,
    /// Size of the largest message.
    pub(crate) cap: usize,
    /// Number of calls of [`Self::take`] that may be needed for everything that can have come;
    /// `None` on a socket, which has no such limit.
    pub(crate) most_pending: Option<usize>,
    end: End,
}

#[allow(clippy::large_enum_variant, reason = "one per session, and the large one is the fast one")]
enum End {
    Memory(MemoryLink),
    Socket(SocketLink),
}

use End::{Memory, Socket};

/// Extent of a [flush](Link::flush).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flush {
    /// Everything. A socket that takes no more is written to when it has room again.
    All,
    /// Everything, waiting until the deadline while a socket has no room.
    AllBy(Deadline),
    /// The progress that the peer may wait for, before this side polls for more without sleeping.
    Progress,
}

// ---- what it is ----
impl Link {
    /// Creates an end in shared memory.
    pub(crate) fn in_memory(link: MemoryLink) -> Self {
        let (cap, most_pending) = (link.endpoint.cap(), Some(link.endpoint.most_pending()));
        Self { carrier: Carrier::Shm, cap, most_pending, end: Memory(link) }
    }

    /// Creates an end on a socket.
    pub(crate) fn on_socket(link: SocketLink) -> Self {
        Self { carrier: link.carrier, cap: link.cap, most_pending: None, end: Socket(link) }
    }

    /// Returns the memory that payload segments take now; zero on a socket, which has none.
    pub(crate) fn payload_memory(&self) -> PayloadMemory {
        match &self.end {
            Memory(link) => link.endpoint.payload_memory(),
            Socket(_) => PayloadMemory::default(),
        }
    }

    /// Returns the session's meter.
    #[inline]
    pub(crate) fn meter(&self) -> &Meter {
        match &self.end {
            Memory(link) => link.endpoint.meter(),
            Socket(link) => &link.meter,
        }
    }

    /// Returns received bodies as slices from now on; a socket's bodies always are.
    pub(crate) fn trust(&mut self, proof: TrustedPeer) {
        match &mut self.end {
            Memory(link) => link.endpoint.trust(proof),
            Socket(_) => {}
        }
    }
}

// ---- sending ----
impl Link {
    /// Prepares for threads that share the session: messages are taken with the memory that
    /// [`Self::detach`] needs, and a part of the memory is kept for `streams` streams that hold
    /// nothing.
    pub(crate) fn share(&mut self, streams: usize) {
        match &mut self.end {
            Memory(link) => link.endpoint.keep_for_streams(streams),
            Socket(link) => link.keep_messages(),
        }
    }

    /// Sets the account that memory is charged to from now on.
    #[inline]
    pub(crate) fn set_account(&mut self, account: Account) {
        if let Memory(link) = &mut self.end {
            link.endpoint.set_account(account);
        }
    }

    /// Reserves space for the next message, of `len` bytes, and gives back earlier space.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, len: usize) -> Result<(), SendError> {
        match &mut self.end {
            Memory(link) => link.endpoint.renew(&mut link.space, len),
            Socket(link) => link.reserve(len),
        }
    }

    /// Returns the reserved space and the current message's body, to fill the space, also from the
    /// body.
    #[inline(always)]
    pub(crate) fn fill(&mut self) -> Filling<'_> {
        match &mut self.end {
            Memory(link) => link.endpoint.fill(&mut link.space),
            Socket(link) => link.fill(),
        }
    }

    /// Returns the bytes of payload memory that are in flight to the peer, or with it, and the
    /// event that reduces them, or brings other room. Collects the released memory first if
    /// `are_many` returns true for the bytes known so far. A socket has none: its buffer holds a
    /// sender back.
    pub(crate) fn in_flight(&mut self, are_many: impl FnOnce(usize) -> bool) -> (usize, Want) {
        match &mut self.end {
            Memory(link) => (link.endpoint.in_flight(are_many), link.endpoint.more_memory()),
            Socket(_) => (0, Want::Consumed(0)),
        }
    }

    /// Publishes a message, inline or lent by its size. A spinning peer may see it at once;
    /// [`Self::flush`] makes sure.
    #[inline(always)]
    pub(crate) fn send(&mut self, head: Head, body: Body<'_>) -> Result<(), SendError> {
        match &mut self.end {
            Memory(link) => {
                let body = match body {
                    Body::Bytes(bytes) => {
                        if bytes.len() > INLINE_MAX {
                            // Space that was not sent could be the missing memory.
                            link.endpoint.abandon(&mut link.space);
                        }
                        shm::Body::Bytes(bytes)
                    }
                    Body::Space => shm::Body::Space(&mut link.space),
                    Body::Received => shm::Body::Received,
                };
                link.endpoint.send(in_numbers(head), body)
            }
            Socket(link) => link.send(head, body),
        }
    }

    /// Sets whether many messages will follow each other, none of which the peer is waiting for.
    pub(crate) fn set_batching(&mut self, batching: bool) {
        if let Memory(link) = &mut self.end {
            link.endpoint.set_batching(batching);
        }
    }

    /// Lets the peer see everything published so far, or all that it may wait for.
    #[inline(always)]
    pub(crate) fn flush(&mut self, flush: Flush) -> Result<(), LinkError> {
        match (&mut self.end, flush) {
            (Memory(link), Flush::All | Flush::AllBy(_)) => Ok(link.endpoint.flush()?),
            (Memory(link), Flush::Progress) => Ok(link.endpoint.flush_progress()?),
            (Socket(link), Flush::AllBy(deadline)) => link.write_all(deadline),
            (Socket(link), Flush::All | Flush::Progress) => link.write_now(),
        }
    }

    /// Checks whether the peer is gone, unless it has taken something since the last call. (A write
    /// to a socket reports it.)
    #[cold]
    pub(crate) fn check_peer(&mut self) -> Result<(), LinkError> {
        match &mut self.end {
            Memory(link) => Ok(link.endpoint.check_peer()?),
            Socket(_) => Ok(()),
        }
    }
}

// ---- receiving ----
impl Link {
    /// Returns true if `want` holds: the next message, or another entry, is there, or the peer has
    /// made room. (On a socket, room is there unless too much is unwritten.)
    #[inline(always)]
    pub(crate) fn has(&mut self, want: Want) -> Result<bool, LinkError> {
        match (&mut self.end, want) {
            (Memory(link), want) => Ok(link.endpoint.has(want)?),
            (Socket(link), Want::Data) => link.has_frame(),
            (Socket(link), Want::Consumed(_) | Want::Memory { .. }) => {
                Ok(!link.status().backlogged)
            }
        }
    }

    /// Takes the next message, if one is there; it stays the current one until [`Self::finish`].
    /// May return false although more is there, after a piece of an entry about a segment.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Result<bool, LinkError> {
        match &mut self.end {
            Memory(link) => Ok(link.endpoint.take()?),
            Socket(link) => link.take(),
        }
    }

    /// Returns true if a message was taken and not finished.
    pub(crate) fn has_current(&self) -> bool {
        match &self.end {
            Memory(link) => link.endpoint.has_current(),
            Socket(link) => link.has_current(),
        }
    }

    /// Returns the current message's head, not validated.
    #[inline(always)]
    pub(crate) fn head(&self) -> RawHead {
        match &self.end {
            Memory(link) => raw_head(link.endpoint.entry()),
            Socket(link) => link.head(),
        }
    }

    /// Returns the current message's body.
    #[inline(always)]
    pub(crate) fn body(&self) -> ForeignBytes<'_> {
        match &self.end {
            Memory(link) => link.endpoint.body(),
            Socket(link) => link.body(),
        }
    }

    /// Returns true if the peer lends the current message's body.
    #[inline]
    pub(crate) fn is_lent(&self) -> bool {
        match &self.end {
            Memory(link) => link.endpoint.is_lent(),
            Socket(_) => false,
        }
    }

    /// Copies a private body of up to 104 bytes.
    #[inline]
    pub(crate) fn copy_small(&self, room: &mut [u8; INLINE_MAX]) {
        match &self.end {
            Memory(link) => *room = link.endpoint.entry().inline_room(),
            Socket(link) => {
                let body = link.body();
                body.copy_to(&mut room[..body.len()]);
            }
        }
    }

    /// Takes the private memory that [`Self::detach`] needs for a large message on a socket.
    pub(crate) fn reserve_detached(&mut self) -> Result<(), SegmentError> {
        match &mut self.end {
            Memory(_) => Ok(()),
            Socket(link) => link.reserve_detached(),
        }
    }

    /// Ends the current message like [`Self::finish`], and returns its body to be kept. Panics if
    /// there is none.
    pub(crate) fn detach(&mut self) -> Message {
        match &mut self.end {
            Memory(link) => link.endpoint.detach(),
            Socket(link) => link.detach(),
        }
    }

    /// Releases the current message's body ahead of [`Self::finish`], so that the release travels
    /// with the next message sent.
    #[inline(always)]
    pub(crate) fn release(&mut self) {
        if let Memory(link) = &mut self.end {
            link.endpoint.release();
        }
    }

    /// Ends the current message; does nothing without one.
    #[inline(always)]
    pub(crate) fn finish(&mut self) -> Result<(), LinkError> {
        match &mut self.end {
            Memory(link) => Ok(link.endpoint.finish()?),
            Socket(link) => {
                link.finish();
                Ok(())
            }
        }
    }
}

// ---- waiting ----
impl Link {
    /// Waits for the next message, or for the peer to take or release sent messages. (On a socket
    /// the peer's consumption is not counted: the wait is for unwritten bytes.)
    #[inline(always)]
    pub(crate) fn wait(&mut self, want: Want, deadline: Deadline) -> Result<(), LinkError> {
        match &mut self.end {
            Memory(link) => Ok(link.waiter.wait(&mut link.endpoint, want, deadline)?),
            Socket(link) => match want {
                Want::Data => link.wait(deadline),
                Want::Consumed(_) | Want::Memory { .. } => link.wait_for_room(deadline),
            },
        }
    }

    /// Announces that this side is about to sleep until `want` holds, and polls once more. Returns
    /// true if it does not hold. If it is for memory, reserved space that is dropped unsent wakes
    /// `waker`.
    pub(crate) fn prepare_sleep(
        &mut self,
        want: Want,
        waker: Option<&Waker>,
    ) -> Result<bool, LinkError> {
        match &mut self.end {
            Memory(link) => Ok(link.endpoint.prepare_sleep(want, waker)?),
            // The socket is watched for room.
            Socket(link) => link.may_sleep(),
        }
    }

    /// Reads the bytes that have come on the socket beside messages, and validates them.
    pub(crate) fn drain(&mut self) -> Result<(), LinkError> {
        match &mut self.end {
            Memory(link) => Ok(link.endpoint.drain()?),
            Socket(_) => Ok(()),
        }
    }

    /// Reads, like [`drain`](Self::drain), what the noted events have reported.
    pub(crate) fn read_unread(&mut self) -> Result<(), LinkError> {
        match &mut self.end {
            Memory(link) => Ok(link.endpoint.read_unread()?),
            Socket(_) => Ok(()),
        }
    }

    /// Returns the session socket, to be watched. Only the link reads or writes it.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        match &self.end {
            Memory(link) => link.endpoint.socket(),
            Socket(link) => link.socket(),
        }
    }

    /// Takes note of the begin of a turn, or of an event of the socket.
    #[inline(always)]
    pub(crate) fn notice(&mut self, notice: Notice) -> Result<(), LinkError> {
        match (&mut self.end, notice) {
            (Memory(_), Notice::Turn) => Ok(()),
            (Memory(link), Notice::Bytes) => {
                link.endpoint.note_bytes();
                Ok(())
            }
            (Memory(link), Notice::Readable) => {
                link.endpoint.note_readable();
                Ok(())
            }
            (Memory(link), Notice::PeerGone) => Ok(link.endpoint.peer_gone()?),
            (Socket(link), notice) => {
                link.notice(notice);
                Ok(())
            }
        }
    }

    /// Returns the status of this end, as far as it is known.
    #[inline(always)]
    pub(crate) fn status(&self) -> Status {
        match &self.end {
            Memory(link) => {
                let closed = link.endpoint.is_closed();
                Status {
                    closed,
                    gone: closed,
                    reads: !link.endpoint.is_write_closed(),
                    unread: link.endpoint.is_unread(),
                    unwritten: 0,
                    backlogged: false,
                    announces_room: link.endpoint.is_release_announced(),
                }
            }
            Socket(link) => link.status(),
        }
    }

    /// Publishes the CPU on which this side waits. If a side spins without that, the peer may
    /// believe that both share one CPU, and sleep.
    pub(crate) fn note_cpu(&self) {
        if let Memory(link) = &self.end {
            link.endpoint.note_cpu();
        }
    }

    /// Returns true if it is known that the peer last waited on the CPU that this thread runs on.
    pub(crate) fn shares_cpu(&self) -> bool {
        match &self.end {
            Memory(link) => link.endpoint.shares_cpu(),
            Socket(_) => false,
        }
    }
}
