//! Bodies that own what they hold: filled by any thread, sent later, over whichever carrier.

use std::task::Waker;

use breezeway_shm::{self as shm, ForeignBytes, Head, SendError, SocketError};

use super::Link::{self, Memory, Socket};
use super::SocketLink;

/// A body that owns what it holds.
pub(crate) enum OwnedBody {
    /// Shared memory, or little enough to need none.
    Shared(shm::OwnedSpace),
    /// Private memory, which a socket is written from.
    Private(Vec<u8>),
}

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
        }
    }

    /// Panics in a forked child if it holds shared memory.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Shared(space) => space.bytes_mut(),
            Self::Private(bytes) => bytes,
        }
    }

    /// Copies `bytes` to `offset`, the fastest way. Panics if they reach outside.
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        match self {
            Self::Shared(space) => space.write(offset, ForeignBytes::stable(bytes)),
            Self::Private(to) => to[offset..][..bytes.len()].copy_from_slice(bytes),
        }
    }

    /// Keeps the first `len` bytes, if there are more.
    pub(crate) fn truncate(&mut self, len: usize) {
        match self {
            Self::Shared(space) => space.truncate(len),
            Self::Private(bytes) => bytes.truncate(len),
        }
    }

    /// Whether sending it gives back memory at once.
    pub(crate) fn is_cut(&self) -> bool {
        match self {
            Self::Shared(space) => space.is_cut(),
            Self::Private(_) => false,
        }
    }
}

impl Link {
    /// Takes space for a message of `len` bytes that any thread may fill.
    pub(crate) fn reserve_owned(&mut self, len: usize) -> Result<OwnedBody, SendError> {
        match self {
            Memory(link) => Ok(OwnedBody::Shared(link.endpoint.reserve_owned(len)?)),
            Socket(link) => link.reserve_owned(len),
        }
    }

    /// As [`Self::send`], from a body that owns what it holds, which is empty afterwards. On an
    /// error it stays as it is.
    #[inline(never)]
    pub(crate) fn send_owned(&mut self, head: Head, body: &mut OwnedBody) -> Result<(), SendError> {
        match (self, body) {
            (Memory(link), OwnedBody::Shared(space)) => {
                link.endpoint.send(head, shm::Body::Owned(space))
            }
            (Memory(link), OwnedBody::Private(bytes)) => {
                link.endpoint.send(head, shm::Body::Bytes(bytes))
            }
            (Socket(link), OwnedBody::Private(bytes)) => link.send_owned(head, bytes),
            (Socket(_), OwnedBody::Shared(_)) => panic!("this space was reserved by another link"),
        }
    }

    /// Whom to wake, while a sleep for room is prepared, when reserved space is dropped unsent.
    pub(crate) fn set_return_waker(&mut self, waker: &Waker) {
        if let Memory(link) = self {
            link.endpoint.set_return_waker(waker);
        }
    }

    /// Keeps the first `len` bytes of the reserved space, if there are more.
    pub(crate) fn truncate(&mut self, len: usize) {
        match self {
            Memory(link) => link.endpoint.truncate(&mut link.space, len),
            Socket(link) => link.truncate(len),
        }
    }
}

impl SocketLink {
    fn reserve_owned(&self, len: usize) -> Result<OwnedBody, SendError> {
        if !self.origin.is_here() {
            return Err(SocketError::Forked.into());
        }
        self.check_len(len)?;
        Ok(OwnedBody::Private(vec![0; len]))
    }

    fn send_owned(&mut self, head: Head, bytes: &mut Vec<u8>) -> Result<(), SendError> {
        self.check_sending()?;
        self.check_len(bytes.len())?;
        self.push_body(head, std::mem::take(bytes));
        Ok(())
    }
}
