//! One process's end of a session, over whichever carrier: what calls are made of.
//!
//! Shared memory is the fast way, and a socket the other: here each operation is told once for both. What is said of ordering, errors and lifetimes holds for both.

mod error;
mod frame;
mod inbox;
mod memory;
mod outbox;
mod socket;
mod stream;

use std::os::fd::BorrowedFd;

use breezeway_os::TrustedPeer;
use breezeway_shm::layout::INLINE_MAX;
use breezeway_shm::{ForeignBytes, Head, PayloadMemory, ReserveError, Want};

pub(crate) use error::{LinkError, NotPublished, WaitFailure};
pub(crate) use memory::MemoryLink;
pub(crate) use socket::SocketLink;

use crate::carrier::Carrier;
use crate::protocol::PeerHead;

/// One process's end of a session.
#[allow(clippy::large_enum_variant, reason = "one per session, and the large one is the fast one")]
pub(crate) enum Link {
    Memory(MemoryLink),
    Socket(SocketLink),
}

use Link::{Memory, Socket};

impl Link {
    pub(crate) fn carrier(&self) -> Carrier {
        match self {
            Memory(_) => Carrier::Shm,
            Socket(link) => link.carrier(),
        }
    }

    /// From now on bodies are given as slices; a socket's always are.
    pub(crate) fn trust(&mut self, proof: TrustedPeer) {
        match self {
            Memory(link) => link.endpoint.trust(proof),
            Socket(_) => {}
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

    // ---- sending ----

    /// Takes space for the next message, of `len` bytes, giving back what was reserved before.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, len: usize) -> Result<(), ReserveError> {
        match self {
            Memory(link) => link.endpoint.renew(&mut link.space, len),
            Socket(link) => link.reserve(len),
        }
    }

    /// Gives reserved space back.
    pub(crate) fn abandon(&mut self) {
        match self {
            Memory(link) => link.endpoint.abandon(&mut link.space),
            Socket(link) => link.abandon(),
        }
    }

    /// The bytes of reserved space. They hold whatever this session wrote there before, or zeros.
    #[inline(always)]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Memory(link) => link.endpoint.bytes_mut(&mut link.space),
            Socket(link) => link.bytes_mut(),
        }
    }

    /// The current message's body and the bytes of reserved space.
    #[inline(always)]
    pub(crate) fn body_and_bytes_mut(&mut self) -> (ForeignBytes<'_>, &mut [u8]) {
        match self {
            Memory(link) => link.endpoint.body_and_bytes_mut(&mut link.space),
            Socket(link) => link.body_and_bytes_mut(),
        }
    }

    /// Copies `bytes` to `offset` of reserved space, the fastest way. Panics if they reach outside.
    #[inline(always)]
    pub(crate) fn fill(&mut self, offset: usize, bytes: &[u8]) {
        match self {
            Memory(link) => {
                link.endpoint.write(&mut link.space, offset, ForeignBytes::stable(bytes));
            }
            Socket(link) => link.bytes_mut()[offset..][..bytes.len()].copy_from_slice(bytes),
        }
    }

    /// Copies the current message's whole body to `offset` of reserved space. Panics if it reaches outside.
    #[inline(always)]
    pub(crate) fn fill_with_body(&mut self, offset: usize) {
        match self {
            Memory(link) => link.endpoint.write_body(&mut link.space, offset),
            Socket(link) => {
                let (body, to) = link.body_and_bytes_mut();
                body.copy_to(&mut to[offset..][..body.len()]);
            }
        }
    }

    /// Publishes a message of at most [`INLINE_MAX`] bytes. A spinning peer may see it at once; [`Self::flush`] makes sure.
    #[inline(always)]
    pub(crate) fn publish(&mut self, head: Head, body: &[u8]) -> Result<(), NotPublished> {
        debug_assert!(body.len() <= INLINE_MAX);
        match self {
            Memory(link) => Ok(link.endpoint.publish(head, body)?),
            Socket(link) => Ok(link.publish(head, body)?),
        }
    }

    /// As [`Self::reserve`] once more, after a look at how far the peer is. Where that has not helped, but waiting may: what to wait for.
    #[cold]
    pub(crate) fn reserve_after_refresh(
        &mut self,
        len: usize,
    ) -> Result<Result<(), u64>, ReserveError> {
        let Memory(link) = self else { return self.reserve(len).map(Ok) };
        // First how far the peer is, then what is released: what it released by then is visible now.
        link.endpoint.refresh()?;
        let consumed = link.endpoint.known_consumed();
        match link.endpoint.renew(&mut link.space, len) {
            Ok(()) => Ok(Ok(())),
            // Pending are also the entries by which the attempt has dropped segments.
            Err(ReserveError::NoMemory { .. }) if link.endpoint.published() > consumed => {
                Ok(Err(consumed))
            }
            Err(error) => Err(error),
        }
    }

    /// Waits until the peer has taken more than `count` entries.
    #[cold]
    pub(crate) fn wait_for_progress(
        &mut self,
        count: u64,
        deadline: Option<u64>,
    ) -> Result<(), WaitFailure> {
        match self {
            Memory(link) => Ok(link.wait(Want::Consumed(count), deadline)?),
            Socket(link) => link.write_all(deadline),
        }
    }

    /// Publishes a message of any size from where it lies; in shared memory by a copy into reserved space, from which [`Self::publish`] spares small ones.
    pub(crate) fn publish_from(&mut self, head: Head, body: &[u8]) -> Result<(), NotPublished> {
        match self {
            Memory(_) => {
                self.reserve(body.len())?;
                self.fill(0, body);
                self.publish_space(head)
            }
            Socket(link) if body.len() > link.cap() => {
                Err(ReserveError::TooLarge { len: body.len(), cap: link.cap() }.into())
            }
            Socket(link) => Ok(link.publish_from(head, body)??),
        }
    }

    /// Publishes the current message's own body as a message.
    #[inline(always)]
    pub(crate) fn publish_body(&mut self, head: Head) -> Result<(), NotPublished> {
        match self {
            Memory(_) => {
                self.reserve(self.body().len())?;
                self.fill_with_body(0);
                self.release_body();
                self.publish_space(head)
            }
            Socket(link) => Ok(link.publish_body(head)??),
        }
    }

    /// Publishes the reserved space, which was filled, as a message. On an error it stays reserved.
    #[inline(always)]
    pub(crate) fn publish_space(&mut self, head: Head) -> Result<(), NotPublished> {
        match self {
            Memory(link) => Ok(link.endpoint.publish_space(head, &mut link.space)?),
            Socket(link) => Ok(link.publish_space(head)?),
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
    pub(crate) fn flush(&mut self, deadline: Option<u64>) -> Result<(), WaitFailure> {
        match self {
            Memory(link) => Ok(link.endpoint.flush()?),
            Socket(link) => link.write_all(deadline),
        }
    }

    /// Whether it is known that nobody will see what is published. (In shared memory, a full ring tells.)
    #[inline(always)]
    pub(crate) fn goes_nowhere(&self) -> bool {
        match self {
            Memory(_) => false,
            Socket(link) => link.is_deaf(),
        }
    }

    /// Lets the peer see a reply at once: another call's handler may take long. Never waits.
    #[inline(always)]
    pub(crate) fn flush_reply(&mut self) -> Result<(), LinkError> {
        match self {
            Memory(link) => Ok(link.endpoint.flush()?),
            Socket(link) => link.write(),
        }
    }

    /// Whether so many replies are unwritten that no further request should be served. (In shared memory, calls in flight are limited so that replies always fit.)
    #[inline(always)]
    pub(crate) fn is_clogged(&self) -> bool {
        match self {
            Memory(_) => false,
            Socket(link) => link.is_clogged(),
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

    /// Lets the peer see what it may wait for, before this side looks for more without sleeping. Never waits.
    #[inline(always)]
    pub(crate) fn tell_progress(&mut self) -> Result<(), LinkError> {
        match self {
            Memory(link) => Ok(link.endpoint.tell_progress()?),
            Socket(link) if link.has_unwritten() => link.write_or_rest(),
            Socket(_) => Ok(()),
        }
    }

    /// Messages that the peer has not taken, as far as is known.
    pub(crate) fn unconsumed(&self) -> usize {
        match self {
            Memory(link) => (link.endpoint.published() - link.endpoint.known_consumed()) as usize,
            Socket(_) => 0,
        }
    }

    /// Waits until messages can be published again.
    #[cold]
    pub(crate) fn wait_for_slots(&mut self, deadline: Option<u64>) -> Result<(), WaitFailure> {
        match self {
            Memory(link) => Ok(link.wait_for_slots(deadline)?),
            Socket(link) => {
                link.write_all(deadline)?;
                if link.is_clogged() { Err(WaitFailure::Crowded) } else { Ok(()) }
            }
        }
    }

    // ---- receiving ----

    /// Whether the next message, or another entry, is there.
    #[inline(always)]
    pub(crate) fn ready(&self) -> Result<bool, LinkError> {
        match self {
            Memory(link) => Ok(link.endpoint.ready()?),
            Socket(link) => link.has_frame(),
        }
    }

    /// Takes the next message, if one is there; it stays the current one until [`Self::finish`]. May say false although more is there, after an entry about a segment.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Result<bool, LinkError> {
        match self {
            Memory(link) => Ok(link.endpoint.take()?),
            Socket(link) => link.take(),
        }
    }

    /// What the current message says of itself, unjudged.
    #[inline(always)]
    pub(crate) fn head(&self) -> PeerHead {
        match self {
            Memory(link) => link.endpoint.entry().into(),
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

    /// Releases the current message's body ahead of [`Self::finish`], so that the next publication tells it.
    #[inline(always)]
    pub(crate) fn release_body(&mut self) {
        if let Memory(link) = self {
            link.endpoint.release_body();
        }
    }

    /// Releases the current message; does nothing without one.
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

    /// Waits for the next message.
    #[inline(always)]
    pub(crate) fn wait(&mut self, deadline: Option<u64>) -> Result<(), WaitFailure> {
        match self {
            Memory(link) => Ok(link.wait(Want::Data, deadline)?),
            Socket(link) => link.wait(deadline),
        }
    }

    // ---- serving many sessions with one thread ----

    /// Says that something may have arrived on the socket.
    #[inline(always)]
    pub(crate) fn look(&mut self) {
        if let Socket(link) = self {
            link.look();
        }
    }

    /// The session socket, to be watched. Nobody else may read or write it.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        match self {
            Memory(link) => link.endpoint.socket(),
            Socket(link) => link.socket(),
        }
    }

    /// Whether the peer is gone. What it published before can still be taken.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Memory(link) => link.endpoint.is_closed(),
            Socket(link) => link.is_closed(),
        }
    }

    /// Notes that the peer is gone, as a hang-up or its exit told.
    pub(crate) fn peer_gone(&mut self) -> Result<(), LinkError> {
        match self {
            Memory(link) => Ok(link.endpoint.peer_gone()?),
            Socket(link) => {
                link.peer_gone();
                Ok(())
            }
        }
    }

    /// Announces that this side is about to sleep until a message comes, and looks once more. True if it has not come.
    pub(crate) fn prepare_sleep(&mut self) -> Result<bool, LinkError> {
        match self {
            Memory(link) => Ok(link.endpoint.prepare_sleep(Want::Data)?),
            Socket(link) => link.may_sleep(),
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
