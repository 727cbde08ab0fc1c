//! Space for a reply, which its handler fills in place.

use std::fmt;

use breezeway_os::memory::zeroed;
use breezeway_proto::ErrorCode;
use breezeway_shm::{Filling, ForeignBytes, SendError};

use super::Asked::{Here, Offloaded};
use super::{Call, Elsewhere, Handled, Replied, replied};
use crate::carrier::Body;
use crate::error::{ReplyError, SegmentError};
use crate::link::OwnedBody;
use crate::serving::Serving;
use crate::session::OwnedSpace;

/// Space for a reply, in shared memory if it is larger than 104 bytes. The client can read it at
/// any time.
pub struct ReplySpace<'c>(Space<'c>);

enum Space<'c> {
    Here(&'c mut Serving<'c>),
    Offloaded(&'c mut Elsewhere<'c>, Vec<u8>),
    /// Space in the memory of a shared session.
    Owned(&'c mut Elsewhere<'c>, OwnedSpace),
    /// Private memory, as shared memory is lacking.
    Kept(Box<(&'c mut Serving<'c>, Vec<u8>)>),
}

impl<'c> ReplySpace<'c> {
    #[inline(always)]
    pub(super) fn here(serving: &'c mut Serving<'c>) -> Self {
        Self(Space::Here(serving))
    }

    pub(super) fn offloaded(elsewhere: &'c mut Elsewhere<'c>, bytes: Vec<u8>) -> Self {
        Self(Space::Offloaded(elsewhere, bytes))
    }

    pub(super) fn owned(elsewhere: &'c mut Elsewhere<'c>, space: OwnedSpace) -> Self {
        Self(Space::Owned(elsewhere, space))
    }

    /// Returns private memory for a reply that finds no shared memory for now.
    #[cold]
    pub(super) fn kept(
        serving: &'c mut Serving<'c>,
        len: usize,
        error: SendError,
    ) -> Result<Self, ReplyError> {
        match error {
            SendError::NoMemory { until: Some(_), .. } => {
                let bytes = zeroed(len).map_err(SegmentError).map_err(ReplyError::Segment)?;
                Ok(Self(Space::Kept(Box::new((serving, bytes)))))
            }
            error => Err(ReplyError::of_send(error)),
        }
    }

    /// Returns its bytes. They hold earlier data of this session, or zeros; over a socket also
    /// received data.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.filling().into_bytes()
    }

    /// Returns the request and the reply's bytes, to fill the one from the other.
    #[inline]
    pub fn request_and_bytes_mut(&mut self) -> (ForeignBytes<'_>, &mut [u8]) {
        self.filling().into_parts()
    }

    /// Copies `bytes` to `offset`; the fastest way for a large reply. Panics if they reach outside.
    #[inline]
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.filling().write(offset, ForeignBytes::stable(bytes));
    }

    /// Copies the whole request to `offset`. Panics if it reaches outside.
    #[inline]
    pub fn write_request(&mut self, offset: usize) {
        self.filling().write_received(offset);
    }

    /// Keeps the first `len` bytes, if there are more, and gives the rest back: for a reply that
    /// turns out shorter than the reserved space.
    pub fn truncate(&mut self, len: usize) {
        match &mut self.0 {
            Space::Here(serving) => serving.link_mut().truncate(len),
            Space::Offloaded(_, bytes) => bytes.truncate(len),
            Space::Owned(_, space) => space.truncate(len),
            Space::Kept(kept) => kept.1.truncate(len),
        }
    }

    /// Gives the space back, unsent, and returns the call, which must be replied to otherwise.
    pub fn abandon(self) -> Call<'c> {
        let asked = match self.0 {
            Space::Here(serving) => {
                serving.link_mut().truncate(0);
                Here(serving)
            }
            Space::Offloaded(elsewhere, _) | Space::Owned(elsewhere, _) => Offloaded(elsewhere),
            Space::Kept(kept) => Here(kept.0),
        };
        Call(asked)
    }

    /// Fails the call with a code and a reason, like [`Call::fail`], in place of this reply.
    pub fn fail(self, code: ErrorCode, reason: impl fmt::Display) -> Handled {
        self.abandon().fail(code, reason)
    }

    #[inline(always)]
    fn filling(&mut self) -> Filling<'_> {
        match &mut self.0 {
            Space::Here(serving) => serving.link_mut().fill(),
            Space::Offloaded(elsewhere, bytes) => {
                Filling::private(elsewhere.call().request(), bytes)
            }
            Space::Owned(elsewhere, space) => {
                Filling::private(elsewhere.call().request(), space.bytes_mut())
            }
            Space::Kept(kept) => Filling::private(kept.0.link().body(), &mut kept.1),
        }
    }

    /// Replies with these bytes. The request is released with it.
    #[inline(always)]
    pub fn commit(self) -> Handled {
        match self.0 {
            Space::Here(serving) => {
                if serving.request.one_way {
                    serving.link_mut().truncate(0);
                }
                replied(serving.reply(Body::Space))
            }
            Space::Offloaded(elsewhere, bytes) => replied(elsewhere.take().reply(bytes)),
            Space::Owned(elsewhere, space) => replied(elsewhere.take().reply_space(space)),
            Space::Kept(kept) => {
                let (serving, bytes) = *kept;
                if !serving.request.one_way {
                    serving.keep(OwnedBody::Private(bytes))?;
                }
                *serving.replied = true;
                Ok(Replied(()))
            }
        }
    }
}
