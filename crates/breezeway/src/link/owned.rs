//! Bodies that own what they hold: filled by any thread, sent later, over whichever carrier.

use std::task::Waker;

use breezeway_os::memory::zeroed;
use breezeway_shm::{self as shm, ForeignBytes, Head, SendError, SocketError};

use super::Link::{self, Memory, Socket};
use super::{Body, SocketLink};
use crate::message::Message;

/// A body that owns what it holds.
pub(crate) enum OwnedBody {
    /// Shared memory, or little enough to need none.
    Shared(shm::OwnedSpace),
    /// Private memory, which a socket is written from.
    Private(Vec<u8>),
    /// A message that was received, which is copied once there is memory for it.
    Received(Message),
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
            Self::Received(message) => message.len(),
        }
    }

    /// The bytes of reserved space. Panics in a forked child if it holds shared memory.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Shared(space) => space.bytes_mut(),
            Self::Private(bytes) => bytes,
            Self::Received(_) => unreachable!("{NOT_SPACE}"),
        }
    }

    /// Copies `bytes` to `offset`, the fastest way. Panics if they reach outside.
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        match self {
            Self::Shared(space) => space.write(offset, ForeignBytes::stable(bytes)),
            Self::Private(to) => to[offset..][..bytes.len()].copy_from_slice(bytes),
            Self::Received(_) => unreachable!("{NOT_SPACE}"),
        }
    }

    /// Keeps the first `len` bytes, if there are more.
    pub(crate) fn truncate(&mut self, len: usize) {
        match self {
            Self::Shared(space) => space.truncate(len),
            Self::Private(bytes) => bytes.truncate(len),
            Self::Received(_) => unreachable!("{NOT_SPACE}"),
        }
    }

    /// Whether sending it gives back memory at once.
    pub(crate) fn is_cut(&self) -> bool {
        match self {
            Self::Shared(space) => space.is_cut(),
            Self::Private(_) | Self::Received(_) => false,
        }
    }
}

const NOT_SPACE: &str = "a received message is no reserved space";

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
            (link, OwnedBody::Received(message)) => {
                link.send_copy(head, message.bytes())?;
                *message = Message::default();
                Ok(())
            }
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

    /// Sends a copy of `bytes`, which is made where it is sent from, once there is memory for it.
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
        self.send(head, Body::Space).inspect_err(|_| self.abandon())
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
        Ok(OwnedBody::Private(zeroed(len)?))
    }

    fn send_owned(&mut self, head: Head, bytes: &mut Vec<u8>) -> Result<(), SendError> {
        self.check_sending()?;
        self.check_len(bytes.len())?;
        self.push_body(head, std::mem::take(bytes));
        Ok(())
    }
}
