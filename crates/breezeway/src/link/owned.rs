//! Bodies that own their memory: filled by any thread, sent later, over any carrier.

use breezeway_os::segment::Unfinished;
use breezeway_proto::Head;
use breezeway_shm::{self as shm, Endpoint, ForeignBytes, SendError};

use super::End::{Memory, Socket};
use super::Link;
use crate::carrier::shm::in_numbers;
use crate::carrier::{Body, Carrier};
use crate::message::Message;

/// A body that owns its memory.
pub(crate) enum OwnedBody {
    /// Shared memory, or little enough to need none.
    Shared(shm::OwnedSpace),
    /// Private memory, from which a socket is written.
    Private(Vec<u8>),
    /// A received message, which is copied once there is memory for it.
    Received(Message),
    /// A large received message, which is copied in pieces.
    Copying(Message, Place),
}

/// Shared memory for a copy that is made in pieces.
pub(crate) enum Place {
    /// None yet, or a segment that has not all of its pages.
    Missing(Option<Unfinished>),
    /// The memory, with the number of bytes copied so far.
    Found(shm::OwnedSpace, usize),
}

/// Messages up to this size are copied at once, in less than a millisecond.
const COPIED_AT_ONCE: usize = 4 << 20;
/// Bytes of a larger message that are copied in one turn.
const COPIED_IN_A_TURN: usize = 1 << 20;

impl Default for OwnedBody {
    fn default() -> Self {
        Self::Private(Vec::new())
    }
}

impl OwnedBody {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Shared(space) => space.len(),
            Self::Private(bytes) => bytes.len(),
            Self::Received(message) | Self::Copying(message, ..) => message.len(),
        }
    }

    /// Returns the bytes of reserved space. Panics in a forked child if it holds shared memory.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Shared(space) => space.bytes_mut(),
            Self::Private(bytes) => bytes,
            Self::Received(_) | Self::Copying(..) => unreachable!("{NOT_SPACE}"),
        }
    }

    /// Copies `bytes` to `offset`, the fastest way. Panics if they reach outside.
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        match self {
            Self::Shared(space) => space.write(offset, ForeignBytes::stable(bytes)),
            Self::Private(to) => to[offset..][..bytes.len()].copy_from_slice(bytes),
            Self::Received(_) | Self::Copying(..) => unreachable!("{NOT_SPACE}"),
        }
    }

    /// Keeps the first `len` bytes, if there are more.
    pub(crate) fn truncate(&mut self, len: usize) {
        match self {
            Self::Shared(space) => space.truncate(len),
            Self::Private(bytes) => bytes.truncate(len),
            Self::Received(_) | Self::Copying(..) => unreachable!("{NOT_SPACE}"),
        }
    }

    /// Returns true if a part of the body is still to be copied by [`Link::send_owned`].
    pub(crate) fn is_copying(&self) -> bool {
        matches!(self, Self::Copying(..))
    }

    /// Returns true if a copy in pieces has no memory yet.
    pub(crate) fn lacks_place(&self) -> bool {
        matches!(self, Self::Copying(_, Place::Missing(_)))
    }

    /// Takes a message to be copied in pieces, because a copy of all of it would delay others.
    /// Returns `None` for a smaller one, and on a socket, which is written without a copy.
    pub(crate) fn in_pieces(carrier: Carrier, message: &mut Message) -> Option<Self> {
        let is_copied = carrier == Carrier::Shm && message.len() > COPIED_AT_ONCE;
        is_copied.then(|| Self::Copying(std::mem::take(message), Place::Missing(None)))
    }

    /// Copies the next piece of a message, which is released with the last, or makes one of the
    /// memory for it.
    fn copy_piece(&mut self, endpoint: &mut Endpoint) -> Result<(), SendError> {
        let Self::Copying(message, place) = self else { return Ok(()) };
        match place {
            Place::Missing(begun) => {
                if let Some(space) = endpoint.reserve_in_pieces(message.len(), begun)? {
                    *place = Place::Found(space, 0);
                }
            }
            Place::Found(space, done) => {
                let bytes = message.bytes();
                let end = bytes.len().min(*done + COPIED_IN_A_TURN);
                space.write(*done, bytes.slice(*done..end));
                *done = end;
                if end == bytes.len()
                    && let Self::Copying(_, Place::Found(space, _)) = std::mem::take(self)
                {
                    *self = Self::Shared(space);
                }
            }
        }
        Ok(())
    }

    /// Puts a message of which nothing was copied back into `place`.
    pub(crate) fn give_back(self, place: &mut Message) {
        if let Self::Copying(message, ..) = self {
            *place = message;
        }
    }

    /// Returns true if sending the body gives back memory at once.
    pub(crate) fn is_cut(&self) -> bool {
        match self {
            Self::Shared(space) => space.is_cut(),
            Self::Private(_) | Self::Received(_) | Self::Copying(..) => false,
        }
    }
}

const NOT_SPACE: &str = "a received message is not reserved space";

impl Link {
    /// Reserves space for a message of `len` bytes that any thread may fill.
    pub(crate) fn reserve_owned(&mut self, len: usize) -> Result<OwnedBody, SendError> {
        match &mut self.end {
            Memory(link) => Ok(OwnedBody::Shared(link.endpoint.reserve_owned(len)?)),
            Socket(link) => Ok(OwnedBody::Private(link.reserve_private(len)?)),
        }
    }

    /// Sends a message like [`Self::send`], from a body that owns its memory, which is empty
    /// afterwards, and returns true. Copies the next piece of a body that is copied in pieces, or
    /// makes one of the memory for it, and returns false. On an error the body stays as it is.
    #[inline(never)]
    pub(crate) fn send_owned(
        &mut self,
        head: Head,
        body: &mut OwnedBody,
    ) -> Result<bool, SendError> {
        match (&mut self.end, &mut *body) {
            (_, OwnedBody::Received(message)) => {
                self.send_copy(head, message.bytes())?;
                *message = Message::default();
            }
            (Memory(link), OwnedBody::Shared(space)) => {
                link.endpoint.send(in_numbers(head), shm::Body::Owned(space))?;
            }
            (Memory(link), OwnedBody::Private(bytes)) => {
                link.endpoint.send(in_numbers(head), shm::Body::Bytes(bytes))?;
            }
            (Socket(link), OwnedBody::Private(bytes)) => link.send_private(head, bytes)?,
            (Memory(link), OwnedBody::Copying(..)) => {
                body.copy_piece(&mut link.endpoint)?;
                return Ok(false);
            }
            (Socket(_), OwnedBody::Shared(_) | OwnedBody::Copying(..)) => {
                panic!("this space was reserved by another link")
            }
        }
        Ok(true)
    }

    /// Sends a copy of `bytes`, which is made in the memory that is sent, once there is some.
    pub(crate) fn send_copy(
        &mut self,
        head: Head,
        bytes: ForeignBytes<'_>,
    ) -> Result<(), SendError> {
        if let Some(bytes) = bytes.as_slice() {
            return self.send(head, Body::Bytes(bytes));
        }
        self.reserve(bytes.len())?;
        self.fill().write(0, bytes);
        self.send(head, Body::Space).inspect_err(|_| self.truncate(0))
    }

    /// Keeps the first `len` bytes of the reserved space, if there are more, and gives the rest
    /// back; 0 gives back all of it.
    pub(crate) fn truncate(&mut self, len: usize) {
        match &mut self.end {
            Memory(link) => link.endpoint.truncate(&mut link.space, len),
            Socket(link) => link.truncate(len),
        }
    }
}
