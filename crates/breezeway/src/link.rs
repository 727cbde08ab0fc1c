//! One process's end of a session, over whichever carrier: what calls are made of.
//!
//! Shared memory is the fast way, and a socket the other: each operation is described once for
//! both. What is said of ordering, errors and lifetimes holds for both.
//!
//! A link moves messages and knows no rule of calls; those are in [`breezeway_proto`].

mod error;
mod memory;
mod owned;
mod receive_buffer;
mod send_buffer;
mod socket;
mod stream_socket;

use std::os::fd::BorrowedFd;

use breezeway_os::segment::SegmentError;
use breezeway_os::{Deadline, TrustedPeer};
use breezeway_proto::{Head, RawHead};
use breezeway_shm::layout::INLINE_MAX;
use breezeway_shm::statistics::{HandlerTimes, Meter, Record};
use breezeway_shm::{
    self as shm, Account, Filling, ForeignBytes, Message, PayloadMemory, SendError, Want,
};

pub(crate) use error::{LinkError, Unreceived, WaitFailure};
pub(crate) use memory::MemoryLink;
pub(crate) use owned::OwnedBody;
pub(crate) use socket::{SHORTAGE_PATIENCE, SocketLink};
pub(crate) use stream_socket::{Read, Write};

use crate::carrier::Carrier;

/// What a message is sent from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body<'a> {
    /// These bytes: copied, or on a socket written from where they lie.
    Bytes(&'a [u8]),
    /// The reserved space, which was filled. On an error it stays reserved.
    Space,
    /// The current message's own body, which is released with it.
    Received,
}

/// One process's end of a session.
#[allow(clippy::large_enum_variant, reason = "one per session, and the large one is the fast one")]
pub(crate) enum Link {
    Memory(MemoryLink),
    Socket(SocketLink),
}

use Link::{Memory, Socket};

// ---- what it is ----
impl Link {
    pub(crate) fn carrier(&self) -> Carrier {
        match self {
            Memory(_) => Carrier::Shm,
            Socket(link) => link.carrier(),
        }
    }

    /// The largest message.
    pub(crate) fn cap(&self) -> usize {
        match self {
            Memory(link) => link.endpoint.cap(),
            Socket(link) => link.cap(),
        }
    }

    /// What payload segments take now; nothing where there are none.
    pub(crate) fn payload_memory(&self) -> PayloadMemory {
        match self {
            Memory(link) => link.endpoint.payload_memory(),
            Socket(_) => PayloadMemory::default(),
        }
    }

    /// Its numbers.
    #[inline]
    pub(crate) fn meter(&mut self) -> &mut Meter {
        match self {
            Memory(link) => link.endpoint.meter(),
            Socket(link) => link.meter(),
        }
    }

    /// Where its handlers are noted.
    pub(crate) fn handler_times(&self) -> Option<HandlerTimes> {
        match self {
            Memory(link) => link.endpoint.handler_times(),
            Socket(link) => link.meter.handler_times(),
        }
    }

    /// What it has counted so far.
    pub(crate) fn stats(&self) -> Record {
        match self {
            Memory(link) => link.endpoint.stats(),
            Socket(link) => link.meter.record(),
        }
    }

    /// From now on bodies are given as slices; a socket's always are.
    pub(crate) fn trust(&mut self, proof: TrustedPeer) {
        match self {
            Memory(link) => link.endpoint.trust(proof),
            Socket(_) => {}
        }
    }
}

// ---- sending ----
impl Link {
    /// Keeps a part of the memory for so many streams that hold nothing.
    pub(crate) fn keep_for_streams(&mut self, streams: usize) {
        if let Memory(link) = self {
            link.endpoint.keep_for_streams(streams);
        }
    }

    /// Whose memory is what is taken from now on.
    #[inline]
    pub(crate) fn set_account(&mut self, account: Account) {
        if let Memory(link) = self {
            link.endpoint.set_account(account);
        }
    }

    /// Takes space for the next message, of `len` bytes, giving back what was reserved before.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, len: usize) -> Result<(), SendError> {
        match self {
            Memory(link) => link.endpoint.renew(&mut link.space, len),
            Socket(link) => link.reserve(len),
        }
    }

    /// The reserved space and the current message's body, to fill the one, also from the other.
    #[inline(always)]
    pub(crate) fn fill(&mut self) -> Filling<'_> {
        match self {
            Memory(link) => link.endpoint.fill(&mut link.space),
            Socket(link) => link.fill(),
        }
    }

    /// Bytes of payload memory that are under way to the peer, or with it, as far as is known; none
    /// on a socket, which holds a sender back by itself.
    #[inline]
    pub(crate) fn under_way(&self) -> usize {
        match self {
            Memory(link) => link.endpoint.under_way(),
            Socket(_) => 0,
        }
    }

    /// Learns what of it has come back, and says what to wait for so that more does.
    pub(crate) fn collect_released(&mut self) -> Want {
        match self {
            Memory(link) => {
                link.endpoint.collect_released();
                link.endpoint.more_memory()
            }
            Socket(_) => Want::Consumed(0),
        }
    }

    /// Gives reserved space back.
    pub(crate) fn abandon(&mut self) {
        match self {
            Memory(link) => link.endpoint.abandon(&mut link.space),
            Socket(link) => link.abandon(),
        }
    }

    /// Publishes a message, inline or lent by its size. A spinning peer may see it at once;
    /// [`Self::flush`] makes sure.
    #[inline(always)]
    pub(crate) fn send(&mut self, head: Head, body: Body<'_>) -> Result<(), SendError> {
        match self {
            Memory(link) => {
                let body = match body {
                    Body::Bytes(bytes) => {
                        if bytes.len() > INLINE_MAX {
                            // Space that nobody sent could be what is short.
                            link.endpoint.abandon(&mut link.space);
                        }
                        shm::Body::Bytes(bytes)
                    }
                    Body::Space => shm::Body::Space(&mut link.space),
                    Body::Received => shm::Body::Received,
                };
                link.endpoint.send(memory::in_numbers(head), body)
            }
            Socket(link) => link.send(head, body),
        }
    }

    /// Says whether many messages will follow each other, none of which the peer is waiting for.
    pub(crate) fn set_batching(&mut self, batching: bool) {
        if let Memory(link) = self {
            link.endpoint.set_batching(batching);
        }
    }

    /// Lets the peer see everything published so far, waiting, on a socket, for room.
    #[inline(always)]
    pub(crate) fn flush(&mut self, deadline: Deadline) -> Result<(), WaitFailure> {
        match self {
            Memory(link) => Ok(link.endpoint.flush()?),
            Socket(link) => link.write_all(deadline),
        }
    }

    /// As [`Self::flush`], without waiting: a socket that takes no more is written to when it has
    /// room again.
    #[inline(always)]
    pub(crate) fn flush_now(&mut self) -> Result<(), LinkError> {
        match self {
            Memory(link) => Ok(link.endpoint.flush()?),
            Socket(link) => link.write_now(),
        }
    }

    /// Lets the peer see what it may wait for, before this side polls for more without sleeping.
    /// Never waits.
    #[inline(always)]
    pub(crate) fn flush_progress(&mut self) -> Result<(), LinkError> {
        match self {
            Memory(link) => Ok(link.endpoint.flush_progress()?),
            Socket(link) => link.write_now(),
        }
    }

    /// Whether something is left to be written once the socket has room.
    #[inline(always)]
    pub(crate) fn has_unwritten(&self) -> bool {
        match self {
            Memory(_) => false,
            Socket(link) => link.has_unwritten(),
        }
    }

    /// Bytes that are left to be written; those within TLS count as one.
    pub(crate) fn unwritten(&self) -> usize {
        match self {
            Memory(_) => 0,
            Socket(link) => link.unwritten(),
        }
    }

    /// Whether so much is unwritten that nothing should be added, and so no further request served.
    /// (In shared memory, calls in flight are limited so that replies always fit.)
    #[inline(always)]
    pub(crate) fn is_backlogged(&self) -> bool {
        match self {
            Memory(_) => false,
            Socket(link) => link.is_backlogged(),
        }
    }

    /// Asks whether the peer is gone, unless it has taken something since the last call. (A socket
    /// shows it when it is written to.)
    #[cold]
    pub(crate) fn check_peer(&mut self) -> Result<(), LinkError> {
        match self {
            Memory(link) => Ok(link.endpoint.check_peer()?),
            Socket(_) => Ok(()),
        }
    }

    /// Whether it is known that nobody will read what is sent.
    #[inline(always)]
    pub(crate) fn is_write_closed(&self) -> bool {
        match self {
            Memory(link) => link.endpoint.is_write_closed(),
            Socket(link) => link.is_write_closed(),
        }
    }
}

// ---- receiving ----
impl Link {
    /// Whether the next message, or another entry, is there.
    #[inline(always)]
    pub(crate) fn ready(&mut self) -> Result<bool, LinkError> {
        match self {
            Memory(link) => Ok(link.endpoint.has(Want::Data)?),
            Socket(link) => link.has_frame(),
        }
    }

    /// How often [`Self::take`] may have to be asked for all that can have come, with so many calls
    /// in flight.
    pub(crate) fn max_pending(&self, in_flight: usize) -> usize {
        match self {
            Memory(link) => link.endpoint.most_pending(),
            // A reply to each, that the server goes away, and the farewell.
            Socket(_) => in_flight + 2,
        }
    }

    /// Takes the next message, if one is there; it stays the current one until [`Self::finish`].
    /// May say false although more is there, after a piece of an entry about a segment.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Result<bool, LinkError> {
        match self {
            Memory(link) => Ok(link.endpoint.take()?),
            Socket(link) => link.take(),
        }
    }

    /// Whether a message was taken and not finished.
    pub(crate) fn has_current(&self) -> bool {
        match self {
            Memory(link) => link.endpoint.has_current(),
            Socket(link) => link.has_current(),
        }
    }

    /// What the current message says of itself, unjudged.
    #[inline(always)]
    pub(crate) fn head(&self) -> RawHead {
        match self {
            Memory(link) => memory::raw_head(link.endpoint.entry()),
            Socket(link) => link.head(),
        }
    }

    /// The current message's body.
    #[inline(always)]
    pub(crate) fn body(&self) -> ForeignBytes<'_> {
        match self {
            Memory(link) => link.endpoint.body(),
            Socket(link) => link.body(),
        }
    }

    /// Bytes of the current message's body, if nobody can change it and it has up to 104.
    #[inline]
    pub(crate) fn small_len(&self) -> Option<usize> {
        let is_private = match self {
            Memory(link) => !link.endpoint.is_lent(),
            Socket(_) => true,
        };
        let len = self.body().len();
        (is_private && len <= INLINE_MAX).then_some(len)
    }

    /// Copies a body that has a [small length](Self::small_len).
    #[inline]
    pub(crate) fn copy_small(&self, room: &mut [u8; INLINE_MAX]) {
        match self {
            Memory(link) => *room = link.endpoint.inline_body(),
            Socket(link) => {
                let body = link.body();
                body.copy_to(&mut room[..body.len()]);
            }
        }
    }

    /// Takes the next message as [`Self::take`] does, with the memory that [`Self::detach`] needs.
    #[inline(always)]
    pub(crate) fn take_to_keep(&mut self) -> Result<bool, LinkError> {
        match self {
            Memory(link) => Ok(link.endpoint.take()?),
            Socket(link) => link.take_to_keep(),
        }
    }

    /// Takes the private memory that [`Self::detach`] needs for a large message on a socket.
    pub(crate) fn reserve_detached(&mut self) -> Result<(), SegmentError> {
        match self {
            Memory(_) => Ok(()),
            Socket(link) => link.reserve_detached(),
        }
    }

    /// Ends the current message as [`Self::finish`] does, and gives its body to be kept. Panics
    /// without one.
    pub(crate) fn detach(&mut self) -> Message {
        match self {
            Memory(link) => link.endpoint.detach(),
            Socket(link) => link.detach(),
        }
    }

    /// As [`Self::detach`], if the peer lends the current message's body.
    pub(crate) fn lease(&mut self) -> Option<Message> {
        match self {
            Memory(link) => link.endpoint.is_lent().then(|| link.endpoint.detach()),
            Socket(_) => None,
        }
    }

    /// Releases the current message's body ahead of [`Self::finish`], so that the release travels
    /// with the next message sent.
    #[inline(always)]
    pub(crate) fn release(&mut self) {
        if let Memory(link) = self {
            link.endpoint.release();
        }
    }

    /// Ends the current message; does nothing without one.
    #[inline(always)]
    pub(crate) fn finish(&mut self) -> Result<(), LinkError> {
        match self {
            Memory(link) => Ok(link.endpoint.finish()?),
            Socket(link) => {
                link.finish();
                Ok(())
            }
        }
    }
}

/// An event of a session's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// Something has arrived.
    Readable,
    /// The peer is gone. What it sent before can still be taken.
    PeerGone,
}

// ---- waiting ----
impl Link {
    /// Waits for the next message, or for the peer to take or release some of what was sent. (On a
    /// socket nobody counts what the peer takes: the wait is for what is unwritten.)
    #[inline(always)]
    pub(crate) fn wait(&mut self, want: Want, deadline: Deadline) -> Result<(), WaitFailure> {
        match self {
            Memory(link) => Ok(link.wait(want, deadline)?),
            Socket(link) => match want {
                Want::Data => link.wait(deadline),
                Want::Consumed(_) | Want::Memory { .. } => link.wait_for_room(deadline),
            },
        }
    }

    /// Announces that this side is about to sleep until a message comes, and polls once more. True
    /// if it has not come.
    pub(crate) fn prepare_sleep(&mut self) -> Result<bool, LinkError> {
        match self {
            Memory(link) => Ok(link.endpoint.prepare_sleep(Want::Data)?),
            Socket(link) => link.may_sleep(),
        }
    }

    /// As [`Self::prepare_sleep`], also until there may be what is wanted.
    pub(crate) fn prepare_sleep_for(&mut self, want: Want) -> Result<bool, LinkError> {
        match self {
            Memory(link) => Ok(link.prepare_sleep_for(want)?),
            // The socket is watched for it.
            Socket(link) => link.may_sleep(),
        }
    }

    /// What brings more room than there was when [`Self::has_new_room`] was last asked.
    pub(crate) fn more_room(&self) -> Want {
        match self {
            Memory(link) => link.more_room,
            // Nobody counts what the peer takes.
            Socket(_) => Want::Data,
        }
    }

    /// Whether more room still ends the sleep that was prepared for it: whoever has looked for
    /// memory since has taken back what was announced.
    pub(crate) fn is_room_announced(&self) -> bool {
        match self {
            Memory(link) => link.endpoint.is_release_announced(),
            // The socket is watched for it.
            Socket(_) => true,
        }
    }

    /// Whether the peer has made room, in its ring or of memory, since the last call.
    pub(crate) fn has_new_room(&mut self) -> Result<bool, LinkError> {
        match self {
            Memory(link) => Ok(link.has_new_room()?),
            Socket(link) => Ok(!link.is_backlogged()),
        }
    }

    /// Whether messages travel on a socket, and more of them can be sent now.
    pub(crate) fn has_room_on_socket(&self) -> bool {
        match self {
            Memory(_) => false,
            Socket(link) => !link.is_backlogged(),
        }
    }

    /// Waits for a message, or for more room than when [`Self::has_new_room`] was last asked.
    pub(crate) fn wait_for_room(&mut self, deadline: Deadline) -> Result<(), WaitFailure> {
        match self {
            Memory(link) => Ok(link.wait_for_room(deadline)?),
            Socket(link) => link.wait_for_room(deadline),
        }
    }

    /// Returns true if the socket may hold something beside messages that no event will report
    /// again.
    #[inline]
    pub(crate) fn is_unread(&self) -> bool {
        match self {
            Memory(link) => link.endpoint.is_unread(),
            Socket(_) => false,
        }
    }

    /// Reads what has come on the socket beside messages, and validates it.
    pub(crate) fn drain(&mut self) -> Result<(), LinkError> {
        match self {
            Memory(link) => Ok(link.endpoint.drain()?),
            Socket(_) => Ok(()),
        }
    }

    /// The session socket, to be watched. Nobody else may read or write it.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        match self {
            Memory(link) => link.endpoint.socket(),
            Socket(link) => link.socket(),
        }
    }

    /// Lets the next [`Self::take`] read the socket, if messages travel on it, whether or not an
    /// event has reported it readable.
    #[inline(always)]
    pub(crate) fn look(&mut self) {
        if let Socket(link) = self {
            link.notice(Notice::Readable);
        }
    }

    /// Takes note of an event of the socket.
    pub(crate) fn notice(&mut self, notice: Notice) -> Result<(), LinkError> {
        match (self, notice) {
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

    /// Whether the peer is gone. What it published before can still be taken.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Memory(link) => link.endpoint.is_closed(),
            Socket(link) => link.is_closed(),
        }
    }

    /// Whether nobody is known to be left at the peer's end of the socket, whatever is unread.
    pub(crate) fn is_peer_gone(&self) -> bool {
        match self {
            Memory(link) => link.endpoint.is_closed(),
            Socket(link) => link.is_peer_gone(),
        }
    }

    /// Publishes on which CPU this side waits: whoever spins without that may leave the peer to
    /// believe that both share one, and to sleep.
    pub(crate) fn note_cpu(&self) {
        if let Memory(link) = self {
            link.endpoint.note_cpu();
        }
    }

    /// Whether the peer last waited on the CPU that this thread runs on, if that is known.
    pub(crate) fn shares_cpu(&self) -> bool {
        match self {
            Memory(link) => link.endpoint.shares_cpu(),
            Socket(_) => false,
        }
    }
}
